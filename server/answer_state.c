/* GET /healthz, /readyz and /metrics, and POST /v1/reload. */
#include <stdio.h>
#include <unistd.h>

#include "json.h"
#include "service.h"

static void put_state(request *r, const char *state)
{
    json_writer w = {.to = &r->answer};

    put_open(&w, NULL, '{');
    put_text(&w, "status", state);
    put_close(&w, '}');
    bytes_put(&r->answer, "\n", 1);
}

bool answer_alive(request *r)
{
    put_state(r, "ok");
    return true;
}

bool answer_ready(request *r)
{
    const service *s = r->service;

    if (atomic_load(&s->draining))
        problem_note(&r->problem, PROBLEM_busy, "the server is stopping");
    else
        put_state(r, "ready");
    return true;
}

/* ---- metrics --------------------------------------------------------------------- */

/* Resident bytes of the process, from /proc. */
static double resident_bytes(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    long pages = 0;

    if (!f)
        return 0;
    if (fscanf(f, "%*s %ld", &pages) != 1) // NOLINT(cert-err34-c): the kernel's number
        pages = 0;
    fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void put_models(service *s, bytes *to)
{
    bytes_text(to,
               "# HELP ease_model_generation Number of models that were served from "
               "this file.\n# TYPE ease_model_generation gauge\n");
    for (int i = 0; i < s->station_count; i++) {
        snapshot *of = station_current(&s->stations[i]);

        if (of)
            bytes_format(to, "ease_model_generation{model=\"%s\"} %lld\n",
                         s->stations[i].name, (long long)of->generation);
        snapshot_release(of);
    }
}

static void put_journal(service *s, bytes *to)
{
    journal_status j;

    if (!s->journal)
        return;
    journal_describe(s->journal, &j);
    gauges_put(to, "ease_journal_sequence", "counter",
               "Events of the journal that are on the disk.", (double)j.last);
    gauges_put(to, "ease_journal_bytes", "gauge", "Size of the journal.",
               (double)j.bytes);
    gauges_put(to, "ease_journal_waiting_bytes", "gauge",
               "Events that wait to be written.", (double)j.waiting);
    gauges_put(to, "ease_journal_syncs_total", "counter",
               "Times the journal was synced.", (double)j.syncs);
    gauges_put(to, "ease_journal_failed", "gauge",
               "1: nothing is written until a restart.", j.state == JOURNAL_FAILED);
}

static void put_users(service *s, bytes *to)
{
    users_info u;

    if (!s->users)
        return;
    users_describe(s->users, &u);
    gauges_put(to, "ease_users", "gauge", "Known users with a history.",
               (double)u.users);
    gauges_put(to, "ease_users_changed", "gauge",
               "Users whose feedback the model does not include.", (double)u.changed);
}

static void put_connections(const service *s, bytes *to)
{
    gauges_put(to, "ease_connections", "gauge", "Open connections.",
               http_connections(s->http));
    bytes_text(to, "# HELP ease_thread_connections Open connections of each thread.\n"
                   "# TYPE ease_thread_connections gauge\n");
    for (int i = 0; i < http_threads(s->http); i++)
        bytes_format(to, "ease_thread_connections{thread=\"%d\"} %d\n", i,
                     http_connections_of_thread(s->http, i));
}

bool answer_metrics(request *r)
{
    service *s = r->service;
    bytes *to = &r->answer;

    r->type = "text/plain; version=0.0.4";
    gauges_write(&s->gauges, to);
    put_models(s, to);
    put_connections(s, to);
    gauges_put(to, "ease_requests_in_progress", "gauge",
               "Requests that are being answered.", http_busy(s->http));
    gauges_put(to, "ease_queue_length", "gauge", "Long requests that wait.",
               workers_waiting(s->workers));
    gauges_put(to, "ease_memory_bytes", "gauge", "Resident memory of the process.",
               resident_bytes());
    put_journal(s, to);
    put_users(s, to);
    return true;
}

/* ---- reloading ------------------------------------------------------------------- */

static void reloaded(void *data, const problem *p)
{
    request *r = data;
    service *s = r->service;
    json_writer w = {.to = &r->answer};
    snapshot *of = station_current(&s->stations[service_first_reloaded(s)]);

    r->problem = *p;
    put_open(&w, NULL, '{');
    put_count(&w, "generation", of ? of->generation : 0);
    put_close(&w, '}');
    bytes_put(&r->answer, "\n", 1);
    snapshot_release(of);
    http_finish(r);
}

/* A body is not needed, but may be {}. */
static bool check_empty(request *r)
{
    static const char *const none[] = {NULL};
    json_t *body = NULL;
    bool fine = r->length == 0 ||
                (json_parse_body(r->body, r->length, &body, &r->problem) &&
                 json_check_members(body, none, &r->problem));

    json_decref(body);
    return fine;
}

bool answer_reload(request *r)
{
    service *s = r->service;

    if (!check_empty(r))
        return true;
    if (service_first_reloaded(s) == s->station_count) {
        problem_note(&r->problem, PROBLEM_not_possible,
                     "the model is updated by feedback (--live): restart the server to "
                     "serve another file");
        return true;
    }
    if (reloader_ask(s->reloader, reloaded, r))
        return false;
    problem_note_memory(&r->problem);
    return true;
}
