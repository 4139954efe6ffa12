/* Reading lines in parallel: blocks of input are parsed by many threads and merged in
 * file order, so that numbers and errors are those of reading line by line. */
#ifndef EASE_BLOCKS_H
#define EASE_BLOCKS_H

#include "data/input.h"
#include "data/rows.h"

/* The rest of `in` in the given form, into draft. first_line: the number of the first
 * line read. block_bytes 0: as is best. Of `o`, threads, memory_limit and hooks are
 * used. */
ease_status ease__blocks_read(ease__input *in, const ease__row_form *form,
                              int64_t first_line, size_t block_bytes,
                              const ease_read_options *o, ease__draft *draft,
                              ease_error *err);

#endif
