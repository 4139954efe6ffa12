/* Counters, gauges and histograms of latencies, written as Prometheus text. */
#ifndef EASE_SERVER_GAUGES_H
#define EASE_SERVER_GAUGES_H

#include <stdatomic.h>

#include "bytes.h"

enum { GAUGE_ROUTES = 32, GAUGE_BUCKETS = 14, GAUGE_CLASSES = 5 };

/* The requests of one route. */
typedef struct gauge_route {
    const char *name; /* "/v1/items/{id}"; NULL: unused */
    const char *method;
    atomic_ullong status[GAUGE_CLASSES];     /* 1xx .. 5xx */
    atomic_ullong bucket[GAUGE_BUCKETS + 1]; /* the last: slower than all bounds */
    atomic_ullong nanoseconds;
} gauge_route;

typedef struct gauges {
    gauge_route route[GAUGE_ROUTES];
    atomic_ullong reloads, reload_failures;
    atomic_ullong late;       /* connections closed at a deadline */
    atomic_ullong refused;    /* requests refused before routing */
    atomic_ullong events;     /* of feedback that were accepted */
    atomic_ullong duplicates; /* of feedback that were known */
} gauges;

void gauges_count(gauges *g, int route, int status, double seconds);

/* Writes one sample with its HELP and TYPE lines; `type`: "counter" or "gauge". */
void gauges_put(bytes *to, const char *name, const char *type, const char *help,
                double value);
/* Writes the counters and histograms of `g`. */
void gauges_write(const gauges *g, bytes *to);

#endif
