/* Benchmarks of the parts of the library, each with a limit of the machine. */
#ifndef EASE_CLI_SHARED_BENCHING_H
#define EASE_CLI_SHARED_BENCHING_H

#include "options.h"
#include "results.h"

#define BENCH_PARTS(X) \
    X(sgemm)           \
    X(copy)            \
    X(read)            \
    X(gram)            \
    X(solve)           \
    X(write)           \
    X(recommend)       \
    X(update)          \
    X(leave)

typedef enum bench_part {
#define X(name) BENCH_##name,
    BENCH_PARTS(X)
#undef X
        BENCH_COUNT
} bench_part;

extern const char *const bench_part_names[BENCH_COUNT];

enum { RUNS_MOST = 20, FACTS_MOST = 8, RECORDS_MOST = 13, GROWTH_SIZES = 4 };

typedef struct bench_fact {
    char key[20];
    double value;
} bench_fact;

/* The runs of one part. Rates are those of the best run, of the part and of its
 * limit: that is the least disturbed one. For the solve, which is long, they are
 * medians: its own, and that of sgemm around it. */
typedef struct bench_record {
    char name[16];
    const char *unit; /* the unit of work: "lines", "flop", ... */
    double amount;    /* units in a run */
    double seconds[RUNS_MOST];
    int runs;
    double rate;       /* units per second */
    const char *limit; /* name of the limit, in the same unit; may be NULL */
    double limit_rate;
    bench_fact facts[FACTS_MOST];
    int fact_count;
} bench_record;

/* Seconds by size, and the exponent that fits them best. */
typedef struct bench_growth {
    const char *name, *unit;
    double size[GROWTH_SIZES], seconds[GROWTH_SIZES];
    double exponent;
} bench_growth;

typedef struct bench {
    console *console;
    const common_args *common;
    const char *data;    /* a file as for train; NULL: synthetic data of these sizes */
    const char *columns; /* columns of the file; NULL: recognized */
    const char *backend; /* that solves; NULL: the default */
    int64_t users, items, interactions;
    int repeat, threads;
    bool quick;
    bool wanted[BENCH_COUNT];
    const char *dir; /* for temporary files */
    char *work;      /* a new directory in it */

    ease_interactions *x;
    ease_model *model;  /* the solved model */
    double sgemm, copy; /* the best of the run; 0: not measured */
    double sgemm_by_edge[FACTS_MOST];
    double beside[2 * RUNS_MOST]; /* sgemm before and after each solve */
    int beside_count;
    bench_record records[RECORDS_MOST];
    int record_count;
    bench_growth growth[2];
    int growth_count;
} bench;

/* Run the benchmark, or the growth part of it. Return 0, or an exit code after a
 * message; the records are kept. */
int bench_run(bench *b);
int bench_grow(bench *b);
/* Frees files and data, but not the records. */
void bench_clean(bench *b);

double bench_median(const bench_record *r);

/* ---- shared between the files of the benchmark -------------------------------- */

/* A new record, its facts, and its runs, which must each be noted. */
bench_record *bench_record_new(bench *b, const char *name, const char *unit,
                               double amount);
void bench_record_fact(bench_record *r, const char *key, double value);
void bench_record_run(bench_record *r, double seconds);

int bench_make_work(bench *b);
int bench_draw(const bench *b, int64_t users, int64_t items, int64_t interactions,
               ease_interactions **out);
/* Sets the path of the data as a file: written by us, or the one it was read from. */
int bench_data_file(const bench *b, const ease_interactions *x, char **path);
int bench_read_once(const bench *b, const char *path, double *seconds);
/* Builds a Gram matrix and solves it; only the solve is timed. The peak of memory is
 * that of the solve, without the data. */
int bench_solve_once(const bench *b, const ease_interactions *x, ease_model **out,
                     double *seconds, double *bytes);
/* Solves the data once if there is no model yet. */
int bench_need_model(bench *b);
/* Makes lists for all users of the data. */
int bench_list_once(const bench *b, const ease_model *m, double *seconds);
/* The parts that need a model that can be updated, in benchupdate.c. */
int bench_run_update(bench *b);
int bench_run_leave(bench *b);

/* A value of /proc/self/status such as "VmRSS:", in bytes; NaN if there is none. */
double bench_memory(const char *key);
/* Resets the peak VmHWM. False: the kernel does not allow that. */
bool bench_forget_peak(void);
/* Writes `bytes` bytes to the disk and syncs: the least time that a file of this
 * size takes. */
int bench_write_raw(const bench *b, const char *path, size_t bytes, double *seconds);

#endif
