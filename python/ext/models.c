/* Models: training, files, lists. */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ext.h"

PyTypeObject *model_type;

static void model_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    ease_model_free(((model_object *)self)->m);
    release(self);
    Py_DECREF(type);
}

PyObject *wrap_model(ease_model *m)
{
    model_object *o = PyObject_New(model_object, model_type);

    if (!o) {
        ease_model_free(m);
        return NULL;
    }
    o->m = m;
    return (PyObject *)o;
}

static const ease_model *model_of(PyObject *self)
{
    return ((model_object *)self)->m;
}

/* ---- training ------------------------------------------------------------------ */

static bool take_tags(PyObject *o, const ease_tags **out)
{
    if (o == Py_None)
        return true;
    if (!PyObject_TypeCheck(o, tags_type)) {
        PyErr_SetString(PyExc_TypeError, "tags are required");
        return false;
    }
    *out = ((tags_object *)o)->t;
    return true;
}

bool take_train_options(PyObject *tuple, ease_train_options *o)
{
    PyObject *input, *target, *tags;
    int kind, precision, unknown;
    Py_ssize_t limit;

    ease_train_options_init(o);
    if (!PyArg_ParseTuple(tuple, "sdiiinO&zOOsizOdp", &o->method, &o->lambda, &kind,
                          &precision, &o->threads, &limit, take_path, &o->workdir,
                          &o->settings, &input, &target, &o->metric, &unknown,
                          &o->backend, &tags, &o->tag_weight, &o->updatable))
        return false;
    o->kind = (ease_gram_kind)kind;
    o->precision = (ease_precision)precision;
    o->memory_limit = (size_t)limit;
    o->unknown = (ease_unknown)unknown;
    return take_interactions(input, &o->validation_input) &&
           take_interactions(target, &o->validation_target) &&
           take_tags(tags, &o->tags);
}

typedef struct train_job {
    const ease_interactions *x; /* or */
    const ease_gram *g;         /* or */
    const char *path;           /* of a Gram file */
    ease_train_options o;
    ease_model *m;
} train_job;

static ease_status work_train(void *p, call *c)
{
    train_job *j = p;
    ease_gram *copy = NULL;
    ease_status status;

    j->o.hooks = &c->hooks;
    if (j->x)
        return ease_train(j->x, &j->o, &j->m, &c->err);
    if (j->path)
        return ease_train_gram_file(j->path, &j->o, &j->m, &c->err);
    status = ease_gram_copy(j->g, &copy, &c->err);
    return status ? status : ease_gram_solve(&copy, &j->o, &j->m, &c->err);
}

/* The result of a call that has succeeded, or nothing of it: rounds that were
 * interrupted have made a model too. */
static PyObject *finish_model(bool good, ease_model *const *m)
{
    if (good)
        return wrap_model(*m);
    ease_model_free(*m);
    return NULL;
}

static PyObject *finish_train(train_job *j, PyObject *watch)
{
    call c;

    return finish_model(call_run(&c, watch, work_train, j), &j->m);
}

static PyObject *train(PyObject *self, PyObject *args)
{
    train_job j = {0};
    PyObject *x, *options, *watch;

    (void)self;
    if (!PyArg_ParseTuple(args, "O!OO", interactions_type, &x, &options, &watch) ||
        !take_train_options(options, &j.o))
        return NULL;
    j.x = ((interactions_object *)x)->x;
    return finish_train(&j, watch);
}

static PyObject *train_gram(PyObject *self, PyObject *args)
{
    train_job j = {0};
    PyObject *g, *options, *watch;

    (void)self;
    if (!PyArg_ParseTuple(args, "O!OO", gram_type, &g, &options, &watch) ||
        !take_train_options(options, &j.o))
        return NULL;
    j.g = ((gram_object *)g)->g;
    return finish_train(&j, watch);
}

static PyObject *train_gram_file(PyObject *self, PyObject *args)
{
    train_job j = {0};
    PyObject *options, *watch;

    (void)self;
    if (!PyArg_ParseTuple(args, "yOO", &j.path, &options, &watch) ||
        !take_train_options(options, &j.o))
        return NULL;
    return finish_train(&j, watch);
}

typedef struct plan_job {
    long long users, interactions;
    int items;
    const ease_interactions *x; /* in place of the sizes, or NULL */
    ease_train_options o;
    ease_plan plan;
} plan_job;

static ease_status work_plan(void *p, call *c)
{
    plan_job *j = p;

    j->plan.size = sizeof(j->plan);
    if (j->x)
        return ease_plan_data(j->x, &j->o, EASE_STORE_F16, &j->plan, &c->err);
    return ease_plan_sizes(j->users, j->items, j->interactions, &j->o, EASE_STORE_F16,
                           &j->plan, &c->err);
}

static PyObject *plan(PyObject *self, PyObject *args)
{
    plan_job j = {0};
    const ease_plan *p = &j.plan;
    PyObject *x, *options;
    call c;

    (void)self;
    if (!PyArg_ParseTuple(args, "LiLOO", &j.users, &j.items, &j.interactions, &x,
                          &options) ||
        !take_interactions(x, &j.x) || !take_train_options(options, &j.o) ||
        !call_run(&c, NULL, work_plan, &j))
        return NULL;
    return Py_BuildValue(
        "{s:L,s:i,s:L,s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:d,s:d,s:d,s:i,s:L,s:N}",
        "users", (long long)p->users, "items", (int)p->items, "interactions",
        (long long)p->interactions, "matrix_bytes", p->matrix_bytes, "data_bytes",
        p->data_bytes, "peak_bytes", p->peak_bytes, "available_bytes",
        p->available_bytes, "model_bytes", p->model_bytes, "work_bytes", p->work_bytes,
        "least_bytes", p->least_bytes, "traffic_bytes", p->traffic_bytes,
        "device_bytes", p->device_bytes, "device_available_bytes",
        p->device_available_bytes, "gram_seconds", p->gram_seconds, "solve_seconds",
        p->solve_seconds, "write_seconds", p->write_seconds, "threads", p->threads,
        "solves", (long long)p->solves, "fits", PyBool_FromLong(p->fits));
}

/* ---- files --------------------------------------------------------------------- */

typedef struct file_job {
    ease_model *m;
    const ease_model *from;
    const char *path;
    ease_storage storage;
    int verify; /* ease_verify */
    int top;
    int32_t matched;
} file_job;

static ease_status work_open(void *p, call *c)
{
    file_job *j = p;
    ease_open_options o;

    ease_open_options_init(&o);
    o.verify = (ease_verify)j->verify;
    return ease_model_open(j->path, &o, &j->m, &c->err);
}

static PyObject *open_model(PyObject *self, PyObject *args)
{
    file_job j = {0};
    call c;

    (void)self;
    if (!PyArg_ParseTuple(args, "y|i", &j.path, &j.verify))
        return NULL;
    faults_install();
    return finish_model(call_run(&c, NULL, work_open, &j), &j.m);
}

static ease_status work_save(void *p, call *c)
{
    file_job *j = p;

    return ease_model_save(j->from, j->path, j->storage, &c->hooks, &c->err);
}

static PyObject *model_save(PyObject *self, PyObject *args)
{
    file_job j = {.from = model_of(self)};
    PyObject *watch;
    int storage;
    call c;

    if (!PyArg_ParseTuple(args, "yiO", &j.path, &storage, &watch))
        return NULL;
    j.storage = (ease_storage)storage;
    if (!call_run(&c, watch, work_save, &j))
        return NULL;
    Py_RETURN_NONE;
}

static ease_status work_export(void *p, call *c)
{
    file_job *j = p;

    return ease_model_export(j->from, j->path, j->top, &c->hooks, &c->err);
}

static PyObject *model_export(PyObject *self, PyObject *args)
{
    file_job j = {.from = model_of(self)};
    PyObject *watch;
    call c;

    if (!PyArg_ParseTuple(args, "yiO", &j.path, &j.top, &watch) ||
        !call_run(&c, watch, work_export, &j))
        return NULL;
    Py_RETURN_NONE;
}

static ease_status work_plot(void *p, call *c)
{
    file_job *j = p;

    return ease_plot_weights(j->from, j->path, NULL, &c->hooks, &c->err);
}

static PyObject *model_plot(PyObject *self, PyObject *args)
{
    file_job j = {.from = model_of(self)};
    PyObject *watch;
    call c;

    if (!PyArg_ParseTuple(args, "yO", &j.path, &watch) ||
        !call_run(&c, watch, work_plot, &j))
        return NULL;
    Py_RETURN_NONE;
}

typedef struct count_job {
    const ease_model *m;
    ease_weight_histogram h;
} count_job;

static ease_status work_count(void *p, call *c)
{
    count_job *j = p;

    return ease_model_count_weights(j->m, &j->h, NULL, &c->hooks, &c->err);
}

/* Writes edges and counts of the histogram of the weights, for up to EASE_WEIGHT_BINS
 * bins, and returns (bins, zero, below, above). */
static PyObject *model_count_weights(PyObject *self, PyObject *args)
{
    count_job j = {.m = model_of(self), .h = {.size = sizeof(j.h)}};
    Py_buffer views[2] = {{0}};
    PyObject *edges, *counts, *watch, *done = NULL;
    call c;

    if (!PyArg_ParseTuple(args, "OOO", &edges, &counts, &watch) ||
        take_buffer(edges, &views[0], 8, EASE_WEIGHT_BINS + 1, true, false) < 0 ||
        take_buffer(counts, &views[1], 8, EASE_WEIGHT_BINS, true, false) < 0 ||
        !call_run(&c, watch, work_count, &j))
        goto done;
    memcpy(views[0].buf, j.h.edge, sizeof(j.h.edge));
    memcpy(views[1].buf, j.h.count, sizeof(j.h.count));
    done = Py_BuildValue("iLLL", j.h.bins, (long long)j.h.zero, (long long)j.h.below,
                         (long long)j.h.above);
done:
    release_buffers(views, 2);
    return done;
}

/* ---- what is known of it --------------------------------------------------------- */

static PyObject *model_info(PyObject *self, PyObject *unused)
{
    ease_model_info i = {.size = sizeof(i)};

    ease_model_describe(model_of(self), &i);
    (void)unused;
    return Py_BuildValue(
        "{s:s,s:s,s:i,s:L,s:L,s:d,s:d,s:i,s:i,s:i,s:i,s:i,s:i,s:n,s:i,s:d,s:N,s:L}",
        "method", i.method, "settings", i.settings, "items", (int)i.items, "users",
        (long long)i.users, "interactions", (long long)i.interactions, "lambda",
        i.lambda, "residual", i.residual, "kind", (int)i.kind, "precision",
        (int)i.precision, "storage", (int)i.storage, "nonnegative", i.nonnegative,
        "has_titles", i.has_titles, "has_base", i.has_base, "bytes",
        (Py_ssize_t)i.bytes, "tags", (int)ease_model_tags(model_of(self)), "tag_weight",
        ease_model_tag_weight(model_of(self)), "updatable",
        PyBool_FromLong(i.updatable), "updates", (long long)i.updates);
}

static const char *item_at(const void *of, int64_t number)
{
    return ease_model_item_id(of, (int32_t)number);
}

static const char *title_at(const void *of, int64_t number)
{
    return ease_model_title(of, (int32_t)number);
}

static PyObject *model_item_ids(PyObject *self, PyObject *unused)
{
    (void)unused;
    return id_list(ease_model_items(model_of(self)), item_at, model_of(self));
}

static PyObject *model_item_numbers(PyObject *self, PyObject *out)
{
    return id_numbers(ease_model_items(model_of(self)), item_at, model_of(self), out);
}

static PyObject *model_titles(PyObject *self, PyObject *unused)
{
    (void)unused;
    return id_list(ease_model_items(model_of(self)), title_at, model_of(self));
}

static const char *tag_at(const void *of, int64_t number)
{
    return ease_model_tag(of, (int32_t)number);
}

/* The tags of all items, by their numbers. */
static PyObject *model_tags(PyObject *self, PyObject *unused)
{
    (void)unused;
    return id_list(ease_model_tags(model_of(self)), tag_at, model_of(self));
}

typedef struct item_tags {
    const ease_model *m;
    ease_row row;
} item_tags;

static const char *item_tag_at(const void *of, int64_t number)
{
    const item_tags *t = of;

    return ease_model_tag(t->m, t->row.items[number]);
}

static PyObject *model_item_tags(PyObject *self, PyObject *args)
{
    item_tags t = {.m = model_of(self)};
    int item;

    if (!PyArg_ParseTuple(args, "i", &item))
        return NULL;
    t.row = ease_model_item_tags(t.m, item);
    return id_list(t.row.count, item_tag_at, &t);
}

static PyObject *model_find(PyObject *self, PyObject *args)
{
    const char *id;

    if (!PyArg_ParseTuple(args, "y", &id))
        return NULL;
    return PyLong_FromLong(ease_model_find(model_of(self), id));
}

static PyObject *model_find_user(PyObject *self, PyObject *args)
{
    const char *id;

    if (!PyArg_ParseTuple(args, "y", &id))
        return NULL;
    return PyLong_FromLongLong(ease_model_find_user(model_of(self), id));
}

static const char *known_user_at(const void *of, int64_t number)
{
    return ease_model_user_id(of, number);
}

static int64_t known_users(const ease_model *m)
{
    ease_model_info i = {.size = sizeof(i)};

    ease_model_describe(m, &i);
    return ease_model_user_id(m, 0) ? i.users : 0;
}

static PyObject *model_user_ids(PyObject *self, PyObject *unused)
{
    (void)unused;
    return id_list(known_users(model_of(self)), known_user_at, model_of(self));
}

static PyObject *model_user_numbers(PyObject *self, PyObject *out)
{
    return id_numbers(known_users(model_of(self)), known_user_at, model_of(self), out);
}

/* What a known user had, as the bytes of int32. */
static PyObject *model_history(PyObject *self, PyObject *args)
{
    long long user;
    ease_row row;

    if (!PyArg_ParseTuple(args, "L", &user))
        return NULL;
    row = ease_model_history(model_of(self), user);
    return PyBytes_FromStringAndSize((const char *)row.items,
                                     (Py_ssize_t)row.count *
                                         (Py_ssize_t)sizeof(*row.items));
}

/* A list of bytes or None, one an item. */
static PyObject *model_set_titles(PyObject *self, PyObject *list)
{
    Py_ssize_t n = ease_model_items(model_of(self));
    const char **titles;
    ease_error err = {0};
    ease_status status = EASE_OK;
    bool good = PyList_Check(list) && PyList_Size(list) == n;

    titles = calloc((size_t)n + 1, sizeof(*titles));
    if (!titles)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; good && i < n; i++) {
        PyObject *title = PyList_GetItem(list, i);

        if (title != Py_None)
            good = (titles[i] = PyBytes_AsString(title)) != NULL;
    }
    if (good)
        status = ease_model_set_titles(((model_object *)self)->m, titles, &err);
    else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "a list with one title for each item");
    free(titles);
    if (status)
        raise_error(&err);
    return good && !status ? Py_NewRef(Py_None) : NULL;
}

static ease_status work_titles(void *p, call *c)
{
    file_job *j = p;

    return ease_model_read_titles(j->m, j->path, &j->matched, &c->err);
}

static PyObject *model_read_titles(PyObject *self, PyObject *args)
{
    file_job j = {.m = ((model_object *)self)->m};
    call c;

    if (!PyArg_ParseTuple(args, "y", &j.path) || !call_run(&c, NULL, work_titles, &j))
        return NULL;
    return PyLong_FromLong(j.matched);
}

/* Popularity (double) and base (float) of every item. */
static PyObject *model_columns(PyObject *self, PyObject *args)
{
    const ease_model *m = model_of(self);
    Py_ssize_t n = ease_model_items(m);
    Py_buffer views[2] = {0};
    PyObject *popularity, *base, *done = NULL;

    if (!PyArg_ParseTuple(args, "OO", &popularity, &base))
        return NULL;
    if (take_buffer(popularity, &views[0], 8, n, true, false) >= 0 &&
        take_buffer(base, &views[1], 4, n, true, false) >= 0) {
        for (int32_t i = 0; i < n; i++) {
            ((double *)views[0].buf)[i] = ease_model_popularity(m, i);
            ((float *)views[1].buf)[i] = ease_model_base(m, i);
        }
        done = Py_NewRef(Py_None);
    }
    release_buffers(views, 2);
    return done;
}

typedef struct rows_job {
    const ease_model *m;
    const float *rows;
    size_t stride;
} rows_job;

static ease_status work_rows(void *p, call *c)
{
    rows_job *j = p;

    return ease_model_rows(j->m, &j->rows, &j->stride, &c->err);
}

/* The rows of weights in a file, read-only, as bytes. */
static int model_buffer(PyObject *self, Py_buffer *view, int flags)
{
    rows_job j = {.m = model_of(self)};
    call c;

    view->obj = NULL;
    if (!call_run(&c, NULL, work_rows, &j))
        return -1;
    if (!j.rows) {
        PyErr_SetString(PyExc_BufferError, "the weights are not rows in a file");
        return -1;
    }
    return PyBuffer_FillInfo(view, self, (void *)j.rows,
                             (Py_ssize_t)j.stride * ease_model_items(j.m), 1, flags);
}

/* Bytes from row to row of that, or None. */
static PyObject *model_stride(PyObject *self, PyObject *unused)
{
    rows_job j = {.m = model_of(self)};
    call c;

    (void)unused;
    if (!call_run(&c, NULL, work_rows, &j))
        return NULL;
    return j.rows ? PyLong_FromSize_t(j.stride) : Py_NewRef(Py_None);
}

/* ---- lists ----------------------------------------------------------------------- */

typedef struct list_job {
    const ease_model *m;
    int64_t users; /* or, for similarities, items */
    const int64_t *row_ptr;
    const int32_t *cols; /* or these items */
    const float *vals;
    ease_recommend_options o;
    int32_t *items; /* users x k */
    float *scores;
} list_job;

static void put_list(const list_job *j, int64_t user, const ease_rec *recs,
                     int32_t count)
{
    int32_t *items = j->items + (size_t)user * (size_t)j->o.k;
    float *scores = j->scores + (size_t)user * (size_t)j->o.k;

    for (int32_t i = 0; i < j->o.k; i++) {
        items[i] = i < count ? recs[i].item : -1;
        scores[i] = i < count ? recs[i].score : -FLT_MAX;
    }
}

static ease_status no_memory(call *c, int64_t lists)
{
    c->err = (ease_error){.status = EASE_E_NOMEM, .where = -1};
    snprintf(c->err.text, sizeof(c->err.text), "%lld lists", (long long)lists);
    return EASE_E_NOMEM;
}

static ease_row row_of(const list_job *j, int64_t user)
{
    int64_t from = j->row_ptr[user];

    return (ease_row){.items = j->cols + from,
                      .weights = j->vals ? j->vals + from : NULL,
                      .count = (int32_t)(j->row_ptr[user + 1] - from)};
}

static ease_status recommend_all(list_job *j, call *c, ease_row *rows, ease_rec *recs,
                                 int32_t *counts)
{
    ease_status status;

    for (int64_t u = 0; u < j->users; u++)
        rows[u] = row_of(j, u);
    status = ease_recommend_many(j->m, rows, j->users, &j->o, recs, counts, &c->err);
    for (int64_t u = 0; !status && u < j->users; u++)
        put_list(j, u, recs + (size_t)u * (size_t)j->o.k, counts[u]);
    return status;
}

static ease_status work_recommend(void *p, call *c)
{
    list_job *j = p;
    size_t users = (size_t)j->users;
    ease_row *rows = calloc(users, sizeof(*rows));
    ease_rec *recs = calloc(users * (size_t)j->o.k, sizeof(*recs));
    int32_t *counts = calloc(users, sizeof(*counts));
    ease_status status;

    j->o.hooks = &c->hooks;
    status = rows && recs && counts ? recommend_all(j, c, rows, recs, counts)
                                    : no_memory(c, j->users);
    free(rows);
    free(recs);
    free(counts);
    return status;
}

/* One list by a scorer: less to set up than for many. `similar`: to items. */
static ease_status one_list(list_job *j, ease_scorer *s, bool similar, int64_t number,
                            ease_rec *recs, call *c)
{
    int32_t count = 0;
    ease_status status =
        similar ? ease_similar(s, j->cols[number], &j->o, recs, &count, &c->err)
                : ease_recommend(s, row_of(j, number), &j->o, recs, &count, &c->err);

    if (!status)
        put_list(j, number, recs, count);
    return status;
}

static ease_status each_list(list_job *j, bool similar, call *c)
{
    ease_rec *recs = calloc((size_t)j->o.k, sizeof(*recs));
    ease_scorer *s = NULL;
    ease_status status = recs ? ease_scorer_new(j->m, &s, &c->err) : no_memory(c, 1);

    for (int64_t i = 0; !status && i < j->users; i++) {
        status = one_list(j, s, similar, i, recs, c);
        if (c->hooks.progress(c, "recommending", (double)(i + 1) / (double)j->users))
            status = EASE_E_CANCELLED;
    }
    ease_scorer_free(s);
    free(recs);
    return status;
}

static ease_status work_one(void *p, call *c)
{
    return each_list(p, false, c);
}

static ease_status work_similar(void *p, call *c)
{
    return each_list(p, true, c);
}

/* What lists are made of and written to: the views of allowed, items and scores. */
static bool take_lists(list_job *j, PyObject *allowed, PyObject *items,
                       PyObject *scores, Py_buffer views[3])
{
    Py_ssize_t n = ease_model_items(j->m);
    Py_ssize_t cells = (Py_ssize_t)j->users * j->o.k;

    if (j->o.k < 1) {
        PyErr_SetString(PyExc_ValueError, "N is at least 1");
        return false;
    }
    if (take_buffer(allowed, &views[0], 1, n, false, true) < 0 ||
        take_buffer(items, &views[1], 4, cells, true, false) < 0 ||
        take_buffer(scores, &views[2], 4, cells, true, false) < 0)
        return false;
    j->o.allowed = views[0].buf;
    j->items = views[1].buf;
    j->scores = views[2].buf;
    return true;
}

/* Makes caps from a list of tuples (kind, most), whose bytes they borrow; the caller
 * frees o->caps. */
static bool take_caps(PyObject *list, ease_recommend_options *o)
{
    Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : 0;
    ease_cap *caps = calloc((size_t)count + 1, sizeof(*caps));

    if (!caps) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        int most;

        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "yi", &caps[i].kind, &most)) {
            free(caps);
            return false;
        }
        caps[i].most = most;
    }
    o->caps = caps;
    o->cap_count = count;
    return true;
}

static void free_caps(const ease_recommend_options *o)
{
    free((void *)(uintptr_t)o->caps);
}

/* Borrows the strings of a list of bytes; the caller frees *out. */
static bool take_strings(PyObject *list, const char ***out, int64_t *count)
{
    Py_ssize_t n = PyList_Check(list) ? PyList_Size(list) : 0;
    const char **strings = calloc((size_t)n + 1, sizeof(*strings));

    if (!strings) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        strings[i] = PyBytes_AsString(PyList_GetItem(list, i));
        if (!strings[i]) {
            free(strings);
            return false;
        }
    }
    *out = strings;
    *count = n;
    return true;
}

/* Sets the bytes of items to 0 that do not have the tags. */
static PyObject *model_filter(PyObject *self, PyObject *args)
{
    const ease_model *m = model_of(self);
    const char **only = NULL, **except = NULL;
    int64_t only_count = 0, except_count = 0;
    PyObject *lists[2], *allowed, *done = NULL;
    Py_buffer view = {0};
    ease_error err = {0};

    if (!PyArg_ParseTuple(args, "OOO", &lists[0], &lists[1], &allowed))
        return NULL;
    if (take_strings(lists[0], &only, &only_count) &&
        take_strings(lists[1], &except, &except_count) &&
        take_buffer(allowed, &view, 1, ease_model_items(m), true, false) >= 0) {
        if (ease_model_filter(m, only, only_count, except, except_count, view.buf,
                              &err))
            raise_error(&err);
        else
            done = Py_NewRef(Py_None);
    }
    free(only);
    free(except);
    release_buffers(&view, 1);
    return done;
}

/* Rows of at most 2^31 items, one after the other. */
static bool rows_are_sound(const list_job *j, Py_ssize_t columns)
{
    bool sound = j->row_ptr[0] == 0 && j->row_ptr[j->users] == columns;

    for (int64_t u = 0; sound && u < j->users; u++)
        sound = j->row_ptr[u + 1] >= j->row_ptr[u] &&
                j->row_ptr[u + 1] - j->row_ptr[u] <= INT32_MAX;
    if (!sound)
        PyErr_SetString(PyExc_ValueError, "indptr is not that of a CSR matrix");
    return sound;
}

/* users: the numbers of known users, or None. */
static PyObject *model_recommend(PyObject *self, PyObject *args)
{
    list_job j = {.m = model_of(self)};
    Py_buffer views[7] = {0};
    PyObject *users, *ptr, *cols, *vals, *allowed, *caps, *items, *scores, *watch;
    PyObject *done = NULL;
    Py_ssize_t columns, ends;
    call c;

    ease_recommend_options_init(&j.o);
    if (!PyArg_ParseTuple(args, "OOOOipOdOiOOO", &users, &ptr, &cols, &vals, &j.o.k,
                          &j.o.keep_seen, &allowed, &j.o.popularity_power, &caps,
                          &j.o.threads, &items, &scores, &watch) ||
        !take_caps(caps, &j.o))
        return NULL;
    ends = take_buffer(ptr, &views[0], 8, -1, false, false);
    columns = ends < 1 ? -1 : take_buffer(cols, &views[1], 4, -1, false, false);
    if (columns < 0 || take_buffer(vals, &views[2], 4, columns, false, true) < 0 ||
        take_buffer(users, &views[6], 8, ends - 1, false, true) < 0)
        goto done;
    j.users = ends - 1;
    j.o.users = views[6].buf;
    j.row_ptr = views[0].buf;
    j.cols = views[1].buf;
    j.vals = views[2].buf;
    if (rows_are_sound(&j, columns) &&
        take_lists(&j, allowed, items, scores, views + 3) &&
        call_run(&c, watch, j.users == 1 ? work_one : work_recommend, &j))
        done = Py_NewRef(Py_None);
done:
    free_caps(&j.o);
    release_buffers(views, 7);
    return done;
}

static PyObject *model_similar(PyObject *self, PyObject *args)
{
    list_job j = {.m = model_of(self)};
    Py_buffer views[4] = {0};
    PyObject *like, *allowed, *caps, *items, *scores, *done = NULL;
    call c;

    ease_recommend_options_init(&j.o);
    if (!PyArg_ParseTuple(args, "OiOdOOO", &like, &j.o.k, &allowed,
                          &j.o.popularity_power, &caps, &items, &scores) ||
        !take_caps(caps, &j.o))
        return NULL;
    j.users = take_buffer(like, &views[0], 4, -1, false, false);
    j.cols = views[0].buf;
    if (j.users >= 0 && take_lists(&j, allowed, items, scores, views + 1) &&
        call_run(&c, NULL, work_similar, &j))
        done = Py_NewRef(Py_None);
    free_caps(&j.o);
    release_buffers(views, 4);
    return done;
}

typedef struct explain_job {
    const ease_model *m;
    ease_row history;
    int item;
    ease_rec *reasons;
    float base, score;
} explain_job;

static ease_status work_explain(void *p, call *c)
{
    explain_job *j = p;
    ease_scorer *s = NULL;
    ease_status status = ease_scorer_new(j->m, &s, &c->err);

    if (!status)
        status = ease_explain(s, j->history, j->item, j->reasons, &j->base, &j->score,
                              &c->err);
    ease_scorer_free(s);
    return status;
}

/* Fills what each item of the history contributes; returns (base, score). */
static PyObject *model_explain(PyObject *self, PyObject *args)
{
    explain_job j = {.m = model_of(self)};
    Py_buffer views[3] = {0};
    PyObject *cols, *vals, *out, *done = NULL;
    Py_ssize_t n;
    call c;

    if (!PyArg_ParseTuple(args, "OOiO", &cols, &vals, &j.item, &out))
        return NULL;
    n = take_buffer(cols, &views[0], 4, -1, false, false);
    if (n < 0 || n > INT32_MAX || take_buffer(vals, &views[1], 4, n, false, true) < 0 ||
        take_buffer(out, &views[2], 4, n, true, false) < 0)
        goto done;
    j.history = (ease_row){views[0].buf, views[1].buf, (int32_t)n};
    j.reasons = calloc((size_t)n + 1, sizeof(*j.reasons));
    if (!j.reasons) {
        PyErr_NoMemory();
        goto done;
    }
    if (call_run(&c, NULL, work_explain, &j)) {
        for (Py_ssize_t i = 0; i < n; i++)
            ((float *)views[2].buf)[i] = j.reasons[i].score;
        done = Py_BuildValue("ff", (double)j.base, (double)j.score);
    }
    free(j.reasons);
done:
    release_buffers(views, 3);
    return done;
}

/* ---- the type ----------------------------------------------------------------- */

static PyMethodDef model_methods[] = {
    {"info", model_info, METH_NOARGS, NULL},
    {"save", model_save, METH_VARARGS, NULL},
    {"export", model_export, METH_VARARGS, NULL},
    {"plot", model_plot, METH_VARARGS, NULL},
    {"count_weights", model_count_weights, METH_VARARGS, NULL},
    {"user_ids", model_user_ids, METH_NOARGS, NULL},
    {"user_numbers", model_user_numbers, METH_O, NULL},
    {"item_ids", model_item_ids, METH_NOARGS, NULL},
    {"item_numbers", model_item_numbers, METH_O, NULL},
    {"titles", model_titles, METH_NOARGS, NULL},
    {"set_titles", model_set_titles, METH_O, NULL},
    {"read_titles", model_read_titles, METH_VARARGS, NULL},
    {"tags", model_tags, METH_NOARGS, NULL},
    {"item_tags", model_item_tags, METH_VARARGS, NULL},
    {"find", model_find, METH_VARARGS, NULL},
    {"find_user", model_find_user, METH_VARARGS, NULL},
    {"history", model_history, METH_VARARGS, NULL},
    {"columns", model_columns, METH_VARARGS, NULL},
    {"stride", model_stride, METH_NOARGS, NULL},
    {"filter", model_filter, METH_VARARGS, NULL},
    {"recommend", model_recommend, METH_VARARGS, NULL},
    {"similar", model_similar, METH_VARARGS, NULL},
    {"explain", model_explain, METH_VARARGS, NULL},
    {0}};

static PyType_Slot model_slots[] = {{Py_tp_dealloc, model_dealloc},
                                    {Py_tp_methods, model_methods},
                                    {Py_bf_getbuffer, model_buffer},
                                    {0, NULL}};

static PyType_Spec model_spec = {.name = "ease._ease.Model",
                                 .basicsize = sizeof(model_object),
                                 .flags = Py_TPFLAGS_DEFAULT |
                                          Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 .slots = model_slots};

static PyMethodDef functions[] = {
    {"train", train, METH_VARARGS, NULL},
    {"train_gram", train_gram, METH_VARARGS, NULL},
    {"train_gram_file", train_gram_file, METH_VARARGS, NULL},
    {"plan", plan, METH_VARARGS, NULL},
    {"open_model", open_model, METH_VARARGS, NULL},
    {0}};

int add_models(PyObject *module)
{
    model_type = (PyTypeObject *)PyType_FromSpec(&model_spec);
    if (!model_type || PyModule_AddType(module, model_type) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
