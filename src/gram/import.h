/* The making of a Gram matrix from elsewhere: what its parts share. */
#ifndef EASE_GRAM_IMPORT_H
#define EASE_GRAM_IMPORT_H

#include "gram/gram.h"
#include "input/input.h"

typedef struct ease__importing {
    const char *path; /* for messages about the whole */
    ease_gram_options o;
    ease_gram *g;     /* its matrix is U32 or F64 */
    bool fixed;       /* the items came from a file of their own */
    uint32_t *listed; /* which had the users of each; NULL: it had not */
    size_t listed_capacity;
    int64_t diagonal; /* how many entries of the diagonal were given */
    bool fraction;    /* an entry is no count: negative, or not an integer */
    bool past;        /* an integer passes 2^32 - 1, that of ... */
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

/* Sums in another order may differ in their last digits, counts may not. */
bool ease__import_same(double a, double b);

/* The list of items: a line for each, or what `ease gram sql` has written, known by its
 * header item,users,all_users. Sets g->ids, fixed, listed and, where unknown, users. */
ease_status ease__import_items(ease__importing *m, const char *path, ease_error *err);

/* EASE_E_MEMORY_LIMIT unless so many bytes are there. */
ease_status ease__import_memory(const ease__importing *m, size_t bytes,
                                ease_error *err);

/* A dense .npy, into F64. */
ease_status ease__import_array(ease__importing *m, ease__input *in, ease_error *err);

/* Triplets, each path (a file, a directory of part files, or "-") a shard of its own,
 * into U32 or, where an entry is no such integer, F64. `first` is the first of them,
 * open, and not closed here. */
ease_status ease__import_shards(ease__importing *m, const char *const *paths, int count,
                                ease__input *first, ease_error *err);

#endif
