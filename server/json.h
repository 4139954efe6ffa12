/* Requests and answers in JSON. Ids are strings in UTF-8 or, in requests, integers,
 * which stand for their digits; an id of other bytes travels as id_base64. */
#ifndef EASE_SERVER_JSON_H
#define EASE_SERVER_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "bytes.h"
#include "problem.h"

/* ---- writing --------------------------------------------------------------------- */

/* A writer, which adds commas. A key is NULL within an array. Numbers have as many
 * digits as they need to be read back with the same bits. */
typedef struct json_writer {
    bytes *to;
    bool comma;
} json_writer;

void put_open(json_writer *w, const char *key, char bracket);
void put_close(json_writer *w, char bracket);
/* Writes a string, NULL as null; bytes that are not UTF-8 become U+FFFD. */
void put_text(json_writer *w, const char *key, const char *value);
/* Writes an id: a string, or under KEY_base64 if it is not UTF-8; within an array then
 * an object {"id_base64": ...}. */
void put_id(json_writer *w, const char *key, const char *id);
void put_count(json_writer *w, const char *key, int64_t value);
void put_float(json_writer *w, const char *key, float value);   /* not finite: null */
void put_number(json_writer *w, const char *key, double value); /* not finite: null */
void put_bool(json_writer *w, const char *key, bool value);
/* Writes "error": {"code": ..., "message": ...} into an object. */
void put_problem(json_writer *w, const problem *p);

/* ---- reading --------------------------------------------------------------------- */

/* Every function returns false after noting a problem. A member that is absent
 * leaves its value as it is; null is no value of any member. */

/* Parses a body, which must be an object without duplicate keys. Free with
 * json_decref. */
bool json_parse_body(const char *body, size_t length, json_t **out, problem *p);
/* Checks that the object has only these members; the list ends with NULL. */
bool json_check_members(json_t *o, const char *const *names, problem *p);

bool json_take_count(json_t *o, const char *name, int64_t least, int64_t most,
                     int64_t *value, problem *p);
bool json_take_number(json_t *o, const char *name, double least, double most,
                      double *value, problem *p);
bool json_take_flag(json_t *o, const char *name, bool *value, problem *p);
bool json_take_text(json_t *o, const char *name, const char **value, problem *p);
/* Takes a list of strings. */
bool json_take_texts(json_t *o, const char *name, int64_t most, arena *a,
                     const char ***values, int64_t *count, problem *p);

/* An id: borrowed from the JSON value, or made in the arena. `where` is for
 * messages. */
bool json_read_id(json_t *value, const char *where, arena *a, const char **id,
                  problem *p);
bool json_take_id(json_t *o, const char *name, arena *a, const char **id, problem *p);

typedef struct id_list {
    const char **at;
    float *weights; /* NULL: all 1 */
    int64_t count;
    bool given; /* the member was there */
} id_list;

/* Takes a list of ids; if `weighted`, of {"id": ..., "weight": ...} too. */
bool json_take_ids(json_t *o, const char *name, int64_t most, bool weighted, arena *a,
                   id_list *out, problem *p);

#endif
