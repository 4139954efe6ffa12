/* What one history and many share. */
#ifndef EASE_SCORE_SCORE_H
#define EASE_SCORE_SCORE_H

#include "compute/topk.h"
#include "model/model.h"

/* Options given, or the defaults; k at least 1. */
ease_status ease__recommend_options_take(const ease_recommend_options *given,
                                         ease_recommend_options *out, ease_error *err);

/* Items strictly increasing and of this model, weights finite. `number` names the
 * history in the message; -1: the only one. */
ease_status ease__history_check(const ease_model *m, ease_row history, int64_t number,
                                ease_error *err);

/* The list of those without a history: by share of users. `scores` is scratch of n. */
int32_t ease__popular(const ease_model *m, const ease_recommend_options *o,
                      float *scores, ease_rec *recs);

#endif
