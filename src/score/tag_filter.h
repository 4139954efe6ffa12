#ifndef EASE_SCORE_TAG_FILTER_H
#define EASE_SCORE_TAG_FILTER_H

#include "model/model.h"

/* Fails with EASE_E_ARG if the model has no tags. */
ease_status ease__model_needs_tags(const ease_model *m, ease_error *err);

#endif
