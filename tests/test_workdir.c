/* Matrices in a file of tiles: the same bits as in memory. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data.h"
#include "matrix/pipeline.h"
#include "solve/solve.h"
#include "test.h"

/* ---- files of tiles ----------------------------------------------------------- */

static const char *work_dir(void)
{
    const char *dir = test_path("work");

    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        abort();
    return dir;
}

static ease__tilefile file_of(test *t, const ease__tiled *a)
{
    ease__tilefile f = EASE__TILEFILE_NONE;
    void *tile;

    check_status(t, ease__tilefile_new(work_dir(), a, &f, NULL), EASE_OK);
    tile = aligned_alloc(EASE__TILE_GRAIN, ease__tile_bytes(&f.shape));
    memset(tile, 0, ease__tile_bytes(&f.shape));
    for (int32_t i = 0; i < a->tiles; i++)
        for (int32_t j = 0; j <= i; j++) {
            memcpy(tile, ease__tile(a, i, j), ease__tile_bytes(a));
            check_status(t, ease__tilefile_write(&f, i, j, 1, tile, NULL), EASE_OK);
        }
    free(tile);
    return f;
}

/* The lower triangle, without the upper halves of diagonal tiles. */
static bool same_bits(const ease__tiled *a, const ease__tiled *b)
{
    size_t size = ease__element_bytes(a->element), e = (size_t)a->edge;

    for (int32_t i = 0; i < a->tiles; i++)
        for (int32_t j = 0; j <= i; j++)
            for (size_t r = 0; r < e; r++)
                if (memcmp((char *)ease__tile(a, i, j) + r * e * size,
                           (char *)ease__tile(b, i, j) + r * e * size,
                           (i == j ? r + 1 : e) * size) != 0)
                    return false;
    return true;
}

/* The least memory in which a cross of `columns` tile columns fits. */
static size_t memory_for(const ease__tiled *a, int32_t columns, int threads)
{
    size_t memory = ease__invert_file_least(a, threads), step = EASE__TILE_GRAIN;

    while (ease__invert_file_columns(a, threads, memory) < columns)
        memory += step;
    return memory;
}

static void check_invert(test *t, const ease__tiled *a, const ease__tiled *want,
                         int32_t columns, int threads)
{
    const ease__tile_kernels *kernels = a->element == EASE__F64 ? &ease__blas_f64
                                                                : &ease__blas_f32;
    ease__tilefile f = file_of(t, a);
    ease__tiled got;

    check_status(t,
                 ease__invert_file(&f, kernels, memory_for(a, columns, threads),
                                   threads, NULL, NULL),
                 EASE_OK);
    check_status(t, ease__tilefile_map(&f, &got, NULL), EASE_OK);
    if (!check(t, same_bits(want, &got)))
        printf("  %d items, edge %d, %d columns, %d threads\n", a->n, a->edge, columns,
               threads);
    ease__tiled_free(&got);
    ease__tilefile_free(&f);
}

static void inverses_have_the_bits_of_memory(test *t)
{
    static const struct {
        int32_t n, edge;
        ease__element element;
    } sizes[] = {{150, 16, EASE__F32}, {150, 16, EASE__F64}, {30, 16, EASE__F32},
                 {16, 16, EASE__F32},  {431, 48, EASE__F32}, {300, 64, EASE__F64}};

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        double largest;
        ease__tiled a = random_definite(sizes[s].n, sizes[s].edge, sizes[s].element, 3,
                                        &largest);
        ease__tiled want = random_definite(sizes[s].n, sizes[s].edge, sizes[s].element,
                                           3, &largest);

        check_status(t,
                     ease__invert_tiles(&want,
                                        a.element == EASE__F64 ? &ease__blas_f64
                                                               : &ease__blas_f32,
                                        2, NULL, NULL),
                     EASE_OK);
        for (int32_t columns = 1; columns <= a.tiles; columns++)
            for (int threads = 1; threads <= 4; threads += columns == 3 ? 1 : 3)
                check_invert(t, &a, &want, columns, threads);
        ease__tiled_free(&a);
        ease__tiled_free(&want);
    }
}

/* ---- what can go wrong with a file -------------------------------------------- */

static void a_work_file_has_no_name(test *t)
{
    ease__tiled shape = ease__tiled_shape(100, 16, EASE__F32);
    ease__tilefile f = EASE__TILEFILE_NONE;
    const char *dir = work_dir();

    check_status(t, ease__tilefile_new(dir, &shape, &f, NULL), EASE_OK);
    check_int(t, rmdir(dir), 0); /* it is empty */
    ease__tilefile_free(&f);
}

static void a_missing_directory_is_named(test *t)
{
    ease__tiled shape = ease__tiled_shape(100, 16, EASE__F32);
    ease__tilefile f = EASE__TILEFILE_NONE;
    ease_error err;

    check_status(t, ease__tilefile_new("/nowhere/at/all", &shape, &f, &err), EASE_E_IO);
    check_contains(t, err.text, "/nowhere/at/all: cannot make a work file");
}

static void a_full_disk_is_known_at_once(test *t)
{
    ease__tiled shape = ease__tiled_shape(1000, 64, EASE__F32);
    ease__tilefile f = EASE__TILEFILE_NONE;
    struct rlimit before, less;
    char bytes[32];
    ease_error err;

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    less = before;
    less.rlim_cur = 100000;
    setrlimit(RLIMIT_FSIZE, &less);
    check_status(t, ease__tilefile_new(work_dir(), &shape, &f, &err), EASE_E_IO);
    setrlimit(RLIMIT_FSIZE, &before);
    snprintf(bytes, sizeof(bytes), "%zu bytes", ease__tiled_padded(&shape).bytes);
    check_contains(t, err.text, bytes);
    check_contains(t, err.text, "free");
}

static void a_file_cut_short_is_an_error(test *t)
{
    double largest;
    ease__tiled a = random_definite(150, 16, EASE__F32, 3, &largest);
    ease__tilefile f = file_of(t, &a);
    ease_error err;

    check_int(t, ftruncate(f.fd, (off_t)f.shape.bytes / 2), 0);
    check_status(
        t, ease__invert_file(&f, &ease__blas_f32, memory_for(&a, 2, 2), 2, NULL, &err),
        EASE_E_IO);
    check_contains(t, err.text, "the work file has been cut short");
    ease__tilefile_free(&f);
    ease__tiled_free(&a);
}

static void a_file_that_cannot_be_written_is_an_error(test *t)
{
    double largest;
    ease__tiled a = random_definite(150, 16, EASE__F32, 3, &largest);
    ease__tilefile f = file_of(t, &a), copy = f;
    char path[64];
    ease_error err;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", f.fd);
    copy.fd = open(path, O_RDONLY | O_CLOEXEC);
    check(t, copy.fd >= 0);
    check_status(
        t,
        ease__invert_file(&copy, &ease__blas_f32, memory_for(&a, 2, 2), 2, NULL, &err),
        EASE_E_IO);
    check_contains(t, err.text, "cannot write the work file");
    close(copy.fd);
    ease__tilefile_free(&f);
    ease__tiled_free(&a);
}

static void too_little_memory_is_refused(test *t)
{
    double largest;
    ease__tiled a = random_definite(150, 16, EASE__F32, 3, &largest);
    ease__tilefile f = file_of(t, &a);
    size_t least = ease__invert_file_least(&a, 2);

    check_int(t, ease__invert_file_columns(&a, 2, least), 1);
    check_int(t, ease__invert_file_columns(&a, 2, least - 1), 0);
    check_status(t, ease__invert_file(&f, &ease__blas_f32, least - 1, 2, NULL, NULL),
                 EASE_E_MEMORY_LIMIT);
    ease__tilefile_free(&f);
    ease__tiled_free(&a);
}

static void the_page_cache_is_a_way_too(test *t)
{
    double largest;
    ease__tiled a = random_definite(150, 16, EASE__F32, 3, &largest);
    ease__tiled want = random_definite(150, 16, EASE__F32, 3, &largest), got;
    ease__tilefile f = file_of(t, &a);

    check_status(t, ease__invert_tiles(&want, &ease__blas_f32, 2, NULL, NULL), EASE_OK);
    check_int(t, fcntl(f.fd, F_SETFL, fcntl(f.fd, F_GETFL) & ~O_DIRECT), 0);
    f.direct = false;
    check_status(
        t, ease__invert_file(&f, &ease__blas_f32, memory_for(&a, 3, 2), 2, NULL, NULL),
        EASE_OK);
    check_status(t, ease__tilefile_map(&f, &got, NULL), EASE_OK);
    check(t, same_bits(&want, &got));
    ease__tiled_free(&got);
    ease__tilefile_free(&f);
    ease__tiled_free(&want);
    ease__tiled_free(&a);
}

static void a_failed_pivot_names_its_item(test *t)
{
    double largest;
    ease__tiled a = random_definite(150, 16, EASE__F32, 3, &largest);

    set_entry(&a, 70, 70, -1);
    for (int32_t columns = 1; columns <= a.tiles; columns++) {
        ease__tilefile f = file_of(t, &a);
        ease_error err = {0};

        check_status(t,
                     ease__invert_file(&f, &ease__blas_f32, memory_for(&a, columns, 2),
                                       2, NULL, &err),
                     EASE_E_NOT_POSDEF);
        check_int(t, err.where, 70);
        ease__tilefile_free(&f);
    }
    ease__tiled_free(&a);
}

static void solving_survives_every_failed_allocation(test *t)
{
    double largest, residual;
    ease__tiled a = random_definite(100, 16, EASE__F32, 3, &largest);
    double diagonal[100];
    ease_status status;
    int n = 0;

    for (int32_t i = 0; i < a.n; i++)
        diagonal[i] = 1;
    do {
        ease__tilefile f = file_of(t, &a);

        alloc_fail_after(n++);
        status = ease__solve_file(&f, diagonal, ease__backends[0], memory_for(&a, 2, 2),
                                  2, NULL, &residual, NULL);
        alloc_fail_after(-1);
        ease__tilefile_free(&f);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 50);
    check(t, residual < 1e-5);
    ease__tiled_free(&a);
}

/* ---- training ----------------------------------------------------------------- */

/* Five tiles a side: with one thread, memory for the matrix is more than for a part. */
enum { ITEMS = 2300, USERS = 400 };

static ease_train_options options(void)
{
    ease_train_options o;

    ease_train_options_init(&o);
    o.lambda = 50;
    o.threads = 1;
    return o;
}

static void save(test *t, const ease_model *m, const char *name, ease_storage storage)
{
    check_status(t, ease_model_save(m, test_path(name), storage, NULL, NULL), EASE_OK);
}

static bool same_files(const char *a, const char *b)
{
    char command[600];

    snprintf(command, sizeof(command), "cmp -s '%s' '%s'", test_path(a), test_path(b));
    return system(command) == 0;
}

/* The least memory that will do, and what the matrix in memory would take. */
static ease_plan plan_of(test *t, const ease_interactions *x,
                         const ease_train_options *o)
{
    ease_plan plan = {.size = sizeof(plan)};

    check_status(t, ease_plan_data(x, o, EASE_STORE_F16, &plan, NULL), EASE_OK);
    return plan;
}

static void check_training(test *t, const ease_interactions *x, ease_train_options o,
                           ease_storage storage)
{
    ease_plan plan = plan_of(t, x, &o);
    size_t limits[] = {plan.least_bytes, (plan.least_bytes + plan.peak_bytes) / 2};
    ease_model *m = NULL;

    check(t, plan.least_bytes < plan.peak_bytes);
    check_status(t, ease_train(x, &o, &m, NULL), EASE_OK);
    save(t, m, "memory.ease", storage);
    ease_model_free(m);
    o.workdir = work_dir();
    for (int k = 0; k < 2; k++) {
        m = NULL;
        o.memory_limit = limits[k];
        plan = plan_of(t, x, &o);
        check(t, plan.fits && plan.traffic_bytes > 0);
        check(t, plan.peak_bytes <= limits[k]);
        check_status(t, ease_train(x, &o, &m, NULL), EASE_OK);
        if (m)
            save(t, m, "work.ease", storage);
        check(t, same_files("memory.ease", "work.ease"));
        ease_model_free(m);
    }
}

static void models_from_a_workdir_are_the_same_files(test *t)
{
    static const struct {
        ease_gram_kind kind;
        ease_precision precision;
        ease_storage storage;
        bool weighted;
    } cases[] = {
        {EASE_GRAM_COUNTS, EASE_F32, EASE_STORE_F16, false},
        {EASE_GRAM_COUNTS, EASE_F64, EASE_STORE_PACKED, true},
        {EASE_GRAM_COVARIANCE, EASE_F32, EASE_STORE_F32, true},
        {EASE_GRAM_CORRELATION, EASE_F32, EASE_STORE_PACKED, false},
        {EASE_GRAM_CORRELATION, EASE_F64, EASE_STORE_F16, false},
    };

    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        ease_interactions *x = random_interactions(USERS, ITEMS, 0.02,
                                                   cases[k].weighted, 5);
        ease_train_options o = options();

        o.kind = cases[k].kind;
        o.precision = cases[k].precision;
        check_training(t, x, o, cases[k].storage);
        free_interactions(x);
    }
}

static void gram_files_train_in_a_workdir(test *t)
{
    ease_interactions *x = random_interactions(USERS, ITEMS, 0.02, false, 5);
    ease_train_options o = options();
    ease_model *m = NULL, *work = NULL;
    ease_gram *g = NULL;
    ease_plan plan = {.size = sizeof(plan)};

    o.kind = EASE_GRAM_CORRELATION;
    check_status(t, ease_gram_build(x, NULL, &g, NULL), EASE_OK);
    check_status(t, ease_gram_save(g, test_path("x.gram"), NULL, NULL), EASE_OK);
    ease_gram_free(g);
    check_status(t, ease_train_gram_file(test_path("x.gram"), &o, &m, NULL), EASE_OK);
    save(t, m, "memory.ease", EASE_STORE_F16);
    o.workdir = work_dir();
    check_status(t, ease_plan_sizes(0, ITEMS, 0, &o, EASE_STORE_F16, &plan, NULL),
                 EASE_OK);
    o.memory_limit = plan.least_bytes;
    check_status(t, ease_train_gram_file(test_path("x.gram"), &o, &work, NULL),
                 EASE_OK);
    if (work)
        save(t, work, "work.ease", EASE_STORE_F16);
    check(t, same_files("memory.ease", "work.ease"));
    ease_model_free(m);
    ease_model_free(work);
    free_interactions(x);
}

static void a_model_in_a_work_file_can_be_used(test *t)
{
    ease_interactions *x = random_interactions(USERS, ITEMS, 0.02, false, 5);
    float *rows = calloc(2 * ITEMS, sizeof(*rows));
    ease_train_options o = options();
    ease_model *m = NULL, *work = NULL;

    check_status(t, ease_train(x, &o, &m, NULL), EASE_OK);
    o.memory_limit = plan_of(t, x, &o).least_bytes;
    o.workdir = work_dir();
    check_status(t, ease_train(x, &o, &work, NULL), EASE_OK);
    for (int32_t i = 0; m && work && i < ITEMS; i += 501) {
        check_status(t, ease_model_row(m, i, rows, NULL), EASE_OK);
        check_status(t, ease_model_row(work, i, rows + ITEMS, NULL), EASE_OK);
        check_int(t, memcmp(rows, rows + ITEMS, ITEMS * sizeof(*rows)), 0);
    }
    ease_model_free(m);
    ease_model_free(work);
    free(rows);
    free_interactions(x);
}

static ease_interactions *synthetic(uint64_t seed)
{
    ease_interactions *x = NULL;
    ease_synth_options o;

    ease_synth_options_init(&o);
    o.users = USERS;
    o.items = ITEMS;
    o.interactions = USERS * 40;
    o.seed = seed;
    if (ease_interactions_synth(&o, &x, NULL))
        abort();
    return x;
}

/* The tiles of a work file lie further apart than those in memory. */
static void a_model_in_a_work_file_is_updated_like_one_in_memory(test *t)
{
    ease_interactions *x = synthetic(5), *change[] = {x, synthetic(6)};
    ease_train_options o = options();
    ease_model *m = NULL, *work = NULL;

    o.updatable = 1;
    check_status(t, ease_train(x, &o, &m, NULL), EASE_OK);
    o.memory_limit = plan_of(t, x, &o).least_bytes;
    o.workdir = work_dir();
    check_status(t, ease_train(x, &o, &work, NULL), EASE_OK);
    for (int k = 0; m && work && k < 2; k++) { /* the first change is none */
        ease_model *next = NULL, *same = NULL;

        check_status(t, ease_model_update(m, x, change[k], NULL, &next, NULL, NULL),
                     EASE_OK);
        check_status(t, ease_model_update(work, x, change[k], NULL, &same, NULL, NULL),
                     EASE_OK);
        if (next && same) {
            save(t, next, "memory.ease", EASE_STORE_PACKED);
            save(t, same, "work.ease", EASE_STORE_PACKED);
        }
        check(t, next && same && same_files("memory.ease", "work.ease"));
        ease_model_free(next);
        ease_model_free(same);
    }
    ease_model_free(m);
    ease_model_free(work);
    ease_interactions_free(x);
    ease_interactions_free(change[1]);
}

static void float64_is_reached_in_a_workdir_too(test *t)
{
    ease_interactions *x = random_interactions(USERS, ITEMS, 0.02, false, 5);
    ease_train_options o = options();
    ease_model *m = NULL, *work = NULL;

    o.lambda = 1e-6; /* float32 fails here: there are more items than users */
    check_status(t, ease_train(x, &o, &m, NULL), EASE_OK);
    o.precision = EASE_F64;
    o.memory_limit = plan_of(t, x, &o).least_bytes;
    o.precision = EASE_F32;
    o.workdir = work_dir();
    check_status(t, ease_train(x, &o, &work, NULL), EASE_OK);
    if (m && work) {
        check_int(t, model_info(work).precision, EASE_F64);
        save(t, m, "memory.ease", EASE_STORE_F32);
        save(t, work, "work.ease", EASE_STORE_F32);
        check(t, same_files("memory.ease", "work.ease"));
    }
    ease_model_free(m);
    ease_model_free(work);
    free_interactions(x);
}

static void less_than_the_least_is_refused(test *t)
{
    ease_interactions *x = random_interactions(USERS, ITEMS, 0.02, false, 5);
    ease_train_options o = options();
    ease_model *m = NULL;
    ease_error err;
    ease_plan plan = {.size = sizeof(plan)};

    o.workdir = work_dir();
    o.memory_limit = plan_of(t, x, &o).least_bytes - 1;
    plan = plan_of(t, x, &o);
    check(t, !plan.fits);
    check_int(t, plan.peak_bytes, plan.least_bytes);
    check_status(t, ease_train(x, &o, &m, &err), EASE_E_MEMORY_LIMIT);
    o.memory_limit = 0; /* it fits, and so needs no file */
    o.workdir = "/nowhere/at/all";
    check_status(t, ease_train(x, &o, &m, &err), EASE_OK);
    ease_model_free(m);
    free_interactions(x);
}

static int cancel_at(void *user, const char *stage, double fraction)
{
    (void)stage;
    (void)fraction;
    return --*(int *)user == 0;
}

static void training_in_a_workdir_can_be_cancelled(test *t)
{
    ease_interactions *x = random_interactions(USERS, ITEMS, 0.02, false, 5);
    ease_train_options o = options();
    ease_status status = EASE_E_CANCELLED;

    o.memory_limit = plan_of(t, x, &o).least_bytes;
    o.workdir = work_dir();
    for (int at = 1; status == EASE_E_CANCELLED && at < 40; at += 1 + at / 3) {
        int left = at;
        ease_model *m = NULL;

        o.hooks = &(ease_hooks){.progress = cancel_at, .user = &left};
        status = ease_train(x, &o, &m, NULL);
        check_int(t, m != NULL, status == EASE_OK);
        check(t, status == EASE_OK ? left > 0 : left == 0);
        ease_model_free(m);
    }
    free_interactions(x);
}

/* Not every one: most of the time is in those that fail late. */
static void training_in_a_workdir_survives_failed_allocations(test *t)
{
    ease_interactions *x = random_interactions(USERS, ITEMS, 0.02, false, 5);
    ease_train_options o = options();
    ease_status status = EASE_E_NOMEM;

    o.kind = EASE_GRAM_CORRELATION;
    o.memory_limit = plan_of(t, x, &o).least_bytes;
    o.workdir = work_dir();
    for (int n = 0; status == EASE_E_NOMEM; n += 1 + n / 8) {
        ease_model *m = NULL;

        alloc_fail_after(n);
        status = ease_train(x, &o, &m, NULL);
        alloc_fail_after(-1);
        check_int(t, m != NULL, status == EASE_OK);
        ease_model_free(m);
    }
    check_status(t, status, EASE_OK);
    free_interactions(x);
}

static const test_case cases[] = {
    TEST(inverses_have_the_bits_of_memory),
    TEST(a_work_file_has_no_name),
    TEST(a_missing_directory_is_named),
    TEST(a_full_disk_is_known_at_once),
    TEST(a_file_cut_short_is_an_error),
    TEST(a_file_that_cannot_be_written_is_an_error),
    TEST(too_little_memory_is_refused),
    TEST(the_page_cache_is_a_way_too),
    TEST(a_failed_pivot_names_its_item),
    TEST(solving_survives_every_failed_allocation),
    TEST(models_from_a_workdir_are_the_same_files),
    TEST(gram_files_train_in_a_workdir),
    TEST(a_model_in_a_work_file_can_be_used),
    TEST(a_model_in_a_work_file_is_updated_like_one_in_memory),
    TEST(float64_is_reached_in_a_workdir_too),
    TEST(less_than_the_least_is_refused),
    TEST(training_in_a_workdir_can_be_cancelled),
    TEST(training_in_a_workdir_survives_failed_allocations),
};

TEST_MAIN(cases)
