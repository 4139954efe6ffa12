#include "vectors.h"

#include <string.h>

#include "pulse.h"
#include "solve/solve.h"

typedef struct walk walk;

/* Each block of the sums has one term in each step. It goes from the owner of the tile
 * of one step to that of the next: a few KB, while the tiles stay. */
struct walk {
    const share *share;
    int32_t steps;
    int32_t (*other)(int32_t step, int32_t block); /* the other block of the tile */
    void (*add)(const walk *w, int32_t step, int32_t block, double *sums);
    const double *x; /* or the centre */
    const ease_model *model;
};

static int owner_at(const walk *w, int32_t step, int32_t b)
{
    int32_t other = w->other(step, b);

    return share_owner(w->share, b > other ? b : other, b > other ? other : b);
}

/* All processes take the terms in the same order, so that the first of all that is
 * waited for is never behind another one. */
static void take_term(const walk *w, int32_t step, int32_t b, double *sums,
                      MPI_Request *sent)
{
    const group *g = w->share->group;
    int count = w->share->t.edge, from, to;

    if (owner_at(w, step, b) != g->rank)
        return;
    from = step > 0 ? owner_at(w, step - 1, b) : g->rank;
    to = step + 1 < w->steps ? owner_at(w, step + 1, b) : g->rank;
    MPI_Wait(sent, MPI_STATUS_IGNORE);
    if (from != g->rank)
        MPI_Recv(sums, count, MPI_DOUBLE, from, b, g->all, MPI_STATUS_IGNORE);
    w->add(w, step, b, sums);
    pulse_did(1);
    if (to != g->rank)
        MPI_Isend(sums, count, MPI_DOUBLE, to, b, g->all, sent);
}

static ease_status run(const walk *w, const char *stage, double *out, ease_error *err)
{
    const share *s = w->share;
    size_t e = (size_t)s->t.edge, tiles = (size_t)s->t.tiles;
    double *sums = ease__alloc_zero(tiles * e, sizeof(*sums));
    MPI_Request *sent = ease__alloc_array(tiles, sizeof(MPI_Request));
    ease_status status = sums && sent ? EASE_OK
                                      : ease__fail(err, EASE_E_NOMEM,
                                                   "vectors of %d items", (int)s->t.n);

    status = group_agree(s->group, status, err);
    for (size_t b = 0; !status && b < tiles; b++)
        sent[b] = MPI_REQUEST_NULL;
    pulse_stage(stage, (double)w->steps * (double)tiles);
    for (int32_t step = 0; !status && step < w->steps; step++)
        for (int32_t b = 0; b < s->t.tiles; b++)
            take_term(w, step, b, sums + (size_t)b * e, &sent[b]);
    for (int32_t b = 0; !status && b < s->t.tiles; b++) {
        MPI_Wait(&sent[b], MPI_STATUS_IGNORE);
        if (owner_at(w, w->steps - 1, b) != s->group->rank)
            memset(sums + (size_t)b * e, 0, e * sizeof(*sums));
    }
    if (!status) {
        group_join(s->group, sums, tiles * e);
        memcpy(out, sums, (size_t)s->t.n * sizeof(*out));
    }
    ease__free(sums);
    ease__free(sent);
    return status;
}

/* ---- y = A x: the tiles of row b, then those of column b ------------------------- */

static int32_t other_of_times(int32_t step, int32_t b)
{
    return step <= b ? step : step - 1;
}

static void add_times(const walk *w, int32_t step, int32_t b, double *sums)
{
    const ease__tiled *t = &w->share->t;
    int32_t other = other_of_times(step, b);

    if (step <= b)
        ease__times_tile(t, ease__tile(t, b, other), b, other, w->x, sums);
    else
        ease__times_transposed(t, ease__tile(t, other, b), b, other, w->x, sums);
}

ease_status vectors_times(const share *s, const double *x, double *y, ease_error *err)
{
    walk w = {.share = s,
              .steps = s->t.tiles + 1,
              .other = other_of_times,
              .add = add_times,
              .x = x};

    return run(&w, "checking", y, err);
}

/* ---- the sums of rows of weights, i ascending ------------------------------------ */

static int32_t other_of_centre(int32_t step, int32_t b)
{
    (void)b;
    return step;
}

static void add_centre(const walk *w, int32_t step, int32_t b, double *sums)
{
    enum { MOST_EDGE = 1024 };
    const ease__tiled *t = &w->share->t;
    int32_t e = t->edge, top = step * e, left = b * e;
    int32_t rows = t->n - top < e ? t->n - top : e;
    int32_t columns = t->n - left < e ? t->n - left : e;
    const float *tile = step >= b ? ease__tile(t, step, b) : ease__tile(t, b, step);
    float row[MOST_EDGE];

    for (int32_t r = 0; r < rows; r++) {
        for (int32_t c = 0; c < columns; c++)
            row[c] = step >= b ? tile[r * e + c] : tile[c * e + r];
        ease__packed_scale(w->model, top + r, left, columns, row);
        for (int32_t c = 0; c < columns; c++)
            sums[c] += w->x[top + r] * (double)row[c];
    }
}

ease_status vectors_centre(const share *s, const ease_model *m, const double *centre,
                           double *sums, ease_error *err)
{
    walk w = {.share = s,
              .steps = s->t.tiles,
              .other = other_of_centre,
              .add = add_centre,
              .x = centre,
              .model = m};

    return run(&w, "computing means", sums, err);
}
