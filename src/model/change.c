#include "model/change.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/interactions.h"

static ease_status no_memory(const ease__change *c, ease_error *err)
{
    return ease__fail(err, EASE_E_NOMEM, "a change of a model of %d items",
                      (int)c->items);
}

static void side_free(ease__change_side *s)
{
    ease__free(s->vectors);
    ease__free(s->starts);
    ease__free(s->items);
    ease__free(s->weights);
    ease__free(s->touched);
}

void ease__change_free(ease__change *c)
{
    ease__ids_free(&c->ids);
    side_free(&c->added);
    side_free(&c->removed);
    ease__living_free(&c->living);
    ease__free(c->popularity);
    ease__free(c->lambda);
    ease__free(c->before);
    ease__free(c->after);
    *c = (ease__change){0};
}

/* ---- items ----------------------------------------------------------------------- */

/* A numbered table cannot be extended: the ids are copied one by one. */
static ease_status copy_ids(ease__change *c, ease_error *err)
{
    const ease__ids *ids = &c->model->ids;

    for (int64_t i = 0; i < ids->count; i++)
        if (ease__ids_add(&c->ids, ease__ids_at(ids, i), ease__ids_length(ids, i)) < 0)
            return no_memory(c, err);
    return EASE_OK;
}

/* The number of each item of x. An item that the model does not know is added if
 * `extend`, and has the number EASE_NO_ITEM otherwise. */
static ease_status number_items(ease__change *c, const ease_interactions *x,
                                bool extend, int32_t *number, ease_error *err)
{
    for (int32_t i = 0; i < x->items; i++) {
        const char *id = ease_interactions_item_id(x, i);
        int64_t found = ease__ids_find(&c->ids, id, strlen(id));

        if (found < 0 && !extend) {
            number[i] = EASE_NO_ITEM;
            continue;
        }
        if (found < 0 && c->ids.count >= INT32_MAX - 2)
            return ease__fail(err, EASE_E_TOO_LARGE, "more than 2^31 - 2 items");
        if (found < 0)
            found = ease__ids_add(&c->ids, id, strlen(id));
        if (found < 0)
            return no_memory(c, err);
        number[i] = (int32_t)found;
    }
    return EASE_OK;
}

/* Refuses unknown items in rows. A column of a matrix that is empty is no such item. */
static ease_status check_items(const ease_interactions *x, const int32_t *number,
                               ease_error *err)
{
    for (int64_t k = 0; k < x->nnz; k++)
        if (number[x->cols[k]] == EASE_NO_ITEM)
            return ease__fail(err, EASE_E_DATA,
                              "item \"%.200s\" of a row that should be removed is "
                              "unknown to the model",
                              ease_interactions_item_id(x, x->cols[k]));
    return EASE_OK;
}

/* Columns that were guessed and look wrong are accepted if they have mostly items of
 * the model: a file may well have a single user. */
static ease_status check_columns(const ease_interactions *x, const int32_t *number,
                                 int32_t known, ease_error *err)
{
    int32_t found = 0;

    for (int32_t i = 0; i < x->items; i++)
        found += number[i] != EASE_NO_ITEM && number[i] < known;
    return found >= x->items - found ? EASE_OK : ease__check_columns(x, err);
}

/* ---- rows ------------------------------------------------------------------------ */

typedef struct entry {
    int32_t item;
    float weight;
} entry;

static int compare_entries(const void *a, const void *b)
{
    int32_t x = ((const entry *)a)->item, y = ((const entry *)b)->item;

    return (x > y) - (x < y);
}

/* Copies the rows of x with other item numbers. `row` has an entry for each item. */
static void copy_rows(const ease_interactions *x, const int32_t *number, entry *row,
                      ease__change_side *s)
{
    for (int64_t u = 0; u < x->users; u++) {
        int64_t from = x->row_ptr[u], count = x->row_ptr[u + 1] - from;

        for (int64_t k = 0; k < count; k++)
            row[k] = (entry){number[x->cols[from + k]],
                             x->vals ? x->vals[from + k] : 1.0f};
        qsort(row, (size_t)count, sizeof(*row), compare_entries);
        for (int64_t k = 0; k < count; k++) {
            s->items[from + k] = row[k].item;
            if (s->weights)
                s->weights[from + k] = row[k].weight;
        }
    }
}

static ease_status take_rows(ease__change *c, const ease_interactions *x, bool extend,
                             ease__change_side *s, ease_error *err)
{
    size_t users, nnz;
    int32_t known = (int32_t)c->ids.count, *number;
    entry *row;
    ease_status status;

    if (!x)
        return EASE_OK;
    users = (size_t)x->users;
    nnz = (size_t)x->nnz;
    number = ease__alloc_array((size_t)x->items, sizeof(*number));
    row = ease__alloc_array((size_t)x->items, sizeof(*row));
    s->starts = ease__alloc_array(users + 1, sizeof(*s->starts));
    s->items = ease__alloc_array(nnz, sizeof(*s->items));
    s->weights = x->vals ? ease__alloc_array(nnz, sizeof(*s->weights)) : NULL;
    if (!number || !row || !s->starts || !s->items || (x->vals && !s->weights))
        status = no_memory(c, err);
    else
        status = number_items(c, x, extend, number, err);
    if (!status)
        status = check_items(x, number, err);
    if (!status)
        status = check_columns(x, number, known, err);
    if (!status) {
        memcpy(s->starts, x->row_ptr, (users + 1) * sizeof(*s->starts));
        copy_rows(x, number, row, s);
    }
    ease__free(number);
    ease__free(row);
    return status;
}

static ease_row row_of(const ease__change_side *s, int64_t user)
{
    int64_t from;

    assert(s->starts);
    from = s->starts[user];
    return (ease_row){.items = s->items + from,
                      .weights = s->weights ? s->weights + from : NULL,
                      .count = (int32_t)(s->starts[user + 1] - from)};
}

static inline float value_at(ease_row row, int32_t k)
{
    return row.weights ? row.weights[k] : 1.0f;
}

static bool same_rows(ease_row a, ease_row b)
{
    if (a.count != b.count)
        return false;
    for (int32_t k = 0; k < a.count; k++)
        if (a.items[k] != b.items[k] || value_at(a, k) != value_at(b, k))
            return false;
    return true;
}

/* ---- users ----------------------------------------------------------------------- */

/* Allocates a vector for each user and each item of the rows: Lambda changes for no
 * other items. */
static bool side_reserve(const ease_interactions *x, int32_t items,
                         ease__change_side *s)
{
    size_t users = x ? (size_t)x->users : 0;

    s->vectors = ease__alloc_array(ease__size_add(users, (size_t)items),
                                   sizeof(*s->vectors));
    s->touched = ease__alloc_array((size_t)items, sizeof(*s->touched));
    return s->vectors && s->touched;
}

static void add_user(ease__change *c, ease__change_side *s, int64_t user)
{
    ease_row row = row_of(s, user);

    s->vectors[s->count++] = (ease__change_vector){
        .row = row,
        .weight = ease__user_weight(row.count, c->family.user_power),
        .user = user};
}

static void match_users(ease__change *c, const ease_interactions *was,
                        const ease_interactions *now)
{
    for (int64_t u = 0; was && u < was->users; u++) {
        int64_t other = ease_interactions_find_user(now,
                                                    ease_interactions_user_id(was, u));

        if (other != EASE_NO_USER &&
            same_rows(row_of(&c->removed, u), row_of(&c->added, other))) {
            c->info.same++;
            continue;
        }
        c->info.left += other == EASE_NO_USER;
        c->info.changed += other != EASE_NO_USER;
        c->info.removed += row_of(&c->removed, u).count;
        add_user(c, &c->removed, u);
    }
    for (int64_t u = 0; now && u < now->users; u++) {
        int64_t other = ease_interactions_find_user(was,
                                                    ease_interactions_user_id(now, u));

        if (other != EASE_NO_USER &&
            same_rows(row_of(&c->added, u), row_of(&c->removed, other)))
            continue;
        c->info.came += other == EASE_NO_USER;
        c->info.added += row_of(&c->added, u).count;
        add_user(c, &c->added, u);
    }
}

/* ---- what the model keeps -------------------------------------------------------- */

/* The arrays of c->living, which the change owns. */
static inline double *mutable(const double *array)
{
    return (double *)(uintptr_t)array;
}

/* NULL: zeros. */
static double *extend(const double *from, int32_t n, int32_t to)
{
    double *made = ease__alloc_zero((size_t)to, sizeof(*made));

    if (made && from)
        memcpy(made, from, (size_t)n * sizeof(*made));
    return made;
}

static ease_status extend_arrays(ease__change *c, ease_error *err)
{
    const ease_model *m = c->model;
    const ease__living *l = &m->living;
    int32_t n = m->info.items;
    size_t items = (size_t)c->items;

    c->living = *l;
    c->living.diagonal = extend(l->diagonal, n, c->items);
    c->living.counts = extend(l->counts, n, c->items);
    c->living.sums = extend(l->sums, n, c->items);
    c->living.product = extend(l->product, n, c->items);
    c->living.weighted = l->weighted || c->added.weights || c->removed.weights;
    c->living.error = c->living.weighted ? extend(l->error, n, c->items) : NULL;
    c->popularity = extend(m->popularity, n, c->items);
    c->lambda = ease__alloc_array(items, sizeof(*c->lambda));
    c->before = ease__alloc_array(items, sizeof(*c->before));
    c->after = ease__alloc_array(items, sizeof(*c->after));
    if (!c->living.diagonal || !c->living.counts || !c->living.sums ||
        !c->living.product || (c->living.weighted && !c->living.error) ||
        !c->popularity || !c->lambda || !c->before || !c->after)
        return no_memory(c, err);
    return EASE_OK;
}

/* Adds a row with this sign to all sums. */
static void add_row(ease__change *c, const ease__change_vector *v, double sign)
{
    ease__living *l = &c->living;
    double *diagonal = mutable(l->diagonal), *counts = mutable(l->counts),
           *sums = mutable(l->sums), *product = mutable(l->product),
           *error = mutable(l->error), dot = 0, size = 0;
    int64_t terms = v->row.count + 4;

    for (int32_t k = 0; k < v->row.count; k++) {
        double term = (double)value_at(v->row, k) *
                      ease__proof_number(l->seed, v->row.items[k]);

        dot += term;
        size += fabs(term);
    }
    for (int32_t k = 0; k < v->row.count; k++) {
        int32_t item = v->row.items[k];
        double value = (double)value_at(v->row, k), weighted = sign * v->weight * value;

        diagonal[item] += weighted * value;
        counts[item] += sign;
        sums[item] += weighted;
        product[item] += weighted * dot;
        if (error)
            error[item] += ease__proof_error(terms, fabs(weighted) * size) +
                           ease__proof_error(1, fabs(product[item]));
        c->popularity[item] += sign * value;
    }
    if (c->model->info.users >= 0)
        l->mass += sign * v->weight;
}

/* Fails if entry k of a row that was subtracted cannot have been there. */
static ease_status check_removed(const ease__change *c, ease_row row, int32_t k,
                                 ease_error *err)
{
    int32_t item = row.items[k];

    if (c->living.counts[item] < 0)
        return ease__fail(err, EASE_E_DATA,
                          "the rows to be removed are not a part of the model's data: "
                          "item \"%.200s\" has only %.0f users",
                          ease__ids_at(&c->ids, item), c->model->living.counts[item]);
    if (value_at(row, k) != 1 && !c->model->living.weighted)
        return ease__fail(err, EASE_E_DATA,
                          "the rows to be removed are not a part of the model's data: "
                          "item \"%.200s\" has the value %g, and only values of 1 in "
                          "the model",
                          ease__ids_at(&c->ids, item), (double)value_at(row, k));
    return EASE_OK;
}

/* Subtracts the removed rows alone, so that it shows if they are not there. */
static ease_status remove_rows(ease__change *c, ease_error *err)
{
    ease_status status = EASE_OK;

    for (int64_t i = 0; !status && i < c->removed.count; i++) {
        const ease__change_vector *v = &c->removed.vectors[i];

        add_row(c, v, -1);
        for (int32_t k = 0; !status && k < v->row.count; k++)
            status = check_removed(c, v->row, k, err);
    }
    return status;
}

/* Rounding may leave a little of what was removed. */
static ease_status clear_lost_items(ease__change *c, ease_error *err)
{
    const double slack = 1e-6; /* of sums of values in float64 and float32 */

    for (int32_t j = 0; j < c->items; j++) {
        double before = j < c->model->info.items ? c->model->living.diagonal[j] : 0;
        double left = c->living.diagonal[j], allowed = slack * before;

        if (left < -allowed || (c->living.counts[j] <= 0 && left > allowed))
            return ease__fail(err, EASE_E_DATA,
                              "the rows to be removed are not a part of the model's "
                              "data: their values of item \"%.200s\" are too %s",
                              ease__ids_at(&c->ids, j), left < 0 ? "large" : "small");
        if (c->living.diagonal[j] < 0)
            mutable(c->living.diagonal)[j] = 0;
        if (c->living.counts[j] > 0)
            continue;
        if (before > 0)
            c->info.lost_items++;
        mutable(c->living.diagonal)[j] = 0;
        mutable(c->living.sums)[j] = 0;
        mutable(c->living.product)[j] = 0;
        if (c->living.error)
            mutable(c->living.error)[j] = 0;
        c->popularity[j] = 0;
    }
    return EASE_OK;
}

static ease_status count_users(ease__change *c, ease_error *err)
{
    const ease_model_info *before = &c->model->info;

    c->users = before->users;
    c->interactions = before->interactions;
    if (c->users >= 0)
        c->users += c->info.came - c->info.left;
    if (c->interactions >= 0)
        c->interactions += c->info.added - c->info.removed;
    if ((before->users >= 0 && c->users < 1) || c->interactions == 0)
        return ease__fail(err, EASE_E_DATA, "no user would remain in the model");
    if ((before->users >= 0 && c->users < 0) ||
        (before->interactions >= 0 && c->interactions < 0))
        return ease__fail(err, EASE_E_DATA,
                          "the rows to be removed are not a part of the model's data: "
                          "it has fewer of them");
    return EASE_OK;
}

static ease_status change_sums(ease__change *c, ease_error *err)
{
    ease_status status = remove_rows(c, err);

    for (int64_t i = 0; !status && i < c->added.count; i++)
        add_row(c, &c->added.vectors[i], 1);
    if (!status)
        status = clear_lost_items(c, err);
    if (!status)
        status = count_users(c, err);
    c->living.updates++;
    return status;
}

/* ---- Lambda ---------------------------------------------------------------------- */

/* True if the row of item j in the inverse is e_j / Lambda_j. */
static bool is_alone(const ease__living *l, ease_gram_kind kind, int32_t j)
{
    return l->counts[j] == 0 ||
           (kind != EASE_GRAM_COUNTS && ease__living_constant(l, j));
}

/* One vector for each item whose Lambda changes. Where the item stands alone, its row
 * of the inverse is set instead. */
static void change_lambda(ease__change *c, const double *lambda)
{
    int32_t used[2] = {0, 0};

    for (int32_t j = 0; j < c->model->info.items; j++) {
        double by = c->lambda[j] - lambda[j];
        ease__change_side *s = by > 0 ? &c->added : &c->removed;
        int32_t *item = s->touched + used[by > 0];

        if (by == 0)
            continue;
        if (is_alone(&c->model->living, c->model->info.kind, j)) {
            c->before[c->before_count++] = j;
            continue;
        }
        *item = j;
        used[by > 0]++;
        s->vectors[s->count++] = (ease__change_vector){
            .row = {.items = item, .count = 1}, .weight = fabs(by), .user = -1};
    }
}

static ease_status change_penalty(ease__change *c, ease_error *err)
{
    const ease_model *m = c->model;
    double *lambda = ease__alloc_array((size_t)m->info.items, sizeof(*lambda));

    if (!lambda)
        return no_memory(c, err);
    ease__living_penalty(&m->living, &c->family, m->info.items, lambda);
    ease__living_penalty(&c->living, &c->family, c->items, c->lambda);
    change_lambda(c, lambda);
    for (int32_t j = 0; j < c->items; j++)
        if (is_alone(&c->living, m->info.kind, j))
            c->after[c->after_count++] = j;
    c->info.rank = c->added.count + c->removed.count;
    ease__free(lambda);
    return EASE_OK;
}

/* ---- the change ------------------------------------------------------------------ */

static ease_status make(ease__change *c, const ease_interactions *was,
                        const ease_interactions *now, ease_error *err)
{
    ease_status status = copy_ids(c, err);

    if (!status)
        status = take_rows(c, was, false, &c->removed, err);
    if (!status)
        status = take_rows(c, now, true, &c->added, err);
    if (status)
        return status;
    c->items = (int32_t)c->ids.count;
    c->info.new_items = c->items - c->model->info.items;
    if (!side_reserve(was, c->items, &c->removed) ||
        !side_reserve(now, c->items, &c->added))
        return no_memory(c, err);
    match_users(c, was, now);
    status = extend_arrays(c, err);
    if (!status)
        status = change_sums(c, err);
    return status ? status : change_penalty(c, err);
}

ease_status ease__change_new(const ease_model *m, const ease_interactions *was,
                             const ease_interactions *now, ease__change *out,
                             ease_error *err)
{
    ease__change c = {.model = m,
                      .family = ease__model_family(m),
                      .items = m->info.items,
                      .info = {.size = sizeof(c.info)}};
    ease_status status = make(&c, was, now, err);

    if (status)
        ease__change_free(&c);
    else
        *out = c;
    return status;
}
