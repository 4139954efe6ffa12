/* The backend "cpu": the task graph over tiles, on OpenBLAS. */
#include <cblas.h>
#include <stdio.h>

#include "compute/blas.h"
#include "solve/backends.h"
#include "solve/solve.h"

static int32_t probe(char why[EASE_BACKEND_TEXT])
{
    enum { OPENMP_FLAVOUR = 2 };

    if (openblas_get_parallel() == OPENMP_FLAVOUR)
        return EASE_BACKEND_OK;
    snprintf(
        why, EASE_BACKEND_TEXT,
        "the loaded OpenBLAS is not its OpenMP flavour, which is the one that keeps "
        "to this library's threads");
    return EASE_BACKEND_FAILED;
}

/* ---- between the contract and the library ---------------------------------------- */

static ease__tiled tiled_of(const ease_backend_matrix *a)
{
    ease__tiled t = ease__tiled_shape(
        a->items, a->edge, a->precision == EASE_BACKEND_F64 ? EASE__F64 : EASE__F32);

    t.stride = a->stride;
    t.bytes = ease__size_mul(ease__tile_count(t.tiles), ease__tile_bytes(&t));
    t.data = a->data;
    return t;
}

static const ease__tile_kernels *kernels_of(const ease__tiled *a)
{
    return a->element == EASE__F64 ? &ease__blas_f64 : &ease__blas_f32;
}

static int on_progress(void *user, const char *stage, double fraction)
{
    const ease_backend_call *call = user;

    (void)stage; /* the caller has a name for it */
    return call->progress(call->user, fraction);
}

static void on_log(void *user, int level, const char *text)
{
    const ease_backend_call *call = user;

    call->log(call->user, level, text);
}

static ease_hooks hooks_of(ease_backend_call *call)
{
    return (ease_hooks){.progress = call->progress ? on_progress : NULL,
                        .log = call->log ? on_log : NULL,
                        .user = call};
}

static int32_t result_of(ease_status status, const ease_error *err,
                         ease_backend_call *call)
{
    if (status) {
        call->item = err->where;
        call->sys_errno = err->sys_errno;
        snprintf(call->text, sizeof(call->text), "%s", err->text);
    }
    return ease__backend_status_from(status);
}

/* ---- for the plan ---------------------------------------------------------------- */

/* Measured: what OpenBLAS and the OpenMP runtime keep for each thread that
 * multiplies. */
enum { THREAD_BYTES = 3000000 };

static void scratch(const ease_backend_matrix *shape, int32_t threads,
                    size_t device_memory, ease_backend_scratch *out)
{
    (void)shape;
    (void)device_memory;
    *out = (ease_backend_scratch){.host_bytes = (size_t)threads * THREAD_BYTES};
}

/* A product small enough to be measured before every training. */
enum { MEASURED_EDGE = 512 };
static const double MEASURED_SECONDS = 0.025;

static int32_t rate(const ease_backend_matrix *shape, ease_backend_call *call,
                    double *flops_a_second)
{
    ease_error err = {0};
    ease_status status = ease_measure_product(
        MEASURED_EDGE, shape->precision == EASE_BACKEND_F64 ? EASE_F64 : EASE_F32,
        call->threads, MEASURED_SECONDS, flops_a_second, &err);

    return result_of(status, &err, call);
}

static void file_scratch(const ease_backend_matrix *shape, int32_t threads,
                         size_t memory, ease_backend_file_scratch *out)
{
    ease__tiled tiled = tiled_of(shape);
    int32_t columns = ease__invert_file_columns(&tiled, threads, memory);

    *out = (ease_backend_file_scratch){
        .least_bytes = ease__invert_file_least(&tiled, threads),
        .passes = columns ? (tiled.tiles + columns - 1) / columns : 0};
}

/* ---- inverting ------------------------------------------------------------------- */

static void warn_of_slow_kernels(const ease_hooks *hooks)
{
    ease_blas_info blas = {.size = sizeof(blas)};

    ease_blas_describe(&blas);
    if (blas.better)
        ease__log(hooks, 1,
                  "OpenBLAS uses its kernels for %s, an older processor: "
                  "OPENBLAS_CORETYPE=%s in the environment makes it faster",
                  blas.core, blas.better);
}

/* The threads to use, after checking that BLAS can have its buffers for them. */
static ease_status prepare_blas(const ease_backend_call *call, const ease_hooks *hooks,
                                int *threads, ease_error *err)
{
    *threads = ease__blas_threads(call->threads, hooks);
    return ease__blas_check_memory(*threads, err);
}

static int32_t invert(const ease_backend_matrix *a, ease_backend_call *call)
{
    ease__tiled tiled = tiled_of(a);
    ease_hooks hooks = hooks_of(call);
    ease_error err = {0};
    int threads;
    ease_status status = prepare_blas(call, &hooks, &threads, &err);

    if (!status) {
        warn_of_slow_kernels(&hooks);
        status = ease__invert_tiles(&tiled, kernels_of(&tiled), threads, &hooks, &err);
    }
    return result_of(status, &err, call);
}

static int32_t invert_file(const ease_backend_file *file, ease_backend_call *call)
{
    ease__tilefile f = {.shape = tiled_of(&file->shape),
                        .fd = file->fd,
                        .direct = file->direct != 0,
                        .dir = (char *)file->directory};
    ease_hooks hooks = hooks_of(call);
    ease_error err = {0};
    int threads;
    ease_status status = prepare_blas(call, &hooks, &threads, &err);

    if (!status) {
        warn_of_slow_kernels(&hooks);
        status = ease__invert_file(&f, kernels_of(&f.shape), file->memory, threads,
                                   &hooks, &err);
    }
    return result_of(status, &err, call);
}

const ease_backend ease__cpu = {
    .abi = EASE_BACKEND_ABI,
    .precisions = 1u << EASE_BACKEND_F32 | 1u << EASE_BACKEND_F64,
    .name = "cpu",
    .about = "the processors of this machine, by OpenBLAS",
    .probe = probe,
    .scratch = scratch,
    .rate = rate,
    .invert = invert,
    .file_scratch = file_scratch,
    .invert_file = invert_file,
};
