/* ease: recommendations in closed form.
 *
 * EASE^R (Steck, WWW 2019) learns an item-item matrix of weights B from who
 * interacted with what, in one step:
 *
 *     P = (X'X + lambda I)^-1,   B = I - P diagMat(1 / diag P)
 *
 * and scores item j for a history x (a row of X) as the sum of B[h][j] over the
 * items h of x. From a file of ratings to a model and a list:
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
 *  - X_free(NULL) is a no-op. What a call returns by `const *` is borrowed and
 *    lives as long as the object it came from.
 *  - Objects reached through `const *` are safe to share between threads; an
 *    ease_scorer belongs to one thread at a time.
 *  - Items are numbered 0 .. items-1, users 0 .. users-1, both in the order in
 *    which their ids first appear. Ids are strings of any bytes except NUL.
 *  - Accessors and descriptions accept NULL and any index: they return 0, NULL, an empty
 *    row, NaN, EASE_NO_ITEM or EASE_NO_USER, also as members of a structure.
 *  - The library never prints, exits, aborts or changes process state.
 *
 * Structures, so that a compiled program works with later versions of the library:
 *
 *  - Options begin with their size: call ease_X_options_init, then change members. NULL
 *    stands for the defaults where there are any. Pointers in options are used during
 *    the call only, unless it says otherwise.
 *  - What the library fills in begins with its size too, and the caller sets it:
 *    ease_model_info info = {.size = sizeof(info)}; ease_model_describe(m, &info);
 *  - New versions add members at the end of these, and of the constants that the library
 *    returns by pointer (ease_recipe, ease_format, ease_method_info, ...), never
 *    elsewhere. A program that was compiled with an older header gets the defaults of
 *    options that it does not know. One that sets options which an older library does
 *    not know gets EASE_E_ARG.
 *  - ease_row, ease_rec, ease_error, ease_hooks, ease_id_column, ease_split_part and
 *    ease_difference are frozen: they never change.
 *
 * Threads and processes:
 *
 *  - `threads` is the largest number of threads that a call may use: 0 means one for
 *    each processor, and more than 1,024 are refused. The parts of a call that use BLAS
 *    run on no more threads than OpenBLAS has buffers for: twice the number of threads
 *    that it was built for, less one for each processor (126 on two processors with
 *    Debian's package). Where that limits a call, the log says so, once in a process
 *    (level 1).
 *  - In a child made by fork() from a process with several threads, the thread that
 *    called fork() runs every call on itself alone. Threads that the child starts
 *    afterwards use the number of threads that is requested. fork()
 *    waits until no other thread is inside a call of OpenBLAS (some milliseconds).
 *  - OpenBLAS maps 128 MiB of address space for each processor when it is loaded, and
 *    hangs if a resource limit (ulimit -v, -d) does not allow that. With
 *    OMP_NUM_THREADS=1 in the environment it maps 128 MiB in all.
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
#define EASE_VERSION_MINOR 1
#define EASE_VERSION_PATCH 0
#define EASE_VERSION_NUMBER \
    (EASE_VERSION_MAJOR * 1000000 + EASE_VERSION_MINOR * 1000 + EASE_VERSION_PATCH)

/* Of the library that is loaded, which may be newer than the header that a program was
 * compiled with: "0.1.0", and one number as EASE_VERSION_NUMBER is. */
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

/* ---- hooks: what the library says while it works ---------------------------------- */

/* Both are called only from the calling thread. level: 0 error, 1 warning,
 * 2 note, 3 debug. A stage is named by the same pointer for as long as it lasts;
 * fraction is 0 .. 1, or below 0 where the end is unknown. Return nonzero from
 * progress to cancel: the call then ends soon with EASE_E_CANCELLED. */
typedef struct ease_hooks {
    void (*log)(void *user, int level, const char *text);
    int (*progress)(void *user, const char *stage, double fraction);
    void *user;
} ease_hooks;

/* ---- files ------------------------------------------------------------------- */

/* Checks, before a long computation, that `bytes` (0: unknown) can be written to
 * `path`, and leaves the file as it is. "-", pipes and devices are accepted. Fails with
 * EASE_E_IO, as writing would.
 *
 * Every function of this header that writes a file first writes a new one in the same
 * directory and then renames it over the old one, whose owner, group and permissions it
 * keeps as far as the process is permitted. If `path` is a symbolic link, the link
 * stays and the file that it points to is created or replaced. */
EASE_API EASE_MUST_USE ease_status ease_output_check(const char *path, size_t bytes,
                                                     ease_error *err);

/* What a file seems to be, from its first bytes. */
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

/* What becomes of a pair (user, item) that occurs again. Without `weights` every
 * row counts 1, so that SUM gives the number of rows. */
typedef enum ease_repeat {
    EASE_REPEAT_FIRST,
    EASE_REPEAT_LAST,
    EASE_REPEAT_MAX,
    EASE_REPEAT_SUM
} ease_repeat;

/* The columns of a table that hold the user, the item, the value and the time: indices
 * from 0 on, or -1 if there is no such column. */
typedef struct ease_columns {
    size_t size;
    int user, item, value, time;
    int guessed;      /* EASE_GUESSED_... bits: columns chosen by their values, by their
                         order or by a name that is only a last resort (an invoice) */
    char words[256];  /* "user = client, item = sku, time = ts" */
    char advice[292]; /* a sentence with the `columns` to give if the guess is wrong */
} ease_columns;

enum { EASE_GUESSED_USER = 1, EASE_GUESSED_ITEM = 2 };

typedef struct ease_read_options {
    size_t size;           /* sizeof(ease_read_options), set by _init */
    const char *format;    /* NULL: recognize. The name of an ease_format */
    const char *columns;   /* NULL: recognize. "USER,ITEM[,VALUE[,TIME]]", each the
                              name of a header field or a number from 1; VALUE may
                              be empty; only splits look at times */
    const char *separator; /* NULL: recognize. "," "\t" "::" " " ... */
    int header;            /* -1: recognize, 0: none, 1: the first line */
    double min_rating;     /* keep rows with a value of at least this; NaN: all */
    int weights;           /* nonzero: X holds the values, not 1s */
    ease_repeat repeat;
    int64_t min_user, min_item; /* drop users/items with fewer interactions, ... */
    int one_pass;               /* ... items once, then users once, not until stable */
    int threads;                /* 0: all */
    size_t memory_limit;        /* bytes that reading may use; 0: the memory that is
                                   available when reading begins; SIZE_MAX: no limit */
    const ease_hooks *hooks;    /* NULL: none */
    const char *columns_option; /* how messages introduce columns that they propose,
                                   such as "--columns "; NULL: "columns " */
    const ease_columns *guess;  /* for ease_interactions_from_table: the result of
                                   ease_columns_recognize that its columns were chosen
                                   by, so that `doubt` can be set; NULL: no guess */
} ease_read_options;

typedef struct ease_interactions_info {
    size_t size;
    int64_t users, interactions;
    int32_t items;
    int weighted;
    const char *recognized; /* what the file was taken for, in words; borrowed */
    int64_t rows;           /* rows with a pair, before any was dropped */
    int64_t below_rating, zero_weight, repeated, filtered; /* rows not kept */
    /* Rows whose value is ignored, as neither weights nor min_rating is set and every
     * row counts as 1: */
    int64_t unused;   /* those with a value other than 1, ... */
    int64_t negative; /* ... and among these, those with a value below 0 */
    /* NULL, or a message saying why the columns that were guessed (see ease_columns)
     * are probably not the user and the item: all rows have the same user or the same
     * item, or no user has two rows. Training, tuning, Gram matrices and splits then
     * fail with EASE_E_ARG and this message. */
    const char *doubt;
} ease_interactions_info;

/* A format of files with interactions. */
typedef struct ease_format {
    const char *name;  /* for ease_read_options */
    const char *about; /* one line */
    int values, times; /* 1: interactions can have a value, a time */
} ease_format;

/* The formats from 0 on, in the order in which a file of unknown format is tried; NULL
 * past the end. Constants of the library. */
EASE_API const ease_format *ease_format_at(int index);

/* Reads a file, plain or compressed by gzip, zstd or zip; "-" is standard input. The
 * formats: delimited tables with or without a header, MovieLens `::`, RecBole
 * .inter, adjacency lines (`user item item ...`), SciPy CSR .npz, MatrixMarket
 * coordinates and the Netflix Prize's ratings. A directory may hold one of the paper's
 * data sets as it is distributed: MovieLens' ratings.csv or ratings.dat,
 * train_triplets.txt, training_set/mv_0000001.txt ..., combined_data_1.txt ... _4.txt.
 *
 * A table of a split (header uid,sid, in a directory with unique_sid.txt or split.json)
 * is read with the ids of the data that was split in place of its numbers, unless `o`
 * gives another format than split, columns, no header or a separator other than a comma.
 * Columns that
 * `o` does not give are recognized as described at ease_columns_recognize.
 *
 * Fails with EASE_E_IO, EASE_E_PARSE ("path:line: what"), EASE_E_DATA (nothing left),
 * EASE_E_MEMORY_LIMIT, EASE_E_ARG (also if the columns are ambiguous). */
EASE_API EASE_MUST_USE ease_status ease_interactions_read(const char *path,
                                                          const ease_read_options *o,
                                                          ease_interactions **out,
                                                          ease_error *err);

/* Copies a CSR matrix: row_ptr has users + 1 entries; columns may come in any
 * order but not twice in a row; vals may be NULL (ones) and must be finite. Ids
 * are the numbers 0, 1, ... */
EASE_API EASE_MUST_USE ease_status ease_interactions_from_csr(
    int64_t users, int32_t items, const int64_t *row_ptr, const int32_t *cols,
    const float *vals, ease_interactions **out, ease_error *err);

/* Copies a CSR matrix whose rows are the users of `users` and whose columns are the
 * items of `items`, and takes over their ids: for a selection from other interactions.
 * `users` and `items` may be the same object. Otherwise as
 * ease_interactions_from_csr. */
EASE_API EASE_MUST_USE ease_status ease_interactions_from_csr_ids(
    const ease_interactions *users, const ease_interactions *items,
    const int64_t *row_ptr, const int32_t *cols, const float *vals,
    ease_interactions **out, ease_error *err);

/* As ease_interactions_from_csr, but without copying: the arrays must not change until
 * the interactions are freed. Fails with EASE_E_ARG unless the columns are strictly
 * increasing in each row and no value is 0. */
EASE_API EASE_MUST_USE ease_status ease_interactions_borrow_csr(
    int64_t users, int32_t items, const int64_t *row_ptr, const int32_t *cols,
    const float *vals, ease_interactions **out, ease_error *err);

/* A column of ids in memory: numbers, which become their digits, or strings. */
typedef struct ease_id_column {
    const int64_t *numbers; /* one a row; NULL: */
    const char *bytes;      /* id i is bytes[offsets[i]] .. bytes[offsets[i + 1] - 1] */
    const int64_t *offsets; /* rows + 1, not decreasing */
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

/* Interactions from the rows of a table in memory, which are treated as
 * ease_interactions_read treats those of a file. `values` may be NULL if `o` sets
 * neither weights nor min_rating; values that are not used may be NaN or infinite. The
 * format, columns, separator and header of `o` are ignored. Fails with EASE_E_DATA
 * ("row 3: ..."), EASE_E_MEMORY_LIMIT, EASE_E_NOMEM, EASE_E_ARG. */
EASE_API EASE_MUST_USE ease_status ease_interactions_from_table(
    int64_t rows, const ease_id_column *users, const ease_id_column *items,
    const double *values, const ease_read_options *o, ease_interactions **out,
    ease_error *err);

/* Synthetic data: exactly `interactions` distinct pairs, each user and each item
 * at least once, long-tailed in both, with tastes that a model can learn. The
 * same seed gives the same pairs, at any number of threads. Fails with EASE_E_ARG, or
 * with EASE_E_MEMORY_LIMIT if the data needs more memory than is available. */
typedef struct ease_synth_options {
    size_t size;
    int64_t users, interactions;
    int32_t items;
    uint64_t seed;
    int threads;
    const ease_hooks *hooks; /* NULL: none */
} ease_synth_options;

EASE_API EASE_MUST_USE ease_status ease_interactions_synth(const ease_synth_options *o,
                                                           ease_interactions **out,
                                                           ease_error *err);

/* Writes a CSV with a header, user by user: user,item or user,item,value. "-" is
 * standard output; a file appears whole or not at all. */
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

/* ---- recipes: the paper's data sets, filtered and divided as published --------- */

typedef struct ease_recipe {
    const char *name;   /* "ml-20m", "netflix", "msd", "ml-10m" */
    const char *title;  /* "MovieLens 20M" */
    const char *format; /* as in ease_read_options; NULL: recognized */
    double min_rating;  /* NaN: every row counts */
    int64_t min_user;   /* these two in one pass, items first */
    int64_t min_item;
    const char *protocol; /* of the split */
    int64_t heldout_users;
    double lambda; /* the paper's */
    /* What is left after the filters, as published; 0: unknown. */
    int64_t users, interactions;
    int32_t items;
} ease_recipe;

/* Recipes from 0 on; NULL past the end. */
EASE_API const ease_recipe *ease_recipe_at(int index);
EASE_API const ease_recipe *ease_recipe_find(const char *name); /* or NULL */
/* Sets the format and the filters of `o`; all else stays. */
EASE_API void ease_recipe_apply(const ease_recipe *recipe, ease_read_options *o);

/* ---- splits: what to fit, what to tune on, what to test on ------------------- */

/* The protocols, by name; docs/file-formats.md says exactly what each draws.
 *
 *     liang18     strong generalization, bit for bit as published: users are divided
 *                 into train, validation and test; of the latter two's items a random
 *                 share is held out
 *     volkovs15   weak generalization: 3 of 10 of each user's items train, the rest
 *                 test
 *     random      a random share of each user's items is the test
 *     leave-last  each user's last item is the test, the one before it the validation
 *     time        what happened after one moment is the test
 *
 * In the last four a part of what trains is the validation: fitted without it for
 * tuning, with it in the end. */
typedef struct ease_split_options {
    size_t size;
    const char *recipe;      /* the name of one, or NULL; it is recorded */
    const char *protocol;    /* NULL: the recipe's; else there is no default */
    int64_t heldout_users;   /* liang18: for validation, and as many for testing; 0:
                              the recipe's, or 10,000 */
    double share;            /* liang18, random, time: to be held out; 0: 0.2 */
    uint32_t seed;           /* 98765 */
    const ease_hooks *hooks; /* NULL: none */
} ease_split_options;

typedef struct ease_split_part {
    int64_t users, interactions;
    int32_t items;
} ease_split_part;

typedef struct ease_split_info {
    size_t size;
    /* What was read and kept; `recognized` in it is NULL. Set by the caller, with its
     * size; NULL: not wanted. */
    ease_interactions_info *data;
    char recognized[400]; /* what the file was taken for, in words */
    int by_time;          /* leave-last and time: 1, or 0 for file order */
    int64_t users;        /* with a number in the split, ... */
    int32_t items;        /* ... and items */
    ease_split_part train, validation_train; /* the same where only one is written */
    ease_split_part validation_input, validation_target;
    ease_split_part test_input, test_target;
} ease_split_info;

/* Reads `data` and writes a split of it into the directory `dir`, which is created if
 * it is missing. A split that is already there is replaced; a directory with anything
 * else in it is refused.
 *
 * The split is written to a temporary directory beside `dir`, which then takes the
 * place of `dir` in one atomic step: at any time, also after a kill or with several
 * calls at once, `dir` holds one complete split. Some directories cannot be exchanged
 * atomically (`dir` is a mount point or the working directory, or its file system or
 * permissions do not allow it). Their files are replaced one by one: an interruption
 * leaves a directory that ease_split_open refuses, and a second call at the same time
 * fails. What a killed process has left beside `dir` is removed by the next split into
 * `dir`.
 *
 * All options of `r` apply except weights and the repeats max and sum; liang18 filters
 * in one pass. If `r` is NULL, the recipe's options apply, or else the defaults, with
 * min_user 5 for liang18, as published. If it is not, `r` applies whatever the recipe
 * says. The hooks of `r` are for reading, those of `o` for the rest. `info` may be
 * NULL. Fails as ease_interactions_read does, and with EASE_E_DATA if a part would be
 * empty. */
EASE_API EASE_MUST_USE ease_status ease_split(const char *data,
                                              const ease_read_options *r,
                                              const ease_split_options *o,
                                              const char *dir, ease_split_info *info,
                                              ease_error *err);

/* A split's directory, read: every part with the ids of the data that was split. */
typedef struct ease_split_parts {
    size_t size;
    ease_interactions *train;            /* what the final model is fitted on */
    ease_interactions *validation_train; /* what is fitted for tuning; NULL: train */
    ease_interactions *validation_input, *validation_target;
    ease_interactions *test_input, *test_target;
} ease_split_parts;

/* Reads a directory that ease_split or the published code of liang18 has written. With
 * a split.json all files must exist, and each table must have the number of users,
 * items and interactions that split.json records. The published code writes no
 * split.json; without one, if unique_uid.txt or unique_sid.txt is missing, the numbers
 * are the ids. Fails with EASE_E_IO (a file is missing, or the split was replaced while
 * it was read), EASE_E_PARSE, EASE_E_DATA (other counts, or an unfinished split). */
EASE_API EASE_MUST_USE ease_status ease_split_open(const char *dir,
                                                   ease_split_parts *out,
                                                   ease_error *err);
/* Frees the parts, not the structure. */
EASE_API void ease_split_close(ease_split_parts *p);

/* ---- training -------------------------------------------------------------- */

typedef struct ease_gram ease_gram;
typedef struct ease_model ease_model;

typedef enum ease_precision { EASE_F32, EASE_F64 } ease_precision;

/* Which Gram matrix EASE is given. With U users, mu = column sums / U and
 * C = X'X - U mu mu', s_i = sqrt(C_ii):
 *
 *     counts       X'X
 *     covariance   C
 *     correlation  C_ij / (s_i s_j)
 *
 * For the latter two the weights are transformed back to the space of X, and a
 * score has a base c = mu - mu W beside the sum over the history. */
typedef enum ease_gram_kind {
    EASE_GRAM_COUNTS,
    EASE_GRAM_COVARIANCE,
    EASE_GRAM_CORRELATION
} ease_gram_kind;

/* How a model file holds the weights: rows of float32, rows of float16 with one
 * common power of two, or the packed triangle of the symmetric inverse in
 * float32, from which rows are made on the fly. 4, 2 and about 2 bytes a weight.
 * Where the values of items differ by more than some 10^4 times, F16 cannot hold both
 * large and small weights: saving warns if weights that matter become 0.
 * The others are not for choosing, a model of them is saved as what it is. NONE: there
 * are no weights; a score is the base alone, as in popularity. SPARSE: rows of few
 * weights. LATENT: a history is encoded as a few numbers, which are multiplied with
 * those of each item. KNOWN: scores of the training data's users, 2 bytes each. */
typedef enum ease_storage {
    EASE_STORE_F32,
    EASE_STORE_F16,
    EASE_STORE_PACKED,
    EASE_STORE_NONE,
    EASE_STORE_SPARSE,
    EASE_STORE_LATENT,
    EASE_STORE_KNOWN
} ease_storage;

/* "f16"; NULL: there is no such storage. */
EASE_API const char *ease_storage_name(ease_storage storage);

/* How an evaluation counts unknown items: items that were held out but do not occur in
 * the model's training data, so that the model cannot recommend them. */
typedef enum ease_unknown {
    EASE_UNKNOWN_MISS, /* as misses: held out, and never found */
    EASE_UNKNOWN_DROP  /* as if they had not been held out: the means are higher */
} ease_unknown;

typedef struct ease_train_options {
    size_t size;
    const char *method;   /* the name of one, see ease_method_at; NULL: "ease" */
    double lambda;        /* of methods that have one: above 0; there is no default */
    const char *settings; /* of the others, "rank=64"; NULL: defaults */
    ease_gram_kind kind;
    ease_precision precision; /* of the solve */
    const char *backend;      /* what solves: see ease_backend_at; NULL: the first */
    size_t memory_limit;      /* bytes; 0: what is available */
    /* A directory, or NULL. Where memory does not hold the matrix, ease_train and its
     * relatives that read data or a file keep it in a nameless file there, with the
     * same result. The model returned then reads its weights from that file. */
    const char *workdir;
    /* Users to choose the best epoch by, for methods that are trained by epochs, and
     * the measure; NULL: the last epoch is taken. Where training diverges later on, the
     * best epoch so far is the model, and the log says so (level 1); without them that
     * is EASE_E_ACCURACY. */
    const ease_interactions *validation_input, *validation_target;
    const char *metric;      /* "ndcg@100" */
    ease_unknown unknown;    /* among the validation targets; default MISS */
    int threads;             /* 0: all; results do not depend on it */
    const ease_hooks *hooks; /* NULL: none */
} ease_train_options;

/* A backend: code that solves on some hardware. */
typedef struct ease_backend_info {
    const char *name;  /* as in ease_train_options.backend */
    const char *about; /* one line */
} ease_backend_info;

/* Backends from 0 on; NULL: there is none. The first is the default. */
EASE_API const ease_backend_info *ease_backend_at(int index);
/* Checks that a backend (NULL: the default) can be used on this machine. Fails with
 * EASE_E_ARG if there is none of this name, or EASE_E_BACKEND with the reason. */
EASE_API EASE_MUST_USE ease_status ease_backend_check(const char *name,
                                                      ease_error *err);

/* What training will take, known before anything large is allocated. */
typedef struct ease_plan {
    size_t size;
    int64_t users, interactions;
    int32_t items;
    size_t matrix_bytes;    /* the tiled triangle */
    size_t data_bytes;      /* interactions, their transpose, ids */
    size_t peak_bytes;      /* resident, all in all */
    size_t available_bytes; /* the limit it is held against; 0: unknown */
    size_t model_bytes;     /* of the file, by storage */
    size_t work_bytes;      /* of the matrix in a file, if a workdir is given */
    size_t least_bytes;     /* memory that suffices with such a file */
    size_t traffic_bytes;   /* to and from it; 0: the matrix will be in memory */
    size_t device_bytes;    /* in the memory of the backend's device; 0: it has none */
    size_t device_available_bytes; /* free there; 0: unknown */
    double gram_seconds, solve_seconds, write_seconds;
    double flops;          /* of the solve: items^3 */
    double flops_a_second; /* measured or estimated by the backend, here and now */
    int threads;
    int fits;
} ease_plan;

/* By sizes alone (users and interactions may be 0: a Gram file, or unknown), or
 * for data at hand. Takes some 50 ms. */
EASE_API EASE_MUST_USE ease_status ease_plan_sizes(int64_t users, int32_t items,
                                                   int64_t interactions,
                                                   const ease_train_options *o,
                                                   ease_storage storage, ease_plan *out,
                                                   ease_error *err);
EASE_API EASE_MUST_USE ease_status ease_plan_data(const ease_interactions *x,
                                                  const ease_train_options *o,
                                                  ease_storage storage, ease_plan *out,
                                                  ease_error *err);

/* From interactions to a model, by o->method.
 *
 * ease, ease-nonneg (EASE >= 0: weights below 0 become 0): every solve is checked by a
 * residual. Where float32 fails its check or a pivot, the Gram matrix is built again
 * and solved in float64 if memory allows, and the log says so. Float64 is used from the
 * start if a nonzero entry on the diagonal of X'X is above 2^100 or below 2^-100.
 *
 * popularity: a score is the item's share of users. item-item: neighbours by X'X. slim,
 * slim-free: sparse weights by least squares. wmf: weighted matrix factorization by
 * alternating least squares, users being folded in when they are scored. ii-svd: the
 * scores of item-item through a truncated singular value decomposition. cdae, mult-dae,
 * mult-vae: autoencoders. lrec: logistic regressions of users on each other, for known
 * users only.
 *
 * A method that is trained by rounds (wmf, the autoencoders) tells the log of each
 * (level 2); cancelled after at least one, it gives the model of the last or, with
 * validation users, the best of them, and says so (level 1). Before that, and by any
 * other method, EASE_E_CANCELLED.
 *
 * Fails with EASE_E_MEMORY_LIMIT before allocating, EASE_E_ARG (a lambda that is
 * missing, a wrong setting, a rank above what the data can give, columns in doubt, see
 * ease_interactions_info), EASE_E_DATA (wmf: a value below 0), EASE_E_NOT_POSDEF,
 * EASE_E_ACCURACY (numbers do not stay finite, or float32 cannot represent the
 * weights), EASE_E_NOMEM, EASE_E_CANCELLED. */
EASE_API EASE_MUST_USE ease_status ease_train(const ease_interactions *x,
                                              const ease_train_options *o,
                                              ease_model **out, ease_error *err);

/* The same from a Gram file, by a method that needs no more (from_gram); EASE_E_ARG for
 * any other. */
EASE_API EASE_MUST_USE ease_status ease_train_gram_file(const char *path,
                                                        const ease_train_options *o,
                                                        ease_model **out,
                                                        ease_error *err);

/* ---- methods ---------------------------------------------------------------------- */

/* A setting of a method: a number with a name. */
typedef struct ease_setting {
    const char *name, *about;
    double value;       /* the default */
    double least, most; /* what is allowed */
    int whole;          /* 1: only whole numbers */
    const char *words;  /* NULL, or names for 0, 1, ...: "cosine|jaccard" */
} ease_setting;

typedef struct ease_method_info {
    const char *name;  /* "ease" */
    const char *about; /* one line, with where it was published */
    int has_lambda;    /* o->lambda is required, and ease_tune can search for it */
    int from_gram;     /* a Gram matrix is all that it needs, and there is a plan */
    int known_users;   /* it scores only the users that it was trained with, by what it
                          learned of each, and not a history */
    const char *nonnegative; /* the method that does the same with weights below 0 set
                                to 0; NULL: there is none */
    const char *rounds; /* the setting with the number of rounds (epochs, iterations)
                           that it is trained by; NULL: it has none */
    /* What tuning tries by default: "rank=64|128,alpha=1|10" is every rank with every
     * alpha. "": there is nothing to tune. NULL: it has a lambda. */
    const char *grid;
} ease_method_info;

/* Methods from 0 on, and by name; NULL: there is none. */
EASE_API const ease_method_info *ease_method_at(int index);
EASE_API const ease_method_info *ease_method_find(const char *name);
/* Settings of a method from 0 on; NULL past the end, and if there is no such method. */
EASE_API const ease_setting *ease_method_setting(const char *method, int index);
/* Checks, before any data is read, that the method exists and accepts these settings
 * ("rank=64"; NULL: none). Fails with EASE_E_ARG. */
EASE_API EASE_MUST_USE ease_status ease_method_check(const char *method,
                                                     const char *settings,
                                                     ease_error *err);

/* ---- Gram matrices: all that training needs -------------------------------- */

typedef struct ease_gram_info {
    size_t size;
    int64_t users, interactions; /* -1: unknown */
    int32_t items;
    int weighted; /* 0: counts, exact integers */
    int has_sums; /* column sums are known, so that any kind can be trained */
    int wide;     /* float64 entries */
} ease_gram_info;

typedef struct ease_gram_options {
    size_t size;
    size_t memory_limit;      /* bytes; 0: what is available */
    ease_precision precision; /* of entries of weighted data; counts are exact */
    int threads;              /* 0: all */
    const ease_hooks *hooks;  /* NULL: none */
} ease_gram_options;

/* X'X, the column sums and the number of users. Entries of weighted data are float32,
 * or float64 if precision is EASE_F64 or if float32 cannot represent them (see
 * ease_train). */
EASE_API EASE_MUST_USE ease_status ease_gram_build(const ease_interactions *x,
                                                   const ease_gram_options *o,
                                                   ease_gram **out, ease_error *err);

/* Solves in place: *g is consumed, and is NULL afterwards, even on failure. */
EASE_API EASE_MUST_USE ease_status ease_gram_solve(ease_gram **g,
                                                   const ease_train_options *o,
                                                   ease_model **out, ease_error *err);

/* A second one, for a solve that shall not use up the first. */
EASE_API EASE_MUST_USE ease_status ease_gram_copy(const ease_gram *g, ease_gram **out,
                                                  ease_error *err);

EASE_API EASE_MUST_USE ease_status ease_gram_save(const ease_gram *g, const char *path,
                                                  const ease_hooks *hooks,
                                                  ease_error *err);
/* Reads and checks a whole Gram file. */
EASE_API EASE_MUST_USE ease_status ease_gram_open(const char *path,
                                                  const ease_gram_options *o,
                                                  ease_gram **out, ease_error *err);
/* Its description alone, from the header. */
EASE_API EASE_MUST_USE ease_status ease_gram_peek(const char *path,
                                                  ease_gram_info *info,
                                                  ease_error *err);

/* The sum of Gram files of disjoint sets of users, exact for counts. Items are the
 * union by id: those of the first file, then those that each further file adds. Fails
 * with EASE_E_ARG if two paths lead to the same file. */
EASE_API EASE_MUST_USE ease_status ease_gram_merge(const char *const *paths, int count,
                                                   const ease_gram_options *o,
                                                   ease_gram **out, ease_error *err);

/* Reads Gram matrices made elsewhere, each of users of its own, and adds them up, exactly
 * for counts. Each path has rows of item,item,number (upper triangle, lower,
 * or both), plain or compressed, in a file, a directory of part files or "-"; or it is
 * a dense square .npy, the only path then. `items` is a file of ids, one a line, in the order of the matrix;
 * required for .npy, and for a table it fixes the order and the set; else items are
 * numbered as they appear. A file (or directory) with the header item,users,all_users,
 * as the SQL of `ease gram sql` writes it, has the number of users too: of each item,
 * which is the diagonal where none is given and must agree with it else, and in all. A
 * pair that stands twice in a path is an error, and so are both orders of a pair if
 * there are several paths. Checked: finite, symmetric, non-negative diagonal, and for
 * counts (all integers) G_ij <= min(G_ii, G_jj) and that none passes 2^32 - 1. users may
 * be -1: unknown. Fails with EASE_E_ARG if two paths lead to the same file. */
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
    const char *method;   /* the name of one, see ease_method_find; static */
    const char *settings; /* all of the method's, "" if it has none; the model's own.
                             Rounds (epochs, iterations) are those of this model */
    int32_t items;
    int64_t users, interactions; /* of the training data; -1: unknown */
    double lambda;               /* 0 where there is none, and so is the residual */
    double residual;             /* of the solve's check */
    ease_gram_kind kind;
    ease_precision precision;
    ease_storage storage;
    int nonnegative;
    int has_titles, has_base;
    size_t bytes; /* of the file; 0 if not from one */
} ease_model_info;

#define EASE_NO_ITEM (-1)

/* Writes the model under another name, syncs and renames: a file at `path` is
 * replaced whole or left as it was. A model without weights is saved as such, whatever
 * `storage` is. */
EASE_API EASE_MUST_USE ease_status ease_model_save(const ease_model *m,
                                                   const char *path,
                                                   ease_storage storage,
                                                   const ease_hooks *hooks,
                                                   ease_error *err);

/* How many threads saving this model, summing up its weights and plotting them may
 * take; 0: all. At first as many as it was trained with, and all for one from a file.
 * Results do not depend on it. */
EASE_API EASE_MUST_USE ease_status ease_model_set_threads(ease_model *m, int threads,
                                                          ease_error *err);

/* Opens the model file at `path`. Weights of up to 16 MiB are read and verified here.
 * Larger ones are mapped into memory, and each MiB of them is verified against its
 * checksum before its first use: no result comes from damaged weights, but any call
 * that uses weights may fail with EASE_E_FORMAT.
 *
 * While the model is open its file may be renamed, removed or replaced by another file.
 * If it is modified in place, calls that use its weights fail with EASE_E_FORMAT from
 * then on. For a file that is truncated during a call see ease_handle_fault().
 *
 * Fails with EASE_E_IO, EASE_E_FORMAT, EASE_E_VERSION or EASE_E_NOMEM. */
/* When the weights of a file are verified against their checksums. The rest of the
 * file, such as the header and the ids, is always verified when it is opened. */
typedef enum ease_verify {
    EASE_VERIFY_USE,  /* each MiB before its first use: the default */
    EASE_VERIFY_OPEN, /* all of them when the file is opened */
    EASE_VERIFY_NEVER /* not at all; column numbers of sparse rows are range-checked */
} ease_verify;

typedef struct ease_open_options {
    size_t size;
    ease_verify verify;
    const ease_hooks *hooks; /* for EASE_VERIFY_OPEN; NULL: none */
} ease_open_options;

EASE_API EASE_MUST_USE ease_status ease_model_open(const char *path,
                                                   const ease_open_options *o,
                                                   ease_model **out, ease_error *err);

/* To be called by a program's handler of SIGBUS, which the kernel sends if a page of a
 * mapped file cannot be read because the file was truncated or its disk failed. The
 * library itself installs no signal handlers. If `address` (si_addr) lies in a mapped
 * model file, maps zeros in place of the lost pages and returns 1: the handler should
 * then return, and the interrupted call of the library goes on and fails with
 * EASE_E_FORMAT or EASE_E_IO. Otherwise returns 0: the fault has another cause.
 * Async-signal-safe. Up to 256 mapped sections are known at a time. */
EASE_API int ease_handle_fault(const void *address);

/* Titles for display, from a table with an id and a title column, in UTF-8 or
 * Latin-1; the id column is the one whose values match most items. `matched` may
 * be NULL. They are saved with the model. Fails as ease_interactions_read does; the
 * memory limit is the memory that is available. */
EASE_API EASE_MUST_USE ease_status ease_model_read_titles(ease_model *m,
                                                          const char *path,
                                                          int32_t *matched,
                                                          ease_error *err);

/* The same from memory: one for each item in UTF-8, NULL or "" for none. */
EASE_API EASE_MUST_USE ease_status ease_model_set_titles(ease_model *m,
                                                         const char *const *titles,
                                                         ease_error *err);

EASE_API void ease_model_describe(const ease_model *m, ease_model_info *info);
EASE_API int32_t ease_model_items(const ease_model *m);
EASE_API const ease_method_info *ease_model_method(const ease_model *m);
EASE_API int32_t ease_model_find(const ease_model *m,
                                 const char *item_id); /* or EASE_NO_ITEM */
EASE_API const char *ease_model_item_id(const ease_model *m, int32_t item);
EASE_API const char *ease_model_title(const ease_model *m,
                                      int32_t item); /* NULL if none */
/* Of a method for known users (others know none): the number of a user, or
 * EASE_NO_USER, and what that user had in the training data. */
EASE_API int64_t ease_model_find_user(const ease_model *m, const char *user_id);
EASE_API ease_row ease_model_history(const ease_model *m, int64_t user);
EASE_API double ease_model_popularity(const ease_model *m,
                                      int32_t item); /* its column sum */
EASE_API float ease_model_base(const ease_model *m, int32_t item);
/* Row `item` of B: what this item adds to the score of each item. `out` has `items`
 * floats, and becomes all NaN if `item` is out of range. Fails with EASE_E_FORMAT or
 * EASE_E_IO if the model's file is damaged or cannot be read. */
EASE_API EASE_MUST_USE ease_status ease_model_row(const ease_model *m, int32_t item,
                                                  float *out, ease_error *err);
/* Gives direct access to B in a model file with float32 rows: row i begins at byte i x
 * *stride of *rows, which is borrowed. In any other storage, and for a model that was
 * not opened from a file, *rows becomes NULL. All weights are verified by this call.
 * Later changes of the file are not noticed by readers of *rows, and
 * ease_handle_fault() returns 0 for this model from then on: the caller must see to it
 * that the file is not modified. Fails with EASE_E_FORMAT or EASE_E_IO. */
EASE_API EASE_MUST_USE ease_status ease_model_rows(const ease_model *m,
                                                   const float **rows, size_t *stride,
                                                   ease_error *err);
EASE_API void ease_model_free(ease_model *m);

/* B in the forms that others read, by the ending of `path`: .npy (float32, rows are
 * inputs), else rows item,item,weight as CSV or (.tsv) tab-separated; "-" is
 * standard output. top > 0 keeps the `top` largest weights by magnitude of each
 * row, and only zeros are left out otherwise; .npy is always whole. Fails with
 * EASE_E_ARG for a model without weights, as ease_similar and the summary do, and with
 * EASE_E_DATA for tab-separated rows if an id has a tab or line break. */
EASE_API EASE_MUST_USE ease_status ease_model_export(const ease_model *m,
                                                     const char *path, int32_t top,
                                                     const ease_hooks *hooks,
                                                     ease_error *err);
/* The ids of the items, one a line, in the order of the rows; whole or not at all ("-"
 * is standard output). Fails with EASE_E_DATA if an id has a line break. */
EASE_API EASE_MUST_USE ease_status ease_model_write_ids(const ease_model *m,
                                                        const char *path,
                                                        ease_error *err);

/* ---- histories ------------------------------------------------------------- */

typedef struct ease_history ease_history;

/* A history from ids, in any order, for the calls that take a row. An id that is given
 * again counts once; with `weights` (one for each id; NULL: all ones) its weights add
 * up. Ids that the model does not know are counted and left out. Fails with EASE_E_ARG
 * for a weight that is not finite, EASE_E_NOMEM. */
EASE_API EASE_MUST_USE ease_status ease_history_new(const ease_model *m,
                                                    const char *const *ids,
                                                    const float *weights, int64_t count,
                                                    ease_history **out,
                                                    ease_error *err);
EASE_API ease_row ease_history_row(const ease_history *h);
EASE_API int64_t ease_history_unknown(const ease_history *h);
EASE_API void ease_history_free(ease_history *h);

/* ---- recommending ---------------------------------------------------------- */

typedef struct ease_scorer ease_scorer; /* a model and scratch for one thread */

typedef struct ease_rec {
    int32_t item;
    float score;
} ease_rec;

typedef struct ease_recommend_options {
    size_t size;
    int32_t k;              /* 10 */
    int keep_seen;          /* nonzero: items of the history may be recommended */
    const uint8_t *allowed; /* a byte an item, nonzero: may be recommended; NULL: all */
    /* For a method of known users: who has each history, by ease_model_find_user; the
     * history only says what is not to be recommended. Others look at histories
     * alone. */
    const int64_t *users;
    int threads;             /* ease_recommend_many: 0: all */
    const ease_hooks *hooks; /* ease_recommend_many */
} ease_recommend_options;

EASE_API EASE_MUST_USE ease_status ease_scorer_new(const ease_model *m,
                                                   ease_scorer **out, ease_error *err);

/* The k best items for a history, best first; ties go to the smaller item number.
 * `recs` has space for k items; *count is how many there are. An empty history gets the
 * popular items, scored by their share of users, but for a known user. Fails with
 * EASE_E_ARG, EASE_E_DATA for a user that a method of known users does not know,
 * EASE_E_FORMAT or EASE_E_IO if the model's file is damaged or cannot be read; the
 * contents of `recs` are then undefined. */
EASE_API EASE_MUST_USE ease_status ease_recommend(ease_scorer *s, ease_row history,
                                                  const ease_recommend_options *o,
                                                  ease_rec *recs, int32_t *count,
                                                  ease_error *err);

/* The same for many histories, in parallel: recs is count x k, counts has a number
 * for each history. Both are scratch if it fails or is cancelled. */
EASE_API EASE_MUST_USE ease_status ease_recommend_many(
    const ease_model *m, const ease_row *histories, int64_t count,
    const ease_recommend_options *o, ease_rec *recs, int32_t *counts, ease_error *err);

/* The items most like `item`: by the partial correlation -P_ij / sqrt(P_ii P_jj),
 * which is symmetric and within -1 .. 1; in sparse models by the weight itself, in
 * latent ones by the cosine of the items' numbers. */
EASE_API EASE_MUST_USE ease_status ease_similar(ease_scorer *s, int32_t item,
                                                const ease_recommend_options *o,
                                                ease_rec *recs, int32_t *count,
                                                ease_error *err);

/* Why `item` has its score: reasons[i] is history item i with its contribution, in
 * the order of the history, as many as it has. *base is what the score has without
 * any history (0 for counts). base + contributions, added in this order in float,
 * are the score that ease_recommend shows. Fails with EASE_E_ARG for a latent model,
 * whose scores are no such sum. */
EASE_API EASE_MUST_USE ease_status ease_explain(ease_scorer *s, ease_row history,
                                                int32_t item, ease_rec *reasons,
                                                float *base, float *score,
                                                ease_error *err);
EASE_API void ease_scorer_free(ease_scorer *s);

/* The same users with the model's item numbers: items are matched by id, and what the
 * model does not know is dropped. `unknown` (may be NULL) receives how many
 * interactions that were. */
EASE_API EASE_MUST_USE ease_status ease_interactions_align(const ease_interactions *x,
                                                           const ease_model *m,
                                                           ease_interactions **out,
                                                           int64_t *unknown,
                                                           ease_error *err);

/* ---- evaluating ------------------------------------------------------------- */

typedef struct ease_report ease_report;

typedef struct ease_eval_options {
    size_t size;
    const char *metrics;  /* "recall@20,recall@50,ndcg@100", the default: NAME@K, ... */
    ease_unknown unknown; /* default MISS */
    int threads;          /* 0: all */
    const ease_hooks *hooks; /* NULL: none */
} ease_eval_options;

typedef struct ease_report_info {
    size_t size;
    int64_t users;           /* that the means are over */
    int64_t without_target;  /* users left out: nothing was held out */
    int64_t without_input;   /* users with an empty history, or for a method of known
                                users none in training: they got popular items */
    int64_t unknown_targets; /* interactions of the target with unknown items */
    int64_t unknown_inputs;  /* interactions of the input with unknown items: ignored */
    ease_unknown unknown;    /* how unknown items of the target were counted */
    int metrics;
} ease_report_info;

/* The standard error is std / sqrt(users), NaN for a measure of all lists together. */
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

/* Metrics from 0 on, and by name, "recall" or "recall@20"; NULL: there is none. */
EASE_API const ease_metric_info *ease_metric_at(int index);
EASE_API const ease_metric_info *ease_metric_find(const char *name);
/* Whether there are such metrics, before there is anything to measure. */
EASE_API EASE_MUST_USE ease_status ease_eval_options_check(const ease_eval_options *o,
                                                           ease_error *err);

/* Ranks the whole catalog for every user of `target` from that user's row of `input`
 * (users are matched by id, items by id with the model's), without the items of the
 * input, and measures where the target's items are, by the metrics of ease_metric_at.
 * Most have a value for each user, a few only one for all lists together.
 *
 * Unknown items of the target, those that do not occur in the model's training data,
 * count as misses: they are part of the number held out in every metric and of the
 * ideal DCG, and a user with only such items scores 0. With EASE_UNKNOWN_DROP these
 * items and these users are left out instead. Unknown items of the input are ignored.
 * The log says how many there are of both (level 1).
 *
 * Fails with EASE_E_DATA if the model knows none of the held-out items, EASE_E_FORMAT
 * or EASE_E_IO if its file is damaged or cannot be read, EASE_E_ARG, EASE_E_NOMEM,
 * EASE_E_CANCELLED. */
EASE_API EASE_MUST_USE ease_status ease_evaluate(const ease_model *m,
                                                 const ease_interactions *input,
                                                 const ease_interactions *target,
                                                 const ease_eval_options *o,
                                                 ease_report **out, ease_error *err);
EASE_API void ease_report_describe(const ease_report *r, ease_report_info *info);
EASE_API int64_t ease_report_users(const ease_report *r);
EASE_API int ease_report_metrics(const ease_report *r); /* how many there are */
EASE_API void ease_report_metric(const ease_report *r, int metric, ease_metric *out);
/* By user, in the order of the target; NaN for a measure of all lists together. */
EASE_API double ease_report_value(const ease_report *r, int metric, int64_t user);
EASE_API const char *ease_report_user_id(const ease_report *r, int64_t user);
/* How often each of the model's items is among the best K, the largest K of all. */
EASE_API const int64_t *ease_report_times(const ease_report *r, int32_t *k);
/* The users' values as CSV, whole or not at all ("-" is standard output): a column user
 * and one for each metric that has such values. */
EASE_API EASE_MUST_USE ease_status ease_report_write(const ease_report *r,
                                                     const char *path, ease_error *err);
EASE_API void ease_report_free(ease_report *r);

/* ---- comparing ---------------------------------------------------------------- */

/* A model against the first, over the same users: the paired t test. */
typedef struct ease_difference {
    double mean, standard_error; /* of the users' differences */
    double low, high;            /* 95 % interval of the mean */
    double p;                    /* two-sided, for this pair alone */
    double p_holm;               /* corrected for all pairs (Holm) */
} ease_difference;

/* reports[0] is what the others are compared with, on one metric of theirs all (by
 * number, one with a value for each user). out has count - 1 entries. Fails with
 * EASE_E_ARG if the reports are not of the same users in the same order, or differ in
 * how they count unknown items. */
EASE_API EASE_MUST_USE ease_status ease_compare(const ease_report *const *reports,
                                                int count, int metric,
                                                ease_difference *out, ease_error *err);

/* ---- tuning ------------------------------------------------------------------ */

typedef struct ease_tuning ease_tuning;

typedef struct ease_trial {
    size_t size;
    double lambda;               /* 0: the method has none */
    const char *settings;        /* what was tried, "" for EASE; the tuning's own */
    double mean, standard_error; /* of the metric */
    double seconds;              /* to train and to measure */
} ease_trial;

typedef struct ease_tune_options {
    size_t size;
    const ease_train_options
        *train;            /* the method to tune; the settings in it are fixed,
                                        its lambda, metric and unknown are ignored;
                                        NULL: the defaults, which are EASE */
    const double *lambdas; /* methods with a lambda: a grid of `count`; NULL: search */
    int count;
    ease_unknown unknown; /* among the validation targets; default MISS */
    const char *grid;     /* others: "rank=64|128"; NULL: the method's own */
    const char *metric;   /* one of ease_evaluate's, of users; "ndcg@100" */
    double seconds;       /* no trial begins that would end later; 0: any time */
} ease_tune_options;

/* Whether they can be used, before there is anything to tune on. */
EASE_API EASE_MUST_USE ease_status ease_tune_options_check(const ease_tune_options *o,
                                                           ease_error *err);

/* Tries lambdas, or settings, on validation users: trains on x, measures as
 * ease_evaluate does. The best has the highest value, or the lowest where that is
 * better (see ease_metric_info). Each trial is logged (level 2). If tuning is
 * cancelled or runs out of time after at least one trial, what was tried so far is the
 * result.
 *
 * EASE: the Gram matrix is built once; beside it one more of its size is needed. The
 * search brackets the best by decades of lambda from 100 on, then halves its steps down
 * to an eighth of a decade; its lambdas have three digits. A lambda too small to be
 * solved with is left out (level 1).
 *
 * Others: every point of the grid, without the settings that train.settings fixes. What
 * is trained by epochs takes the best of them by the metric, which then is part of the
 * trial's settings. A point that these data cannot be trained with is left out (level
 * 1). One model is kept, the best so far, which counts as memory in use. */
EASE_API EASE_MUST_USE ease_status ease_tune(const ease_interactions *x,
                                             const ease_interactions *input,
                                             const ease_interactions *target,
                                             const ease_tune_options *o,
                                             ease_tuning **out, ease_error *err);
EASE_API int ease_tuning_count(const ease_tuning *t);
/* Trials in the order of lambda, or of the grid (the last setting changes fastest);
 * ease_tuning_best says which is best: the highest mean, of equal ones the largest
 * lambda or the first point. A method trained with the settings of a trial, on the same
 * data, gives its model again. */
EASE_API void ease_tuning_trial(const ease_tuning *t, int trial, ease_trial *out);
EASE_API int ease_tuning_best(const ease_tuning *t);
EASE_API int ease_tuning_stopped(const ease_tuning *t); /* 1: before it was done */
/* The number of interactions of the validation target with unknown items. */
EASE_API int64_t ease_tuning_unknown_targets(const ease_tuning *t);
/* The model of the best trial, which is used up: of the best lambda it is made from the
 * Gram matrix at hand, by the backend of the training options, whose name must still be
 * there. */
EASE_API EASE_MUST_USE ease_status ease_tuning_train(ease_tuning *t,
                                                     const ease_hooks *hooks,
                                                     ease_model **out, ease_error *err);
/* Frees what the model would be made from, where none is wanted; the trials stay. */
EASE_API void ease_tuning_forget(ease_tuning *t);
EASE_API void ease_tuning_free(ease_tuning *t);

/* ---- the machine ------------------------------------------------------------- */

/* What this process may still allocate without swapping or being killed: the
 * machine's available memory, or less where a control group or resource limit
 * says so. 0 if unknown. */
EASE_API size_t ease_memory_available(void);

/* The BLAS that is loaded. All members are static. */
typedef struct ease_blas_info {
    size_t size;
    const char *name; /* its version and build, in words */
    const char *core; /* whose kernels it chose for this processor, such as "Haswell" */
    /* NULL, or where OpenBLAS does not know the processor what OPENBLAS_CORETYPE should
     * be in the environment before the program starts: solving is then several times
     * faster. The program `ease` sees to that itself. */
    const char *better;
} ease_blas_info;

EASE_API void ease_blas_describe(ease_blas_info *info);

/* Flops a second of products of n x n matrices (2 n^3 flops each), by all threads at
 * once, each with matrices of its own, as the solver uses BLAS; for so many seconds, at
 * least one product a thread. n^3 over the seconds of a solve is to be held against
 * it. Fails with EASE_E_NOMEM, EASE_E_ARG. */
EASE_API EASE_MUST_USE ease_status ease_measure_product(int32_t n,
                                                        ease_precision precision,
                                                        int threads, double seconds,
                                                        double *flops_a_second,
                                                        ease_error *err);
/* The same of copying so many bytes from memory to memory, all threads together; a byte
 * that is read and written counts once. */
EASE_API EASE_MUST_USE ease_status ease_measure_copy(size_t bytes, int threads,
                                                     double seconds,
                                                     double *bytes_a_second,
                                                     ease_error *err);

/* ---- figures ------------------------------------------------------------------ */

/* SVG files, whole or not at all ("-" is standard output): readable on paper and, by
 * the viewer's colour scheme, on a dark page; the same bytes for the same data. Names
 * may hold any bytes. */

/* Checks the path of a figure: it is "-", has no suffix, or ends in .svg. Fails with
 * EASE_E_ARG for any other suffix, such as .png; so do the functions below. */
EASE_API EASE_MUST_USE ease_status ease_plot_check(const char *path, ease_error *err);

enum { EASE_WEIGHT_QUANTILES = 7 };

/* Of the weights off the diagonal. All is 0 where there are none (one item). */
typedef struct ease_weight_summary {
    size_t size;
    int64_t count;         /* items x (items - 1) */
    double negative, zero; /* shares of them, 0 .. 1; zero: exactly */
    double smallest, largest, mean;
    /* 0.1, 1, 10, 50, 90, 99 and 99.9 %, each to a relative 0.1 %. */
    double quantile[EASE_WEIGHT_QUANTILES];
} ease_weight_summary;

/* Reads the weights once, row by row. Fails with EASE_E_FORMAT on a weight that is not
 * a finite number, EASE_E_CANCELLED, EASE_E_NOMEM. */
EASE_API EASE_MUST_USE ease_status
ease_model_summarize_weights(const ease_model *m, ease_weight_summary *out,
                             const ease_hooks *hooks, ease_error *err);

/* The histogram of the weights, on a logarithmic scale of counts, with their summary.
 * Reads them twice. `summary` may be NULL. */
EASE_API EASE_MUST_USE ease_status ease_plot_weights(const ease_model *m,
                                                     const char *path,
                                                     ease_weight_summary *summary,
                                                     const ease_hooks *hooks,
                                                     ease_error *err);

/* The long tail: how often each item is in a list of the best k, items sorted by that,
 * a line for each of 1 to 8 models. times[m] has a count for each item, as
 * ease_report_times gives it. */
EASE_API EASE_MUST_USE ease_status ease_plot_longtail(const int64_t *const *times,
                                                      const char *const *names,
                                                      int models, int32_t items,
                                                      int32_t k, const char *path,
                                                      ease_error *err);

/* A metric against lambda, with its standard errors (NULL, or NaN: none) and the
 * largest mean marked. In any order; lambda is from 1e-100 to 1e100. */
EASE_API EASE_MUST_USE ease_status ease_plot_lambda(const double *lambda,
                                                    const double *mean,
                                                    const double *standard_error,
                                                    int count, const char *metric,
                                                    const char *path, ease_error *err);

/* ---- initializing options ------------------------------------------------------- */

/* ease_X_options_init() sets the size, as this header has it, and the defaults;
 * ease_X_options_defaults() sets the defaults of as many members as `size` has. */

EASE_API void ease_read_options_defaults(ease_read_options *o);
EASE_API void ease_synth_options_defaults(ease_synth_options *o);
EASE_API void ease_split_options_defaults(ease_split_options *o);
EASE_API void ease_train_options_defaults(ease_train_options *o);
EASE_API void ease_gram_options_defaults(ease_gram_options *o);
EASE_API void ease_open_options_defaults(ease_open_options *o);
EASE_API void ease_recommend_options_defaults(ease_recommend_options *o);
EASE_API void ease_eval_options_defaults(ease_eval_options *o);
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

static inline void ease_tune_options_init(ease_tune_options *o)
{
    o->size = sizeof(*o);
    ease_tune_options_defaults(o);
}

#ifdef __cplusplus
}
#endif
#endif /* EASE_H */
