/* Histories as interactions: all of them, or those that have changed. */
#include <assert.h>
#include <string.h>

#include "people.h"

/* ---- interactions of rows -------------------------------------------------------- */

/* Users with a row that is not empty. */
typedef struct selection {
    const char **ids;
    ease_row *rows;
    int64_t count, nnz;
} selection;

static bool selection_new(selection *s, int64_t most)
{
    size_t count = (size_t)(most ? most : 1);

    *s = (selection){.ids = malloc(count * sizeof(*s->ids)),
                     .rows = malloc(count * sizeof(*s->rows))};
    return s->ids && s->rows;
}

static void selection_free(selection *s)
{
    free(s->ids);
    free(s->rows);
}

static void selection_add(selection *s, const char *id, ease_row r)
{
    if (!r.count)
        return;
    s->ids[s->count] = id;
    s->rows[s->count++] = r;
    s->nnz += r.count;
}

/* The matrix of a selection. Its columns are the items that occur, in their order. */
typedef struct matrix {
    int64_t *starts;
    int32_t *cols;
    float *vals;     /* NULL: all ones */
    int32_t *column; /* of each item, or -1 */
    int32_t *used;   /* the item of each column */
    int32_t columns;
} matrix;

static void matrix_free(matrix *m)
{
    free(m->starts);
    free(m->cols);
    free(m->vals);
    free(m->column);
    free(m->used);
}

static bool matrix_new(const item_ids *ids, const selection *s, bool weights, matrix *m)
{
    size_t items = (size_t)ids->count + 1;

    *m = (matrix){.starts = malloc(((size_t)s->count + 1) * sizeof(*m->starts)),
                  .cols = malloc((size_t)s->nnz * sizeof(*m->cols)),
                  .column = malloc(items * sizeof(*m->column)),
                  .used = malloc(items * sizeof(*m->used))};
    if (weights)
        m->vals = malloc((size_t)s->nnz * sizeof(*m->vals));
    return m->starts && m->cols && m->column && m->used && (m->vals || !weights);
}

static void number_columns(const item_ids *ids, const selection *s, matrix *m)
{
    for (int64_t i = 0; i < ids->count; i++)
        m->column[i] = -1;
    for (int64_t i = 0; i < s->count; i++)
        for (int32_t k = 0; k < s->rows[i].count; k++)
            m->column[s->rows[i].items[k]] = 0;
    m->columns = 0;
    for (int64_t i = 0; i < ids->count; i++)
        if (m->column[i] == 0) {
            m->used[m->columns] = (int32_t)i;
            m->column[i] = m->columns++;
        }
}

static void fill_matrix(const item_ids *ids, const selection *s, matrix *m)
{
    int64_t at = 0;

    number_columns(ids, s, m);
    for (int64_t i = 0; i < s->count; i++) {
        m->starts[i] = at;
        for (int32_t k = 0; k < s->rows[i].count; k++, at++) {
            m->cols[at] = m->column[s->rows[i].items[k]];
            if (m->vals)
                m->vals[at] = people_weight_at(s->rows[i], k);
        }
    }
    m->starts[s->count] = at;
}

/* A column of ids, id i being that of `count` users or items number i % count. */
typedef struct id_strings {
    char *bytes;
    int64_t *offsets;
} id_strings;

static bool pack_ids(const char *(*id_of)(const void *, int64_t), const void *owner,
                     int64_t count, int64_t rows, id_strings *out)
{
    int64_t bytes = 0;

    assert(count > 0);
    out->bytes = NULL;
    out->offsets = malloc(((size_t)rows + 1) * sizeof(*out->offsets));
    if (!out->offsets)
        return false;
    for (int64_t i = 0; i < rows; i++) {
        out->offsets[i] = bytes;
        bytes += (int64_t)strlen(id_of(owner, i % count));
    }
    out->offsets[rows] = bytes;
    out->bytes = malloc((size_t)bytes + 1);
    for (int64_t i = 0; out->bytes && i < rows; i++)
        memcpy(out->bytes + out->offsets[i], id_of(owner, i % count),
               (size_t)(out->offsets[i + 1] - out->offsets[i]));
    return out->bytes != NULL;
}

static const char *selected_user(const void *owner, int64_t i)
{
    return ((const selection *)owner)->ids[i];
}

typedef struct named_columns {
    const item_ids *ids;
    const matrix *m;
} named_columns;

static const char *selected_item(const void *owner, int64_t i)
{
    const named_columns *n = owner;

    return people_id_at(n->ids, n->m->used[i]);
}

/* Interactions that have the ids of the users and of the columns in their order: a
 * table with so many rows that each of them occurs, and row i is user and column number
 * i. */
static ease_status make_ids(const item_ids *ids, const selection *s, const matrix *m,
                            ease_interactions **out, ease_error *err)
{
    const named_columns columns = {ids, m};
    int64_t rows = s->count > m->columns ? s->count : m->columns;
    id_strings user = {0}, item = {0};
    ease_status status = people_no_memory(err);

    if (pack_ids(selected_user, s, s->count, rows, &user) &&
        pack_ids(selected_item, &columns, m->columns, rows, &item))
        status = ease_interactions_from_table(
            rows, &(ease_id_column){.bytes = user.bytes, .offsets = user.offsets},
            &(ease_id_column){.bytes = item.bytes, .offsets = item.offsets}, NULL, NULL,
            out, err);
    free(user.bytes);
    free(user.offsets);
    free(item.bytes);
    free(item.offsets);
    return status;
}

/* *out is NULL for an empty selection. Needs no lock: the rows of a selection and the
 * ids do not change. */
static ease_status make_interactions(const item_ids *items, const selection *s,
                                     bool weights, ease_interactions **out,
                                     ease_error *err)
{
    ease_interactions *ids = NULL, *made = NULL;
    ease_status status = EASE_OK;
    matrix m = {0};

    if (s->count && !matrix_new(items, s, weights, &m))
        status = people_no_memory(err);
    if (!status && s->count) {
        fill_matrix(items, s, &m);
        status = make_ids(items, s, &m, &ids, err);
        if (!status)
            status = ease_interactions_from_csr_ids(ids, ids, m.starts, m.cols, m.vals,
                                                    &made, err);
    }
    ease_interactions_free(ids);
    matrix_free(&m);
    if (!status)
        *out = made;
    return status;
}

/* ---- all users ------------------------------------------------------------------- */

/* For each user of the data set the number of the person, plus 1, or 0; NULL: no
 * memory. */
static int64_t *people_of_base(const users *u)
{
    size_t count = (size_t)ease_interactions_users(u->x) + 1;
    int64_t *of = calloc(count, sizeof(*of));

    for (int64_t i = 0; of && i < u->people_count; i++)
        if (u->people[i].base != EASE_NO_USER)
            of[u->people[i].base] = i + 1;
    return of;
}

static ease_status select_all(const users *u, users_state state, selection *s,
                              ease_error *err)
{
    int64_t base = ease_interactions_users(u->x);
    int64_t *of = people_of_base(u);
    ease_row (*row_of)(const users *, const person *) = state == USERS_NOW
                                                            ? people_current_row
                                                            : people_model_row;

    if (!of || !selection_new(s, base + u->people_count)) {
        free(of);
        return people_no_memory(err);
    }
    for (int64_t i = 0; i < base; i++)
        selection_add(s, ease_interactions_user_id(u->x, i),
                      of[i] ? row_of(u, &u->people[of[i] - 1])
                            : ease_interactions_row(u->x, i));
    for (int64_t i = 0; i < u->people_count; i++)
        if (u->people[i].base == EASE_NO_USER)
            selection_add(s, u->people[i].id, row_of(u, &u->people[i]));
    free(of);
    return EASE_OK;
}

ease_status users_interactions(const users *u, users_state state,
                               ease_interactions **out, ease_error *err)
{
    selection s = {0};
    item_ids ids = {0};
    ease_status status;

    if (!u || !out)
        return journal_fail(err, EASE_E_ARG, 0, "users are required");
    pthread_rwlock_rdlock(people_lock(u));
    status = select_all(u, state, &s, err);
    if (!status && !people_copy_ids(u, &ids))
        status = people_no_memory(err);
    if (!status)
        status = make_interactions(&ids, &s, u->o.weights, out, err);
    pthread_rwlock_unlock(people_lock(u)); /* an event may free any row */
    people_free_ids(&ids);
    selection_free(&s);
    return status;
}

/* ---- changes --------------------------------------------------------------------- */

/* A user whose change was taken: the row of the model, and the current one, with a
 * reference to each. */
typedef struct taken {
    int64_t person;
    row *was;
    bool was_base;
    row *now; /* NULL: that of the data set */
} taken;

struct users_taken {
    int64_t count;
    taken entries[];
};

/* The current rows of changed users; NULL: no memory. */
static struct users_taken *hold_changes(const users *u)
{
    struct users_taken *t = calloc(1, sizeof(*t) +
                                          (size_t)u->changed * sizeof(t->entries[0]));

    for (int64_t i = 0; t && i < u->people_count; i++) {
        const person *p = &u->people[i];

        if (!p->changed)
            continue;
        t->entries[t->count++] = (taken){.person = i, .now = p->now};
        if (p->now)
            p->now->references++;
    }
    return t;
}

/* Makes the current rows those of the model. */
static void move_changes(users *u, struct users_taken *t)
{
    for (int64_t i = 0; i < t->count; i++) {
        person *p = &u->people[t->entries[i].person];

        t->entries[i].was = p->was;
        t->entries[i].was_base = p->was_base;
        p->was = NULL;
        p->changed = p->was_base = false;
    }
    u->changed = 0;
}

/* The rows of taken users, before and after. Called with the lock for reading. */
static ease_status select_taken(const users *u, const struct users_taken *t,
                                selection *was, selection *now, ease_error *err)
{
    if (!selection_new(was, t->count) || !selection_new(now, t->count))
        return people_no_memory(err);
    for (int64_t i = 0; i < t->count; i++) {
        const taken *e = &t->entries[i];
        const person *p = &u->people[e->person];
        ease_row base = ease_interactions_row(u->x, p->base);

        selection_add(was, p->id, e->was_base ? base : people_row(e->was));
        selection_add(now, p->id, e->now ? people_row(e->now) : base);
    }
    return EASE_OK;
}

/* The rows are referred to, and the ids copied: events and readers do not wait. */
static ease_status make_changes(const users *u, users_changes *c, ease_error *err)
{
    selection was = {0}, now = {0};
    item_ids ids = {0};
    ease_status status;

    pthread_rwlock_rdlock(people_lock(u));
    status = select_taken(u, c->taken, &was, &now, err);
    if (!status && !people_copy_ids(u, &ids))
        status = people_no_memory(err);
    pthread_rwlock_unlock(people_lock(u));
    if (!status)
        status = make_interactions(&ids, &was, u->o.weights, &c->was, err);
    if (!status)
        status = make_interactions(&ids, &now, u->o.weights, &c->now, err);
    people_free_ids(&ids);
    selection_free(&was);
    selection_free(&now);
    return status;
}

ease_status users_take(users *u, users_changes *out, ease_error *err)
{
    users_changes c = {0};
    ease_status status;

    if (!u || !out)
        return journal_fail(err, EASE_E_ARG, 0, "users are required");
    pthread_rwlock_wrlock(&u->lock);
    c.taken = hold_changes(u);
    if (c.taken)
        move_changes(u, c.taken);
    c.sequence = u->sequence;
    pthread_rwlock_unlock(&u->lock);
    if (!c.taken)
        return people_no_memory(err);
    c.users = c.taken->count;
    status = make_changes(u, &c, err);
    if (status) {
        users_give_back(u, &c);
        return status;
    }
    *out = c;
    return EASE_OK;
}

static void changes_free(users_changes *c)
{
    ease_interactions_free(c->was);
    ease_interactions_free(c->now);
    free(c->taken);
    *c = (users_changes){0};
}

void users_keep(users *u, users_changes *c)
{
    pthread_rwlock_wrlock(&u->lock);
    for (int64_t i = 0; c->taken && i < c->taken->count; i++) {
        people_row_free(u, c->taken->entries[i].was);
        people_row_free(u, c->taken->entries[i].now);
    }
    pthread_rwlock_unlock(&u->lock);
    changes_free(c);
}

void users_give_back(users *u, users_changes *c)
{
    pthread_rwlock_wrlock(&u->lock);
    for (int64_t i = 0; c->taken && i < c->taken->count; i++) {
        const taken *e = &c->taken->entries[i];
        person *p = &u->people[e->person];

        if (p->changed)
            people_row_free(u, p->was);
        else
            u->changed++;
        people_row_free(u, e->now);
        p->changed = true;
        p->was = e->was;
        p->was_base = e->was_base;
    }
    pthread_rwlock_unlock(&u->lock);
    changes_free(c);
}
