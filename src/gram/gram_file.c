#include "gram/gram_file.h"

#include <string.h>

#include "core/sized.h"

enum { VERSION = 1 };

static const char stage_reading[] = "reading the Gram matrix";
static const char stage_writing[] = "writing the Gram matrix";

/* ---- writing ------------------------------------------------------------------ */

static ease_status write_tiles(ease__container_writer *w, const ease__tiled *g,
                               const ease_hooks *hooks, ease_error *err)
{
    size_t tile = (size_t)g->edge * (size_t)g->edge * ease__element_bytes(g->element);
    ease_status status = ease__writer_begin(w, "tiles", err);

    for (size_t at = 0; !status && at < g->bytes; at += tile) {
        if (ease__progress(hooks, stage_writing, (double)at / (double)g->bytes))
            return ease__cancelled(err);
        status = ease__writer_put(w, (const char *)g->data + at, tile, err);
    }
    return status;
}

ease_status ease_gram_save(const ease_gram *g, const char *path,
                           const ease_hooks *hooks, ease_error *err)
{
    ease__container_writer *w = NULL;
    ease__gram_params p;
    ease_status status;

    if (!g || !path)
        return ease__fail(err, EASE_E_ARG, "a Gram matrix and a path are required");
    memset(&p, 0, sizeof(p));
    p.users = g->users;
    p.interactions = g->interactions;
    p.items = g->g.n;
    p.edge = g->g.edge;
    p.element = (uint32_t)g->g.element;
    p.weighted = g->weighted;
    status = ease__writer_open(path, "gram", VERSION, g->g.bytes, &w, err);
    if (status)
        return status;
    status = ease__writer_add(w, "params", &p, sizeof(p), err);
    if (!status)
        status = ease__ids_write(&g->ids, w, "ids", err);
    if (!status && g->sums)
        status = ease__writer_add(w, "sums", g->sums, (size_t)g->g.n * sizeof(*g->sums),
                                  err);
    if (!status)
        status = write_tiles(w, &g->g, hooks, err);
    if (!status)
        return ease__writer_commit(w, err);
    ease__writer_discard(w);
    return status;
}

/* ---- reading ------------------------------------------------------------------ */

void ease__gram_file_close(ease__gram_file *f)
{
    ease__ids_free(&f->ids);
    ease__container_close(&f->file);
    *f = (ease__gram_file){.file = EASE__CONTAINER_NONE};
}

static ease_status bad_params(const ease__gram_file *f, ease_error *err)
{
    return ease__fail(err, EASE_E_FORMAT, "%s: damaged: its parameters", f->file.path);
}

static ease_status check_params(ease__gram_file *f, ease_error *err)
{
    const ease__gram_params *p = &f->params;
    size_t bytes = 0;
    const void *section = ease__container_section(&f->file, "params", &bytes);

    if (!section || bytes != sizeof(*p))
        return bad_params(f, err);
    memcpy(&f->params, section, sizeof(*p));
    if (p->items < 1 || p->edge != ease__tile_edge(p->items) || p->users < -1 ||
        p->interactions < -1 || p->element > EASE__F64 || p->weighted > 1 ||
        (p->element == EASE__U32 && p->weighted))
        return bad_params(f, err);
    section = ease__container_section(&f->file, "tiles", &bytes);
    if (!section || bytes != ease__tiled_bytes(p->items, (ease__element)p->element))
        return bad_params(f, err);
    section = ease__container_section(&f->file, "sums", &bytes);
    if (section && bytes != (size_t)p->items * sizeof(*f->sums))
        return bad_params(f, err);
    f->sums = section;
    return EASE_OK;
}

ease_status ease__gram_file_open(const char *path, ease__gram_file *out,
                                 ease_error *err)
{
    static const ease__section_rule sections[] = {
        {"params", false}, {"ids", false}, {"sums", false}, {"tiles", true}, {0}};
    ease__gram_file f = {.file = EASE__CONTAINER_NONE};
    size_t bytes = 0;
    const void *ids;
    ease_status status = ease__container_open(path, "gram", VERSION, &f.file, err);

    if (!status)
        status = ease__container_check(&f.file, sections, err);
    if (!status)
        status = check_params(&f, err);
    if (!status) {
        ids = ease__container_section(&f.file, "ids", &bytes);
        status = ease__ids_borrow(&f.ids, ids, bytes, f.params.items, true, path, err);
    }
    if (status) {
        ease__gram_file_close(&f);
        return status;
    }
    *out = f;
    return EASE_OK;
}

/* Widens to float64 in place, from the end; the buffer is large enough for float64. */
static void widen(void *tile, size_t count)
{
    const float *narrow = tile;
    double *wide = tile;

    for (size_t i = count; i-- > 0;) {
        float value = narrow[i];

        memcpy(&wide[i], &(double){(double)value}, sizeof(double));
    }
}

ease_status ease__gram_file_tiles(const ease__gram_file *f, ease__take_tile *take,
                                  void *user, const ease_hooks *hooks, ease_error *err)
{
    ease__element element = (ease__element)f->params.element;
    size_t count = (size_t)f->params.edge * (size_t)f->params.edge;
    int32_t tiles = (f->params.items + f->params.edge - 1) / f->params.edge;
    double total = (double)ease__tile_count(tiles), done = 0;
    void *scratch = ease__alloc_array(count, sizeof(double));
    ease__section_stream s = {0};
    ease_status status;

    if (!scratch)
        return ease__fail(err, EASE_E_NOMEM, "reading %s", f->file.path);
    status = ease__stream_open(&f->file, "tiles", &s, err);
    for (int32_t i = 0; !status && i < tiles; i++)
        for (int32_t j = 0; !status && j <= i; j++) {
            if (ease__progress(hooks, stage_reading, done++ / total)) {
                status = ease__cancelled(err);
                break;
            }
            status = ease__stream_read(&s, scratch,
                                       count * ease__element_bytes(element), err);
            if (!status && element == EASE__F32)
                widen(scratch, count);
            if (!status)
                status = take(user, i, j, scratch, err);
        }
    ease__stream_close(&s);
    ease__free(scratch);
    return status;
}

/* Where tiles go: a matrix of the same shape and any element type, or a band of it. */
typedef struct destination {
    ease_gram *gram;
    const ease__bands *bands; /* NULL: the whole matrix is in memory */
    ease__element element;
    bool counts; /* tiles are uint32 */
} destination;

static void copy_tile(const destination *d, const void *tile, void *to)
{
    const ease__tiled *g = &d->gram->g;
    size_t count = (size_t)g->edge * (size_t)g->edge;

    if (g->element == EASE__U32) {
        memcpy(to, tile, count * sizeof(uint32_t));
        return;
    }
    for (size_t k = 0; k < count; k++) {
        double value = d->counts ? (double)((const uint32_t *)tile)[k]
                                 : ((const double *)tile)[k];

        if (g->element == EASE__F32)
            ((float *)to)[k] = (float)value;
        else
            ((double *)to)[k] = value;
    }
}

static ease_status store_tile(void *user, int32_t i, int32_t j, const void *tile,
                              ease_error *err)
{
    const destination *d = user;
    ease__tiled *g = &d->gram->g;

    if (d->bands && i == g->last && j == 0) { /* the first of the next band */
        ease__tiled_next_band(g);
        g->element = d->element;
    }
    copy_tile(d, tile, ease__tile(g, i, j));
    if (d->bands && i == g->last - 1 && j == i)
        return d->bands->take(d->bands->user, d->gram, err);
    return EASE_OK;
}

size_t ease__gram_file_scratch(const ease__gram_file *f)
{
    size_t edge = (size_t)f->params.edge;

    return edge * edge * sizeof(double) + 2 * (size_t)EASE__BLOCK;
}

/* The bytes of a tile in the file, and the blocks that they lie in. */
static void tile_extent(const ease__gram_file *f, const ease__section_stream *s,
                        int32_t i, int32_t j, size_t *from, size_t *begin, size_t *end)
{
    size_t edge = (size_t)f->params.edge, total = (size_t)s->section->bytes;
    size_t bytes = edge * edge * ease__element_bytes((ease__element)f->params.element);

    *from = (ease__tile_count(i) + (size_t)j) * bytes;
    *begin = *from / EASE__BLOCK * EASE__BLOCK;
    *end = ease__blocks_of(*from + bytes) * EASE__BLOCK;
    if (*end > total)
        *end = total;
}

ease_status ease__gram_file_tile(const ease__gram_file *f,
                                 const ease__section_stream *s, int32_t i, int32_t j,
                                 void *scratch, ease_gram *g, ease_error *err)
{
    destination d = {g, NULL, g->g.element, f->params.element == EASE__U32};
    size_t edge = (size_t)f->params.edge, from, begin, end;
    ease_status status;

    tile_extent(f, s, i, j, &from, &begin, &end);
    status = ease__stream_read_blocks(s, scratch, end - begin, begin, err);
    if (status)
        return status;
    memmove(scratch, (const char *)scratch + (from - begin),
            edge * edge * ease__element_bytes((ease__element)f->params.element));
    if (f->params.element == EASE__F32)
        widen(scratch, edge * edge);
    copy_tile(&d, scratch, ease__tile(&g->g, i, j));
    return EASE_OK;
}

ease_status ease__gram_file_head(const ease__gram_file *f, ease_gram *g,
                                 ease_error *err)
{
    size_t n = (size_t)f->params.items;
    ease_status status;

    g->weighted = f->params.weighted;
    g->users = f->params.users;
    g->interactions = f->params.interactions;
    status = ease__ids_copy(&g->ids, &f->ids, err);
    if (status || !f->sums)
        return status;
    g->sums = ease__alloc_array(n, sizeof(*g->sums));
    if (!g->sums)
        return ease__fail(err, EASE_E_NOMEM, "reading %s", f->file.path);
    memcpy(g->sums, f->sums, n * sizeof(*g->sums));
    return EASE_OK;
}

ease_status ease__gram_read_bands(const char *path, ease__element element,
                                  const ease__bands *bands, const ease_hooks *hooks,
                                  ease_gram **out, ease_error *err)
{
    ease__gram_file f = {.file = EASE__CONTAINER_NONE};
    ease_gram *g;
    ease_status status = ease__gram_file_open(path, &f, err);

    if (status)
        return status;
    g = ease__alloc_zero(1, sizeof(*g));
    if (!g) {
        ease__gram_file_close(&f);
        return ease__fail(err, EASE_E_NOMEM, "reading %s", path);
    }
    if (element == EASE__U32)
        element = (ease__element)f.params.element;
    status = ease__gram_file_head(&f, g, err);
    if (!status)
        status = ease__gram_tiles_new(g, f.params.items, element, bands, err);
    if (!status) {
        destination d = {g, bands, element, f.params.element == EASE__U32};

        status = ease__gram_file_tiles(&f, store_tile, &d, hooks, err);
    }
    ease__gram_file_close(&f);
    if (bands)
        ease__tiled_free(&g->g);
    if (status) {
        ease_gram_free(g);
        return status;
    }
    *out = g;
    return EASE_OK;
}

ease_status ease__gram_read(const char *path, ease__element element,
                            const ease_hooks *hooks, ease_gram **out, ease_error *err)
{
    return ease__gram_read_bands(path, element, NULL, hooks, out, err);
}

static ease_gram_info info_of(const ease__gram_file *f)
{
    return (ease_gram_info){
        .users = f->params.users,
        .interactions = f->params.interactions,
        .items = f->params.items,
        .weighted = (int)f->params.weighted,
        .has_sums = f->sums != NULL,
        .wide = f->params.element == EASE__F64,
    };
}

ease_status ease_gram_peek(const char *path, ease_gram_info *info, ease_error *err)
{
    ease__gram_file f = {.file = EASE__CONTAINER_NONE};
    ease_gram_info found;
    ease_status status;

    status = ease__info_check(info, "ease_gram_info", err);
    if (!status)
        status = ease__gram_file_open(path, &f, err);
    if (status)
        return status;
    found = info_of(&f);
    ease__info_give(info, &found, sizeof(found));
    ease__gram_file_close(&f);
    return EASE_OK;
}

ease_status ease_gram_open(const char *path, const ease_gram_options *given,
                           ease_gram **out, ease_error *err)
{
    ease_gram_info info = {.size = sizeof(info)};
    ease_gram_options o;
    ease__element stored;
    ease_status status;

    if (!out)
        return ease__fail(err, EASE_E_ARG, "a place for the result is required");
    status = ease__gram_options_take(given, &o, err);
    if (!status)
        status = ease_gram_peek(path, &info, err);
    if (status)
        return status;
    stored = info.wide ? EASE__F64 : EASE__U32;
    status = ease__memory_check("the Gram matrix of", info.items,
                                ease__tiled_bytes(info.items, stored),
                                ease__memory_allowed(o.memory_limit, 0), err);
    if (status)
        return status;
    return ease__gram_read(path, EASE__U32, o.hooks, out, err);
}
