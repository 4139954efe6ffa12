/* Writes a model whose inverse lies in the memory of several processes: process 0 the
 * small sections, every process its blocks of the weights. */
#ifndef EASE_CLUSTER_SAVE_H
#define EASE_CLUSTER_SAVE_H

#include "model/model.h"
#include "share.h"

/* Writes the file that ease_model_save() of one machine writes; *bytes is its size. All
 * processes call this, with the same model, and see the same directory. */
ease_status save_model(const ease_model *m, const share *s, const char *path,
                       ease_storage storage, int threads, size_t *bytes,
                       ease_error *err);

#endif
