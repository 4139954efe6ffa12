/* The solve of a trial: the matrix is kept, and a copy of it becomes the inverse. */
#include "tune/solve_trial.h"

ease_status ease__trial_load(const ease_interactions *x, const ease__dense_order *order,
                             ease_gram **out, ease_error *err)
{
    ease__element element;
    ease_status status = ease__gram_element(x, order->o.precision, &element, err);

    if (status)
        return status;
    if (element == EASE__U32 && order->family.user_power != 0)
        element = order->o.precision == EASE_F64 ? EASE__F64 : EASE__F32;
    return ease__dense_load(x, order, element, NULL, out, err);
}

static ease_status solve_once(const ease_gram *g, const ease__dense_order *order,
                              bool wide, ease__dense *out, ease_error *err)
{
    ease_gram *copy = NULL;
    ease_status status = ease_gram_copy(g, &copy, err);

    if (status)
        return status;
    if (wide)
        status = ease__gram_widen(copy, &order->o, err);
    if (status) {
        ease_gram_free(copy);
        return status;
    }
    return ease__dense_solve(copy, order, out, err);
}

ease_status ease__trial_solve(const ease_gram *g, const ease__dense_order *order,
                              bool *wide, ease__dense *out, ease_error *err)
{
    ease_error first = {0}, second = {0};
    ease_status status, again;

    *wide = order->o.precision == EASE_F64;
    status = solve_once(g, order, *wide, out, &first);
    if (ease__is_numerical(status) && !*wide) {
        *wide = true;
        ease__log(order->o.hooks, 2,
                  "lambda %g: float32 is not enough: solving again in float64",
                  order->o.lambda);
        again = solve_once(g, order, true, out, &second);
        if (!ease__is_numerical(again) && again != EASE_E_MEMORY_LIMIT) {
            status = again;
            first = second;
        }
    }
    if (status && err)
        *err = first;
    return status;
}
