/* Entries of X'WX for small sets of items, without the whole matrix. The entry of two
 * items is taken from the row of the rarer one, of which only the partners of smaller
 * rank are needed. Rows of popular items are kept, as far as memory allows; others are
 * counted whenever they are needed, from the histories of their few users. Both ways
 * give the same bits. */
#ifndef EASE_METHODS_PAIRS_H
#define EASE_METHODS_PAIRS_H

#include "compute/kernels.h"
#include "methods/ranked.h"

/* The kept part of the row of a rank: its partners of smaller rank. */
typedef enum ease__pair_form {
    EASE__PAIRS_NONE,  /* it is not kept */
    EASE__PAIRS_WHOLE, /* a value for each smaller rank */
    EASE__PAIRS_BITS,  /* a bit for each smaller rank, and the values of some */
    EASE__PAIRS_LIST,  /* the ranks of the values, ascending */
} ease__pair_form;

typedef struct ease__pair_row {
    ease__pair_form form;
    int32_t count; /* of values */
    float *values; /* count + 1, the last of which is not used */
    void *places;  /* ease__bit_block for 32 ranks each, or int32_t */
} ease__pair_row;

typedef struct ease__pairs {
    const ease__ranked *x; /* borrowed */
    ease__pair_row *rows;  /* by rank */
    char *block;           /* the values and places of all rows */
    size_t block_bytes;
    const ease__kernels *kernels;
} ease__pairs;

/* Counts and keeps rows, popular items first, up to `budget` bytes of them. Fails with
 * EASE_E_NOMEM or EASE_E_CANCELLED. */
ease_status ease__pairs_new(const ease__ranked *x, size_t budget, int threads,
                            const ease_hooks *hooks, ease__pairs *out, ease_error *err);
void ease__pairs_free(ease__pairs *p);

/* An item of a support in the history of a user. */
typedef struct ease__pair_hit {
    int32_t place; /* in the support */
    int32_t at;    /* in the history */
} ease__pair_hit;

/* The hits of users whose histories were searched for the items of one support: most
 * users have several of them. */
typedef struct ease__pair_memo {
    int32_t *numbers; /* by user: 0, or that of its list from 1 on; 0 between calls */
    uint32_t *users;  /* by list */
    int32_t *starts;  /* by list, of hits */
    ease__pair_hit *hits;
    int32_t lists;
} ease__pair_memo;

/* `most` is the largest number of items of a support. */
ease_status ease__pair_memo_new(int64_t users, int32_t most, ease__pair_memo *out,
                                ease_error *err);
void ease__pair_memo_free(ease__pair_memo *m);
size_t ease__pair_memo_bytes(int64_t users, int32_t most);

/* Scratch of one thread. */
typedef struct ease__pair_scratch {
    uint64_t *marks; /* a bit for each rank; zero between calls */
    int32_t *places; /* by rank, valid where marked */
    int32_t *hits;   /* places of entries: items + 1 */
    double *sums;    /* items */
} ease__pair_scratch;

ease_status ease__pair_scratch_new(int32_t items, ease__pair_scratch *out,
                                   ease_error *err);
void ease__pair_scratch_free(ease__pair_scratch *s);
size_t ease__pair_scratch_bytes(int32_t items);

/* Sums the row of a rank, without itself, into s->sums. Returns the number of partners,
 * which are s->hits and marked; both must be cleared. */
int32_t ease__pairs_row(const ease__ranked *x, int32_t rank, ease__pair_scratch *s);

/* Writes the upper triangle, without its diagonal, of X'WX of `count` ranks, which
 * descend: element (i, k) to a[i * ld + k]. */
void ease__pairs_gather(const ease__pairs *p, const int32_t *ranks, int32_t count,
                        ease__pair_scratch *s, ease__pair_memo *memo, float *a,
                        size_t ld);
/* The same in float64, of which no row is kept. */
void ease__pairs_gather_wide(const ease__pairs *p, const int32_t *ranks, int32_t count,
                             ease__pair_scratch *s, ease__pair_memo *memo, double *a,
                             size_t ld);

#endif
