/* The readers of interactions. Each format is one constant of type ease__reader in one
 * file, and one line in EASE__READERS below: names, recognition, messages, help and
 * completions come from there. */
#ifndef EASE_READ_READERS_H
#define EASE_READ_READERS_H

#include "data/draft.h"
#include "input/input.h"

typedef struct ease__reader ease__reader;

/* One run of a reader: what it reads, how, and where the result goes. */
typedef struct ease__reading {
    const char *path;           /* as the caller gave it: a file, a directory, "-" */
    const ease_read_options *o; /* checked by ease__check_read_options */
    size_t block_bytes;         /* size of blocks of text; 0: the default */
    bool timed;                 /* keep times if the input has them */
    bool dated;                 /* times are dates: convert them to seconds since 1970,
                                   and drop rows outside the options' bounds */
    /* The result is either the records and ids of the draft, or the rows of x if the
     * input has rows itself (x->row_ptr is not NULL then). Nothing is folded or
     * filtered yet. draft->timed says whether records have times. */
    ease__draft *draft;
    ease_interactions *x;

    /* Set by ease__reading_open and ease__reading_run: */
    ease__input *in;
    const ease__reader *reader; /* NULL: to be recognized */
    const char *sample;         /* the first bytes of the input, which are not consumed:
                                   some lines, or bytes that cannot be text */
    size_t sample_bytes;
    bool whole; /* the sample is the whole input */
} ease__reading;

struct ease__reader {
    ease_format format; /* the public description */
    bool series; /* a directory of numbered files (input/datasets.h) has this format */
    bool parts;  /* several files of this format can be one data set */
    /* Sets *is if the input has this format, by the sample, the path and the options.
     * Consumes nothing. Fails only with EASE_E_NOMEM and EASE_E_IO: input that is not
     * understood is not of this format. */
    ease_status (*recognize)(const ease__reading *r, bool *is, ease_error *err);
    /* Reads all of r->in, at any number of threads with the same result. Refuses
     * options that the format has no use for with EASE_E_ARG. */
    ease_status (*read)(const ease__reading *r, ease_error *err);
};

/* All readers, one in a line, in the order of recognition: the first one that
 * recognizes an input reads it. Formats with an unmistakable beginning come first; the
 * table, which is any text with columns, comes last. */
#define EASE__READERS(READER)      \
    READER(ease__npz_reader)       \
    READER(ease__mtx_reader)       \
    READER(ease__netflix_reader)   \
    READER(ease__split_reader)     \
    READER(ease__json_reader)      \
    READER(ease__adjacency_reader) \
    READER(ease__table_reader)

#define EASE__DECLARE_READER(reader) extern const ease__reader reader;
EASE__READERS(EASE__DECLARE_READER)
extern const ease__reader *const ease__readers[]; /* all of them, then NULL */

/* The reader of the format of this name; NULL: there is none. */
const ease__reader *ease__reader_named(const char *name);

ease_status ease__check_read_options(const ease_read_options *o, ease_error *err);

/* Opens r->path. Close in any case. */
ease_status ease__reading_open(ease__reading *r, ease_error *err);
/* Recognizes the format unless the options give it, and reads. */
ease_status ease__reading_run(ease__reading *r, ease_error *err);
void ease__reading_close(ease__reading *r);

/* ease_interactions_read with blocks of a given size, for tests. 0: the default. */
ease_status ease__interactions_read(const char *path, const ease_read_options *o,
                                    size_t block_bytes, ease_interactions **out,
                                    ease_error *err);

/* ---- for readers ----------------------------------------------------------- */

/* Checks the sizes that a file's header claims against o->memory_limit, before anything
 * is allocated by them. `bytes` are needed beside the two tables of ids. */
ease_status ease__check_claim(const char *name, int64_t users, int64_t items,
                              size_t bytes, const ease_read_options *o,
                              ease_error *err);

/* True if the options use values: weights or a minimal rating. */
bool ease__wants_values(const ease_read_options *o);
/* The same for times: bounds or a half-life. */
bool ease__wants_times(const ease_read_options *o);
ease_status ease__check_times(const char *name, const char *recognized, bool times,
                              const ease_read_options *o, ease_error *err);
/* Fails with EASE_E_ARG if the options use values and the file has none. */
ease_status ease__check_values(const char *name, const char *recognized, bool values,
                               const ease_read_options *o, ease_error *err);
/* Fails with EASE_E_ARG if the options describe a table: columns, a header, or a
 * separator unless `separated`. `form` is what the input is instead. */
ease_status ease__check_no_table(const char *name, const char *form, bool separated,
                                 const ease_read_options *o, ease_error *err);

/* Writes " in 12 files", or nothing for one file. Returns `to`. */
enum { EASE__FILES_CHARS = 32 };
const char *ease__in_files(const ease__reading *r, char to[EASE__FILES_CHARS]);

/* Sets draft->recognized to a copy of `words`. */
ease_status ease__set_recognized(const ease__reading *r, const char *words,
                                 ease_error *err);
/* Reads the input as ease__table_reader does, under other options. */
ease_status ease__read_table(const ease__reading *r, const ease_read_options *o,
                             ease_error *err);

#endif
