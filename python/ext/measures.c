/* Evaluating and tuning. */
#include "ext.h"

#include <string.h>

PyTypeObject *report_type;

static void report_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    ease_report_free(((report_object *)self)->r);
    release(self);
    Py_DECREF(type);
}

static PyObject *wrap_report(ease_report *r)
{
    report_object *o = PyObject_New(report_object, report_type);

    if (!o) {
        ease_report_free(r);
        return NULL;
    }
    o->r = r;
    return (PyObject *)o;
}

static const ease_report *report_of(PyObject *self)
{
    return ((report_object *)self)->r;
}

/* ---- evaluating ---------------------------------------------------------------- */

typedef struct eval_job {
    const ease_model *m;
    const ease_interactions *input, *target;
    ease_eval_options o;
    ease_report *r;
} eval_job;

static ease_status work_evaluate(void *p, call *c)
{
    eval_job *j = p;

    j->o.hooks = &c->hooks;
    return ease_evaluate(j->m, j->input, j->target, &j->o, &j->r, &c->err);
}

static PyObject *evaluate(PyObject *self, PyObject *args)
{
    eval_job j = {0};
    PyObject *model, *input, *target, *watch;
    int unknown, items, among;
    call c;

    (void)self;
    ease_eval_options_init(&j.o);
    if (!PyArg_ParseTuple(args, "O!O!O!siiiiO", model_type, &model, interactions_type,
                          &input, interactions_type, &target, &j.o.metrics, &unknown,
                          &items, &among, &j.o.threads, &watch))
        return NULL;
    j.o.unknown = (ease_unknown)unknown;
    j.o.targets = (ease_eval_items)items;
    j.o.among = (ease_eval_items)among;
    j.m = ((model_object *)model)->m;
    j.input = ((interactions_object *)input)->x;
    j.target = ((interactions_object *)target)->x;
    if (call_run(&c, watch, work_evaluate, &j))
        return wrap_report(j.r);
    ease_report_free(j.r);
    return NULL;
}

static PyObject *report_info(PyObject *self, PyObject *unused)
{
    ease_report_info i = {.size = sizeof(i)};

    ease_report_describe(report_of(self), &i);
    (void)unused;
    return Py_BuildValue(
        "{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "users", (long long)i.users,
        "without_target", (long long)i.without_target, "without_input",
        (long long)i.without_input, "unknown_targets", (long long)i.unknown_targets,
        "unknown_inputs", (long long)i.unknown_inputs, "warm_targets",
        (long long)i.warm_targets, "cold_targets", (long long)i.cold_targets,
        "cold_items", (long long)i.cold_items);
}

/* A list of (name, mean, standard error). */
static PyObject *report_metrics(PyObject *self, PyObject *unused)
{
    int count = ease_report_metrics(report_of(self));
    PyObject *list = PyList_New(count);

    (void)unused;
    for (int i = 0; list && i < count; i++) {
        ease_metric m = {.size = sizeof(m)};
        PyObject *entry;

        ease_report_metric(report_of(self), i, &m);
        entry = Py_BuildValue("sdd", m.name, m.mean, m.standard_error);
        if (!entry || PyList_SetItem(list, i, entry) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *report_values(PyObject *self, PyObject *args)
{
    ease_report_info info = {.size = sizeof(info)};
    Py_buffer view = {0};
    PyObject *out, *done = NULL;
    int metric;

    ease_report_describe(report_of(self), &info);
    if (!PyArg_ParseTuple(args, "iO", &metric, &out))
        return NULL;
    if (metric < 0 || metric >= info.metrics)
        PyErr_SetString(PyExc_IndexError, "no such metric");
    else if (take_buffer(out, &view, 8, (Py_ssize_t)info.users, true, false) >= 0) {
        for (int64_t u = 0; u < info.users; u++)
            ((double *)view.buf)[u] = ease_report_value(report_of(self), metric, u);
        done = Py_NewRef(Py_None);
    }
    release_buffers(&view, 1);
    return done;
}

static const char *user_at(const void *of, int64_t number)
{
    return ease_report_user_id(of, number);
}

static PyObject *report_user_ids(PyObject *self, PyObject *unused)
{
    (void)unused;
    return id_list(ease_report_users(report_of(self)), user_at, report_of(self));
}

/* ---- tuning -------------------------------------------------------------------- */

typedef struct tune_job {
    const ease_interactions *x, *input, *target;
    ease_tune_options o;
    ease_train_options train;
    ease_tuning *t;
} tune_job;

static ease_status work_tune(void *p, call *c)
{
    tune_job *j = p;

    j->train.hooks = &c->hooks;
    return ease_tune(j->x, j->input, j->target, &j->o, &j->t, &c->err);
}

static PyObject *describe_tuning(const ease_tuning *t)
{
    int count = ease_tuning_count(t);
    PyObject *trials = PyList_New(count);

    for (int i = 0; trials && i < count; i++) {
        ease_trial one = {.size = sizeof(one)};
        PyObject *entry;

        ease_tuning_trial(t, i, &one);
        entry = Py_BuildValue("dsddd", one.lambda, one.settings, one.mean,
                              one.standard_error, one.seconds);
        if (!entry || PyList_SetItem(trials, i, entry) < 0)
            Py_CLEAR(trials);
    }
    return trials ? Py_BuildValue("NiNL", trials, ease_tuning_best(t),
                                  PyBool_FromLong(ease_tuning_stopped(t)),
                                  (long long)ease_tuning_unknown_targets(t))
                  : NULL;
}

/* (trials, number of the best, whether it was stopped, unknown targets); lambdas:
 * doubles, or None. What unknown items count for is one of the options. */
static PyObject *tune(PyObject *self, PyObject *args)
{
    tune_job j = {0};
    Py_buffer view = {0};
    PyObject *parts[3], *lambdas, *options, *watch, *made = NULL;
    const char *metric;
    double seconds;
    Py_ssize_t count;
    call c;

    (void)self;
    ease_tune_options_init(&j.o);
    if (!PyArg_ParseTuple(args, "O!O!O!OsdOO", interactions_type, &parts[0],
                          interactions_type, &parts[1], interactions_type, &parts[2],
                          &lambdas, &metric, &seconds, &options, &watch) ||
        !take_train_options(options, &j.train))
        return NULL;
    j.o.train = &j.train;
    j.o.metric = metric;
    j.o.unknown = j.train.unknown;
    j.o.seconds = seconds;
    j.x = ((interactions_object *)parts[0])->x;
    j.input = ((interactions_object *)parts[1])->x;
    j.target = ((interactions_object *)parts[2])->x;
    count = take_buffer(lambdas, &view, 8, -1, false, true);
    j.o.lambdas = view.buf;
    j.o.count = (int)count;
    if (count >= 0 && call_run(&c, watch, work_tune, &j))
        made = describe_tuning(j.t);
    ease_tuning_free(j.t);
    release_buffers(&view, 1);
    return made;
}

/* ---- the type -------------------------------------------------------------------- */

static PyMethodDef report_methods[] = {{"info", report_info, METH_NOARGS, NULL},
                                       {"metrics", report_metrics, METH_NOARGS, NULL},
                                       {"values", report_values, METH_VARARGS, NULL},
                                       {"user_ids", report_user_ids, METH_NOARGS, NULL},
                                       {0}};

static PyType_Slot report_slots[] = {
    {Py_tp_dealloc, report_dealloc}, {Py_tp_methods, report_methods}, {0, NULL}};

static PyType_Spec report_spec = {.name = "ease._ease.Report",
                                  .basicsize = sizeof(report_object),
                                  .flags = Py_TPFLAGS_DEFAULT |
                                           Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  .slots = report_slots};

static PyMethodDef functions[] = {{"evaluate", evaluate, METH_VARARGS, NULL},
                                  {"tune", tune, METH_VARARGS, NULL},
                                  {0}};

int add_measures(PyObject *module)
{
    report_type = (PyTypeObject *)PyType_FromSpec(&report_spec);
    if (!report_type || PyModule_AddType(module, report_type) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
