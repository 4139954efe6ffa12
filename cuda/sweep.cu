/* The sweep of docs/design/solving.md on blocks. Step k, with W the inverse of the
 * Cholesky factor of the diagonal block:
 *
 *     A_ik <- A_ik W' = L_ik             i > k        panel
 *     A_ij -= L_ik L_jk'             i >= j > k       trailing matrix
 *     A_ik <- -L_ik W                    i > k
 *     A_ij += A_ik A_kj              i > k > j
 *     R_j = W A_kj                       j < k
 *     A_ij += R_i' R_j               k > i >= j
 *     A_kj <- W' R_j                     j < k
 *     A_kk <- W' W
 *
 * Products for one block column j at a time: all rows of it at once. They are shared by
 * STREAMS streams; the block column that the next step begins with comes first, so that
 * its diagonal block is factored, in a stream of its own, while the others are worked
 * on. */
#include "sweep.h"

#include <stdio.h>

#include "elements.h"

static cudaDataType_t operand_type(arithmetic how)
{
    return how == FAST ? CUDA_R_16F : how == PLAIN32 ? CUDA_R_32F : CUDA_R_64F;
}

static cudaDataType_t element_type(arithmetic how)
{
    return how == PLAIN64 ? CUDA_R_64F : CUDA_R_32F;
}

/* The parts that an operand has as the left or the right factor. */
static const char *part_of(const device *d, const operand *o, bool right)
{
    size_t skip = !right ? 0 : o->down ? (size_t)o->depth * o->ld : (size_t)o->depth;

    return o->at + (d->how == FAST ? skip * sizeof(uint16_t) : 0);
}

int32_t product(device *d, int s, int32_t rows, int32_t columns, operand a, operand b,
                char *c, size_t ld, const double *alpha, const double *beta)
{
    cudaDataType_t in = operand_type(d->how), out = element_type(d->how);
    int depth = d->how == FAST ? 3 * a.depth : a.depth;
    cublasStatus_t status = cublasGemmEx(
        d->handles[s], b.down ? CUBLAS_OP_N : CUBLAS_OP_T,
        a.down ? CUBLAS_OP_T : CUBLAS_OP_N, columns, rows, depth, alpha,
        part_of(d, &b, true), in, (int)b.ld, part_of(d, &a, false), in, (int)a.ld, beta,
        c, out, (int)ld, d->how == PLAIN64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
        CUBLAS_GEMM_DEFAULT);

    if (status != CUBLAS_STATUS_SUCCESS)
        return failed_cublas(d->call, status, "multiplying");
    return device_submitted(d, 2.0 * rows * columns * a.depth);
}

int32_t products(device *d, int s, int32_t rows, int32_t columns, operand a, operand b,
                 size_t b_apart, char *c, int32_t count, const double *alpha,
                 const double *beta)
{
    cudaDataType_t in = operand_type(d->how), out = element_type(d->how);
    int depth = d->how == FAST ? 3 * a.depth : a.depth;
    cublasStatus_t status = cublasGemmStridedBatchedEx(
        d->handles[s], b.down ? CUBLAS_OP_N : CUBLAS_OP_T,
        a.down ? CUBLAS_OP_T : CUBLAS_OP_N, columns, rows, depth, alpha,
        part_of(d, &b, true), in, (int)b.ld, (long long)b_apart, part_of(d, &a, false),
        in, (int)a.ld, 0, beta, c, out, columns, (long long)rows * columns, count,
        d->how == PLAIN64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
        CUBLAS_GEMM_DEFAULT);

    if (status != CUBLAS_STATUS_SUCCESS)
        return failed_cublas(d->call, status, "multiplying");
    return device_submitted(d, 2.0 * rows * columns * a.depth * count);
}

typedef struct step {
    device *d;
    layout l;
    int32_t k, from, to, width; /* rows and columns of the block: from .. to-1 */
    int stream;                 /* of the next product that is shared */
} step;

static size_t bytes_of(const step *s, size_t elements)
{
    return elements * element_bytes(s->d->how);
}

/* The matrix from row `row` of block column j on. */
static char *column(const step *s, int32_t row, int32_t j)
{
    return s->d->matrix + bytes_of(s, layout_at(s->l, row, j));
}

/* L_ik or A_ik from row `row` on, row >= to. */
static operand x_from(const step *s, int32_t row)
{
    operand o = {};
    size_t parts = s->d->how == FAST ? 4 : 1;

    o.ld = parts * (size_t)s->width;
    o.depth = s->width;
    o.at = s->d->operands +
           (size_t)s->to * (size_t)s->l.block * operand_bytes(s->d->how) +
           (size_t)(row - s->to) * (size_t)s->width * operand_bytes(s->d->how);
    return o;
}

/* Columns of row k from block column j on. */
static operand y_from(const step *s, int32_t j)
{
    operand o = {};

    o.ld = (size_t)s->from;
    o.depth = s->width;
    o.down = true;
    o.at = s->d->operands + (size_t)j * (size_t)s->l.block *
                                (s->d->how == FAST ? 2 : element_bytes(s->d->how));
    return o;
}

static operand w_of(const step *s, bool down)
{
    operand o = {};
    size_t parts = s->d->how == FAST ? 4 : 1;

    o.ld = down ? (size_t)s->width : parts * (size_t)s->width;
    o.depth = s->width;
    o.down = down;
    o.at = down ? s->d->w_down : s->d->w_across;
    return o;
}

static const double *alpha(const step *s, int a, int b)
{
    return &s->d->shared->alpha[a * SCALES + b];
}

static int32_t below(const step *s)
{
    return s->l.padded - s->to;
}

#define LAUNCH(s, what) TRY_CUDA((s)->d, what, "solving")

/* The stream of the next product of several that do not depend on each other. */
static int next_stream(step *s)
{
    s->stream = (s->stream + 1) % STREAMS;
    return s->stream;
}

/* C_j -= L L_j', from row `row` of block column j on. */
static int32_t trail(step *s, int stream, int32_t j)
{
    int32_t row = j * s->l.block;

    return product(s->d, stream, s->l.padded - row, layout_width(s->l, j),
                   x_from(s, row), x_from(s, row), column(s, row, j),
                   (size_t)s->l.block, alpha(s, SCALE_X, SCALE_X), &s->d->shared->one);
}

/* The diagonal block k + 1 is complete: factors it. */
static int32_t factor_next(step *s)
{
    device *d = s->d;

    LAUNCH(s, cudaEventRecord(d->ready, d->streams[0]));
    LAUNCH(s, cudaStreamWaitEvent(d->streams[STREAMS], d->ready, 0));
    TRY(factor_block(d, column(s, (s->k + 1) * s->l.block, s->k + 1),
                     layout_width(s->l, s->k + 1), (size_t)s->l.block,
                     (s->k + 1) * s->l.block));
    LAUNCH(s, cudaEventRecord(d->factored, d->streams[STREAMS]));
    return EASE_BACKEND_OK;
}

static int32_t lower_part(step *s)
{
    device *d = s->d;
    double *none = &d->shared->zero;

    if (below(s) == 0)
        return EASE_BACKEND_OK;
    LAUNCH(s, largest_of_column(d, s->k, SCALE_X));
    LAUNCH(s, operand_of_column(d, s->k));
    LAUNCH(s, set_alpha(d, SCALE_X, SCALE_W, 1));
    TRY(product(d, 0, below(s), s->width, x_from(s, s->to), w_of(s, false),
                column(s, s->to, s->k), (size_t)s->l.block, alpha(s, SCALE_X, SCALE_W),
                none));
    LAUNCH(s, largest_of_column(d, s->k, SCALE_X));
    LAUNCH(s, operand_of_column(d, s->k));
    LAUNCH(s, set_alpha(d, SCALE_X, SCALE_X, -1));
    TRY(trail(s, 0, s->k + 1));
    TRY(factor_next(s));
    TRY(device_fork(d));
    for (int32_t j = s->k + 2; j < s->l.blocks; j++)
        TRY(trail(s, next_stream(s), j));
    TRY(device_join(d));
    LAUNCH(s, set_alpha(d, SCALE_X, SCALE_W, -1));
    return product(d, 0, below(s), s->width, x_from(s, s->to), w_of(s, true),
                   column(s, s->to, s->k), (size_t)s->l.block,
                   alpha(s, SCALE_X, SCALE_W), none);
}

/* A_ij += A_ik A_kj */
static int32_t middle_part(step *s)
{
    device *d = s->d;

    if (s->k == 0 || below(s) == 0)
        return EASE_BACKEND_OK;
    LAUNCH(s, largest_of_column(d, s->k, SCALE_X));
    LAUNCH(s, operand_of_column(d, s->k));
    LAUNCH(s, set_alpha(d, SCALE_X, SCALE_Y, 1));
    TRY(device_fork(d));
    for (int32_t j = 0; j < s->k; j++)
        TRY(product(d, next_stream(s), below(s), s->l.block, x_from(s, s->to),
                    y_from(s, j), column(s, s->to, j), (size_t)s->l.block,
                    alpha(s, SCALE_X, SCALE_Y), &d->shared->one));
    return device_join(d);
}

static int32_t upper_part(step *s)
{
    device *d = s->d;
    double *none = &d->shared->zero;

    if (s->k == 0)
        return EASE_BACKEND_OK;
    LAUNCH(s, set_alpha(d, SCALE_W, SCALE_Y, 1));
    TRY(product(d, 0, s->width, s->from, w_of(s, false), y_from(s, 0), d->rows,
                (size_t)s->from, alpha(s, SCALE_W, SCALE_Y), none));
    LAUNCH(s, largest_of_rows(d, s->k, SCALE_Y));
    LAUNCH(s, operand_of_rows(d, s->k));
    LAUNCH(s, set_alpha(d, SCALE_Y, SCALE_Y, 1));
    TRY(device_fork(d));
    for (int32_t j = 0; j < s->k; j++)
        TRY(product(d, next_stream(s), s->from - j * s->l.block, s->l.block,
                    y_from(s, j), y_from(s, j), column(s, j * s->l.block, j),
                    (size_t)s->l.block, alpha(s, SCALE_Y, SCALE_Y), &d->shared->one));
    TRY(device_join(d));
    LAUNCH(s, set_alpha(d, SCALE_W, SCALE_Y, 1));
    TRY(product(d, 0, s->width, s->from, w_of(s, true), y_from(s, 0), d->rows,
                (size_t)s->from, alpha(s, SCALE_W, SCALE_Y), none));
    LAUNCH(s, store_row(d, s->k));
    return EASE_BACKEND_OK;
}

static int32_t take_step(device *d, int32_t k)
{
    step s = {};

    s.d = d;
    s.l = d->l;
    s.k = k;
    s.width = layout_width(d->l, k);
    s.from = k * d->l.block;
    s.to = s.from + s.width;
    LAUNCH(&s, cudaStreamWaitEvent(d->streams[0], d->factored, 0));
    LAUNCH(&s, largest_of_diagonal(d, k, SCALE_W));
    LAUNCH(&s, operands_of_diagonal(d, k));
    if (k > 0) {
        LAUNCH(&s, largest_of_row(d, k, SCALE_Y));
        LAUNCH(&s, operand_of_row(d, k));
    }
    TRY(lower_part(&s));
    TRY(middle_part(&s));
    TRY(upper_part(&s));
    LAUNCH(&s, set_alpha(d, SCALE_W, SCALE_W, 1));
    return product(d, 0, s.width, s.width, w_of(&s, true), w_of(&s, true),
                   column(&s, s.from, k), (size_t)s.l.block,
                   alpha(&s, SCALE_W, SCALE_W), &d->shared->zero);
}

int32_t check_pivots(device *d, int32_t items)
{
    int32_t failed;

    TRY_CUDA(
        d,
        cudaMemcpy(&failed, &d->shared->failed, sizeof(failed), cudaMemcpyDeviceToHost),
        "solving");
    if (failed >= items)
        return EASE_BACKEND_OK;
    d->call->item = failed;
    snprintf(d->call->text, sizeof(d->call->text), "a pivot is not positive");
    return EASE_BACKEND_NOT_POSDEF;
}

int32_t sweep(device *d)
{
    step first = {};

    first.d = d;
    first.l = d->l;
    first.k = -1;
    TRY(factor_next(&first));
    for (int32_t k = 0; k < d->l.blocks; k++)
        TRY(take_step(d, k));
    TRY(device_finish(d));
    return check_pivots(d, d->l.items);
}
