/* Input and output files, for several verbs. */
#ifndef EASE_CLI_SHARED_FILES_H
#define EASE_CLI_SHARED_FILES_H

#include <math.h>

#include "options.h"
#include "results.h"
#include "samefile.h"

/* ---- interactions ---------------------------------------------------------------- */

typedef struct reading_args {
    const char *format, *columns, *separator, *encoding;
    int header; /* -1: recognize */
    double min_rating, since, until, half_life;
    int weights, one_pass, repeat;
    int64_t min_user, min_item; /* -1: not given */
    int recipe;
    const char *const *more; /* further files of DATA, ended by NULL; NULL: none */
} reading_args;

#define READING_DEFAULTS                                                   \
    {                                                                      \
        .header = -1, .min_rating = (double)NAN, .since = (double)NAN,     \
        .until = (double)NAN, .min_user = -1, .min_item = -1, .recipe = -1 \
    }
#define READING_GROUP(args)                                      \
    {                                                            \
        "Reading DATA", reading_options, offsetof(args, reading) \
    }

extern const option reading_options[];
bool reading_is_default(const reading_args *a);
/* True if interactions have weights: values, or ages. */
bool reading_is_weighted(const reading_args *a);
/* False if ages count from the newest row of the data, which is another one in another
 * part of them. */
bool reading_has_fixed_ages(const reading_args *a);
/* All operands of the verb are files of DATA. */
void reading_several(reading_args *a, const common_args *common);
/* The separator that a word such as tab stands for, or the word itself; NULL for NULL.
 * */
const char *separator_named(const char *word);

/* The options of the library for these arguments. */
ease_read_options reading_options_of(console *c, const common_args *common,
                                     const reading_args *reading);
/* Notes what was found and dropped. */
void note_data(console *c, const char *path, const ease_interactions_info *info);

/* Notes that values of the data are ignored, or warns if some of them are below 0.
 * `use` says which options would use them. */
void note_values(console *c, const ease_interactions_info *info, const char *use);

/* To be called before anything is learned from the data: fails with EXIT_USAGE if its
 * columns were guessed and are probably wrong. */
int check_guess(console *c, const ease_interactions *x);

/* Compares the data with a recipe's published figures (NULL: none), and notes
 * differences: other files, or other options. */
void note_published(console *c, const ease_recipe *r,
                    const ease_interactions_info *data);

/* Reads DATA ("-": standard input) and notes what was found and dropped. Returns 0 or
 * the exit code after a message. */
int read_data(console *c, const common_args *common, const reading_args *reading,
              const char *path, size_t memory_limit, ease_interactions **out);

/* Does the same for data that may be empty, which is noted: *out is then NULL. */
int read_data_or_none(console *c, const common_args *common,
                      const reading_args *reading, const char *path,
                      size_t memory_limit, ease_interactions **out);

/* Recognizes the kind of a file; OTHER if it is not regular, since reading a pipe
 * would consume it. */
int recognize_file(console *c, const char *path, ease_file_kind *kind);

/* What a format can carry, for help: "; can have values and times", or "". */
const char *format_carries(const ease_format *f);

/* ---- models ---------------------------------------------------------------------- */

/* The description of a model, by value. */
ease_model_info model_info_of(const ease_model *m);
/* Opens a model, with titles from a file if `titles` is not NULL. */
int open_model(console *c, const common_args *common, const char *path,
               const char *titles, ease_model **out);
/* Finds the item of this id, or returns the exit code after a message with similar
 * ids. */
int find_item(console *c, const ease_model *m, const char *path, const char *id,
              int32_t *item);

/* ---- output files ---------------------------------------------------------------- */

/* Checks return 0, or the exit code after a message. */

/* Checks, before long work, that the file can be written. */
int check_output(console *c, const char *path);
/* The same, for files that cannot go to standard output. */
int check_output_file(console *c, const char *path);
/* Checks that the name suits a figure: no suffix other than .svg. */
int check_figure(console *c, const char *path);
/* Checks that files can be created in this directory. */
int check_directory(console *c, const char *path);
/* Checks that `bytes` bytes can be written to the file. */
int check_space(console *c, const char *path, size_t bytes);
/* Warns, after a failure, that this output was written nevertheless. */
void warn_written(console *c, const char *path);
/* The size of a file, or 0. */
size_t file_bytes(const char *path);
/* Checks that the file can be read. */
int check_readable(console *c, const char *path);

output_format format_of(const common_args *common);

#endif
