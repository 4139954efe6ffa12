/* The form of models of known users: the scores of each user. */
#include "model/known.h"

#include <math.h>
#include <string.h>

#include "model/model.h"

/* Removes const from arrays that the model owns, to fill and free them. */
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
    /* If all scores are equal, `low` may be rounded to a number above them. */
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

/* ---- the form -------------------------------------------------------------------- */

static size_t known_held(const ease_model *m)
{
    const ease__known *k = &m->known;
    size_t users = (size_t)k->users;

    if (!k->codes)
        return 0;
    return code_bytes(k->users, m->info.items) + ease__ids_held(&k->ids) +
           (users + 1) * (sizeof(*k->starts) + sizeof(*k->low) + sizeof(*k->step)) +
           (size_t)k->starts[users] * sizeof(*k->items);
}

static void free_known(ease_model *m)
{
    ease__known_free(&m->known, m->file.map != NULL);
}

static ease_status write_known(const ease__saving *to, ease_error *err)
{
    const ease__known *k = &to->model->known;
    size_t users = (size_t)k->users;
    ease_status status = ease__ids_write(&k->ids, to->writer, "users", err);

    if (!status)
        status = ease__writer_add(to->writer, "starts", k->starts,
                                  (users + 1) * sizeof(*k->starts), err);
    if (!status)
        status = ease__writer_add(to->writer, "low", k->low, users * sizeof(*k->low),
                                  err);
    if (!status)
        status = ease__writer_add(to->writer, "step", k->step, users * sizeof(*k->step),
                                  err);
    if (!status)
        status = ease__save_large(to, "columns", k->items,
                                  (size_t)k->starts[users] * sizeof(*k->items), err);
    if (!status)
        status = ease__save_large(to, "scores", k->codes,
                                  code_bytes(k->users, to->params.items), err);
    return status;
}

/* True if the histories are contiguous, and the items of each ascend. */
static bool histories_valid(const ease__known *k, int32_t items, size_t count)
{
    if (!ease__starts_valid(k->starts, k->users, count))
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

/* True if every score is finite. */
static bool scales_valid(const ease__known *k)
{
    for (int64_t u = 0; u < k->users; u++)
        if (!isfinite(k->low[u]) || !(k->step[u] >= 0) ||
            !isfinite(k->low[u] + k->step[u] * (float)EASE__CODES))
            return false;
    return true;
}

static ease_status open_known(ease_model *m, const ease__model_params *p,
                              ease_error *err)
{
    ease__container *file = &m->file;
    size_t count = p->users < 0 ? 0 : (size_t)p->users, columns = 0, ids = 0;
    const void *names = ease__container_section(file, "users", &ids);
    ease__known k = {
        .users = p->users,
        .starts = ease__take_section(
            file, "starts",
            ease__size_mul(ease__size_add(count, 1), sizeof(*k.starts))),
        .items = ease__container_section(file, "columns", &columns),
        .low = ease__take_section(file, "low", ease__size_mul(count, sizeof(*k.low))),
        .step = ease__take_section(file, "step",
                                   ease__size_mul(count, sizeof(*k.step))),
        .codes = ease__take_section(file, "scores",
                                    code_bytes((int64_t)count, p->items)),
    };
    ease_status status = ease__container_load(file, "columns", err);

    if (status)
        return status;
    if (!ease__params_plain(p))
        return ease__model_damaged(m, "its parameters", err);
    if (p->users < 0 || !names || !k.starts || !k.items || !k.low || !k.step ||
        !k.codes || columns % sizeof(*k.items) != 0 ||
        !histories_valid(&k, p->items, columns / sizeof(*k.items)) || !scales_valid(&k))
        return ease__model_damaged(m, "its users", err);
    status = ease__ids_borrow(&k.ids, names, ids, p->users, true, file->path, err);
    if (!status)
        m->known = k;
    return status;
}

static const ease__section_rule sections[] = {
    EASE__COMMON_SECTIONS, {"users", false},  {"starts", false}, {"low", false},
    {"step", false},       {"columns", true}, {"scores", true},  {0}};

const ease__form ease__form_known = {
    .name = "known",
    .number = EASE_STORE_KNOWN,
    .trained = &ease__form_known,
    .known_users = true,
    .store = &ease__store_none,
    .scoring = &ease__scoring_known,
    .sections = sections,
    .held = known_held,
    .free = free_known,
    .write = write_known,
    .open = open_known,
};
