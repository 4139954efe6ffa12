/* Writes a model whose inverse is wrong in one entry, for tests/test_updating.py:
 *
 *     write_inexact DATA LAMBDA ITEM RESIDUAL OUT
 *
 * The entry of ITEM on the diagonal is wrong by so much that the residual of the model
 * is RESIDUAL. */
#include <stdio.h>
#include <stdlib.h>

#include "model/model.h"

static void require(ease_status status, const ease_error *err)
{
    if (status) {
        fprintf(stderr, "write_inexact: %s\n", err->text);
        exit(1);
    }
}

static double residual_of(const ease_model *m)
{
    double residual = 0;
    ease_error err = {0};

    require(ease_model_residual(m, 1, &residual, &err), &err);
    return residual;
}

/* The diagonal entry of an item. */
static float *entry_of(const ease_model *m, const char *item)
{
    int32_t i = ease_model_find(m, item), edge = m->inverse.edge;

    if (i == EASE_NO_ITEM) {
        fprintf(stderr, "write_inexact: no item %s\n", item);
        exit(1);
    }
    return (float *)ease__tile(&m->inverse, i / edge, i / edge) +
           (size_t)(i % edge) * (size_t)(edge + 1);
}

int main(int argc, char **argv)
{
    ease_interactions *x = NULL;
    ease_model *m = NULL;
    ease_train_options o;
    ease_error err = {0};
    float *entry, exact;

    if (argc != 6)
        return 2;
    ease_train_options_init(&o);
    o.lambda = strtod(argv[2], NULL);
    o.updatable = 1;
    require(ease_interactions_read(argv[1], NULL, &x, &err), &err);
    require(ease_train(x, &o, &m, &err), &err);
    entry = entry_of(m, argv[3]);
    exact = *entry;
    *entry = exact * 1.1f;
    *entry = exact * (1 + 0.1f * (float)(strtod(argv[4], NULL) / residual_of(m)));
    require(ease_model_save(m, argv[5], EASE_STORE_PACKED, NULL, &err), &err);
    ease_model_free(m);
    ease_interactions_free(x);
    return 0;
}
