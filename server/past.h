/* The histories and the items of requests and answers. */
#ifndef EASE_SERVER_PAST_H
#define EASE_SERVER_PAST_H

#include "json.h"
#include "service.h"

/* The history that a request names, by ids or by a user. */
typedef struct past {
    ease_row row;
    int64_t user;         /* for models that know their users; else EASE_NO_USER */
    const char **unknown; /* ids that the model does not know */
    int64_t unknown_count;
    ease_history *made;
    users_history copied;
} past;

/* Takes "history" or "user" of an object. Free with past_free, also after a failure. */
bool past_take(service *s, snapshot *of, json_t *o, arena *a, past *out, problem *p);
void past_free(past *p);

/* Writes "id" and "title" of an item into an object. */
void put_item(json_writer *w, const ease_model *m, int32_t item);

#endif
