#include "transfer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"

/* ---- scales ---------------------------------------------------------------------- */

static double diagonal_of(const ease_backend_matrix *a, int32_t i)
{
    size_t at = ease_backend_offset(a, i, i);

    return a->precision == EASE_BACKEND_F64 ? ((const double *)a->data)[at]
                                            : (double)((const float *)a->data)[at];
}

/* A float, as entries are multiplied by it in float32. */
static float scale_of(double diagonal)
{
    enum { MOST = 120 };
    int exponent;

    if (!(diagonal > 0) || isinf(diagonal))
        return 1;
    frexp(diagonal, &exponent);
    exponent = -(exponent + (exponent > 0)) / 2;
    if (exponent < -MOST)
        exponent = -MOST;
    return ldexpf(1, exponent > MOST ? MOST : exponent);
}

int32_t send_scales(device *d, const ease_backend_matrix *a)
{
    size_t bytes = (size_t)d->l.padded * sizeof(float);
    float *scale = (float *)malloc(bytes);
    cudaError_t error;

    if (!scale)
        return failed_cuda(d->call, cudaErrorMemoryAllocation, "scales");
    for (int32_t i = 0; i < d->l.padded; i++)
        scale[i] = i < a->items ? scale_of(diagonal_of(a, i)) : 1;
    /* In the stream of what reads them: streams here do not wait for the default one. */
    error = cudaMemcpyAsync(d->scale, scale, bytes, cudaMemcpyHostToDevice,
                            d->streams[0]);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(d->streams[0]);
    free(scale);
    TRY_CUDA(d, error, "copying to the device");
    return EASE_BACKEND_OK;
}

/* ---- tiles ----------------------------------------------------------------------- */

static size_t tile_numbers(const ease_backend_matrix *a)
{
    return (size_t)a->edge * (size_t)a->edge;
}

static size_t number_bytes(const ease_backend_matrix *a)
{
    return a->precision == EASE_BACKEND_F64 ? sizeof(double) : sizeof(float);
}

static char *host_tile(const ease_backend_matrix *a, size_t tile)
{
    return (char *)a->data + tile * a->stride * number_bytes(a);
}

static size_t tile_count(const ease_backend_matrix *a)
{
    return (size_t)a->tiles * ((size_t)a->tiles + 1) / 2;
}

/* Row and column of the tile with this number. */
typedef struct place {
    int32_t i, j;
} place;

static place next_place(place p)
{
    return p.j < p.i ? (place){p.i, p.j + 1} : (place){p.i + 1, 0};
}

static void copy(char *to, const char *from, size_t bytes, int threads)
{
    const size_t part = (size_t)256 << 10;

#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t at = 0; at < bytes; at += part)
        memcpy(to + at, from + at, bytes - at < part ? bytes - at : part);
}

/* Its buffers on the host and the device. */
static char *ring_host(const device *d, size_t tile)
{
    return d->ring_host + tile % RING * d->ring_bytes;
}

static char *ring_device(const device *d, size_t tile)
{
    return d->ring_device + tile % RING * d->ring_bytes;
}

int32_t upload(device *d, const ease_backend_matrix *a)
{
    size_t bytes = tile_numbers(a) * number_bytes(a);
    place p = {0, 0};

    TRY(send_scales(d, a));
    TRY_CUDA(d,
             cudaMemsetAsync(d->matrix, 0, device_matrix_bytes(a->items, d->how),
                             d->streams[0]),
             "clearing device memory");
    TRY_CUDA(d, start_numbers(d), "copying to the device");
    for (size_t t = 0; t < tile_count(a); t++, p = next_place(p)) {
        cudaEvent_t event = d->ring_events[t % RING];

        TRY(course_report(d->told, 0));
        if (t >= RING)
            TRY_CUDA(d, cudaEventSynchronize(event), "copying to the device");
        copy(ring_host(d, t), host_tile(a, t), bytes, d->call->threads);
        TRY_CUDA(d,
                 cudaMemcpyAsync(ring_device(d, t), ring_host(d, t), bytes,
                                 cudaMemcpyHostToDevice, d->streams[0]),
                 "copying to the device");
        TRY_CUDA(d, tile_in(d, a, ring_device(d, t), p.i, p.j),
                 "copying to the device");
        TRY_CUDA(d, cudaEventRecord(event, d->streams[0]), "copying to the device");
    }
    TRY_CUDA(d, cudaStreamSynchronize(d->streams[0]), "copying to the device");
    return EASE_BACKEND_OK;
}

static int32_t send_back(device *d, const ease_backend_matrix *a, size_t tile, place p)
{
    size_t bytes = tile_numbers(a) * number_bytes(a);

    TRY_CUDA(d, tile_out(d, a, ring_device(d, tile), p.i, p.j),
             "copying from the device");
    TRY_CUDA(d,
             cudaMemcpyAsync(ring_host(d, tile), ring_device(d, tile), bytes,
                             cudaMemcpyDeviceToHost, d->streams[0]),
             "copying from the device");
    TRY_CUDA(d, cudaEventRecord(d->ring_events[tile % RING], d->streams[0]),
             "copying from the device");
    return EASE_BACKEND_OK;
}

int32_t download(device *d, const ease_backend_matrix *a)
{
    size_t bytes = tile_numbers(a) * number_bytes(a), sent = 0;
    place p = {0, 0};

    for (size_t t = 0; t < tile_count(a); t++) {
        TRY(course_report(d->told, d->told->shown));
        for (; sent < tile_count(a) && sent < t + RING; sent++, p = next_place(p))
            TRY(send_back(d, a, sent, p));
        TRY_CUDA(d, cudaEventSynchronize(d->ring_events[t % RING]),
                 "copying from the device");
        copy(host_tile(a, t), ring_host(d, t), bytes, d->call->threads);
    }
    return EASE_BACKEND_OK;
}
