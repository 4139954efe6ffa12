/* The body of every request that has one: the first byte chooses the route. Answers
 * must be JSON, and errors must have their one shape. */
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "service.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- what http.c is in the server --------------------------------------------------- */

void request_add_header(request *r, const char *name, const char *value)
{
    (void)r;
    (void)name;
    (void)value;
}

const char *request_header(const request *r, const char *name)
{
    (void)r;
    (void)name;
    return NULL;
}

bool request_is_late(request *r)
{
    (void)r;
    return false;
}

void http_finish(request *r)
{
    r->status = 200;
}

int http_connections(http *h)
{
    (void)h;
    return 0;
}

int http_threads(const http *h)
{
    (void)h;
    return 0;
}

int http_connections_of_thread(http *h, int thread)
{
    (void)h;
    (void)thread;
    return 0;
}

int http_busy(http *h)
{
    (void)h;
    return 0;
}

/* ---- what journal.c is ------------------------------------------------------------- */

ease_status journal_submit(journal *j, const journal_event *events, int64_t count,
                           journal_done done, void *user, ease_error *err)
{
    const journal_receipt receipt = {.accepted = count, .sequence = 1};

    (void)j;
    for (int64_t i = 0; i < count; i++) {
        ease_status status = journal_check_event(&events[i], err);

        if (status)
            return status;
    }
    done(user, EASE_OK, &receipt, NULL);
    return EASE_OK;
}

bool journal_is_full(const ease_error *err)
{
    (void)err;
    return false;
}

void journal_describe(journal *j, journal_status *out)
{
    (void)j;
    *out = (journal_status){.last = 1};
}

/* ---- what reload.c is -------------------------------------------------------------- */

bool reloader_ask(reloader *r, reload_done *done, void *data)
{
    const problem p = {.code = PROBLEM_NONE};

    (void)r;
    done(data, &p);
    return true;
}

/* ---- a service ------------------------------------------------------------------- */

static ease_status add_view(void *user, snapshot *s, ease_error *err)
{
    const service *v = user;
    users_view *view = NULL;
    ease_status status = users_view_new(v->users, s->model, &view, err);

    s->extra = view;
    return status;
}

static ease_interactions *draw(void)
{
    ease_synth_options o;
    ease_interactions *x = NULL;

    ease_synth_options_init(&o);
    o.users = 40;
    o.items = 12;
    o.interactions = 150;
    if (ease_interactions_synth(&o, &x, NULL))
        abort();
    return x;
}

/* The tags of the items: side=a or side=b, and for every third one year=0 to year=3. */
static void give_tags(ease_model *m)
{
    char items[400], tags[400];
    int64_t item_ends[50] = {0}, tag_ends[50] = {0}, rows = 0;
    ease_id_column item = {.bytes = items, .offsets = item_ends};
    ease_id_column tag = {.bytes = tags, .offsets = tag_ends};
    ease_tags *t = NULL;

    for (int32_t i = 0; i < ease_model_items(m); i++)
        for (int kind = 0; kind < (i % 3 ? 1 : 2); kind++, rows++) {
            item_ends[rows + 1] = item_ends[rows] + sprintf(items + item_ends[rows],
                                                            "%s",
                                                            ease_model_item_id(m, i));
            tag_ends[rows + 1] =
                tag_ends[rows] +
                (kind ? sprintf(tags + tag_ends[rows], "year=%d", i / 3)
                      : sprintf(tags + tag_ends[rows], "side=%c", i % 2 ? 'a' : 'b'));
        }
    if (ease_tags_from_table(rows, &item, &tag, NULL, NULL, &t, NULL) ||
        ease_model_set_tags(m, t, NULL, NULL))
        abort();
    ease_tags_free(t);
}

static ease_model *train(void)
{
    ease_interactions *x = draw();
    ease_train_options o;
    ease_model *m = NULL;

    ease_train_options_init(&o);
    o.lambda = 2;
    if (ease_train(x, &o, &m, NULL))
        abort();
    ease_interactions_free(x);
    give_tags(m);
    return m;
}

static service *make_service(void)
{
    static service s = {.limits = {20, 4, 50, 10, 1 << 20}, .station_count = 1};
    static char nothing;
    users_options options = {.weights = 0};

    s.journal = (journal *)(void *)&nothing;
    s.stations[0] = (station){.name = "main", .complete = add_view, .user = &s};
    station_init(&s.stations[0]);
    if (users_new(draw(), &options, &s.users, NULL) ||
        station_serve(&s.stations[0], train(), NULL))
        abort();
    return &s;
}

static void check_answer(request *r)
{
    json_t *value;

    if (r->problem.code) {
        if (!r->problem.text[0])
            abort();
        return;
    }
    value = json_loadb(r->answer.at, r->answer.length, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(value) || r->answer.failed)
        abort();
    json_decref(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool (*const answers[])(request *) = {answer_recommend, answer_explain,
                                                 answer_feedback, answer_reload};
    static service *s;
    request r = {.length = size - 1};

    if (size == 0)
        return 0;
    if (!s)
        s = make_service();
    r.service = s;
    r.body = (const char *)data + 1;
    (void)recommend_waits(&r);
    if (!answers[data[0] % 4](&r) && r.status != 200)
        abort();
    check_answer(&r);
    bytes_free(&r.answer);
    arena_free(&r.memory);
    return 0;
}
