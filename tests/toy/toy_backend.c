/* A backend in as little code as the contract allows: copies the tiles to a dense
 * matrix in double (as others copy them to a device), inverts that, and copies the
 * result back. Built as a shared object that links nothing of the library, it is a
 * plugin. Copied into src/solve, with BACKEND(ease__toy_backend) in
 * src/solve/backends.h, it is built in. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "solve/backend.h"

static int32_t probe(char why[EASE_BACKEND_TEXT])
{
    (void)why;
    return EASE_BACKEND_OK;
}

static size_t square_bytes(const ease_backend_matrix *shape)
{
    return (size_t)shape->items * (size_t)shape->items * sizeof(double);
}

static void scratch(const ease_backend_matrix *shape, int32_t threads,
                    size_t device_memory, ease_backend_scratch *out)
{
    (void)threads;
    (void)device_memory;
    *out = (ease_backend_scratch){.host_bytes = square_bytes(shape)};
}

static int32_t rate(const ease_backend_matrix *shape, ease_backend_call *call,
                    double *flops_a_second)
{
    (void)shape;
    (void)call;
    *flops_a_second = 1e9; /* an estimate: one processor, no vector instructions */
    return EASE_BACKEND_OK;
}

static int32_t fail(ease_backend_call *call, ease_backend_status status,
                    const char *text)
{
    snprintf(call->text, sizeof(call->text), "%s", text);
    return (int32_t)status;
}

static void load(const ease_backend_matrix *a, double *d)
{
    size_t n = (size_t)a->items;

    for (int32_t i = 0; i < a->items; i++)
        for (int32_t j = 0; j <= i; j++) {
            size_t at = ease_backend_offset(a, i, j);

            d[(size_t)i * n + (size_t)j] = a->precision == EASE_BACKEND_F64
                                               ? ((const double *)a->data)[at]
                                               : (double)((const float *)a->data)[at];
        }
}

static void store(const double *d, const ease_backend_matrix *a)
{
    size_t n = (size_t)a->items;

    for (int32_t i = 0; i < a->items; i++)
        for (int32_t j = 0; j <= i; j++) {
            size_t at = ease_backend_offset(a, i, j);
            double value = d[(size_t)i * n + (size_t)j];

            if (a->precision == EASE_BACKEND_F64)
                ((double *)a->data)[at] = value;
            else
                ((float *)a->data)[at] = (float)value;
        }
}

/* Row i of W = L^-1, where A = L L', from row i of A and the rows of W above: with
 * l = W a_i, the row of L left of its diagonal, W_i = -(l' W) / L_ii. False: the pivot
 * is not positive. */
static int next_row(double *d, double *l, size_t n, size_t i)
{
    double *row = d + i * n, pivot = row[i];

    for (size_t k = 0; k < i; k++) {
        l[k] = 0;
        for (size_t j = 0; j <= k; j++)
            l[k] += d[k * n + j] * row[j];
        pivot -= l[k] * l[k];
    }
    if (!(pivot > 0))
        return 0;
    pivot = sqrt(pivot);
    for (size_t j = 0; j < i; j++) {
        double sum = 0;

        for (size_t k = j; k < i; k++)
            sum += l[k] * d[k * n + j];
        row[j] = -sum / pivot;
    }
    row[i] = 1 / pivot;
    return 1;
}

/* P = W'W in place: row i of P needs rows i and below of W. */
static void finish_row(double *d, double *sums, size_t n, size_t i)
{
    for (size_t j = 0; j <= i; j++) {
        sums[j] = 0;
        for (size_t k = i; k < n; k++)
            sums[j] += d[k * n + i] * d[k * n + j];
    }
    for (size_t j = 0; j <= i; j++)
        d[i * n + j] = sums[j];
}

/* Nonzero: cancelled. */
static int report(ease_backend_call *call, size_t done, size_t all)
{
    return call->progress && call->progress(call->user, (double)done / (double)all);
}

static int32_t invert_dense(double *d, double *vector, size_t n,
                            ease_backend_call *call)
{
    for (size_t i = 0; i < n; i++) {
        if (report(call, i, 2 * n))
            return fail(call, EASE_BACKEND_CANCELLED, "cancelled");
        if (!next_row(d, vector, n, i)) {
            call->item = (int64_t)i;
            return fail(call, EASE_BACKEND_NOT_POSDEF, "a pivot is not positive");
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (report(call, n + i, 2 * n))
            return fail(call, EASE_BACKEND_CANCELLED, "cancelled");
        finish_row(d, vector, n, i);
    }
    if (report(call, 1, 1))
        return fail(call, EASE_BACKEND_CANCELLED, "cancelled");
    return EASE_BACKEND_OK;
}

static int32_t invert(const ease_backend_matrix *a, ease_backend_call *call)
{
    size_t n = (size_t)a->items;
    double *d = malloc(square_bytes(a)), *vector = malloc(n * sizeof(*vector));
    int32_t status;

    if (d && vector) {
        load(a, d);
        status = invert_dense(d, vector, n, call);
    } else {
        status = fail(call, EASE_BACKEND_NO_MEMORY, "a square of doubles");
    }
    if (status == EASE_BACKEND_OK)
        store(d, a);
    free(d);
    free(vector);
    return status;
}

extern const ease_backend ease__toy_backend;

const ease_backend ease__toy_backend = {
    .abi = EASE_BACKEND_ABI,
    .precisions = 1u << EASE_BACKEND_F32 | 1u << EASE_BACKEND_F64,
    .name = "toy",
    .about = "an example: one thread, in double",
    .probe = probe,
    .scratch = scratch,
    .rate = rate,
    .invert = invert,
};

__attribute__((visibility("default"))) const ease_backend *
ease_backend_v1(uint32_t abi);

const ease_backend *ease_backend_v1(uint32_t abi)
{
    return abi == EASE_BACKEND_ABI ? &ease__toy_backend : NULL;
}
