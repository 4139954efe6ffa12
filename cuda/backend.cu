/* The backend cuda: the table of src/solve/backend.h for NVIDIA GPUs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "elements.h"
#include "outofcore.h"
#include "sweep.h"
#include "transfer.h"

/* ---- probing --------------------------------------------------------------------- */

enum { LEAST_CAPABILITY = 75 }; /* the first with tensor cores and their float32 sums */

static int32_t probe(char why[EASE_BACKEND_TEXT])
{
    int count = 0, driver = 0;
    cudaError_t error = cudaGetDeviceCount(&count);

    (void)cudaDriverGetVersion(&driver);
    if (driver == 0)
        snprintf(why, EASE_BACKEND_TEXT, "no NVIDIA driver is installed");
    else if (driver < CUDART_VERSION / 1000 * 1000)
        snprintf(why, EASE_BACKEND_TEXT,
                 "the NVIDIA driver is for CUDA %d.%d, and CUDA %d is needed: a newer "
                 "driver",
                 driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000);
    else if (error != cudaSuccess || count == 0)
        snprintf(why, EASE_BACKEND_TEXT, "no GPU: %s", cudaGetErrorString(error));
    else if (device_capability() < LEAST_CAPABILITY)
        snprintf(why, EASE_BACKEND_TEXT,
                 "the GPU has compute capability %d.%d, and 7.5 is needed",
                 device_capability() / 10, device_capability() % 10);
    else
        return EASE_BACKEND_OK;
    return EASE_BACKEND_FAILED;
}

/* ---- for the plan ---------------------------------------------------------------- */

/* The first arithmetic that is tried. */
static arithmetic arithmetic_of(const ease_backend_matrix *a, bool careful)
{
    return a->precision == EASE_BACKEND_F64 ? PLAIN64 : careful ? PLAIN32 : FAST;
}

/* Estimates of what the driver's context takes on the device, and of the kernels of
 * cuBLAS, which are loaded when they are first called. */
static const size_t CONTEXT_BYTES = (size_t)768 << 20, KERNEL_BYTES = (size_t)256 << 20;

/* Memory of the device. `allowed` depends on the device and the limit alone, so that a
 * matrix is always inverted in the same way, whatever else uses the device; `available`
 * is free now. */
typedef struct budget {
    size_t allowed, available;
} budget;

static size_t less(size_t bytes, size_t by)
{
    return bytes > by ? bytes - by : 0;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static budget budget_of(size_t limit)
{
    size_t available = 0, all = 0;
    budget b = {limit, SIZE_MAX};

    if (cudaMemGetInfo(&available, &all) != cudaSuccess)
        return b;
    b.allowed = less(all, CONTEXT_BYTES + KERNEL_BYTES);
    if (limit)
        b.allowed = smaller(limit, b.allowed);
    b.available = less(available, KERNEL_BYTES);
    return b;
}

/* The tile columns that are on the device at a time: 0, if all of the matrix is, and at
 * least one otherwise. */
static int32_t columns_of(const ease_backend_matrix *a, arithmetic how, size_t memory)
{
    int32_t columns;

    if (device_bytes(a, how) <= memory)
        return 0;
    columns = outofcore_columns(a, how, memory);
    return columns ? columns : 1;
}

static size_t bytes_of(const ease_backend_matrix *a, arithmetic how, int32_t columns)
{
    return columns ? outofcore_bytes(a, how, columns) : device_bytes(a, how);
}

static void scratch_by(arithmetic how, const ease_backend_matrix *shape, size_t limit,
                       ease_backend_scratch *out)
{
    budget b = budget_of(limit);
    size_t available = smaller(b.allowed, b.available);
    int32_t columns = columns_of(shape, how, b.allowed);

    *out = (ease_backend_scratch){
        columns ? outofcore_host_bytes(shape) : device_host_bytes(shape),
        bytes_of(shape, how, columns), available ? available : 1}; /* 0: unknown */
}

/* Measured on an H200: the rate of copies to and from the device, and what opening
 * takes. */
static const double COPIED_BYTES_A_SECOND = 15e9, START_SECONDS = 0.4;

static int32_t rate_by(arithmetic how, const ease_backend_matrix *shape,
                       ease_backend_call *call, double *flops_a_second)
{
    double n = shape->items, flops = n * n * n, most = device_rate(how);
    double filled = n / (n + 4 * BLOCK);
    int32_t columns = columns_of(shape, how, budget_of(call->device_memory).allowed);
    double copies = columns ? ceil((double)shape->tiles / columns) : 1;

    if (!(most > 0)) {
        snprintf(call->text, sizeof(call->text), "the GPU does not tell its clock");
        return EASE_BACKEND_FAILED;
    }
    *flops_a_second = flops / (flops / (most * filled) +
                               copies * n * n * (double)element_bytes(how) /
                                   COPIED_BYTES_A_SECOND +
                               START_SECONDS);
    return EASE_BACKEND_OK;
}

/* ---- the check on the device ----------------------------------------------------- */

/* Half of what the library allows. */
static const double ALLOWED_RESIDUAL = 1e-4;

/* The check of the whole solve in the scaled matrix: with v = D^-1 u for a random u,
 * D (P A v - v) is what P A u - u is without scales. */
typedef struct check {
    double *u, *back; /* padded numbers each */
    float *scale;
} check;

static void check_free(check *c)
{
    free(c->u);
    free(c->back);
    free(c->scale);
}

static int32_t check_start(device *d, check *c)
{
    size_t n = (size_t)d->l.padded;
    uint64_t state = 88172645463325252u;

    c->u = (double *)calloc(n, sizeof(double));
    c->back = (double *)calloc(n, sizeof(double));
    c->scale = (float *)calloc(n, sizeof(float));
    if (!c->u || !c->back || !c->scale)
        return failed_cuda(d->call, cudaErrorMemoryAllocation, "vectors of the check");
    TRY_CUDA(d,
             cudaMemcpyAsync(c->scale, d->scale, n * sizeof(float),
                             cudaMemcpyDeviceToHost, d->streams[0]),
             "checking");
    TRY_CUDA(d, cudaStreamSynchronize(d->streams[0]), "checking");
    for (int32_t i = 0; i < d->l.items; i++) {
        state ^= state << 13; /* xorshift64 */
        state ^= state >> 7;
        state ^= state << 17;
        c->u[i] = (double)(int64_t)state * 0x1p-63;
        c->back[i] = c->u[i] / (double)c->scale[i];
    }
    TRY_CUDA(d,
             cudaMemcpyAsync(d->v, c->back, n * sizeof(double), cudaMemcpyHostToDevice,
                             d->streams[0]),
             "checking");
    TRY_CUDA(d, times(d, d->v, d->wv), "checking");
    return EASE_BACKEND_OK;
}

static int32_t check_end(device *d, check *c, double *residual)
{
    size_t n = (size_t)d->l.padded;
    double off = 0, size = 0;

    TRY_CUDA(d, times(d, d->wv, d->back), "checking");
    TRY_CUDA(d,
             cudaMemcpyAsync(c->back, d->back, n * sizeof(double),
                             cudaMemcpyDeviceToHost, d->streams[0]),
             "checking");
    TRY_CUDA(d, cudaStreamSynchronize(d->streams[0]), "checking");
    for (int32_t i = 0; i < d->l.items; i++) {
        double r = (double)c->scale[i] * c->back[i] - c->u[i];

        off += r * r;
        size += c->u[i] * c->u[i];
    }
    *residual = sqrt(off / size);
    return EASE_BACKEND_OK;
}

/* ---- inverting ------------------------------------------------------------------- */

static const char *const NAMES[] = {"three half-precision products", "float32",
                                    "float64"};

/* Inverts in this arithmetic. Not accurate enough: *residual is above what is allowed,
 * and `a` is unchanged unless `last`. */
static int32_t work(device *d, const ease_backend_matrix *a, bool last,
                    double *residual)
{
    ease_backend_call *call = d->call;
    double start = seconds(), at_device, solved;
    double n = a->items, flops = n * n * n; /* as src/solve/backend.h counts them */
    check c = {};
    int32_t status = upload(d, a);

    if (!status)
        status = check_start(d, &c);
    if (!status)
        status = device_finish(d);
    at_device = seconds();
    if (!status)
        status = sweep(d);
    solved = seconds();
    if (!status)
        status = check_end(d, &c, residual);
    check_free(&c);
    if (!status && (last || *residual <= ALLOWED_RESIDUAL))
        status = download(d, a);
    if (!status)
        say(call, 3,
            "GPU, %s: to the device %.3f s, sweep %.4f s, %.1f TFLOP/s, check and back "
            "%.3f s, residual %.1e, %.2f GB on the device",
            NAMES[d->how], at_device - start, solved - at_device,
            flops / (solved - at_device) / 1e12, seconds() - solved, *residual,
            (double)device_bytes(a, d->how) / 1e9);
    return status;
}

static int32_t attempt(const ease_backend_matrix *a, arithmetic how, bool last,
                       course *told, double *residual)
{
    device d = {};
    int32_t status = device_open(a, how, told, &d);

    if (!status)
        status = work(&d, a, last, residual);
    device_close(&d);
    return status;
}

/* The result, which has replaced the matrix, is neither checked here nor computed again:
 * the caller does both, by `careful`. */
static int32_t invert_host(const ease_backend_matrix *a, arithmetic how,
                           int32_t columns, course *told)
{
    double start = seconds();

    TRY(outofcore_invert(a, how, columns, told));
    say(told->call, 3,
        "GPU, %s, %d of %d tile columns at a time: %.3f s, %.2f GB on the "
        "device",
        NAMES[how], (int)columns, (int)a->tiles, seconds() - start,
        (double)outofcore_bytes(a, how, columns) / 1e9);
    return course_report(told, 1);
}

static int32_t check_memory(const ease_backend_matrix *a, arithmetic how,
                            int32_t columns, size_t available, ease_backend_call *call)
{
    size_t bytes = bytes_of(a, how, columns);

    if (bytes <= available)
        return EASE_BACKEND_OK;
    snprintf(
        call->text, sizeof(call->text),
        "the inversion takes %.2f GB of the GPU's memory, of which %.2f GB are free",
        (double)bytes / 1e9, (double)available / 1e9);
    return EASE_BACKEND_NO_MEMORY;
}

/* FAST, and PLAIN32 if its result is not accurate enough. */
static int32_t invert_fast(const ease_backend_matrix *a, course *told)
{
    ease_backend_call *call = told->call;
    double residual = 0;
    int32_t status = attempt(a, FAST, false, told, &residual);

    if (status == EASE_BACKEND_NOT_POSDEF)
        say(call, 2,
            "GPU: a pivot is lost to rounding in three half-precision products: again "
            "in float32");
    else if (!status && !(residual <= ALLOWED_RESIDUAL))
        say(call, 2,
            "GPU: the residual of three half-precision products is %.1e: again in "
            "float32",
            residual);
    else
        return status;
    call->text[0] = '\0';
    call->item = -1;
    return attempt(a, PLAIN32, true, told, &residual);
}

static int32_t invert_by(arithmetic how, const ease_backend_matrix *a,
                         ease_backend_call *call)
{
    course told = {};
    budget b = budget_of(call->device_memory);
    int32_t columns = columns_of(a, how, b.allowed);
    double residual = 0;

    told.call = call;
    TRY(check_memory(a, how, columns, b.available, call));
    TRY(course_report(&told, 0));
    if (columns)
        TRY(invert_host(a, how, columns, &told));
    else
        TRY(how == FAST ? invert_fast(a, &told)
                        : attempt(a, how, true, &told, &residual));
    return course_report(&told, 1);
}

/* ---- the table ------------------------------------------------------------------- */

static void scratch(const ease_backend_matrix *shape, int32_t threads,
                    size_t device_memory, ease_backend_scratch *out)
{
    (void)threads;
    scratch_by(arithmetic_of(shape, false), shape, device_memory, out);
}

static int32_t rate(const ease_backend_matrix *shape, ease_backend_call *call,
                    double *flops_a_second)
{
    return rate_by(arithmetic_of(shape, false), shape, call, flops_a_second);
}

static int32_t invert(const ease_backend_matrix *a, ease_backend_call *call)
{
    return invert_by(arithmetic_of(a, false), a, call);
}

static void careful_scratch(const ease_backend_matrix *shape, int32_t threads,
                            size_t device_memory, ease_backend_scratch *out)
{
    (void)threads;
    scratch_by(arithmetic_of(shape, true), shape, device_memory, out);
}

static int32_t careful_rate(const ease_backend_matrix *shape, ease_backend_call *call,
                            double *flops_a_second)
{
    return rate_by(arithmetic_of(shape, true), shape, call, flops_a_second);
}

static int32_t careful_invert(const ease_backend_matrix *a, ease_backend_call *call)
{
    return invert_by(arithmetic_of(a, true), a, call);
}

#define NAME  "cuda"
#define ABOUT "an NVIDIA GPU, by cuBLAS"

static const ease_backend careful_table = {
    EASE_BACKEND_ABI,
    1u << EASE_BACKEND_F32 | 1u << EASE_BACKEND_F64,
    NAME,
    ABOUT,
    probe,
    careful_scratch,
    careful_rate,
    careful_invert,
    NULL,
    NULL,
    NULL,
};

/* Only a result out of core is not checked here: it has replaced the matrix. */
static const ease_backend *careful(const ease_backend_matrix *shape, int32_t threads,
                                   size_t device_memory)
{
    arithmetic how = arithmetic_of(shape, false);

    (void)threads;
    if (how == FAST && columns_of(shape, how, budget_of(device_memory).allowed) > 0)
        return &careful_table;
    return NULL;
}

static const ease_backend table = {
    EASE_BACKEND_ABI,
    1u << EASE_BACKEND_F32 | 1u << EASE_BACKEND_F64,
    NAME,
    ABOUT,
    probe,
    scratch,
    rate,
    invert,
    NULL,
    NULL,
    careful,
};

extern "C" __attribute__((visibility("default"))) const ease_backend *
ease_backend_v1(uint32_t abi)
{
    return abi == EASE_BACKEND_ABI ? &table : NULL;
}
