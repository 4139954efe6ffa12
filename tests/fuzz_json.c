/* JSON as the program reads it, against jansson: both accept the same texts, and find
 * the same values in them. */
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonids.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool fact)
{
    if (!fact)
        abort();
}

static void check_same(const json_value *v, const json_t *w);

static void check_lists(const json_value *v, const json_t *w)
{
    size_t count = 0;

    for (const json_value *e = v->as.list.first; e; e = e->next, count++) {
        must(!e->key == (v->kind == TREE_ARRAY));
        if (v->kind == TREE_ARRAY)
            check_same(e, json_array_get(w, count));
    }
    must(count == v->as.list.count);
    if (v->kind == TREE_ARRAY)
        must(count == json_array_size(w));
    else
        must(count >= json_object_size(w)); /* of equal keys jansson keeps the last */
}

static void check_number(const json_value *v, const json_t *w)
{
    char digits[JSON_DIGITS];

    must(json_is_number(w) && v->as.number.value == json_number_value(w));
    if (!json_is_integer(w))
        return;
    snprintf(digits, sizeof(digits), "%lld", (long long)json_integer_value(w));
    must(strcmp(digits, v->as.number.digits) == 0);
}

static void check_same(const json_value *v, const json_t *w)
{
    switch (v->kind) {
    case TREE_NULL:
        must(json_is_null(w));
        break;
    case TREE_FALSE:
        must(json_is_false(w));
        break;
    case TREE_TRUE:
        must(json_is_true(w));
        break;
    case TREE_NUMBER:
        check_number(v, w);
        break;
    case TREE_STRING:
        must(json_is_string(w) && strcmp(v->as.text, json_string_value(w)) == 0);
        break;
    case TREE_ARRAY:
    case TREE_OBJECT:
        must(v->kind == TREE_ARRAY ? json_is_array(w) : json_is_object(w));
        check_lists(v, w);
        break;
    }
}

/* The deepest level of brackets outside of strings: jansson allows more than we do. */
static int depth_of(const char *text, size_t size)
{
    int depth = 0, most = 0;
    bool quoted = false;

    for (size_t i = 0; i < size; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted && (text[i] == '[' || text[i] == '{'))
            most = ++depth > most ? depth : most;
        else if (!quoted && (text[i] == ']' || text[i] == '}'))
            depth--;
    }
    return most;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *w = json_loadb((const char *)data, size, JSON_DECODE_ANY, NULL);
    char *text = malloc(size + 1);
    json_problem p = {0};
    json_ids ids = {0};
    json_tree t;
    bool fine;

    must(text != NULL);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    fine = json_parse(text, size, &t);
    /* jansson takes a byte 0 for the end of the text. */
    if (depth_of((const char *)data, size) <= 32 && !memchr(data, 0, size))
        must(fine == (w != NULL));
    must(fine || (t.fault && t.at >= 1 && t.at <= size + 1));
    if (fine && w)
        check_same(t.root, w);
    if (fine && !json_read_ids(t.root, "history", true, &ids, &p))
        must(p.code && p.text[0]);
    for (size_t i = 0; i < ids.count; i++)
        must(ids.at[i] && ids.at[i][0] && (!ids.weights || isfinite(ids.weights[i])));
    json_ids_free(&ids);
    json_tree_free(&t);
    json_decref(w);
    free(text);
    return 0;
}
