/* Converts ids to Python: to strings, or to integers if all ids are integers. */
#include <string.h>

#include "ext.h"

PyObject *id_text(const char *id)
{
    return PyUnicode_DecodeUTF8(id, (Py_ssize_t)strlen(id), "surrogateescape");
}

PyObject *id_list(int64_t count, const char *(*at)(const void *of, int64_t number),
                  const void *of)
{
    PyObject *list = PyList_New((Py_ssize_t)count);

    for (int64_t i = 0; list && i < count; i++) {
        const char *id = at(of, i);
        PyObject *text = id ? id_text(id) : Py_NewRef(Py_None);

        if (!text || PyList_SetItem(list, (Py_ssize_t)i, text) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* Digits as they would be printed: no sign but a minus, no zero in front, 18 of them at
 * most, so that nothing overflows. */
static bool plain_number(const char *id, int64_t *out)
{
    bool negative = *id == '-';
    const char *digits = id + negative;
    size_t length = strlen(digits);
    int64_t value = 0;

    if (length < 1 || length > 18 || (digits[0] == '0' && (length > 1 || negative)))
        return false;
    for (size_t i = 0; i < length; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return false;
        value = 10 * value + (digits[i] - '0');
    }
    *out = negative ? -value : value;
    return true;
}

PyObject *id_numbers(int64_t count, const char *(*at)(const void *of, int64_t number),
                     const void *of, PyObject *out)
{
    Py_buffer view = {0};
    int64_t *to;
    bool plain = true;

    if (take_buffer(out, &view, 8, (Py_ssize_t)count, true, false) < 0) {
        release_buffers(&view, 1);
        return NULL;
    }
    to = view.buf;
    for (int64_t i = 0; plain && i < count; i++)
        plain = plain_number(at(of, i), &to[i]);
    release_buffers(&view, 1);
    return PyBool_FromLong(plain);
}
