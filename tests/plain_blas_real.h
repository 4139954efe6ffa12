/* The routines of plain_blas.c for one kind of number: included once for each, with
 * REAL, NAME(what), CBLAS(routine) and LAPACK(routine) defined. */

/* Element (i, j) of a matrix is at[i * down + j * across]. */
typedef struct NAME(view) {
    const REAL *at;
    size_t down, across;
} NAME(view);

static NAME(view) NAME(view_of)(const REAL *a, int ld, enum CBLAS_ORDER order,
                                enum CBLAS_TRANSPOSE transposed)
{
    bool by_rows = (order == CblasRowMajor) != (transposed != CblasNoTrans);

    return by_rows ? (NAME(view)){a, (size_t)ld, 1} : (NAME(view)){a, 1, (size_t)ld};
}

static REAL NAME(get)(NAME(view) v, int i, int j)
{
    return v.at[(size_t)i * v.down + (size_t)j * v.across];
}

/* Computes c = alpha a b + beta c, or only the upper or the lower half of c, which is
 * row-major. */
static void NAME(multiply)(NAME(view) a, NAME(view) b, int rows, int columns, int depth,
                           REAL alpha, REAL beta, bool upper, bool lower, REAL *c,
                           int ld)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            REAL *to = c + (size_t)i * (size_t)ld + (size_t)j, sum = 0;

            if ((j < i && !lower) || (j > i && !upper))
                continue;
            for (int k = 0; k < depth; k++)
                sum += NAME(get)(a, i, k) * NAME(get)(b, k, j);
            *to = alpha * sum + (beta == 0 ? 0 : beta * *to);
        }
}

void CBLAS(gemm)(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE trans_a,
                 enum CBLAS_TRANSPOSE trans_b, int rows, int columns, int depth,
                 REAL alpha, const REAL *a, int lda, const REAL *b, int ldb, REAL beta,
                 REAL *c, int ldc)
{
    NAME(view)
    x = NAME(view_of)(a, lda, order, trans_a),
    y = NAME(view_of)(b, ldb, order, trans_b);

    if (order == CblasRowMajor) {
        NAME(multiply)(x, y, rows, columns, depth, alpha, beta, true, true, c, ldc);
    } else { /* C' = B'A', and C' by rows is C by columns */
        NAME(view) first = {y.at, y.across, y.down}, second = {x.at, x.across, x.down};

        NAME(multiply)
        (first, second, columns, rows, depth, alpha, beta, true, true, c, ldc);
    }
}

void CBLAS(syrk)(enum CBLAS_ORDER order, enum CBLAS_UPLO half,
                 enum CBLAS_TRANSPOSE trans, int n, int depth, REAL alpha,
                 const REAL *a, int lda, REAL beta, REAL *c, int ldc)
{
    NAME(view) x = NAME(view_of)(a, lda, order, trans), y = {x.at, x.across, x.down};

    assert(order == CblasRowMajor);
    NAME(multiply)
    (x, y, n, n, depth, alpha, beta, half == CblasUpper, half == CblasLower, c, ldc);
}

/* Computes x = alpha A x in place for a triangular A, in an order in which no element
 * is read after it was written; the elements of x are `step` apart. */
static void NAME(triangle_times)(NAME(view) a, bool upper, int n, REAL alpha, REAL *x,
                                 size_t step)
{
    for (int done = 0; done < n; done++) {
        int i = upper ? done : n - 1 - done;
        REAL sum = 0;

        for (int k = upper ? i : 0; k < (upper ? n : i + 1); k++)
            sum += NAME(get)(a, i, k) * x[(size_t)k * step];
        x[(size_t)i * step] = alpha * sum;
    }
}

/* B = alpha op(A) B or alpha B op(A), that is op(A)' times each row of B. */
void CBLAS(trmm)(enum CBLAS_ORDER order, enum CBLAS_SIDE side, enum CBLAS_UPLO half,
                 enum CBLAS_TRANSPOSE trans, enum CBLAS_DIAG diagonal, int rows,
                 int columns, REAL alpha, const REAL *a, int lda, REAL *b, int ldb)
{
    bool left = side == CblasLeft, flipped = (trans == CblasNoTrans) != left;
    NAME(view) x = NAME(view_of)(a, lda, order, flipped ? CblasTrans : CblasNoTrans);
    bool upper = (half == CblasUpper) != flipped;

    assert(order == CblasRowMajor && diagonal == CblasNonUnit);
    for (int i = 0; i < (left ? columns : rows); i++)
        NAME(triangle_times)
    (x, upper, left ? rows : columns, alpha, b + (size_t)i * (left ? 1 : (size_t)ldb),
     left ? (size_t)ldb : 1);
}

/* Solves X L' = alpha B for a lower triangle L; X replaces B. */
void CBLAS(trsm)(enum CBLAS_ORDER order, enum CBLAS_SIDE side, enum CBLAS_UPLO half,
                 enum CBLAS_TRANSPOSE trans, enum CBLAS_DIAG diagonal, int rows,
                 int columns, REAL alpha, const REAL *a, int lda, REAL *b, int ldb)
{
    assert(order == CblasRowMajor && side == CblasRight && half == CblasLower);
    assert(trans == CblasTrans && diagonal == CblasNonUnit);
    for (int i = 0; i < rows; i++) {
        REAL *x = b + (size_t)i * (size_t)ldb;

        for (int j = 0; j < columns; j++) {
            const REAL *row = a + (size_t)j * (size_t)lda;
            REAL sum = alpha * x[j];

            for (int k = 0; k < j; k++)
                sum -= x[k] * row[k];
            x[j] = sum / row[j];
        }
    }
}

/* An upper triangle by columns is a lower one by rows. */
#define AT(i, j) a[(size_t)(i) * (size_t)*ld + (size_t)(j)]

void LAPACK(potrf)(const char *half, const int *n, REAL *a, const int *ld, int *info,
                   size_t half_length);
void LAPACK(trtri)(const char *half, const char *diagonal, const int *n, REAL *a,
                   const int *ld, int *info, size_t half_length,
                   size_t diagonal_length);
void LAPACK(lauum)(const char *half, const int *n, REAL *a, const int *ld, int *info,
                   size_t half_length);

void LAPACK(potrf)(const char *half, const int *n, REAL *a, const int *ld, int *info,
                   size_t half_length)
{
    assert(*half == 'U' && half_length == 1);
    for (int j = 0; j < *n; j++)
        for (int i = j; i < *n; i++) {
            REAL sum = AT(i, j);

            for (int k = 0; k < j; k++)
                sum -= AT(i, k) * AT(j, k);
            if (i == j && sum <= 0) {
                *info = j + 1;
                return;
            }
            AT(i, j) = i == j ? (REAL)sqrt((double)sum) : sum / AT(j, j);
        }
    *info = 0;
}

void LAPACK(trtri)(const char *half, const char *diagonal, const int *n, REAL *a,
                   const int *ld, int *info, size_t half_length, size_t diagonal_length)
{
    assert(*half == 'U' && half_length == 1);
    assert(*diagonal == 'N' && diagonal_length == 1);
    for (int i = 0; i < *n; i++) {
        for (int j = 0; j < i; j++) {
            REAL sum = 0;

            for (int k = j; k < i; k++)
                sum += AT(i, k) * AT(k, j);
            AT(i, j) = -sum / AT(i, i);
        }
        AT(i, i) = 1 / AT(i, i);
    }
    *info = 0;
}

void LAPACK(lauum)(const char *half, const int *n, REAL *a, const int *ld, int *info,
                   size_t half_length)
{
    assert(*half == 'U' && half_length == 1);
    for (int i = 0; i < *n; i++)
        for (int j = 0; j <= i; j++) {
            REAL sum = 0;

            for (int k = i; k < *n; k++)
                sum += AT(k, i) * AT(k, j);
            AT(i, j) = sum;
        }
    *info = 0;
}

#undef AT
#undef REAL
#undef NAME
#undef CBLAS
#undef LAPACK
