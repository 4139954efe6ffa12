/* The sweep over a matrix in a file: the steps of the task graph, for some columns of
 * tiles at a time.
 *
 * A super-step works on the columns K = from .. to-1. It keeps the cross of K in
 * memory: the block (K, K), the rows (i, K) below it and the columns (K, j) left of
 * it. Every other tile is read once, updated by all k of K in their order, and written
 * back:
 *
 *     trailing    A_ij -= L_ik L_jk'        i >= j >= to      rows are L
 *     middle      A_ij += A_ik A_kj         i >= to, j < from rows are -L_ik W_kk,
 *                                                             columns sums of row k
 *     leading     A_ij += W_ki' W_kj        from > i >= j     columns are W
 *
 * Between these passes the cross is updated in place. A tile thus gets the same
 * products in the same order as in memory, and ends with the same bits. The memory
 * needed is that of the cross and some slots; each super-step reads and writes the
 * matrix once. */
#include "matrix/pipeline.h"
#include "solve/graph.h"

typedef struct sweep {
    ease__graph graph;
    ease__pipeline pipeline;
    const ease__tile_kernels *kernels;
    ease__tiled block;    /* (K, K) */
    char *rows, *columns; /* of the cross, one strip after the other */
    int32_t edge, tiles, from, to;
    size_t tile; /* bytes from tile to tile */
    ease__strip *strips;
    char *memory; /* slots of the pipeline, then the cross */
    size_t bytes; /* of memory */
} sweep;

static int32_t width(const sweep *s)
{
    return s->to - s->from;
}

static char *block_tile(const sweep *s, int32_t i, int32_t j)
{
    return ease__tile(&s->block, i - s->from, j - s->from);
}

/* (i, k), i >= to. */
static char *row_tile(const sweep *s, int32_t i, int32_t k)
{
    return s->rows +
           ((size_t)(i - s->to) * (size_t)width(s) + (size_t)(k - s->from)) * s->tile;
}

/* (k, j), j < from. */
static char *column_tile(const sweep *s, int32_t k, int32_t j)
{
    return s->columns +
           ((size_t)j * (size_t)width(s) + (size_t)(k - s->from)) * s->tile;
}

/* Adds the cost of finished work. Returns true if the sweep should stop. */
static bool did(sweep *s, int cost)
{
    ease__graph_did(&s->graph, cost);
    return ease__graph_stopped(&s->graph);
}

static bool stopped(void *user)
{
    return ease__graph_stopped(&((sweep *)user)->graph);
}

/* ---- the rows below the block ---------------------------------------------------- */

static void factor_strip(void *user, const ease__strip *strip)
{
    sweep *s = user;
    int32_t i = strip->i;

    for (int32_t k = s->from; k < s->to; k++) {
        for (int32_t l = s->from; l < k; l++) {
            s->kernels->trail(row_tile(s, i, k), row_tile(s, i, l), block_tile(s, k, l),
                              s->edge);
            if (did(s, EASE__COST_PRODUCT))
                return;
        }
        s->kernels->panel(row_tile(s, i, k), block_tile(s, k, k), s->edge);
        if (did(s, EASE__COST_TRIANGULAR))
            return;
    }
}

static void negate_strip(void *user, const ease__strip *strip)
{
    sweep *s = user;

    for (int32_t k = s->from; k < s->to; k++) {
        s->kernels->negate(row_tile(s, strip->i, k), block_tile(s, k, k), s->edge);
        if (did(s, EASE__COST_TRIANGULAR))
            return;
    }
}

static void update_strip(void *user, const ease__strip *strip)
{
    sweep *s = user;
    int32_t i = strip->i;

    for (int32_t k = s->from; k < s->to; k++)
        for (int32_t l = k + 1; l < s->to; l++) {
            s->kernels->update(row_tile(s, i, k), row_tile(s, i, l),
                               block_tile(s, l, k), s->edge);
            if (did(s, EASE__COST_PRODUCT))
                return;
        }
}

/* ---- the columns left of the block ----------------------------------------------- */

static void sum_strip(void *user, const ease__strip *strip)
{
    sweep *s = user;
    int32_t j = strip->j;

    for (int32_t k = s->from; k < s->to; k++)
        for (int32_t l = s->from; l < k; l++) {
            s->kernels->update(column_tile(s, k, j), block_tile(s, k, l),
                               column_tile(s, l, j), s->edge);
            if (did(s, EASE__COST_PRODUCT))
                return;
        }
}

static void finish_strip(void *user, const ease__strip *strip)
{
    sweep *s = user;

    for (int32_t k = s->from; k < s->to; k++) {
        s->kernels->finish_row(column_tile(s, k, strip->j), block_tile(s, k, k),
                               s->edge);
        if (did(s, EASE__COST_TRIANGULAR))
            return;
    }
}

static void gather_strip(void *user, const ease__strip *strip)
{
    sweep *s = user;
    int32_t j = strip->j;

    for (int32_t k = s->from; k < s->to; k++) {
        s->kernels->close_row(column_tile(s, k, j), block_tile(s, k, k), s->edge);
        if (did(s, EASE__COST_TRIANGULAR))
            return;
        for (int32_t l = k + 1; l < s->to; l++) {
            s->kernels->gather(column_tile(s, k, j), block_tile(s, l, k),
                               column_tile(s, l, j), s->edge);
            if (did(s, EASE__COST_PRODUCT))
                return;
        }
    }
}

/* ---- all other tiles ------------------------------------------------------------- */

static void trail_tile(void *user, const ease__strip *t)
{
    sweep *s = user;

    for (int32_t k = s->from; k < s->to; k++) {
        bool diagonal = t->i == t->j;

        if (diagonal)
            s->kernels->trail_diagonal(t->at, row_tile(s, t->i, k), s->edge);
        else
            s->kernels->trail(t->at, row_tile(s, t->i, k), row_tile(s, t->j, k),
                              s->edge);
        if (did(s, diagonal ? EASE__COST_TRIANGULAR : EASE__COST_PRODUCT))
            return;
    }
}

static void update_tile(void *user, const ease__strip *t)
{
    sweep *s = user;

    for (int32_t k = s->from; k < s->to; k++) {
        s->kernels->update(t->at, row_tile(s, t->i, k), column_tile(s, k, t->j),
                           s->edge);
        if (did(s, EASE__COST_PRODUCT))
            return;
    }
}

static void gather_tile(void *user, const ease__strip *t)
{
    sweep *s = user;

    for (int32_t k = s->from; k < s->to; k++) {
        bool diagonal = t->i == t->j;

        if (diagonal)
            s->kernels->gather_diagonal(t->at, column_tile(s, k, t->i), s->edge);
        else
            s->kernels->gather(t->at, column_tile(s, k, t->i), column_tile(s, k, t->j),
                               s->edge);
        if (did(s, diagonal ? EASE__COST_TRIANGULAR : EASE__COST_PRODUCT))
            return;
    }
}

/* ---- passes ---------------------------------------------------------------------- */

typedef void strip_fn(void *user, const ease__strip *s);
typedef enum transfer { STAYS, COMES, GOES } transfer;

static ease_status pass_rows(sweep *s, transfer t, strip_fn *work, ease_error *err)
{
    ease__pass p = {.strips = s->strips,
                    .length = width(s),
                    .resident = true,
                    .read = t == COMES,
                    .write = t == GOES,
                    .work = work};

    for (int32_t i = s->to; i < s->tiles; i++)
        p.strips[p.count++] = (ease__strip){i, s->from, row_tile(s, i, s->from)};
    return ease__pipeline_run(&s->pipeline, &p, err);
}

static ease_status pass_columns(sweep *s, transfer t, strip_fn *work, ease_error *err)
{
    ease__pass p = {.strips = s->strips,
                    .length = width(s),
                    .down = true,
                    .resident = true,
                    .read = t == COMES,
                    .write = t == GOES,
                    .work = work};

    for (int32_t j = 0; j < s->from; j++)
        p.strips[p.count++] = (ease__strip){s->from, j, column_tile(s, s->from, j)};
    return ease__pipeline_run(&s->pipeline, &p, err);
}

/* Tiles (i, j) with j <= i, top <= i < bottom and left <= j < right. */
static ease_status pass_tiles(sweep *s, int32_t top, int32_t bottom, int32_t left,
                              int32_t right, strip_fn *work, ease_error *err)
{
    ease__pass p = {
        .strips = s->strips, .length = 1, .read = true, .write = true, .work = work};

    for (int32_t i = top; i < bottom; i++)
        for (int32_t j = left; j < right && j <= i; j++)
            p.strips[p.count++] = (ease__strip){.i = i, .j = j};
    return ease__pipeline_run(&s->pipeline, &p, err);
}

static ease_status move_block(sweep *s, transfer t, ease_error *err)
{
    const ease__tilefile *f = s->pipeline.file;
    ease_status status = EASE_OK;

    for (int32_t i = s->from; !status && i < s->to; i++) {
        size_t count = (size_t)(i - s->from) + 1;
        char *at = block_tile(s, i, s->from);

        status = t == COMES ? ease__tilefile_read(f, i, s->from, count, at, err)
                            : ease__tilefile_write(f, i, s->from, count, at, err);
    }
    return status;
}

static void sweep_block(sweep *s, ease__graph_part part)
{
    ease__graph_run(&s->graph, part, s->pipeline.threads);
}

/* ---- a super-step ---------------------------------------------------------------- */

static ease_status trail(sweep *s, ease_error *err)
{
    ease_status status = move_block(s, COMES, err);

    if (status)
        return status;
    sweep_block(s, EASE__PART_FACTOR);
    status = pass_rows(s, COMES, factor_strip, err);
    if (!status)
        status = pass_tiles(s, s->to, s->tiles, s->to, s->tiles, trail_tile, err);
    return status;
}

static ease_status update(sweep *s, ease_error *err)
{
    ease_status status = pass_rows(s, STAYS, negate_strip, err);

    if (status)
        return status;
    sweep_block(s, EASE__PART_NEGATE);
    status = pass_columns(s, COMES, sum_strip, err);
    if (!status)
        status = pass_tiles(s, s->to, s->tiles, 0, s->from, update_tile, err);
    if (status)
        return status;
    sweep_block(s, EASE__PART_UPDATE);
    return pass_rows(s, GOES, update_strip, err);
}

static ease_status gather(sweep *s, ease_error *err)
{
    ease_status status = pass_columns(s, STAYS, finish_strip, err);

    if (status)
        return status;
    sweep_block(s, EASE__PART_FINISH);
    status = pass_tiles(s, 0, s->from, 0, s->from, gather_tile, err);
    if (!status)
        status = pass_columns(s, GOES, gather_strip, err);
    if (status)
        return status;
    sweep_block(s, EASE__PART_GATHER);
    return move_block(s, GOES, err);
}

/* After a stop the file contains neither A nor P; the caller gets an error and must
 * not use it. */
static ease_status super_step(sweep *s, ease_error *err)
{
    ease_status status = trail(s, err);

    if (!status && !stopped(s))
        status = update(s, err);
    if (!status && !stopped(s))
        status = gather(s, err);
    return status;
}

/* ---- the whole sweep ------------------------------------------------------------- */

/* The number of tiles in the cross of this many columns. */
static size_t cross_tiles(int32_t tiles, int32_t columns)
{
    return ease__tile_count(columns) + (size_t)columns * (size_t)(tiles - columns);
}

size_t ease__invert_file_least(const ease__tiled *shape, int threads)
{
    ease__tiled padded = ease__tiled_padded(shape);
    size_t slots = (size_t)ease__pipeline_slots(ease__threads(threads));

    return ease__size_mul(cross_tiles(padded.tiles, 1) + slots,
                          ease__tile_bytes(&padded));
}

int32_t ease__invert_file_columns(const ease__tiled *shape, int threads, size_t memory)
{
    ease__tiled padded = ease__tiled_padded(shape);
    size_t fit = memory / ease__tile_bytes(&padded); /* tiles */
    size_t slots = (size_t)ease__pipeline_slots(ease__threads(threads));
    int32_t columns = 0;

    while (columns < padded.tiles &&
           cross_tiles(padded.tiles, columns + 1) + slots <= fit)
        columns++;
    return columns;
}

static void place_cross(sweep *s, int32_t from, int32_t to)
{
    int32_t n = (to - from) * s->edge;

    s->from = from;
    s->to = to;
    s->block = ease__tiled_shape(n, s->edge, s->pipeline.file->shape.element);
    s->block = ease__tiled_padded(&s->block);
    s->block.data = s->pipeline.ring + (size_t)s->pipeline.slots * s->tile;
    s->rows = (char *)s->block.data + s->block.bytes;
    s->columns = s->rows + (size_t)(s->tiles - to) * (size_t)(to - from) * s->tile;
    s->graph.a = &s->block;
    s->graph.first = from;
}

static ease_status allocate(sweep *s, int32_t columns, ease_error *err)
{
    s->bytes = (cross_tiles(s->tiles, columns) + (size_t)s->pipeline.slots) * s->tile;
    s->memory = ease__alloc_pages(s->bytes);
    s->strips = ease__alloc_array(ease__tile_count(s->tiles), sizeof(*s->strips));
    if (!s->memory || !s->strips)
        return ease__fail(err, EASE_E_NOMEM, "%zu MB for a part of the matrix",
                          s->bytes / 1000000);
    s->pipeline.ring = s->memory;
    return EASE_OK;
}

ease_status ease__invert_file(const ease__tilefile *f,
                              const ease__tile_kernels *kernels, size_t memory,
                              int threads, const ease_hooks *hooks, ease_error *err)
{
    int32_t columns = ease__invert_file_columns(&f->shape, threads, memory);
    sweep s = {
        .graph = ease__graph_of(f->shape.tiles, kernels, hooks),
        .pipeline = {.file = f, .threads = ease__threads(threads), .stopped = stopped},
        .kernels = kernels,
        .edge = f->shape.edge,
        .tiles = f->shape.tiles,
        .tile = ease__tile_bytes(&f->shape),
    };
    ease_status status;

    if (columns < 1)
        return ease__fail(err, EASE_E_MEMORY_LIMIT,
                          "a work file needs at least %.2f GB of memory beside it, "
                          "%.2f GB are allowed",
                          (double)ease__invert_file_least(&f->shape, threads) / 1e9,
                          (double)memory / 1e9);
    s.pipeline.slots = ease__pipeline_slots(s.pipeline.threads);
    s.pipeline.user = &s;
    status = allocate(&s, columns, err);
    for (int32_t k = 0; !status && k < s.tiles && !stopped(&s); k += columns) {
        place_cross(&s, k, s.tiles - k > columns ? k + columns : s.tiles);
        status = super_step(&s, err);
    }
    ease__free_pages(s.memory, s.bytes);
    ease__free(s.strips);
    return status ? status : ease__graph_end(&s.graph, err);
}
