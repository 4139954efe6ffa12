/* The proof of an updatable model: X'WX v for random integers v. It tells how far P is
 * from the inverse, and whether data are those of the model, without X'WX. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/interactions.h"
#include "model/change.h"
#include "solve/solve.h"

/* ---- the residual ---------------------------------------------------------------- */

ease_status ease__proof_residual(const ease_model *m, int threads, double *residual,
                                 ease_error *err)
{
    int32_t n = m->info.items;
    ease__family f = ease__model_family(m);
    double *v = ease__alloc_array(3 * (size_t)n, sizeof(*v)), *w, *back;
    double difference = 0, size = 0;

    if (!v)
        return ease__fail(err, EASE_E_NOMEM, "vectors of %d items", (int)n);
    w = v + n;
    back = w + n;
    ease__living_product(&m->living, &f, m->info.kind, n, v, w);
    ease__tiled_times(&m->inverse, w, back, threads);
    for (int32_t i = 0; i < n; i++) {
        difference += (back[i] - v[i]) * (back[i] - v[i]);
        size += v[i] * v[i];
    }
    ease__free(v);
    *residual = size > 0 ? sqrt(difference / size) : 0;
    return EASE_OK;
}

ease_status ease_model_residual(const ease_model *m, int threads, double *residual,
                                ease_error *err)
{
    double found;
    ease_status status;

    if (!m || !residual)
        return ease__fail(err, EASE_E_ARG, "a model is required");
    status = ease__threads_check(threads, err);
    if (!status)
        status = ease__living_required(m, err);
    if (!status)
        status = ease__container_need_all(&m->file, threads, NULL, err);
    if (!status)
        status = ease__proof_residual(m, threads, &found, err);
    if (!status)
        status = ease__container_unchanged(&m->file, err);
    if (!status)
        *residual = found;
    return status;
}

/* ---- the data -------------------------------------------------------------------- */

/* What data are compared with: a model, or what a change makes of it. */
typedef struct wanted {
    const ease__living *living;
    const ease__ids *ids; /* of the items */
    double power;         /* of the weights of users */
    const ease_model *model;
    const char *whose; /* "of the model" */
} wanted;

/* Sums over data, an entry for each item. */
typedef struct sums {
    double *counts;
    double *product;      /* X'W(Xv) */
    double *product_size; /* the same of absolute values */
    double *columns;      /* of WX */
    double *column_size;  /* the same of absolute values */
    double mass;          /* of the weights of users */
} sums;
enum { SUMS = 5 };

/* The number of each item of x, or -1 for unknown ones. */
static int32_t *match_items(const ease_interactions *x, const ease__ids *ids)
{
    int32_t *number = ease__alloc_array((size_t)x->items, sizeof(*number));

    for (int32_t i = 0; number && i < x->items; i++) {
        const char *id = ease_interactions_item_id(x, i);

        number[i] = (int32_t)ease__ids_find(ids, id, strlen(id));
    }
    return number;
}

/* Adds the row of a user; false if it has an unknown item. */
static bool add_user(const ease_interactions *x, int64_t user, const int32_t *number,
                     const wanted *as, sums *to)
{
    int64_t from = x->row_ptr[user], end = x->row_ptr[user + 1];
    double weight = ease__user_weight(end - from, as->power), dot = 0, size = 0;

    for (int64_t k = from; k < end; k++) {
        double value = x->vals ? (double)x->vals[k] : 1, random;

        if (number[x->cols[k]] < 0)
            return false;
        random = ease__proof_number(as->living->seed, number[x->cols[k]]);
        dot += value * random;
        size += fabs(value * random);
    }
    for (int64_t k = from; k < end; k++) {
        double value = weight * (x->vals ? (double)x->vals[k] : 1);
        int32_t item = number[x->cols[k]];

        to->counts[item]++;
        to->product[item] += value * dot;
        to->product_size[item] += fabs(value) * size;
        to->columns[item] += value;
        to->column_size[item] += fabs(value);
    }
    to->mass += weight;
    return true;
}

static ease_status other_data(const wanted *as, const char *what, ease_error *err)
{
    const char *path = as->model->file.path;

    return ease__fail(err, EASE_E_DATA, "%s%sthese are not the data %s: %s",
                      path ? path : "", path ? ": " : "", as->whose, what);
}

/* Sums of counts are exact. Others are compared to the precision of float32, which is
 * that of weights, and far coarser than sums in float64. */
static bool same(const wanted *as, double found, double want, double size)
{
    double allowed = as->living->weighted ? (double)FLT_EPSILON * size : 0;

    return fabs(found - want) <= allowed;
}

/* Fails unless the users have the weight that a covariance is divided by. Counts do not
 * depend on users without items. */
static ease_status compare_mass(const wanted *as, const ease_interactions *x,
                                const sums *s, ease_error *err)
{
    double want = as->living->mass;
    char text[100];

    if (as->model->info.kind == EASE_GRAM_COUNTS || same(as, s->mass, want, want))
        return EASE_OK;
    if (as->power != 0)
        return other_data(as, "the weights of their users have another sum", err);
    snprintf(text, sizeof(text), "they have %lld users, not %.0f", (long long)x->users,
             want);
    return other_data(as, text, err);
}

/* X'WX does not tell rows from their negatives, whose means differ. */
static bool same_item(const wanted *as, const sums *s, int64_t i)
{
    const ease__living *l = as->living;
    double error = l->error ? l->error[i] / (double)FLT_EPSILON : 0;

    return same(as, s->product[i], l->product[i], s->product_size[i] + error) &&
           (as->model->info.kind == EASE_GRAM_COUNTS ||
            same(as, s->columns[i], l->sums[i], s->column_size[i]));
}

static ease_status compare_items(const wanted *as, const sums *s, ease_error *err)
{
    char text[360];

    for (int64_t i = 0; i < as->ids->count; i++) {
        const char *id = ease__ids_at(as->ids, i);

        if (s->counts[i] != as->living->counts[i]) {
            snprintf(text, sizeof(text), "item \"%.200s\" has %.0f users, not %.0f", id,
                     s->counts[i], as->living->counts[i]);
            return other_data(as, text, err);
        }
        if (!same_item(as, s, i)) {
            snprintf(text, sizeof(text),
                     "item \"%.200s\" has as many users, but others or other values",
                     id);
            return other_data(as, text, err);
        }
    }
    return EASE_OK;
}

static ease_status check_sums(const wanted *as, const ease_interactions *x,
                              const int32_t *number, sums *s, ease_error *err)
{
    ease_status status;

    for (int64_t u = 0; u < x->users; u++)
        if (!add_user(x, u, number, as, s))
            return other_data(as, "they have items that the model does not know", err);
    status = compare_items(as, s, err);
    return status ? status : compare_mass(as, x, s, err);
}

static ease_status check_data(const wanted *as, const ease_interactions *x,
                              ease_error *err)
{
    size_t n = (size_t)as->ids->count;
    int32_t *number = match_items(x, as->ids);
    sums s = {.counts = ease__alloc_zero(SUMS * n, sizeof(double))};
    ease_status status;

    if (number && s.counts) {
        s.product = s.counts + n;
        s.product_size = s.product + n;
        s.columns = s.product_size + n;
        s.column_size = s.columns + n;
        status = check_sums(as, x, number, &s, err);
    } else {
        status = ease__fail(err, EASE_E_NOMEM, "sums of %zu items", n);
    }
    ease__free(number);
    ease__free(s.counts);
    return status;
}

static ease_status check_arguments(const ease_model *m, const ease_interactions *x,
                                   ease_error *err)
{
    if (!m || !x)
        return ease__fail(err, EASE_E_ARG, "a model and data are required");
    return ease__living_required(m, err);
}

ease_status ease_model_check_data(const ease_model *m, const ease_interactions *x,
                                  ease_error *err)
{
    ease_status status = check_arguments(m, x, err);
    wanted as = {.model = m, .whose = "of the model"};

    if (status)
        return status;
    as.living = &m->living;
    as.ids = &m->ids;
    as.power = ease__model_family(m).user_power;
    return check_data(&as, x, err);
}

ease_status ease_model_check_change(const ease_model *m, const ease_interactions *was,
                                    const ease_interactions *now,
                                    const ease_interactions *x, ease_error *err)
{
    ease_status status = check_arguments(m, x, err);
    ease__change c;
    wanted as = {.model = m, .whose = "of the model after this change"};

    if (!status)
        status = ease__change_new(m, was, now, &c, err);
    if (status)
        return status;
    as.living = &c.living;
    as.ids = &c.ids;
    as.power = c.family.user_power;
    status = check_data(&as, x, err);
    ease__change_free(&c);
    return status;
}
