/* The tile kernels for one kind of number, on BLAS and LAPACK. Included once for each,
 * with REAL, TABLE, CBLAS(routine) and LAPACK(routine) defined. Tiles are row-major,
 * and LAPACK column-major: a lower half here is an upper half there. */

extern void LAPACK(potrf)(const char *uplo, const int *n, REAL *a, const int *ld,
                          int *info, size_t uplo_length);
extern void LAPACK(trtri)(const char *uplo, const char *diag, const int *n, REAL *a,
                          const int *ld, int *info, size_t uplo_length,
                          size_t diag_length);
extern void LAPACK(lauum)(const char *uplo, const int *n, REAL *a, const int *ld,
                          int *info, size_t uplo_length);

static int32_t NAME(factor)(void *a, int32_t e)
{
    int info = 0;

    ease__blas_begin();
    LAPACK(potrf)("U", &e, a, &e, &info, 1);
    if (info == 0)
        LAPACK(trtri)("U", "N", &e, a, &e, &info, 1, 1);
    ease__blas_end();
    return info;
}

static void NAME(panel)(void *a, const void *w, int32_t e)
{
    ease__blas_begin();
    CBLAS(trmm)
    (CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, e, e, 1, w, e, a,
     e);
    ease__blas_end();
}

static void NAME(trail)(void *c, const void *a, const void *b, int32_t e)
{
    ease__blas_begin();
    CBLAS(gemm)
    (CblasRowMajor, CblasNoTrans, CblasTrans, e, e, e, -1, a, e, b, e, 1, c, e);
    ease__blas_end();
}

static void NAME(trail_diagonal)(void *c, const void *a, int32_t e)
{
    ease__blas_begin();
    CBLAS(syrk)(CblasRowMajor, CblasLower, CblasNoTrans, e, e, -1, a, e, 1, c, e);
    ease__blas_end();
}

static void NAME(negate)(void *a, const void *w, int32_t e)
{
    ease__blas_begin();
    CBLAS(trmm)
    (CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, e, e, -1, w, e,
     a, e);
    ease__blas_end();
}

static void NAME(update)(void *c, const void *a, const void *b, int32_t e)
{
    ease__blas_begin();
    CBLAS(gemm)
    (CblasRowMajor, CblasNoTrans, CblasNoTrans, e, e, e, 1, a, e, b, e, 1, c, e);
    ease__blas_end();
}

static void NAME(finish_row)(void *a, const void *w, int32_t e)
{
    ease__blas_begin();
    CBLAS(trmm)
    (CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, e, e, 1, w, e, a,
     e);
    ease__blas_end();
}

static void NAME(gather)(void *c, const void *a, const void *b, int32_t e)
{
    ease__blas_begin();
    CBLAS(gemm)
    (CblasRowMajor, CblasTrans, CblasNoTrans, e, e, e, 1, a, e, b, e, 1, c, e);
    ease__blas_end();
}

static void NAME(gather_diagonal)(void *c, const void *a, int32_t e)
{
    ease__blas_begin();
    CBLAS(syrk)(CblasRowMajor, CblasLower, CblasTrans, e, e, 1, a, e, 1, c, e);
    ease__blas_end();
}

static void NAME(close_row)(void *a, const void *w, int32_t e)
{
    ease__blas_begin();
    CBLAS(trmm)
    (CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, e, e, 1, w, e, a,
     e);
    ease__blas_end();
}

static void NAME(close_diagonal)(void *w, int32_t e)
{
    int info;

    ease__blas_begin();
    LAPACK(lauum)("U", &e, w, &e, &info, 1);
    ease__blas_end();
}

const ease__tile_kernels TABLE = {
    .factor = NAME(factor),
    .panel = NAME(panel),
    .trail = NAME(trail),
    .trail_diagonal = NAME(trail_diagonal),
    .negate = NAME(negate),
    .update = NAME(update),
    .finish_row = NAME(finish_row),
    .gather = NAME(gather),
    .gather_diagonal = NAME(gather_diagonal),
    .close_row = NAME(close_row),
    .close_diagonal = NAME(close_diagonal),
};

#undef REAL
#undef TABLE
#undef NAME
#undef CBLAS
#undef LAPACK
