/* Measuring the parts of the library, each against a limit of the machine. */
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
    X(recommend)

typedef enum bench_part {
#define X(name) BENCH_##name,
    BENCH_PARTS(X)
#undef X
        BENCH_COUNT
} bench_part;

extern const char *const bench_part_names[BENCH_COUNT];

enum { RUNS_MOST = 20, FACTS_MOST = 8, RECORDS_MOST = 10, GROWTH_SIZES = 4 };

typedef struct bench_fact {
    char key[20];
    double value;
} bench_fact;

/* What one part did, so often. Rates are those of the best run: the machine least
 * disturbed, for the limit as for the part. Of the solve, which is too long to have
 * luck, medians: its own, and sgemm's around it. */
typedef struct bench_record {
    char name[16];
    const char *unit; /* what is counted: "lines", "flop", ... */
    double amount;    /* of them, in a run */
    double seconds[RUNS_MOST];
    int runs;
    double rate; /* units a second */
    const char
        *limit; /* what the rate is held against, in the same unit; may be NULL */
    double limit_rate;
    bench_fact facts[FACTS_MOST];
    int fact_count;
} bench_record;

/* Seconds against size, and the exponent that fits them best. */
typedef struct bench_growth {
    const char *name, *unit;
    double size[GROWTH_SIZES], seconds[GROWTH_SIZES];
    double exponent;
} bench_growth;

typedef struct bench {
    console *console;
    const common_args *common;
    const char *data;    /* a file as for train; NULL: synthetic, of these sizes */
    const char *columns; /* of it; NULL: recognized */
    const char *backend; /* that solves; NULL: the default */
    int64_t users, items, interactions;
    int repeat, threads;
    bool quick;
    bool wanted[BENCH_COUNT];
    const char *dir; /* for files while it runs */
    char *work;      /* a directory in it, of our own */

    ease_interactions *x;
    ease_model *model;  /* as it was solved */
    double sgemm, copy; /* the best of the run; 0: not measured */
    double sgemm_by_edge[FACTS_MOST];
    double beside[2 * RUNS_MOST]; /* sgemm before and after each solve */
    int beside_count;
    bench_record records[RECORDS_MOST];
    int record_count;
    bench_growth growth[2];
    int growth_count;
} bench;

/* Both give 0 or an exit code after a message; the records stay. */
int bench_run(bench *b);
int bench_grow(bench *b);
/* Its files and data, not the records. */
void bench_clean(bench *b);

double bench_median(const bench_record *r);

/* ---- between its files ------------------------------------------------------------- */

int bench_make_work(bench *b);
int bench_draw(const bench *b, int64_t users, int64_t items, int64_t interactions,
               ease_interactions **out);
/* The data as a file of ours, or the file it came from. */
int bench_data_file(const bench *b, const ease_interactions *x, char **path);
int bench_read_once(const bench *b, const char *path, double *seconds);
/* One Gram matrix, built and then solved, of which only the solving is timed; the peak
 * of memory is that of solving, without the data. */
int bench_solve_once(const bench *b, const ease_interactions *x, ease_model **out,
                     double *seconds, double *bytes);

/* A line of /proc/self/status such as "VmRSS:", in bytes; NaN where there is none. */
double bench_memory(const char *key);
/* The peak, VmHWM, begins anew. False: the kernel does not let us. */
bool bench_forget_peak(void);
/* So many bytes to the disk and no more: what a file of that size takes at least. */
int bench_write_raw(const bench *b, const char *path, size_t bytes, double *seconds);

#endif
