/* A Gram matrix under construction by import: the state that its parts share. */
#ifndef EASE_GRAM_IMPORT_H
#define EASE_GRAM_IMPORT_H

#include "gram/gram.h"
#include "input/input.h"

typedef struct ease__importing {
    const char *path; /* name of the whole import, for messages */
    ease_gram_options o;
    ease_gram *g;     /* its matrix is U32 or F64 */
    bool fixed;       /* the items are from a list */
    uint32_t *listed; /* count of each item in the list; NULL: the list has none */
    size_t listed_capacity;
    int64_t diagonal; /* number of diagonal entries that were given */
    bool fraction;    /* an entry is negative or not an integer */
    bool past;        /* an integer exceeds 2^32 - 1, that of ... */
    int32_t past_i, past_j;
} ease__importing;

static inline const ease_hooks *ease__import_hooks(const ease__importing *m)
{
    return m->o.hooks;
}

static inline ease_status ease__import_no_memory(const ease__importing *m,
                                                 ease_error *err)
{
    return ease__fail(err, EASE_E_NOMEM, "importing %s", m->path);
}

/* True if two values are equal: counts exactly, sums up to rounding, since another
 * order of additions changes the last digits. */
bool ease__import_same(double a, double b);

/* Reads the list of items: one id a line, or the output of `ease gram sql`,
 * recognized by its header item,users,all_users. Sets g->ids, fixed, listed and, if
 * unknown, users. */
ease_status ease__import_items(ease__importing *m, const char *path, ease_error *err);

/* Fails with EASE_E_MEMORY_LIMIT unless `bytes` more bytes are allowed. */
ease_status ease__import_memory(const ease__importing *m, size_t bytes,
                                ease_error *err);

/* Imports a dense .npy as F64. */
ease_status ease__import_array(ease__importing *m, ease__input *in, ease_error *err);

/* Imports triplets, as U32, or as F64 if an entry is not such an integer. Each path
 * (a file, a directory of part files, or "-") is one shard. `first` is the first of
 * them, already open; it is not closed here. */
ease_status ease__import_shards(ease__importing *m, const char *const *paths, int count,
                                ease__input *first, ease_error *err);

#endif
