/* A method that is not in the library: what it takes to add one. Copied into
 * src/methods, with the line METHOD(ease__toy_method) in src/methods/methods.h, it is
 * complete. The score of an item is `step` for each item that comes after it. */
#include "methods/methods.h"

enum { STEP };

static const ease_setting settings[] = {{.name = "step",
                                         .about = "between one score and the next",
                                         .value = 1,
                                         .most = 100},
                                        {0}};

static ease_status train(const ease_interactions *x, const ease_train_options *o,
                         const double *given, ease_model *m, ease_error *err)
{
    float *base = ease__alloc_array((size_t)x->items, sizeof(*base));

    (void)o;
    if (!base)
        return ease__fail(err, EASE_E_NOMEM, "toy of %d items", (int)x->items);
    for (int32_t i = 0; i < x->items; i++)
        base[i] = (float)(given[STEP] * (x->items - 1 - i));
    m->base = base;
    return EASE_OK;
}

const ease__method ease__toy_method = {
    .info =
        {
            .name = "toy",
            .about = "items in their order",
            .grid = "step=1|2",
        },
    .number = 1000,
    .settings = settings,
    .form = &ease__form_none,
    .fill = train,
};
