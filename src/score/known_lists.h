/* Lists of known users. */
#ifndef EASE_SCORE_KNOWN_LISTS_H
#define EASE_SCORE_KNOWN_LISTS_H

#include "model/model.h"

static inline bool ease__is_known(const ease_model *m)
{
    return m->known.codes != NULL;
}

/* EASE_E_ARG where users are not given at all, EASE_E_DATA for one that is not known. */
ease_status ease__known_check(const ease_model *m, const int64_t *users, int64_t count,
                              ease_error *err);

/* ease_recommend_many for such a model, everything being checked. */
ease_status ease__recommend_known(const ease_model *m, const ease_row *histories,
                                  int64_t count, const ease_recommend_options *o,
                                  ease_rec *recs, int32_t *counts, ease_error *err);

#endif
