/* Limits of the machine: the rates of matrix products and of copying memory. */
#include <cblas.h>
#include <omp.h>
#include <string.h>

#include "compute/blas.h"

static ease_status check_request(double amount, int threads, double seconds,
                                 const double *out, ease_error *err)
{
    if (!out || !(amount >= 1) || !(seconds >= 0))
        return ease__fail(err, EASE_E_ARG, "a size and a time to measure are required");
    return ease__threads_check(threads, err);
}

/* ---- products ----------------------------------------------------------------- */

/* Fills matrices of either precision with ordinary numbers, which no kernel treats
 * specially. */
static void fill(void *buffer, size_t count, bool wide)
{
    for (size_t i = 0; i < count; i++) {
        double value = (double)(i % 1021) / 1021 - 0.5;

        if (wide)
            ((double *)buffer)[i] = value;
        else
            ((float *)buffer)[i] = (float)value;
    }
}

/* The rate of products of one thread on its own matrices. BLAS must not start
 * threads here: the caller has set OpenMP's threads to 1. */
static double thread_flops(char *buffer, int32_t n, bool wide, double seconds)
{
    size_t square = (size_t)n * (size_t)n, size = wide ? 8 : 4;
    void *a = buffer, *b = buffer + square * size, *c = buffer + 2 * square * size;
    double products = -1, begin = 0, now = 0; /* the first product is not measured */

    while (products < 1 || now - begin < seconds) {
        if (products == 0)
            begin = ease__seconds();
        ease__blas_begin();
        if (wide)
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, n, 1, a, n, b, n,
                        0, c, n);
        else
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, n, 1, a, n, b, n,
                        0, c, n);
        ease__blas_end();
        products++;
        now = ease__seconds();
    }
    return products * 2 * (double)square * n / (now - begin);
}

ease_status ease_measure_product(int32_t n, ease_precision precision, int threads,
                                 double seconds, double *flops_a_second,
                                 ease_error *err)
{
    bool wide = precision == EASE_F64;
    size_t square = ease__size_mul((size_t)n, (size_t)n), each;
    ease_status status = check_request(n, threads, seconds, flops_a_second, err);
    double sum = 0;
    char *all;

    if (status)
        return status;
    threads = ease__blas_threads(threads, NULL);
    status = ease__blas_check_memory(threads, err);
    if (status)
        return status;
    each = ease__size_mul(square, wide ? 24 : 12);
    all = ease__alloc_pages(ease__size_mul((size_t)threads, each));
    if (!all)
        return ease__fail(err, EASE_E_NOMEM, "products of %d x %d on %d threads",
                          (int)n, (int)n, threads);
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
        char *own = all + (size_t)omp_get_thread_num() * each;

        omp_set_num_threads(1);
        fill(own, 3 * square, wide);
#pragma omp barrier
        sum += thread_flops(own, n, wide, seconds);
    }
    ease__free_pages(all, (size_t)threads * each);
    *flops_a_second = sum;
    return EASE_OK;
}

/* ---- copies ------------------------------------------------------------------- */

static double thread_copies(char *to, const char *from, size_t bytes, double seconds)
{
    double copies = 0, begin = ease__seconds(), now = begin;

    while (copies < 1 || now - begin < seconds) {
        memcpy(to, from, bytes);
        copies++;
        now = ease__seconds();
    }
    return copies * (double)bytes / (now - begin);
}

ease_status ease_measure_copy(size_t bytes, int threads, double seconds,
                              double *bytes_a_second, ease_error *err)
{
    enum { PAGE = 4096 }; /* shares are aligned to pages */
    ease_status status = check_request((double)bytes, threads, seconds, bytes_a_second,
                                       err);
    size_t share;
    double sum = 0;
    char *all;

    if (status)
        return status;
    threads = ease__threads(threads);
    share = (bytes / (size_t)threads / PAGE + 1) * PAGE;
    all = ease__alloc_pages(ease__size_mul(2 * (size_t)threads, share));
    if (!all)
        return ease__fail(err, EASE_E_NOMEM, "copies of %zu bytes", bytes);
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
        char *own = all + 2 * (size_t)omp_get_thread_num() * share;

        memset(own, 1, 2 * share); /* so that no page is allocated while copying */
#pragma omp barrier
        sum += thread_copies(own + share, own, share, seconds);
    }
    ease__free_pages(all, 2 * (size_t)threads * share);
    *bytes_a_second = sum;
    return EASE_OK;
}
