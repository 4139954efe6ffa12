/* The routines of BLAS and LAPACK that the library calls, in plain C. The tsan preset
 * links them in place of OpenBLAS, whose accesses to memory ThreadSanitizer cannot
 * see. Only the variants that are called exist; others end in an assertion. */
#undef NDEBUG
#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#define REAL            float
#define NAME(what)      what##_f32
#define CBLAS(routine)  cblas_s##routine
#define LAPACK(routine) s##routine##_
#include "plain_blas_real.h"

#define REAL            double
#define NAME(what)      what##_f64
#define CBLAS(routine)  cblas_d##routine
#define LAPACK(routine) d##routine##_
#include "plain_blas_real.h"

/* ---- orthogonal factors and eigenvectors: float64 alone, matrices by columns ----- */

void dgeqrf_(const int *rows, const int *columns, double *a, const int *ld, double *tau,
             double *work, const int *work_count, int *info);
void dorgqr_(const int *rows, const int *columns, const int *reflections, double *a,
             const int *ld, const double *tau, double *work, const int *work_count,
             int *info);
void dsyevd_(const char *job, const char *half, const int *n, double *a, const int *ld,
             double *values, double *work, const int *work_count, int *counts,
             const int *counts_count, int *info, size_t job_length, size_t half_length);

/* x -= tau v (v'x), where v is 1 followed by `below`. */
static void reflect(double *x, const double *below, int count, double tau)
{
    double sum = x[0];

    for (int i = 1; i < count; i++)
        sum += below[i - 1] * x[i];
    sum *= tau;
    x[0] -= sum;
    for (int i = 1; i < count; i++)
        x[i] -= sum * below[i - 1];
}

/* A = Q R by Householder reflections, whose vectors replace what is below R. */
void dgeqrf_(const int *rows, const int *columns, double *a, const int *ld, double *tau,
             double *work, const int *work_count, int *info)
{
    (void)work, (void)work_count;
    assert(*columns <= *rows);
    for (int j = 0; j < *columns; j++) {
        double *x = a + (size_t)j * (size_t)*ld + (size_t)j, norm = 0, first = x[0];
        int count = *rows - j;

        for (int i = 0; i < count; i++)
            norm += x[i] * x[i];
        norm = first > 0 ? -sqrt(norm) : sqrt(norm);
        tau[j] = norm == 0 ? 0 : (norm - first) / norm;
        for (int i = 1; i < count && norm != 0; i++)
            x[i] /= first - norm;
        for (int k = j + 1; k < *columns; k++)
            reflect(x + (size_t)(k - j) * (size_t)*ld, x + 1, count, tau[j]);
        x[0] = norm;
    }
    *info = 0;
}

/* The first columns of Q, from the last one backwards. */
void dorgqr_(const int *rows, const int *columns, const int *reflections, double *a,
             const int *ld, const double *tau, double *work, const int *work_count,
             int *info)
{
    (void)work, (void)work_count;
    assert(*reflections == *columns);
    for (int j = *columns - 1; j >= 0; j--) {
        double *x = a + (size_t)j * (size_t)*ld + (size_t)j;
        int count = *rows - j;

        for (int k = j + 1; k < *columns; k++)
            reflect(x + (size_t)(k - j) * (size_t)*ld, x + 1, count, tau[j]);
        x[0] = 1 - tau[j];
        for (int i = 1; i < count; i++)
            x[i] *= -tau[j];
        for (int i = 1; i <= j; i++)
            x[-i] = 0;
    }
    *info = 0;
}

/* (x, y) = (c x - s y, s x + c y), elements `step` apart. */
static void rotate(double *x, double *y, int count, size_t step, double c, double s)
{
    for (size_t i = 0; i < (size_t)count; i++) {
        double first = x[i * step], second = y[i * step];

        x[i * step] = c * first - s * second;
        y[i * step] = s * first + c * second;
    }
}

/* Makes a[p][q] zero by one rotation of rows and columns; `vectors` are columns too. */
static void jacobi_step(double *a, double *vectors, int n, int p, int q)
{
    size_t order = (size_t)n, at_p = (size_t)p * order, at_q = (size_t)q * order;
    double off = a[at_p + (size_t)q], theta, t, c;

    if (off == 0)
        return;
    theta = (a[at_q + (size_t)q] - a[at_p + (size_t)p]) / (2 * off);
    t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
    c = 1 / sqrt(t * t + 1);
    rotate(a + at_p, a + at_q, n, 1, c, t * c);
    rotate(a + p, a + q, n, order, c, t * c);
    rotate(vectors + at_p, vectors + at_q, n, 1, c, t * c);
}

/* Exchanges eigenvectors until their values ascend. */
static void sort_vectors(double *values, double *vectors, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (values[j] < values[i]) {
                double value = values[i];

                values[i] = values[j];
                values[j] = value;
                rotate(vectors + (size_t)i * (size_t)n, vectors + (size_t)j * (size_t)n,
                       n, 1, 0, 1);
            }
}

/* Cyclic Jacobi: a becomes the eigenvectors, by ascending eigenvalue. */
void dsyevd_(const char *job, const char *half, const int *order, double *a,
             const int *ld, double *values, double *work, const int *work_count,
             int *counts, const int *counts_count, int *info, size_t job_length,
             size_t half_length)
{
    enum { SWEEPS = 30 }; /* some ten converge */
    int n = *order;
    size_t size = (size_t)n;
    double *vectors = work;

    (void)counts, (void)counts_count;
    assert(*job == 'V' && job_length == 1 && *half == 'L' && half_length == 1);
    assert(*ld == n && *work_count >= n * n);
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < size; j++) {
            vectors[i * size + j] = i == j;
            if (j < i)
                a[i * size + j] = a[j * size + i];
        }
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++)
                jacobi_step(a, vectors, n, p, q);
    for (size_t i = 0; i < size; i++)
        values[i] = a[i * (size + 1)];
    sort_vectors(values, vectors, n);
    for (size_t i = 0; i < size * size; i++)
        a[i] = vectors[i];
    *info = 0;
}

/* ---- OpenBLAS's account of itself ------------------------------------------------ */

char *openblas_get_config(void)
{
    static char text[] = "plain C of the tests, MAX_THREADS=64";

    return text;
}

char *openblas_get_corename(void)
{
    static char text[] = "plain";

    return text;
}

int openblas_get_num_threads(void)
{
    return 1;
}

int openblas_get_parallel(void)
{
    return 2; /* as the OpenMP flavour says */
}

/* ---- the library's gate ---------------------------------------------------------- */

/* At most as many threads as OpenBLAS has buffers are let into it, by a semaphore. To
 * ThreadSanitizer that semaphore orders all calls, and so hides races between them:
 * here everyone is let in. */
void __wrap_ease__blas_begin(void);
void __wrap_ease__blas_end(void);

void __wrap_ease__blas_begin(void)
{
}

void __wrap_ease__blas_end(void)
{
}
