/* Lists whose items depend on each other or on the history: caps (at most so many items
 * of a list may have the same tag) and denied items (each history has others). */
#ifndef EASE_SCORE_CAPS_H
#define EASE_SCORE_CAPS_H

#include "score/scoring.h"

/* The caps of a call, resolved for the tags of its model. */
typedef struct ease__caps ease__caps;

/* Fails with EASE_E_ARG for caps that make no sense, EASE_E_DATA if the model has no
 * tag of such a kind, or EASE_E_NOMEM. Free with ease__caps_free(). */
ease_status ease__caps_new(const ease_model *m, const ease_cap *caps, int64_t count,
                           ease__caps **out, ease_error *err);
void ease__caps_free(ease__caps *c);

/* Makes the lists of a job without caps and denied items. */
typedef ease_status ease__list_maker(const ease__list_job *l, ease_error *err);

/* Makes the lists of a job with caps (NULL: none) and denied items: the items of longer
 * lists, which `make` makes, are taken in their order as far as both allow. A list that
 * is too short then is completed from the scores of all items: it is the list of the
 * whole catalog. Fails as `make` and ease__final_scores do, or with EASE_E_NOMEM. */
ease_status ease__chosen_lists(const ease__list_job *l, const ease__caps *caps,
                               ease__list_maker *make, ease_error *err);

#endif
