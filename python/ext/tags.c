/* Tags of items: from files and from tables in memory. */
#include "ext.h"

PyTypeObject *tags_type;

static void tags_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    ease_tags_free(((tags_object *)self)->t);
    release(self);
    Py_DECREF(type);
}

/* The result of a call that has succeeded, or nothing of it. */
static PyObject *finish_tags(bool good, ease_tags *t)
{
    tags_object *o = good ? PyObject_New(tags_object, tags_type) : NULL;

    if (!o) {
        ease_tags_free(t);
        return NULL;
    }
    o->t = t;
    return (PyObject *)o;
}

typedef struct tags_job {
    const char *path;
    ease_tag_options o;
    int64_t rows;
    ease_id_column items, tags;
    const double *weights;
    ease_tags *t;
} tags_job;

static ease_status work_read_tags(void *p, call *c)
{
    tags_job *j = p;

    j->o.hooks = &c->hooks;
    return ease_tags_read(j->path, &j->o, &j->t, &c->err);
}

static PyObject *read_tags(PyObject *self, PyObject *args)
{
    tags_job j = {0};
    bool good;
    call c;

    (void)self;
    ease_tag_options_init(&j.o);
    j.o.columns_option = "tag_columns=";
    if (!PyArg_ParseTuple(args, "yzzz", &j.path, &j.o.columns, &j.o.split, &j.o.kind))
        return NULL;
    good = call_run(&c, NULL, work_read_tags, &j);
    return finish_tags(good, j.t);
}

static ease_status work_tag_table(void *p, call *c)
{
    tags_job *j = p;

    return ease_tags_from_table(j->rows, &j->items, &j->tags, j->weights, j->o.kind,
                                &j->t, &c->err);
}

static PyObject *tags_from_table(PyObject *self, PyObject *args)
{
    tags_job j = {0};
    Py_buffer views[5] = {0};
    PyObject *items, *tags, *weights, *made = NULL;
    Py_ssize_t rows;
    call c;

    (void)self;
    if (!PyArg_ParseTuple(args, "nOOOz", &rows, &items, &tags, &weights, &j.o.kind))
        return NULL;
    j.rows = rows;
    if (take_column(items, rows, &j.items, views) &&
        take_column(tags, rows, &j.tags, views + 2) &&
        take_buffer(weights, &views[4], 8, rows, false, true) >= 0) {
        bool good;

        j.weights = views[4].buf;
        good = call_run(&c, NULL, work_tag_table, &j);
        made = finish_tags(good, j.t);
    }
    release_buffers(views, 5);
    return made;
}

static PyType_Slot tags_slots[] = {{Py_tp_dealloc, tags_dealloc}, {0, NULL}};

static PyType_Spec tags_spec = {.name = "ease._ease.Tags",
                                .basicsize = sizeof(tags_object),
                                .flags = Py_TPFLAGS_DEFAULT |
                                         Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                .slots = tags_slots};

static PyMethodDef functions[] = {
    {"read_tags", read_tags, METH_VARARGS, NULL},
    {"tags_from_table", tags_from_table, METH_VARARGS, NULL},
    {0}};

int add_tags(PyObject *module)
{
    tags_type = (PyTypeObject *)PyType_FromSpec(&tags_spec);
    if (!tags_type || PyModule_AddType(module, tags_type) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
