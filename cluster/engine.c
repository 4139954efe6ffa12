#include "engine.h"

#include <ftw.h>
#include <math.h>
#include <omp.h>
#include <starpu_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compute/subnormals.h"
#include "pulse.h"
#include "solve/graph.h"

typedef void unary(void *a, int32_t e);
typedef void binary(void *a, const void *b, int32_t e);
typedef void ternary(void *c, const void *a, const void *b, int32_t e);

/* A run of tasks over the tiles of a matrix. */
typedef struct engine {
    const share *share;
    starpu_data_handle_t *tiles; /* by ease__tile_count(i) + j */
    int window;                  /* tasks that may be submitted and not done */
    const ease__tile_kernels *kernels;
} engine;

/* ---- codelets: what a task does, on the process that owns what it writes --------- */

typedef enum job_kind { JOB_FACTOR, JOB_UNARY, JOB_BINARY, JOB_TERNARY } job_kind;

typedef struct job {
    const engine *engine;
    union {
        unary *one;
        binary *two;
        ternary *three;
    } kernel;
    job_kind kind;
    int cost;
    int32_t k; /* of JOB_FACTOR */
} job;

static void *at(void *buffer)
{
    return (void *)STARPU_VECTOR_GET_PTR(buffer);
}

static void factor(const job *d, void *tile)
{
    int32_t e = d->engine->share->t.edge, pivot = d->engine->kernels->factor(tile, e);

    if (pivot > 0)
        pulse_fail((int64_t)d->k * e + pivot - 1);
}

static void work(const job *d, void **b)
{
    const engine *g = d->engine;
    const ease__tiled *t = &g->share->t;

    switch (d->kind) {
    case JOB_FACTOR:
        factor(d, at(b[0]));
        break;
    case JOB_UNARY:
        d->kernel.one(at(b[0]), t->edge);
        break;
    case JOB_BINARY:
        d->kernel.two(at(b[0]), at(b[1]), t->edge);
        break;
    case JOB_TERNARY:
        d->kernel.three(at(b[0]), at(b[1]), at(b[2]), t->edge);
        break;
    }
}

static void run_job(void *buffers[], void *arguments)
{
    job d;

    starpu_codelet_unpack_args(arguments, &d);
    omp_set_num_threads(1); /* OpenBLAS must not thread itself in a worker */
    if (pulse_failed() < 0) {
        unsigned mode = ease__flush_begin();

        work(&d, buffers);
        ease__flush_end(mode);
    }
    pulse_did(d.cost);
}

static struct starpu_codelet codelets[] = {
    {.cpu_funcs = {run_job}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "one"},
    {.cpu_funcs = {run_job},
     .nbuffers = 2,
     .modes = {STARPU_RW, STARPU_R},
     .name = "two"},
    {.cpu_funcs = {run_job},
     .nbuffers = 3,
     .modes = {STARPU_RW, STARPU_R, STARPU_R},
     .name = "three"}};

/* ---- starting -------------------------------------------------------------------- */

/* StarPU writes what it knows about the buses of a machine below its home. */
static bool make_home(char *home, size_t size)
{
    const char *parent = getenv("TMPDIR");

    snprintf(home, size, "%s/ease-cluster.XXXXXX", parent && *parent ? parent : "/tmp");
    return mkdtemp(home) != NULL;
}

static int remove_one(const char *path, const struct stat *unused, int kind,
                      struct FTW *where)
{
    (void)unused, (void)kind, (void)where;
    return remove(path);
}

static void remove_home(const char *home)
{
    (void)nftw(home, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

ease_status engine_begin(const group *g, int threads, ease_error *err)
{
    struct starpu_conf conf;
    char home[512];
    int failed;

    if (!make_home(home, sizeof(home)))
        return ease__fail_errno(err, "cannot make the directory %s", home);
    setenv("STARPU_HOME", home, 1);
    setenv("STARPU_SILENT", "1", 1);
    setenv("STARPU_WORKERS_NOBIND", "1", 1);
    starpu_conf_init(&conf);
    conf.sched_policy_name = "prio";
    conf.ncpus = threads;
    conf.ncuda = 0;
    conf.nopencl = 0;
    conf.bus_calibrate = 0;
    failed = starpu_mpi_init_conf(NULL, NULL, 0, g->all, &conf);
    remove_home(home);
    if (failed)
        return ease__fail(err, EASE_E_BACKEND, "StarPU does not start");
    starpu_pause(); /* workers that wait for tasks keep processors busy */
    return EASE_OK;
}

void engine_end(void)
{
    starpu_resume();
    starpu_mpi_shutdown();
}

/* ---- data ------------------------------------------------------------------------ */

/* A process has some tasks ahead of each of its threads, and about a step of the sweep:
 * the tiles of others that it holds are those of these tasks. */
static int window_of(const share *s, int threads)
{
    int64_t own = (int64_t)ease__tile_count(s->t.tiles) / s->group->size;

    return (int)(own / 2 < 8 * threads + 16 ? 8 * threads + 16 : own / 2);
}

enum { HANDLE_BYTES = 4800 };

size_t engine_bytes(const share *s, int threads)
{
    size_t tiles = (size_t)s->t.tiles;
    size_t across = 2 * (tiles / (size_t)s->rows + tiles / (size_t)s->columns + 2);
    size_t ahead = 2 * (size_t)window_of(s, threads);

    if (s->group->size == 1)
        across = ahead = 0;
    return ease__tile_count(s->t.tiles) * HANDLE_BYTES +
           (across < ahead ? across : ahead) * ease__tile_bytes(&s->t);
}

static starpu_data_handle_t tile_of(const engine *g, int32_t i, int32_t j)
{
    return g->tiles[ease__tile_count(i) + (size_t)j];
}

static void register_tiles(engine *g)
{
    const share *s = g->share;
    size_t count = (size_t)s->t.edge * (size_t)s->t.edge;
    size_t size = ease__element_bytes(s->t.element);

    for (int32_t i = 0; i < s->t.tiles; i++)
        for (int32_t j = 0; j <= i; j++) {
            size_t k = ease__tile_count(i) + (size_t)j;
            bool mine = share_mine(s, i, j);

            starpu_vector_data_register(&g->tiles[k], mine ? STARPU_MAIN_RAM : -1,
                                        mine ? (uintptr_t)ease__tile(&s->t, i, j) : 0,
                                        (uint32_t)count, size);
            starpu_mpi_data_register(g->tiles[k], (starpu_mpi_tag_t)k,
                                     share_owner(s, i, j));
        }
}

static ease_status prepare(engine *g, const share *s, int threads, ease_error *err)
{
    size_t count = ease__tile_count(s->t.tiles);
    ease_status status = EASE_OK;

    *g = (engine){.share = s, .window = window_of(s, threads)};
    g->kernels = s->t.element == EASE__F64 ? &ease__blas_f64 : &ease__blas_f32;
    g->tiles = ease__alloc_zero(count, sizeof(*g->tiles));
    if (!g->tiles)
        status = ease__fail(err, EASE_E_NOMEM, "tasks on %zu tiles", count);
    status = group_agree(s->group, status, err);
    if (status) {
        ease__free(g->tiles);
        return status;
    }
    register_tiles(g);
    /* A message must not arrive before its tile is known. */
    MPI_Barrier(s->group->all);
    return EASE_OK;
}

/* Waits for all tasks; afterwards the tiles are where they belong. */
static void finish(engine *g)
{
    const share *s = g->share;

    starpu_mpi_cache_flush_all_data(s->group->all);
    starpu_mpi_wait_for_all(s->group->all);
    for (size_t k = 0; k < ease__tile_count(s->t.tiles); k++)
        starpu_data_unregister(g->tiles[k]);
    ease__free(g->tiles);
}

/* ---- submitting ------------------------------------------------------------------ */

/* All processes submit all tasks in the same order; StarPU runs those that write a tile
 * of this process, and sends and receives what tasks read. */
static void throttle(const engine *g)
{
    (void)starpu_task_wait_for_n_submitted((unsigned)g->window);
}

static void submit1(const engine *g, job d, starpu_data_handle_t a, int priority)
{
    starpu_mpi_task_insert(g->share->group->all, &codelets[0], STARPU_VALUE, &d,
                           sizeof(d), STARPU_PRIORITY, priority, STARPU_RW, a, 0);
}

static void submit2(const engine *g, job d, starpu_data_handle_t a,
                    starpu_data_handle_t b, int priority)
{
    starpu_mpi_task_insert(g->share->group->all, &codelets[1], STARPU_VALUE, &d,
                           sizeof(d), STARPU_PRIORITY, priority, STARPU_RW, a, STARPU_R,
                           b, 0);
}

static void submit_unary(const engine *g, unary *kernel, int32_t k)
{
    job d = {.engine = g, .kernel.one = kernel, .kind = JOB_UNARY};

    d.cost = EASE__COST_CLOSE;
    submit1(g, d, tile_of(g, k, k), 0);
}

static void submit_binary(const engine *g, binary *kernel, starpu_data_handle_t a,
                          starpu_data_handle_t b, int priority)
{
    job d = {.engine = g, .kernel.two = kernel, .kind = JOB_BINARY};

    d.cost = EASE__COST_TRIANGULAR;
    submit2(g, d, a, b, priority);
}

static void submit_ternary(const engine *g, ternary *kernel, starpu_data_handle_t c,
                           starpu_data_handle_t a, starpu_data_handle_t b, int priority)
{
    job d = {.engine = g, .kernel.three = kernel, .kind = JOB_TERNARY};

    d.cost = EASE__COST_PRODUCT;
    starpu_mpi_task_insert(g->share->group->all, &codelets[2], STARPU_VALUE, &d,
                           sizeof(d), STARPU_PRIORITY, priority, STARPU_RW, c, STARPU_R,
                           a, STARPU_R, b, 0);
}

/* ---- the sweep: see src/solve/graph.c -------------------------------------------- */

static void factor_column(const engine *g, int32_t k)
{
    job d = {.engine = g, .kind = JOB_FACTOR, .cost = EASE__COST_FACTOR, .k = k};

    submit1(g, d, tile_of(g, k, k), 2);
    for (int32_t i = k + 1; i < g->share->t.tiles; i++)
        submit_binary(g, g->kernels->panel, tile_of(g, i, k), tile_of(g, k, k), 2);
}

static void trail_column(const engine *g, int32_t k, int32_t j, int priority)
{
    submit_binary(g, g->kernels->trail_diagonal, tile_of(g, j, j), tile_of(g, j, k),
                  priority);
    for (int32_t i = j + 1; i < g->share->t.tiles; i++)
        submit_ternary(g, g->kernels->trail, tile_of(g, i, j), tile_of(g, i, k),
                       tile_of(g, j, k), priority);
    throttle(g);
}

static void update_row(const engine *g, int32_t k, int32_t i)
{
    submit_binary(g, g->kernels->negate, tile_of(g, i, k), tile_of(g, k, k), 0);
    for (int32_t j = 0; j < k; j++)
        submit_ternary(g, g->kernels->update, tile_of(g, i, j), tile_of(g, i, k),
                       tile_of(g, k, j), 0);
    throttle(g);
}

static void gather_row(const engine *g, int32_t k)
{
    for (int32_t j = 0; j < k; j++)
        submit_binary(g, g->kernels->finish_row, tile_of(g, k, j), tile_of(g, k, k), 0);
    for (int32_t i = 0; i < k; i++) {
        for (int32_t j = 0; j < i; j++)
            submit_ternary(g, g->kernels->gather, tile_of(g, i, j), tile_of(g, k, i),
                           tile_of(g, k, j), 0);
        submit_binary(g, g->kernels->gather_diagonal, tile_of(g, i, i),
                      tile_of(g, k, i), 0);
        throttle(g);
    }
    for (int32_t j = 0; j < k; j++)
        submit_binary(g, g->kernels->close_row, tile_of(g, k, j), tile_of(g, k, k), 0);
    submit_unary(g, g->kernels->close_diagonal, k);
}

/* A process that stops submitting would leave others waiting: all of them stop before
 * the same step, a step after they have told each other. The same holds for a
 * checkpoint, for which process 0 votes. */
enum { FAILED, SAVE, VOTES };

typedef struct votes {
    MPI_Request request;
    int64_t mine[VOTES], least[VOTES]; /* item whose pivot has failed; 0: save */
} votes;

static void cast_vote(const group *g, const checkpoint *c, votes *v)
{
    int64_t failed = pulse_failed();

    v->mine[FAILED] = failed < 0 ? INT64_MAX : failed;
    v->mine[SAVE] = g->rank == 0 && checkpoint_due(c) ? 0 : 1;
    MPI_Iallreduce(v->mine, v->least, VOTES, MPI_INT64_T, MPI_MIN, g->all, &v->request);
}

static bool voted_to_stop(votes *v)
{
    int done = 0;

    while (MPI_Test(&v->request, &done, MPI_STATUS_IGNORE), !done)
        usleep(200);
    return v->least[FAILED] != INT64_MAX;
}

/* Waits for all tasks, and saves the tiles as they are before step k. Returns false if
 * a pivot has failed: tiles are not what they should be then. */
static bool save(const engine *g, checkpoint *c, int32_t k)
{
    const share *s = g->share;
    int64_t failed;

    starpu_mpi_wait_for_all(s->group->all);
    failed = pulse_failed();
    if (group_least(s->group, failed < 0 ? INT64_MAX : failed) != INT64_MAX)
        return false;
    for (int32_t i = 0; i < s->t.tiles; i++)
        for (int32_t j = 0; j <= i; j++)
            if (share_mine(s, i, j)) { /* where it belongs in memory */
                starpu_data_acquire(tile_of(g, i, j), STARPU_R);
                starpu_data_release(tile_of(g, i, j));
            }
    checkpoint_save(c, s, k);
    return true;
}

/* A checkpoint before step k has column k factored. */
static void sweep(const engine *g, checkpoint *c)
{
    int32_t tiles = g->share->t.tiles, first = c->step;
    const group *all = g->share->group;
    votes v;

    cast_vote(all, c, &v);
    if (first == 0)
        factor_column(g, 0);
    for (int32_t k = first; k < tiles; k++) {
        if (voted_to_stop(&v))
            return;
        if (k > first && v.least[SAVE] == 0 && !save(g, c, k))
            return;
        cast_vote(all, c, &v);
        if (k + 1 < tiles) {
            trail_column(g, k, k + 1, 1);
            factor_column(g, k + 1);
        }
        for (int32_t j = k + 2; j < tiles; j++)
            trail_column(g, k, j, 0);
        for (int32_t i = k + 1; i < tiles; i++)
            update_row(g, k, i);
        gather_row(g, k);
    }
    (void)voted_to_stop(&v);
}

ease_status engine_invert(const share *s, int threads, checkpoint *c, ease_error *err)
{
    double tiles = s->t.tiles;
    int64_t failed;
    engine g;
    ease_status status = prepare(&g, s, threads, err);

    if (status)
        return status;
    pulse_stage("solving", 3 * tiles * tiles * (tiles - c->step));
    starpu_resume();
    sweep(&g, c);
    finish(&g);
    starpu_pause();
    failed = pulse_failed();
    failed = group_least(s->group, failed < 0 ? INT64_MAX : failed);
    if (failed == INT64_MAX)
        return EASE_OK;
    pulse_forget_failure();
    return ease__fail_at(err, EASE_E_NOT_POSDEF, failed,
                         "the matrix is not positive definite at item %lld",
                         (long long)failed);
}
