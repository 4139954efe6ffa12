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

typedef struct leave_job {
    const ease_model *m;
    const ease_interactions *x;
    ease_leave_options o;
    ease_report *r;
} leave_job;

static ease_status work_leave(void *p, call *c)
{
    leave_job *j = p;

    j->o.hooks = &c->hooks;
    return ease_leave_one_out(j->m, j->x, &j->o, &j->r, &c->err);
}

static PyObject *leave_one_out(PyObject *self, PyObject *args)
{
    leave_job j = {0};
    PyObject *model, *x, *watch;
    unsigned long long seed;
    long long users;
    Py_ssize_t limit;
    call c;

    (void)self;
    ease_leave_options_init(&j.o);
    if (!PyArg_ParseTuple(args, "O!O!sdKLniO", model_type, &model, interactions_type,
                          &x, &j.o.metrics, &j.o.share, &seed, &users, &limit,
                          &j.o.threads, &watch))
        return NULL;
    j.o.seed = (uint32_t)seed;
    j.o.users = users;
    j.o.memory_limit = (size_t)limit;
    j.m = ((model_object *)model)->m;
    j.x = ((interactions_object *)x)->x;
    if (call_run(&c, watch, work_leave, &j))
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
        "{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:N}", "users", (long long)i.users,
        "without_target", (long long)i.without_target, "without_input",
        (long long)i.without_input, "unknown_targets", (long long)i.unknown_targets,
        "unknown_inputs", (long long)i.unknown_inputs, "warm_targets",
        (long long)i.warm_targets, "cold_targets", (long long)i.cold_targets,
        "cold_items", (long long)i.cold_items, "refused", (long long)i.refused,
        "approximate", PyBool_FromLong(i.approximate));
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

/* Writes for each item in how many lists it is, as int64, and returns the length of the
 * lists. */
static PyObject *report_times(PyObject *self, PyObject *out)
{
    int32_t k = 0;
    const int64_t *times = ease_report_times(report_of(self), &k);
    Py_buffer view = {0};
    PyObject *done = NULL;
    Py_ssize_t items = take_buffer(out, &view, 8, -1, true, false);

    if (items >= 0) {
        memcpy(view.buf, times, (size_t)items * sizeof(*times));
        done = PyLong_FromLong(k);
    }
    release_buffers(&view, 1);
    return done;
}

/* ---- figures ------------------------------------------------------------------- */

typedef struct tail_job {
    const int64_t *times[8];
    const char *names[8];
    int models, k;
    int32_t items;
    const char *path;
} tail_job;

static ease_status work_tail(void *p, call *c)
{
    tail_job *j = p;

    return ease_plot_longtail(j->times, j->names, j->models, j->items, j->k, j->path,
                              &c->err);
}

/* A list of (name, times), the number of items, the length of the lists, a path. */
static PyObject *plot_longtail(PyObject *self, PyObject *args)
{
    tail_job j = {0};
    Py_buffer views[8] = {{0}};
    PyObject *list, *done = NULL;
    bool good = true;
    call c;

    (void)self;
    if (!PyArg_ParseTuple(args, "O!iiy", &PyList_Type, &list, &j.items, &j.k, &j.path))
        return NULL;
    j.models = (int)PyList_Size(list);
    if (j.models > 8) {
        PyErr_SetString(PyExc_ValueError, "at most 8 models fit a figure");
        return NULL;
    }
    for (int i = 0; good && i < j.models; i++) {
        PyObject *times;

        good = PyArg_ParseTuple(PyList_GetItem(list, i), "yO", &j.names[i], &times) &&
               take_buffer(times, &views[i], 8, j.items, false, false) >= 0;
        j.times[i] = views[i].buf;
    }
    if (good && call_run(&c, Py_None, work_tail, &j))
        done = Py_NewRef(Py_None);
    release_buffers(views, 8);
    return done;
}

typedef struct trials_job {
    ease_plot_axis axes[EASE_PLOT_MOST_AXES];
    const double *mean, *error;
    int axis_count, trials, best;
    const char *metric, *path;
} trials_job;

static ease_status work_trials(void *p, call *c)
{
    trials_job *j = p;

    if (strcmp(j->axes[0].name, "lambda") == 0 && j->axis_count == 1)
        return ease_plot_lambda(j->axes[0].value, j->mean, j->error, j->trials,
                                j->metric, j->path, &c->err);
    return ease_plot_settings(j->axes, j->axis_count, j->mean, j->error, j->trials,
                              j->best, j->metric, j->path, &c->err);
}

/* A list of (name, values, logarithmic), means, standard errors, the number of the best
 * trial, the metric, a path. Draws lambda alone as ease_plot_lambda does. */
static PyObject *plot_trials(PyObject *self, PyObject *args)
{
    enum { MOST = EASE_PLOT_MOST_AXES };
    trials_job j = {0};
    Py_buffer views[MOST + 2] = {{0}};
    PyObject *list, *mean, *error, *done = NULL;
    Py_ssize_t trials;
    bool good;
    call c;

    (void)self;
    if (!PyArg_ParseTuple(args, "O!OOisy", &PyList_Type, &list, &mean, &error, &j.best,
                          &j.metric, &j.path))
        return NULL;
    j.axis_count = (int)PyList_Size(list);
    if (j.axis_count < 1 || j.axis_count > MOST) {
        PyErr_Format(PyExc_ValueError, "1 to %d settings fit a figure", (int)MOST);
        return NULL;
    }
    trials = take_buffer(mean, &views[MOST], 8, -1, false, false);
    good = trials > 0 &&
           take_buffer(error, &views[MOST + 1], 8, trials, false, false) >= 0;
    j.trials = (int)trials;
    j.mean = views[MOST].buf;
    j.error = views[MOST + 1].buf;
    for (int i = 0; good && i < j.axis_count; i++) {
        PyObject *values;

        good = PyArg_ParseTuple(PyList_GetItem(list, i), "sOi", &j.axes[i].name,
                                &values, &j.axes[i].logarithmic) &&
               take_buffer(values, &views[i], 8, trials, false, false) >= 0;
        j.axes[i].value = views[i].buf;
    }
    if (good && call_run(&c, Py_None, work_trials, &j))
        done = Py_NewRef(Py_None);
    release_buffers(views, MOST + 2);
    return done;
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
 * doubles, or None. Without input and target, users are left out: a sample of so many,
 * or all if that is 0. What unknown items count for is one of the options. */
static PyObject *tune(PyObject *self, PyObject *args)
{
    tune_job j = {0};
    Py_buffer view = {0};
    PyObject *x, *input, *target, *lambdas, *options, *watch, *made = NULL;
    const char *metric;
    double seconds;
    long long users;
    Py_ssize_t count;
    call c;

    (void)self;
    ease_tune_options_init(&j.o);
    if (!PyArg_ParseTuple(args, "O!OOOsdLOO", interactions_type, &x, &input, &target,
                          &lambdas, &metric, &seconds, &users, &options, &watch) ||
        !take_interactions(input, &j.input) || !take_interactions(target, &j.target) ||
        !take_train_options(options, &j.train))
        return NULL;
    j.o.train = &j.train;
    j.o.metric = metric;
    j.o.unknown = j.train.unknown;
    j.o.seconds = seconds;
    j.o.leave_one_out = !j.input && !j.target;
    j.o.users = users;
    j.x = ((interactions_object *)x)->x;
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
                                       {"times", report_times, METH_O, NULL},
                                       {0}};

static PyType_Slot report_slots[] = {
    {Py_tp_dealloc, report_dealloc}, {Py_tp_methods, report_methods}, {0, NULL}};

static PyType_Spec report_spec = {.name = "ease._ease.Report",
                                  .basicsize = sizeof(report_object),
                                  .flags = Py_TPFLAGS_DEFAULT |
                                           Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  .slots = report_slots};

static PyMethodDef functions[] = {{"evaluate", evaluate, METH_VARARGS, NULL},
                                  {"leave_one_out", leave_one_out, METH_VARARGS, NULL},
                                  {"tune", tune, METH_VARARGS, NULL},
                                  {"plot_longtail", plot_longtail, METH_VARARGS, NULL},
                                  {"plot_trials", plot_trials, METH_VARARGS, NULL},
                                  {0}};

int add_measures(PyObject *module)
{
    report_type = (PyTypeObject *)PyType_FromSpec(&report_spec);
    if (!report_type || PyModule_AddType(module, report_type) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
