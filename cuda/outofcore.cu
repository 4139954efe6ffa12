#include "outofcore.h"

#include <string.h>

#include "cost.h"
#include "elements.h"
#include "sweep.h"
#include "transfer.h"

/* Tiles of a strip; one strip for each stream. */
enum { STRIP = 16 };

/* A strip on its way: count = 0: none. */
typedef struct strip {
    int32_t i, j, count;
    char *host, *device;
    cudaEvent_t back;
} strip;

typedef struct cross {
    device d;
    const ease_backend_matrix *a;
    int32_t edge, padded;   /* of the matrix with the padding of its tiles */
    int32_t columns, width; /* the most tile columns of a step; those of this one */
    int32_t from, to;       /* tile columns */
    bool first, last;       /* step */
    char *diagonal, *below,
        *left; /* width^2; rows x width; width x columns, elements */
    strip strips[STREAMS];
    int next;
} cross;

/* ---- sizes ----------------------------------------------------------------------- */

static size_t align(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static size_t tile_numbers(const ease_backend_matrix *a)
{
    return (size_t)a->edge * (size_t)a->edge;
}

static size_t strip_bytes(const ease_backend_matrix *a, arithmetic how)
{
    return align(STRIP * tile_numbers(a) * element_bytes(how));
}

/* The parts of the allocation, in the order in which they lie. */
enum part {
    DIAGONAL,
    PANEL, /* below and left: together padded - width rows, but each may be all */
    OPERANDS,
    W_ACROSS,
    W_DOWN,
    FACTOR,
    WORK,
    NUMBERS,
    SCALE,
    STRIPS,
    PARTS
};

static void part_bytes(const ease_backend_matrix *a, arithmetic how, int32_t columns,
                       size_t bytes[PARTS])
{
    size_t width = (size_t)columns * (size_t)a->edge;
    size_t padded = (size_t)a->tiles * (size_t)a->edge;

    bytes[DIAGONAL] = align(width * width * element_bytes(how));
    bytes[PANEL] = align(padded * width * element_bytes(how));
    bytes[OPERANDS] = align(padded * width * operand_bytes(how));
    bytes[W_ACROSS] = bytes[W_DOWN] = align(width * width * operand_bytes(how));
    bytes[FACTOR] = align(width * BASE * element_bytes(how));
    bytes[WORK] = (size_t)HANDLES * WORKSPACE;
    bytes[NUMBERS] = align(sizeof(numbers));
    bytes[SCALE] = align(padded * sizeof(float));
    bytes[STRIPS] = STREAMS * strip_bytes(a, how);
}

size_t outofcore_bytes(const ease_backend_matrix *a, arithmetic how, int32_t columns)
{
    size_t bytes[PARTS], sum = 0;

    part_bytes(a, how, columns, bytes);
    for (int p = 0; p < PARTS; p++)
        sum += bytes[p];
    return sum;
}

int32_t outofcore_columns(const ease_backend_matrix *a, arithmetic how, size_t memory)
{
    int32_t columns = a->tiles;

    while (columns > 0 && outofcore_bytes(a, how, columns) > memory)
        columns--;
    return columns;
}

size_t outofcore_host_bytes(const ease_backend_matrix *a)
{
    return STREAMS * strip_bytes(a, a->precision == EASE_BACKEND_F64 ? PLAIN64 : FAST) +
           ((size_t)600 << 20);
}

/* ---- opening --------------------------------------------------------------------- */

static int32_t place_parts(cross *c)
{
    device *d = &c->d;
    size_t bytes[PARTS];
    char *at, *parts[PARTS];

    part_bytes(c->a, d->how, c->columns, bytes);
    TRY_CUDA(d,
             cudaMalloc((void **)&d->matrix, outofcore_bytes(c->a, d->how, c->columns)),
             "allocating device memory");
    at = d->matrix;
    for (int p = 0; p < PARTS; p++) {
        parts[p] = at;
        at += bytes[p];
    }
    c->diagonal = parts[DIAGONAL];
    c->left = parts[PANEL];
    d->operands = parts[OPERANDS];
    d->w_across = parts[W_ACROSS];
    d->w_down = parts[W_DOWN];
    d->panel = parts[FACTOR];
    d->workspace = parts[WORK];
    d->shared = (numbers *)parts[NUMBERS];
    d->scale = (float *)parts[SCALE];
    TRY_CUDA(
        d, cudaMallocHost((void **)&d->ring_host, STREAMS * strip_bytes(c->a, d->how)),
        "allocating pinned memory");
    for (int s = 0; s < STREAMS; s++) {
        c->strips[s].host = d->ring_host + (size_t)s * strip_bytes(c->a, d->how);
        c->strips[s].device = parts[STRIPS] + (size_t)s * strip_bytes(c->a, d->how);
    }
    return EASE_BACKEND_OK;
}

static int32_t open_cross(cross *c, course *told)
{
    device *d = &c->d;

    d->told = told;
    d->call = told->call;
    d->l.items = c->a->items;
    d->l.padded = c->padded;
    d->whole = cost_outofcore(c->a->tiles, c->edge, c->columns);
    TRY(place_parts(c));
    TRY(device_open_streams(d));
    for (int s = 0; s < STREAMS; s++)
        c->strips[s].back = d->ring_events[s];
    TRY(send_scales(d, c->a));
    TRY_CUDA(d, start_constants(d), "copying to the device");
    return EASE_BACKEND_OK;
}

/* ---- strips ---------------------------------------------------------------------- */

static char *host_tile(const cross *c, int32_t i, int32_t j)
{
    size_t tile = (size_t)i * ((size_t)i + 1) / 2 + (size_t)j;

    return (char *)c->a->data + tile * c->a->stride * element_bytes(c->d.how);
}

/* Copies the tiles of a strip between the host's matrix and its pinned buffer. */
static void copy_strip(const cross *c, const strip *s, bool back)
{
    size_t bytes = tile_numbers(c->a) * element_bytes(c->d.how);

#pragma omp parallel for schedule(static) num_threads(c->d.call->threads)
    for (int32_t t = 0; t < s->count; t++) {
        char *tile = host_tile(c, s->i, s->j + t),
             *pinned = s->host + (size_t)t * bytes;

        memcpy(back ? tile : pinned, back ? pinned : tile, bytes);
    }
}

/* Waits for the strip, and copies it back to the host's matrix. */
static int32_t finish_strip(cross *c, strip *s)
{
    if (s->count == 0)
        return EASE_BACKEND_OK;
    TRY_CUDA(&c->d, cudaEventSynchronize(s->back), "copying from the device");
    copy_strip(c, s, true);
    s->count = 0;
    return device_report(&c->d);
}

static int32_t finish_strips(cross *c)
{
    for (int s = 0; s < STREAMS; s++)
        TRY(finish_strip(c, &c->strips[(c->next + s) % STREAMS]));
    return EASE_BACKEND_OK;
}

/* Sends the tiles (i, j) ... of a row to the buffer of the next stream, which is
 * returned. */
static int32_t send_strip(cross *c, int32_t i, int32_t j, int32_t count, int *stream)
{
    strip *s = &c->strips[c->next];
    size_t bytes = (size_t)count * tile_numbers(c->a) * element_bytes(c->d.how);

    *stream = c->next;
    c->next = (c->next + 1) % STREAMS;
    TRY(finish_strip(c, s));
    s->i = i;
    s->j = j;
    s->count = count;
    copy_strip(c, s, false);
    TRY_CUDA(&c->d,
             cudaMemcpyAsync(s->device, s->host, bytes, cudaMemcpyHostToDevice,
                             c->d.streams[*stream]),
             "copying to the device");
    return EASE_BACKEND_OK;
}

static int32_t return_strip(cross *c, int stream)
{
    strip *s = &c->strips[stream];
    size_t bytes = (size_t)s->count * tile_numbers(c->a) * element_bytes(c->d.how);

    TRY_CUDA(&c->d,
             cudaMemcpyAsync(s->host, s->device, bytes, cudaMemcpyDeviceToHost,
                             c->d.streams[stream]),
             "copying from the device");
    TRY_CUDA(&c->d, cudaEventRecord(s->back, c->d.streams[stream]),
             "copying from the device");
    return EASE_BACKEND_OK;
}

/* ---- the cross ------------------------------------------------------------------- */

static char *element(const cross *c, char *base, int32_t row, int32_t column, size_t ld)
{
    return base + ((size_t)row * ld + (size_t)column) * element_bytes(c->d.how);
}

/* Copies the tiles (i, j) ... (i, j + count - 1) between the host and rows on the
 * device. */
static int32_t move_row(cross *c, int32_t i, int32_t j, int32_t count, char *rows,
                        size_t ld, bool back)
{
    for (int32_t done = 0; done < count; done += STRIP) {
        int32_t part = count - done < STRIP ? count - done : (int32_t)STRIP;
        char *at = element(c, rows, 0, done * c->edge, ld);
        int s;

        TRY(send_strip(c, i, j + done, part, &s));
        if (back)
            TRY_CUDA(&c->d,
                     tiles_out(&c->d, c->a, at, ld, i, j + done, part, c->last,
                               c->strips[s].device, s),
                     "copying from the device");
        else
            TRY_CUDA(&c->d,
                     tiles_in(&c->d, c->a, c->strips[s].device, i, j + done, part,
                              c->first, at, ld, s),
                     "copying to the device");
        TRY(return_strip(c, s));
    }
    return EASE_BACKEND_OK;
}

static int32_t move_diagonal(cross *c, bool back)
{
    for (int32_t i = c->from; i < c->to; i++)
        TRY(move_row(
            c, i, c->from, i - c->from + 1,
            element(c, c->diagonal, (i - c->from) * c->edge, 0, (size_t)c->width),
            (size_t)c->width, back));
    return EASE_BACKEND_OK;
}

static int32_t move_below(cross *c, bool back)
{
    for (int32_t i = c->to; i < c->a->tiles; i++)
        TRY(move_row(c, i, c->from, c->to - c->from,
                     element(c, c->below, (i - c->to) * c->edge, 0, (size_t)c->width),
                     (size_t)c->width, back));
    return EASE_BACKEND_OK;
}

static int32_t move_left(cross *c, bool back)
{
    size_t ld = (size_t)c->from * (size_t)c->edge;

    for (int32_t i = c->from; i < c->to; i++)
        TRY(move_row(c, i, 0, c->from,
                     element(c, c->left, (i - c->from) * c->edge, 0, ld), ld, back));
    return EASE_BACKEND_OK;
}

/* All streams wait until strips and the work of stream 0 are done. */
static int32_t settle(cross *c)
{
    TRY(finish_strips(c));
    return device_finish(&c->d);
}

/* ---- operands -------------------------------------------------------------------- */

static size_t group_bytes(const cross *c, size_t numbers)
{
    return numbers * operand_bytes(c->d.how);
}

/* Group g of an operand of width columns, from row `row` on. */
static operand across(const cross *c, const char *base, int32_t row, int32_t g)
{
    size_t parts = c->d.how == FAST ? 4 : 1;
    operand o = {};

    o.ld = parts * (size_t)c->width;
    o.depth = c->edge;
    o.at = base + group_bytes(c, (size_t)row * (size_t)c->width) +
           group_bytes(c, (size_t)g * (size_t)c->edge);
    return o;
}

/* Group g of an operand of width rows and `ld` columns, from column `column` on. */
static operand down(const cross *c, const char *base, size_t ld, int32_t column,
                    int32_t g)
{
    operand o = {};

    o.ld = ld;
    o.depth = c->edge;
    o.down = true;
    o.at = base + group_bytes(c, (size_t)g * (size_t)c->edge * ld) +
           (size_t)column *
               (c->d.how == FAST ? sizeof(uint16_t) : element_bytes(c->d.how));
    return o;
}

static int32_t groups(const cross *c)
{
    return c->to - c->from;
}

static const double *alpha(const cross *c, int a, int b)
{
    return &c->d.shared->alpha[a * SCALES + b];
}

static char *x_base(const cross *c)
{
    return c->d.operands +
           group_bytes(c, (size_t)c->to * (size_t)c->edge * (size_t)c->width);
}

#define LAUNCH(c, what) TRY_CUDA(&(c)->d, what, "solving")

static int32_t below_rows(const cross *c)
{
    return c->padded - c->to * c->edge;
}

static int32_t left_columns(const cross *c)
{
    return c->from * c->edge;
}

static int32_t make_x(cross *c)
{
    device *d = &c->d;

    LAUNCH(c, largest_of_panel(d, c->below, below_rows(c), c->width, SCALE_X));
    LAUNCH(c, operand_of_panel(d, c->below, below_rows(c), c->width, c->edge, SCALE_X,
                               x_base(c), false));
    return EASE_BACKEND_OK;
}

static int32_t make_y(cross *c)
{
    device *d = &c->d;

    LAUNCH(c, largest_of_panel(d, c->left, c->width, left_columns(c), SCALE_Y));
    LAUNCH(c, operand_of_panel(d, c->left, c->width, left_columns(c), c->edge, SCALE_Y,
                               d->operands, true));
    return EASE_BACKEND_OK;
}

static int32_t make_w(cross *c)
{
    device *d = &c->d;

    LAUNCH(c, largest_of_panel(d, c->diagonal, c->width, c->width, SCALE_W));
    LAUNCH(c, operand_of_panel(d, c->diagonal, c->width, c->width, c->edge, SCALE_W,
                               d->w_across, false));
    LAUNCH(c, operand_of_panel(d, c->diagonal, c->width, c->width, c->edge, SCALE_W,
                               d->w_down, true));
    return EASE_BACKEND_OK;
}

/* below <- sign X W' or sign X W */
static int32_t times_w(cross *c, bool transposed, double sign)
{
    device *d = &c->d;

    if (below_rows(c) == 0)
        return EASE_BACKEND_OK;
    LAUNCH(c, set_alpha(d, SCALE_X, SCALE_W, sign));
    for (int32_t g = 0; g < groups(c); g++)
        TRY(product(d, 0, below_rows(c), c->width, across(c, x_base(c), 0, g),
                    transposed ? across(c, d->w_across, 0, g)
                               : down(c, d->w_down, (size_t)c->width, 0, g),
                    c->below, (size_t)c->width, alpha(c, SCALE_X, SCALE_W),
                    g ? &d->shared->one : &d->shared->zero));
    return EASE_BACKEND_OK;
}

/* left <- W Y or W' Y */
static int32_t w_times(cross *c, bool transposed)
{
    device *d = &c->d;
    size_t ld = (size_t)left_columns(c);

    if (ld == 0)
        return EASE_BACKEND_OK;
    LAUNCH(c, set_alpha(d, SCALE_W, SCALE_Y, 1));
    for (int32_t g = 0; g < groups(c); g++)
        TRY(product(d, 0, c->width, (int32_t)ld,
                    transposed ? down(c, d->w_down, (size_t)c->width, 0, g)
                               : across(c, d->w_across, 0, g),
                    down(c, d->operands, ld, 0, g), c->left, ld,
                    alpha(c, SCALE_W, SCALE_Y),
                    g ? &d->shared->one : &d->shared->zero));
    return EASE_BACKEND_OK;
}

/* ---- all other tiles ------------------------------------------------------------- */

typedef enum kind { TRAILING, MIDDLE, LEADING } kind;

/* The tiles (i, j) ... of a strip: C += alpha A B, over the groups. */
static int32_t multiply_strip(cross *c, kind k, int s)
{
    device *d = &c->d;
    strip *t = &c->strips[s];
    size_t ld = (size_t)left_columns(c), e = (size_t)c->edge;
    size_t parts = d->how == FAST ? 4 : 1;
    const double *scale = k == TRAILING ? alpha(c, SCALE_X, SCALE_X)
                          : k == MIDDLE ? alpha(c, SCALE_X, SCALE_Y)
                                        : alpha(c, SCALE_Y, SCALE_Y);

    for (int32_t g = 0; g < groups(c); g++) {
        operand a = k == LEADING ? down(c, d->operands, ld, t->i * c->edge, g)
                                 : across(c, x_base(c), (t->i - c->to) * c->edge, g);
        operand b = k == TRAILING ? across(c, x_base(c), (t->j - c->to) * c->edge, g)
                                  : down(c, d->operands, ld, t->j * c->edge, g);
        size_t apart = k == TRAILING ? e * parts * (size_t)c->width : e;

        TRY(products(d, s, c->edge, c->edge, a, b, apart, t->device, t->count, scale,
                     &d->shared->one));
    }
    return EASE_BACKEND_OK;
}

/* Tiles of row i from column j to below `end`. */
static int32_t pass_row(cross *c, kind k, int32_t i, int32_t j, int32_t end)
{
    for (; j < end; j += STRIP) {
        int32_t count = end - j < STRIP ? end - j : (int32_t)STRIP;
        strip *t;
        int s;

        TRY(send_strip(c, i, j, count, &s));
        t = &c->strips[s];
        if (c->first)
            LAUNCH(c, scale_tiles(&c->d, c->a, i, j, count, t->device, s));
        TRY(multiply_strip(c, k, s));
        if (c->last)
            LAUNCH(c, scale_tiles(&c->d, c->a, i, j, count, t->device, s));
        TRY(return_strip(c, s));
    }
    return EASE_BACKEND_OK;
}

static int32_t pass(cross *c, kind k)
{
    int32_t top = k == LEADING ? 0 : c->to,
            bottom = k == LEADING ? c->from : c->a->tiles;

    TRY(settle(c));
    for (int32_t i = top; i < bottom; i++)
        TRY(pass_row(c, k, i, k == TRAILING ? c->to : 0,
                     k == MIDDLE ? c->from : i + 1));
    return settle(c);
}

/* ---- steps ----------------------------------------------------------------------- */

static int32_t factor_diagonal(cross *c)
{
    device *d = &c->d;

    TRY(move_diagonal(c, false));
    TRY(settle(c));
    TRY(factor_block(d, c->diagonal, c->width, (size_t)c->width, c->from * c->edge));
    TRY_CUDA(d, cudaStreamSynchronize(d->streams[STREAMS]), "solving");
    return check_pivots(d, c->a->items);
}

static int32_t take_step(cross *c)
{
    device *d = &c->d;

    TRY(factor_diagonal(c));
    TRY(move_below(c, false));
    TRY(move_left(c, false));
    TRY(settle(c));
    TRY(make_w(c));
    TRY(make_x(c));
    TRY(make_y(c));
    TRY(times_w(c, true, 1));
    TRY(make_x(c));
    LAUNCH(c, set_alpha(d, SCALE_X, SCALE_X, -1));
    TRY(pass(c, TRAILING));
    TRY(times_w(c, false, -1));
    TRY(make_x(c));
    LAUNCH(c, set_alpha(d, SCALE_X, SCALE_Y, 1));
    TRY(pass(c, MIDDLE));
    TRY(w_times(c, false));
    TRY(make_y(c));
    LAUNCH(c, set_alpha(d, SCALE_Y, SCALE_Y, 1));
    TRY(pass(c, LEADING));
    TRY(w_times(c, true));
    LAUNCH(c, set_alpha(d, SCALE_W, SCALE_W, 1));
    for (int32_t g = 0; g < groups(c); g++)
        TRY(product(
            d, 0, c->width, c->width, down(c, d->w_down, (size_t)c->width, 0, g),
            down(c, d->w_down, (size_t)c->width, 0, g), c->diagonal, (size_t)c->width,
            alpha(c, SCALE_W, SCALE_W), g ? &d->shared->one : &d->shared->zero));
    TRY(settle(c));
    TRY(move_diagonal(c, true));
    TRY(move_below(c, true));
    TRY(move_left(c, true));
    return settle(c);
}

static int32_t sweep_host(cross *c)
{
    int32_t tiles = c->a->tiles;

    for (c->from = 0; c->from < tiles; c->from = c->to) {
        c->to = tiles - c->from < c->columns ? tiles : c->from + c->columns;
        c->width = (c->to - c->from) * c->edge;
        /* The rows below follow those that lie left, if each had all columns. */
        c->below = element(c, c->left, c->from * c->edge, 0, (size_t)c->width);
        c->first = c->from == 0;
        c->last = c->to == tiles;
        TRY(take_step(c));
    }
    return EASE_BACKEND_OK;
}

int32_t outofcore_invert(const ease_backend_matrix *a, arithmetic how, int32_t columns,
                         course *told)
{
    cross c = {};
    int32_t status;

    c.a = a;
    c.d.how = how;
    c.edge = a->edge;
    c.padded = a->tiles * a->edge;
    c.columns = columns;
    status = open_cross(&c, told);
    if (!status)
        status = sweep_host(&c);
    device_close(&c.d);
    return status;
}
