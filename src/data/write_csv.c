/* Writes interactions as CSV. */
#include <string.h>

#include "core/output.h"
#include "data/interactions.h"
#include "text/number.h"

enum { BUFFER_BYTES = 1 << 20 };

typedef struct writer {
    ease__output out;
    char *buffer;
    size_t used;
} writer;

static ease_status flush(writer *w, ease_error *err)
{
    ease_status status = ease__output_write(&w->out, w->buffer, w->used, err);

    w->used = 0;
    return status;
}

static ease_status put(writer *w, const char *text, size_t length, ease_error *err)
{
    while (length) {
        size_t part = BUFFER_BYTES - w->used;

        if (part == 0) {
            ease_status status = flush(w, err);

            if (status)
                return status;
            continue;
        }
        if (part > length)
            part = length;
        memcpy(w->buffer + w->used, text, part);
        w->used += part;
        text += part;
        length -= part;
    }
    return EASE_OK;
}

/* Writes an id, quoted if it needs to be. */
static ease_status put_id(writer *w, const char *id, size_t length, ease_error *err)
{
    ease_status status;

    if (!strpbrk(id, ",\"\r\n"))
        return put(w, id, length, err);
    status = put(w, "\"", 1, err);
    while (!status && length) {
        size_t part = strcspn(id, "\"");

        status = put(w, id, part, err);
        if (!status && id[part] == '"') {
            status = put(w, "\"\"", 2, err);
            part++;
        }
        id += part;
        length -= part;
    }
    return status ? status : put(w, "\"", 1, err);
}

static ease_status put_row(writer *w, const ease_interactions *x, int64_t user,
                           ease_error *err)
{
    const ease__ids *users = &x->user_ids, *items = &x->item_ids;
    ease_row row = ease_interactions_row(x, user);
    ease_status status = EASE_OK;

    for (int32_t i = 0; !status && i < row.count; i++) {
        char value[EASE__FLOAT_CHARS + 2] = ",";
        size_t length = 1;

        status = put_id(w, ease__ids_at(users, user), ease__ids_length(users, user),
                        err);
        if (!status)
            status = put(w, ",", 1, err);
        if (!status)
            status = put_id(w, ease__ids_at(items, row.items[i]),
                            ease__ids_length(items, row.items[i]), err);
        if (!status && row.weights) {
            length += ease__print_float(row.weights[i], value + 1);
            status = put(w, value, length, err);
        }
        if (!status)
            status = put(w, "\n", 1, err);
    }
    return status;
}

static ease_status put_all(writer *w, const ease_interactions *x,
                           const ease_hooks *hooks, ease_error *err)
{
    static const char stage[] = "writing";
    const char *head = x->vals ? "user,item,value\n" : "user,item\n";
    ease_status status = put(w, head, strlen(head), err);

    for (int64_t u = 0; !status && u < x->users; u++) {
        if (u % 1024 == 0 && ease__progress(hooks, stage, (double)u / (double)x->users))
            return ease__cancelled(err);
        status = put_row(w, x, u, err);
    }
    return status ? status : flush(w, err);
}

ease_status ease_interactions_write(const ease_interactions *x, const char *path,
                                    const ease_hooks *hooks, ease_error *err)
{
    writer w = {.out = EASE__OUTPUT_NONE};
    ease_status status;

    if (!x || !path)
        return ease__fail(err, EASE_E_ARG, "interactions and a path are required");
    w.buffer = ease__alloc_array(BUFFER_BYTES, 1);
    if (!w.buffer)
        return ease__fail(err, EASE_E_NOMEM, "writing %s", path);
    status = ease__output_open(path, 0, &w.out, err);
    w.out.hooks = hooks;
    if (!status)
        status = put_all(&w, x, hooks, err);
    if (!status)
        status = ease__output_commit(&w.out, err);
    ease__output_discard(&w.out);
    ease__free(w.buffer);
    return status;
}
