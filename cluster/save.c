#include "save.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pulse.h"

/* Bytes of the weights that a process collects and writes at a time. */
enum { UNIT = 4 * EASE__BLOCK };

typedef struct saving {
    const share *share;
    ease__saving *model;
    int threads;
    size_t section; /* offset in the file */
    size_t all;     /* bytes of the section */
    size_t units;
    int fd;
    float *out, *in;  /* what is sent and received */
    float *rows;      /* of a unit */
    char *bytes;      /* of a unit */
    int *counts, *at; /* of the messages: sent, then received, a number for each
                           process */
    uint64_t *hashes; /* of all blocks; 0 unless this process has written it */
    size_t hash_count;
} saving;

/* ---- what a unit consists of ----------------------------------------------------- */

/* A part of the weights: bytes of the section and, unless it is packed, the rows that
 * they lie in. */
typedef struct unit {
    size_t from, to;
    int32_t top, bottom;
} unit;

static unit unit_at(const saving *s, size_t number)
{
    size_t stride = (size_t)s->model->params.stride;
    unit u = {.from = number * UNIT};

    u.to = s->all - u.from > UNIT ? u.from + UNIT : s->all;
    if (stride) {
        u.top = (int32_t)(u.from / stride);
        u.bottom = (int32_t)((u.to + stride - 1) / stride);
    }
    return u;
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Rows a .. b-1 of block i, for the columns of block k of P, row-major: `piece` is
 * copied from the tile, or to `rows` of the unit. */
typedef struct piece {
    int32_t i, k, a, b, columns;
} piece;

static void take_piece(const saving *s, const piece *p, float *to)
{
    const ease__tiled *t = &s->share->t;
    const float *tile = p->k <= p->i ? ease__tile(t, p->i, p->k)
                                     : ease__tile(t, p->k, p->i);
    size_t e = (size_t)t->edge;

    for (int32_t r = p->a; r < p->b; r++, to += p->columns)
        if (p->k <= p->i)
            memcpy(to, tile + (size_t)r * e, (size_t)p->columns * sizeof(*to));
        else
            for (int32_t c = 0; c < p->columns; c++)
                to[c] = tile[(size_t)c * e + (size_t)r];
}

static void place_piece(const saving *s, const unit *u, const piece *p,
                        const float *from)
{
    size_t n = (size_t)s->share->t.n, e = (size_t)s->share->t.edge;
    size_t row = (size_t)p->i * e + (size_t)p->a - (size_t)u->top;
    float *to = s->rows + row * n + (size_t)p->k * e;

    for (int32_t r = p->a; r < p->b; r++, to += n, from += p->columns)
        memcpy(to, from, (size_t)p->columns * sizeof(*to));
}

/* Goes over the pieces of a unit whose tiles `owner` has: copies them to `out`, or if
 * that is NULL from `in`. Returns the number of floats. */
static size_t row_pieces(const saving *s, const unit *u, int owner, float *out,
                         const float *in)
{
    const ease__tiled *t = &s->share->t;
    size_t count = 0;

    for (int32_t i = u->top / t->edge; (int64_t)i * t->edge < u->bottom; i++)
        for (int32_t k = 0; k < t->tiles; k++) {
            int32_t first = u->top - i * t->edge;
            piece p = {.i = i, .k = k, .a = first > 0 ? first : 0};

            if (share_owner(s->share, k <= i ? i : k, k <= i ? k : i) != owner)
                continue;
            p.b = smaller(u->bottom - i * t->edge, t->edge);
            p.columns = smaller(t->n - k * t->edge, t->edge);
            if (out)
                take_piece(s, &p, out + count);
            else if (in)
                place_piece(s, u, &p, in + count);
            count += (size_t)(p.b - p.a) * (size_t)p.columns;
        }
    return count;
}

/* The same for packed weights, which are the tiles in their order. */
static size_t tile_pieces(const saving *s, const unit *u, int owner, float *out,
                          const float *in)
{
    const ease__tiled *t = &s->share->t;
    size_t tile = (size_t)t->edge * (size_t)t->edge, count = 0;
    size_t from = u->from / sizeof(float), to = u->to / sizeof(float);

    for (int32_t i = 0; i < t->tiles; i++)
        for (int32_t j = 0; j <= i; j++) {
            size_t begin = (ease__tile_count(i) + (size_t)j) * tile, a = 0, part;

            if (begin >= to)
                return count;
            if (begin + tile <= from || share_owner(s->share, i, j) != owner)
                continue;
            if (begin < from)
                a = from - begin;
            part = (begin + tile < to ? tile : to - begin) - a;
            if (out)
                memcpy(out + count, (const float *)ease__tile(t, i, j) + a,
                       part * sizeof(float));
            else if (in)
                memcpy(s->bytes + (begin + a - from) * sizeof(float), in + count,
                       part * sizeof(float));
            count += part;
        }
    return count;
}

static size_t pieces(const saving *s, size_t number, int owner, float *out,
                     const float *in)
{
    unit u;

    if (number >= s->units)
        return 0;
    u = unit_at(s, number);
    return s->model->params.stride ? row_pieces(s, &u, owner, out, in)
                                   : tile_pieces(s, &u, owner, out, in);
}

/* ---- writing --------------------------------------------------------------------- */

/* Each process gets the pieces of one unit, number `first` + its rank. */
static void exchange(const saving *s, size_t first)
{
    const group *g = s->share->group;
    int *out = s->counts, *in = out + g->size, *out_at = s->at,
        *in_at = out_at + g->size;
    size_t sent = 0, got = 0;

    for (int r = 0; r < g->size; r++) {
        out_at[r] = (int)sent;
        in_at[r] = (int)got;
        out[r] = (int)pieces(s, first + (size_t)r, g->rank, s->out + sent, NULL);
        in[r] = (int)pieces(s, first + (size_t)g->rank, r, NULL, NULL);
        sent += (size_t)out[r];
        got += (size_t)in[r];
    }
    MPI_Alltoallv(s->out, out, out_at, MPI_FLOAT, s->in, in, in_at, MPI_FLOAT, g->all);
    for (int r = 0; r < g->size; r++)
        (void)pieces(s, first + (size_t)g->rank, r, NULL, s->in + in_at[r]);
}

/* Makes weights of the rows of P, and of these the bytes of the file; the padding
 * between rows is zero, and stays zero. */
static void make_rows(const saving *s, const unit *u)
{
    const ease_model *m = s->model->model;
    size_t n = (size_t)s->share->t.n, stride = (size_t)s->model->params.stride;
    bool halves = s->model->form->store->halves;

#pragma omp parallel for schedule(static) num_threads(ease__threads(s->threads))
    for (int32_t i = u->top; i < u->bottom; i++) {
        float *row = s->rows + (size_t)(i - u->top) * n;
        char *to = s->bytes + (size_t)(i - u->top) * stride;

        ease__packed_scale(m, i, 0, (int32_t)n, row);
        if (halves)
            m->kernels->to_half(row, 1.0f / s->model->params.unit, (void *)to, n);
        else
            memcpy(to, row, n * sizeof(float));
    }
}

static ease_status write_at(const saving *s, const char *data, size_t bytes,
                            size_t offset, ease_error *err)
{
    while (bytes) {
        ssize_t put = pwrite(s->fd, data, bytes, (off_t)offset);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return ease__fail_errno(err, "process %d on %s cannot write the model",
                                    s->share->group->rank, s->share->group->host);
        data += put;
        offset += (size_t)put;
        bytes -= (size_t)put;
    }
    return EASE_OK;
}

static ease_status write_unit(const saving *s, size_t number, ease_error *err)
{
    size_t stride = (size_t)s->model->params.stride;
    const char *data = s->bytes;
    unit u;

    if (number >= s->units)
        return EASE_OK;
    u = unit_at(s, number);
    if (stride) {
        make_rows(s, &u);
        data += u.from - (size_t)u.top * stride;
    }
    for (size_t at = u.from; at < u.to; at += EASE__BLOCK)
        s->hashes[at / EASE__BLOCK] = ease__block_hash(
            data + (at - u.from), u.to - at < EASE__BLOCK ? u.to - at : EASE__BLOCK);
    return write_at(s, data, u.to - u.from, s->section + u.from, err);
}

static ease_status write_units(const saving *s, ease_error *err)
{
    const group *g = s->share->group;
    ease_status status = EASE_OK;

    pulse_stage("writing", (double)s->units);
    for (size_t first = 0; first < s->units; first += (size_t)g->size) {
        exchange(s, first);
        if (!status) /* a process that has failed goes on to send */
            status = write_unit(s, first + (size_t)g->rank, err);
        if (first + (size_t)g->rank < s->units)
            pulse_did(1);
    }
    if (!status && fsync(s->fd) != 0)
        status = ease__fail_errno(err, "process %d on %s cannot sync the model",
                                  g->rank, g->host);
    status = group_agree(g, status, err);
    if (!status)
        group_join(g, s->hashes, s->hash_count);
    return status;
}

/* ---- opening --------------------------------------------------------------------- */

static void release(saving *s)
{
    if (s->fd >= 0)
        close(s->fd);
    ease__free(s->out);
    ease__free(s->in);
    ease__free(s->rows);
    ease__free(s->bytes);
    ease__free(s->counts);
    ease__free(s->at);
    ease__free(s->hashes);
}

static ease_status allocate(saving *s, ease_error *err)
{
    size_t n = (size_t)s->share->t.n, stride = (size_t)s->model->params.stride;
    size_t rows = stride ? UNIT / stride + 2 : 0;
    size_t floats = stride ? rows * n : UNIT / sizeof(float);
    size_t size = (size_t)s->share->group->size;

    if (stride && rows > n)
        floats = n * n;
    s->units = (s->all + UNIT - 1) / UNIT;
    s->hash_count = ease__blocks_of(s->all);
    /* A process sends at most its tiles, and about what it receives. */
    s->out = ease__alloc_array(size, floats * sizeof(float));
    s->in = ease__alloc_array(floats, sizeof(float));
    s->rows = ease__alloc_array(floats, sizeof(float));
    s->bytes = ease__alloc_zero(stride ? rows * stride : UNIT, 1);
    s->counts = ease__alloc_array(2 * size, sizeof(int));
    s->at = ease__alloc_array(2 * size, sizeof(int));
    s->hashes = ease__alloc_zero(s->hash_count, sizeof(*s->hashes));
    if (s->out && s->in && s->rows && s->bytes && s->counts && s->at && s->hashes)
        return EASE_OK;
    return ease__fail(err, EASE_E_NOMEM, "writing a model of %zu items", n);
}

/* Process 0 writes the small sections, and tells the others where the weights go. */
static ease_status begin_file(saving *s, const char *path, char *temporary, size_t size,
                              ease_error *err)
{
    ease__saving *m = s->model;
    const char *name = NULL;
    ease_status status = ease__saving_open(m, path, err);

    if (!status)
        status = ease__saving_put_small(m, err);
    if (!status)
        status = ease__writer_begin_blocks(m->writer, "weights", s->all, err);
    if (!status)
        status = ease__writer_share(m->writer, &name, &s->section, err);
    if (status)
        return status;
    if (strlen(name) >= size)
        return ease__fail(err, EASE_E_IO, "%s: the path is too long", path);
    strcpy(temporary, name);
    pulse_remove_at_end(name);
    return EASE_OK;
}

static ease_status open_file(saving *s, const char *path, ease_error *err)
{
    const group *g = s->share->group;
    char temporary[4096] = "";
    ease_status status = EASE_OK;

    if (g->rank == 0)
        status = begin_file(s, path, temporary, sizeof(temporary), err);
    status = group_agree(g, status, err);
    if (status)
        return status;
    MPI_Bcast(temporary, sizeof(temporary), MPI_BYTE, 0, g->all);
    MPI_Bcast(&s->section, sizeof(s->section), MPI_BYTE, 0, g->all);
    s->fd = open(temporary, O_WRONLY | O_CLOEXEC);
    if (s->fd < 0)
        status = ease__fail_errno(err,
                                  "process %d on %s cannot open %s: the directory of "
                                  "the model must be shared by all machines",
                                  g->rank, g->host, temporary);
    return group_agree(g, status, err);
}

/* The unit of float16, from the largest weight of all processes. */
static void measure(saving *s)
{
    const ease__tiled *t = &s->share->t;
    const ease_model *m = s->model->model;
    int32_t largest = 0;
    float weight;

    if (!s->model->form->store->halves)
        return;
#pragma omp parallel for schedule(dynamic) reduction(max        \
                                                     : largest) \
    num_threads(ease__threads(s->threads))
    for (int32_t i = 0; i < t->tiles; i++)
        for (int32_t j = 0; j <= i; j++)
            if (share_mine(s->share, i, j)) {
                int32_t here = ease__packed_largest(m, ease__tile(t, i, j), i, j);

                largest = here > largest ? here : largest;
            }
    largest = (int32_t)group_most(s->share->group, largest);
    memcpy(&weight, &largest, sizeof(weight));
    s->model->params.unit = ease__half_unit(weight);
}

static ease_status commit(saving *s, ease_error *err)
{
    ease_status status = EASE_OK;

    if (s->share->group->rank == 0) {
        ease__writer_took_blocks(s->model->writer, s->hashes, 0, s->hash_count);
        status = ease__writer_commit(s->model->writer, err);
        s->model->writer = NULL;
        pulse_remove_at_end(NULL);
    }
    return group_agree(s->share->group, status, err);
}

ease_status save_model(const ease_model *m, const share *share_, const char *path,
                       ease_storage storage, int threads, size_t *bytes,
                       ease_error *err)
{
    ease__saving model = {.model = m};
    saving s = {.share = share_, .model = &model, .threads = threads, .fd = -1};
    struct stat st;
    ease_status status = ease__saving_prepare(&model, path, storage, err);

    if (status)
        return status; /* the same in all processes */
    s.all = model.form->weight_bytes(m->info.items);
    measure(&s);
    status = group_agree(share_->group, allocate(&s, err), err);
    if (!status)
        status = open_file(&s, path, err);
    if (!status)
        status = write_units(&s, err);
    if (!status)
        status = commit(&s, err);
    if (model.writer) {
        ease__writer_discard(model.writer);
        pulse_remove_at_end(NULL);
    }
    *bytes = status || stat(path, &st) != 0 ? 0 : (size_t)st.st_size;
    release(&s);
    return status;
}
