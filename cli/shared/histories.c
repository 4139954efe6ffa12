#include "histories.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jsonids.h"
#include "results.h"

void id_list_free(id_list *l)
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

/* Reads a text file into l->bytes, of `*size` bytes and a NUL; a byte order mark is
 * skipped. */
static int load_text(console *c, const char *path, id_list *l, size_t *size)
{
    int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
    int code;

    *size = 0;
    if (fd < 0)
        return fail(c, EXIT_FAILED, "%s: cannot open: %s", path, strerror(errno));
    code = read_whole(c, fd, path, &l->bytes, size);
    close(fd);
    if (code || !l->bytes)
        return code;
    if (strlen(l->bytes) != *size)
        return fail(c, EXIT_DATA, "%s: byte %zu is NUL: not a list of ids", path,
                    strlen(l->bytes));
    if (*size >= 3 && memcmp(l->bytes, "\xEF\xBB\xBF", 3) == 0) {
        memmove(l->bytes, l->bytes + 3, *size - 2);
        *size -= 3;
    }
    return EXIT_DONE;
}

int ids_from_file(console *c, const char *path, id_list *l)
{
    size_t size;
    int code = load_text(c, path, l, &size);

    return code || !l->bytes ? code : split_ids(c, path, l, '\n');
}

/* ---- histories ------------------------------------------------------------------- */

/* The text of a --history. */
typedef struct history_text {
    const char *name; /* for messages: the file, or "history" */
    id_list ids;
    size_t size;
    char mark; /* between ids */
    json_tree tree;
    json_ids listed; /* the result */
} history_text;

static void text_free(history_text *t)
{
    id_list_free(&t->ids);
    json_tree_free(&t->tree);
    json_ids_free(&t->listed);
}

static int text_load(console *c, const char *list, history_text *t)
{
    t->name = list[0] == '@' ? list + 1 : "history";
    t->mark = list[0] == '@' ? '\n' : ',';
    if (list[0] == '@')
        return load_text(c, list + 1, &t->ids, &t->size);
    t->ids.bytes = strdup(list);
    t->size = strlen(list);
    return t->ids.bytes ? EXIT_DONE : fail_no_memory(c);
}

/* True if the text is JSON: it begins with a bracket, and its first id, if it were a
 * list of ids, is not one of the model's. */
static bool is_json(const ease_model *m, const history_text *t)
{
    const char *at = t->ids.bytes + strspn(t->ids.bytes, " \t\r\n");
    size_t length = strcspn(at, t->mark == '\n' ? "\r\n" : ",");
    char *first = *at == '[' || *at == '{' ? strndup(at, length) : NULL;
    bool known = first && ease_model_find(m, first) != EASE_NO_ITEM;

    free(first);
    return (*at == '[' || *at == '{') && !known;
}

static int parse_json(console *c, history_text *t)
{
    json_problem p = {0};
    size_t need = json_tree_bytes(t->ids.bytes, t->size);
    int code = check_memory(c, t->name, need);

    if (code)
        return code;
    if (!json_parse(t->ids.bytes, t->size, &t->tree))
        return t->tree.fault
                   ? fail(c, EXIT_DATA,
                          "%s: byte %zu: %s: a history that begins with a bracket is "
                          "JSON, [\"ID\", {\"id\": \"ID\", \"weight\": 2}] or "
                          "{\"ID\": 2}",
                          t->name, t->tree.at, t->tree.fault)
                   : fail_no_memory(c);
    if (json_read_ids(t->tree.root, "history", true, &t->listed, &p))
        return EXIT_DONE;
    return strcmp(p.code, "busy") == 0 ? fail_no_memory(c)
                                       : fail(c, EXIT_DATA, "%s: %s", t->name, p.text);
}

/* Cuts ":WEIGHT" off an item of the model. False, with the text as it was: it is not of
 * this form. */
static bool cut_weight(const ease_model *m, char *id, float *weight)
{
    char *mark = strrchr(id, ':'), *end;
    double value;

    if (!mark || mark == id || !strchr("+-.0123456789", mark[1]) || !mark[1])
        return false;
    value = strtod(mark + 1, &end);
    if (*end || strpbrk(mark + 1, "xXpP") || !(fabs(value) <= 1e30))
        return false;
    *mark = '\0';
    if (ease_model_find(m, id) == EASE_NO_ITEM) {
        *mark = ':';
        return false;
    }
    *weight = (float)value;
    return true;
}

/* Parses "a:2,b". Ids may have colons: what is an id of the model as it stands has no
 * weight. */
static int parse_text(console *c, const ease_model *m, history_text *t)
{
    int code = split_ids(c, t->name, &t->ids, t->mark);
    json_ids *l = &t->listed;
    bool any = false;

    if (code)
        return code;
    l->at = t->ids.at;
    l->count = t->ids.count;
    t->ids.at = NULL; /* belongs to *l now */
    l->weights = calloc(l->count + 1, sizeof(*l->weights));
    if (!l->weights)
        return fail_no_memory(c);
    for (size_t i = 0; i < l->count; i++) {
        char *id = t->ids.bytes + (l->at[i] - t->ids.bytes);

        l->weights[i] = 1;
        if (ease_model_find(m, id) == EASE_NO_ITEM)
            any = cut_weight(m, id, &l->weights[i]) || any;
    }
    if (!any) {
        free(l->weights);
        l->weights = NULL;
    }
    return EXIT_DONE;
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
    history_text t = {0};
    named unknown = {0};
    ease_error err;
    int code = text_load(c, list, &t);

    if (!code && t.ids.bytes)
        code = is_json(m, &t) ? parse_json(c, &t) : parse_text(c, m, &t);
    if (!code && ease_history_new(m, t.listed.at, t.listed.weights,
                                  (int64_t)t.listed.count, out, &err))
        code = fail_with(c, &err);
    if (!code && ease_history_unknown(*out)) {
        for (size_t i = 0; i < t.listed.count; i++)
            if (ease_model_find(m, t.listed.at[i]) == EASE_NO_ITEM)
                named_add(&unknown, t.listed.at[i]);
        warn_unknown(c, &unknown, t.listed.count, number);
    }
    text_free(&t);
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
