/* A whole recommender in one file: reads who depends on what, trains, and asks for a
 * history given on the command line.
 *
 *     cc recommend.c $(pkg-config --cflags --libs ease) -o recommend
 *     ./recommend npm.tsv.gz express body-parser
 */
#include <ease.h>
#include <stdio.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

/* Numbers of the known ids, increasing and distinct; returns how many. */
static int32_t look_up(const ease_model *m, char **ids, int count, int32_t *items)
{
    int32_t found = 0, kept = 0;

    for (int i = 0; i < count; i++) {
        int32_t item = ease_model_find(m, ids[i]);

        if (item == EASE_NO_ITEM)
            fprintf(stderr, "unknown: %s\n", ids[i]);
        else
            items[found++] = item;
    }
    qsort(items, (size_t)found, sizeof(*items), compare);
    for (int32_t i = 0; i < found; i++)
        if (kept == 0 || items[kept - 1] != items[i])
            items[kept++] = items[i];
    return kept;
}

int main(int argc, char **argv)
{
    ease_interactions *x = NULL;
    ease_model *m = NULL;
    ease_scorer *s = NULL;
    ease_train_options train;
    ease_recommend_options o;
    ease_rec recs[10];
    int32_t items[64], count = 0;
    ease_row history = {.items = items};
    ease_error err;
    ease_status status;

    if (argc < 3 || argc > 64) {
        fprintf(stderr, "usage: recommend DATA ITEM...\n");
        return 2;
    }
    ease_train_options_init(&train);
    train.lambda = 200;
    ease_recommend_options_init(&o);

    status = ease_interactions_read(argv[1], NULL, &x, &err);
    if (!status)
        status = ease_train(x, &train, &m, &err);
    if (!status)
        status = ease_scorer_new(m, &s, &err);
    if (!status) {
        history.count = look_up(m, argv + 2, argc - 2, items);
        status = ease_recommend(s, history, &o, recs, &count, &err);
    }
    if (status)
        fprintf(stderr, "recommend: %s\n", err.text);
    for (int32_t i = 0; i < count; i++)
        printf("%.3f  %s\n", (double)recs[i].score,
               ease_model_item_id(m, recs[i].item));

    ease_scorer_free(s);
    ease_model_free(m);
    ease_interactions_free(x);
    return status ? 1 : 0;
}
