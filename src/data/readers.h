/* The forms of input, each read into the rows of an ease_interactions, which are then
 * finished (draft.h). */
#ifndef EASE_READERS_H
#define EASE_READERS_H

#include "data/draft.h"
#include "data/input.h"

/* ease_interactions_read with a size of blocks: tests want small ones. 0: the best. */
ease_status ease__interactions_read(const char *path, const ease_read_options *o,
                                    size_t block_bytes, ease_interactions **out,
                                    ease_error *err);

/* A SciPy CSR matrix in a zip file. */
ease_status ease__npz_read(ease__input *in, const ease_read_options *o,
                           ease_interactions *x, ease_error *err);
bool ease__npz_begins(const char *sample, size_t bytes);

/* MatrixMarket coordinates. */
ease_status ease__mtx_read(ease__input *in, const ease_read_options *o,
                           size_t block_bytes, ease_interactions *x, ease_error *err);
bool ease__mtx_begins(const char *sample, size_t bytes);

/* Sizes that a file merely claims are held against o->memory_limit, or what is
 * available, before they are believed. bytes is beside the two tables of ids. */
ease_status ease__check_claim(const char *name, int64_t users, int64_t items,
                              size_t bytes, const ease_read_options *o,
                              ease_error *err);

/* Weights or a minimal rating were asked for where there are no values. */
ease_status ease__check_values(const char *name, const char *recognized, bool values,
                               const ease_read_options *o, ease_error *err);

#endif
