/* The module ease._ease: initialization, version, and the library's tables of methods,
 * metrics and formats. */
#include "ext.h"

static PyObject *method_settings(const ease_method_info *m)
{
    PyObject *list = PyList_New(0);
    const ease_setting *s;

    for (int i = 0; list && (s = ease_method_setting(m->name, i)); i++) {
        PyObject *entry = Py_BuildValue("ssdddNz", s->name, s->about, s->value,
                                        s->least, s->most, PyBool_FromLong(s->whole),
                                        s->words);

        if (!entry || PyList_Append(list, entry) < 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

/* A list of (name, has a lambda, scores known users alone, grid, settings, takes any
 * kind of Gram matrix, learns from a Gram matrix). */
static PyObject *methods(PyObject *self, PyObject *unused)
{
    PyObject *list = PyList_New(0);
    const ease_method_info *m;

    (void)self;
    (void)unused;
    for (int i = 0; list && (m = ease_method_at(i)); i++) {
        PyObject *entry = Py_BuildValue(
            "sNNzNNN", m->name, PyBool_FromLong(m->has_lambda),
            PyBool_FromLong(m->known_users), m->grid, method_settings(m),
            PyBool_FromLong(m->from_gram && !m->kind), PyBool_FromLong(m->from_gram));

        if (!entry || PyList_Append(list, entry) < 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

/* A list of (name, direction), as ease_metric_info has it. */
static PyObject *metrics(PyObject *self, PyObject *unused)
{
    PyObject *list = PyList_New(0);
    const ease_metric_info *m;

    (void)self;
    (void)unused;
    for (int i = 0; list && (m = ease_metric_at(i)); i++) {
        PyObject *entry = Py_BuildValue("si", m->name, m->direction);

        if (!entry || PyList_Append(list, entry) < 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

/* A list of (name, what it is) of the formats of files. */
static PyObject *formats(PyObject *self, PyObject *unused)
{
    PyObject *list = PyList_New(0);
    const ease_format *f;

    (void)self;
    (void)unused;
    for (int i = 0; list && (f = ease_format_at(i)); i++) {
        PyObject *entry = Py_BuildValue("ss", f->name, f->about);

        if (!entry || PyList_Append(list, entry) < 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

/* The names of storages, by their numbers. */
static PyObject *storages(PyObject *self, PyObject *unused)
{
    PyObject *list = PyList_New(0);
    const char *name;

    (void)self;
    (void)unused;
    for (int i = 0; list && (name = ease_storage_name((ease_storage)i)); i++) {
        PyObject *entry = PyUnicode_FromString(name);

        if (!entry || PyList_Append(list, entry) < 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

static PyObject *version(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyUnicode_FromString(ease_version());
}

/* (kernels that OpenBLAS chose, better ones or None) */
static PyObject *blas_core(PyObject *self, PyObject *unused)
{
    ease_blas_info blas = {.size = sizeof(blas)};

    (void)self;
    (void)unused;
    ease_blas_describe(&blas);
    return Py_BuildValue("sz", blas.core, blas.better);
}

static PyMethodDef functions[] = {{"methods", methods, METH_NOARGS, NULL},
                                  {"metrics", metrics, METH_NOARGS, NULL},
                                  {"formats", formats, METH_NOARGS, NULL},
                                  {"storages", storages, METH_NOARGS, NULL},
                                  {"version", version, METH_NOARGS, NULL},
                                  {"blas_core", blas_core, METH_NOARGS, NULL},
                                  {0}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_ease",
                                        .m_size = -1, .m_methods = functions};

PyMODINIT_FUNC PyInit__ease(void);
PyMODINIT_FUNC PyInit__ease(void)
{
    PyObject *module = PyModule_Create(&definition);

    if (!module)
        return NULL;
    call_setup();
    if (add_interactions(module) < 0 || add_models(module) < 0 ||
        add_grams(module) < 0 || add_measures(module) < 0 || add_tags(module) < 0 ||
        add_updates(module) < 0)
        Py_CLEAR(module);
    return module;
}
