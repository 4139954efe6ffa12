/* Calls of the library without the interpreter's lock, and their errors. */
#include "ext.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define REPORT_SECONDS 0.05

static int forked; /* set once, in the child */

static void mark_child(void)
{
    forked = 1;
}

void call_setup(void)
{
    pthread_atfork(NULL, NULL, mark_child);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Keeps the exception for the end of the call; the first one counts. */
static void keep_exception(call *c)
{
    PyObject *e[3];

    PyErr_Fetch(&e[0], &e[1], &e[2]);
    for (int i = 0; i < 3; i++) {
        if (c->cancelled)
            Py_XDECREF(e[i]);
        else
            c->raised[i] = e[i];
    }
    c->cancelled = 1;
}

static void check_signals(call *c)
{
    if (PyErr_CheckSignals() < 0)
        keep_exception(c);
}

static int tell_progress(void *user, const char *stage, double fraction)
{
    call *c = user;
    PyGILState_STATE lock;

    if (c->cancelled)
        return 1;
    if (now() < c->next)
        return 0;
    lock = PyGILState_Ensure();
    check_signals(c);
    if (!c->cancelled && c->watch != Py_None) {
        PyObject *done = PyObject_CallFunction(c->watch, "sd", stage, fraction);

        if (!done)
            keep_exception(c);
        Py_XDECREF(done);
    }
    PyGILState_Release(lock);
    c->next = now() + REPORT_SECONDS;
    return c->cancelled;
}

static void tell_log(void *user, int level, const char *text)
{
    call *c = user;
    PyGILState_STATE lock;
    PyObject *done;

    if (c->cancelled)
        return;
    lock = PyGILState_Ensure();
    done = PyObject_CallFunction(c->log, "is", level, text);
    if (!done)
        keep_exception(c);
    Py_XDECREF(done);
    PyGILState_Release(lock);
}

/* ---- in a forked child --------------------------------------------------------- */

typedef struct errand {
    call_work *work;
    void *job;
    call *c;
    ease_status status;
} errand;

static void *run_errand(void *p)
{
    errand *e = p;

    e->status = e->work(e->job, e->c);
    return NULL;
}

/* Signals reach Python only in the thread that waits here. */
static ease_status run_apart(call *c, call_work *work, void *job)
{
    errand e = {.work = work, .job = job, .c = c};
    pthread_t thread;
    struct timespec until;
    int failed = pthread_create(&thread, NULL, run_errand, &e);

    if (failed) {
        c->err = (ease_error){.status = EASE_E_NOMEM, .sys_errno = failed, .where = -1};
        snprintf(c->err.text, sizeof(c->err.text), "no thread: %s", strerror(failed));
        return EASE_E_NOMEM;
    }
    do {
        PyGILState_STATE lock = PyGILState_Ensure();

        if (!c->cancelled)
            check_signals(c);
        PyGILState_Release(lock);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 50000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
    } while (pthread_timedjoin_np(thread, NULL, &until) == ETIMEDOUT);
    return e.status;
}

/* ---- all calls ------------------------------------------------------------------ */

/* What the package wants to be told of the log, or NULL. Borrowed. */
static PyObject *find_log(PyObject **module)
{
    *module = PyImport_ImportModule("ease._log");
    return *module ? PyObject_GetAttrString(*module, "tell") : NULL;
}

bool call_run(call *c, PyObject *watch, call_work *work, void *job)
{
    PyObject *module = NULL, *log = find_log(&module);
    ease_status status;

    Py_XDECREF(module);
    if (!log)
        return false;
    *c = (call){.hooks = {.progress = tell_progress, .log = tell_log, .user = c},
                .watch = watch ? watch : Py_None,
                .log = log,
                .next = now() + REPORT_SECONDS};
    Py_BEGIN_ALLOW_THREADS;
    status = forked ? run_apart(c, work, job) : work(job, c);
    Py_END_ALLOW_THREADS;
    Py_DECREF(log);
    if (c->cancelled) {
        PyErr_Restore(c->raised[0], c->raised[1], c->raised[2]);
        return false;
    }
    if (status)
        raise_error(&c->err);
    return status == EASE_OK;
}

static PyObject *exception_of(const ease_error *err)
{
    switch (err->status) {
    case EASE_E_NOMEM:
    case EASE_E_MEMORY_LIMIT:
        return PyExc_MemoryError;
    case EASE_E_NOT_POSDEF:
    case EASE_E_ACCURACY:
        return PyExc_ArithmeticError;
    case EASE_E_BACKEND:
    case EASE_E_CANCELLED:
        return PyExc_RuntimeError;
    default:
        return PyExc_ValueError;
    }
}

void raise_error(const ease_error *err)
{
    PyObject *text = PyUnicode_DecodeUTF8(err->text, (Py_ssize_t)strlen(err->text),
                                          "replace");
    PyObject *value = NULL;

    if (!text)
        return;
    if (err->status == EASE_E_IO) {
        value = PyObject_CallFunction(PyExc_OSError, "iO", err->sys_errno, text);
        if (value) /* a FileNotFoundError, say, by its number */
            PyErr_SetObject((PyObject *)Py_TYPE(value), value);
    } else {
        PyErr_SetObject(exception_of(err), text);
    }
    Py_XDECREF(value);
    Py_DECREF(text);
}

int take_path(PyObject *o, void *to)
{
    const char **path = to;

    *path = o == Py_None ? NULL : PyBytes_AsString(o);
    return o == Py_None || *path;
}

/* ---- buffers ------------------------------------------------------------------- */

Py_ssize_t take_buffer(PyObject *o, Py_buffer *view, size_t size, Py_ssize_t items,
                       bool writable, bool optional)
{
    Py_ssize_t count;

    if (optional && (!o || o == Py_None))
        return 0;
    if (PyObject_GetBuffer(o, view, writable ? PyBUF_CONTIG : PyBUF_CONTIG_RO) < 0)
        return -1;
    count = view->len / (Py_ssize_t)size;
    if (view->itemsize == (Py_ssize_t)size && (items < 0 || count == items))
        return count;
    PyErr_Format(PyExc_ValueError,
                 "an array of %zd elements of %zd bytes where %zd of %zu are wanted",
                 count, view->itemsize, items, size);
    return -1;
}

void release_buffers(Py_buffer *views, int count)
{
    for (int i = 0; i < count; i++)
        if (views[i].obj)
            PyBuffer_Release(&views[i]);
}
