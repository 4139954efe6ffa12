#include "histories.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results.h"

typedef struct id_list {
    char *bytes;
    const char **at;
    size_t count;
} id_list;

static void id_list_free(id_list *l)
{
    free(l->bytes);
    free((void *)l->at);
}

/* Fails with EXIT_MEMORY if more memory is needed than is available. Less than a MiB is
 * not checked. */
static int check_memory(console *c, const char *path, size_t bytes)
{
    char need[NUMBER_CHARS], have[NUMBER_CHARS];
    size_t available = bytes < 1 << 20 ? 0 : ease_memory_available();

    if (!available || bytes <= available)
        return EXIT_DONE;
    return fail(c, EXIT_MEMORY, "%s: reading needs more than %s; %s are available",
                path, format_bytes(need, sizeof(need), bytes),
                format_bytes(have, sizeof(have), available));
}

/* Reads to the end of the file, and appends a NUL. */
static int read_whole(console *c, int fd, const char *path, char **bytes, size_t *size)
{
    size_t capacity = 0;

    for (;;) {
        ssize_t got;

        if (capacity - *size < 2) {
            size_t more = capacity / 2 + 65536;
            int code = check_memory(c, path, capacity + more);
            char *grown = code ? NULL : realloc(*bytes, capacity += more);

            if (code)
                return code;
            if (!grown)
                return fail_no_memory(c);
            *bytes = grown;
        }
        got = read(fd, *bytes + *size, capacity - *size - 1);
        if (signals_caught())
            return fail_interrupted(c);
        if (got < 0 && errno != EINTR)
            return fail(c, EXIT_FAILED, "%s: cannot read: %s", path, strerror(errno));
        if (got == 0)
            break;
        if (got > 0)
            *size += (size_t)got;
    }
    (*bytes)[*size] = '\0';
    return EXIT_DONE;
}

/* That ease_history_new needs for an id, at most. */
enum { HISTORY_BYTES = 20 };

/* Cuts `l->bytes` at each `mark`, in place. Empty parts are not ids. `path` is named in
 * the message if the list of ids needs too much memory. */
static int split_ids(console *c, const char *path, id_list *l, char mark)
{
    size_t parts = 1;
    int code;

    for (const char *s = l->bytes; *s; s++)
        parts += *s == mark;
    code = check_memory(c, path, parts * (sizeof(*l->at) + HISTORY_BYTES));
    if (code)
        return code;
    l->at = calloc(parts, sizeof(*l->at));
    if (!l->at)
        return fail_no_memory(c);
    for (char *s = l->bytes, *next; s; s = next) {
        size_t length;

        next = strchr(s, mark);
        if (next)
            *next++ = '\0';
        length = strlen(s);
        if (mark == '\n' && length && s[length - 1] == '\r')
            s[--length] = '\0';
        if (length)
            l->at[l->count++] = s;
    }
    return EXIT_DONE;
}

static int ids_from_file(console *c, const char *path, id_list *l)
{
    int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
    size_t size = 0;
    int code;

    if (fd < 0)
        return fail(c, EXIT_FAILED, "%s: cannot open: %s", path, strerror(errno));
    code = read_whole(c, fd, path, &l->bytes, &size);
    close(fd);
    if (code || !l->bytes)
        return code;
    if (strlen(l->bytes) != size)
        return fail(c, EXIT_DATA, "%s: byte %zu is NUL: not a list of ids", path,
                    strlen(l->bytes));
    if (size >= 3 && memcmp(l->bytes, "\xEF\xBB\xBF", 3) == 0)
        memmove(l->bytes, l->bytes + 3, size - 2);
    return split_ids(c, path, l, '\n');
}

static int ids_from_list(console *c, const char *list, id_list *l)
{
    if (list[0] == '@')
        return ids_from_file(c, list + 1, l);
    l->bytes = strdup(list);
    return l->bytes ? split_ids(c, "history", l, ',') : fail_no_memory(c);
}

enum { NAMED_MOST = 5 };

void named_add(named *n, const char *id)
{
    size_t left = sizeof(n->text) - n->put;

    if (n->count++ < NAMED_MOST && left > 80)
        n->put += (size_t)snprintf(n->text + n->put, left, "%s%.60s",
                                   n->count > 1 ? ", " : "", id);
    else if (n->count == NAMED_MOST + 1)
        snprintf(n->text + n->put, left, ", ...");
}

static void warn_unknown(console *c, const named *unknown, size_t given, size_t number)
{
    char which[40] = "";

    if (number)
        snprintf(which, sizeof(which), " %zu", number);
    warn(c, "history%s: %" PRId64 " of %zu ids unknown to the model: %s", which,
         unknown->count, given, unknown->text);
}

int history_read(console *c, const ease_model *m, const char *list, size_t number,
                 ease_history **out)
{
    id_list ids = {0};
    named unknown = {0};
    ease_error err;
    int code = ids_from_list(c, list, &ids);

    if (!code && ease_history_new(m, ids.at, NULL, (int64_t)ids.count, out, &err))
        code = fail_with(c, &err);
    if (!code && ease_history_unknown(*out)) {
        for (size_t i = 0; i < ids.count; i++)
            if (ease_model_find(m, ids.at[i]) == EASE_NO_ITEM)
                named_add(&unknown, ids.at[i]);
        warn_unknown(c, &unknown, ids.count, number);
    }
    id_list_free(&ids);
    return code;
}

/* Sets the byte of each item that a file names. */
static int mark_items(console *c, const ease_model *m, const char *path, uint8_t value,
                      uint8_t *mask)
{
    id_list ids = {0};
    named unknown = {0};
    int code = ids_from_file(c, path, &ids);

    for (size_t i = 0; !code && i < ids.count; i++) {
        int32_t item = ease_model_find(m, ids.at[i]);

        if (item == EASE_NO_ITEM)
            named_add(&unknown, ids.at[i]);
        else
            mask[item] = value;
    }
    if (!code && unknown.count)
        warn(c, "%s: %" PRId64 " of %zu ids unknown to the model: %s", path,
             unknown.count, ids.count, unknown.text);
    id_list_free(&ids);
    return code;
}

int read_allowed(console *c, const ease_model *m, const char *allow, const char *deny,
                 uint8_t **out)
{
    size_t items = (size_t)ease_model_items(m);
    uint8_t *mask;
    int code = EXIT_DONE;

    *out = NULL;
    if (!allow && !deny)
        return EXIT_DONE;
    mask = malloc(items + 1);
    if (!mask)
        return fail_no_memory(c);
    memset(mask, allow ? 0 : 1, items);
    if (allow)
        code = mark_items(c, m, allow, 1, mask);
    if (!code && deny)
        code = mark_items(c, m, deny, 0, mask);
    if (code)
        free(mask);
    else
        *out = mask;
    return code;
}
