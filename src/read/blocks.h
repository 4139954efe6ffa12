/* Reading lines in parallel: blocks of input are parsed by many threads and merged in
 * file order, so that numbers and errors are those of reading line by line. */
#ifndef EASE_READ_BLOCKS_H
#define EASE_READ_BLOCKS_H

#include "input/input.h"
#include "read/records.h"

/* The rest of `in` in the given form, into draft. first_line: the number of the first
 * line read. block_bytes 0: the default. Of `o`, threads and hooks are used; memory is
 * taken from the draft's budget. */
ease_status ease__blocks_read(ease__input *in, const ease__row_form *form,
                              int64_t first_line, size_t block_bytes,
                              const ease_read_options *o, ease__draft *draft,
                              ease_error *err);

/* Where triplets go: a number for the first item, one for the second, and the bits of a
 * double. */
enum { EASE__TRIPLET_WORDS = 4 };

typedef struct ease__triplets {
    ease__ids *ids; /* known before; others are added as they come, ... */
    bool fixed;     /* ... or are an error */
    /* Some, in file order, one call after the other, by any thread. What is wrong with
     * *bad, counted from 0, is told in `what`. */
    ease_status (*take)(void *user, const uint32_t *records, size_t count, size_t *bad,
                        char what[EASE__BLOCK_WHAT]);
    void *user;
} ease__triplets;

/* All of `in`, which may be several files, each with or without a header. */
ease_status ease__triplets_read(ease__input *in, const ease__splitter *splitter,
                                size_t block_bytes, const ease_read_options *o,
                                const ease__triplets *to, ease_error *err);

#endif
