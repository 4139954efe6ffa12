#include "device.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cost.h"

double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void say(ease_backend_call *call, int level, const char *format, ...)
{
    char text[EASE_BACKEND_TEXT];
    va_list arguments;

    if (!call->log)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    call->log(call->user, level, text);
}

int32_t failed_cuda(ease_backend_call *call, cudaError_t error, const char *doing)
{
    snprintf(call->text, sizeof(call->text), "%s: %s (error %d)", doing,
             cudaGetErrorString(error), (int)error);
    (void)cudaGetLastError(); /* forget it, unless the device is lost */
    return error == cudaErrorMemoryAllocation ? EASE_BACKEND_NO_MEMORY
                                              : EASE_BACKEND_FAILED;
}

int32_t failed_cublas(ease_backend_call *call, cublasStatus_t error, const char *doing)
{
    snprintf(call->text, sizeof(call->text), "%s: %s (status %d)", doing,
             cublasGetStatusString(error), (int)error);
    return error == CUBLAS_STATUS_ALLOC_FAILED ? EASE_BACKEND_NO_MEMORY
                                               : EASE_BACKEND_FAILED;
}

/* ---- sizes ----------------------------------------------------------------------- */

static size_t align(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

size_t device_matrix_bytes(int32_t items, arithmetic how)
{
    return align(layout_elements(layout_of(items)) * element_bytes(how));
}

static size_t operands_bytes(layout l, arithmetic how)
{
    return align((size_t)l.padded * (size_t)l.block * operand_bytes(how));
}

static size_t rows_bytes(layout l, arithmetic how)
{
    return align((size_t)l.padded * (size_t)l.block * element_bytes(how));
}

static size_t diagonal_bytes(layout l, arithmetic how)
{
    return align((size_t)l.block * (size_t)l.block * operand_bytes(how));
}

static size_t panel_bytes(layout l, arithmetic how)
{
    return align((size_t)l.block * BASE * element_bytes(how));
}

static size_t tile_bytes(const ease_backend_matrix *a)
{
    return (size_t)a->edge * (size_t)a->edge *
           (a->precision == EASE_BACKEND_F64 ? sizeof(double) : sizeof(float));
}

static size_t vector_bytes(layout l, size_t each)
{
    return align((size_t)l.padded * each);
}

size_t device_host_bytes(const ease_backend_matrix *shape)
{
    /* Measured: what the driver, its context and cuBLAS keep in host memory. */
    return (size_t)RING * tile_bytes(shape) + ((size_t)600 << 20);
}

size_t device_bytes(const ease_backend_matrix *shape, arithmetic how)
{
    layout l = layout_of(shape->items);

    return device_matrix_bytes(shape->items, how) + operands_bytes(l, how) +
           rows_bytes(l, how) + 2 * diagonal_bytes(l, how) + panel_bytes(l, how) +
           (size_t)HANDLES * WORKSPACE + align(sizeof(numbers)) +
           vector_bytes(l, sizeof(float)) + 3 * vector_bytes(l, sizeof(double)) +
           RING * align(tile_bytes(shape));
}

/* ---- speed ----------------------------------------------------------------------- */

static int attribute(cudaDeviceAttr what)
{
    int value = 0, device = 0;

    if (cudaGetDevice(&device) == cudaSuccess)
        (void)cudaDeviceGetAttribute(&value, what, device);
    return value;
}

int device_capability(void)
{
    return 10 * attribute(cudaDevAttrComputeCapabilityMajor) +
           attribute(cudaDevAttrComputeCapabilityMinor);
}

/* Measured on an H200: the share of the peak that the sweep reaches with many blocks. */
static const double SHARE = 0.65;

double device_rate(arithmetic how)
{
    cost_rates r = cost_rates_of(device_capability());
    double flops = how == FAST ? r.halves / 3 : how == PLAIN32 ? r.single : r.wide;

    return SHARE * flops * 1e3 * attribute(cudaDevAttrClockRate) *
           attribute(cudaDevAttrMultiProcessorCount);
}

/* ---- opening and closing --------------------------------------------------------- */

/* One allocation, which `at` walks through. */
static char *take(char **at, size_t bytes)
{
    char *here = *at;

    *at += align(bytes);
    return here;
}

static int32_t allocate(device *d, const ease_backend_matrix *a)
{
    size_t bytes = device_bytes(a, d->how);
    layout l = d->l;
    char *at;

    TRY_CUDA(d, cudaMalloc((void **)&d->matrix, bytes), "allocating device memory");
    at = d->matrix + device_matrix_bytes(l.items, d->how);
    d->operands = take(&at, operands_bytes(l, d->how));
    d->rows = take(&at, rows_bytes(l, d->how));
    d->w_across = take(&at, diagonal_bytes(l, d->how));
    d->w_down = take(&at, diagonal_bytes(l, d->how));
    d->panel = take(&at, panel_bytes(l, d->how));
    d->workspace = take(&at, (size_t)HANDLES * WORKSPACE);
    d->shared = (numbers *)take(&at, sizeof(numbers));
    d->scale = (float *)take(&at, vector_bytes(l, sizeof(float)));
    d->v = (double *)take(&at, vector_bytes(l, sizeof(double)));
    d->wv = (double *)take(&at, vector_bytes(l, sizeof(double)));
    d->back = (double *)take(&at, vector_bytes(l, sizeof(double)));
    d->ring_bytes = align(tile_bytes(a));
    d->ring_device = take(&at, RING * d->ring_bytes);
    TRY_CUDA(d, cudaMallocHost((void **)&d->ring_host, RING * d->ring_bytes),
             "allocating pinned memory");
    return EASE_BACKEND_OK;
}

static int32_t open_handle(device *d, int s)
{
    int least, most;
    cublasStatus_t status;

    TRY_CUDA(d, cudaDeviceGetStreamPriorityRange(&least, &most),
             "asking for priorities");
    TRY_CUDA(d,
             cudaStreamCreateWithPriority(&d->streams[s], cudaStreamNonBlocking,
                                          s == STREAMS ? most : least),
             "creating a stream");
    status = cublasCreate(&d->handles[s]);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasSetStream(d->handles[s], d->streams[s]);
    if (status == CUBLAS_STATUS_SUCCESS) /* after the stream, which resets it */
        status = cublasSetWorkspace(d->handles[s], d->workspace + (size_t)s * WORKSPACE,
                                    WORKSPACE);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasSetPointerMode(d->handles[s], CUBLAS_POINTER_MODE_DEVICE);
    return status == CUBLAS_STATUS_SUCCESS
               ? (int32_t)EASE_BACKEND_OK
               : failed_cublas(d->call, status, "starting cuBLAS");
}

static int32_t open_event(device *d, cudaEvent_t *e)
{
    TRY_CUDA(d, cudaEventCreateWithFlags(e, cudaEventDisableTiming),
             "creating an event");
    return EASE_BACKEND_OK;
}

static int32_t open_events(device *d)
{
    TRY(open_event(d, &d->forked));
    TRY(open_event(d, &d->factored));
    TRY(open_event(d, &d->ready));
    for (int i = 0; i < HANDLES; i++)
        TRY(open_event(d, &d->joined[i]));
    for (int i = 0; i < TICKETS; i++)
        TRY(open_event(d, &d->tickets[i]));
    for (int i = 0; i < RING; i++)
        TRY(open_event(d, &d->ring_events[i]));
    return EASE_BACKEND_OK;
}

/* The work that a caller who cancels waits for. */
static const double AHEAD_SECONDS = 0.2, LEAST_AHEAD = 1e10;

int32_t device_open_streams(device *d)
{
    d->most_ahead = AHEAD_SECONDS * device_rate(d->how);
    if (!(d->most_ahead > LEAST_AHEAD))
        d->most_ahead = LEAST_AHEAD;
    for (int s = 0; s < HANDLES; s++)
        TRY(open_handle(d, s));
    return open_events(d);
}

int32_t device_open(const ease_backend_matrix *a, arithmetic how, course *told,
                    device *d)
{
    *d = (device){};
    d->l = layout_of(a->items);
    d->how = how;
    d->told = told;
    d->call = told->call;
    d->whole = cost_sweep(d->l);
    TRY(allocate(d, a));
    return device_open_streams(d);
}

static void close_event(cudaEvent_t e)
{
    if (e)
        (void)cudaEventDestroy(e);
}

void device_close(device *d)
{
    (void)cudaDeviceSynchronize();
    close_event(d->forked);
    close_event(d->factored);
    close_event(d->ready);
    for (int i = 0; i < HANDLES; i++)
        close_event(d->joined[i]);
    for (int i = 0; i < TICKETS; i++)
        close_event(d->tickets[i]);
    for (int i = 0; i < RING; i++)
        close_event(d->ring_events[i]);
    for (int s = 0; s < HANDLES; s++) {
        if (d->handles[s])
            (void)cublasDestroy(d->handles[s]);
        if (d->streams[s])
            (void)cudaStreamDestroy(d->streams[s]);
    }
    (void)cudaFreeHost(d->ring_host);
    (void)cudaFree(d->matrix);
    *d = (device){};
}

/* ---- progress -------------------------------------------------------------------- */

static const double REPORT_SECONDS = 0.05;
static const double SWEPT = 0.99; /* the fraction when the sweep ends */

int32_t course_report(course *c, double fraction)
{
    ease_backend_call *call = c->call;
    double now = seconds();
    bool end = fraction == 1 || c->reported == 0;

    if (!call->progress || (!end && now - c->reported < REPORT_SECONDS))
        return EASE_BACKEND_OK;
    c->reported = now;
    c->shown = fraction > c->shown ? fraction : c->shown;
    if (!call->progress(call->user, c->shown))
        return EASE_BACKEND_OK;
    snprintf(call->text, sizeof(call->text), "cancelled");
    return EASE_BACKEND_CANCELLED;
}

int32_t device_report(device *d)
{
    return course_report(d->told, SWEPT * fmin(d->done / d->whole, 1));
}

/* Waits for the oldest ticket, reporting meanwhile. */
static int32_t wait_ticket(device *d)
{
    int slot = d->ticket_first % TICKETS;
    cudaError_t error;

    while ((error = cudaEventQuery(d->tickets[slot])) == cudaErrorNotReady) {
        struct timespec nap = {0, 200000};

        TRY(device_report(d));
        nanosleep(&nap, NULL);
    }
    if (error != cudaSuccess)
        return failed_cuda(d->call, error, "solving");
    d->done = d->ticket_done[slot];
    d->ticket_first++;
    return device_report(d);
}

/* True if no more work should be submitted before a ticket is done: the work ahead is
 * bounded by its flops, as one product may be more than a share of them. */
static bool too_far_ahead(const device *d)
{
    int tickets = d->ticket_next - d->ticket_first;

    return tickets == TICKETS ||
           (tickets > 0 && d->ticketed + d->since_ticket - d->done > d->most_ahead);
}

int32_t device_submitted(device *d, double flops)
{
    int slot = d->ticket_next % TICKETS;

    d->since_ticket += flops;
    if (d->since_ticket < d->most_ahead / TICKETS)
        return EASE_BACKEND_OK;
    while (too_far_ahead(d))
        TRY(wait_ticket(d));
    TRY_CUDA(d, cudaEventRecord(d->tickets[slot], d->streams[0]), "solving");
    d->ticketed += d->since_ticket;
    d->ticket_done[slot] = d->ticketed;
    d->since_ticket = 0;
    d->ticket_next++;
    return EASE_BACKEND_OK;
}

int32_t device_finish(device *d)
{
    while (d->ticket_first < d->ticket_next)
        TRY(wait_ticket(d));
    TRY_CUDA(d, cudaDeviceSynchronize(), "solving");
    d->done = d->ticketed + d->since_ticket;
    return EASE_BACKEND_OK;
}

int32_t device_fork(device *d)
{
    TRY_CUDA(d, cudaEventRecord(d->forked, d->streams[0]), "solving");
    for (int s = 1; s < STREAMS; s++)
        TRY_CUDA(d, cudaStreamWaitEvent(d->streams[s], d->forked, 0), "solving");
    return EASE_BACKEND_OK;
}

int32_t device_join(device *d)
{
    for (int s = 1; s < STREAMS; s++) {
        TRY_CUDA(d, cudaEventRecord(d->joined[s], d->streams[s]), "solving");
        TRY_CUDA(d, cudaStreamWaitEvent(d->streams[0], d->joined[s], 0), "solving");
    }
    return EASE_BACKEND_OK;
}
