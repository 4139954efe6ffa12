/* The module ease._ease: what there is of the library, and its tables of
 * methods, metrics and formats. */
#include "ext.h"

static PyObject *method_settings(const char *method)
{
    PyObject *list = PyList_New(0);
    const ease_setting *s;

    for (int i = 0; list && (s = ease_method_setting(method, i)); i++) {
        PyObject *entry = Py_BuildValue("ssdddNz", s->name, s->about, s->value,
                                        s->least, s->most, PyBool_FromLong(s->whole),
                                        s->words);

        if (!entry || PyList_Append(list, entry) < 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

/* A list of (name, has a lambda, scores known users alone, grid, settings). */
static PyObject *methods(PyObject *self, PyObject *unused)
{
    PyObject *list = PyList_New(0);
    const char *name;

    (void)self;
    (void)unused;
    for (int i = 0; list && (name = ease_method_name(i)); i++) {
        PyObject *entry = Py_BuildValue("sNNzN", name,
                                        PyBool_FromLong(ease_method_has_lambda(name)),
                                        PyBool_FromLong(ease_method_known_users(name)),
                                        ease_method_grid(name), method_settings(name));

        if (!entry || PyList_Append(list, entry) < 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

/* A list of (name, direction), as ease_metric_direction gives it. */
static PyObject *metrics(PyObject *self, PyObject *unused)
{
    PyObject *list = PyList_New(0);
    const char *name;

    (void)self;
    (void)unused;
    for (int i = 0; list && (name = ease_metric_name(i)); i++) {
        PyObject *entry = Py_BuildValue("si", name, ease_metric_direction(name));

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

static PyObject *version(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyUnicode_FromString(ease_version());
}

/* (kernels that OpenBLAS chose, better ones or None) */
static PyObject *blas_core(PyObject *self, PyObject *unused)
{
    const char *better = NULL, *chosen = ease_blas_core(&better);

    (void)self;
    (void)unused;
    return Py_BuildValue("sz", chosen, better);
}

static PyMethodDef functions[] = {{"methods", methods, METH_NOARGS, NULL},
                                  {"metrics", metrics, METH_NOARGS, NULL},
                                  {"formats", formats, METH_NOARGS, NULL},
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
        add_grams(module) < 0 || add_measures(module) < 0)
        Py_CLEAR(module);
    return module;
}
