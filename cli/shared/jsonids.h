/* What requests in JSON consist of: members, numbers, ids. Names and rules are those of
 * the server (docs/server.md). */
#ifndef EASE_CLI_SHARED_JSONIDS_H
#define EASE_CLI_SHARED_JSONIDS_H

#include "jsontree.h"

/* Why a request has no answer. Starts as {0}. */
typedef struct json_problem {
    const char *code; /* "bad_value"; NULL: there is none */
    char text[600];
} json_problem;

/* Notes a problem. Returns false. */
bool json_note(json_problem *p, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool json_note_memory(json_problem *p);

/* Every function below returns false after noting a problem. A member that is absent
 * leaves its value as it is; null is no value of any member. */

/* Checks that an object has only these members, each once; the list ends with NULL. */
bool json_check_members(const json_value *o, const char *const *names, json_problem *p);
/* The member of an object; NULL: there is none. */
json_value *json_member(const json_value *o, const char *name);

bool json_take_count(const json_value *o, const char *name, int64_t least, int64_t most,
                     int64_t *value, json_problem *p);
bool json_take_number(const json_value *o, const char *name, double least, double most,
                      double *value, json_problem *p);
bool json_take_flag(const json_value *o, const char *name, int *value, json_problem *p);

/* Ids, or other texts. Free with json_ids_free. */
typedef struct json_ids {
    const char **at; /* borrowed from the tree */
    float *weights;  /* NULL: all 1 */
    size_t count;
    bool given; /* the member was there */
} json_ids;

void json_ids_free(json_ids *l);
/* Takes a list of strings that are not empty. */
bool json_take_texts(const json_value *o, const char *name, json_ids *out,
                     json_problem *p);
/* Reads an id: a string, an integer (its digits) or {"id_base64": "..."}. `where` is
 * for messages. The value may be changed, and is read once only. */
bool json_read_id(json_value *v, const char *where, const char **id, json_problem *p);
bool json_take_id(const json_value *o, const char *name, const char **id,
                  json_problem *p);
/* Takes a list of ids. If `weighted`, {"id": ..., "weight": ...} is an entry too, and
 * the list may be an object from ids to weights: {"express": 1, "mongoose": 2}. */
bool json_take_ids(const json_value *o, const char *name, bool weighted, json_ids *out,
                   json_problem *p);
/* The same for a value that is no member. */
bool json_read_ids(json_value *list, const char *name, bool weighted, json_ids *out,
                   json_problem *p);

#endif
