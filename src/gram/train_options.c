/* Training options, and the memory that they allow. */
#include "gram/gram.h"

void ease_train_options_init(ease_train_options *o)
{
    *o = (ease_train_options){.size = sizeof(*o), .metric = "ndcg@100"};
}

ease_status ease__train_options_check(const ease_train_options *o, ease_error *err)
{
    ease_status status = EASE__CHECK_OPTIONS(o, err);

    if (status)
        return status;
    if (o->kind != EASE_GRAM_COUNTS && o->kind != EASE_GRAM_COVARIANCE &&
        o->kind != EASE_GRAM_CORRELATION)
        return ease__fail(err, EASE_E_ARG, "unknown kind of Gram matrix: %d",
                          (int)o->kind);
    if (o->precision != EASE_F32 && o->precision != EASE_F64)
        return ease__fail(err, EASE_E_ARG, "unknown precision: %d", (int)o->precision);
    return ease__threads_check(o->threads, err);
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
