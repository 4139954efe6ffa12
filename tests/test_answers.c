/* The functions that answer requests, without HTTP: under failed allocations, and
 * which of them hold no thread of the pool. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service.h"
#include "test.h"

enum { USERS = 40, ITEMS = 30 };

/* ---- a service ------------------------------------------------------------------- */

static ease_status add_view(void *user, snapshot *s, ease_error *err)
{
    const service *v = user;
    users_view *view = NULL;
    ease_status status = users_view_new(v->users, s->model, &view, err);

    s->extra = view;
    return status;
}

static void free_view(void *view)
{
    users_view_free(view);
}

static ease_interactions *draw(int32_t items)
{
    ease_synth_options o;
    ease_interactions *x = NULL;

    ease_synth_options_init(&o);
    o.users = USERS;
    o.items = items;
    o.interactions = 10 * items;
    if (ease_interactions_synth(&o, &x, NULL))
        abort();
    return x;
}

static ease_model *train(const ease_interactions *x, const char *method,
                         const char *settings)
{
    ease_train_options o;
    ease_model *m = NULL;

    ease_train_options_init(&o);
    o.method = method;
    o.settings = settings;
    if (!method)
        o.lambda = 2;
    if (ease_train(x, &o, &m, NULL))
        abort();
    return m;
}

/* Takes over both. */
static void serve(service *s, ease_interactions *x, ease_model *m)
{
    users_options options = {.weights = 0};

    *s = (service){.limits = {1000, 256, 10000, 10, 64 << 20}, .station_count = 1};
    s->stations[0] = (station){.name = "main", .complete = add_view, .user = s};
    station_init(&s->stations[0]);
    if (users_new(x, &options, &s->users, NULL) ||
        station_serve(&s->stations[0], m, NULL))
        abort();
    s->stations[0].current->free_extra = free_view;
}

static void serve_model(service *s, int32_t items)
{
    ease_interactions *x = draw(items);
    ease_model *m = train(x, NULL, NULL), *rows = NULL;

    if (ease_model_convert(m, EASE_STORE_F16, NULL, &rows, NULL))
        abort();
    ease_model_free(m);
    serve(s, x, rows);
}

/* A model of another method, opened from its file. */
static void serve_file(service *s, int32_t items, const char *method,
                       const char *settings)
{
    const char *path = test_path("served.ease");
    ease_interactions *x = draw(items);
    ease_model *m = train(x, method, settings), *opened = NULL;

    if (ease_model_save(m, path, EASE_STORE_F32, NULL, NULL) ||
        ease_model_open(path, NULL, &opened, NULL))
        abort();
    ease_model_free(m);
    serve(s, x, opened);
}

static void end_service(service *s)
{
    station_close(&s->stations[0]);
    users_free(s->users);
}

/* ---- asking ---------------------------------------------------------------------- */

/* The answer needs no memory of its own: what is made for it is last to fail. */
static request ask(service *s, bool (*answer)(request *), const char *body, bool quick,
                   int allocations)
{
    static const char space[1 << 16];
    request r = {.service = s,
                 .body = body,
                 .length = strlen(body),
                 .quick = quick,
                 .expires = 1e300};

    bytes_put(&r.answer, space, sizeof(space));
    r.answer.length = 0;
    alloc_fail_after(allocations);
    answer(&r);
    alloc_fail_after(-1);
    return r;
}

static void end_request(request *r)
{
    bytes_free(&r->answer);
    arena_free(&r->memory);
}

static bool same_answer(const request *a, const request *b)
{
    return a->answer.length == b->answer.length &&
           memcmp(a->answer.at, b->answer.at, a->answer.length) == 0;
}

/* ---- tests ----------------------------------------------------------------------- */

static void check_allocations(test *t, bool (*answer)(request *), const char *body)
{
    bool ended = false;
    int failures = 0;
    service s;
    request whole;

    serve_model(&s, ITEMS);
    whole = ask(&s, answer, body, false, -1);
    check_int(t, whole.problem.code, PROBLEM_NONE);
    for (int n = 0; !ended && n < 1000; n++) {
        request r = ask(&s, answer, body, false, n);
        ended = !r.problem.code && !r.answer.failed;
        if (ended)
            check(t, same_answer(&r, &whole));
        else
            failures++;
        if (r.problem.code)
            check_int(t, problem_status(r.problem.code), 503);
        end_request(&r);
    }
    check(t, ended);
    check(t, failures > 2);
    end_request(&whole);
    end_service(&s);
}

static void without_memory_an_answer_is_whole_or_an_error(test *t)
{
    check_allocations(t, answer_explain,
                      "{\"history\": [\"1\", \"2\"], \"item\": \"3\"}");
    check_allocations(t, answer_explain, "{\"user\": \"1\", \"item\": \"3\"}");
    check_allocations(t, answer_recommend,
                      "{\"history\": [\"1\", \"2\"], \"k\": 5, \"reasons\": 2}");
}

/* A list of the ids 1 to `count`; valid until the next call. */
static const char *ids(int count)
{
    static char text[1 << 16];
    size_t at = 0;

    for (int i = 1; i <= count; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s\"%d\"",
                               i > 1 ? "," : "", i);
    return text;
}

/* Whether a request is left to the second pool, which then makes the answer of one that
 * was made at once. */
static bool is_left(test *t, service *s, const char *body)
{
    request first = ask(s, answer_recommend, body, true, -1);
    request second = ask(s, answer_recommend, body, false, -1);
    bool left = first.later;

    check_int(t, first.problem.code, PROBLEM_NONE);
    check_int(t, second.problem.code, PROBLEM_NONE);
    check(t, !second.later);
    check(t, left || same_answer(&first, &second));
    end_request(&first);
    end_request(&second);
    return left;
}

static void what_takes_long_is_left_to_the_second_pool(test *t)
{
    char body[(1 << 16) + 100];
    service s;

    serve_model(&s, 2500);
    check(t, !is_left(t, &s, "{\"history\": [\"1\", \"2\"]}"));
    check(t, !is_left(t, &s, "{\"history\": [\"1\", \"2\"], \"k\": 1000}"));
    check(t, !is_left(t, &s, "{\"user\": \"1\", \"reasons\": 3}"));

    /* However its member is written. */
    check(t, is_left(t, &s, "{\"requests\": []}"));
    check(t, is_left(t, &s, "{\"\\u0072equests\": [{\"history\": [\"1\"]}]}"));

    snprintf(body, sizeof(body), "{\"history\": [%s]}", ids(1000));
    check(t, !is_left(t, &s, body));
    snprintf(body, sizeof(body), "{\"history\": [%s], \"k\": 1000, \"reasons\": 1}",
             ids(20));
    check(t, is_left(t, &s, body));
    snprintf(body, sizeof(body), "{\"history\": [%s]}", ids(2500));
    check(t, is_left(t, &s, body));
    end_service(&s);
}

/* What they mean is found out there, once: errors too. */
static void filters_are_read_in_the_pool_that_makes_the_list(test *t)
{
    char body[(1 << 16) + 100];
    service s;
    request first, second;

    serve_model(&s, 2500);
    check(t, !is_left(t, &s,
                      "{\"history\": [\"1\"], \"allow\": [\"2\", \"3\"], "
                      "\"deny\": [\"3\"]}"));
    snprintf(body, sizeof(body),
             "{\"history\": [%s], \"k\": 1000, \"only\": [\"genre:jazz\"]}", ids(1000));
    first = ask(&s, answer_recommend, body, true, -1);
    check(t, first.later);
    check_int(t, first.problem.code, PROBLEM_NONE);
    second = ask(&s, answer_recommend, body, false, -1);
    check_int(t, second.problem.code, PROBLEM_no_tags);
    end_request(&first);
    end_request(&second);
    end_service(&s);
}

/* A list of a sparse model reads a few weights of each row; one of a latent model the
 * factors of all items, however short the history is. */
static void the_form_of_a_model_says_what_takes_long(test *t)
{
    char body[(1 << 16) + 100];
    ease_interactions *x;
    service s;

    snprintf(body, sizeof(body), "{\"history\": [%s]}", ids(2500));
    serve_file(&s, 2500, "item-item", NULL);
    check_int(t, s.stations[0].current->info.storage, EASE_STORE_SPARSE);
    check(t, !is_left(t, &s, body));
    end_service(&s);

    serve_file(&s, 2500, "wmf", "rank=8,iterations=1");
    check_int(t, s.stations[0].current->info.storage, EASE_STORE_LATENT);
    check(t, !is_left(t, &s, body));
    end_service(&s);

    serve_file(&s, 2500, "wmf", "rank=500,iterations=1");
    check(t, is_left(t, &s, "{\"history\": [\"1\"]}"));
    end_service(&s);

    x = draw(ITEMS); /* its size is not known */
    serve(&s, x, train(x, "wmf", "rank=8,iterations=1"));
    check(t, is_left(t, &s, "{\"history\": [\"1\"]}"));
    end_service(&s);
}

/* Whether a search is left to the second pool. */
static bool is_search_left(test *t, service *s, const char *text)
{
    bool left = false;

    for (int quick = 1; quick >= 0; quick--) {
        request r = {.service = s,
                     .quick = quick,
                     .target = {.parameter = {{.name = "search", .value = text}},
                                .parameters = 1}};

        check(t, answer_search(&r));
        check_int(t, r.problem.code, PROBLEM_NONE);
        left = left || r.later;
        check(t, quick || !r.later);
        end_request(&r);
    }
    return left;
}

static void searches_for_many_words_are_left_to_the_second_pool(test *t)
{
    ease_interactions *x = draw(30000);
    service s;

    serve(&s, x, train(x, "popularity", NULL));
    check(t, !is_search_left(t, &s, ""));
    check(t, !is_search_left(t, &s, "a"));
    check(t, !is_search_left(t, &s, "11 1"));
    check(t, is_search_left(t, &s, "1 2 3 4 5"));
    end_service(&s);
    serve_model(&s, ITEMS);
    check(t, !is_search_left(t, &s, "1 2 3 4 5 6 7 8 9 a b c d e f g"));
    end_service(&s);
}

static const test_case cases[] = {
    TEST(searches_for_many_words_are_left_to_the_second_pool),
    TEST(what_takes_long_is_left_to_the_second_pool),
    TEST(filters_are_read_in_the_pool_that_makes_the_list),
    TEST(the_form_of_a_model_says_what_takes_long),
    TEST(without_memory_an_answer_is_whole_or_an_error),
};

TEST_MAIN(cases)
