/* The score of an item is its share of users, for every history. */
#include "methods/methods.h"

static const ease_setting settings[] = {{0}};

static ease_status train(const ease_interactions *x, const ease_train_options *o,
                         const double *given, ease_model *m, ease_error *err)
{
    double users = x->users > 0 ? (double)x->users : 1;
    float *share = ease__alloc_array((size_t)x->items, sizeof(*share));

    (void)o;
    (void)given;
    if (!share)
        return ease__fail(err, EASE_E_NOMEM, "model of %d items", (int)x->items);
    for (int32_t i = 0; i < x->items; i++)
        share[i] = (float)(m->popularity[i] / users);
    m->base = share;
    return EASE_OK;
}

const ease__method ease__popularity = {
    .info =
        {
            .name = "popularity",
            .about = "an item's share of users, the same for everyone",
            .grid = "",
        },
    .number = 2,
    .settings = settings,
    .form = &ease__form_none,
    .fill = train,
};
