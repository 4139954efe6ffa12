/* Tags in training: G = X'X + a^2 T'T for tags T (CEASE), and items that only have
 * tags. */
#ifndef EASE_GRAM_GRAM_TAGS_H
#define EASE_GRAM_GRAM_TAGS_H

#include "data/tags.h"
#include "gram/extend.h"

/* The tags of the items of a matrix, by item and by tag, both ascending. */
typedef struct ease__tag_lists {
    int32_t items;
    double scale; /* a^2 */
    uint64_t *item_starts, *tag_starts;
    int32_t *item_tags, *tag_items;
    float *item_weights, *tag_weights; /* NULL: all ones */
    double *rows;                      /* scratch: `items` for each thread */
    int threads;
} ease__tag_lists;

/* Lists the tags of the items of g, of which at least one must be known; `weight` is a.
 * Fails with EASE_E_ACCURACY if the element type of g cannot represent the result,
 * EASE_E_DATA or EASE_E_NOMEM. */
ease_status ease__tag_lists_new(const ease_gram *g, const ease_tags *t, double weight,
                                int threads, ease__tag_lists *out, ease_error *err);
void ease__tag_lists_free(ease__tag_lists *l);

/* Adds a^2 T'T to the matrix, or to a band of it; counts become F32. The column sums
 * and the numbers of users and interactions stay those of X. */
void ease__gram_add_tags(ease_gram *g, const ease__tag_lists *l);

/* A bound on the diagonal of what is added to a float32 matrix. */
static const double EASE__MOST_NARROW = 0x1p100;
/* The largest diagonal entry of a^2 T'T. */
double ease__tags_diagonal(const ease_tags *t, double weight);

/* ---- items that only have tags --------------------------------------------------- */

/* As ease__items_extend, with the items of the tags, of which x must have one, or it
 * fails with EASE_E_DATA. Free with ease__items_extended_free. */
ease_status ease__tags_extend(const ease_interactions *x, const ease_tags *t,
                              ease_interactions *out, ease_error *err);
/* Logs (level 2) how many items, from number `from` on, were added. */
void ease__tags_tell_new(const ease__ids *ids, int32_t from, const ease_hooks *hooks);

/* The same for a Gram matrix, as ease__items_extend_gram. */
ease_status ease__tags_extend_gram(ease_gram *g, const ease_tags *t, size_t limit,
                                   ease_error *err);

#endif
