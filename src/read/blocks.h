/* The parallel reader of lines: blocks of input are parsed by several threads and
 * merged in file order, so that the numbers of ids and the first error are the same as
 * when reading line by line. */
#ifndef EASE_READ_BLOCKS_H
#define EASE_READ_BLOCKS_H

#include "input/input.h"
#include "read/records.h"

/* Reads the rest of `in`, rows of the given form, into the draft. first_line is the
 * line number of the first row. block_bytes 0: the default. Of `o`, threads, hooks,
 * weights and min_rating are used; memory is taken from the draft's budget. */
ease_status ease__blocks_read(ease__input *in, const ease__row_form *form,
                              int64_t first_line, size_t block_bytes,
                              const ease_read_options *o, ease__draft *draft,
                              ease_error *err);

/* 32-bit words of a triplet: the numbers of its two items, and the bits of a double. */
enum { EASE__TRIPLET_WORDS = 4 };

typedef struct ease__triplets {
    ease__ids *ids; /* items that are known already, in their order */
    bool fixed;     /* other items are an error; otherwise they are added to `ids` */
    /* Called with some of the triplets, in file order, by any thread but never by two
     * at once. On failure sets *bad to the index of the wrong triplet and `what` to
     * what is wrong. */
    ease_status (*take)(void *user, const uint32_t *records, size_t count, size_t *bad,
                        char what[EASE__BLOCK_WHAT]);
    void *user;
} ease__triplets;

/* Reads all of `in`, which may be several files, each with or without a header. */
ease_status ease__triplets_read(ease__input *in, const ease__splitter *splitter,
                                size_t block_bytes, const ease_read_options *o,
                                const ease__triplets *to, ease_error *err);

#endif
