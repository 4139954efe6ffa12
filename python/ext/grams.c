/* Gram matrices. */
#include "ext.h"

#include <stdlib.h>

PyTypeObject *gram_type;

static void gram_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    ease_gram_free(((gram_object *)self)->g);
    release(self);
    Py_DECREF(type);
}

PyObject *wrap_gram(ease_gram *g)
{
    gram_object *o = PyObject_New(gram_object, gram_type);

    if (!o) {
        ease_gram_free(g);
        return NULL;
    }
    o->g = g;
    return (PyObject *)o;
}

static const ease_gram *gram_of(PyObject *self)
{
    return ((gram_object *)self)->g;
}

/* (precision, threads, memory_limit) */
static bool take_gram_options(PyObject *tuple, ease_gram_options *o)
{
    int precision;
    Py_ssize_t limit;

    ease_gram_options_init(o);
    if (!PyArg_ParseTuple(tuple, "iin", &precision, &o->threads, &limit))
        return false;
    o->precision = (ease_precision)precision;
    o->memory_limit = (size_t)limit;
    return true;
}

typedef struct gram_job {
    const ease_interactions *x;
    const ease_gram *from;
    const char *path, *items;
    const char **paths;
    int count;
    long long users;
    double *dense;
    ease_gram_options o;
    ease_gram *g;
} gram_job;

static PyObject *finish_gram(gram_job *j, PyObject *watch, call_work *work)
{
    call c;

    if (call_run(&c, watch, work, j))
        return wrap_gram(j->g);
    ease_gram_free(j->g);
    return NULL;
}

static ease_status work_build(void *p, call *c)
{
    gram_job *j = p;

    j->o.hooks = &c->hooks;
    return ease_gram_build(j->x, &j->o, &j->g, &c->err);
}

static PyObject *gram_build(PyObject *self, PyObject *args)
{
    gram_job j = {0};
    PyObject *x, *options, *watch;

    (void)self;
    if (!PyArg_ParseTuple(args, "O!OO", interactions_type, &x, &options, &watch) ||
        !take_gram_options(options, &j.o))
        return NULL;
    j.x = ((interactions_object *)x)->x;
    return finish_gram(&j, watch, work_build);
}

static ease_status work_open(void *p, call *c)
{
    gram_job *j = p;

    j->o.hooks = &c->hooks;
    return ease_gram_open(j->path, &j->o, &j->g, &c->err);
}

static PyObject *gram_open(PyObject *self, PyObject *args)
{
    gram_job j = {0};
    PyObject *options, *watch;

    (void)self;
    if (!PyArg_ParseTuple(args, "yOO", &j.path, &options, &watch) ||
        !take_gram_options(options, &j.o))
        return NULL;
    return finish_gram(&j, watch, work_open);
}

static ease_status work_import(void *p, call *c)
{
    gram_job *j = p;

    j->o.hooks = &c->hooks;
    return ease_gram_import(j->paths, j->count, j->items, j->users, &j->o, &j->g,
                            &c->err);
}

static ease_status work_merge(void *p, call *c)
{
    gram_job *j = p;

    j->o.hooks = &c->hooks;
    return ease_gram_merge(j->paths, j->count, &j->o, &j->g, &c->err);
}

/* The paths are a list of bytes. */
static PyObject *gram_from_paths(gram_job *j, PyObject *list, PyObject *watch,
                                 call_work *work)
{
    Py_ssize_t n = PyList_Size(list);
    PyObject *made = NULL;

    j->paths = calloc((size_t)n + 1, sizeof(*j->paths));
    if (!j->paths)
        return PyErr_NoMemory();
    for (; j->count < n; j->count++)
        if (!(j->paths[j->count] = PyBytes_AsString(PyList_GetItem(list, j->count))))
            break;
    if (j->count == n)
        made = finish_gram(j, watch, work);
    free(j->paths);
    return made;
}

static PyObject *gram_import(PyObject *self, PyObject *args)
{
    gram_job j = {0};
    PyObject *list, *options, *watch;

    (void)self;
    if (!PyArg_ParseTuple(args, "O!O&LOO", &PyList_Type, &list, take_path, &j.items,
                          &j.users, &options, &watch) ||
        !take_gram_options(options, &j.o))
        return NULL;
    return gram_from_paths(&j, list, watch, work_import);
}

static PyObject *gram_merge(PyObject *self, PyObject *args)
{
    gram_job j = {0};
    PyObject *list, *options, *watch;

    (void)self;
    if (!PyArg_ParseTuple(args, "O!OO", &PyList_Type, &list, &options, &watch) ||
        !take_gram_options(options, &j.o))
        return NULL;
    return gram_from_paths(&j, list, watch, work_merge);
}

static ease_status work_save(void *p, call *c)
{
    gram_job *j = p;

    return ease_gram_save(j->from, j->path, &c->hooks, &c->err);
}

static PyObject *gram_save(PyObject *self, PyObject *args)
{
    gram_job j = {.from = gram_of(self)};
    PyObject *watch;
    call c;

    if (!PyArg_ParseTuple(args, "yO", &j.path, &watch) ||
        !call_run(&c, watch, work_save, &j))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *gram_info(PyObject *self, PyObject *unused)
{
    ease_gram_info i = {.size = sizeof(i)};

    ease_gram_describe(gram_of(self), &i);
    (void)unused;
    return Py_BuildValue("{s:L,s:L,s:i,s:N,s:N,s:N}", "users", (long long)i.users,
                         "interactions", (long long)i.interactions, "items",
                         (int)i.items, "weighted", PyBool_FromLong(i.weighted),
                         "has_sums", PyBool_FromLong(i.has_sums), "wide",
                         PyBool_FromLong(i.wide));
}

static ease_status work_dense(void *p, call *c)
{
    gram_job *j = p;
    int32_t n = ease_gram_items(j->from);

    (void)c;
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < n; k++)
            j->dense[(size_t)i * (size_t)n + (size_t)k] = ease_gram_at(j->from, i, k);
    return EASE_OK;
}

static PyObject *gram_dense(PyObject *self, PyObject *out)
{
    gram_job j = {.from = gram_of(self)};
    Py_ssize_t n = ease_gram_items(j.from);
    Py_buffer view = {0};
    bool done = false;
    call c;

    if (take_buffer(out, &view, 8, n * n, true, false) >= 0) {
        j.dense = view.buf;
        done = call_run(&c, NULL, work_dense, &j);
    }
    release_buffers(&view, 1);
    return done ? Py_NewRef(Py_None) : NULL;
}

static const char *item_at(const void *of, int64_t number)
{
    return ease_gram_item_id(of, (int32_t)number);
}

static PyObject *gram_item_ids(PyObject *self, PyObject *unused)
{
    (void)unused;
    return id_list(ease_gram_items(gram_of(self)), item_at, gram_of(self));
}

static PyObject *gram_item_numbers(PyObject *self, PyObject *out)
{
    return id_numbers(ease_gram_items(gram_of(self)), item_at, gram_of(self), out);
}

static PyMethodDef gram_methods[] = {{"info", gram_info, METH_NOARGS, NULL},
                                     {"save", gram_save, METH_VARARGS, NULL},
                                     {"dense", gram_dense, METH_O, NULL},
                                     {"item_ids", gram_item_ids, METH_NOARGS, NULL},
                                     {"item_numbers", gram_item_numbers, METH_O, NULL},
                                     {0}};

static PyType_Slot gram_slots[] = {
    {Py_tp_dealloc, gram_dealloc}, {Py_tp_methods, gram_methods}, {0, NULL}};

static PyType_Spec gram_spec = {.name = "ease._ease.Gram",
                                .basicsize = sizeof(gram_object),
                                .flags = Py_TPFLAGS_DEFAULT |
                                         Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                .slots = gram_slots};

static PyMethodDef functions[] = {{"gram_build", gram_build, METH_VARARGS, NULL},
                                  {"gram_open", gram_open, METH_VARARGS, NULL},
                                  {"gram_import", gram_import, METH_VARARGS, NULL},
                                  {"gram_merge", gram_merge, METH_VARARGS, NULL},
                                  {0}};

int add_grams(PyObject *module)
{
    gram_type = (PyTypeObject *)PyType_FromSpec(&gram_spec);
    if (!gram_type || PyModule_AddType(module, gram_type) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
