/* The inverse of the Cholesky factor of a diagonal block: the sweep again, on squares of
 * BASE rows, without its last third. A square is factored and inverted by one thread
 * block in registers; everything else is products in float32 or float64. */
#include "sweep.h"

/* A square in registers: thread (x, y) of SIDE x SIDE has the entries (y + SIDE p,
 * x + SIDE q). */
enum { SIDE = 32, EACH = BASE / SIDE };

/* a is m x m, row-major; its lower half is replaced by W = L^-1, A = L L'. Step c of the
 * scalar sweep subtracts l_i l_j right of column c and adds -(l_i / l_c) a_cj left of it,
 * which is one outer product. Entries above the diagonal are not read. */
template <typename T>
__global__ void __launch_bounds__(SIDE *SIDE)
    factor_square(T *a, size_t ld, int m, int32_t item, int32_t *failed)
{
    __shared__ T column[2][BASE], row[2][BASE];
    int x = (int)threadIdx.x, y = (int)threadIdx.y;
    T own[EACH][EACH];

#pragma unroll
    for (int p = 0; p < EACH; p++)
#pragma unroll
        for (int q = 0; q < EACH; q++) {
            int i = y + SIDE * p, j = x + SIDE * q;

            own[p][q] = i < m && j <= i ? a[(size_t)i * ld + (size_t)j] : (T)(i == j);
        }
#pragma unroll
    for (int q = 0; q < EACH; q++)
        for (int s = 0; s < SIDE; s++) {
            int c = q * SIDE + s, at = c & 1;
            T pivot, inverse;

            if (x == s)
#pragma unroll
                for (int p = 0; p < EACH; p++)
                    column[at][y + SIDE * p] = own[p][q];
            if (y == s)
#pragma unroll
                for (int r = 0; r < EACH; r++)
                    row[at][x + SIDE * r] = own[q][r];
            __syncthreads();
            pivot = column[at][c];
            if (!(pivot > 0) && x == 0 && y == 0)
                atomicMin(failed, item + c);
            inverse = 1 / sqrt(pivot);
#pragma unroll
            for (int p = 0; p < EACH; p++) {
                int i = y + SIDE * p;
                T l = column[at][i] * inverse;

#pragma unroll
                for (int r = 0; r < EACH; r++) {
                    int j = x + SIDE * r;

                    if (i > c)
                        own[p][r] = j > c   ? own[p][r] - l * (column[at][j] * inverse)
                                    : j < c ? own[p][r] - l * (row[at][j] * inverse)
                                            : -l * inverse;
                    else if (i == c && j <= c)
                        own[p][r] = j < c ? own[p][r] * inverse : inverse;
                }
            }
        }
#pragma unroll
    for (int p = 0; p < EACH; p++)
#pragma unroll
        for (int q = 0; q < EACH; q++) {
            int i = y + SIDE * p, j = x + SIDE * q;

            if (i < m && j < m)
                a[(size_t)i * ld + (size_t)j] = j <= i ? own[p][q] : 0;
        }
}

template <typename T> __global__ void clear_upper(T *a, size_t ld, int size)
{
    int j = (int)(blockIdx.x * blockDim.x + threadIdx.x), i = (int)blockIdx.y;

    if (j > i && j < size)
        a[(size_t)i * ld + (size_t)j] = 0;
}

namespace
{

/* A square of the block: BASE rows and columns from `at` on. */
typedef struct square {
    device *d;
    char *block;
    size_t ld; /* of the block */
    int32_t size, at, width;
} square;

char *entry(const square *q, int32_t i, int32_t j)
{
    return q->block + ((size_t)i * q->ld + (size_t)j) * element_bytes(q->d->how);
}

/* C <- alpha op(A) op(B) + beta C, row-major. */
int32_t multiply(const square *q, int32_t rows, int32_t columns, int32_t depth,
                 const double *alpha, const char *a, size_t lda, const char *b,
                 size_t ldb, bool b_transposed, const double *beta, char *c)
{
    device *d = q->d;
    bool wide = d->how == PLAIN64;
    cudaDataType_t type = wide ? CUDA_R_64F : CUDA_R_32F;
    cublasStatus_t status = cublasGemmEx(
        d->handles[STREAMS], b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N,
        columns, rows, depth, alpha, b, type, (int)ldb, a, type, (int)lda, beta, c,
        type, (int)q->ld, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
        CUBLAS_GEMM_DEFAULT);

    return status == CUBLAS_STATUS_SUCCESS
               ? (int32_t)EASE_BACKEND_OK
               : failed_cublas(d->call, status, "factoring");
}

/* Copies to the scratch panel, whose rows have `columns` elements. */
int32_t copy(const square *q, const char *from, int32_t rows, int32_t columns)
{
    device *d = q->d;
    size_t each = element_bytes(d->how), width = (size_t)columns * each;

    TRY_CUDA(d,
             cudaMemcpy2DAsync(d->panel, width, from, q->ld * each, width, (size_t)rows,
                               cudaMemcpyDeviceToDevice, d->streams[STREAMS]),
             "factoring");
    return EASE_BACKEND_OK;
}

cudaError_t factor(const square *q, int32_t item)
{
    device *d = q->d;
    char *a = entry(q, q->at, q->at);
    dim3 threads(SIDE, SIDE);
    size_t ld = q->ld;

    if (d->how == PLAIN64)
        factor_square<<<1, threads, 0, d->streams[STREAMS]>>>((double *)a, ld, q->width,
                                                              item, &d->shared->failed);
    else
        factor_square<<<1, threads, 0, d->streams[STREAMS]>>>((float *)a, ld, q->width,
                                                              item, &d->shared->failed);
    return cudaGetLastError();
}

/* The rows below the square, and what they add to the rest of the block. */
int32_t below(const square *q)
{
    device *d = q->d;
    size_t ld = q->ld, width = (size_t)q->width;
    int32_t next = q->at + q->width, rows = q->size - next;
    const double *zero = &d->shared->zero, *one = &d->shared->one,
                 *minus = &d->shared->minus_one;
    char *w = entry(q, q->at, q->at), *panel = entry(q, next, q->at);

    TRY(copy(q, panel, rows, q->width));
    TRY(multiply(q, rows, q->width, q->width, one, d->panel, width, w, ld, true, zero,
                 panel));
    TRY(multiply(q, rows, rows, q->width, minus, panel, ld, panel, ld, true, one,
                 entry(q, next, next)));
    TRY(copy(q, panel, rows, q->width));
    TRY(multiply(q, rows, q->width, q->width, minus, d->panel, width, w, ld, false,
                 zero, panel));
    return q->at == 0 ? (int32_t)EASE_BACKEND_OK
                      : multiply(q, rows, q->at, q->width, one, panel, ld,
                                 entry(q, q->at, 0), ld, false, one, entry(q, next, 0));
}

/* The row left of the square. */
int32_t left(const square *q)
{
    device *d = q->d;

    TRY(copy(q, entry(q, q->at, 0), q->width, q->at));
    return multiply(q, q->width, q->at, q->width, &d->shared->one,
                    entry(q, q->at, q->at), q->ld, d->panel, (size_t)q->at, false,
                    &d->shared->zero, entry(q, q->at, 0));
}

cudaError_t clear(const square *q)
{
    device *d = q->d;
    dim3 grid((unsigned)(q->size + 255) / 256, (unsigned)q->size);
    size_t ld = q->ld;

    if (d->how == PLAIN64)
        clear_upper<<<grid, 256, 0, d->streams[STREAMS]>>>((double *)q->block, ld,
                                                           q->size);
    else
        clear_upper<<<grid, 256, 0, d->streams[STREAMS]>>>((float *)q->block, ld,
                                                           q->size);
    return cudaGetLastError();
}

} // namespace

int32_t factor_block(device *d, char *block, int32_t size, size_t ld, int32_t item)
{
    square q = {};

    q.d = d;
    q.block = block;
    q.ld = ld;
    q.size = size;
    for (q.at = 0; q.at < q.size; q.at += BASE) {
        q.width = q.size - q.at < BASE ? q.size - q.at : (int32_t)BASE;
        TRY_CUDA(d, factor(&q, item + q.at), "factoring");
        if (q.at + q.width < q.size)
            TRY(below(&q));
        if (q.at > 0)
            TRY(left(&q));
    }
    TRY_CUDA(d, clear(&q), "factoring");
    return EASE_BACKEND_OK;
}
