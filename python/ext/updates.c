/* Updating models, and checking what they keep for that. */
#include "ext.h"

static const ease_model *model_in(PyObject *o)
{
    return ((model_object *)o)->m;
}

/* ---- updating ------------------------------------------------------------------ */

typedef struct update_job {
    const ease_model *from;
    const ease_interactions *was, *now;
    ease_update_options o;
    ease_update_info info;
    ease_model *m;
} update_job;

static ease_status work_update(void *p, call *c)
{
    update_job *j = p;

    j->o.hooks = &c->hooks;
    j->info.size = sizeof(j->info);
    return ease_model_update(j->from, j->was, j->now, &j->o, &j->m, &j->info, &c->err);
}

static PyObject *describe_update(const ease_update_info *i)
{
    return Py_BuildValue(
        "{s:L,s:L,s:L,s:L,s:L,s:L,s:i,s:i,s:L,s:d,s:d,s:d}", "came", (long long)i->came,
        "left", (long long)i->left, "changed", (long long)i->changed, "same",
        (long long)i->same, "added", (long long)i->added, "removed",
        (long long)i->removed, "new_items", (int)i->new_items, "lost_items",
        (int)i->lost_items, "rank", (long long)i->rank, "residual_before",
        i->residual_before, "residual", i->residual, "deviation", i->deviation);
}

/* (the model, what was done). removals: None, or an array of two doubles (leverage,
 * deviation) for each user of `was`. */
static PyObject *update(PyObject *self, PyObject *args)
{
    update_job j = {0};
    Py_buffer view = {0};
    PyObject *model, *was, *now, *removals, *watch, *made = NULL;
    Py_ssize_t limit;
    call c;

    (void)self;
    ease_update_options_init(&j.o);
    if (!PyArg_ParseTuple(args, "O!OOOinO", model_type, &model, &was, &now, &removals,
                          &j.o.threads, &limit, &watch) ||
        !take_interactions(was, &j.was) || !take_interactions(now, &j.now))
        return NULL;
    j.from = model_in(model);
    j.o.memory_limit = (size_t)limit;
    if (take_buffer(removals, &view, sizeof(double),
                    2 * (Py_ssize_t)ease_interactions_users(j.was), true, true) >= 0) {
        j.o.removals = view.buf;
        if (call_run(&c, watch, work_update, &j))
            made = wrap_model(j.m);
        else
            ease_model_free(j.m);
    }
    release_buffers(&view, 1);
    return made ? Py_BuildValue("NN", made, describe_update(&j.info)) : NULL;
}

/* ---- checking ------------------------------------------------------------------ */

typedef struct check_job {
    const ease_model *m;
    const ease_interactions *x;
    int threads;
    double residual;
} check_job;

static ease_status work_residual(void *p, call *c)
{
    check_job *j = p;

    return ease_model_residual(j->m, j->threads, &j->residual, &c->err);
}

static PyObject *residual(PyObject *self, PyObject *args)
{
    check_job j = {0};
    PyObject *model;
    call c;

    (void)self;
    if (!PyArg_ParseTuple(args, "O!i", model_type, &model, &j.threads))
        return NULL;
    j.m = model_in(model);
    return call_run(&c, NULL, work_residual, &j) ? PyFloat_FromDouble(j.residual)
                                                 : NULL;
}

static ease_status work_check(void *p, call *c)
{
    check_job *j = p;

    return ease_model_check_data(j->m, j->x, &c->err);
}

static PyObject *check_data(PyObject *self, PyObject *args)
{
    check_job j = {0};
    PyObject *model, *x;
    call c;

    (void)self;
    if (!PyArg_ParseTuple(args, "O!O!", model_type, &model, interactions_type, &x))
        return NULL;
    j.m = model_in(model);
    j.x = ((interactions_object *)x)->x;
    if (!call_run(&c, NULL, work_check, &j))
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {{"update", update, METH_VARARGS, NULL},
                                  {"residual", residual, METH_VARARGS, NULL},
                                  {"check_data", check_data, METH_VARARGS, NULL},
                                  {0}};

int add_updates(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
