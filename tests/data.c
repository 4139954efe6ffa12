#include "data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/random.h"

/* The weight of a pair, or 0: not there. */
static float draw(ease__random *r, int32_t item, int32_t items, double chance,
                  bool weighted)
{
    bool there = ease__random_unit(r) < chance;
    float weight = 0.25f * (float)(1 + ease__random_below(r, 20));

    if (items > 4 && item == 1)
        return 1;
    if (!there || (items > 4 && item == 2))
        return 0;
    return weighted ? weight : 1;
}

ease_interactions *random_interactions(int64_t users, int32_t items, double chance,
                                       bool weighted, uint64_t seed)
{
    ease_interactions *x = calloc(1, sizeof(*x));
    size_t most = (size_t)users * (size_t)items;
    ease__random r;

    ease__random_seed(&r, seed, 0);
    x->users = users;
    x->items = items;
    x->row_ptr = calloc((size_t)users + 1, sizeof(*x->row_ptr));
    x->cols = malloc((most + 1) * sizeof(*x->cols));
    x->vals = weighted ? malloc((most + 1) * sizeof(*x->vals)) : NULL;
    for (int64_t u = 0; u < users; u++) {
        for (int32_t i = 0; i < items; i++) {
            float weight = draw(&r, i, items, chance, weighted);

            if (weight == 0)
                continue;
            if (weighted)
                x->vals[x->nnz] = weight;
            x->cols[x->nnz++] = i;
        }
        x->row_ptr[u + 1] = x->nnz;
    }
    return x;
}

void free_interactions(ease_interactions *x)
{
    free(x->row_ptr);
    free(x->cols);
    free(x->vals);
    ease__ids_free(&x->item_ids);
    ease__ids_free(&x->user_ids);
    free(x);
}

double *dense_interactions(const ease_interactions *x)
{
    double *dense = calloc((size_t)x->users * (size_t)x->items + 1, sizeof(*dense));

    for (int64_t u = 0; u < x->users; u++)
        for (int64_t k = x->row_ptr[u]; k < x->row_ptr[u + 1]; k++)
            dense[u * x->items + x->cols[k]] = x->vals ? (double)x->vals[k] : 1;
    return dense;
}

void set_entry(ease__tiled *a, int32_t i, int32_t j, double value)
{
    void *tile = ease__tile(a, i / a->edge, j / a->edge);
    size_t at = (size_t)(i % a->edge) * (size_t)a->edge + (size_t)(j % a->edge);

    if (a->element == EASE__F64)
        ((double *)tile)[at] = value;
    else
        ((float *)tile)[at] = (float)value;
}

ease__tiled random_definite(int32_t n, int32_t edge, ease__element element,
                            uint64_t seed, double *largest)
{
    enum { RANK = 16 };
    ease__tiled a = ease__tiled_shape(n, edge, element);
    double(*v)[RANK] = calloc((size_t)n, sizeof(*v)), trace = 0;
    ease__random r;

    a.data = ease__alloc_pages(a.bytes);
    ease__random_seed(&r, seed, 1);
    for (int32_t i = 0; i < n; i++)
        for (int k = 0; k < RANK; k++) {
            v[i][k] = (2 * ease__random_unit(&r) - 1) * sqrt(12.0 / n);
            trace += v[i][k] * v[i][k];
        }
    for (int32_t i = 0; i < a.tiles * edge; i++)
        for (int32_t j = 0; j <= i; j++) {
            double sum = i == j;

            for (int k = 0; k < RANK && i < n; k++)
                sum += v[i][k] * v[j][k];
            set_entry(&a, i, j, sum);
        }
    ease__tiled_mirror_diagonal(&a, 2);
    free(v);
    *largest = 1 + trace;
    return a;
}

double *dense_matrix(const ease__tiled *a)
{
    double *dense = malloc((size_t)a->n * (size_t)a->n * sizeof(*dense));

    for (int32_t i = 0; i < a->n; i++)
        for (int32_t j = 0; j < a->n; j++)
            dense[(size_t)i * (size_t)a->n + (size_t)j] = ease__tiled_at(a, i, j);
    return dense;
}

static ease_status copy_section(const ease__container *c, const ease__disk_section *s,
                                bool large, ease__container_writer *w)
{
    const unsigned char *at = c->map + s->offset;
    ease_status status;

    if (!large)
        return ease__writer_add(w, s->name, at, (size_t)s->bytes, NULL);
    status = ease__writer_begin(w, s->name, NULL);
    return status ? status : ease__writer_put(w, at, (size_t)s->bytes, NULL);
}

void copy_with_large(const char *path, const char *name, const char *copy)
{
    ease__container c = EASE__CONTAINER_NONE;
    ease__container_writer *w = NULL;
    ease_status status = ease__container_open(path, NULL, UINT32_MAX, &c, NULL);

    if (!status)
        status = ease__writer_open(copy, c.header.kind, c.header.version, 0, &w, NULL);
    for (uint32_t i = 0; !status && i < c.header.sections; i++) {
        const ease__disk_section *s = &c.header.section[i];

        if (!strchr(s->name, '#')) /* the writer adds those itself */
            status = copy_section(&c, s,
                                  ease__is_large(s) || strcmp(s->name, name) == 0, w);
    }
    if (status || ease__writer_commit(w, NULL) != EASE_OK)
        abort();
    ease__container_close(&c);
}

ease__disk_header read_header(const char *path)
{
    ease__disk_header h;
    FILE *f = fopen(path, "rb");

    if (!f || fread(&h, sizeof(h), 1, f) != 1)
        abort();
    fclose(f);
    return h;
}

void write_header(const char *path, ease__disk_header h)
{
    FILE *f = fopen(path, "r+b");

    h.hash = 0;
    h.hash = XXH3_64bits(&h, sizeof(h));
    if (!f || fwrite(&h, sizeof(h), 1, f) != 1 || fclose(f) != 0)
        abort();
}

static void set_flags(const char *path, const char *name, uint64_t flags)
{
    ease__disk_header h = read_header(path);

    for (uint32_t i = 0; i < h.sections; i++)
        if (strcmp(h.section[i].name, name) == 0)
            h.section[i].flags = flags;
    write_header(path, h);
}

static ease_status put_change(const section_change *change, ease__container_writer *w)
{
    ease_status status;

    if (!(change->flags & EASE__LARGE))
        return ease__writer_add(w, change->name, change->data, change->bytes, NULL);
    status = ease__writer_begin(w, change->name, NULL);
    return status ? status : ease__writer_put(w, change->data, change->bytes, NULL);
}

void copy_changed(const char *path, section_change change, const char *copy)
{
    ease__container c = EASE__CONTAINER_NONE;
    ease__container_writer *w = NULL;
    ease_status status = ease__container_open(path, NULL, UINT32_MAX, &c, NULL);
    bool put = false;

    if (!status)
        status = ease__writer_open(copy, c.header.kind, c.header.version, 0, &w, NULL);
    for (uint32_t i = 0; !status && i < c.header.sections; i++) {
        const ease__disk_section *s = &c.header.section[i];

        if (strcmp(s->name, change.name) == 0) {
            status = put_change(&change, w);
            put = true;
        } else if (!strchr(s->name, '#')) { /* the writer adds those itself */
            status = copy_section(&c, s, ease__is_large(s), w);
        }
    }
    if (!status && !put)
        status = put_change(&change, w);
    if (status || ease__writer_commit(w, NULL) != EASE_OK)
        abort();
    ease__container_close(&c);
    set_flags(copy, change.name, change.flags);
}

ease_tags *some_tags(int32_t items, bool weighted)
{
    enum { KINDS = 6, MOST = 4 };
    size_t most = (size_t)items * MOST;
    int64_t *item = calloc(most, sizeof(*item)), *tag = calloc(most, sizeof(*tag));
    double *weights = calloc(most, sizeof(*weights));
    ease_id_column items_of = {.numbers = item}, tags_of = {.numbers = tag};
    ease_tags *made = NULL;
    int64_t rows = 0;

    for (int32_t i = 0; i < items; i++) {
        for (int32_t k = 0; k < i % MOST; k++) {
            item[rows] = i;
            tag[rows] = (i / MOST + 5 * k) % KINDS;
            weights[rows++] = 0.5 + (double)(i % 7) + 2 * k;
        }
    }
    if (ease_tags_from_table(rows, &items_of, &tags_of, weighted ? weights : NULL, NULL,
                             &made, NULL))
        abort();
    free(item);
    free(tag);
    free(weights);
    return made;
}

void give_some_tags(ease_model *m, bool weighted)
{
    ease_tags *tags = some_tags(ease_model_items(m), weighted);

    if (ease_model_set_tags(m, tags, NULL, NULL))
        abort();
    ease_tags_free(tags);
}
