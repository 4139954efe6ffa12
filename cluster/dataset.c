#include "dataset.h"

#include <stdio.h>
#include <string.h>

#include "model/footprint.h"
#include "pulse.h"

void dataset_free(dataset *d)
{
    ease__ids_free(&d->ids);
    ease__free(d->packed);
    ease__free(d->sums);
    ease_interactions_free(d->rows);
    *d = (dataset){0};
}

size_t dataset_bytes(const dataset *d)
{
    return ease__interactions_bytes(d->rows);
}

/* ---- reading, by process 0 ------------------------------------------------------- */

static int report_reading(void *user, const char *stage, double fraction)
{
    double *done = user;

    (void)stage;
    if (fraction > *done) {
        pulse_did(fraction - *done);
        *done = fraction;
    }
    return 0;
}

static void tell(const ease_interactions *x, const char *path)
{
    fprintf(stderr, "%s: %s\n%lld users, %d items, %lld interactions of %lld rows%s\n",
            strcmp(path, "-") == 0 ? "standard input" : path,
            x->recognized ? x->recognized : "", (long long)x->users, (int)x->items,
            (long long)x->nnz, (long long)x->counts.rows, x->vals ? ", weighted" : "");
    if (x->counts.unused)
        fprintf(stderr, "ratings are not used: every row counts as 1; --min-rating or "
                        "--weights use them\n");
}

/* Users in order, as X'X is built on one machine. */
static void sum_columns(const ease_interactions *x, double *sums)
{
    for (int64_t k = 0; k < x->nnz; k++)
        sums[x->cols[k]] += x->vals ? (double)x->vals[k] : 1;
}

static ease_status pack_ids(dataset *d, const ease__ids *ids, ease_error *err)
{
    d->packed_bytes = ease__ids_bytes(ids);
    d->packed = ease__alloc_array(d->packed_bytes, 1);
    if (!d->packed)
        return ease__fail(err, EASE_E_NOMEM, "ids of %lld items",
                          (long long)ids->count);
    ease__ids_pack(ids, d->packed);
    return EASE_OK;
}

/* Tells the data of one training from those of another. */
static uint64_t hash_of(const dataset *d)
{
    const ease_interactions *x = d->rows;
    size_t nnz = (size_t)x->nnz;
    uint64_t parts[] = {
        ease__block_hash(x->row_ptr, ((size_t)x->users + 1) * sizeof(*x->row_ptr)),
        ease__block_hash(x->cols, nnz * sizeof(*x->cols)),
        x->vals ? ease__block_hash(x->vals, nnz * sizeof(*x->vals)) : 0,
        ease__block_hash(d->packed, d->packed_bytes)};

    return ease__block_hash(parts, sizeof(parts));
}

static ease_status describe(dataset *d, ease_error *err)
{
    ease_interactions *x = d->rows;
    ease__ids numbered = {0};
    ease_status status = ease__check_columns(x, err);

    if (!status)
        status = ease__train_info(x, &d->info, err);
    if (!status && !x->item_ids.count)
        status = ease__ids_number(&numbered, 0, x->items, err);
    if (!status)
        status = pack_ids(d, x->item_ids.count ? &x->item_ids : &numbered, err);
    ease__ids_free(&numbered);
    if (status)
        return status;
    d->sums = ease__alloc_zero((size_t)x->items, sizeof(*d->sums));
    if (!d->sums)
        return ease__fail(err, EASE_E_NOMEM, "sums of %d items", (int)x->items);
    sum_columns(x, d->sums);
    d->hash = hash_of(d);
    ease__ids_free(&x->user_ids);
    ease__ids_free(&x->item_ids);
    return EASE_OK;
}

static ease_status read_all(dataset *d, const char *path, const ease_read_options *o,
                            ease_error *err)
{
    double done = 0;
    ease_hooks hooks = {.progress = report_reading, .user = &done};
    ease_read_options used = *o;
    ease_status status;

    used.hooks = &hooks;
    status = ease_interactions_read(path, &used, &d->rows, err);
    if (status)
        return status;
    if (!d->quiet)
        tell(d->rows, path);
    return describe(d, err);
}

/* ---- what all processes know ----------------------------------------------------- */

static ease_status share_facts(dataset *d, ease_error *err)
{
    const group *g = d->group;
    ease_status status = EASE_OK;
    size_t n;

    group_share(g, &d->info, sizeof(d->info));
    group_share(g, &d->hash, sizeof(d->hash));
    group_share(g, &d->packed_bytes, sizeof(d->packed_bytes));
    n = (size_t)d->info.items;
    if (g->rank != 0) {
        d->sums = ease__alloc_array(n, sizeof(*d->sums));
        d->packed = ease__alloc_array(d->packed_bytes, 1);
        if (!d->sums || !d->packed)
            status = ease__fail(err, EASE_E_NOMEM, "ids of %zu items", n);
    }
    status = group_agree(g, status, err);
    if (status)
        return status;
    group_share(g, d->sums, n * sizeof(*d->sums));
    group_share(g, d->packed, d->packed_bytes);
    status = ease__ids_borrow(&d->ids, d->packed, d->packed_bytes, d->info.items, true,
                              "the data", err);
    return group_agree(g, status, err);
}

/* ---- the users of each process --------------------------------------------------- */

typedef struct extent {
    int64_t users, nnz;
} extent;

static extent extent_of(const ease_interactions *x, int rank, int processes)
{
    int64_t from = ease__part_begin(x, rank, processes);
    int64_t to = ease__part_begin(x, rank + 1, processes);

    return (extent){to - from, x->row_ptr[to] - x->row_ptr[from]};
}

static void send_rows(const group *g, const ease_interactions *x)
{
    for (int p = 1; p < g->size; p++) {
        int64_t from = ease__part_begin(x, p, g->size), at = x->row_ptr[from];
        extent e = extent_of(x, p, g->size);
        size_t rows = (size_t)e.users + 1, count = (size_t)e.nnz;

        group_send(g, x->row_ptr + from, rows * sizeof(*x->row_ptr), p);
        group_send(g, x->cols + at, count * sizeof(*x->cols), p);
        if (x->vals)
            group_send(g, x->vals + at, count * sizeof(*x->vals), p);
    }
}

static void receive_rows(const group *g, ease_interactions *x)
{
    size_t rows = (size_t)x->users + 1, count = (size_t)x->nnz;
    int64_t first;

    group_receive(g, x->row_ptr, rows * sizeof(*x->row_ptr), 0);
    group_receive(g, x->cols, count * sizeof(*x->cols), 0);
    if (x->vals)
        group_receive(g, x->vals, count * sizeof(*x->vals), 0);
    first = x->row_ptr[0];
    for (size_t u = 0; u < rows; u++)
        x->row_ptr[u] -= first;
}

/* A failure to shrink does not matter. */
static void *shrink(void *array, size_t count, size_t size)
{
    void *smaller = ease__realloc_array(array, count ? count : 1, size);

    return smaller ? smaller : array;
}

static void keep_first(ease_interactions *x, extent e)
{
    size_t rows = (size_t)e.users + 1, count = (size_t)e.nnz;

    x->users = e.users;
    x->nnz = e.nnz;
    x->row_ptr = shrink(x->row_ptr, rows, sizeof(*x->row_ptr));
    x->cols = shrink(x->cols, count, sizeof(*x->cols));
    if (x->vals)
        x->vals = shrink(x->vals, count, sizeof(*x->vals));
}

static ease_status make_rows(dataset *d, extent e, ease_error *err)
{
    size_t rows = (size_t)e.users + 1, count = (size_t)e.nnz;
    ease_interactions *x = d->rows = ease__alloc_zero(1, sizeof(*x));

    if (x) {
        x->users = e.users;
        x->nnz = e.nnz;
        x->items = d->info.items;
        x->row_ptr = ease__alloc_array(rows, sizeof(*x->row_ptr));
        x->cols = ease__alloc_array(count, sizeof(*x->cols));
        if (d->info.weighted)
            x->vals = ease__alloc_array(count, sizeof(*x->vals));
    }
    if (x && x->row_ptr && x->cols && (x->vals || !d->info.weighted))
        return EASE_OK;
    return ease__fail(err, EASE_E_NOMEM, "%zu interactions", count);
}

static ease_status deal_rows(dataset *d, ease_error *err)
{
    const group *g = d->group;
    extent *all = NULL, own;
    ease_status status = EASE_OK;

    if (g->rank == 0) {
        all = ease__alloc_array((size_t)g->size, sizeof(*all));
        if (!all)
            status = ease__fail(err, EASE_E_NOMEM, "%d processes", g->size);
        for (int p = 0; all && p < g->size; p++)
            all[p] = extent_of(d->rows, p, g->size);
    }
    status = group_agree(g, status, err);
    if (status)
        return status;
    MPI_Scatter(all, sizeof(own), MPI_BYTE, &own, sizeof(own), MPI_BYTE, 0, g->all);
    ease__free(all);
    if (g->rank != 0)
        status = make_rows(d, own, err);
    status = group_agree(g, status, err);
    if (status)
        return status;
    if (g->rank == 0) {
        send_rows(g, d->rows);
        keep_first(d->rows, own);
    } else {
        receive_rows(g, d->rows);
    }
    return EASE_OK;
}

ease_status dataset_read(dataset *d, const char *path, const ease_read_options *o,
                         ease_error *err)
{
    ease_status status = EASE_OK;

    pulse_stage("reading the data", 1);
    if (d->group->rank == 0)
        status = read_all(d, path, o, err);
    status = group_agree(d->group, status, err);
    if (!status)
        status = share_facts(d, err);
    return status ? status : deal_rows(d, err);
}

/* ---- for training ---------------------------------------------------------------- */

ease_status dataset_head(const dataset *d, ease_gram *g, ease_error *err)
{
    size_t n = (size_t)d->info.items;
    ease_status status = ease__ids_copy(&g->ids, &d->ids, err);

    if (status)
        return status;
    g->weighted = d->info.weighted;
    g->users = d->info.users;
    g->interactions = d->info.interactions;
    g->sums = ease__alloc_array(n, sizeof(*g->sums));
    if (!g->sums)
        return ease__fail(err, EASE_E_NOMEM, "sums of %zu items", n);
    memcpy(g->sums, d->sums, n * sizeof(*g->sums));
    return EASE_OK;
}
