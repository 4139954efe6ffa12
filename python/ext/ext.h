/* The extension: a thin skin over ease.h. Python on top of it checks shapes and types;
 * here are objects, buffers, errors, and calls without the interpreter's lock. */
#ifndef EASE_EXT_H
#define EASE_EXT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "ease.h"

/* ---- calls that take their time ---------------------------------------------- */

/* One call of the library. Progress and log are called with the lock taken. */
typedef struct call {
    ease_hooks hooks; /* to be given to the library */
    ease_error err;
    PyObject *watch; /* callable(stage, fraction) and callable(level, text), ... */
    PyObject *log;   /* ... or None; borrowed */
    PyObject *raised[3];
    double next; /* when to tell of progress again */
    _Atomic int cancelled;
} call;

typedef ease_status call_work(void *job, call *c);

/* Runs `work` without the lock. In a forked child it has a thread of its own: the
 * threads that OpenMP had there before are gone, and it would wait for them. Returns
 * false with an exception set; one that a callback or a signal raised comes first, even
 * if the work was done all the same: what it has made is then for the caller to free. */
bool call_run(call *c, PyObject *watch, call_work *work, void *job);
void call_setup(void);

/* Installs a handler of SIGBUS, once, when the first model file is opened: a fault in a
 * mapped model file makes the call that reads it fail, and all others are passed to the
 * previous handler. */
void faults_install(void);

/* Sets the exception that stands for an error of the library. */
void raise_error(const ease_error *err);

/* ---- buffers ------------------------------------------------------------------- */

/* A contiguous buffer of `items` elements of `size` bytes; items < 0: any number, which
 * is returned. NULL or None where `optional`: view->obj stays NULL and 0 is returned.
 * -1: an exception is set. */
Py_ssize_t take_buffer(PyObject *o, Py_buffer *view, size_t size, Py_ssize_t items,
                       bool writable, bool optional);
/* Of views that may never have been taken: they start zeroed. */
void release_buffers(Py_buffer *views, int count);

/* ---- objects ------------------------------------------------------------------- */

typedef struct interactions_object {
    PyObject_HEAD ease_interactions *x;
    Py_buffer views[3]; /* what x borrows */
} interactions_object;

typedef struct gram_object {
    PyObject_HEAD ease_gram *g;
} gram_object;

typedef struct model_object {
    PyObject_HEAD ease_model *m;
} model_object;

typedef struct report_object {
    PyObject_HEAD ease_report *r;
} report_object;

extern PyTypeObject *interactions_type, *gram_type, *model_type, *report_type;

/* Each adds its types and functions to the module. */
int add_interactions(PyObject *module);
int add_models(PyObject *module);
int add_grams(PyObject *module);
int add_measures(PyObject *module);

/* Take over what they are given, even where they fail. */
PyObject *wrap_interactions(ease_interactions *x);
PyObject *wrap_gram(ease_gram *g);
PyObject *wrap_model(ease_model *m);

PyObject *id_text(const char *id);
/* Ids as a list of strings, by a function that gives one. */
PyObject *id_list(int64_t count, const char *(*at)(const void *of, int64_t number),
                  const void *of);
/* The same into int64, where every id is a whole number plainly written: True, else
 * False. */
PyObject *id_numbers(int64_t count, const char *(*at)(const void *of, int64_t number),
                     const void *of, PyObject *out);

/* For O& in formats: bytes, or None for NULL, which live as long as the arguments. */
int take_path(PyObject *o, void *to);

/* A nested tuple: (method, lambda, kind, precision, threads, memory_limit, workdir,
 * settings, validation_input, validation_target, metric, unknown, backend). What it
 * points to lives as long as the tuple. */
bool take_train_options(PyObject *tuple, ease_train_options *o);
/* (format, columns, separator, header, min_rating, weights, repeat, min_user,
 * min_item, threads, memory_limit, guess: None or recognize's) */
bool take_read_options(PyObject *tuple, ease_read_options *o);

#endif
