/* A memory budget for reading: every large allocation is counted before it is made, and
 * refused if it would exceed the limit. Otherwise the kernel might kill the process, as
 * it does when a control group runs out of memory. Threads may share a budget. */
#ifndef EASE_CORE_BUDGET_H
#define EASE_CORE_BUDGET_H

#include <stdatomic.h>

#include "core/core.h"

typedef struct ease__budget {
    size_t limit;       /* bytes; SIZE_MAX: no limit */
    atomic_size_t used; /* bytes */
    atomic_size_t
        needed; /* `used` with the last refused request; 0: none was refused */
} ease__budget;

/* The limit in bytes that `given`, the memory_limit of an options structure, stands
 * for. 0 is 31/32 of the memory that is available now: the rest is for page tables,
 * stacks and the allocator itself. Returns SIZE_MAX for no limit, also if the available
 * memory is unknown. */
size_t ease__memory_limit(size_t given);

/* Starts a budget; `limit` is a memory_limit as above. */
void ease__budget_start(ease__budget *b, size_t limit);

/* Counts `bytes` as used; returns false, and counts nothing, if that would exceed the
 * limit. */
bool ease__budget_take(ease__budget *b, size_t bytes);
/* Returns bytes to the budget. */
void ease__budget_give(ease__budget *b, size_t bytes);
/* Checks whether `bytes` could be taken, without counting them; false is a refusal, as
 * that of ease__budget_take. */
bool ease__budget_allows(ease__budget *b, size_t bytes);

/* realloc() of `p` from `old` to `bytes` bytes; both are counted while data is copied.
 * Returns NULL, and leaves `p` unchanged, if the budget refuses or there is no
 * memory. */
void *ease__budget_resize(ease__budget *b, void *p, size_t old, size_t bytes);

/* The error to report when one of the above returned NULL or false: EASE_E_MEMORY_LIMIT
 * with figures if the budget refused, else EASE_E_NOMEM. `name` is that of the
 * input. */
ease_status ease__budget_fail(const ease__budget *b, const char *name, ease_error *err);

#endif
