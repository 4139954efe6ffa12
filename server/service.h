/* Everything that the handlers of requests use. */
#ifndef EASE_SERVER_SERVICE_H
#define EASE_SERVER_SERVICE_H

#include "http.h"
#include "journal.h"
#include "live.h"
#include "reload.h"
#include "snapshot.h"
#include "users.h"

/* Limits on what one request may ask for. */
typedef struct service_limits {
    int64_t k, batch, ids, events;
    size_t answer; /* bytes of lists */
} service_limits;

typedef struct service {
    station stations[MOST_STATIONS]; /* "main", "compare" */
    int station_count;
    users *users;     /* NULL: no user is known */
    journal *journal; /* NULL: no feedback */
    live *live;       /* NULL: models change with their files only */
    gauges gauges;
    workers *workers;
    reloader *reloader;
    http *http;
    service_limits limits;
    atomic_bool draining;
    atomic_bool journal_failed; /* and the log says so */
} service;

/* The snapshot that a request names by "main" or "compare" (NULL: main), to be
 * released. NULL after noting a problem. */
snapshot *service_snapshot(service *s, const char *model, problem *p);

/* The first of the stations whose files are loaded again: a model that is updated by
 * feedback is not. station_count: there is none. */
int service_first_reloaded(const service *s);

/* The routes, by their numbers; the last has no method. */
extern const http_route service_routes[];
int service_find(const target *t, const char *method, const char **allow, problem *p);

/* The functions of the routes, each in answer_*.c. */
#define ANSWER(name) bool answer_##name(request *r)
ANSWER(page);
ANSWER(openapi);
ANSWER(recommend);
ANSWER(explain);
ANSWER(search);
ANSWER(item);
ANSWER(similar);
ANSWER(model);
ANSWER(feedback);
ANSWER(reload);
ANSWER(alive);
ANSWER(ready);
ANSWER(metrics);
#undef ANSWER
bool recommend_waits(const request *r);

#endif
