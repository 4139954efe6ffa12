/* Scores of known users: in memory and in files. */
#include "model/known.h"

#include <math.h>
#include <string.h>

/* What is ours is not const; this is for freeing and filling. */
static void *ours(const void *p)
{
    return (void *)(uintptr_t)p;
}

static size_t code_bytes(int64_t users, int32_t items)
{
    return ease__size_mul(ease__size_mul((size_t)users, (size_t)items),
                          sizeof(uint16_t));
}

size_t ease__known_bytes(const ease_interactions *x)
{
    size_t rows = ease__size_mul((size_t)x->users + 1,
                                 sizeof(uint64_t) + 2 * sizeof(float));
    size_t cells = ease__size_mul((size_t)x->nnz, sizeof(int32_t));

    cells = ease__size_add(cells, ease__ids_bytes(&x->user_ids));
    return ease__size_add(code_bytes(x->users, x->items), ease__size_add(rows, cells));
}

size_t ease__known_held(const ease__known *k, int32_t items)
{
    size_t users = (size_t)k->users;

    if (!k->codes)
        return 0;
    return code_bytes(k->users, items) + ease__ids_held(&k->ids) +
           (users + 1) * (sizeof(*k->starts) + sizeof(*k->low) + sizeof(*k->step)) +
           (size_t)k->starts[users] * sizeof(*k->items);
}

size_t ease__known_code_bytes(const ease__known *k, int32_t items)
{
    return code_bytes(k->users, items);
}

static ease_status copy_histories(const ease_interactions *x, ease__known *k,
                                  ease_error *err)
{
    uint64_t *starts = ours(k->starts);

    for (int64_t u = 0; u <= x->users; u++)
        starts[u] = (uint64_t)x->row_ptr[u];
    if (x->nnz > 0)
        memcpy(ours(k->items), x->cols, (size_t)x->nnz * sizeof(*k->items));
    return x->user_ids.count ? ease__ids_copy(&k->ids, &x->user_ids, err)
                             : ease__ids_number(&k->ids, 0, x->users, err);
}

ease_status ease__known_new(const ease_interactions *x, ease__known *out,
                            ease_error *err)
{
    size_t users = (size_t)x->users, codes = code_bytes(x->users, x->items);
    ease__known k = {
        .users = x->users,
        .starts = ease__alloc_array(users + 1, sizeof(*k.starts)),
        .items = ease__alloc_array((size_t)x->nnz + 1, sizeof(*k.items)),
        .low = ease__alloc_zero(users + 1, sizeof(*k.low)),
        .step = ease__alloc_zero(users + 1, sizeof(*k.step)),
        .codes = ease__alloc_array(codes / sizeof(*k.codes) + 1, sizeof(*k.codes)),
    };
    ease_status status;

    if (!k.starts || !k.items || !k.low || !k.step || !k.codes)
        status = ease__fail(err, EASE_E_NOMEM, "scores of %lld users",
                            (long long)x->users);
    else
        status = copy_histories(x, &k, err);
    if (status)
        ease__known_free(&k, false);
    else
        *out = k;
    return status;
}

void ease__known_free(ease__known *k, bool mapped)
{
    ease__ids_free(&k->ids);
    if (!mapped) {
        ease__free(ours(k->starts));
        ease__free(ours(k->items));
        ease__free(ours(k->low));
        ease__free(ours(k->step));
        ease__free(ours(k->codes));
    }
    *k = (ease__known){0};
}

void ease__known_put(ease__known *k, int64_t user, const double *scores, int32_t items)
{
    uint16_t *codes = (uint16_t *)ours(k->codes) + (size_t)user * (size_t)items;
    float *low = (float *)ours(k->low) + user, *step = (float *)ours(k->step) + user;
    double least = scores[0], most = scores[0];

    for (int32_t j = 1; j < items; j++) {
        least = scores[j] < least ? scores[j] : least;
        most = scores[j] > most ? scores[j] : most;
    }
    *low = (float)least;
    /* Rounded, the lowest can be above the highest where all are equal. */
    *step = (float)(fmax(most - (double)*low, 0) / EASE__CODES);
    for (int32_t j = 0; j < items; j++) {
        double code = *step > 0 ? (scores[j] - (double)*low) / (double)*step : 0;

        code = code > 0 ? nearbyint(code) : 0;
        codes[j] = (uint16_t)(code < EASE__CODES ? code : EASE__CODES);
    }
}

void ease__known_get(const ease__known *k, int64_t user, int32_t items, float *scores)
{
    const uint16_t *codes = k->codes + (size_t)user * (size_t)items;
    float low = k->low[user], step = k->step[user];

    for (int32_t j = 0; j < items; j++) {
        float above = step * (float)codes[j];

        scores[j] = low + above;
    }
}

/* ---- files ------------------------------------------------------------------------ */

static ease_status put_large(ease__container_writer *w, const char *name,
                             const void *data, size_t bytes, ease_error *err)
{
    ease_status status = ease__writer_begin(w, name, err);

    return status || bytes == 0 ? status : ease__writer_put(w, data, bytes, err);
}

ease_status ease__known_write(const ease__known *k, int32_t items,
                              ease__container_writer *w, ease_error *err)
{
    size_t users = (size_t)k->users;
    ease_status status = ease__ids_write(&k->ids, w, "users", err);

    if (!status)
        status = ease__writer_add(w, "starts", k->starts,
                                  (users + 1) * sizeof(*k->starts), err);
    if (!status)
        status = ease__writer_add(w, "low", k->low, users * sizeof(*k->low), err);
    if (!status)
        status = ease__writer_add(w, "step", k->step, users * sizeof(*k->step), err);
    if (!status)
        status = put_large(w, "columns", k->items,
                           (size_t)k->starts[users] * sizeof(*k->items), err);
    if (!status)
        status = put_large(w, "scores", k->codes, code_bytes(k->users, items), err);
    return status;
}

/* Histories lie behind each other to the end; their items rise. */
static bool histories_hold(const ease__known *k, int32_t items, size_t count)
{
    if (k->starts[0] != 0 || k->starts[k->users] != count)
        return false;
    for (int64_t u = 0; u < k->users; u++)
        if (k->starts[u] > k->starts[u + 1] || k->starts[u + 1] > count)
            return false;
    for (int64_t u = 0; u < k->users; u++) {
        int32_t before = -1;

        for (uint64_t at = k->starts[u]; at < k->starts[u + 1]; at++) {
            if (k->items[at] <= before || k->items[at] >= items)
                return false;
            before = k->items[at];
        }
    }
    return true;
}

/* Every score is a finite number. */
static bool scales_hold(const ease__known *k)
{
    for (int64_t u = 0; u < k->users; u++)
        if (!isfinite(k->low[u]) || !(k->step[u] >= 0) ||
            !isfinite(k->low[u] + k->step[u] * (float)EASE__CODES))
            return false;
    return true;
}

/* The section, if it has exactly so many bytes. */
static const void *take(const ease__container *file, const char *name, size_t bytes)
{
    size_t there = 0;
    const void *at = ease__container_section(file, name, &there);

    return there == bytes ? at : NULL;
}

ease_status ease__known_take(ease__container *file, int64_t users, int32_t items,
                             ease__known *out, ease_error *err)
{
    size_t count = users < 0 ? 0 : (size_t)users, columns = 0, ids = 0;
    const void *names = ease__container_section(file, "users", &ids);
    ease__known k = {
        .users = users,
        .starts = take(file, "starts",
                       ease__size_mul(ease__size_add(count, 1), sizeof(*k.starts))),
        .items = ease__container_section(file, "columns", &columns),
        .low = take(file, "low", ease__size_mul(count, sizeof(*k.low))),
        .step = take(file, "step", ease__size_mul(count, sizeof(*k.step))),
        .codes = take(file, "scores", code_bytes((int64_t)count, items)),
    };
    ease_status status = ease__container_load(file, "columns", err);

    if (status)
        return status;
    if (users < 0 || !names || !k.starts || !k.items || !k.low || !k.step || !k.codes ||
        columns % sizeof(*k.items) != 0 ||
        !histories_hold(&k, items, columns / sizeof(*k.items)) || !scales_hold(&k))
        return ease__fail(err, EASE_E_FORMAT, "%s: damaged: its users", file->path);
    status = ease__ids_borrow(&k.ids, names, ids, users, true, file->path, err);
    if (!status)
        *out = k;
    return status;
}
