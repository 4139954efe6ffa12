/* The position of a model's data in a log of changes. */
#include <string.h>

#include "model/model.h"

enum { MOST_CHARS = 255 };

ease_status ease_model_set_position(ease_model *m, const char *log, uint64_t position,
                                    ease_error *err)
{
    char *copy = NULL;

    if (!m || (log && (!*log || strlen(log) > MOST_CHARS)))
        return ease__fail(
            err, EASE_E_ARG,
            "a model and the name of a log, of 1 to %d bytes, are required",
            (int)MOST_CHARS);
    if (log) {
        copy = ease__copy_string(log);
        if (!copy)
            return ease__fail(err, EASE_E_NOMEM, "the position of a model");
    }
    ease__free(m->log);
    m->log = copy;
    m->position = log ? position : 0;
    return EASE_OK;
}

const char *ease_model_position(const ease_model *m, uint64_t *position)
{
    if (position)
        *position = m ? m->position : 0;
    return m ? m->log : NULL;
}

/* The section is the number, then the name with its NUL. */
ease_status ease__position_write(const ease_model *m, ease__container_writer *w,
                                 ease_error *err)
{
    unsigned char bytes[sizeof(m->position) + MOST_CHARS + 1];
    size_t name;

    if (!m->log)
        return EASE_OK;
    name = strlen(m->log) + 1;
    memcpy(bytes, &m->position, sizeof(m->position));
    memcpy(bytes + sizeof(m->position), m->log, name);
    return ease__writer_add(w, "position", bytes, sizeof(m->position) + name, err);
}

ease_status ease__position_open(ease_model *m, ease_error *err)
{
    size_t bytes = 0, head = sizeof(m->position);
    const char *at = ease__container_section(&m->file, "position", &bytes);
    uint64_t position;

    if (!at)
        return EASE_OK;
    if (bytes < head + 2 || bytes > head + MOST_CHARS + 1 ||
        memchr(at + head, '\0', bytes - head) != at + bytes - 1)
        return ease__model_damaged(m, "its position", err);
    memcpy(&position, at, head);
    return ease_model_set_position(m, at + head, position, err);
}
