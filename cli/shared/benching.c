#include "benching.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"

const char *const bench_part_names[BENCH_COUNT] = {
#define X(name) #name,
    BENCH_PARTS(X)
#undef X
};

#define LAMBDA 100.0 /* any value: time does not depend on it */

/* ---- records ------------------------------------------------------------------ */

bench_record *bench_record_new(bench *b, const char *name, const char *unit,
                               double amount)
{
    bench_record *r = &b->records[b->record_count++];

    *r = (bench_record){.unit = unit, .amount = amount};
    snprintf(r->name, sizeof(r->name), "%s", name);
    return r;
}

void bench_record_fact(bench_record *r, const char *key, double value)
{
    bench_fact *f = &r->facts[r->fact_count++];

    snprintf(f->key, sizeof(f->key), "%s", key);
    f->value = value;
}

void bench_record_run(bench_record *r, double seconds)
{
    r->seconds[r->runs++] = seconds;
    if (r->amount / seconds > r->rate)
        r->rate = r->amount / seconds;
}

static int compare_reals(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double median(const double *values, int count)
{
    double sorted[2 * RUNS_MOST];

    if (count == 0)
        return NAN;
    memcpy(sorted, values, (size_t)count * sizeof(*sorted));
    qsort(sorted, (size_t)count, sizeof(*sorted), compare_reals);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

double bench_median(const bench_record *r)
{
    return median(r->seconds, r->runs);
}

/* ---- files and data ----------------------------------------------------------- */

static char *path_in(const bench *b, const char *name)
{
    char *path;

    return asprintf(&path, "%s/%s", b->work, name) < 0 ? NULL : path;
}

int bench_make_work(bench *b)
{
    if (asprintf(&b->work, "%s/ease-bench-XXXXXX", b->dir) < 0) {
        b->work = NULL;
        return fail_no_memory(b->console);
    }
    if (mkdtemp(b->work))
        return EXIT_DONE;
    fail(b->console, EXIT_FAILED, "%s: cannot make a directory: %s", b->work,
         strerror(errno));
    free(b->work);
    b->work = NULL;
    return EXIT_FAILED;
}

void bench_clean(bench *b)
{
    static const char *const names[] = {"data.csv", "model.ease", "raw"};

    for (size_t i = 0; b->work && i < sizeof(names) / sizeof(names[0]); i++) {
        char *path = path_in(b, names[i]);

        if (path)
            unlink(path);
        free(path);
    }
    if (b->work)
        rmdir(b->work);
    free(b->work);
    b->work = NULL;
    ease_interactions_free(b->x);
    ease_model_free(b->model);
    b->x = NULL;
    b->model = NULL;
}

int bench_draw(const bench *b, int64_t users, int64_t items, int64_t interactions,
               ease_interactions **out)
{
    ease_synth_options o;
    ease_error err;

    ease_synth_options_init(&o);
    o.users = users;
    o.items = (int32_t)items;
    o.interactions = interactions;
    o.threads = (int)b->common->threads;
    o.seed = 1;
    o.hooks = console_hooks(b->console);
    return ease_interactions_synth(&o, out, &err) ? fail_with(b->console, &err)
                                                  : EXIT_DONE;
}

static ease_read_options reading(const bench *b)
{
    ease_read_options o;

    ease_read_options_init(&o);
    o.columns = b->columns;
    o.columns_option = "--columns ";
    o.threads = (int)b->common->threads;
    o.hooks = console_hooks(b->console);
    return o;
}

static ease_train_options training(const bench *b)
{
    ease_train_options o;

    ease_train_options_init(&o);
    o.lambda = LAMBDA;
    o.backend = b->backend;
    o.threads = (int)b->common->threads;
    o.updatable = b->wanted[BENCH_update] || b->wanted[BENCH_leave];
    o.hooks = console_hooks(b->console);
    return o;
}

static ease_gram_options counting(const bench *b)
{
    ease_gram_options o;

    ease_gram_options_init(&o);
    o.threads = (int)b->common->threads;
    o.hooks = console_hooks(b->console);
    return o;
}

/* Reads or makes the data of the benchmark, and sets its sizes. */
static int need_data(bench *b)
{
    ease_read_options o = reading(b);
    ease_interactions_info info = {.size = sizeof(info)};
    ease_error err;
    int code = EXIT_DONE;

    if (b->x)
        return EXIT_DONE;
    if (!b->data)
        code = bench_draw(b, b->users, b->items, b->interactions, &b->x);
    else if (ease_interactions_read(b->data, &o, &b->x, &err))
        code = fail_with(b->console, &err);
    if (!code)
        code = check_guess(b->console, b->x);
    if (code)
        return code;
    ease_interactions_describe(b->x, &info);
    b->users = info.users;
    b->items = info.items;
    b->interactions = info.interactions;
    return EXIT_DONE;
}

/* ---- the machine's limits ----------------------------------------------------- */

/* Sizes of the products; the best rate is the limit. */
static const int32_t edges[] = {512, 896, 1024, 2048, 4096};
enum { EDGES = sizeof(edges) / sizeof(edges[0]) };

static int measure_edge(bench *b, int edge, double seconds, double *rate)
{
    double *best = &b->sgemm_by_edge[edge];
    ease_error err;

    if (ease_measure_product(edges[edge], EASE_F32, (int)b->common->threads, seconds,
                             rate, &err))
        return fail_with(b->console, &err);
    phase_end(b->console, "sgemm");
    if (*rate > *best)
        *best = *rate;
    if (*rate > b->sgemm)
        b->sgemm = *rate;
    return signals_caught() ? fail_interrupted(b->console) : EXIT_DONE;
}

static int measure_sgemm(bench *b)
{
    int count = b->quick ? EDGES - 2 : EDGES, code = EXIT_DONE;
    double rate;

    bench_record_new(b, "sgemm", "flop", NAN);
    for (int i = 0; !code && i < count * b->repeat; i++)
        code = measure_edge(b, i % count, b->quick ? 0.05 : 0.5, &rate);
    return code;
}

/* Measures the best size again, since the speed of a machine varies. */
static int measure_sgemm_again(bench *b)
{
    int best = 0;

    if (!b->wanted[BENCH_sgemm])
        return EXIT_DONE;
    for (int i = 1; i < EDGES; i++)
        if (b->sgemm_by_edge[i] > b->sgemm_by_edge[best])
            best = i;
    return measure_edge(b, best, b->quick ? 0.05 : 3.0, &b->beside[b->beside_count++]);
}

/* Fills in the first record last: its figure is the best of the whole run. */
static void record_sgemm(bench *b)
{
    bench_record *r = &b->records[0];

    r->rate = b->sgemm;
    for (int i = 0; i < EDGES; i++) {
        char key[20];

        if (b->sgemm_by_edge[i] == b->sgemm)
            bench_record_fact(r, "edge", edges[i]);
        snprintf(key, sizeof(key), "rate_%d", (int)edges[i]);
        if (b->sgemm_by_edge[i] > 0)
            bench_record_fact(r, key, b->sgemm_by_edge[i]);
    }
}

static int run_copy(bench *b)
{
    enum { COPIED = 1 << 28 };
    bench_record *r = bench_record_new(b, "copy", "B", NAN);
    ease_error err;

    for (int i = 0; i < b->repeat; i++) {
        double rate;

        if (ease_measure_copy(COPIED, (int)b->common->threads, b->quick ? 0.05 : 0.5,
                              &rate, &err))
            return fail_with(b->console, &err);
        if (rate > b->copy)
            b->copy = rate;
    }
    phase_end(b->console, "copy");
    r->rate = b->copy;
    return EXIT_DONE;
}

static void hold_against_copy(const bench *b, bench_record *r)
{
    if (b->copy > 0) {
        r->limit = "copy";
        r->limit_rate = b->copy;
    }
}

/* ---- parts -------------------------------------------------------------------- */

int bench_read_once(const bench *b, const char *path, double *seconds)
{
    ease_read_options o = reading(b);
    ease_interactions *x = NULL;
    double began = seconds_now();
    ease_error err;

    if (ease_interactions_read(path, &o, &x, &err))
        return fail_with(b->console, &err);
    *seconds = seconds_now() - began;
    phase_end(b->console, "reading");
    ease_interactions_free(x);
    return EXIT_DONE;
}

int bench_data_file(const bench *b, const ease_interactions *x, char **path)
{
    const ease_hooks *hooks = console_hooks(b->console);
    ease_error err;

    *path = b->data ? strdup(b->data) : path_in(b, "data.csv");
    if (!*path)
        return fail_no_memory(b->console);
    if (!b->data && ease_interactions_write(x, *path, hooks, &err))
        return fail_with(b->console, &err);
    phase_end(b->console, "writing the data");
    return EXIT_DONE;
}

static int run_read(bench *b)
{
    bench_record *r = bench_record_new(b, "read", "lines", 0);
    ease_interactions_info info = {.size = sizeof(info)};
    double seconds = 0;
    char *path = NULL;
    int code = bench_data_file(b, b->x, &path);

    ease_interactions_describe(b->x, &info);
    r->amount = (double)(b->data ? info.rows : b->interactions);
    for (int i = 0; !code && i < b->repeat; i++) {
        code = bench_read_once(b, path, &seconds);
        if (!code)
            bench_record_run(r, seconds);
    }
    if (!code) {
        double bytes = (double)file_bytes(path);

        bench_record_fact(r, "bytes", bytes);
        bench_record_fact(r, "bytes_a_second", bytes * r->rate / r->amount);
    }
    free(path);
    return code;
}

/* The number of pairs of items of all users, including each item with itself, which
 * X'X counts. */
static double count_pairs(const bench *b)
{
    double pairs = 0;

    for (int64_t u = 0; u < b->users; u++) {
        double count = ease_interactions_row(b->x, u).count;

        pairs += count * (count + 1) / 2;
    }
    return pairs;
}

static int run_gram(bench *b)
{
    bench_record *r = bench_record_new(b, "gram", "pairs", count_pairs(b));
    ease_gram_options o = counting(b);
    ease_error err;

    for (int i = 0; i < b->repeat; i++) {
        double began = seconds_now();
        ease_gram *g = NULL;

        if (ease_gram_build(b->x, &o, &g, &err))
            return fail_with(b->console, &err);
        bench_record_run(r, seconds_now() - began);
        ease_gram_free(g);
    }
    return EXIT_DONE;
}

int bench_solve_once(const bench *b, const ease_interactions *x, ease_model **out,
                     double *seconds, double *bytes)
{
    double before = bench_memory("VmRSS:"), began;
    ease_gram_options count = counting(b);
    ease_train_options o = training(b);
    ease_gram *g = NULL;
    ease_error err;
    bool counted;

    if (ease_gram_build(x, &count, &g, &err))
        return fail_with(b->console, &err);
    counted = bench_forget_peak();
    began = seconds_now();
    if (ease_gram_solve(&g, &o, out, &err))
        return fail_with(b->console, &err);
    *seconds = seconds_now() - began;
    phase_end(b->console, "solving");
    *bytes = counted ? bench_memory("VmHWM:") - before : NAN;
    return EXIT_DONE;
}

static int run_solve(bench *b)
{
    double n = (double)b->items, seconds = 0, bytes = NAN;
    bench_record *r = bench_record_new(b, "solve", "flop", n * n * n);
    int code = EXIT_DONE;

    for (int i = 0; !code && i < b->repeat; i++) {
        ease_model_free(b->model);
        b->model = NULL;
        code = measure_sgemm_again(b);
        if (!code)
            code = bench_solve_once(b, b->x, &b->model, &seconds, &bytes);
        if (!code)
            bench_record_run(r, seconds);
        if (!code)
            code = measure_sgemm_again(b);
    }
    bench_record_fact(r, "items", n);
    bench_record_fact(r, "bytes", bytes);
    bench_record_fact(r, "bytes_an_entry", bytes / n / n);
    r->rate = r->amount / bench_median(r);
    if (b->beside_count > 0) {
        r->limit = "sgemm";
        r->limit_rate = median(b->beside, b->beside_count);
        bench_record_fact(r, "sgemm", r->limit_rate);
    }
    return code;
}

int bench_need_model(bench *b)
{
    double seconds, bytes;

    return b->model ? EXIT_DONE
                    : bench_solve_once(b, b->x, &b->model, &seconds, &bytes);
}

static int save(const bench *b, const char *path, ease_storage storage, double *seconds)
{
    const ease_hooks *hooks = console_hooks(b->console);
    ease_error err;
    double began;

    unlink(path); /* deleting the old file is not measured */
    began = seconds_now();
    if (ease_model_save(b->model, path, storage, hooks, &err))
        return fail_with(b->console, &err);
    *seconds = seconds_now() - began;
    phase_end(b->console, "writing");
    return EXIT_DONE;
}

static int write_form(bench *b, ease_storage storage, const char *name,
                      const char *path, const char *raw)
{
    bench_record *r = bench_record_new(b, name, "B", 0);
    double seconds = 0, disk = 0;
    int code = EXIT_DONE;

    for (int i = 0; !code && i < b->repeat; i++) {
        code = save(b, path, storage, &seconds);
        r->amount = (double)file_bytes(path);
        if (!code) {
            bench_record_run(r, seconds);
            code = bench_write_raw(b, raw, (size_t)r->amount, &seconds);
        }
        if (!code && r->amount / seconds > disk)
            disk = r->amount / seconds;
        unlink(raw);
    }
    bench_record_fact(r, "disk", disk);
    bench_record_fact(r, "of_disk", r->rate / disk);
    hold_against_copy(b, r);
    return code;
}

/* float16 is last, because recommending reads it. */
static int run_write(bench *b)
{
    char *path = path_in(b, "model.ease"), *raw = path_in(b, "raw");
    int code = EXIT_DONE;

    if (!path || !raw) {
        code = fail_no_memory(b->console);
        goto done;
    }
    code = bench_need_model(b);
    if (!code)
        code = write_form(b, EASE_STORE_F32, "write-f32", path, raw);
    if (!code)
        code = write_form(b, EASE_STORE_PACKED, "write-packed", path, raw);
    if (!code)
        code = write_form(b, EASE_STORE_F16, "write-f16", path, raw);

done:
    free(path);
    free(raw);
    return code;
}

/* Lists in blocks of users, as the program makes them. */
typedef struct lists {
    ease_row *rows;
    ease_rec *recs;
    int32_t *counts;
    int32_t capacity;
} lists;

enum { LIST_LENGTH = 100, LIST_BLOCK = 1 << 15 };

static int recommend_all(const bench *b, const ease_model *m, lists *l)
{
    ease_recommend_options o;
    ease_error err;

    ease_recommend_options_init(&o);
    o.k = LIST_LENGTH;
    o.threads = (int)b->common->threads;
    o.hooks = console_quiet_hooks(b->console);
    for (int64_t first = 0; first < b->users; first += l->capacity) {
        int64_t left = b->users - first,
                count = left < l->capacity ? left : l->capacity;

        for (int64_t i = 0; i < count; i++)
            l->rows[i] = ease_interactions_row(b->x, first + i);
        if (ease_recommend_many(m, l->rows, count, &o, l->recs, l->counts, &err))
            return fail_with(b->console, &err);
        console_progress(b->console, "recommending",
                         (double)(first + count) / (double)b->users);
    }
    return EXIT_DONE;
}

int bench_list_once(const bench *b, const ease_model *m, double *seconds)
{
    size_t capacity = (size_t)(b->users < LIST_BLOCK ? b->users : LIST_BLOCK);
    lists l = {.rows = calloc(capacity, sizeof(*l.rows)),
               .recs = calloc(capacity * LIST_LENGTH, sizeof(*l.recs)),
               .counts = calloc(capacity, sizeof(*l.counts)),
               .capacity = (int32_t)capacity};
    double began = seconds_now();
    int code = EXIT_DONE;

    if (!l.rows || !l.recs || !l.counts)
        code = fail_no_memory(b->console);
    else
        code = recommend_all(b, m, &l);
    *seconds = seconds_now() - began;
    free(l.rows);
    free(l.recs);
    free(l.counts);
    return code;
}

/* Measures recommending from a file, as the program does. */
static int run_recommend(bench *b)
{
    bench_record *r = bench_record_new(b, "recommend", "users", (double)b->users);
    char *path = path_in(b, "model.ease");
    ease_model *m = NULL;
    double seconds;
    ease_error err;
    int code;

    if (!path)
        return fail_no_memory(b->console);
    code = bench_need_model(b);
    if (!code && !b->wanted[BENCH_write])
        code = save(b, path, EASE_STORE_F16, &seconds);
    if (!code)
        code = ease_model_open(path, NULL, &m, &err) ? fail_with(b->console, &err)
                                                     : EXIT_DONE;
    for (int i = 0; !code && i < b->repeat; i++) {
        code = bench_list_once(b, m, &seconds);
        if (!code)
            bench_record_run(r, seconds);
    }
    bench_record_fact(r, "k", LIST_LENGTH);
    bench_record_fact(r, "flops_a_second",
                      2 * (double)b->interactions * (double)b->items * r->rate /
                          r->amount);
    ease_model_free(m);
    free(path);
    return code;
}

/* ---- all parts ---------------------------------------------------------------- */

int bench_run(bench *b)
{
    static int (*const run[])(bench *) = {
        [BENCH_copy] = run_copy,           [BENCH_read] = run_read,
        [BENCH_gram] = run_gram,           [BENCH_solve] = run_solve,
        [BENCH_write] = run_write,         [BENCH_recommend] = run_recommend,
        [BENCH_update] = bench_run_update, [BENCH_leave] = bench_run_leave};
    int code = bench_make_work(b);

    if (!code && b->wanted[BENCH_sgemm])
        code = measure_sgemm(b);
    for (int i = BENCH_copy; !code && i < BENCH_COUNT; i++) {
        if (!b->wanted[i])
            continue;
        if (i > BENCH_copy)
            code = need_data(b);
        if (!code)
            code = run[i](b);
    }
    if (!code && b->wanted[BENCH_sgemm])
        record_sgemm(b);
    return code;
}
