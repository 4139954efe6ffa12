/* The forms of input, each read into records or rows, which are then finished
 * (draft.h). */
#ifndef EASE_READ_READERS_H
#define EASE_READ_READERS_H

#include "data/draft.h"
#include "input/input.h"

ease_status ease__check_read_options(const ease_read_options *o, ease_error *err);

/* ease_interactions_read with a size of blocks: tests want small ones. 0: the best. */
ease_status ease__interactions_read(const char *path, const ease_read_options *o,
                                    size_t block_bytes, ease_interactions **out,
                                    ease_error *err);

/* What is in the input before anything is folded or filtered: records, or the rows of x
 * where the input has rows itself (x->row_ptr is not NULL then). timed: times are kept
 * if there is a column of them; draft->timed says so. `path` is the input's. */
ease_status ease__read_any(ease__input *in, const char *path,
                           const ease_read_options *o, size_t block_bytes, bool timed,
                           ease__draft *draft, ease_interactions *x, ease_error *err);

/* A SciPy CSR matrix in a zip file. */
ease_status ease__npz_read(ease__input *in, const ease_read_options *o,
                           ease_interactions *x, ease_error *err);
bool ease__npz_begins(const char *sample, size_t bytes);

/* The Netflix Prize's ratings; the sample is what was peeked at. */
ease_status ease__netflix_read(ease__input *in, const char *sample, size_t bytes,
                               const ease_read_options *o, size_t block_bytes,
                               bool timed, ease__draft *draft, ease_error *err);
bool ease__netflix_begins(const char *sample, size_t bytes);

/* MatrixMarket coordinates. */
ease_status ease__mtx_read(ease__input *in, const ease_read_options *o,
                           size_t block_bytes, ease__draft *draft, ease_error *err);
bool ease__mtx_begins(const char *sample, size_t bytes);

/* Checks the sizes that a file's header claims against o->memory_limit, before anything
 * is allocated by them. `bytes` are needed beside the two tables of ids. */
ease_status ease__check_claim(const char *name, int64_t users, int64_t items,
                              size_t bytes, const ease_read_options *o,
                              ease_error *err);

/* True if the options use values: weights or a minimal rating. */
bool ease__wants_values(const ease_read_options *o);
/* Fails with EASE_E_ARG if the options use values and the file has none. */
ease_status ease__check_values(const char *name, const char *recognized, bool values,
                               const ease_read_options *o, ease_error *err);

#endif
