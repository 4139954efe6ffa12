/* A budget of memory for reading: a request past the limit is refused before it is
 * made, since the kernel would end the process instead. Threads may share one. */
#ifndef EASE_CORE_BUDGET_H
#define EASE_CORE_BUDGET_H

#include <stdatomic.h>

#include "core/core.h"

typedef struct ease__budget {
    size_t limit; /* bytes; SIZE_MAX: none */
    atomic_size_t used;
    atomic_size_t needed; /* with a request that was refused; 0: none was */
} ease__budget;

/* The limit that `given` stands for in options: 0 is what is available now, but for a
 * 32nd, which page tables, stacks and the allocator itself may take. SIZE_MAX: none,
 * also where nothing is known. */
size_t ease__memory_limit(size_t given);

/* `limit` as in options. */
void ease__budget_start(ease__budget *b, size_t limit);

/* False: refused. */
bool ease__budget_take(ease__budget *b, size_t bytes);
void ease__budget_give(ease__budget *b, size_t bytes);
/* True if `bytes` more would be granted; refused else, as by take. */
bool ease__budget_allows(ease__budget *b, size_t bytes);

/* realloc() from `old` to `bytes` bytes, both counted while it lasts. NULL: refused, or
 * no memory; `p` is then as it was. */
void *ease__budget_resize(ease__budget *b, void *p, size_t old, size_t bytes);

/* After a NULL or false: EASE_E_MEMORY_LIMIT with figures if it was refused, else
 * EASE_E_NOMEM. `name` is the input's. */
ease_status ease__budget_fail(const ease__budget *b, const char *name, ease_error *err);

#endif
