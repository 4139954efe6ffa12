/* The twins for one kind of number: included once for each, with REAL, NAME(what) and
 * TABLE defined. Triangular products in place have an order in which no entry is read
 * after it was written. */

#define AT(a, i, j)  (((REAL *)(a))[(size_t)(i) * (size_t)e + (size_t)(j)])
#define GET(a, i, j) (((const REAL *)(a))[(size_t)(i) * (size_t)e + (size_t)(j)])

static int32_t NAME(cholesky)(void *a, int32_t e)
{
    for (int32_t j = 0; j < e; j++)
        for (int32_t i = j; i < e; i++) {
            REAL sum = AT(a, i, j);

            for (int32_t k = 0; k < j; k++)
                sum -= AT(a, i, k) * AT(a, j, k);
            if (i == j && sum <= 0) /* NaN passes, as in LAPACK */
                return j + 1;
            AT(a, i, j) = i == j ? (REAL)sqrt((double)sum) : sum / AT(a, j, j);
        }
    return 0;
}

static int32_t NAME(factor)(void *a, int32_t e)
{
    int32_t failed = NAME(cholesky)(a, e);

    for (int32_t i = 0; i < e && !failed; i++) {
        for (int32_t j = 0; j < i; j++) {
            REAL sum = 0;

            for (int32_t k = j; k < i; k++)
                sum += AT(a, i, k) * AT(a, k, j);
            AT(a, i, j) = -sum / AT(a, i, i);
        }
        AT(a, i, i) = 1 / AT(a, i, i);
    }
    return failed;
}

static void NAME(panel)(void *a, const void *w, int32_t e)
{
    for (int32_t i = 0; i < e; i++)
        for (int32_t j = e - 1; j >= 0; j--) {
            REAL sum = 0;

            for (int32_t k = 0; k <= j; k++)
                sum += AT(a, i, k) * GET(w, j, k);
            AT(a, i, j) = sum;
        }
}

static void NAME(trail)(void *c, const void *a, const void *b, int32_t e)
{
    for (int32_t i = 0; i < e; i++)
        for (int32_t j = 0; j < e; j++)
            for (int32_t k = 0; k < e; k++)
                AT(c, i, j) -= GET(a, i, k) * GET(b, j, k);
}

static void NAME(trail_diagonal)(void *c, const void *a, int32_t e)
{
    for (int32_t i = 0; i < e; i++)
        for (int32_t j = 0; j <= i; j++)
            for (int32_t k = 0; k < e; k++)
                AT(c, i, j) -= GET(a, i, k) * GET(a, j, k);
}

static void NAME(negate)(void *a, const void *w, int32_t e)
{
    for (int32_t i = 0; i < e; i++)
        for (int32_t j = 0; j < e; j++) {
            REAL sum = 0;

            for (int32_t k = j; k < e; k++)
                sum -= AT(a, i, k) * GET(w, k, j);
            AT(a, i, j) = sum;
        }
}

static void NAME(update)(void *c, const void *a, const void *b, int32_t e)
{
    for (int32_t i = 0; i < e; i++)
        for (int32_t k = 0; k < e; k++)
            for (int32_t j = 0; j < e; j++)
                AT(c, i, j) += GET(a, i, k) * GET(b, k, j);
}

static void NAME(finish_row)(void *a, const void *w, int32_t e)
{
    for (int32_t i = e - 1; i >= 0; i--)
        for (int32_t j = 0; j < e; j++) {
            REAL sum = 0;

            for (int32_t k = 0; k <= i; k++)
                sum += GET(w, i, k) * AT(a, k, j);
            AT(a, i, j) = sum;
        }
}

static void NAME(gather)(void *c, const void *a, const void *b, int32_t e)
{
    for (int32_t k = 0; k < e; k++)
        for (int32_t i = 0; i < e; i++)
            for (int32_t j = 0; j < e; j++)
                AT(c, i, j) += GET(a, k, i) * GET(b, k, j);
}

static void NAME(gather_diagonal)(void *c, const void *a, int32_t e)
{
    for (int32_t k = 0; k < e; k++)
        for (int32_t i = 0; i < e; i++)
            for (int32_t j = 0; j <= i; j++)
                AT(c, i, j) += GET(a, k, i) * GET(a, k, j);
}

static void NAME(close_row)(void *a, const void *w, int32_t e)
{
    for (int32_t i = 0; i < e; i++)
        for (int32_t j = 0; j < e; j++) {
            REAL sum = 0;

            for (int32_t k = i; k < e; k++)
                sum += GET(w, k, i) * AT(a, k, j);
            AT(a, i, j) = sum;
        }
}

static void NAME(close_diagonal)(void *w, int32_t e)
{
    for (int32_t i = 0; i < e; i++)
        for (int32_t j = 0; j <= i; j++) {
            REAL sum = 0;

            for (int32_t k = i; k < e; k++)
                sum += AT(w, k, i) * AT(w, k, j);
            AT(w, i, j) = sum;
        }
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

#undef AT
#undef GET
#undef REAL
#undef NAME
#undef TABLE
