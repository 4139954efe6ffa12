/* Options of training and of Gram matrices, and the memory that they allow. */
#include <math.h>

#include "core/sized.h"
#include "gram/gram.h"

void ease_train_options_defaults(ease_train_options *o)
{
    static const ease_train_options defaults = {
        .metric = "ndcg@100", .tag_weight = 1, .lambda_users = 10000};

    ease__options_defaults(o, &defaults, sizeof(defaults));
}

void ease_gram_options_defaults(ease_gram_options *o)
{
    static const ease_gram_options defaults = {0};

    ease__options_defaults(o, &defaults, sizeof(defaults));
}

static ease_status check_common(ease_precision precision, int threads, ease_error *err)
{
    if (precision != EASE_F32 && precision != EASE_F64)
        return ease__fail(err, EASE_E_ARG, "unknown precision: %d", (int)precision);
    return ease__threads_check(threads, err);
}

ease_status ease__train_options_take(const ease_train_options *given,
                                     ease_train_options *o, ease_error *err)
{
    ease_status status = EASE__OPTIONS_TAKE(ease_train_options, o, given, err);

    if (status)
        return status;
    if (o->kind != EASE_GRAM_COUNTS && o->kind != EASE_GRAM_COVARIANCE &&
        o->kind != EASE_GRAM_CORRELATION)
        return ease__fail(err, EASE_E_ARG, "unknown kind of Gram matrix: %d",
                          (int)o->kind);
    if (!isfinite(o->tag_weight) || o->tag_weight < 0)
        return ease__fail(err, EASE_E_ARG,
                          "the weight of tags must be finite and at least 0, not %g",
                          o->tag_weight);
    return check_common(o->precision, o->threads, err);
}

ease_status ease__gram_options_take(const ease_gram_options *given,
                                    ease_gram_options *o, ease_error *err)
{
    ease_status status = EASE__OPTIONS_TAKE(ease_gram_options, o, given, err);

    return status ? status : check_common(o->precision, o->threads, err);
}

size_t ease__memory_allowed(size_t limit, size_t held)
{
    size_t available;

    if (limit)
        return limit;
    available = ease_memory_available();
    return available ? ease__size_add(available, held) : 0;
}

ease_status ease__memory_check(const char *what, int32_t items, size_t peak,
                               size_t allowed, ease_error *err)
{
    if (allowed == 0 || peak <= allowed)
        return EASE_OK;
    return ease__fail(err, EASE_E_MEMORY_LIMIT,
                      "%s %d items takes %.2f GB, %.2f GB are available (see plan)",
                      what, (int)items, (double)peak / 1e9, (double)allowed / 1e9);
}
