#include "gauges.h"

/* Upper bounds in seconds; a list takes some hundred microseconds. */
static const double bounds[GAUGE_BUCKETS] = {
    .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5};

static void add(atomic_ullong *counter, unsigned long long by)
{
    atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

static unsigned long long read_counter(const atomic_ullong *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void gauges_count(gauges *g, int route, int status, double seconds)
{
    gauge_route *r = &g->route[route];
    int bucket = 0, class = status / 100 - 1;

    while (bucket < GAUGE_BUCKETS && seconds > bounds[bucket])
        bucket++;
    add(&r->bucket[bucket], 1);
    add(&r->status[class >= 0 && class < GAUGE_CLASSES ? class : GAUGE_CLASSES - 1], 1);
    add(&r->nanoseconds, (unsigned long long)(seconds * 1e9));
}

static void put_head(bytes *to, const char *name, const char *type, const char *help)
{
    bytes_format(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void gauges_put(bytes *to, const char *name, const char *type, const char *help,
                double value)
{
    put_head(to, name, type, help);
    bytes_format(to, "%s %.15g\n", name, value);
}

static void put_requests(const gauge_route *r, bytes *to)
{
    for (int i = 0; i < GAUGE_CLASSES; i++)
        if (read_counter(&r->status[i]))
            bytes_format(
                to,
                "ease_requests_total{route=\"%s\",method=\"%s\",status=\"%dxx\"} "
                "%llu\n",
                r->name, r->method, i + 1, read_counter(&r->status[i]));
}

static void put_histogram(const gauge_route *r, bytes *to)
{
    static const char name[] = "ease_request_seconds";
    unsigned long long sum = 0;

    for (int i = 0; i <= GAUGE_BUCKETS; i++)
        sum += read_counter(&r->bucket[i]);
    if (sum == 0)
        return;
    sum = 0;
    for (int i = 0; i < GAUGE_BUCKETS; i++) {
        sum += read_counter(&r->bucket[i]);
        bytes_format(to, "%s_bucket{route=\"%s\",method=\"%s\",le=\"%g\"} %llu\n", name,
                     r->name, r->method, bounds[i], sum);
    }
    sum += read_counter(&r->bucket[GAUGE_BUCKETS]);
    bytes_format(to,
                 "%s_bucket{route=\"%s\",method=\"%s\",le=\"+Inf\"} %llu\n"
                 "%s_sum{route=\"%s\",method=\"%s\"} %.9g\n"
                 "%s_count{route=\"%s\",method=\"%s\"} %llu\n",
                 name, r->name, r->method, sum, name, r->name, r->method,
                 (double)read_counter(&r->nanoseconds) * 1e-9, name, r->name, r->method,
                 sum);
}

void gauges_write(const gauges *g, bytes *to)
{
    put_head(to, "ease_requests_total", "counter", "Requests that were answered.");
    for (int i = 0; i < GAUGE_ROUTES; i++)
        if (g->route[i].name)
            put_requests(&g->route[i], to);
    put_head(to, "ease_request_seconds", "histogram",
             "Time from the header of a request to its answer.");
    for (int i = 0; i < GAUGE_ROUTES; i++)
        if (g->route[i].name)
            put_histogram(&g->route[i], to);
    gauges_put(to, "ease_refused_total", "counter",
               "Requests refused before routing: malformed, or from elsewhere.",
               (double)read_counter(&g->refused));
    gauges_put(to, "ease_late_connections_total", "counter",
               "Connections closed because their time was up.",
               (double)read_counter(&g->late));
    gauges_put(to, "ease_reloads_total", "counter", "Models that were swapped in.",
               (double)read_counter(&g->reloads));
    gauges_put(to, "ease_reload_failures_total", "counter",
               "Model files that were refused.",
               (double)read_counter(&g->reload_failures));
    gauges_put(to, "ease_feedback_events_total", "counter",
               "Events of feedback that were acknowledged.",
               (double)read_counter(&g->events));
    gauges_put(to, "ease_feedback_duplicates_total", "counter",
               "Events of feedback that had been acknowledged before.",
               (double)read_counter(&g->duplicates));
}
