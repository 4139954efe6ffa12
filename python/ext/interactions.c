/* Interactions: from files, tables and matrices in memory; splits. */
#include "ext.h"

#include <limits.h>
#include <string.h>

PyTypeObject *interactions_type;

static void free_object(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    release(self);
    Py_DECREF(type);
}

static void interactions_dealloc(PyObject *self)
{
    interactions_object *o = (interactions_object *)self;

    ease_interactions_free(o->x);
    release_buffers(o->views, 3);
    free_object(self);
}

PyObject *wrap_interactions(ease_interactions *x)
{
    interactions_object *o = PyObject_New(interactions_object, interactions_type);

    if (!o) {
        ease_interactions_free(x);
        return NULL;
    }
    o->x = x;
    memset(o->views, 0, sizeof(o->views));
    return (PyObject *)o;
}

bool take_interactions(PyObject *o, const ease_interactions **out)
{
    if (o == Py_None)
        return true;
    if (!PyObject_TypeCheck(o, interactions_type)) {
        PyErr_SetString(PyExc_TypeError, "interactions are required");
        return false;
    }
    *out = ((interactions_object *)o)->x;
    return true;
}

static const char columns_option[] = "columns=";

bool take_read_options(PyObject *tuple, ease_read_options *o)
{
    Py_ssize_t limit, guess_bytes;
    const char *guess;
    int repeat;
    long long min_user, min_item;

    ease_read_options_init(o);
    if (!PyArg_ParseTuple(tuple, "zzzidiiLLindddzz#", &o->format, &o->columns,
                          &o->separator, &o->header, &o->min_rating, &o->weights,
                          &repeat, &min_user, &min_item, &o->threads, &limit, &o->since,
                          &o->until, &o->half_life, &o->encoding, &guess, &guess_bytes))
        return false;
    if (guess && guess_bytes != sizeof(ease_columns)) {
        PyErr_SetString(PyExc_ValueError, "not a guess of recognize()");
        return false;
    }
    o->columns_option = columns_option;
    o->guess = (const void *)guess;
    o->repeat = (ease_repeat)repeat;
    o->min_user = min_user;
    o->min_item = min_item;
    o->memory_limit = (size_t)limit;
    return true;
}

/* The result of a call that has succeeded, or nothing of it. */
static PyObject *finish_interactions(bool good, ease_interactions *const *x)
{
    if (good)
        return wrap_interactions(*x);
    ease_interactions_free(*x);
    return NULL;
}

/* ---- making them ----------------------------------------------------------------- */

typedef struct read_job {
    const char *path;
    ease_read_options o;
    ease_interactions *x;
} read_job;

static ease_status work_read(void *p, call *c)
{
    read_job *j = p;

    j->o.hooks = &c->hooks;
    return ease_interactions_read(j->path, &j->o, &j->x, &c->err);
}

/* The C strings of bytes or of a tuple of bytes, ended by NULL, which live as long as the
 * tuple; to be freed by PyMem_Free. */
static const char **take_paths(PyObject *paths)
{
    bool several = PyTuple_Check(paths);
    Py_ssize_t count = several ? PyTuple_Size(paths) : 1;
    const char **list = PyMem_Malloc(((size_t)count + 1) * sizeof(*list));

    if (!list)
        return (const char **)PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++) {
        list[i] = PyBytes_AsString(several ? PyTuple_GetItem(paths, i) : paths);
        if (!list[i]) {
            PyMem_Free((void *)list);
            return NULL;
        }
    }
    list[count] = NULL;
    return list;
}

static PyObject *read_file(PyObject *self, PyObject *args)
{
    read_job j = {0};
    PyObject *paths, *options, *watch, *made;
    const char **list;
    call c;

    (void)self;
    if (!PyArg_ParseTuple(args, "OOO", &paths, &options, &watch) ||
        !take_read_options(options, &j.o))
        return NULL;
    list = take_paths(paths);
    if (!list)
        return NULL;
    j.path = list[0] ? list[0] : "";
    j.o.more = list[0] ? list + 1 : NULL;
    made = finish_interactions(call_run(&c, watch, work_read, &j), &j.x);
    PyMem_Free((void *)list);
    return made;
}

typedef struct csr_job {
    long long users;
    int items;
    const int64_t *row_ptr;
    const int32_t *cols;
    const float *vals;
    ease_interactions *x;
} csr_job;

static ease_status work_csr(void *p, call *c)
{
    csr_job *j = p;

    return ease_interactions_borrow_csr(j->users, j->items, j->row_ptr, j->cols,
                                        j->vals, &j->x, &c->err);
}

/* The last of row_ptr must be as many as there are columns: the library takes its word
 * for that. */
static bool rows_end_there(const int64_t *row_ptr, Py_ssize_t rows, Py_ssize_t columns)
{
    if (rows >= 0 && row_ptr[rows] == columns)
        return true;
    PyErr_SetString(PyExc_ValueError, "indptr does not end with the number of indices");
    return false;
}

static PyObject *borrow_csr(PyObject *self, PyObject *args)
{
    csr_job j = {0};
    Py_buffer views[3] = {0};
    PyObject *arrays[3], *made = NULL;
    Py_ssize_t columns;
    call c;

    (void)self;
    if (!PyArg_ParseTuple(args, "LiOOO", &j.users, &j.items, &arrays[0], &arrays[1],
                          &arrays[2]))
        return NULL;
    if (take_buffer(arrays[0], &views[0], 8, (Py_ssize_t)j.users + 1, false, false) <
            0 ||
        (columns = take_buffer(arrays[1], &views[1], 4, -1, false, false)) < 0 ||
        take_buffer(arrays[2], &views[2], 4, columns, false, true) < 0)
        goto done;
    j.row_ptr = views[0].buf;
    j.cols = views[1].buf;
    j.vals = views[2].buf;
    if (!rows_end_there(j.row_ptr, (Py_ssize_t)j.users, columns))
        goto done;
    made = finish_interactions(call_run(&c, NULL, work_csr, &j), &j.x);
    if (made) {
        memcpy(((interactions_object *)made)->views, views, sizeof(views));
        return made;
    }
done:
    release_buffers(views, 3);
    return made;
}

typedef struct ids_job {
    const ease_interactions *users, *items;
    csr_job csr;
} ids_job;

static ease_status work_csr_ids(void *p, call *c)
{
    ids_job *j = p;

    return ease_interactions_from_csr_ids(j->users, j->items, j->csr.row_ptr,
                                          j->csr.cols, j->csr.vals, &j->csr.x, &c->err);
}

/* A copy of a CSR matrix, with the users of one and the items of another. */
static PyObject *from_csr_ids(PyObject *self, PyObject *args)
{
    ids_job j = {0};
    Py_buffer views[3] = {0};
    PyObject *users, *items, *arrays[3], *made = NULL;
    Py_ssize_t columns, rows;
    call c;

    (void)self;
    if (!PyArg_ParseTuple(args, "O!O!OOO", interactions_type, &users, interactions_type,
                          &items, &arrays[0], &arrays[1], &arrays[2]))
        return NULL;
    j.users = ((interactions_object *)users)->x;
    j.items = ((interactions_object *)items)->x;
    rows = (Py_ssize_t)ease_interactions_users(j.users);
    if (take_buffer(arrays[0], &views[0], 8, rows + 1, false, false) >= 0 &&
        (columns = take_buffer(arrays[1], &views[1], 4, -1, false, false)) >= 0 &&
        take_buffer(arrays[2], &views[2], 4, columns, false, true) >= 0) {
        j.csr.row_ptr = views[0].buf;
        j.csr.cols = views[1].buf;
        j.csr.vals = views[2].buf;
        if (rows_end_there(j.csr.row_ptr, rows, columns))
            made = finish_interactions(call_run(&c, NULL, work_csr_ids, &j), &j.csr.x);
    }
    release_buffers(views, 3);
    return made;
}

typedef struct table_job {
    int64_t rows;
    ease_id_column columns[2];
    const double *values;
    ease_read_options o;
    ease_interactions *x;
} table_job;

static ease_status work_table(void *p, call *c)
{
    table_job *j = p;

    j->o.hooks = &c->hooks;
    return ease_interactions_from_table(j->rows, &j->columns[0], &j->columns[1],
                                        j->values, &j->o, &j->x, &c->err);
}

bool take_column(PyObject *column, Py_ssize_t rows, ease_id_column *out,
                 Py_buffer views[2])
{
    Py_ssize_t bytes;

    if (!PyTuple_Check(column)) {
        if (take_buffer(column, &views[0], 8, rows, false, false) < 0)
            return false;
        out->numbers = views[0].buf;
        return true;
    }
    bytes = take_buffer(PyTuple_GetItem(column, 0), &views[0], 1, -1, false, false);
    if (bytes < 0 || take_buffer(PyTuple_GetItem(column, 1), &views[1], 8, rows + 1,
                                 false, false) < 0)
        return false;
    out->bytes = views[0].buf;
    out->offsets = views[1].buf;
    for (Py_ssize_t i = 0; i <= rows; i++)
        if (out->offsets[i] < (i ? out->offsets[i - 1] : 0) ||
            out->offsets[i] > bytes) {
            PyErr_SetString(PyExc_ValueError,
                            "offsets of strings that are not in order");
            return false;
        }
    return true;
}

static PyObject *from_table(PyObject *self, PyObject *args)
{
    table_job j = {0};
    Py_buffer views[6] = {0};
    PyObject *users, *items, *values, *options, *watch, *times = Py_None, *made = NULL;
    Py_ssize_t rows;
    call c;

    (void)self;
    if (!PyArg_ParseTuple(args, "nOOOOO|O", &rows, &users, &items, &values, &options,
                          &watch, &times) ||
        !take_read_options(options, &j.o))
        return NULL;
    j.rows = rows;
    if (take_column(users, rows, &j.columns[0], views) &&
        take_column(items, rows, &j.columns[1], views + 2) &&
        take_buffer(values, &views[4], 8, rows, false, true) >= 0 &&
        take_buffer(times, &views[5], 8, rows, false, true) >= 0) {
        j.values = views[4].buf;
        j.o.times = views[5].buf;
        made = finish_interactions(call_run(&c, watch, work_table, &j), &j.x);
    }
    release_buffers(views, 6);
    return made;
}

/* A text -> seconds since 1970. */
static PyObject *parse_time(PyObject *self, PyObject *args)
{
    const char *text;
    double seconds;
    ease_error err;

    (void)self;
    if (!PyArg_ParseTuple(args, "y", &text))
        return NULL;
    if (ease_time_parse(text, &seconds, &err)) {
        PyErr_SetString(PyExc_ValueError, err.text);
        return NULL;
    }
    return PyFloat_FromDouble(seconds);
}

/* ---- recognizing columns ------------------------------------------------------ */

typedef struct recognize_job {
    const char **texts; /* count names, then the values */
    Py_ssize_t count, rows;
    ease_columns found;
} recognize_job;

static ease_status work_recognize(void *p, call *c)
{
    recognize_job *j = p;
    ease_read_options o;

    j->found.size = sizeof(j->found);
    ease_read_options_init(&o);
    o.columns_option = columns_option;
    return ease_columns_recognize(j->texts, (int)j->count, j->texts + j->count, j->rows,
                                  &o, &j->found, &c->err);
}

/* A list of bytes or None, as C strings that live as long as it. */
static bool take_texts(PyObject *list, const char **to)
{
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
        PyObject *o = PyList_GetItem(list, i);

        to[i] = o == Py_None ? NULL : PyBytes_AsString(o);
        if (o != Py_None && !to[i])
            return false;
    }
    return true;
}

/* Names, and the first rows' values row by row -> (user, item, value, time, guess). */
static PyObject *recognize(PyObject *self, PyObject *args)
{
    recognize_job j = {0};
    PyObject *names, *values, *made = NULL;
    Py_ssize_t cells;
    call c;

    (void)self;
    if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &names, &PyList_Type, &values))
        return NULL;
    j.count = PyList_Size(names);
    cells = PyList_Size(values);
    if (j.count < 1 || j.count > INT_MAX || cells % j.count != 0) {
        PyErr_SetString(PyExc_ValueError,
                        "a value for each column and row is required");
        return NULL;
    }
    j.rows = cells / j.count;
    j.texts = PyMem_Calloc((size_t)(j.count + cells), sizeof(*j.texts));
    if (!j.texts)
        return PyErr_NoMemory();
    if (take_texts(names, j.texts) && take_texts(values, j.texts + j.count) &&
        call_run(&c, NULL, work_recognize, &j))
        made = Py_BuildValue("iiiiy#", j.found.user, j.found.item, j.found.value,
                             j.found.time, (const char *)&j.found,
                             (Py_ssize_t)sizeof(j.found));
    PyMem_Free(j.texts);
    return made;
}

/* ---- looking at them ---------------------------------------------------------- */

static PyObject *interactions_info(PyObject *self, PyObject *unused)
{
    ease_interactions_info i = {.size = sizeof(i)};

    ease_interactions_describe(((interactions_object *)self)->x, &i);
    (void)unused;
    return Py_BuildValue(
        "{s:L,s:i,s:L,s:N,s:N,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:z,s:L,s:d,s:d,s:d}",
        "users", (long long)i.users, "items", (int)i.items, "interactions",
        (long long)i.interactions, "weighted", PyBool_FromLong(i.weighted),
        "recognized",
        PyUnicode_DecodeUTF8(i.recognized, (Py_ssize_t)strlen(i.recognized), "replace"),
        "rows", (long long)i.rows, "below_rating", (long long)i.below_rating,
        "zero_weight", (long long)i.zero_weight, "repeated", (long long)i.repeated,
        "filtered", (long long)i.filtered, "unused", (long long)i.unused, "negative",
        (long long)i.negative, "doubt", i.doubt, "outside_time",
        (long long)i.outside_time, "oldest", i.oldest, "newest", i.newest, "age_from",
        i.age_from);
}

typedef struct rows_job {
    const ease_interactions *x;
    int64_t from, to, *row_ptr;
    int32_t *cols;
    float *vals;
} rows_job;

static ease_status work_rows(void *p, call *c)
{
    rows_job *j = p;
    int64_t at = 0;

    (void)c;
    for (int64_t u = j->from; u < j->to; u++) {
        ease_row r = ease_interactions_row(j->x, u);
        size_t n = (size_t)r.count;

        j->row_ptr[u - j->from] = at;
        if (n)
            memcpy(j->cols + at, r.items, n * sizeof(*r.items));
        for (size_t i = 0; j->vals && i < n; i++)
            j->vals[(size_t)at + i] = r.weights ? r.weights[i] : 1.0f;
        at += r.count;
    }
    j->row_ptr[j->to - j->from] = at;
    return EASE_OK;
}

static PyObject *interactions_count(PyObject *self, PyObject *args)
{
    long long from, to, total = 0;

    if (!PyArg_ParseTuple(args, "LL", &from, &to))
        return NULL;
    for (long long u = from; u < to; u++)
        total += ease_interactions_row(((interactions_object *)self)->x, u).count;
    return PyLong_FromLongLong(total);
}

/* Rows from .. to-1 into arrays of the right size. */
static PyObject *interactions_rows(PyObject *self, PyObject *args)
{
    rows_job j = {.x = ((interactions_object *)self)->x};
    Py_buffer views[3] = {0};
    PyObject *arrays[3], *count, *done = NULL;
    long long from, to;
    Py_ssize_t n;
    call c;

    if (!PyArg_ParseTuple(args, "LLOOO", &from, &to, &arrays[0], &arrays[1],
                          &arrays[2]))
        return NULL;
    if (from < 0 || to < from || to > ease_interactions_users(j.x)) {
        PyErr_SetString(PyExc_IndexError, "no such rows");
        return NULL;
    }
    count = PyObject_CallMethod(self, "count", "LL", from, to);
    if (!count)
        return NULL;
    n = PyLong_AsSsize_t(count);
    Py_DECREF(count);
    j.from = from;
    j.to = to;
    if (take_buffer(arrays[0], &views[0], 8, (Py_ssize_t)(to - from) + 1, true,
                    false) >= 0 &&
        take_buffer(arrays[1], &views[1], 4, n, true, false) >= 0 &&
        take_buffer(arrays[2], &views[2], 4, n, true, true) >= 0) {
        j.row_ptr = views[0].buf;
        j.cols = views[1].buf;
        j.vals = views[2].buf;
        if (call_run(&c, NULL, work_rows, &j))
            done = Py_NewRef(Py_None);
    }
    release_buffers(views, 3);
    return done;
}

static const char *user_at(const void *of, int64_t number)
{
    return ease_interactions_user_id(of, number);
}

static const char *item_at(const void *of, int64_t number)
{
    return ease_interactions_item_id(of, (int32_t)number);
}

static PyObject *interactions_user_ids(PyObject *self, PyObject *unused)
{
    const ease_interactions *x = ((interactions_object *)self)->x;

    (void)unused;
    return id_list(ease_interactions_users(x), user_at, x);
}

static PyObject *interactions_item_ids(PyObject *self, PyObject *unused)
{
    const ease_interactions *x = ((interactions_object *)self)->x;

    (void)unused;
    return id_list(ease_interactions_items(x), item_at, x);
}

static PyObject *interactions_user_numbers(PyObject *self, PyObject *out)
{
    const ease_interactions *x = ((interactions_object *)self)->x;

    return id_numbers(ease_interactions_users(x), user_at, x, out);
}

static PyObject *interactions_item_numbers(PyObject *self, PyObject *out)
{
    const ease_interactions *x = ((interactions_object *)self)->x;

    return id_numbers(ease_interactions_items(x), item_at, x, out);
}

static PyObject *interactions_find_user(PyObject *self, PyObject *args)
{
    const char *id;

    if (!PyArg_ParseTuple(args, "y", &id))
        return NULL;
    return PyLong_FromLongLong(
        ease_interactions_find_user(((interactions_object *)self)->x, id));
}

typedef struct write_job {
    const ease_interactions *x;
    const char *path;
} write_job;

static ease_status work_write(void *p, call *c)
{
    write_job *j = p;

    return ease_interactions_write(j->x, j->path, &c->hooks, &c->err);
}

static PyObject *interactions_write(PyObject *self, PyObject *args)
{
    write_job j = {.x = ((interactions_object *)self)->x};
    PyObject *watch;
    call c;

    if (!PyArg_ParseTuple(args, "yO", &j.path, &watch) ||
        !call_run(&c, watch, work_write, &j))
        return NULL;
    Py_RETURN_NONE;
}

typedef struct align_job {
    const ease_interactions *x;
    const ease_model *m;
    ease_interactions *out;
    int64_t unknown;
} align_job;

static ease_status work_align(void *p, call *c)
{
    align_job *j = p;

    return ease_interactions_align(j->x, j->m, &j->out, &j->unknown, &c->err);
}

/* (interactions with the model's item numbers, how many of them it does not know) */
static PyObject *interactions_align(PyObject *self, PyObject *args)
{
    align_job j = {.x = ((interactions_object *)self)->x};
    PyObject *model, *made;
    call c;

    if (!PyArg_ParseTuple(args, "O!", model_type, &model))
        return NULL;
    j.m = ((model_object *)model)->m;
    made = finish_interactions(call_run(&c, NULL, work_align, &j), &j.out);
    return made ? Py_BuildValue("NL", made, (long long)j.unknown) : NULL;
}

/* ---- splits ------------------------------------------------------------------- */

typedef struct split_job {
    const char *data, *dir;
    ease_read_options r;
    ease_split_options o;
    ease_interactions_info read;
    ease_split_info info;
    ease_split_parts parts;
} split_job;

static ease_status work_split(void *p, call *c)
{
    split_job *j = p;

    j->r.hooks = j->o.hooks = &c->hooks;
    j->read.size = sizeof(j->read);
    j->info = (ease_split_info){.size = sizeof(j->info), .data = &j->read};
    return ease_split(j->data, &j->r, &j->o, j->dir, &j->info, &c->err);
}

/* published: the recipe's filters, whatever the options say. Returns what was read:
 * (recognized, unused, negative). */
static PyObject *split(PyObject *self, PyObject *args)
{
    split_job j = {0};
    PyObject *options, *watch;
    const ease_recipe *recipe;
    long long heldout;
    int published;
    call c;

    (void)self;
    ease_split_options_init(&j.o);
    if (!PyArg_ParseTuple(args, "yyOpzzLdIddO", &j.data, &j.dir, &options, &published,
                          &j.o.recipe, &j.o.protocol, &heldout, &j.o.share, &j.o.seed,
                          &j.o.test_from, &j.o.validation_from, &watch) ||
        !take_read_options(options, &j.r))
        return NULL;
    j.o.heldout_users = heldout;
    recipe = published && j.o.recipe ? ease_recipe_find(j.o.recipe) : NULL;
    if (recipe)
        ease_recipe_apply(recipe, &j.r);
    if (!call_run(&c, watch, work_split, &j))
        return NULL;
    return Py_BuildValue("NLL",
                         PyUnicode_DecodeUTF8(j.info.recognized,
                                              (Py_ssize_t)strlen(j.info.recognized),
                                              "replace"),
                         (long long)j.read.unused, (long long)j.read.negative);
}

static ease_status work_split_open(void *p, call *c)
{
    split_job *j = p;

    j->parts.size = sizeof(j->parts);
    return ease_split_open(j->dir, &j->parts, &c->err);
}

static PyObject *wrap_part(ease_interactions *x)
{
    return x ? wrap_interactions(x) : Py_NewRef(Py_None);
}

static PyObject *split_open(PyObject *self, PyObject *args)
{
    split_job j = {0};
    const ease_split_parts *p = &j.parts;
    call c;

    (void)self;
    if (!PyArg_ParseTuple(args, "y", &j.dir))
        return NULL;
    if (!call_run(&c, NULL, work_split_open, &j)) {
        ease_split_close(&j.parts);
        return NULL;
    }
    return Py_BuildValue("NNNNNN", wrap_part(p->train), wrap_part(p->validation_train),
                         wrap_part(p->validation_input),
                         wrap_part(p->validation_target), wrap_part(p->test_input),
                         wrap_part(p->test_target));
}

/* ---- the type ----------------------------------------------------------------- */

static PyMethodDef interactions_methods[] = {
    {"info", interactions_info, METH_NOARGS, NULL},
    {"count", interactions_count, METH_VARARGS, NULL},
    {"rows", interactions_rows, METH_VARARGS, NULL},
    {"user_ids", interactions_user_ids, METH_NOARGS, NULL},
    {"item_ids", interactions_item_ids, METH_NOARGS, NULL},
    {"user_numbers", interactions_user_numbers, METH_O, NULL},
    {"item_numbers", interactions_item_numbers, METH_O, NULL},
    {"find_user", interactions_find_user, METH_VARARGS, NULL},
    {"write", interactions_write, METH_VARARGS, NULL},
    {"align", interactions_align, METH_VARARGS, NULL},
    {0}};

static PyType_Slot interactions_slots[] = {{Py_tp_dealloc, interactions_dealloc},
                                           {Py_tp_methods, interactions_methods},
                                           {0, NULL}};

static PyType_Spec interactions_spec = {.name = "ease._ease.Interactions",
                                        .basicsize = sizeof(interactions_object),
                                        .flags = Py_TPFLAGS_DEFAULT |
                                                 Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                        .slots = interactions_slots};

static PyMethodDef functions[] = {{"read", read_file, METH_VARARGS, NULL},
                                  {"borrow_csr", borrow_csr, METH_VARARGS, NULL},
                                  {"from_csr_ids", from_csr_ids, METH_VARARGS, NULL},
                                  {"from_table", from_table, METH_VARARGS, NULL},
                                  {"parse_time", parse_time, METH_VARARGS, NULL},
                                  {"recognize", recognize, METH_VARARGS, NULL},
                                  {"split", split, METH_VARARGS, NULL},
                                  {"split_open", split_open, METH_VARARGS, NULL},
                                  {0}};

int add_interactions(PyObject *module)
{
    interactions_type = (PyTypeObject *)PyType_FromSpec(&interactions_spec);
    if (!interactions_type || PyModule_AddType(module, interactions_type) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
