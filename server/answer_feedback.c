/* POST /v1/feedback: events, acknowledged when they are on the disk. */
#include <float.h>
#include <math.h>
#include <time.h>

#include "json.h"
#include "log.h"
#include "service.h"

static const char *const members[] = {"events", NULL};
static const char *const event_members[] = {"user",   "item",     "weight",
                                            "remove", "event_id", NULL};

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool take_event(json_t *o, arena *a, journal_event *e, problem *p)
{
    double weight = NAN;
    bool removes = false;

    if (!json_is_object(o))
        return problem_note(p, PROBLEM_bad_value, "an event must be a JSON object");
    if (!json_check_members(o, event_members, p) ||
        !json_take_id(o, "user", a, &e->user, p) ||
        !json_take_id(o, "item", a, &e->item, p) ||
        !json_take_number(o, "weight", -1e30, 1e30, &weight, p) ||
        !json_take_flag(o, "remove", &removes, p) ||
        !json_take_text(o, "event_id", &e->event_id, p))
        return false;
    if (!e->user || !e->item)
        return problem_note(p, PROBLEM_bad_value,
                            "an event needs a \"user\" and an \"item\"");
    if (removes && !isnan(weight))
        return problem_note(p, PROBLEM_bad_value,
                            "an event has either a \"weight\" or \"remove\"");
    e->kind = removes ? JOURNAL_REMOVE : JOURNAL_SET;
    e->weight = isnan(weight) ? 1 : (float)weight;
    if (weight != 0 && e->weight == 0) /* too small for a float */
        e->weight = copysignf(FLT_MIN, (float)weight);
    if (!removes && weight == 0)
        return problem_note(p, PROBLEM_bad_value,
                            "a \"weight\" must not be 0: \"remove\": true removes the "
                            "item");
    return true;
}

/* "event 3: ..." */
static bool name_event(const problem *inner, size_t number, problem *p)
{
    return problem_note(p, inner->code, "event %zu: %.500s", number, inner->text);
}

static bool take_events(request *r, json_t *list, journal_event **out)
{
    size_t count = json_array_size(list);
    int64_t now = now_ms();

    *out = arena_take_array(&r->memory, count + 1, sizeof(**out));
    if (!*out)
        return problem_note_memory(&r->problem);
    for (size_t i = 0; i < count; i++) {
        problem p = {.code = PROBLEM_NONE};

        (*out)[i].time = now;
        if (!take_event(json_array_get(list, i), &r->memory, &(*out)[i], &p))
            return name_event(&p, i, &r->problem);
    }
    return true;
}

/* ---- the journal ----------------------------------------------------------------- */

/* The journal has failed for good, whatever the error was: a disk that was full at a
 * sync, for example, may have lost what was written. */
static bool note_end(service *s, problem *p, const ease_error *err)
{
    if (!atomic_exchange(&s->journal_failed, true))
        log_line(LOG_ERROR, "%s; nothing more is written until a restart", err->text);
    return problem_note(p, PROBLEM_journal_failed,
                        "%s: feedback is accepted again after a restart of the server",
                        err->text);
}

static bool note_failure(service *s, problem *p, ease_status status,
                         const ease_error *err)
{
    journal_status now;

    if (status == EASE_E_ARG)
        return problem_note(p, PROBLEM_bad_value, "%s", err->text);
    if (status == EASE_E_TOO_LARGE)
        return problem_note(p, PROBLEM_too_large, "%s", err->text);
    journal_describe(s->journal, &now);
    if (now.state == JOURNAL_FAILED)
        return note_end(s, p, &now.error);
    if (journal_is_full(err))
        return problem_note(p, PROBLEM_disk_full, "%s", err->text);
    return status == EASE_E_NOMEM ? problem_note_memory(p)
                                  : problem_note(p, PROBLEM_busy, "%s", err->text);
}

static void written(void *data, ease_status status, const journal_receipt *receipt,
                    const ease_error *err)
{
    request *r = data;
    service *s = r->service;
    json_writer w = {.to = &r->answer};

    if (status || !receipt) {
        note_failure(s, &r->problem, status, err);
    } else {
        atomic_fetch_add(&s->gauges.events, (unsigned long long)receipt->accepted);
        atomic_fetch_add(&s->gauges.duplicates,
                         (unsigned long long)receipt->duplicates);
        put_open(&w, NULL, '{');
        put_count(&w, "accepted", receipt->accepted);
        put_count(&w, "duplicates", receipt->duplicates);
        put_count(&w, "sequence", (int64_t)receipt->sequence);
        put_close(&w, '}');
        bytes_put(&r->answer, "\n", 1);
    }
    http_finish(r);
}

/* Returns true if the answer is complete, which is then an error. */
static bool submit(request *r, json_t *body)
{
    service *s = r->service;
    json_t *list = json_object_get(body, "events");
    journal_event *events = NULL;
    ease_error err = {0};
    ease_status status;

    if (!json_check_members(body, members, &r->problem))
        return true;
    if (!json_is_array(list) || json_array_size(list) == 0)
        return !problem_note(&r->problem, PROBLEM_bad_value,
                             "\"events\" must be a list of one event or more");
    if (json_array_size(list) > (size_t)s->limits.events)
        return !problem_note(&r->problem, PROBLEM_too_large,
                             "\"events\" has %zu entries; at most %lld are allowed",
                             json_array_size(list), (long long)s->limits.events);
    if (!take_events(r, list, &events))
        return true;
    status = journal_submit(s->journal, events, (int64_t)json_array_size(list), written,
                            r, &err);
    return status ? !note_failure(s, &r->problem, status, &err) : false;
}

bool answer_feedback(request *r)
{
    const service *s = r->service;
    json_t *body = NULL;
    bool complete = true;

    if (!s->journal)
        return !problem_note(&r->problem, PROBLEM_no_journal,
                             "this server takes no feedback: start it with --journal");
    if (json_parse_body(r->body, r->length, &body, &r->problem))
        complete = submit(r, body);
    json_decref(body);
    return complete;
}
