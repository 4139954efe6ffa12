/* The extension module _ease, a thin layer over ease.h: objects, buffers, errors, and
 * calls without the interpreter's lock. Its callers in python/ease check shapes and
 * types. */
#ifndef EASE_EXT_H
#define EASE_EXT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "ease.h"

/* ---- long calls ---------------------------------------------------------------- */

/* One call of the library. Its callbacks run with the interpreter's lock. */
typedef struct call {
    ease_hooks hooks; /* for the library */
    ease_error err;
    PyObject *watch;     /* callable(stage, fraction), or None; borrowed */
    PyObject *log;       /* callable(level, text), or None; borrowed */
    PyObject *raised[3]; /* the exception of a callback: type, value, traceback */
    double next;         /* time of the next progress report */
    _Atomic int cancelled;
} call;

typedef ease_status call_work(void *job, call *c);

/* Runs `work` without the interpreter's lock. In a forked child the work runs in a new
 * thread, since the OpenMP threads of the calling thread are gone. Returns false with
 * an exception set if the work failed, or if a callback or a signal raised one, even
 * if the work succeeded: the caller then frees its results. */
bool call_run(call *c, PyObject *watch, call_work *work, void *job);
void call_setup(void);

/* Installs a handler of SIGBUS, once, when the first model file is opened: a fault in a
 * mapped model file makes the call that reads it fail, and all others are passed to the
 * previous handler. */
void faults_install(void);

/* Sets the Python exception for an error of the library. */
void raise_error(const ease_error *err);

/* ---- buffers ------------------------------------------------------------------- */

/* Acquires a contiguous buffer of `items` elements of `size` bytes (items < 0: of any
 * number) and returns the number of elements. If `optional` and o is NULL or None, the
 * call leaves view->obj NULL and returns 0. Returns -1 with an exception set on
 * failure. */
Py_ssize_t take_buffer(PyObject *o, Py_buffer *view, size_t size, Py_ssize_t items,
                       bool writable, bool optional);
/* Releases views; those that were never acquired must be zero. */
void release_buffers(Py_buffer *views, int count);

/* ---- objects ------------------------------------------------------------------- */

typedef struct interactions_object {
    PyObject_HEAD ease_interactions *x;
    Py_buffer views[3]; /* the buffers that x borrows */
} interactions_object;

typedef struct gram_object {
    PyObject_HEAD ease_gram *g;
} gram_object;

typedef struct model_object {
    PyObject_HEAD ease_model *m;
} model_object;

typedef struct tags_object {
    PyObject_HEAD ease_tags *t;
} tags_object;

typedef struct report_object {
    PyObject_HEAD ease_report *r;
} report_object;

extern PyTypeObject *interactions_type, *gram_type, *model_type, *report_type,
    *tags_type;

/* Add the types and functions of one file to the module. */
int add_interactions(PyObject *module);
int add_models(PyObject *module);
int add_grams(PyObject *module);
int add_measures(PyObject *module);
int add_tags(PyObject *module);
int add_updates(PyObject *module);

/* Make the Python object that owns its argument; on failure, free the argument. */
PyObject *wrap_interactions(ease_interactions *x);
PyObject *wrap_gram(ease_gram *g);
PyObject *wrap_model(ease_model *m);

PyObject *id_text(const char *id);
/* Returns a list of ids as strings; `at` returns one id. */
PyObject *id_list(int64_t count, const char *(*at)(const void *of, int64_t number),
                  const void *of);
/* Writes ids as int64 to the buffer `out` and returns True, or returns False if an id
 * is not the decimal digits of an integer. */
PyObject *id_numbers(int64_t count, const char *(*at)(const void *of, int64_t number),
                     const void *of, PyObject *out);

/* Takes a column of `rows` ids or texts: an array of int64, or a tuple of bytes and
 * int64 offsets. Returns false with an exception set on failure; the caller releases
 * the views either way. */
bool take_column(PyObject *column, Py_ssize_t rows, ease_id_column *out,
                 Py_buffer views[2]);

/* Takes interactions, or None, which leaves *out as it is. Returns false with an
 * exception set for anything else. */
bool take_interactions(PyObject *o, const ease_interactions **out);
/* A converter for O& in formats: bytes to const char *, or None to NULL. The string is
 * valid as long as the arguments. */
int take_path(PyObject *o, void *to);

/* Converts a tuple to options: (method, lambda, kind, precision, threads,
 * memory_limit, workdir, settings, validation_input, validation_target, metric,
 * unknown, backend, tags: Tags or None, tag_weight, updatable). Pointers are valid as
 * long as the tuple. */
bool take_train_options(PyObject *tuple, ease_train_options *o);
/* Converts a tuple to options: (format, columns, separator, header, min_rating,
 * weights, repeat, min_user, min_item, threads, memory_limit, guess: None or the
 * result of recognize). */
bool take_read_options(PyObject *tuple, ease_read_options *o);

#endif
