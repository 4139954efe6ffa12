/* Blocked factorization, with blocks of as many rows as a panel has columns. Once the
 * diagonal block is inverted, the rest of its rows is a matrix product, and so is the
 * update of the rows below: these products are nearly all of the work. */
#include "compute/cholesky.h"

#include <math.h>
#include <string.h>

enum { BLOCK = EASE__PANEL };

/* Factors the diagonal block in place. */
static bool factor_block(const ease__kernels *kernels, float *a, size_t n, size_t ld)
{
    for (size_t k = 0; k < n; k++) {
        float *row = a + k * ld;
        float root = sqrtf(row[k]);

        if (!(row[k] > 0))
            return false;
        for (size_t j = k; j < n; j++)
            row[j] /= root;
        for (size_t i = k + 1; i < n; i++)
            kernels->add_times(a + i * ld + i, row + i, -row[i], n - i);
    }
    return true;
}

/* x = U^-1 for an upper triangle U, row by row from the last; x is n x BLOCK. */
static void invert_block(const ease__kernels *kernels, const float *u, size_t n,
                         size_t ld, float *x)
{
    memset(x, 0, n * BLOCK * sizeof(*x));
    for (size_t i = n; i-- > 0;) {
        float *row = x + i * BLOCK;

        row[i] = 1;
        for (size_t k = i + 1; k < n; k++)
            kernels->add_times(row + k, x + k * BLOCK + k, -u[i * ld + k], n - k);
        for (size_t j = i; j < n; j++)
            row[j] /= u[i * ld + i];
    }
}

size_t ease__cholesky_scratch(int32_t n)
{
    return BLOCK * ease__padded(n) + ease__packed_count(n > BLOCK ? n : BLOCK, BLOCK);
}

/* The rows of a whole block right of the diagonal: U_kj = U_kk^-T A_kj. */
static void finish_rows(const ease__kernels *kernels, const float *diagonal,
                        float *right, int32_t columns, size_t ld, float *scratch)
{
    float inverse[BLOCK * BLOCK], *copy = scratch, *packed = scratch + BLOCK * ld;
    size_t bytes = (size_t)columns * sizeof(float);

    invert_block(kernels, diagonal, BLOCK, ld, inverse);
    ease__pack((ease__operand){inverse, BLOCK, true}, BLOCK, BLOCK, NULL, packed);
    for (size_t i = 0; i < BLOCK; i++) {
        memcpy(copy + i * ld, right + i * ld, bytes);
        memset(right + i * ld, 0, bytes);
    }
    ease__product(kernels, packed, BLOCK, BLOCK, (ease__operand){copy, ld, false},
                  columns, right, ld);
}

bool ease__cholesky(const ease__kernels *kernels, float *a, int32_t n, float *scratch)
{
    size_t ld = ease__padded(n);
    float minus[BLOCK], *packed = scratch + BLOCK * ld;

    for (size_t k = 0; k < BLOCK; k++)
        minus[k] = -1;
    for (int32_t top = 0; top < n; top += BLOCK) {
        int32_t left = n - top > BLOCK ? n - top - BLOCK : 0;
        float *diagonal = a + (size_t)top * (ld + 1), *right = diagonal + BLOCK;

        if (!factor_block(kernels, diagonal, left ? BLOCK : (size_t)(n - top), ld))
            return false;
        if (left == 0)
            return true;
        finish_rows(kernels, diagonal, right, left, ld, scratch);
        ease__pack((ease__operand){right, ld, true}, left, BLOCK, minus, packed);
        ease__product_upper(kernels, packed, left, BLOCK,
                            (ease__operand){right, ld, false}, right + BLOCK * ld, ld);
    }
    return true;
}

void ease__cholesky_solve(const ease__kernels *kernels, const float *u, int32_t n,
                          float *b)
{
    size_t count = (size_t)n, ld = ease__padded(n);

    for (size_t i = 0; i < count; i++) {
        b[i] /= u[i * (ld + 1)];
        kernels->add_times(b + i + 1, u + i * (ld + 1) + 1, -b[i], count - i - 1);
    }
    for (size_t i = count; i-- > 0;) {
        const float *row = u + i * (ld + 1);

        b[i] -= kernels->dot(row + 1, b + i + 1, count - i - 1);
        b[i] /= row[0];
    }
}
