/* ease: recommendations in closed form.
 *
 * EASE^R (Steck, WWW 2019) learns an item-item matrix of weights B from who interacted
 * with what, in one step:
 *
 *     P = (X'X + lambda I)^-1,   B = I - P diagMat(1 / diag P)
 *
 * and scores item j for a history x (a row of X) as the sum of B[h][j] over the items
 * h of x. From a file of ratings to a model and a list:
 *
 *     #include <ease.h>
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         const char *const ids[] = {"express", "mongoose"};
 *         ease_interactions *x = NULL;
 *         ease_model *m = NULL;
 *         ease_history *h = NULL;
 *         ease_scorer *s = NULL;
 *         ease_train_options o;
 *         ease_rec recs[10];
 *         int32_t count = 0;
 *         ease_error err = {0};
 *
 *         ease_train_options_init(&o);
 *         o.lambda = 200;
 *         if (ease_interactions_read("npm.tsv.gz", NULL, &x, &err) ||
 *             ease_train(x, &o, &m, &err) ||
 *             ease_model_save(m, "npm.ease", EASE_STORE_F16, NULL, &err) ||
 *             ease_history_new(m, ids, NULL, 2, &h, &err) ||
 *             ease_scorer_new(m, &s, &err) ||
 *             ease_recommend(s, ease_history_row(h), NULL, recs, &count, &err))
 *             fprintf(stderr, "%s\n", err.text);
 *         for (int32_t i = 0; i < count; i++)
 *             puts(ease_model_item_id(m, recs[i].item));
 *         ease_scorer_free(s);
 *         ease_history_free(h);
 *         ease_model_free(m);
 *         ease_interactions_free(x);
 *         return err.status ? 1 : 0;
 *     }
 *
 * Later, ease_model_open("npm.ease", NULL, &m, &err) opens the model again.
 *
 * Rules of all calls:
 *
 *  - Every call that can fail returns ease_status; EASE_OK is 0.
 *  - `err` may be NULL. It is written only on failure; its text needs no free.
 *  - Out-parameters are written only on success.
 *  - X_free(NULL) is a no-op. An object that a call returns by `const *` is borrowed:
 *    it belongs to the object that it was obtained from, and is valid as long as that
 *    one.
 *  - Objects reached through `const *` are safe to share between threads; an
 *    ease_scorer belongs to one thread at a time.
 *  - Items are numbered 0 .. items-1, users 0 .. users-1, both in the order in which
 *    their ids first appear. Ids are strings of any bytes except NUL.
 *  - Accessors accept a NULL object and any index: out of range, they return 0, NULL,
 *    an empty row, NaN, EASE_NO_ITEM, EASE_NO_USER or EASE_NO_TAG.
 *    ease_X_describe(NULL, &info) sets the members of `info` to such values.
 *  - The library never prints, exits, aborts or changes process state.
 *
 * Rules of structures. They let a compiled program work with later versions of the
 * library:
 *
 *  - An options structure begins with its size: call ease_X_options_init, then change
 *    members. A NULL pointer to options stands for the defaults, where all members have
 *    one. Pointers in options are used during the call only, unless their comment says
 *    otherwise.
 *  - A structure that the library fills in begins with its size too, which the caller
 *    sets:
 *        ease_model_info info = {.size = sizeof(info)};
 *        ease_model_describe(m, &info);
 *  - New versions of the library add members at the end of these structures, and at the
 *    end of the constants that the library returns by pointer (ease_recipe,
 *    ease_format, ease_method_info, ...), never elsewhere. A program that was compiled
 *    with an older header gets the defaults of the options that its header lacks. A
 *    program that sets an option which an older library lacks gets EASE_E_ARG.
 *  - ease_row, ease_rec, ease_cap, ease_error, ease_hooks, ease_id_column,
 *    ease_removal, ease_split_part, ease_difference and ease_plot_axis are frozen: they
 *    never change.
 *
 * Threads and processes:
 *
 *  - `threads` is the largest number of threads that a call may use: 0 means one for
 *    each processor, and more than 1,024 are refused (EASE_E_ARG). The parts of a call
 *    that use BLAS run on no more threads than OpenBLAS has buffers for: twice the
 *    number of threads that OpenBLAS was built for, less one for each processor (126 on
 *    two processors with Debian's package). The first call of a process that this
 *    limits logs a warning (level 1).
 *  - fork() waits until no other thread is inside a call of OpenBLAS (some
 *    milliseconds). In the child of a process that had several threads, calls from the
 *    thread that called fork() use one thread; calls from threads that the child starts
 *    use as many threads as they request.
 *  - OpenBLAS maps 128 MiB of address space for each processor when it is loaded, and
 *    hangs if a resource limit (ulimit -v, -d) does not allow that much. With
 *    OMP_NUM_THREADS=1 in the environment, OpenBLAS maps 128 MiB in all.
 *  - libease.so stays loaded after dlclose(), since threads of OpenMP may still run its
 *    code.
 */
#ifndef EASE_H
#define EASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define EASE_API      __attribute__((visibility("default")))
#define EASE_MUST_USE __attribute__((warn_unused_result))
#else
#define EASE_API
#define EASE_MUST_USE
#endif

/* ---- version ------------------------------------------------------------------- */

#define EASE_VERSION_MAJOR 0
#define EASE_VERSION_MINOR 2
#define EASE_VERSION_PATCH 0
#define EASE_VERSION_NUMBER \
    (EASE_VERSION_MAJOR * 1000000 + EASE_VERSION_MINOR * 1000 + EASE_VERSION_PATCH)

/* The version of the loaded library, which may be newer than the header that a program
 * was compiled with: as a string, "0.2.0", and as a number like EASE_VERSION_NUMBER. */
EASE_API const char *ease_version(void);
EASE_API int ease_version_number(void);

/* ---- status and errors ---------------------------------------------------- */

/* One list feeds the enum, ease_status_name() and ease_status_text(). */
#define EASE_STATUS_LIST(X)                                       \
    X(EASE_OK, 0, "ok")                                           \
    X(EASE_E_ARG, -1, "invalid argument")                         \
    X(EASE_E_NOMEM, -2, "out of memory")                          \
    X(EASE_E_TOO_LARGE, -3, "size overflows")                     \
    X(EASE_E_IO, -4, "input/output error")                        \
    X(EASE_E_PARSE, -5, "malformed input")                        \
    X(EASE_E_FORMAT, -6, "not a file of this kind, or damaged")   \
    X(EASE_E_VERSION, -7, "unsupported file version")             \
    X(EASE_E_NOT_POSDEF, -8, "matrix not positive definite")      \
    X(EASE_E_BACKEND, -9, "solver backend unavailable or failed") \
    X(EASE_E_CANCELLED, -10, "cancelled by callback")             \
    X(EASE_E_MEMORY_LIMIT, -11, "would exceed the memory limit")  \
    X(EASE_E_ACCURACY, -12, "numerically unusable result")        \
    X(EASE_E_DATA, -13, "data that cannot be used")

typedef enum ease_status {
#define X(name, value, text) name = value,
    EASE_STATUS_LIST(X)
#undef X
} ease_status;

EASE_API const char *ease_status_name(ease_status s); /* "EASE_E_PARSE" */
EASE_API const char *ease_status_text(ease_status s); /* "malformed input" */

typedef struct ease_error {
    ease_status status;
    int sys_errno;  /* errno, or 0 */
    int64_t where;  /* line, item or byte offset; -1 if none */
    char text[480]; /* always terminated */
} ease_error;

/* ---- hooks: log, progress and cancelling ----------------------------------------- */

/* Callbacks of a long call; each may be NULL. They run in the thread that made the
 * call.
 *
 * log: level is 0 error, 1 warning, 2 note or 3 debug; `text` is valid during the
 * callback only.
 *
 * progress: `stage` names the current stage of the work, and is the
 * same pointer until the next stage begins. `fraction` is the share of the stage that
 * is done, 0 .. 1, or negative if its length is unknown. Return nonzero to cancel: the
 * call then ends soon with EASE_E_CANCELLED. */
typedef struct ease_hooks {
    void (*log)(void *user, int level, const char *text);
    int (*progress)(void *user, const char *stage, double fraction);
    void *user;
} ease_hooks;

/* ---- files ------------------------------------------------------------------- */

/* Every function of this header that writes a file is atomic: it writes a temporary
 * file in the same directory and renames it to `path` when it is complete, so that a
 * file at `path` is either replaced as a whole or left as it was. The new file gets
 * the owner, group and permissions of the old one as far as the process is permitted.
 * If `path` is a symbolic link, the link stays and the file that it points to is
 * created or replaced. Where a comment allows "-", it means standard output. */

/* Checks, before a long computation, that a file of `bytes` (0: unknown) can be
 * written to `path`. A file at `path` is not changed. "-", pipes and devices are
 * accepted. Fails with EASE_E_IO, as writing would. */
EASE_API EASE_MUST_USE ease_status ease_output_check(const char *path, size_t bytes,
                                                     ease_error *err);

/* The kind of a file, recognized by its first bytes; the rest is not checked. Fails
 * with EASE_E_IO if the file cannot be read. */
typedef enum ease_file_kind {
    EASE_FILE_OTHER,
    EASE_FILE_GRAM,
    EASE_FILE_MODEL
} ease_file_kind;
EASE_API EASE_MUST_USE ease_status ease_file_recognize(const char *path,
                                                       ease_file_kind *kind,
                                                       ease_error *err);

/* Reads a whole model or Gram file and verifies all of its checksums. Fails with
 * EASE_E_FORMAT if one differs. */
EASE_API EASE_MUST_USE ease_status ease_file_verify(const char *path,
                                                    const ease_hooks *hooks,
                                                    ease_error *err);

/* ---- interactions: who interacted with what (X) ---------------------------- */

typedef struct ease_interactions ease_interactions;

typedef struct ease_row { /* borrowed view of one user's history */
    const int32_t *items; /* strictly increasing */
    const float *weights; /* NULL means all ones */
    int32_t count;
} ease_row;

/* The value of a pair (user, item) that occurs in several rows: that of the first row,
 * of the last row, the largest one or the sum. Without the option `weights` every row
 * has the value 1, so that SUM gives the number of rows. */
typedef enum ease_repeat {
    EASE_REPEAT_FIRST,
    EASE_REPEAT_LAST,
    EASE_REPEAT_MAX,
    EASE_REPEAT_SUM
} ease_repeat;

/* The columns of a table that contain the user, the item, the value and the time:
 * indices from 0 on, or -1 if there is no such column. */
typedef struct ease_columns {
    size_t size;
    int user, item, value, time;
    int guessed;      /* EASE_GUESSED_... bits: columns chosen by their values, by their
                         order or by a weak name (such as invoice for the user) */
    char words[256];  /* "user = client, item = sku, time = ts" */
    char advice[292]; /* a sentence with the `columns` to give if the guess is wrong */
} ease_columns;

enum { EASE_GUESSED_USER = 1, EASE_GUESSED_ITEM = 2 };

typedef struct ease_read_options {
    size_t size;           /* sizeof(ease_read_options), set by _init */
    const char *format;    /* NULL: recognize. The name of an ease_format */
    const char *columns;   /* NULL: recognize. "USER,ITEM[,VALUE[,TIME]]", each the
                              name of a header field or a number from 1; VALUE may
                              be empty; times are used by splits, since, until and
                              half_life */
    const char *separator; /* NULL: recognize. "," "\t" "::" " " ... */
    int header;            /* -1: recognize, 0: none, 1: the first line */
    double min_rating;     /* keep rows with a value of at least this; NaN: all */
    int weights;           /* nonzero: the entries of X are the values, not 1 */
    ease_repeat repeat;
    int64_t min_user, min_item; /* drop users, items with fewer interactions */
    int one_pass;               /* nonzero: drop items once, then users once; 0: repeat
                                   until no user or item has too few */
    int threads;                /* 0: all */
    size_t memory_limit;        /* bytes that reading may use; 0: the memory that is
                                   available when reading begins; SIZE_MAX: no limit */
    const ease_hooks *hooks;    /* NULL: none */
    const char *columns_option; /* how messages introduce columns that they propose,
                                   such as "--columns "; NULL: "columns " */
    const ease_columns *guess;  /* for ease_interactions_from_table: the result of
                                   ease_columns_recognize, if the caller chose the
                                   columns by it; needed to set `doubt`, see
                                   ease_interactions_info; NULL: no guess */
    /* Times. If any of these is given, every row must have a time: a date such as
     * 2024-01-31 or 2024-01-31T12:00+01:00 (UTC without a zone), or a number of
     * seconds, milli-, micro- or nanoseconds since 1970, which are told apart by their
     * size.
     *
     * With a half-life the entries of X are weighted by age: value x 2^-(age /
     * half_life), where the value is 1 unless `weights` is set. Ages count from `until`
     * if it is given, and otherwise from the newest row that is kept. min_rating is
     * compared with the value itself; repeated rows are combined by their weights, so
     * that EASE_REPEAT_MAX without `weights` is the newest row of a pair. min_user and
     * min_item count pairs, whatever their weights; the popularity of an item is the
     * sum of its weights. A weight below 2^-126 is 0, and the row is dropped. */
    double since, until; /* keep rows with since <= time < until, both in seconds since
                            1970, see ease_time_parse; NaN: no bound */
    double half_life;    /* in days; 0: rows do not age */
    const double *times; /* for ease_interactions_from_table: the time of each row, a
                            number as above; NULL: none */
    /* For reading files: paths that together with the first one are one data set, in
     * this order, ended by NULL; NULL: none. */
    const char *const *more;
    const char *encoding; /* of the text of files: "utf-8", "utf-16" or "latin-1" (read
                             as Windows-1252, its superset); NULL: UTF-16 is recognized
                             by its mark, and other bytes are read as they are */
} ease_read_options;

/* Parses a time for ease_read_options and ease_split_options: a date or a number, in
 * the forms of the times in files. Sets *seconds, since 1970. Fails with EASE_E_ARG. */
EASE_API EASE_MUST_USE ease_status ease_time_parse(const char *text, double *seconds,
                                                   ease_error *err);

typedef struct ease_interactions_info {
    size_t size;
    int64_t users, interactions;
    int32_t items;
    int weighted;
    const char *recognized; /* the recognized format and columns, in words; borrowed */
    int64_t rows;           /* rows with a pair, before any was dropped */
    int64_t below_rating, zero_weight, repeated, filtered; /* dropped rows, by reason */
    int64_t unused;   /* rows with a value other than 1 that was ignored, as neither
                         weights nor min_rating is set */
    int64_t negative; /* rows of `unused` whose value is negative */
    /* NULL, or a message saying why the guessed columns (see ease_columns) are probably
     * not the user and the item: all rows have the same user or the same item, or no
     * user has two rows. Training, tuning, Gram matrices and splits then fail with
     * EASE_E_ARG and this message. */
    const char *doubt;
    int64_t outside_time;  /* rows dropped as their time is not in since .. until */
    double oldest, newest; /* times of the rows that were kept, before repeated and rare
                              ones are dropped; 0 if times were not used */
    double age_from;       /* the time from which ages count; 0 without a half-life */
} ease_interactions_info;

/* A format of files with interactions. */
typedef struct ease_format {
    const char *name;  /* for ease_read_options */
    const char *about; /* one line */
    int values, times; /* 1: interactions can have a value, a time */
} ease_format;

/* The format at `index`, from 0 on; NULL past the end. A file of unknown format is
 * tried as each format in this order. */
EASE_API const ease_format *ease_format_at(int index);

/* Reads interactions from a file, plain or compressed by gzip, zstd or zip; "-" is
 * standard input. The formats: delimited tables with or without a header, MovieLens
 * `::`, RecBole .inter, JSON lines, adjacency lines (`user item item ...`), SciPy CSR
 * .npz, MatrixMarket coordinates and the ratings of the Netflix Prize. `path` may also
 * be a directory with one of the paper's data sets as it is distributed: MovieLens'
 * ratings.csv or ratings.dat, train_triplets.txt, training_set/mv_0000001.txt ...,
 * combined_data_1.txt ... _4.txt.
 *
 * Tables, adjacency lines and JSON lines may come in several files: those of a
 * directory, in the byte order of their names (files whose names begin with a dot or an
 * underscore are ignored; all others must have the same ending, before .gz or .zst),
 * those that match a pattern such as day-*.csv.gz, or those of `o->more`. The first
 * file decides on the columns; each other one may begin with the same header. Files of
 * zero bytes are ignored.
 *
 * Columns that `o` does not give are recognized by the rules of ease_columns_recognize.
 *
 * A table of a split (header uid,sid, in a directory with unique_sid.txt or split.json)
 * contains numbers; they are replaced by the ids of the data that was split. If `o`
 * sets a format other than split, columns, no header or a separator other than a comma,
 * the table is read like any other table.
 *
 * Fails with EASE_E_IO, EASE_E_PARSE ("path:line: what"), EASE_E_DATA (with sys_errno
 * ENODATA if no interaction is left), EASE_E_MEMORY_LIMIT, EASE_E_NOMEM,
 * EASE_E_CANCELLED or EASE_E_ARG (also if the columns are ambiguous). */
EASE_API EASE_MUST_USE ease_status ease_interactions_read(const char *path,
                                                          const ease_read_options *o,
                                                          ease_interactions **out,
                                                          ease_error *err);

/* Makes interactions from a CSR matrix in memory, which is copied. row_ptr has users +
 * 1 entries; the columns of a row may have any order, but must differ; vals may be
 * NULL (all ones) and must be finite. Ids are the numbers "0", "1", ... Fails with
 * EASE_E_ARG or EASE_E_NOMEM. */
EASE_API EASE_MUST_USE ease_status ease_interactions_from_csr(
    int64_t users, int32_t items, const int64_t *row_ptr, const int32_t *cols,
    const float *vals, ease_interactions **out, ease_error *err);

/* Does the same as ease_interactions_from_csr for a matrix whose rows are the users of
 * `users` and whose columns are the items of `items`, and copies their ids: for a
 * selection from other interactions. `users` and `items` may be the same object. */
EASE_API EASE_MUST_USE ease_status ease_interactions_from_csr_ids(
    const ease_interactions *users, const ease_interactions *items,
    const int64_t *row_ptr, const int32_t *cols, const float *vals,
    ease_interactions **out, ease_error *err);

/* Does the same as ease_interactions_from_csr without copying: the arrays must exist
 * and must not change until the interactions are freed. Fails with EASE_E_ARG unless
 * the columns of each row are strictly increasing and no value is 0. */
EASE_API EASE_MUST_USE ease_status ease_interactions_borrow_csr(
    int64_t users, int32_t items, const int64_t *row_ptr, const int32_t *cols,
    const float *vals, ease_interactions **out, ease_error *err);

/* A column of ids in memory: integers, whose ids are their decimal digits, or
 * strings. */
typedef struct ease_id_column {
    const int64_t *numbers; /* one for each row; NULL: the ids are strings */
    const char *bytes;      /* id i is bytes[offsets[i]] .. bytes[offsets[i + 1] - 1] */
    const int64_t *offsets; /* rows + 1 of them, not decreasing */
} ease_id_column;

/* Recognizes the columns of a table in memory by the rules that ease_interactions_read
 * applies to a file:
 *
 *  1. by their names in several languages (user_id, Kunden-Nr, cliente; sku, produit;
 *     rating, Menge; timestamp, fecha);
 *  2. by their values: times and fractions are not ids, nor are columns with a single
 *     value, with five values or fewer, or with a different value in each row, if other
 *     columns can be the ids;
 *  3. by their order: user, item, value, time.
 *
 * `names` has `count` entries, or is NULL for a table without names. `values` has the
 * first rows of the table, of which at most 4,096 are used: rows x count strings, row
 * by row, NULL for a missing value. Of `o`, which may be NULL, only columns_option is
 * used. Fails with EASE_E_ARG if another choice is as likely (the message proposes the
 * columns to give), EASE_E_PARSE if there are fewer than two columns, EASE_E_NOMEM. */
EASE_API EASE_MUST_USE ease_status ease_columns_recognize(
    const char *const *names, int count, const char *const *values, int64_t rows,
    const ease_read_options *o, ease_columns *out, ease_error *err);

/* Makes interactions from the rows of a table in memory, by the rules that
 * ease_interactions_read applies to the rows of a file. The table is copied. `values`
 * may be NULL if `o` sets neither weights nor min_rating; values that are not used may
 * be NaN or infinite. The format, columns, separator and header of `o` are ignored.
 * Fails with EASE_E_DATA ("row 3: ..."), EASE_E_MEMORY_LIMIT, EASE_E_NOMEM or
 * EASE_E_ARG. */
EASE_API EASE_MUST_USE ease_status ease_interactions_from_table(
    int64_t rows, const ease_id_column *users, const ease_id_column *items,
    const double *values, const ease_read_options *o, ease_interactions **out,
    ease_error *err);

/* Options of synthetic data; all sizes are required. */
typedef struct ease_synth_options {
    size_t size;
    int64_t users, interactions;
    int32_t items;
    uint64_t seed;
    int threads;
    const ease_hooks *hooks; /* NULL: none */
} ease_synth_options;

/* Makes synthetic data: exactly `interactions` distinct pairs, in which each user and
 * each item occurs at least once. Both have long-tailed distributions, and users have
 * tastes that a model can learn. The same seed gives the same pairs at any number of
 * threads. Fails with EASE_E_ARG, EASE_E_MEMORY_LIMIT (more memory is needed than is
 * available), EASE_E_NOMEM or EASE_E_CANCELLED. */
EASE_API EASE_MUST_USE ease_status ease_interactions_synth(const ease_synth_options *o,
                                                           ease_interactions **out,
                                                           ease_error *err);

/* Writes the interactions as a CSV file with a header, user by user: user,item or
 * user,item,value. `path` may be "-". Fails with EASE_E_IO or EASE_E_CANCELLED. */
EASE_API EASE_MUST_USE ease_status ease_interactions_write(const ease_interactions *x,
                                                           const char *path,
                                                           const ease_hooks *hooks,
                                                           ease_error *err);

EASE_API void ease_interactions_describe(const ease_interactions *x,
                                         ease_interactions_info *info);
EASE_API int64_t ease_interactions_users(const ease_interactions *x);
EASE_API int32_t ease_interactions_items(const ease_interactions *x);
EASE_API ease_row ease_interactions_row(const ease_interactions *x, int64_t user);
EASE_API const char *ease_interactions_user_id(const ease_interactions *x,
                                               int64_t user);
EASE_API const char *ease_interactions_item_id(const ease_interactions *x,
                                               int32_t item);
#define EASE_NO_USER (-1)
EASE_API int64_t ease_interactions_find_user(const ease_interactions *x,
                                             const char *user_id); /* or EASE_NO_USER */
EASE_API void ease_interactions_free(ease_interactions *x);

/* ---- tags of items -------------------------------------------------------------- */

/* Tags are properties of items, such as genres, authors or categories. A tag is a text
 * KIND=VALUE: genre=Comedy. Models keep the tags of their items, see
 * ease_model_set_tags; training can learn from them, see ease_train_options. */
typedef struct ease_tags ease_tags;

typedef struct ease_tag_options {
    size_t size;
    const char *columns;   /* "ITEM,TAG[,WEIGHT]", each the name of a header field or a
                              number from 1; NULL: recognize */
    const char *separator; /* of the columns; NULL: recognize. "," "\t" "::" " " ... */
    const char *split; /* separates several tags in one field: "|", ", "; NULL: a field
                          is one tag */
    const char *kind;  /* KIND of the tags; NULL: the name of the column of tags in the
                          header, or "tag" without a header */
    int header;        /* -1: recognize, 0: none, 1: the first line */
    size_t memory_limit;        /* bytes that reading may use; 0: the memory that is
                                available */
    const ease_hooks *hooks;    /* NULL: none */
    const char *columns_option; /* how messages introduce columns that they propose,
                                   such as "--tag-columns "; NULL: "columns " */
} ease_tag_options;

typedef struct ease_tags_info {
    size_t size;
    int32_t items, tags; /* distinct items that have a tag, and distinct tags */
    int64_t pairs;       /* distinct pairs of an item and a tag */
    int weighted;        /* 1: pairs have weights other than 1 */
    int64_t rows;        /* that were read */
    int64_t empty;       /* tags that were ignored: empty, or with a weight of 0 */
} ease_tags_info;

/* Reads tags from a delimited table, plain or compressed, in UTF-8 or Latin-1; "-" is
 * standard input.
 *
 * Columns that `o` does not give are recognized. With a header, the item is the column
 * whose name fits best (movieId; then id), the tag the first other one with a name such
 * as genres, tags, authors or category, or the only other one; the third of three
 * columns is the weight if its name is that of a value. Without a header, two columns
 * are item and tag, and a third one is the weight if it is a number.
 *
 * KIND of the option is a part of the tag, except for values that already are
 * KIND=VALUE, with KIND of letters, digits, '-' and '_': one table may have several
 * kinds. Blanks around values are removed. Empty values, and weights of 0, are ignored.
 * Of a pair that occurs several times, the weights are added if any pair has a weight
 * other than 1; otherwise it counts once.
 *
 * Fails with EASE_E_PARSE ("path:line: what": also a weight that is negative or not a
 * finite number), EASE_E_DATA (no tag is left), EASE_E_ARG (the columns are not clear),
 * EASE_E_IO, EASE_E_MEMORY_LIMIT or EASE_E_NOMEM. */
EASE_API EASE_MUST_USE ease_status ease_tags_read(const char *path,
                                                  const ease_tag_options *o,
                                                  ease_tags **out, ease_error *err);

/* Makes tags from the rows of a table in memory, which is copied, by the rules of
 * ease_tags_read. `weights` may be NULL (all ones); `kind` NULL: "tag". Fails with
 * EASE_E_DATA ("row 3: ..."), EASE_E_MEMORY_LIMIT, EASE_E_NOMEM or EASE_E_ARG. */
EASE_API EASE_MUST_USE ease_status ease_tags_from_table(
    int64_t rows, const ease_id_column *items, const ease_id_column *tags,
    const double *weights, const char *kind, ease_tags **out, ease_error *err);

EASE_API void ease_tags_describe(const ease_tags *t, ease_tags_info *info);
/* Items and tags are numbered in the order in which they first appear. */
EASE_API const char *ease_tags_item_id(const ease_tags *t, int32_t item);
EASE_API const char *ease_tags_name(const ease_tags *t, int32_t tag);
/* The tags of an item: row.items are numbers of tags. */
EASE_API ease_row ease_tags_row(const ease_tags *t, int32_t item);
EASE_API void ease_tags_free(ease_tags *t);

/* ---- recipes: the paper's data sets, filtered and divided as published --------- */

typedef struct ease_recipe {
    const char *name;   /* "ml-20m", "netflix", "msd", "ml-10m" */
    const char *title;  /* "MovieLens 20M" */
    const char *format; /* as in ease_read_options; NULL: recognized */
    double min_rating;  /* NaN: every row counts */
    int64_t min_user;   /* users and items with fewer interactions are dropped in one */
    int64_t min_item;   /* pass, items first */
    const char *protocol; /* of the split */
    int64_t heldout_users;
    double lambda; /* of the paper */
    /* Sizes of the data after the filters, as published; 0: unknown. */
    int64_t users, interactions;
    int32_t items;
} ease_recipe;

/* The recipe at `index`, from 0 on, and the recipe with a name; NULL: there is none. */
EASE_API const ease_recipe *ease_recipe_at(int index);
EASE_API const ease_recipe *ease_recipe_find(const char *name);
/* Sets the format and the filters of `o` to those of the recipe, and leaves the other
 * members as they are. */
EASE_API void ease_recipe_apply(const ease_recipe *recipe, ease_read_options *o);

/* ---- splits: training, validation and test data ------------------------------- */

/* Options of a split. The protocols, by name (docs/file-formats.md defines exactly how
 * each divides the data):
 *
 *     liang18     strong generalization, bit for bit as published: users are divided
 *                 into training, validation and test users; a random share of the items
 *                 of validation and test users is held out
 *     volkovs15   weak generalization: 3 of 10 items of each user are training data,
 *                 the others test data
 *     random      a random share of each user's items is test data
 *     leave-last  each user's last item is test data, the one before it validation data
 *     time        interactions after one point in time are test data
 *     cold-items  all interactions of a random share of the items are test data, and
 *                 those of as many other items validation data; so is a random fifth of
 *                 each user's other items
 *
 * In all protocols except liang18 the validation data is a part of the training data:
 * models are trained without it while they are tuned, and with it in the end. */
typedef struct ease_split_options {
    size_t size;
    const char *recipe;    /* the name of a recipe, which split.json records, or NULL */
    const char *protocol;  /* NULL: that of the recipe; required without a recipe */
    int64_t heldout_users; /* liang18: number of validation users, and of test users;
                              0: that of the recipe, or 10,000 */
    double share; /* liang18, random, time: share held out; 0: 0.2. cold-items: share of
                     items held out for testing, and again for validation; 0: 0.1 */
    uint32_t seed;           /* 98765 */
    const ease_hooks *hooks; /* NULL: none */
    /* time: interactions from test_from on are test data, and of the others those from
     * validation_from on are validation data; in seconds since 1970, see
     * ease_time_parse. NaN: the time is chosen by the share. */
    double test_from, validation_from;
} ease_split_options;

typedef struct ease_split_part {
    int64_t users, interactions;
    int32_t items;
} ease_split_part;

typedef struct ease_split_info {
    size_t size;
    /* Set by the caller, with its size: receives the description of the data that was
     * read, in which `recognized` is NULL. NULL: not wanted. */
    ease_interactions_info *data;
    char recognized[400]; /* the recognized format and columns, in words */
    int by_time;   /* leave-last and time: 1: by times, 0: by the order of rows */
    int64_t users; /* in all parts of the split */
    int32_t items; /* in all parts of the split */
    ease_split_part train, validation_train; /* equal if only one is written */
    ease_split_part validation_input, validation_target;
    ease_split_part test_input, test_target;
    /* cold-items: the number of items held out for testing, and again for validation;
     * others: 0 */
    int64_t cold_items;
} ease_split_info;

/* Reads the interactions of the file `data` and writes a split of them into the
 * directory `dir`, which is created if it does not exist. A split in `dir` is replaced;
 * a directory with other files is refused.
 *
 * The split is written to a temporary directory beside `dir`, which then replaces `dir`
 * in one atomic step: at any time, also after a kill or with several calls at once,
 * `dir` contains one complete split. Some directories cannot be replaced atomically
 * (`dir` is a mount point or the working directory, or its file system or permissions
 * do not allow it). Their files are replaced one by one: an interruption leaves a
 * directory that ease_split_open refuses, and a second call at the same time fails.
 * Temporary directories of killed processes are removed by the next split into `dir`.
 *
 * If `r` is NULL, the options of the recipe apply; without a recipe the defaults apply,
 * with min_user 5 for liang18, as published. If `r` is not NULL, it applies instead of
 * the options of the recipe. All options of `r` are used except weights, the half-life
 * and the repeats max and sum; liang18 filters in one pass. The hooks of `r` are used
 * while the data is read, those of `o` afterwards. `info` may be NULL. Fails as
 * ease_interactions_read does, and with EASE_E_DATA if a part would be empty. */
EASE_API EASE_MUST_USE ease_status ease_split(const char *data,
                                              const ease_read_options *r,
                                              const ease_split_options *o,
                                              const char *dir, ease_split_info *info,
                                              ease_error *err);

/* The parts of a split, with the ids of the data that was split. */
typedef struct ease_split_parts {
    size_t size;
    ease_interactions *train;            /* to train the final model on */
    ease_interactions *validation_train; /* to train on while tuning; NULL: train */
    ease_interactions *validation_input, *validation_target;
    ease_interactions *test_input, *test_target;
} ease_split_parts;

/* Divides interactions in memory, as ease_split divides a file of their rows, by a
 * protocol that needs neither times nor the order of rows: liang18 (users with fewer
 * than five interactions are left out), volkovs15, random or cold-items. Weights stay
 * in the parts for training and in the inputs; targets have none. The caller sets
 * out->size and frees the parts by ease_split_close; x is not changed, and may be freed
 * before them. Fails with EASE_E_ARG, EASE_E_DATA (a part would be empty),
 * EASE_E_MEMORY_LIMIT, EASE_E_NOMEM or EASE_E_CANCELLED. */
EASE_API EASE_MUST_USE ease_status ease_interactions_split(const ease_interactions *x,
                                                           const ease_split_options *o,
                                                           ease_split_parts *out,
                                                           ease_error *err);

/* Reads a directory that ease_split or the published code of liang18 has written. If it
 * contains a split.json, all files must exist, and each table must have the number of
 * users, items and interactions that split.json records. The published code writes no
 * split.json; without one, if unique_uid.txt or unique_sid.txt is missing, the numbers
 * are the ids. The caller sets out->size and frees the parts by ease_split_close. Fails
 * with EASE_E_IO (a file is missing, or the split was replaced while it was read),
 * EASE_E_PARSE or EASE_E_DATA (other counts, or an unfinished split). */
EASE_API EASE_MUST_USE ease_status ease_split_open(const char *dir,
                                                   ease_split_parts *out,
                                                   ease_error *err);
/* Frees the parts, not the structure. */
EASE_API void ease_split_close(ease_split_parts *p);

/* ---- training -------------------------------------------------------------- */

typedef struct ease_gram ease_gram;
typedef struct ease_model ease_model;

typedef enum ease_precision { EASE_F32, EASE_F64 } ease_precision;

/* The matrix G of EASE, P = (G + lambda I)^-1. With U users, mu = column sums / U,
 * C = X'X - U mu mu' and s_i = sqrt(C_ii):
 *
 *     counts       X'X
 *     covariance   C
 *     correlation  C_ij / (s_i s_j)
 *
 * For covariance and correlation the weights W are transformed back to the space of X,
 * and a score is the base c = mu - mu W plus the sum over the history. */
typedef enum ease_gram_kind {
    EASE_GRAM_COUNTS,
    EASE_GRAM_COVARIANCE,
    EASE_GRAM_CORRELATION
} ease_gram_kind;

/* The form in which a model file stores the weights.
 *
 * F32, F16 and PACKED are alternatives for dense models, which are those of all methods
 * with from_gram (see ease_method_info). The range of F16 is limited: if the values of
 * items differ by a factor of more than about 10^4, small weights may become 0, and
 * saving logs a warning (level 1).
 *
 * NONE, SPARSE, LATENT and KNOWN depend on the method: such a model is always saved in
 * its own form. */
typedef enum ease_storage {
    EASE_STORE_F32,    /* rows of float32: 4 bytes for each weight */
    EASE_STORE_F16,    /* rows of float16 with one common power of two: 2 bytes */
    EASE_STORE_PACKED, /* one triangle of the symmetric inverse in float32: about 2
                          bytes; rows of weights are computed when they are used */
    EASE_STORE_NONE,   /* no weights: a score is the base alone (popularity) */
    EASE_STORE_SPARSE, /* the nonzero weights of each row */
    EASE_STORE_LATENT, /* an encoder from histories to factors, and factors of items */
    EASE_STORE_KNOWN   /* scores of the users of the training data, 2 bytes each */
} ease_storage;

/* The name of a storage form, such as "f16"; NULL: there is none. Static. */
EASE_API const char *ease_storage_name(ease_storage storage);

/* How an evaluation counts unknown items: items that were held out but do not occur in
 * the model's training data, so that the model cannot recommend them. */
typedef enum ease_unknown {
    EASE_UNKNOWN_MISS, /* they are misses: held out, and never recommended */
    EASE_UNKNOWN_DROP  /* they are ignored, as if not held out: means are higher */
} ease_unknown;

typedef struct ease_train_options {
    size_t size;
    const char *method; /* name of a method, see ease_method_at; NULL: "ease" */
    /* Methods with a lambda: above 0, or NaN: ease_train chooses it by leaving out one
     * user after the other, as ease_tune does with leave_one_out, and fails with
     * EASE_E_ARG if ease_leave_one_out refuses the method, its settings or the kind.
     * NaN is not possible from a Gram matrix. Other methods ignore it. */
    double lambda;
    const char *settings; /* settings of the method, "rank=64"; NULL: its defaults */
    ease_gram_kind kind;
    ease_precision precision; /* of the solve */
    const char *backend; /* name of a backend, see ease_backend_at; NULL: the first */
    size_t memory_limit; /* bytes; 0: the memory that is available */
    /* A directory, or NULL. If the matrix does not fit into memory, ease_train and
     * ease_train_gram_file keep it in an unnamed file there, with the same result. The
     * returned model then reads its weights from that file. */
    const char *workdir;
    /* Validation users, for methods that are trained by epochs: the model is that of
     * the epoch with the best metric. If training diverges after that epoch, a warning
     * is logged (level 1). NULL: the model is that of the last epoch, and divergence
     * fails with EASE_E_ACCURACY. */
    const ease_interactions *validation_input, *validation_target;
    const char *metric;   /* that the best epoch, or lambda, is chosen by; "ndcg@100" */
    ease_unknown unknown; /* for unknown items of validation_target; default MISS */
    int threads;          /* 0: all; results do not depend on it */
    const ease_hooks *hooks; /* NULL: none */
    /* Tags of items, which the model keeps (see ease_model_set_tags), or NULL. Methods
     * with from_gram also learn from them, see ease_train. */
    const ease_tags *tags;
    double tag_weight; /* a, at least 0; default 1. 0: tags are kept only */
    /* Nonzero: the model keeps what ease_model_update and ease_leave_one_out need. This
     * is lost if the model is saved in another storage than EASE_STORE_PACKED. Fails
     * with EASE_E_ARG for a model that cannot be updated, see ease_model_update. */
    int updatable;
    int lambda_users; /* lambda NaN: it is chosen on a random sample of so many users;
                         default 10,000; 0: on all */
    size_t device_memory; /* the most bytes of a device's memory that the backend uses;
                             0: what is free. Of a matrix that takes more the backend
                             keeps a part on the device, or the plan refuses it */
    /* An updatable model, or NULL. With it training makes the model that
     * ease_model_update would make of `like` if its data became x: Lambda has the same
     * lambda as a number, which a user power does not scale by the mean weight of x,
     * and the items of `like` that x lacks join the model, with weights of 0. Method,
     * settings, kind and lambda must be those of `like`, and `updatable` be set, or
     * training fails with EASE_E_ARG, as ease_tune does with any `like`. */
    const ease_model *like;
} ease_train_options;

/* A backend: an implementation of the solve (the matrix inversion) for some
 * hardware. */
typedef struct ease_backend_info {
    const char *name;  /* for ease_train_options.backend */
    const char *about; /* one line */
} ease_backend_info;

/* The backend at `index`, from 0 on; NULL past the end. The first is the default. */
EASE_API const ease_backend_info *ease_backend_at(int index);
/* Checks that a backend (NULL: the default) can be used on this machine. Fails with
 * EASE_E_ARG if there is none of this name, or EASE_E_BACKEND with the reason. */
EASE_API EASE_MUST_USE ease_status ease_backend_check(const char *name,
                                                      ease_error *err);

/* The memory, disk space and time that training will need, computed before anything
 * large is allocated. Only some methods have a plan: see `planned` of
 * ease_method_info. For one without a matrix (ease-sparse), matrix_bytes are rows of
 * X'X that are kept if memory allows, least_bytes is the memory without them, and the
 * storage has no effect. */
typedef struct ease_plan {
    size_t size;
    int64_t users, interactions;
    int32_t items;
    size_t matrix_bytes;    /* the tiled triangle */
    size_t data_bytes;      /* interactions, their transpose, ids */
    size_t peak_bytes;      /* largest resident memory of the process */
    size_t available_bytes; /* memory limit that peak_bytes must not pass; 0: unknown */
    size_t model_bytes;     /* size of the model file in the given storage */
    size_t work_bytes;      /* size of the matrix as a file, if a workdir is given */
    size_t least_bytes;     /* memory that suffices if the matrix is in a file */
    size_t traffic_bytes;   /* read from and written to that file; 0: the matrix will be
                               in memory */
    size_t device_bytes;    /* memory needed on the backend's device; 0: it has none */
    size_t device_available_bytes; /* free memory of the device; 0: unknown */
    double gram_seconds, solve_seconds, write_seconds;
    double flops;          /* of the solve: items^3 */
    double flops_a_second; /* that the backend has just measured or estimated */
    int threads;
    int fits; /* 1: peak_bytes and device_bytes do not exceed the memory available */
    int64_t solves;    /* 1; if lambda is NaN about as many as the search for it takes.
                       solve_seconds is then the time of all of them and of measuring */
    int64_t tile_edge; /* rows of a tile of the matrix; 0: the method has none */
} ease_plan;

/* Plans training from sizes alone (users and interactions may be 0: unknown, or
 * training is from a Gram file), or for given interactions. Takes about 50 ms.
 * Fails with EASE_E_ARG, EASE_E_TOO_LARGE, EASE_E_BACKEND or EASE_E_NOMEM; a plan that
 * does not fit is no failure. */
EASE_API EASE_MUST_USE ease_status ease_plan_sizes(int64_t users, int32_t items,
                                                   int64_t interactions,
                                                   const ease_train_options *o,
                                                   ease_storage storage, ease_plan *out,
                                                   ease_error *err);
EASE_API EASE_MUST_USE ease_status ease_plan_data(const ease_interactions *x,
                                                  const ease_train_options *o,
                                                  ease_storage storage, ease_plan *out,
                                                  ease_error *err);

/* Checks options before any data is read: the method, its lambda and its settings, the
 * kind, the backend, but not whether there are tags. `from_gram` nonzero: for training
 * from a Gram matrix, from which not every method can be trained and which has no
 * weights of users. Fails with EASE_E_ARG, or EASE_E_BACKEND if the backend cannot be
 * used. */
EASE_API EASE_MUST_USE ease_status ease_train_options_check(const ease_train_options *o,
                                                            int from_gram,
                                                            ease_error *err);

/* Trains a model on the interactions `x` by the method o->method. The model does not
 * refer to `x` afterwards.
 *
 * ease, ease-nonneg (EASE >= 0: negative weights are set to 0), and the closed-form
 * family of EASE's relatives: edlae, rlae, rdlae, dan, ease-rescaled, ease-ips, mrf,
 * and ease-family, which has all of their settings. Each member is one solve,
 *
 *     P = (C + diagMat(Lambda))^-1,   W_ij = -s_i P_ij m_j t_j off the diagonal,
 *
 * where C is X'WX of the kind o->kind, with a weight for each user, and EASE has the
 * weights 1, Lambda_j = lambda, m_j = 1 / P_jj and s = t = 1. Settings change W and
 * Lambda, which needs the interactions (W) or only X'X (Lambda), or the way in which
 * weights are read off P (s, m, t). Settings that would change nothing (dropout=0)
 * give EASE's weights to the last bit.
 *
 * Every solve is checked by a residual. If a solve in float32 fails the check or meets
 * a pivot that is not positive, the Gram matrix is built again and solved in float64 if
 * memory allows, which is logged (level 1). Float64 is used from the start if a nonzero
 * entry on the diagonal of X'X is above 2^100 or below 2^-100.
 *
 * popularity: the score of an item is its share of users. item-item: nearest
 * neighbours by X'X. slim, slim-free: sparse weights by least squares. wmf: weighted
 * matrix factorization by alternating least squares; users are folded in when they are
 * scored. ii-svd: item-item after a truncated singular value decomposition. cdae,
 * mult-dae, mult-vae: autoencoders. lrec: logistic regressions of users on each other,
 * for known users only.
 *
 * Methods that are trained by rounds (wmf, the autoencoders) log each round (level 2).
 * If one is cancelled after at least one round, the call succeeds with the model of
 * the last round, or of the best round if there are validation users, and logs a
 * warning (level 1). Any other cancelled training fails with EASE_E_CANCELLED.
 *
 * Tags in training: with o->tags and a = o->tag_weight above 0, methods with from_gram
 * solve for G = X'X + a^2 T'T in place of X'X, where T_ti is the weight of tag t of
 * item i: items are similar if they have users or tags in common. (CEASE: Jeunen, Van
 * Balen and Goethals, RecSys 2020.) The kinds covariance and correlation centre X
 * alone; the column sums, and with them popularity and base, stay those of X. Items
 * that only have tags are added to the model, behind those of x in the order of the
 * tags, with a popularity of 0: they can be recommended. The method add-ease needs
 * tags, and uses them in another way (see its settings). Other methods, and a weight of
 * 0, add no items and only keep the tags of known items; if there is none, training
 * fails with EASE_E_DATA.
 *
 * Fails with EASE_E_MEMORY_LIMIT before allocating, EASE_E_ARG (as
 * ease_train_options_check does, for a rank that the data cannot have, and for data
 * with a `doubt`, see ease_interactions_info), EASE_E_DATA (wmf: a negative value),
 * EASE_E_NOT_POSDEF, EASE_E_ACCURACY (numbers do not stay finite, or float32 cannot
 * represent the weights), EASE_E_BACKEND, EASE_E_NOMEM or EASE_E_CANCELLED. */
EASE_API EASE_MUST_USE ease_status ease_train(const ease_interactions *x,
                                              const ease_train_options *o,
                                              ease_model **out, ease_error *err);

/* Trains a model from a Gram file, by a method with from_gram (see ease_method_info).
 * Fails with EASE_E_ARG for other methods, and for settings that give users weights;
 * with EASE_E_DATA if settings need the number of users of each item, and the matrix is
 * of weighted data. Otherwise like ease_train. */
EASE_API EASE_MUST_USE ease_status ease_train_gram_file(const char *path,
                                                        const ease_train_options *o,
                                                        ease_model **out,
                                                        ease_error *err);

/* ---- methods --------------------------------------------------------------------- */

/* A setting of a method: a number with a name. */
typedef struct ease_setting {
    const char *name, *about;
    double value;       /* the default */
    double least, most; /* the allowed range */
    int whole;          /* 1: integers only */
    const char *words;  /* NULL, or names of the values 0, 1, ...: "cosine|jaccard" */
} ease_setting;

typedef struct ease_method_info {
    const char *name;  /* "ease" */
    const char *about; /* one line, with the publication */
    int has_lambda;    /* 1: lambda is required, and ease_tune can search for it */
    int from_gram;     /* 1: it can be trained from a Gram matrix */
    int known_users;   /* 1: it can score only the users of its training data, not any
                          history */
    const char *nonnegative; /* the method that differs only by setting negative weights
                                to 0; NULL: there is none */
    const char *rounds; /* the setting that is the number of rounds (epochs, iterations)
                           of its training; NULL: it has none */
    /* The grid that tuning tries by default: "rank=64|128,alpha=1|10" is every rank
     * with every alpha. "": there is nothing to tune. NULL: lambda is tuned. */
    const char *grid;
    int needs_tags;             /* 1: ease_train_options.tags are required */
    const ease_gram_kind *kind; /* the only kind of Gram matrix that the method has,
                                   whatever `kind` the options have; NULL: any */
    int planned;                /* 1: ease_plan_data plans its training */
    const char *smaller; /* a similar method that needs less memory; NULL: there is
                            none */
} ease_method_info;

/* The method at `index`, from 0 on, and the method with a name; NULL: there is none. */
EASE_API const ease_method_info *ease_method_at(int index);
EASE_API const ease_method_info *ease_method_find(const char *name);
/* The setting of a method at `index`, from 0 on; NULL past the end, or if there is no
 * such method. */
EASE_API const ease_setting *ease_method_setting(const char *method, int index);
/* Checks, before any data is read, that the method exists and accepts these settings
 * ("rank=64"; NULL: none). Fails with EASE_E_ARG. */
EASE_API EASE_MUST_USE ease_status ease_method_check(const char *method,
                                                     const char *settings,
                                                     ease_error *err);

/* ---- Gram matrices: X'X, from which EASE and its relatives are trained ----------- */

typedef struct ease_gram_info {
    size_t size;
    int64_t users, interactions; /* -1: unknown */
    int32_t items;
    int weighted; /* 0: counts, exact integers */
    int has_sums; /* 1: column sums are known, as covariance and correlation need */
    int wide;     /* 1: entries are float64 */
} ease_gram_info;

typedef struct ease_gram_options {
    size_t size;
    size_t memory_limit;      /* bytes; 0: the memory that is available */
    ease_precision precision; /* of entries of weighted data; counts are exact */
    int threads;              /* 0: all */
    const ease_hooks *hooks;  /* NULL: none */
} ease_gram_options;

/* Computes X'X, the column sums and the number of users. Entries of weighted data are
 * float32, or float64 if precision is EASE_F64 or if float32 cannot represent them
 * (see ease_train). Fails with EASE_E_MEMORY_LIMIT before allocating, EASE_E_ARG (also
 * for data with a `doubt`, see ease_interactions_info), EASE_E_NOMEM or
 * EASE_E_CANCELLED. */
EASE_API EASE_MUST_USE ease_status ease_gram_build(const ease_interactions *x,
                                                   const ease_gram_options *o,
                                                   ease_gram **out, ease_error *err);

/* Trains a model from a Gram matrix in place: the call frees *g or makes it part of the
 * model, and sets *g to NULL, even on failure. Fails as ease_train_gram_file does. A
 * failed solve in float32 is not repeated in float64, since the matrix is lost. */
EASE_API EASE_MUST_USE ease_status ease_gram_solve(ease_gram **g,
                                                   const ease_train_options *o,
                                                   ease_model **out, ease_error *err);

/* Copies a Gram matrix, for example before ease_gram_solve. Fails with EASE_E_NOMEM. */
EASE_API EASE_MUST_USE ease_status ease_gram_copy(const ease_gram *g, ease_gram **out,
                                                  ease_error *err);

/* Writes a Gram file. Fails with EASE_E_IO or EASE_E_CANCELLED. */
EASE_API EASE_MUST_USE ease_status ease_gram_save(const ease_gram *g, const char *path,
                                                  const ease_hooks *hooks,
                                                  ease_error *err);
/* Reads a whole Gram file and verifies its checksums. Fails with EASE_E_IO,
 * EASE_E_FORMAT, EASE_E_VERSION, EASE_E_MEMORY_LIMIT, EASE_E_NOMEM or
 * EASE_E_CANCELLED. */
EASE_API EASE_MUST_USE ease_status ease_gram_open(const char *path,
                                                  const ease_gram_options *o,
                                                  ease_gram **out, ease_error *err);
/* Reads the description of a Gram file from its header, without the matrix. */
EASE_API EASE_MUST_USE ease_status ease_gram_peek(const char *path,
                                                  ease_gram_info *info,
                                                  ease_error *err);

/* Adds up the Gram matrices of several files, which must come from disjoint sets of
 * users; sums of counts are exact. The items of the sum are the union by id: those of
 * the first file, then those that each further file adds. Fails as ease_gram_open
 * does, and with EASE_E_ARG if two paths lead to the same file. */
EASE_API EASE_MUST_USE ease_status ease_gram_merge(const char *const *paths, int count,
                                                   const ease_gram_options *o,
                                                   ease_gram **out, ease_error *err);

/* Reads Gram matrices that other software has computed, and adds them up. Several
 * paths must come from disjoint sets of users; sums of counts are exact.
 *
 * paths: each is a table with rows item,item,number (the upper triangle, the lower one
 * or both), plain or compressed: a file, a directory of part files or "-" (standard
 * input). Or there is one path, to a .npy file with the whole square matrix.
 *
 * items: NULL, or a file with the ids of the items, one on each line, in the order of
 * the matrix. It is required for .npy. For a table it fixes the order and the set of
 * items; without it, items are numbered in the order in which they appear. It may
 * instead be a table (a file or a directory) with the header item,users,all_users, as
 * the SQL of `ease gram sql` writes it: `users` is then the diagonal, and must be
 * equal to the diagonal entries in `paths` if there are any; all_users is the number
 * of users.
 *
 * users: the number of users, or -1 if it is unknown.
 *
 * Entries must be finite and symmetric, and the diagonal must not be negative. If all
 * entries are integers they are counts: G_ij <= min(G_ii, G_jj), and no sum may exceed
 * 2^32 - 1. A pair must not occur twice in a path; with several paths, a pair and its
 * reverse must not both occur in one.
 *
 * Fails with EASE_E_ARG (also if two paths lead to the same file), EASE_E_IO,
 * EASE_E_PARSE, EASE_E_DATA, EASE_E_MEMORY_LIMIT, EASE_E_NOMEM or EASE_E_CANCELLED. */
EASE_API EASE_MUST_USE ease_status ease_gram_import(const char *const *paths, int count,
                                                    const char *items, int64_t users,
                                                    const ease_gram_options *o,
                                                    ease_gram **out, ease_error *err);

EASE_API void ease_gram_describe(const ease_gram *g, ease_gram_info *info);
EASE_API int32_t ease_gram_items(const ease_gram *g);
EASE_API double ease_gram_at(const ease_gram *g, int32_t i, int32_t j);
EASE_API const char *ease_gram_item_id(const ease_gram *g, int32_t item);
EASE_API void ease_gram_free(ease_gram *g);

/* ---- models ---------------------------------------------------------------- */

typedef struct ease_model_info {
    size_t size;
    const char *method; /* name of the method, see ease_method_find; static */
    /* All settings of the method, "" if it has none; borrowed from the model. Rounds
     * (epochs, iterations) are those of the model, which may be fewer than
     * requested. */
    const char *settings;
    int32_t items;
    int64_t users, interactions; /* of the training data; -1: unknown */
    double lambda;               /* 0: the method has none */
    double residual;             /* of the check of the solve; 0: there was no solve */
    ease_gram_kind kind;
    ease_precision precision;
    ease_storage storage;
    int nonnegative;
    int has_titles, has_base;
    size_t bytes;  /* size of the model's file; 0: the model was not opened from one */
    int updatable; /* 1: it keeps what ease_model_update and ease_leave_one_out need */
    int64_t updates; /* number of updates since the matrix was inverted */
} ease_model_info;

#define EASE_NO_ITEM (-1)

/* Writes a model file and syncs it to the disk. `storage` is for dense models, see
 * ease_storage; other models ignore it. Fails with EASE_E_IO, EASE_E_NOMEM,
 * EASE_E_CANCELLED, or EASE_E_FORMAT if the model's own file is damaged. */
EASE_API EASE_MUST_USE ease_status ease_model_save(const ease_model *m,
                                                   const char *path,
                                                   ease_storage storage,
                                                   const ease_hooks *hooks,
                                                   ease_error *err);

/* Makes the model in memory that ease_model_save would write and ease_model_open would
 * open: rows of float16 of a model that was just trained, or with the storage of the
 * model itself a copy that does not depend on its file. `m` stays as it is. Fails with
 * EASE_E_MEMORY_LIMIT if the memory that is available does not suffice, and as
 * ease_model_save does. */
EASE_API EASE_MUST_USE ease_status ease_model_convert(const ease_model *m,
                                                      ease_storage storage,
                                                      const ease_hooks *hooks,
                                                      ease_model **out,
                                                      ease_error *err);

/* Sets the number of threads for saving this model, and for summarizing and plotting
 * its weights; 0: all. The default is the number that it was trained with, or all for
 * a model from a file. Results do not depend on it. Fails with EASE_E_ARG. */
EASE_API EASE_MUST_USE ease_status ease_model_set_threads(ease_model *m, int threads,
                                                          ease_error *err);

/* When the weights of a file are verified against their checksums. The rest of the
 * file, such as the header and the ids, is always verified when it is opened. */
typedef enum ease_verify {
    EASE_VERIFY_USE,  /* each MiB before its first use: the default */
    EASE_VERIFY_OPEN, /* all weights when the file is opened */
    EASE_VERIFY_NEVER /* not at all; column numbers of sparse rows are range-checked */
} ease_verify;

typedef struct ease_open_options {
    size_t size;
    ease_verify verify;
    const ease_hooks *hooks; /* for EASE_VERIFY_OPEN; NULL: none */
    /* Nonzero: weights of any size are read into memory by this call and verified there
     * (unless EASE_VERIFY_NEVER), and the file is not used any more. For programs that
     * run for a long time, whose model file others may truncate or overwrite. */
    int in_memory;
    int threads; /* of verifying in this call; 0: all */
} ease_open_options;

/* Opens the model file at `path`. Weights of up to 16 MiB are read and verified by
 * this call. Larger weights are mapped into memory, and each MiB is verified against
 * its checksum before its first use: no result comes from damaged weights, but any
 * call that uses weights may fail with EASE_E_FORMAT.
 *
 * While the model is open its file may be renamed, removed or replaced by another
 * file. If it is modified in place, calls that use its weights fail with EASE_E_FORMAT
 * from then on. For a file that is truncated during a call see ease_handle_fault().
 *
 * Fails with EASE_E_IO, EASE_E_FORMAT, EASE_E_VERSION, EASE_E_NOMEM, EASE_E_ARG, with
 * EASE_VERIFY_OPEN EASE_E_CANCELLED or, with in_memory, EASE_E_MEMORY_LIMIT if the
 * weights are larger than the memory that is available. */
EASE_API EASE_MUST_USE ease_status ease_model_open(const char *path,
                                                   const ease_open_options *o,
                                                   ease_model **out, ease_error *err);

/* Handles a page fault in a mapped model file; to be called by a program's SIGBUS
 * handler. The kernel sends SIGBUS if a page of a mapped file cannot be read because
 * the file was truncated or its disk failed; the library itself installs no signal
 * handlers. If `address` (si_addr) lies in a mapped model file, the call maps zeros in
 * place of the lost pages and returns 1: the handler should then return, and the
 * interrupted call of the library continues and fails with EASE_E_FORMAT or EASE_E_IO.
 * Otherwise it returns 0: the fault has another cause. Async-signal-safe. At most 256
 * mapped sections are covered at a time. */
EASE_API int ease_handle_fault(const void *address);

/* Reads titles of items, for display, from a table with an id and a title column in
 * UTF-8 or Latin-1; the id column is the one whose values match the most items. Titles
 * are saved with the model. `matched` (may be NULL) receives the number of items that
 * have a title. Fails as ease_interactions_read does; the memory limit is the memory
 * that is available. */
EASE_API EASE_MUST_USE ease_status ease_model_read_titles(ease_model *m,
                                                          const char *path,
                                                          int32_t *matched,
                                                          ease_error *err);

/* Sets titles from memory, which are copied: one for each item in UTF-8, NULL or "" for
 * none. Fails with EASE_E_ARG or EASE_E_NOMEM. */
EASE_API EASE_MUST_USE ease_status ease_model_set_titles(ease_model *m,
                                                         const char *const *titles,
                                                         ease_error *err);

/* Sets the tags of the items of a model, which are copied, and replace those that it
 * has. Tags are saved with the model. Tags of items that the model does not know are
 * left out; `matched` (may be NULL) receives the number of items of the model that have
 * tags. Fails with EASE_E_DATA if that is 0, EASE_E_ARG or EASE_E_NOMEM. */
EASE_API EASE_MUST_USE ease_status ease_model_set_tags(ease_model *m,
                                                       const ease_tags *t,
                                                       int32_t *matched,
                                                       ease_error *err);

#define EASE_NO_TAG (-1)
/* The number of distinct tags of the model's items; 0: it has no tags. */
EASE_API int32_t ease_model_tags(const ease_model *m);
/* A tag by its number, as KIND=VALUE: "genre=Comedy". */
EASE_API const char *ease_model_tag(const ease_model *m, int32_t tag);
EASE_API int32_t ease_model_find_tag(const ease_model *m,
                                     const char *tag); /* or EASE_NO_TAG */
/* The tags of an item: row.items are numbers of tags. */
EASE_API ease_row ease_model_item_tags(const ease_model *m, int32_t item);
/* The weight of tags that the model was trained with: ease_train_options.tag_weight, or
 * the setting `blend` of add-ease; 0: it was trained without tags. */
EASE_API double ease_model_tag_weight(const ease_model *m);

/* Chooses items by their tags, for `allowed` of ease_recommend_options: sets allowed[j]
 * to 0 for each item j that does not fit, and leaves the other bytes as they are;
 * `allowed` has one for each item. Of the tags in `only`, an item must have at least
 * one of each kind that occurs there; it must have none of those in `except`. Fails
 * with EASE_E_ARG if the model has no tags, EASE_E_DATA if it has no such tag, or
 * EASE_E_NOMEM; `allowed` is then unchanged. */
EASE_API EASE_MUST_USE ease_status ease_model_filter(
    const ease_model *m, const char *const *only, int64_t only_count,
    const char *const *except, int64_t except_count, uint8_t *allowed, ease_error *err);

/* The position of a model's data in a log of changes, such as the journal of a server:
 * the data include all changes up to number `position` of the log with the name `log`
 * (1 to 255 bytes), and no later one. It is saved with the model; a model that is
 * trained or updated has none. `log` NULL removes it. Fails with EASE_E_ARG or
 * EASE_E_NOMEM. */
EASE_API EASE_MUST_USE ease_status ease_model_set_position(ease_model *m,
                                                           const char *log,
                                                           uint64_t position,
                                                           ease_error *err);
/* Returns the name of the log, or NULL if the model has no position. `position` may be
 * NULL. */
EASE_API const char *ease_model_position(const ease_model *m, uint64_t *position);

EASE_API void ease_model_describe(const ease_model *m, ease_model_info *info);
EASE_API int32_t ease_model_items(const ease_model *m);
EASE_API const ease_method_info *ease_model_method(const ease_model *m);
EASE_API int32_t ease_model_find(const ease_model *m,
                                 const char *item_id); /* or EASE_NO_ITEM */
EASE_API const char *ease_model_item_id(const ease_model *m, int32_t item);
EASE_API const char *ease_model_title(const ease_model *m,
                                      int32_t item); /* NULL if none */
/* For methods with known_users: the number of a user of the training data, or
 * EASE_NO_USER, and that user's history in the training data. Other models know no
 * users. */
EASE_API int64_t ease_model_find_user(const ease_model *m, const char *user_id);
EASE_API ease_row ease_model_history(const ease_model *m, int64_t user);
/* The id of a known user, by number; NULL if out of range. A model of such a method has
 * the users 0 .. users - 1 of its ease_model_info. */
EASE_API const char *ease_model_user_id(const ease_model *m, int64_t user);
EASE_API double ease_model_popularity(const ease_model *m,
                                      int32_t item); /* column sum of X */
EASE_API float ease_model_base(const ease_model *m,
                               int32_t item); /* score without any history */
/* max(popularity, 1)^power, limited to 1e-30 .. 1e30: the factor by which the option
 * popularity_power of ease_recommend multiplies the score of `item`. NaN if the item is
 * out of range or the power is not within -10 .. 10. */
EASE_API float ease_model_popularity_factor(const ease_model *m, int32_t item,
                                            double power);
/* Copies row `item` of B, the contributions of this item to the score of each item, to
 * `out`, which has space for `items` floats. If `item` is out of range, all of `out` is
 * set to NaN. Fails with EASE_E_FORMAT or EASE_E_IO if the model's file is damaged or
 * cannot be read. */
EASE_API EASE_MUST_USE ease_status ease_model_row(const ease_model *m, int32_t item,
                                                  float *out, ease_error *err);
/* Gives direct access to B in a model file with float32 rows: row i begins at byte i x
 * *stride of *rows, which is borrowed. In any other storage, and for a model that was
 * not opened from a file, *rows is set to NULL. All weights are verified by this call.
 * Code that reads *rows does not notice later changes of the file, and
 * ease_handle_fault() returns 0 for this model from then on: the caller must ensure
 * that the file is not modified. Fails with EASE_E_FORMAT or EASE_E_IO. */
EASE_API EASE_MUST_USE ease_status ease_model_rows(const ease_model *m,
                                                   const float **rows, size_t *stride,
                                                   ease_error *err);
EASE_API void ease_model_free(ease_model *m);

/* Writes B in a format for other software, chosen by the suffix of `path`: .npy is the
 * whole matrix in float32 (row i: the weights of history item i); .npz is a sparse
 * matrix (CSR) for scipy.sparse.load_npz; .tsv is a tab-separated table with rows
 * item,item,weight; any other is such a table as CSV. A table or sparse matrix contains
 * the `top` weights of each row with the largest magnitude, or all nonzero weights if
 * top is 0. `path` may be "-" (CSV). Fails with EASE_E_ARG for a model without weights,
 * or for .npz of a dense model if top is 0, EASE_E_DATA for .tsv if an id contains a
 * tab or line break, EASE_E_IO, EASE_E_FORMAT, EASE_E_NOMEM or EASE_E_CANCELLED. */
EASE_API EASE_MUST_USE ease_status ease_model_export(const ease_model *m,
                                                     const char *path, int32_t top,
                                                     const ease_hooks *hooks,
                                                     ease_error *err);
/* Writes the ids of the items, one on each line, in the order of the rows of B. `path`
 * may be "-". Fails with EASE_E_DATA if an id contains a line break, or EASE_E_IO. */
EASE_API EASE_MUST_USE ease_status ease_model_write_ids(const ease_model *m,
                                                        const char *path,
                                                        ease_error *err);

/* ---- updating ---------------------------------------------------------------- */

/* Updates are exact: users who come, leave or change are a change of low rank of X'X,
 * to which the inverse is adapted without another inversion,
 *
 *     P' = P - P Q' (S^-1 + Q P Q')^-1 Q P,
 *
 * where the rows of Q are users, and S is 1 for those who come and -1 for those who
 * leave. k rows take 2 n^2 k flops instead of n^3.
 *
 * Models that are trained with the option `updatable` keep what this needs: the inverse
 * (storage packed), the diagonal of X'X, the number of users of each item, and a proof.
 * The proof consists of X'Xv for random integers v, which are drawn from a seed. With
 * it the residual of the inverse can be computed at any time, and data can be
 * recognized as those of the model, without storing X'X.
 *
 * Updatable are models of ease, ease-nonneg and the closed-form family for the kind
 * counts, and for the covariance if Lambda does not depend on it (lambda-power 0). A
 * user power keeps the lambda of training as a number: lambda is not scaled by the mean
 * weight of the new data. Not updatable are models of a correlation matrix and of mrf,
 * since the scale of each item depends on all users, models that learned from tags, and
 * models whose values are so large or small that training scales them: training with
 * `updatable` then fails with EASE_E_ARG or EASE_E_ACCURACY, and says why. */

/* The check that a row was removed, one for each user of `was`. NaN: none was removed
 * for the user, as `now` has the same row. */
typedef struct ease_removal {
    double leverage; /* h = x P x', 0 .. 1, before the removal */
    /* ||(1 - h) P' x - P x|| / ||P x||, 0 if x was removed exactly. If several users
     * are removed at a time, 1 - h becomes a matrix. */
    double deviation;
} ease_removal;

typedef struct ease_update_options {
    size_t size;
    size_t memory_limit;     /* bytes; 0: the memory that is available */
    int threads;             /* 0: all; results do not depend on it */
    const ease_hooks *hooks; /* NULL: none */
    ease_removal *removals;  /* NULL, or one entry for each user of `was` */
} ease_update_options;

typedef struct ease_update_info {
    size_t size;
    int64_t came, left, changed; /* users */
    int64_t same;                /* users with the same row in `was` and `now` */
    int64_t added, removed;      /* interactions of these users */
    int32_t new_items;           /* that the model did not have */
    int32_t lost_items;          /* that have no user any more: their weights are 0 */
    int64_t rank;                /* of the change: k */
    double residual_before, residual; /* of the inverse, as ease_model_residual */
    double deviation;                 /* the largest one of all removed rows, or 0 */
} ease_update_info;

/* Makes the model that training would make if the rows of the users of `was` were
 * removed from the model's data, and those of `now` added: users of `was` alone leave,
 * users of `now` alone come, users of both change. Either may be NULL. Users and items
 * are matched by id; items of `now` that the model does not know are added behind the
 * others. `m` stays as it is. The result is in memory, as after ease_train.
 *
 * Rows are added first, then removed, both by Cholesky factorization. Afterwards the
 * residual is computed by the proof, and each removal is checked directly, since a
 * residual does not tell whether a single user was removed.
 *
 * `info` may be NULL. Fails with EASE_E_ARG for a model that is not updatable,
 * EASE_E_DATA if a row of `was` cannot be a part of the model's data (an unknown item,
 * more users of an item than the model has, values that its data do not have, or a
 * pivot that is not positive), or if no user would remain, EASE_E_ACCURACY if the
 * residual or a deviation is above 1e-4 (the model has to be trained anew),
 * EASE_E_MEMORY_LIMIT, EASE_E_NOMEM, EASE_E_CANCELLED, and EASE_E_FORMAT or EASE_E_IO
 * if the model's file is damaged. */
EASE_API EASE_MUST_USE ease_status
ease_model_update(const ease_model *m, const ease_interactions *was,
                  const ease_interactions *now, const ease_update_options *o,
                  ease_model **out, ease_update_info *info, ease_error *err);

/* What an update takes, and what training anew would take. */
typedef struct ease_update_plan {
    size_t size;
    size_t peak_bytes; /* of the update, beside a model that is mapped from a file */
    size_t available_bytes; /* 0: unknown */
    double update_seconds, solve_seconds;
} ease_update_plan;

/* Plans an update of a model of `items` items by a change of rank `rank`. Takes about
 * 50 ms. Fails with EASE_E_ARG. */
EASE_API EASE_MUST_USE ease_status ease_update_plan_sizes(int32_t items, int64_t rank,
                                                          const ease_update_options *o,
                                                          ease_update_plan *out,
                                                          ease_error *err);

/* Tells what ease_model_update would change, without making the update: all of `info`
 * but the residuals and the deviation, which are NaN. Fails as ease_model_update does
 * before any computation. */
EASE_API EASE_MUST_USE ease_status ease_model_describe_change(
    const ease_model *m, const ease_interactions *was, const ease_interactions *now,
    ease_update_info *info, ease_error *err);

/* The rank of the change that ease_model_update would make, 0 for an empty change: the
 * number of rows that are added and removed, and with dropout or a power of lambda that
 * of the items that these rows touch. Fails as ease_model_update does before any
 * computation. */
EASE_API EASE_MUST_USE ease_status ease_model_update_rank(const ease_model *m,
                                                          const ease_interactions *was,
                                                          const ease_interactions *now,
                                                          int64_t *rank,
                                                          ease_error *err);

/* Computes the residual ||P w - v|| / ||v|| of an updatable model, which says how far P
 * is from the inverse; w = (G + Lambda) v comes from the proof. Fails with EASE_E_ARG
 * for other models, EASE_E_NOMEM, and EASE_E_FORMAT or EASE_E_IO if the model's file is
 * damaged. */
EASE_API EASE_MUST_USE ease_status ease_model_residual(const ease_model *m, int threads,
                                                       double *residual,
                                                       ease_error *err);

/* Checks that an updatable model was trained on these interactions, or updated to them:
 * X'Xv must be that of the proof, exactly for counts; for a covariance, also the number
 * of users, with those who have no items, and the sums of the columns. Fails with
 * EASE_E_DATA if they are not, EASE_E_ARG if the model is not updatable, or
 * EASE_E_NOMEM. */
EASE_API EASE_MUST_USE ease_status ease_model_check_data(const ease_model *m,
                                                         const ease_interactions *x,
                                                         ease_error *err);

/* Does the same for the data that an update by `was` and `now` leads to, without making
 * the update: all must be as the change makes it. Either may be NULL. Also fails as
 * ease_model_update does before any computation. */
EASE_API EASE_MUST_USE ease_status ease_model_check_change(const ease_model *m,
                                                           const ease_interactions *was,
                                                           const ease_interactions *now,
                                                           const ease_interactions *x,
                                                           ease_error *err);

/* Computes the SHA-256 of a file as 64 hexadecimal digits and a NUL, as `sha256sum`
 * prints it. Fails with EASE_E_IO or EASE_E_NOMEM. */
EASE_API EASE_MUST_USE ease_status ease_file_digest(const char *path, char *digest,
                                                    ease_error *err);

/* ---- histories ------------------------------------------------------------- */

typedef struct ease_history ease_history;

/* Makes a history from ids in any order; ease_history_row returns it as a row.
 * `weights` has one number for each id; NULL: all ones. An id that occurs several
 * times counts once, or with the sum of its weights if they are given. Ids that the
 * model does not know are left out; ease_history_unknown returns their number. Fails
 * with EASE_E_ARG for a weight that is not finite, or EASE_E_NOMEM. */
EASE_API EASE_MUST_USE ease_status ease_history_new(const ease_model *m,
                                                    const char *const *ids,
                                                    const float *weights, int64_t count,
                                                    ease_history **out,
                                                    ease_error *err);
EASE_API ease_row ease_history_row(const ease_history *h);
EASE_API int64_t ease_history_unknown(const ease_history *h);
EASE_API void ease_history_free(ease_history *h);

/* ---- recommending ---------------------------------------------------------- */

typedef struct ease_scorer ease_scorer; /* a model and buffers for one thread */

typedef struct ease_rec {
    int32_t item;
    float score;
} ease_rec;

/* A bound on how many items of a list may share a tag. Items are taken in the order of
 * their scores; an item is left out if one of its tags of this kind already occurs
 * `most` times in the list. Items without tags of this kind are not affected. */
typedef struct ease_cap {
    const char *kind; /* of tags, such as "author" */
    int32_t most;     /* at least 1 */
} ease_cap;

typedef struct ease_recommend_options {
    size_t size;
    int32_t k;     /* length of a list; default 10 */
    int keep_seen; /* nonzero: items of the history may be recommended */
    /* One byte for each item of the model, nonzero: the item may be recommended; NULL:
     * every item may. */
    const uint8_t *allowed;
    /* Required by methods with known_users, ignored by others: the user of each
     * history, by ease_model_find_user. The history then only excludes its own
     * items. */
    const int64_t *users;
    int threads;             /* of ease_recommend_many; 0: all */
    const ease_hooks *hooks; /* of ease_recommend_many; NULL: none */
    /* The score of each item is multiplied by ease_model_popularity_factor() with this
     * power, -10 .. 10, before items are ranked: below 0, less popular items rank
     * higher, above 0, more popular ones do. Default 0: scores stay as they are. */
    double popularity_power;
    /* The most items of a list that may have the same tag; all caps hold. Default
     * none. */
    const ease_cap *caps;
    int64_t cap_count;
    /* One row for each history (one in all for ease_recommend and ease_similar): items
     * of the model that are not listed for it, beside those that `allowed` excludes.
     * Weights are ignored. NULL: none. */
    const ease_row *denied;
} ease_recommend_options;

/* Makes a scorer for a model, which is borrowed: free the scorer first. Fails with
 * EASE_E_NOMEM. */
EASE_API EASE_MUST_USE ease_status ease_scorer_new(const ease_model *m,
                                                   ease_scorer **out, ease_error *err);

/* Recommends the k items with the highest scores for a history, best first; ties go to
 * the smaller item number, except that in sparse models without a base the items of
 * score 0, which nothing of the history reaches, are in order of popularity. `recs` has
 * space for k items, and *count receives their number. An empty history gets the most
 * popular items, with their share of users as the score, except for methods with
 * known_users. Scores are those of the model times
 * the factors of popularity_power; with caps or denied items, the list is the same as
 * if all items of the catalog were sorted by score and taken in this order as far as
 * these options allow.
 * Fails with EASE_E_ARG (also for caps if the model has no tags), EASE_E_DATA if a
 * method with known_users does not know the user or the model has no tags of the kind
 * of a cap, EASE_E_NOMEM, EASE_E_FORMAT or EASE_E_IO if the model's file is damaged or
 * cannot be read; the contents of `recs` are then undefined. */
EASE_API EASE_MUST_USE ease_status ease_recommend(ease_scorer *s, ease_row history,
                                                  const ease_recommend_options *o,
                                                  ease_rec *recs, int32_t *count,
                                                  ease_error *err);

/* Recommends for many histories in parallel, as ease_recommend does for one: recs has
 * count x k items, counts one number for each history. If the call fails, the contents
 * of both are undefined. Fails as ease_recommend does, and with EASE_E_NOMEM or
 * EASE_E_CANCELLED. */
EASE_API EASE_MUST_USE ease_status ease_recommend_many(
    const ease_model *m, const ease_row *histories, int64_t count,
    const ease_recommend_options *o, ease_rec *recs, int32_t *counts, ease_error *err);

/* Finds the k items most similar to `item`, best first, as ease_recommend returns them;
 * its options apply to similarities in place of scores.
 * The similarity is the partial correlation -P_ij / sqrt(P_ii P_jj), which is symmetric
 * and within -1 .. 1; in sparse models and those of add-ease the weight, in latent
 * models the cosine of the factors of the items. Fails as ease_recommend does, and with
 * EASE_E_ARG for a model without weights. */
EASE_API EASE_MUST_USE ease_status ease_similar(ease_scorer *s, int32_t item,
                                                const ease_recommend_options *o,
                                                ease_rec *recs, int32_t *count,
                                                ease_error *err);

/* Explains the score of `item` for a history: reasons[i] receives item i of the history
 * and its contribution to the score; there are as many reasons as items of the history.
 * *base receives the score without any history (0 for EASE_GRAM_COUNTS), *score the
 * score: base + contributions, added in this order in float, which is the score that
 * ease_recommend returns without popularity_power. Fails with EASE_E_ARG for latent
 * models and methods with known_users, whose scores are no such sum. */
EASE_API EASE_MUST_USE ease_status ease_explain(ease_scorer *s, ease_row history,
                                                int32_t item, ease_rec *reasons,
                                                float *base, float *score,
                                                ease_error *err);
EASE_API void ease_scorer_free(ease_scorer *s);

/* Copies interactions with the item numbers of a model: users stay the same, items are
 * matched by id, and interactions with items that the model does not know are dropped.
 * `unknown` (may be NULL) receives the number of dropped interactions. Fails with
 * EASE_E_NOMEM. */
EASE_API EASE_MUST_USE ease_status ease_interactions_align(const ease_interactions *x,
                                                           const ease_model *m,
                                                           ease_interactions **out,
                                                           int64_t *unknown,
                                                           ease_error *err);

/* ---- evaluating ------------------------------------------------------------- */

typedef struct ease_report ease_report;

/* Kinds of items. Cold items are those that no user of the model's training data has:
 * items of the model with a popularity of 0, which training added from their tags, and
 * items that the model does not know. All others are warm. */
typedef enum ease_eval_items {
    EASE_ITEMS_ALL,
    EASE_ITEMS_WARM,
    EASE_ITEMS_COLD
} ease_eval_items;

typedef struct ease_eval_options {
    size_t size;
    const char *metrics;     /* NAME@K,...; default "recall@20,recall@50,ndcg@100" */
    ease_unknown unknown;    /* for unknown items of the target; default MISS */
    int threads;             /* 0: all */
    const ease_hooks *hooks; /* NULL: none */
    ease_eval_items
        targets;           /* the held-out items that are measured, as if no others had
                                been held out; default ALL */
    ease_eval_items among; /* the items that are ranked: ALL (the default), or the same
                                kind as `targets` */
} ease_eval_options;

typedef struct ease_report_info {
    size_t size;
    int64_t users;           /* evaluated users: means are over these */
    int64_t without_target;  /* users left out, as no item of theirs was held out */
    int64_t without_input;   /* evaluated users who got the most popular items, as they
                                have an empty history or a method with known_users
                                does not know them */
    int64_t unknown_targets; /* interactions of the target with unknown items */
    int64_t unknown_inputs;  /* interactions of the input with unknown items: ignored */
    ease_unknown unknown;    /* how unknown items of the target were counted */
    int metrics;
    /* Interactions of the target with warm and with cold items, whichever were
     * measured. Unknown items are cold; with EASE_UNKNOWN_DROP they are not counted. */
    int64_t warm_targets, cold_targets;
    int64_t cold_items;             /* of the model: those with a popularity of 0 */
    ease_eval_items targets, among; /* as in the options */
    int approximate; /* 1: ease_leave_one_out kept a regularizer that depends on the
                        data (dropout) as it is with all users */
    int64_t refused; /* users that ease_leave_one_out left out, since float32 does not
                        suffice for them (1 - h < 0.03) */
} ease_report_info;

/* The result of a metric. The standard error is std / sqrt(users), or NaN for a metric
 * of all lists together. */
typedef struct ease_metric {
    size_t size;
    const char *name; /* borrowed */
    double mean, standard_error;
} ease_metric;

typedef struct ease_metric_info {
    const char *name;  /* "recall" */
    const char *about; /* one line */
    int direction;     /* 1: a higher value is better; -1: a lower one is; 0: neither */
    int by_user;       /* 1: it has a value for each user; 0: one for all lists */
} ease_metric_info;

/* The metric at `index`, from 0 on, and the metric with a name, "recall" or
 * "recall@20"; NULL: there is none. */
EASE_API const ease_metric_info *ease_metric_at(int index);
EASE_API const ease_metric_info *ease_metric_find(const char *name);
/* Checks options, also their metrics, before any data is read or model trained. Fails
 * with EASE_E_ARG. */
EASE_API EASE_MUST_USE ease_status ease_eval_options_check(const ease_eval_options *o,
                                                           ease_error *err);

/* Evaluates a model. For every user of `target`, all items except those of the user's
 * row of `input` are ranked for that row, and the metrics of ease_metric_at measure
 * the ranks of the user's items of `target`. Users of both are matched by id, and so
 * are items with those of the model. Most metrics have a value for each user, a few
 * only one value for all lists together.
 *
 * Unknown items of the target, those that do not occur in the model's training data,
 * count as misses: they are part of the number held out in every metric and of the
 * ideal DCG, and a user with only such items scores 0. With EASE_UNKNOWN_DROP these
 * items and these users are left out instead. Unknown items of the input are ignored.
 * The number of both is logged (level 1).
 *
 * With o->targets only the warm or the cold items of the target are measured: the
 * others are neither hits nor held out, but may be in the lists. Users who have none of
 * that kind are left out. With o->among only items of that kind are ranked, and they
 * are the catalog of metrics of all lists together; a model without cold items then
 * gives empty lists for cold targets.
 *
 * Fails with EASE_E_DATA if the model knows none of the held-out items, if none of them
 * is of the kind that is measured, or if the model lacks what a metric needs,
 * EASE_E_FORMAT or EASE_E_IO if its file is damaged or cannot be read, EASE_E_ARG,
 * EASE_E_NOMEM, EASE_E_CANCELLED. */
EASE_API EASE_MUST_USE ease_status ease_evaluate(const ease_model *m,
                                                 const ease_interactions *input,
                                                 const ease_interactions *target,
                                                 const ease_eval_options *o,
                                                 ease_report **out, ease_error *err);

typedef struct ease_leave_options {
    size_t size;
    const char *metrics;     /* as in ease_eval_options */
    double share;            /* of each user's items that is the target; default 0.2 */
    uint32_t seed;           /* of the draw of targets and users; default 98765 */
    int64_t users;           /* evaluate a random sample of so many users, of those with
                                two items or more; 0: all */
    size_t memory_limit;     /* bytes for buffers; 0: the memory that is available */
    int threads;             /* 0: all; results do not depend on it */
    const ease_hooks *hooks; /* NULL: none */
} ease_leave_options;

/* Checks options before any data is read. Fails with EASE_E_ARG. */
EASE_API EASE_MUST_USE ease_status ease_leave_options_check(const ease_leave_options *o,
                                                            ease_error *err);

/* Evaluates an updatable model on its own training data x, each user by the model that
 * was trained without this user: strong generalization without a split, at the cost of
 * scoring. With h = x P x', the inverse without user x is
 *
 *     P_-x z = P z + P x (x P z) / (1 - h),  diag(P_-x)_j = P_jj + (P x)_j^2 / (1 - h).
 *
 * A random share of the user's items (rounded down, at least one) is the target, the
 * rest the input; users with fewer than two items are left out. Targets that no other
 * user has are misses, as a model without this user would not know them: they are the
 * unknown and the cold targets of the report. An input of such items alone gets the
 * most popular items, as an empty one does.
 *
 * Results are exact for ease, rlae and a user power, for counts and covariance; with
 * dropout the regularizer stays that of all users, and the result is approximate.
 * Refused are models whose weights are scaled by the popularity of items, models with a
 * power of lambda, and ease-nonneg, each of whose weights would have to be clipped
 * anew.
 *
 * Calls ease_model_check_data first. Fails as it and ease_evaluate do, with EASE_E_ARG
 * for a model for which this is not possible, EASE_E_DATA if no user has two items or
 * there is only one user, EASE_E_ACCURACY if all users are refused, or
 * EASE_E_MEMORY_LIMIT. */
EASE_API EASE_MUST_USE ease_status ease_leave_one_out(const ease_model *m,
                                                      const ease_interactions *x,
                                                      const ease_leave_options *o,
                                                      ease_report **out,
                                                      ease_error *err);

EASE_API void ease_report_describe(const ease_report *r, ease_report_info *info);
/* The numbers of evaluated users and of metrics. */
EASE_API int64_t ease_report_users(const ease_report *r);
EASE_API int ease_report_metrics(const ease_report *r);
/* The result of a metric, by its number from 0 on. */
EASE_API void ease_report_metric(const ease_report *r, int metric, ease_metric *out);
/* The value of a metric for an evaluated user, and that user's id; users have the order
 * of the target. NaN for a metric of all lists together. */
EASE_API double ease_report_value(const ease_report *r, int metric, int64_t user);
EASE_API const char *ease_report_user_id(const ease_report *r, int64_t user);
/* For each item of the model, the number of users in whose list of the best *k it is;
 * *k receives the largest K of the metrics. Borrowed. */
EASE_API const int64_t *ease_report_times(const ease_report *r, int32_t *k);
/* Writes the values of users as CSV: a column `user`, and one for each metric that has
 * a value for each user. `path` may be "-". Fails with EASE_E_IO. */
EASE_API EASE_MUST_USE ease_status ease_report_write(const ease_report *r,
                                                     const char *path, ease_error *err);
EASE_API void ease_report_free(ease_report *r);

/* ---- comparing ---------------------------------------------------------------- */

/* The difference between a model and the first one over the same users, with a paired t
 * test. */
typedef struct ease_difference {
    double mean, standard_error; /* of the users' differences */
    double low, high;            /* 95 % interval of the mean */
    double p;                    /* two-sided, for this pair alone */
    double p_holm;               /* corrected for all pairs (Holm) */
} ease_difference;

/* Compares reports[1], reports[2], ... with reports[0] on one metric, given by its
 * number in the reports, which must have a value for each user. out[i] receives the
 * difference of reports[i + 1], so that `out` has count - 1 entries. Fails with
 * EASE_E_ARG if the reports are not of the same users in the same order, count unknown
 * items differently, or measure or rank other kinds of items, or EASE_E_NOMEM. */
EASE_API EASE_MUST_USE ease_status ease_compare(const ease_report *const *reports,
                                                int count, int metric,
                                                ease_difference *out, ease_error *err);

/* ---- tuning ------------------------------------------------------------------ */

typedef struct ease_tuning ease_tuning;

typedef struct ease_trial {
    size_t size;
    double lambda;               /* 0: the method has none */
    const char *settings;        /* that were tried, "" for EASE; borrowed */
    double mean, standard_error; /* of the metric */
    double seconds;              /* of training and evaluating */
    int64_t solves;              /* matrices that were inverted for it: 0 if its weights
                                    were read off the inverse of another trial */
} ease_trial;

typedef struct ease_tune_options {
    size_t size;
    /* The method to tune. The settings in it are fixed; its lambda, metric and unknown
     * are ignored. NULL: the defaults, which are EASE. The string `backend` and the
     * tags must stay valid until ease_tuning_train has returned. */
    const ease_train_options *train;
    const double *lambdas; /* methods with a lambda: the `count` lambdas to try; NULL:
                              search for the best one */
    int count;
    ease_unknown unknown; /* for unknown items of the target; default MISS */
    const char *grid;     /* other methods: "rank=64|128"; NULL: the method's own grid.
                           Methods with a lambda and settings: the settings to try with
                           each of `lambdas`; NULL: search if lambdas is NULL too */
    const char *metric;   /* that has a value for each user; "ndcg@100" */
    double seconds;       /* time limit: no trial begins that would probably end later;
                           0: none */
    /* Nonzero: trials are measured by ease_leave_one_out on the training data, and the
     * input and target of ease_tune must be NULL. Only lambda is tuned; the settings
     * are those of `train`. The metric must measure hits. Users whom a trial cannot
     * leave out (see `refused` of ease_report_info) count as missed in its mean, so
     * that all trials have the same users. The tuning can still make a model that is
     * not updatable, see train->updatable. */
    int leave_one_out;
    int64_t users; /* leave_one_out: a random sample of so many users; 0: all */
    /* Nonzero: a tenth of the users with 5 items or more, at most `users` of them, are
     * held out of the training data. Each trial trains a model of the others, and ranks
     * a fifth of each held-out user's items by the rest. The input and target of
     * ease_tune must be NULL. Only lambda is tuned. This is for methods whose models
     * cannot leave users out (ease-sparse); ease_tuning_train then trains on all of
     * `x`, which must still exist. */
    int64_t hold_out;
} ease_tune_options;

/* Checks options before any data is read. Fails with EASE_E_ARG. */
EASE_API EASE_MUST_USE ease_status ease_tune_options_check(const ease_tune_options *o,
                                                           ease_error *err);

/* Searches for the best lambda, or the best settings, of a method. Each trial trains a
 * model on `x` and evaluates it on validation users as ease_evaluate does; trials are
 * logged (level 2). The best trial has the highest mean of the metric, or the lowest
 * one if lower is better (see ease_metric_info). If tuning is cancelled or runs out of
 * time after at least one trial, the call succeeds with the trials so far, and
 * ease_tuning_stopped returns 1.
 *
 * Methods with a lambda: the Gram matrix is built once, and each trial solves a copy.
 * The search brackets the best lambda by decades from 100 on, then halves its steps
 * down to an eighth of a decade; its lambdas have three significant digits. A lambda
 * that is too small to solve with is skipped with a warning (level 1).
 *
 * Methods with a lambda and settings (edlae, dan, ease-family ...): lambda and all
 * settings that train->settings does not fix are searched together, with 12 solves or
 * fewer, and up to 18 if the best lambda is far from the start. lambda, lambda-power,
 * dropout and user-power need another inverse; all other settings are read off the
 * inverse at hand, at the cost of an evaluation. The memory is that of one Gram matrix
 * and one inverse. Trials have the order in which they were made; of equal ones, the
 * first is the best.
 *
 * Leaving users out: the search is that of lambda alone, also for methods with
 * settings, and why it ended is logged (level 2). Fails with EASE_E_ARG if
 * ease_leave_one_out refuses the method, its settings or the kind.
 *
 * Other methods: every point of the grid is tried; settings of train->settings are
 * fixed. A method that is trained by epochs uses the best epoch by the metric, and the
 * trial's settings contain its number. A point that the data cannot be trained with is
 * skipped with a warning (level 1). The best model so far is kept in memory.
 *
 * Fails as ease_train and ease_evaluate do. */
EASE_API EASE_MUST_USE ease_status ease_tune(const ease_interactions *x,
                                             const ease_interactions *input,
                                             const ease_interactions *target,
                                             const ease_tune_options *o,
                                             ease_tuning **out, ease_error *err);
EASE_API int ease_tuning_count(const ease_tuning *t); /* number of trials */
/* A trial, by its number from 0 on. Trials have the order of lambda, or of the grid
 * (the last setting changes fastest). Training with the settings of a trial on the
 * same data gives the model of the trial again. */
EASE_API void ease_tuning_trial(const ease_tuning *t, int trial, ease_trial *out);
/* The number of the best trial; of equal ones, that with the largest lambda or the
 * first point of the grid; leaving or holding users out, that with the lambda nearest
 * to 100. */
EASE_API int ease_tuning_best(const ease_tuning *t);
/* The number of matrices that were inverted; other trials were evaluations alone. */
EASE_API int ease_tuning_solves(const ease_tuning *t);
/* 1 if tuning was cancelled or ran out of time before all trials were made, else 0. */
EASE_API int ease_tuning_stopped(const ease_tuning *t);
/* The number of interactions of the validation target with unknown items; leaving users
 * out, of the held-out items that no other user has. */
EASE_API int64_t ease_tuning_unknown_targets(const ease_tuning *t);
/* Returns the model of the best trial, once: for a method with a lambda it is solved
 * in place from the Gram matrix of the tuning, otherwise it is the model that was
 * kept. Fails as ease_gram_solve does, and with EASE_E_ARG if the model was taken or
 * freed before. */
EASE_API EASE_MUST_USE ease_status ease_tuning_train(ease_tuning *t,
                                                     const ease_hooks *hooks,
                                                     ease_model **out, ease_error *err);
/* Frees the memory that ease_tuning_train needs, if no model is wanted; the trials
 * stay. */
EASE_API void ease_tuning_forget(ease_tuning *t);
EASE_API void ease_tuning_free(ease_tuning *t);

/* ---- the machine ------------------------------------------------------------- */

/* The number of bytes that this process can allocate without swapping or being killed:
 * the available memory of the machine, or less if a control group or a resource limit
 * allows less. 0: unknown. */
EASE_API size_t ease_memory_available(void);

/* The loaded BLAS library. All strings are static. */
typedef struct ease_blas_info {
    size_t size;
    const char *name; /* version and build, in words */
    const char *core; /* processor whose kernels OpenBLAS uses, such as "Haswell" */
    /* NULL, or a processor whose kernels are several times faster on this machine,
     * which OpenBLAS does not recognize: start the program with OPENBLAS_CORETYPE set
     * to this name in the environment. The program `ease` does so by itself. */
    const char *better;
} ease_blas_info;

EASE_API void ease_blas_describe(ease_blas_info *info);

/* Measures the flops per second of products of n x n matrices (2 n^3 flops each),
 * which all threads compute at once, each with its own matrices, as the solver uses
 * BLAS. Runs for `seconds`, or one product for each thread if that takes longer. A
 * solve takes n^3 flops: n^3 / (seconds of the solve) can be compared with the result.
 * Fails with EASE_E_NOMEM or EASE_E_ARG. */
EASE_API EASE_MUST_USE ease_status ease_measure_product(int32_t n,
                                                        ease_precision precision,
                                                        int threads, double seconds,
                                                        double *flops_a_second,
                                                        ease_error *err);
/* Measures the bytes per second that all threads together copy from memory to memory,
 * in copies of `bytes` in all; a byte that is read and written counts once. Runs for
 * `seconds`. Fails with EASE_E_NOMEM or EASE_E_ARG. */
EASE_API EASE_MUST_USE ease_status ease_measure_copy(size_t bytes, int threads,
                                                     double seconds,
                                                     double *bytes_a_second,
                                                     ease_error *err);

/* ---- figures ------------------------------------------------------------------ */

/* Figures are SVG files, with a light and a dark version that the viewer chooses by its
 * colour scheme. The same data gives the same bytes. Names may contain any bytes. All
 * functions of this section fail with EASE_E_ARG, EASE_E_NOMEM or EASE_E_IO. */

/* Checks the path of a figure: "-", or a name without suffix or with the suffix .svg.
 * Fails with EASE_E_ARG for any other suffix, such as .png. */
EASE_API EASE_MUST_USE ease_status ease_plot_check(const char *path, ease_error *err);

enum { EASE_WEIGHT_QUANTILES = 7 };

/* Statistics of the weights off the diagonal; all members are 0 if there is only one
 * item. */
typedef struct ease_weight_summary {
    size_t size;
    int64_t count;         /* items x (items - 1) */
    double negative, zero; /* shares of weights below 0 and equal to 0, 0 .. 1 */
    double smallest, largest, mean;
    /* The quantiles 0.1, 1, 10, 50, 90, 99 and 99.9 %, with a relative error of at most
     * 0.1 %. */
    double quantile[EASE_WEIGHT_QUANTILES];
} ease_weight_summary;

/* Summarizes the weights of a model in one pass over them. Fails with EASE_E_ARG for a
 * model without weights, EASE_E_FORMAT if a weight is not finite or the model's file is
 * damaged, EASE_E_IO, EASE_E_NOMEM or EASE_E_CANCELLED. */
EASE_API EASE_MUST_USE ease_status
ease_model_summarize_weights(const ease_model *m, ease_weight_summary *out,
                             const ease_hooks *hooks, ease_error *err);

enum { EASE_WEIGHT_BINS = 128 };

/* A histogram of the weights off the diagonal. Bin b counts the weights other than 0
 * from edge[b] up to edge[b + 1] (in the last bin: including it). 0 is an edge, and the
 * bins are equally wide. */
typedef struct ease_weight_histogram {
    size_t size;
    int bins; /* at most EASE_WEIGHT_BINS */
    double edge[EASE_WEIGHT_BINS + 1];
    int64_t count[EASE_WEIGHT_BINS];
    int64_t zero, below, above; /* weights that are 0, or outside all bins */
} ease_weight_histogram;

/* Counts the weights of a model in the bins that ease_plot_weights draws. Makes two
 * passes over the weights; `summary` may be NULL. Fails as ease_model_summarize_weights
 * does. */
EASE_API EASE_MUST_USE ease_status ease_model_count_weights(
    const ease_model *m, ease_weight_histogram *out, ease_weight_summary *summary,
    const ease_hooks *hooks, ease_error *err);

/* Draws the histogram of the weights, with counts on a logarithmic scale, and their
 * summary, which `summary` (may be NULL) receives too. Makes two passes over the
 * weights. Also fails as ease_model_summarize_weights does. */
EASE_API EASE_MUST_USE ease_status ease_plot_weights(const ease_model *m,
                                                     const char *path,
                                                     ease_weight_summary *summary,
                                                     const ease_hooks *hooks,
                                                     ease_error *err);

/* Draws the long tail of 1 to 8 models, a line for each: the number of lists of the
 * best k that contain each item, in descending order. times[m] has a count for each
 * item, as ease_report_times returns it. */
EASE_API EASE_MUST_USE ease_status ease_plot_longtail(const int64_t *const *times,
                                                      const char *const *names,
                                                      int models, int32_t items,
                                                      int32_t k, const char *path,
                                                      ease_error *err);

/* Draws a metric as a function of lambda, with its standard errors (NULL, or NaN:
 * none) and a mark at the largest mean. Lambdas may have any order, and must be
 * between 1e-100 and 1e100. */
EASE_API EASE_MUST_USE ease_status ease_plot_lambda(const double *lambda,
                                                    const double *mean,
                                                    const double *standard_error,
                                                    int count, const char *metric,
                                                    const char *path, ease_error *err);

enum { EASE_PLOT_MOST_AXES = 8 };

/* The values of one setting in the trials of a search. */
typedef struct ease_plot_axis {
    const char *name;    /* "dropout" */
    const double *value; /* for each trial; NAN: the trial does not have the setting */
    int logarithmic; /* 1: the scale is logarithmic, with values from 1e-100 to 1e100 */
} ease_plot_axis;

/* Draws the trials of a search over 1 to EASE_PLOT_MOST_AXES settings: for each setting
 * a panel with the metric as a function of the setting, on the same scale of the metric
 * in all panels. Each trial is a dot. A line connects the best trials at each value of
 * the setting, or in each of at most 20 intervals if it has more than 20 values. A mark
 * shows trial number `best`, and a band its standard error; standard_error may be NULL,
 * and its entries NAN, for none. If mean[best] is nearer to the smallest mean than to
 * the largest one, lower values of the metric are better. Trials that are far worse
 * than most others are drawn as arrows at the edge of the panels, and a note says how
 * many; at least half of all trials are drawn as dots. */
EASE_API EASE_MUST_USE ease_status
ease_plot_settings(const ease_plot_axis *axes, int axis_count, const double *mean,
                   const double *standard_error, int trials, int best,
                   const char *metric, const char *path, ease_error *err);

/* ---- initializing options ------------------------------------------------------- */

/* ease_X_options_init() sets `size` to the size in this header, and all members to
 * their defaults. ease_X_options_defaults() sets the members within `size` bytes. */

EASE_API void ease_read_options_defaults(ease_read_options *o);
EASE_API void ease_synth_options_defaults(ease_synth_options *o);
EASE_API void ease_tag_options_defaults(ease_tag_options *o);
EASE_API void ease_split_options_defaults(ease_split_options *o);
EASE_API void ease_train_options_defaults(ease_train_options *o);
EASE_API void ease_gram_options_defaults(ease_gram_options *o);
EASE_API void ease_open_options_defaults(ease_open_options *o);
EASE_API void ease_recommend_options_defaults(ease_recommend_options *o);
EASE_API void ease_eval_options_defaults(ease_eval_options *o);
EASE_API void ease_update_options_defaults(ease_update_options *o);
EASE_API void ease_leave_options_defaults(ease_leave_options *o);
EASE_API void ease_tune_options_defaults(ease_tune_options *o);

static inline void ease_read_options_init(ease_read_options *o)
{
    o->size = sizeof(*o);
    ease_read_options_defaults(o);
}

static inline void ease_synth_options_init(ease_synth_options *o)
{
    o->size = sizeof(*o);
    ease_synth_options_defaults(o);
}

static inline void ease_tag_options_init(ease_tag_options *o)
{
    o->size = sizeof(*o);
    ease_tag_options_defaults(o);
}

static inline void ease_split_options_init(ease_split_options *o)
{
    o->size = sizeof(*o);
    ease_split_options_defaults(o);
}

static inline void ease_train_options_init(ease_train_options *o)
{
    o->size = sizeof(*o);
    ease_train_options_defaults(o);
}

static inline void ease_gram_options_init(ease_gram_options *o)
{
    o->size = sizeof(*o);
    ease_gram_options_defaults(o);
}

static inline void ease_open_options_init(ease_open_options *o)
{
    o->size = sizeof(*o);
    ease_open_options_defaults(o);
}

static inline void ease_recommend_options_init(ease_recommend_options *o)
{
    o->size = sizeof(*o);
    ease_recommend_options_defaults(o);
}

static inline void ease_eval_options_init(ease_eval_options *o)
{
    o->size = sizeof(*o);
    ease_eval_options_defaults(o);
}

static inline void ease_update_options_init(ease_update_options *o)
{
    o->size = sizeof(*o);
    ease_update_options_defaults(o);
}

static inline void ease_leave_options_init(ease_leave_options *o)
{
    o->size = sizeof(*o);
    ease_leave_options_defaults(o);
}

static inline void ease_tune_options_init(ease_tune_options *o)
{
    o->size = sizeof(*o);
    ease_tune_options_defaults(o);
}

#ifdef __cplusplus
}
#endif
#endif /* EASE_H */
