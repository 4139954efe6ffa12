#include "elements.h"

#include <cuda_fp16.h>

#include "split.h"

/* ---- where numbers are ----------------------------------------------------------- */

/* Rows of numbers, in segments of `columns` columns and the same distance of rows:
 * segment j begins at segment_at(j). One of a block column, one for each block column of
 * a block row. */
typedef struct view {
    layout l;
    int32_t row;             /* the first row */
    int32_t rows;            /* of each segment */
    int32_t columns;         /* of each segment */
    int32_t first, segments; /* block columns */
    bool packed; /* segments lie side by side in rows of segments * columns */
} view;

__device__ static inline size_t view_at(const view &v, int32_t segment, int32_t r,
                                        int32_t c)
{
    if (v.packed)
        return (size_t)r * ((size_t)v.segments * (size_t)v.columns) +
               (size_t)segment * (size_t)v.columns + (size_t)c;
    return layout_at(v.l, v.row, v.first + segment) + (size_t)r * (size_t)v.l.block +
           (size_t)c;
}

static view column_view(const device *d, int32_t k)
{
    view v = {};

    v.l = d->l;
    v.columns = layout_width(d->l, k);
    v.row = k * d->l.block + v.columns;
    v.rows = d->l.padded - v.row;
    v.first = k;
    v.segments = 1;
    return v;
}

static view row_view(const device *d, int32_t k, bool packed)
{
    view v = {};

    v.l = d->l;
    v.row = k * d->l.block;
    v.rows = layout_width(d->l, k);
    v.columns = d->l.block;
    v.segments = k;
    v.packed = packed;
    return v;
}

static view diagonal_view(const device *d, int32_t k)
{
    view v = {};

    v.l = d->l;
    v.row = k * d->l.block;
    v.rows = v.columns = layout_width(d->l, k);
    v.first = k;
    v.segments = 1;
    return v;
}

/* A thread takes four numbers of a row; rows are distributed over the grid. */
enum { THREADS = 256, WIDE = 4, MOST_BLOCKS = 4096 };

static dim3 grid_of(const view &v)
{
    long rows = ((long)v.rows * v.columns / WIDE + THREADS - 1) / THREADS;

    return dim3((unsigned)(rows < MOST_BLOCKS ? rows : (long)MOST_BLOCKS),
                (unsigned)v.segments);
}

/* ---- the largest magnitude ------------------------------------------------------- */

/* Magnitudes are compared as integers, in which order does not matter; NaN is the
 * largest. */
__global__ void find_largest(const float *a, view v, uint32_t *largest)
{
    uint32_t mine = 0;
    long wide = v.columns / WIDE, count = wide * v.rows;

    for (long i = (long)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (long)gridDim.x * blockDim.x) {
        const float4 f = *(const float4 *)(a + view_at(v, (int32_t)blockIdx.y,
                                                       (int32_t)(i / wide),
                                                       (int32_t)(i % wide) * WIDE));

        mine = max(mine,
                   max(max(__float_as_uint(fabsf(f.x)), __float_as_uint(fabsf(f.y))),
                       max(__float_as_uint(fabsf(f.z)), __float_as_uint(fabsf(f.w)))));
    }
    for (int lanes = 16; lanes > 0; lanes /= 2)
        mine = max(mine, __shfl_xor_sync(0xffffffffu, mine, lanes));
    if (threadIdx.x % 32 == 0 && mine)
        atomicMax(largest, mine);
}

static cudaError_t largest_of(device *d, const char *a, view v, int scale)
{
    uint32_t *to = &d->shared->largest[scale];
    cudaError_t error;

    if (d->how != FAST || v.rows == 0)
        return cudaSuccess;
    error = cudaMemsetAsync(to, 0, sizeof(*to), d->streams[0]);
    if (error != cudaSuccess)
        return error;
    find_largest<<<grid_of(v), THREADS, 0, d->streams[0]>>>((const float *)a, v, to);
    return cudaGetLastError();
}

cudaError_t largest_of_column(device *d, int32_t k, int scale)
{
    return largest_of(d, d->matrix, column_view(d, k), scale);
}

cudaError_t largest_of_row(device *d, int32_t k, int scale)
{
    return largest_of(d, d->matrix, row_view(d, k, false), scale);
}

cudaError_t largest_of_rows(device *d, int32_t k, int scale)
{
    return largest_of(d, d->rows, row_view(d, k, true), scale);
}

cudaError_t largest_of_diagonal(device *d, int32_t k, int scale)
{
    return largest_of(d, d->matrix, diagonal_view(d, k), scale);
}

/* ---- operands -------------------------------------------------------------------- */

__device__ static inline float scale_for(uint32_t largest)
{
    return __int_as_float((split_exponent(largest) + 127) << 23);
}

__device__ static inline void split(float x, __half *high, __half *low)
{
    *high = __float2half_rn(x);
    *low = __float2half_rn(x - __half2float(*high));
}

typedef struct quad {
    __half h[WIDE];
} __align__(8) quad;

/* Where the operand has the numbers of row r, column c of all segments together. */
__device__ static inline size_t operand_at(size_t ld, int32_t r, size_t c)
{
    return (size_t)r * ld + c;
}

/* part: the distance of two parts, in halves; spread: that of two segments. */
__global__ void split_view(const float *a, view v, const uint32_t *largest, __half *out,
                           size_t ld, size_t part, size_t spread)
{
    float scale = scale_for(*largest);
    long wide = v.columns / WIDE, count = wide * v.rows;

    for (long i = (long)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (long)gridDim.x * blockDim.x) {
        int32_t r = (int32_t)(i / wide), c = (int32_t)(i % wide) * WIDE;
        const float4 f = *(const float4 *)(a + view_at(v, (int32_t)blockIdx.y, r, c));
        size_t at = operand_at(ld, r, (size_t)blockIdx.y * spread + (size_t)c);
        quad high, low;

        split(f.x * scale, &high.h[0], &low.h[0]);
        split(f.y * scale, &high.h[1], &low.h[1]);
        split(f.z * scale, &high.h[2], &low.h[2]);
        split(f.w * scale, &high.h[3], &low.h[3]);
        *(quad *)(out + at) = high;
        *(quad *)(out + at + part) = low;
        *(quad *)(out + at + 2 * part) = high;
        *(quad *)(out + at + 3 * part) = high;
    }
}

template <typename T> __global__ void copy_view(const T *a, view v, T *out, size_t ld)
{
    long count = (long)v.columns * v.rows;

    for (long i = (long)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (long)gridDim.x * blockDim.x) {
        int32_t r = (int32_t)(i / v.columns), c = (int32_t)(i % v.columns);

        out[operand_at(ld, r, (size_t)blockIdx.y * (size_t)v.columns + (size_t)c)] =
            a[view_at(v, (int32_t)blockIdx.y, r, c)];
    }
}

static cudaError_t operand_of(device *d, const char *a, view v, int scale, char *out,
                              bool down)
{
    size_t width = (size_t)v.segments * (size_t)v.columns;

    if (v.rows == 0)
        return cudaSuccess;
    if (d->how == FAST)
        split_view<<<grid_of(v), THREADS, 0, d->streams[0]>>>(
            (const float *)a, v, &d->shared->largest[scale], (__half *)out,
            down ? width : 4 * width, down ? width * (size_t)v.rows : width,
            (size_t)v.columns);
    else if (d->how == PLAIN32)
        copy_view<<<grid_of(v), THREADS, 0, d->streams[0]>>>((const float *)a, v,
                                                             (float *)out, width);
    else
        copy_view<<<grid_of(v), THREADS, 0, d->streams[0]>>>((const double *)a, v,
                                                             (double *)out, width);
    return cudaGetLastError();
}

static view panel_view(int32_t rows, int32_t columns, int32_t group)
{
    view v = {};

    v.rows = rows;
    v.columns = group;
    v.segments = columns / group;
    v.packed = true;
    return v;
}

cudaError_t largest_of_panel(device *d, const char *panel, int32_t rows,
                             int32_t columns, int scale)
{
    if (rows == 0 || columns == 0)
        return cudaSuccess;
    return largest_of(d, panel, panel_view(rows, columns, columns), scale);
}

/* The groups of a panel: across, they are segments of one view. */
static cudaError_t across_of_panel(device *d, const char *panel, view v, int scale,
                                   char *out)
{
    size_t width = (size_t)v.segments * (size_t)v.columns;

    if (d->how != FAST)
        return operand_of(d, panel, v, scale, out, false);
    split_view<<<grid_of(v), THREADS, 0, d->streams[0]>>>(
        (const float *)panel, v, &d->shared->largest[scale], (__half *)out, 4 * width,
        (size_t)v.columns, 4 * (size_t)v.columns);
    return cudaGetLastError();
}

cudaError_t operand_of_panel(device *d, const char *panel, int32_t rows,
                             int32_t columns, int32_t group, int scale, char *out,
                             bool down)
{
    size_t numbers = (size_t)group * (size_t)columns;
    cudaError_t error = cudaSuccess;

    if (rows == 0 || columns == 0)
        return cudaSuccess;
    if (!down)
        return across_of_panel(d, panel, panel_view(rows, columns, group), scale, out);
    for (int32_t g = 0; error == cudaSuccess && g < rows / group; g++)
        error = operand_of(d, panel + (size_t)g * numbers * element_bytes(d->how),
                           panel_view(group, columns, columns), scale,
                           out + (size_t)g * numbers * operand_bytes(d->how), true);
    return error;
}

cudaError_t operand_of_column(device *d, int32_t k)
{
    view v = column_view(d, k);

    return operand_of(d, d->matrix, v, SCALE_X,
                      d->operands +
                          (size_t)v.row * (size_t)d->l.block * operand_bytes(d->how),
                      false);
}

cudaError_t operand_of_row(device *d, int32_t k)
{
    return operand_of(d, d->matrix, row_view(d, k, false), SCALE_Y, d->operands, true);
}

cudaError_t operand_of_rows(device *d, int32_t k)
{
    return operand_of(d, d->rows, row_view(d, k, true), SCALE_Y, d->operands, true);
}

cudaError_t operands_of_diagonal(device *d, int32_t k)
{
    view v = diagonal_view(d, k);
    cudaError_t error = operand_of(d, d->matrix, v, SCALE_W, d->w_across, false);

    return error != cudaSuccess ? error
                                : operand_of(d, d->matrix, v, SCALE_W, d->w_down, true);
}

__global__ void put_alpha(numbers *s, arithmetic how, int a, int b, double sign)
{
    double *to = &s->alpha[a * SCALES + b];

    if (how == PLAIN64)
        *to = sign;
    else if (how == PLAIN32)
        *(float *)to = (float)sign;
    else
        *(float *)to = (float)(sign / ((double)scale_for(s->largest[a]) *
                                       (double)scale_for(s->largest[b])));
}

cudaError_t set_alpha(device *d, int a, int b, double sign)
{
    put_alpha<<<1, 1, 0, d->streams[0]>>>(d->shared, d->how, a, b, sign);
    return cudaGetLastError();
}

/* ---- block rows ------------------------------------------------------------------ */

template <typename T> __global__ void put_rows(const T *rows, view v, T *matrix)
{
    long count = (long)v.columns * v.rows;
    view packed = v;

    packed.packed = true;
    for (long i = (long)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (long)gridDim.x * blockDim.x) {
        int32_t r = (int32_t)(i / v.columns), c = (int32_t)(i % v.columns);

        matrix[view_at(v, (int32_t)blockIdx.y, r, c)] =
            rows[view_at(packed, (int32_t)blockIdx.y, r, c)];
    }
}

cudaError_t store_row(device *d, int32_t k)
{
    view v = row_view(d, k, false);

    if (d->how == PLAIN64)
        put_rows<<<grid_of(v), THREADS, 0, d->streams[0]>>>((const double *)d->rows, v,
                                                            (double *)d->matrix);
    else
        put_rows<<<grid_of(v), THREADS, 0, d->streams[0]>>>((const float *)d->rows, v,
                                                            (float *)d->matrix);
    return cudaGetLastError();
}

/* ---- the start ------------------------------------------------------------------- */

template <typename T> __global__ void put_padding(T *matrix, layout l)
{
    int32_t i = l.items + (int32_t)threadIdx.x;

    if (i < l.padded)
        matrix[layout_at(l, i, i / l.block) + (size_t)(i % l.block)] = 1;
}

__global__ void put_constants(numbers *s, bool wide)
{
    s->failed = INT32_MAX;
    s->zero = 0;
    if (wide) {
        s->one = 1;
        s->minus_one = -1;
    } else {
        *(float *)&s->one = 1;
        *(float *)&s->minus_one = -1;
    }
}

cudaError_t start_constants(device *d)
{
    put_constants<<<1, 1, 0, d->streams[0]>>>(d->shared, d->how == PLAIN64);
    return cudaGetLastError();
}

cudaError_t start_numbers(device *d)
{
    bool wide = d->how == PLAIN64;

    put_constants<<<1, 1, 0, d->streams[0]>>>(d->shared, wide);
    if (wide)
        put_padding<<<1, PADDING, 0, d->streams[0]>>>((double *)d->matrix, d->l);
    else
        put_padding<<<1, PADDING, 0, d->streams[0]>>>((float *)d->matrix, d->l);
    return cudaGetLastError();
}

/* ---- tiles ----------------------------------------------------------------------- */

/* Rows of a tile are distributed over the grid. In: the lower triangle of the matrix;
 * out: for a diagonal tile also the upper half, which has the same numbers. */
template <typename From, typename To>
__global__ void put_tile(const From *tile, int32_t edge, int32_t top, int32_t left,
                         const float *scale, To *matrix, layout l)
{
    for (int32_t i = (int32_t)blockIdx.x; i < edge; i += (int32_t)gridDim.x) {
        int32_t row = top + i;

        if (row >= l.items)
            return;
        for (int32_t j = (int32_t)threadIdx.x; j < edge; j += (int32_t)blockDim.x) {
            int32_t c = left + j;

            if (c <= row)
                matrix[layout_at(l, row, c / l.block) + (size_t)(c % l.block)] =
                    (To)tile[(size_t)i * (size_t)edge + (size_t)j] * (To)scale[row] *
                    (To)scale[c];
        }
    }
}

template <typename From, typename To>
__global__ void get_tile(const From *matrix, layout l, int32_t edge, int32_t top,
                         int32_t left, const float *scale, To *tile)
{
    for (int32_t i = (int32_t)blockIdx.x; i < edge; i += (int32_t)gridDim.x) {
        int32_t row = top + i;

        for (int32_t j = (int32_t)threadIdx.x; j < edge; j += (int32_t)blockDim.x) {
            int32_t c = left + j;
            To value = (To)(row == c);

            if (row < l.items && c <= row)
                value = (To)(matrix[layout_at(l, row, c / l.block) +
                                    (size_t)(c % l.block)] *
                             (From)scale[row] * (From)scale[c]);
            tile[(size_t)i * (size_t)edge + (size_t)j] = value;
        }
    }
}

enum { TILE_BLOCKS = 512 };

cudaError_t tile_in(device *d, const ease_backend_matrix *a, const char *tile,
                    int32_t i, int32_t j)
{
    int32_t e = a->edge;
    cudaStream_t s = d->streams[0];

    if (a->precision == EASE_BACKEND_F64)
        put_tile<<<TILE_BLOCKS, THREADS, 0, s>>>((const double *)tile, e, i * e, j * e,
                                                 d->scale, (double *)d->matrix, d->l);
    else if (d->how == PLAIN64)
        put_tile<<<TILE_BLOCKS, THREADS, 0, s>>>((const float *)tile, e, i * e, j * e,
                                                 d->scale, (double *)d->matrix, d->l);
    else
        put_tile<<<TILE_BLOCKS, THREADS, 0, s>>>((const float *)tile, e, i * e, j * e,
                                                 d->scale, (float *)d->matrix, d->l);
    return cudaGetLastError();
}

cudaError_t tile_out(device *d, const ease_backend_matrix *a, char *tile, int32_t i,
                     int32_t j)
{
    int32_t e = a->edge;
    cudaStream_t s = d->streams[0];

    if (a->precision == EASE_BACKEND_F64)
        get_tile<<<TILE_BLOCKS, THREADS, 0, s>>>(
            (const double *)d->matrix, d->l, e, i * e, j * e, d->scale, (double *)tile);
    else if (d->how == PLAIN64)
        get_tile<<<TILE_BLOCKS, THREADS, 0, s>>>((const double *)d->matrix, d->l, e,
                                                 i * e, j * e, d->scale, (float *)tile);
    else
        get_tile<<<TILE_BLOCKS, THREADS, 0, s>>>((const float *)d->matrix, d->l, e,
                                                 i * e, j * e, d->scale, (float *)tile);
    return cudaGetLastError();
}

/* Row i of a tile, for each tile; blockIdx.x is i, blockIdx.y the tile. */
template <typename T>
__global__ void put_tiles(const T *tiles, int32_t edge, int32_t top, int32_t left,
                          const float *scale, T *to, size_t ld)
{
    size_t e = (size_t)edge, i = blockIdx.x, t = blockIdx.y;
    const T *row = tiles + (t * e + i) * e;

    for (size_t j = threadIdx.x; j < e; j += blockDim.x) {
        T value = row[j];

        if (scale)
            value *= (T)scale[(size_t)top + i] * (T)scale[(size_t)left + t * e + j];
        to[i * ld + t * e + j] = value;
    }
}

template <typename T>
__global__ void get_tiles(const T *from, size_t ld, int32_t edge, int32_t top,
                          int32_t left, const float *scale, T *tiles)
{
    size_t e = (size_t)edge, i = blockIdx.x, t = blockIdx.y;
    T *row = tiles + (t * e + i) * e;

    for (size_t j = threadIdx.x; j < e; j += blockDim.x) {
        T value = from[i * ld + t * e + j];

        if (scale)
            value *= (T)scale[(size_t)top + i] * (T)scale[(size_t)left + t * e + j];
        row[j] = value;
    }
}

template <typename T>
__global__ void multiply_tiles(T *tiles, int32_t edge, int32_t top, int32_t left,
                               const float *scale)
{
    size_t e = (size_t)edge, i = blockIdx.x, t = blockIdx.y;
    T *row = tiles + (t * e + i) * e;

    for (size_t j = threadIdx.x; j < e; j += blockDim.x)
        row[j] *= (T)scale[(size_t)top + i] * (T)scale[(size_t)left + t * e + j];
}

cudaError_t scale_tiles(device *d, const ease_backend_matrix *a, int32_t i, int32_t j,
                        int32_t count, char *tiles, int s)
{
    int32_t e = a->edge;
    dim3 grid((unsigned)e, (unsigned)count);

    if (d->how == PLAIN64)
        multiply_tiles<<<grid, THREADS, 0, d->streams[s]>>>((double *)tiles, e, i * e,
                                                            j * e, d->scale);
    else
        multiply_tiles<<<grid, THREADS, 0, d->streams[s]>>>((float *)tiles, e, i * e,
                                                            j * e, d->scale);
    return cudaGetLastError();
}

cudaError_t tiles_in(device *d, const ease_backend_matrix *a, const char *tiles,
                     int32_t i, int32_t j, int32_t count, bool scaled, char *to,
                     size_t ld, int s)
{
    int32_t e = a->edge;
    dim3 grid((unsigned)e, (unsigned)count);
    const float *scale = scaled ? d->scale : NULL;

    if (d->how == PLAIN64)
        put_tiles<<<grid, THREADS, 0, d->streams[s]>>>((const double *)tiles, e, i * e,
                                                       j * e, scale, (double *)to, ld);
    else
        put_tiles<<<grid, THREADS, 0, d->streams[s]>>>((const float *)tiles, e, i * e,
                                                       j * e, scale, (float *)to, ld);
    return cudaGetLastError();
}

cudaError_t tiles_out(device *d, const ease_backend_matrix *a, const char *from,
                      size_t ld, int32_t i, int32_t j, int32_t count, bool scaled,
                      char *tiles, int s)
{
    int32_t e = a->edge;
    dim3 grid((unsigned)e, (unsigned)count);
    const float *scale = scaled ? d->scale : NULL;

    if (d->how == PLAIN64)
        get_tiles<<<grid, THREADS, 0, d->streams[s]>>>(
            (const double *)from, ld, e, i * e, j * e, scale, (double *)tiles);
    else
        get_tiles<<<grid, THREADS, 0, d->streams[s]>>>(
            (const float *)from, ld, e, i * e, j * e, scale, (float *)tiles);
    return cudaGetLastError();
}

/* ---- y = A x --------------------------------------------------------------------- */

__device__ static double sum_of_block(double mine)
{
    __shared__ double sums[THREADS];
    int t = (int)threadIdx.x;

    sums[t] = mine;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half)
            sums[t] += sums[t + half];
        __syncthreads();
    }
    return sums[0];
}

/* y_r = sum over c <= r of A_rc x_c; one thread block a row. */
template <typename T>
__global__ void times_lower(const T *matrix, layout l, const double *x, double *y)
{
    int32_t r = (int32_t)blockIdx.x;
    double mine = 0;

    for (int32_t c = (int32_t)threadIdx.x; c <= r; c += THREADS)
        mine += (double)matrix[layout_at(l, r, c / l.block) + (size_t)(c % l.block)] *
                x[c];
    mine = sum_of_block(mine);
    if (threadIdx.x == 0)
        y[r] = mine;
}

/* y_c += sum over r > c of A_rc x_r; one thread block for COLUMNS columns. */
enum { COLUMNS = 32, LANES = THREADS / COLUMNS };

template <typename T>
__global__ void times_upper(const T *matrix, layout l, const double *x, double *y)
{
    __shared__ double sums[LANES][COLUMNS];
    int32_t lane = (int32_t)threadIdx.x / COLUMNS,
            column = (int32_t)threadIdx.x % COLUMNS;
    int32_t c = (int32_t)blockIdx.x * COLUMNS + column;
    double mine = 0;

    for (int32_t r = (int32_t)blockIdx.x * COLUMNS + lane; r < l.padded; r += LANES)
        if (r > c)
            mine +=
                (double)matrix[layout_at(l, r, c / l.block) + (size_t)(c % l.block)] *
                x[r];
    sums[lane][column] = mine;
    __syncthreads();
    if (lane > 0)
        return;
    for (int i = 1; i < LANES; i++)
        mine += sums[i][column];
    y[c] += mine;
}

template <typename T>
static cudaError_t multiply(device *d, const T *matrix, const double *x, double *y)
{
    times_lower<<<(unsigned)d->l.padded, THREADS, 0, d->streams[0]>>>(matrix, d->l, x,
                                                                      y);
    times_upper<<<(unsigned)d->l.padded / COLUMNS, THREADS, 0, d->streams[0]>>>(
        matrix, d->l, x, y);
    return cudaGetLastError();
}

cudaError_t times(device *d, const double *x, double *y)
{
    return d->how == PLAIN64 ? multiply(d, (const double *)d->matrix, x, y)
                             : multiply(d, (const float *)d->matrix, x, y);
}
