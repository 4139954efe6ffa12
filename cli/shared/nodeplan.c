#include "nodeplan.h"

#include <math.h>

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A grid of processes over tiles, as src/matrix and cluster/ deal them out. */
typedef struct grid {
    int64_t tiles, rows, columns;
} grid;

static grid grid_of(int64_t tiles, int64_t nodes)
{
    grid g = {.tiles = tiles, .rows = 1};

    for (int64_t r = 1; r * r <= nodes; r++)
        if (nodes % r == 0)
            g.rows = r;
    g.columns = nodes / g.rows;
    return g;
}

/* The other processes that own one of `count` tiles of a row from column `from` on, for
 * a process in column `own` of the grid; the row is its own. */
static int64_t others(int64_t from, int64_t count, int64_t own, int64_t columns)
{
    int64_t first = from % columns, reached = smaller(count, columns);
    bool mine = (own % columns - first + columns) % columns < reached;

    return reached - mine;
}

/* min(1, most) + min(2, most) + .. + min(count, most) */
static int64_t sum_of_least(int64_t count, int64_t most)
{
    int64_t rising = smaller(count, most);

    return rising * (rising + 1) / 2 + (count - rising) * most;
}

/* The numbers of 1 .. count that are `from` or more. */
static int64_t count_from(int64_t count, int64_t from)
{
    return count < from ? 0 : count - from + 1;
}

/* Messages of step k for `count` tiles beside the diagonal. One with d tiles to one
 * side of it and m to the other goes to min(d, row) processes in its row of the grid
 * and min(m, column) in its column; d and m are 1 .. count. One of these is counted
 * twice, and the owner is among them for d (or m) of at least `owner`. */
static int64_t beside(int64_t count, int64_t row, int64_t column, int64_t owner)
{
    return sum_of_least(count, row) + sum_of_least(count, column) - count -
           count_from(count, owner);
}

/* Tiles that are sent in a sweep. Step k sends tiles (i, k) of L to the processes of
 * row i from column k + 1 to the diagonal, and of column i below it; tiles (k, j) of
 * the inverse factor to those of row j to the diagonal, and of column j from there to
 * row k - 1. Tile (k, k) is sent once to all that own a tile of its row or column. */
static double count_tiles(const grid *g)
{
    double sent = 0;

    for (int64_t k = 0; k < g->tiles; k++) {
        int64_t below = g->tiles - 1 - k;
        int64_t row = others(0, k, k, g->columns),
                column = others(k + 1, below, k, g->rows);

        sent += (double)(others(0, k + 1, k, g->columns) +
                         others(k, g->tiles - k, k, g->rows));
        sent += (double)(beside(below, g->columns, g->rows, g->columns) + below * row);
        sent += (double)(beside(k, g->columns, g->rows, g->rows) + k * column);
    }
    return sent;
}

static size_t whole_bytes(double bytes)
{
    return bytes < 0x1p63 ? (size_t)bytes : SIZE_MAX;
}

/* Training from data: the strips of X'X that are in memory while pairs are counted. */
static double strips_of(const ease_plan *p, size_t element)
{
    const double least = 1 << 20, rows_a_thread = 4, strips = 5;

    return strips *
           fmax(rows_a_thread * p->threads * (double)p->items * (double)element, least);
}

/* Training from data: process 0 reads it, with 12 bytes for an interaction, or 20 with
 * weights. The plan's data has the transpose, 8 or 16 in all. */
static double reading_of(const ease_plan *p)
{
    return (double)p->data_bytes + 4 * (double)p->interactions;
}

/* The same bounds as in cluster/: own tiles, copies of tiles of others, a handle for
 * each tile, vectors, and before there are copies what counting needs. */
static double memory_of(const ease_plan *p, const grid *g, double tile, size_t element)
{
    const double handle = 4800, vectors = 24 * sizeof(double), process = 64 << 20;
    double tiles = (double)(g->tiles * (g->tiles + 1)) / 2;
    double copies, held = 0, all;
    int64_t nodes = g->rows * g->columns;
    /* The fullest process: whole rows and columns of tiles more than its part. */
    double own = ceil((double)g->tiles / (double)g->rows) *
                 ceil((double)(g->tiles + 1) / (double)g->columns) / 2;
    double across = 2 * ((double)g->tiles / (double)g->rows +
                         (double)g->tiles / (double)g->columns + 2);

    own = fmin(nodes == 1 ? tiles : own + (double)g->tiles / (double)g->columns, tiles);
    copies = nodes == 1 ? 0 : across * tile;
    if (p->interactions > 0) {
        held = (double)p->data_bytes / (double)nodes;
        copies = fmax(copies, strips_of(p, element));
    }
    all = own * tile + copies + tiles * handle + (double)p->items * vectors + process;
    return p->interactions > 0 ? fmax(all + held, process + reading_of(p)) : all;
}

node_plan plan_nodes(const ease_plan *p, int64_t nodes, size_t element, double network)
{
    double edge = (double)p->tile_edge, tile = edge * edge * (double)element;
    double core = p->flops_a_second / p->threads;
    grid g = grid_of((p->items + p->tile_edge - 1) / p->tile_edge, nodes);
    double sent = nodes > 1 ? count_tiles(&g) * tile : 0;
    node_plan n = {.nodes = nodes, .rows = g.rows, .columns = g.columns};

    n.memory_bytes = whole_bytes(memory_of(p, &g, tile, element));
    n.sent_bytes = whole_bytes(sent);
    n.core_seconds = p->flops / (p->flops_a_second * (double)nodes);
    n.network_seconds = sent / ((double)nodes * network);
    /* What follows on each other in a step: a diagonal tile, its column, the next
     * diagonal tile; some 5 edge^3 flops on one core, and two tiles on their way. */
    n.chain_seconds = (double)g.tiles * (5 * edge * edge * edge / core +
                                         (nodes > 1 ? 2 * tile / network : 0));
    n.solve_seconds = fmax(n.core_seconds, fmax(n.network_seconds, n.chain_seconds));
    n.fits = p->available_bytes == 0 || n.memory_bytes <= p->available_bytes;
    return n;
}
