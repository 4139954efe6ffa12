#include "jsonids.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool json_note(json_problem *p, const char *code, const char *fmt, ...)
{
    va_list args;

    p->code = code;
    va_start(args, fmt);
    vsnprintf(p->text, sizeof(p->text), fmt, args);
    va_end(args);
    return false;
}

bool json_note_memory(json_problem *p)
{
    return json_note(p, "busy", "out of memory");
}

/* ---- members --------------------------------------------------------------------- */

json_value *json_member(const json_value *o, const char *name)
{
    for (json_value *v = o->as.list.first; v; v = v->next)
        if (strcmp(v->key, name) == 0)
            return v;
    return NULL;
}

/* Writes "history, user, k" for a message. */
static void join_names(const char *const *names, char *to, size_t size)
{
    size_t put = 0;

    to[0] = '\0';
    for (size_t i = 0; names[i] && put < size; i++)
        put += (size_t)snprintf(to + put, size - put, "%s%s", i ? ", " : "", names[i]);
}

bool json_check_members(const json_value *o, const char *const *names, json_problem *p)
{
    uint64_t had = 0;
    char known[300];

    for (const json_value *v = o->as.list.first; v; v = v->next) {
        size_t i = 0;

        while (names[i] && strcmp(names[i], v->key) != 0)
            i++;
        if (!names[i]) {
            join_names(names, known, sizeof(known));
            return json_note(p, "bad_value",
                             "there is no member \"%.60s\" here: there are %s", v->key,
                             known);
        }
        if (had >> i & 1)
            return json_note(p, "bad_json", "the key \"%s\" occurs twice", names[i]);
        had |= (uint64_t)1 << i;
    }
    return true;
}

bool json_take_count(const json_value *o, const char *name, int64_t least, int64_t most,
                     int64_t *value, json_problem *p)
{
    const json_value *v = json_member(o, name);
    int64_t number;

    if (!v)
        return true;
    if (v->kind == TREE_NUMBER && v->as.number.digits[0]) {
        number = strtoll(v->as.number.digits, NULL, 10);
        if (number >= least && number <= most) {
            *value = number;
            return true;
        }
    }
    return json_note(p, "bad_value",
                     "\"%.60s\" must be a whole number from %" PRId64 " to %" PRId64,
                     name, least, most);
}

bool json_take_number(const json_value *o, const char *name, double least, double most,
                      double *value, json_problem *p)
{
    const json_value *v = json_member(o, name);

    if (!v)
        return true;
    if (v->kind != TREE_NUMBER || !(v->as.number.value >= least) ||
        !(v->as.number.value <= most))
        return json_note(p, "bad_value", "\"%s\" must be a number from %g to %g", name,
                         least, most);
    *value = v->as.number.value;
    return true;
}

bool json_take_flag(const json_value *o, const char *name, int *value, json_problem *p)
{
    const json_value *v = json_member(o, name);

    if (!v)
        return true;
    if (v->kind != TREE_TRUE && v->kind != TREE_FALSE)
        return json_note(p, "bad_value", "\"%s\" must be true or false", name);
    *value = v->kind == TREE_TRUE;
    return true;
}

/* ---- ids ------------------------------------------------------------------------- */

void json_ids_free(json_ids *l)
{
    free((void *)l->at);
    free(l->weights);
    *l = (json_ids){0};
}

static bool read_base64(json_value *v, const char *where, const char **id,
                        json_problem *p)
{
    if (v->kind != TREE_STRING || !json_decode_base64(v->as.text))
        return json_note(p, "bad_value",
                         "%s: \"id_base64\" must be one or more bytes other than 0 in "
                         "base64, with its padding",
                         where);
    *id = v->as.text;
    return true;
}

bool json_read_id(json_value *v, const char *where, const char **id, json_problem *p)
{
    if (v->kind == TREE_STRING && v->as.text[0]) {
        *id = v->as.text;
        return true;
    }
    if (v->kind == TREE_NUMBER && v->as.number.digits[0]) {
        *id = v->as.number.digits;
        return true;
    }
    if (v->kind == TREE_OBJECT && v->as.list.count == 1 && json_member(v, "id_base64"))
        return read_base64(json_member(v, "id_base64"), where, id, p);
    return json_note(p, "bad_value",
                     "%s must be an id: a non-empty string, an integer or "
                     "{\"id_base64\": \"...\"}",
                     where);
}

bool json_take_id(const json_value *o, const char *name, const char **id,
                  json_problem *p)
{
    json_value *v = json_member(o, name);
    char where[80];

    snprintf(where, sizeof(where), "\"%s\"", name);
    return !v || json_read_id(v, where, id, p);
}

/* {"id": ..., "weight": ...} or {"id_base64": ..., "weight": ...} */
static bool read_weighted(json_value *o, const char *where, const char **id,
                          double *weight, json_problem *p)
{
    static const char *const members[] = {"id", "id_base64", "weight", NULL};
    json_value *plain = json_member(o, "id"), *coded = json_member(o, "id_base64");

    if (!json_check_members(o, members, p) ||
        !json_take_number(o, "weight", -1e30, 1e30, weight, p))
        return false;
    if (!plain == !coded)
        return json_note(p, "bad_value", "%s must have either \"id\" or \"id_base64\"",
                         where);
    return coded ? read_base64(coded, where, id, p) : json_read_id(plain, where, id, p);
}

/* A member of {"express": 1, "mongoose": 2}. */
static bool read_pair(json_value *v, const char *where, const char **id, double *weight,
                      json_problem *p)
{
    if (!v->key[0])
        return json_note(p, "bad_value", "%s has an empty id", where);
    if (v->kind != TREE_NUMBER || !(fabs(v->as.number.value) <= 1e30))
        return json_note(p, "bad_value", "%s: the weight must be a number within 1e30",
                         where);
    *id = v->key;
    *weight = v->as.number.value;
    return true;
}

static bool make_list(const json_value *list, json_ids *out, json_problem *p)
{
    out->given = true;
    out->at = calloc(list->as.list.count + 1, sizeof(*out->at));
    out->weights = calloc(list->as.list.count + 1, sizeof(*out->weights));
    return (out->at && out->weights) || json_note_memory(p);
}

static bool is_pairs(const json_value *list)
{
    return list->kind == TREE_OBJECT;
}

static int compare_texts(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return strcmp(*x, *y);
}

/* Checks that no id of an object occurs twice. */
static bool check_distinct(const json_ids *l, const char *name, json_problem *p)
{
    const char **sorted = calloc(l->count + 1, sizeof(*sorted));
    bool fine = true;

    if (!sorted)
        return json_note_memory(p);
    memcpy(sorted, l->at, l->count * sizeof(*sorted));
    qsort(sorted, l->count, sizeof(*sorted), compare_texts);
    for (size_t i = 1; fine && i < l->count; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            fine = json_note(p, "bad_json", "\"%s\": the key \"%.60s\" occurs twice",
                             name, sorted[i]);
    free(sorted);
    return fine;
}

bool json_read_ids(json_value *list, const char *name, bool weighted, json_ids *out,
                   json_problem *p)
{
    bool any = weighted && is_pairs(list);

    if (list->kind != TREE_ARRAY && !any)
        return json_note(p, "bad_value", "\"%s\" must be a list%s", name,
                         weighted ? ", or an object from ids to weights" : "");
    if (!make_list(list, out, p))
        return false;
    for (json_value *v = list->as.list.first; v; v = v->next) {
        double weight = 1;
        bool fine, entry = weighted && v->kind == TREE_OBJECT;
        char where[100];

        snprintf(where, sizeof(where), "\"%s\": entry %zu", name, out->count);
        any = any || (entry && json_member(v, "weight"));
        fine = is_pairs(list) ? read_pair(v, where, &out->at[out->count], &weight, p)
               : entry ? read_weighted(v, where, &out->at[out->count], &weight, p)
                       : json_read_id(v, where, &out->at[out->count], p);
        if (!fine)
            return false;
        out->weights[out->count++] = (float)weight;
    }
    if (!any) {
        free(out->weights);
        out->weights = NULL;
    }
    return !is_pairs(list) || check_distinct(out, name, p);
}

bool json_take_ids(const json_value *o, const char *name, bool weighted, json_ids *out,
                   json_problem *p)
{
    json_value *v = json_member(o, name);

    return !v || json_read_ids(v, name, weighted, out, p);
}

bool json_take_texts(const json_value *o, const char *name, json_ids *out,
                     json_problem *p)
{
    json_value *list = json_member(o, name);

    if (!list)
        return true;
    if (list->kind != TREE_ARRAY)
        return json_note(p, "bad_value", "\"%s\" must be a list", name);
    if (!make_list(list, out, p))
        return false;
    for (json_value *v = list->as.list.first; v; v = v->next) {
        if (v->kind != TREE_STRING || !v->as.text[0])
            return json_note(p, "bad_value",
                             "\"%s\": entry %zu must be a non-empty string", name,
                             out->count);
        out->at[out->count++] = v->as.text;
    }
    return true;
}
