/* Items that data lack, and a model of them has: rows of zeros in X'X. */
#ifndef EASE_GRAM_EXTEND_H
#define EASE_GRAM_EXTEND_H

#include "gram/gram.h"

/* The number of the ids `more` that are not among `ids`. */
int32_t ease__items_missing(const ease__ids *ids, const ease__ids *more);

/* Makes interactions with the items of x, and behind them those of `more` that x lacks,
 * in their order. The rows are borrowed from x. Fails with EASE_E_TOO_LARGE or
 * EASE_E_NOMEM. */
ease_status ease__items_extend(const ease_interactions *x, const ease__ids *more,
                               ease_interactions *out, ease_error *err);
void ease__items_extended_free(ease_interactions *x);

/* Adds the same items to a whole Gram matrix. For a moment both matrices are in memory:
 * `limit` is the memory_limit of the caller. Also fails with EASE_E_MEMORY_LIMIT. */
ease_status ease__items_extend_gram(ease_gram *g, const ease__ids *more, size_t limit,
                                    ease_error *err);

#endif
