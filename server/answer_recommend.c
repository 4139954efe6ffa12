/* POST /v1/recommend: lists for a history or a known user, alone or in a batch. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "past.h"
#include "reasons.h"

/* A body that is larger, any batch, and a list that takes longer are left to the second
 * pool. */
enum { QUICK_BYTES = 8192 };
static const double QUICK_NANOSECONDS = 1e6;

bool recommend_waits(const request *r)
{
    return r->length > QUICK_BYTES;
}

/* What one list is made of. */
typedef struct wish {
    past past;
    ease_recommend_options o;
    int64_t k, reasons;
    bool keep_seen;
    uint8_t *mask;
    ease_cap *caps;
} wish;

static const char *const wish_members[] = {
    "history", "user", "k",   "reasons", "keep_seen",        "allow",
    "deny",    "only", "not", "at_most", "popularity_power", NULL};
static const char *const single_members[] = {
    "history", "user", "k",       "reasons",          "keep_seen", "allow", "deny",
    "only",    "not",  "at_most", "popularity_power", "model",     NULL};
static const char *const batch_members[] = {"requests", "model", NULL};

/* ---- which items ----------------------------------------------------------------- */

static void mark(const ease_model *m, const id_list *ids, uint8_t value, uint8_t *mask)
{
    for (int64_t i = 0; i < ids->count; i++) {
        int32_t item = ease_model_find(m, ids->at[i]);

        if (item != EASE_NO_ITEM)
            mask[item] = value;
    }
}

static bool check_tags(const snapshot *s, problem *p)
{
    if (ease_model_tags(s->model))
        return true;
    return problem_note(p, PROBLEM_no_tags,
                        "the model has no tags of items: train it with --tags");
}

/* An error of a call whose data can only be tags. */
static bool note_tags(problem *p, const ease_error *err)
{
    return err->status == EASE_E_DATA
               ? problem_note(p, PROBLEM_no_tags, "%s", err->text)
               : problem_note_error(p, err);
}

static bool filter_tags(const snapshot *s, json_t *o, int64_t most, arena *a,
                        uint8_t *mask, problem *p)
{
    const char **only = NULL, **except = NULL;
    int64_t only_count = 0, except_count = 0;
    ease_error err;

    if (!json_take_texts(o, "only", most, a, &only, &only_count, p) ||
        !json_take_texts(o, "not", most, a, &except, &except_count, p))
        return false;
    if (only_count + except_count == 0)
        return true;
    if (!check_tags(s, p))
        return false;
    if (ease_model_filter(s->model, only, only_count, except, except_count, mask, &err))
        return note_tags(p, &err);
    return true;
}

static bool take_mask(const service *s, const snapshot *of, json_t *o, arena *a,
                      wish *w, problem *p)
{
    id_list allow = {0}, deny = {0};
    size_t items = (size_t)of->info.items;

    if (!json_take_ids(o, "allow", s->limits.ids, false, a, &allow, p) ||
        !json_take_ids(o, "deny", s->limits.ids, false, a, &deny, p))
        return false;
    if (!allow.given && !deny.given && !json_object_get(o, "only") &&
        !json_object_get(o, "not"))
        return true;
    w->mask = arena_take(a, items + 1);
    if (!w->mask)
        return problem_note_memory(p);
    memset(w->mask, !allow.given, items);
    mark(of->model, &allow, 1, w->mask);
    mark(of->model, &deny, 0, w->mask);
    w->o.allowed = w->mask;
    return filter_tags(of, o, s->limits.ids, a, w->mask, p);
}

static bool take_caps(const snapshot *of, json_t *o, arena *a, wish *w, problem *p)
{
    json_t *caps = json_object_get(o, "at_most"), *value;
    const char *kind;
    int64_t count = 0;

    if (!caps)
        return true;
    if (!json_is_object(caps))
        return problem_note(p, PROBLEM_bad_value,
                            "\"at_most\" must be an object such as {\"author\": 1}");
    if (json_object_size(caps) == 0)
        return true;
    if (!check_tags(of, p))
        return false;
    w->caps = arena_take_array(a, json_object_size(caps), sizeof(*w->caps));
    if (!w->caps)
        return problem_note_memory(p);
    json_object_foreach(caps, kind, value)
    {
        int64_t most = 0;

        if (!json_take_count(caps, kind, 1, INT32_MAX, &most, NULL))
            return problem_note(p, PROBLEM_bad_value,
                                "\"at_most\": the values must be whole numbers from 1 "
                                "to %d",
                                INT32_MAX);
        w->caps[count++] = (ease_cap){.kind = kind, .most = (int32_t)most};
    }
    w->o.caps = w->caps;
    w->o.cap_count = count;
    return true;
}

/* All but the filters. */
static bool take_wish(service *s, snapshot *of, json_t *o, arena *a, wish *w,
                      problem *p)
{
    ease_recommend_options_init(&w->o);
    w->k = 10;
    if (!json_take_count(o, "k", 1, s->limits.k, &w->k, p) ||
        !json_take_count(o, "reasons", 0, s->limits.ids, &w->reasons, p) ||
        !json_take_flag(o, "keep_seen", &w->keep_seen, p) ||
        !json_take_number(o, "popularity_power", -10, 10, &w->o.popularity_power, p) ||
        !past_take(s, of, o, a, &w->past, p))
        return false;
    if (w->reasons && !of->explains)
        return problem_note(p, PROBLEM_not_possible, "%s has no reasons to give",
                            of->info.method);
    w->o.k = (int32_t)(w->k < of->info.items ? w->k : of->info.items);
    w->o.keep_seen = w->keep_seen;
    w->o.users = &w->past.user;
    return true;
}

/* Reading filters takes a pass over all items and their tags. */
static bool take_filters(const service *s, const snapshot *of, json_t *o, arena *a,
                         wish *w, problem *p)
{
    return take_mask(s, of, o, a, w, p) && take_caps(of, o, a, w, p);
}

static bool has_filters(const json_t *o)
{
    static const char *const names[] = {"allow", "deny", "only", "not", "at_most"};
    bool has = false;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        has = has || json_object_get(o, names[i]);
    return has;
}

/* ---- how long a list takes ------------------------------------------------------- */

/* Latent models read the factors of all items; folding a history in adds to a matrix
 * and factors it. The size of the file tells the width: that of the matrix or more. */
static double latent_nanoseconds(const snapshot *of, double history)
{
    const double factor = 0.2, entry = 0.01;
    double factors = (double)of->info.bytes / sizeof(float);
    double width = factors / of->info.items;

    if (!of->info.bytes)
        return INFINITY;
    return factors * factor + width * width * (history + width) * entry;
}

/* Rows of sparse models have the mean length, which the size of the file tells. */
static double sparse_nanoseconds(const snapshot *of, double history)
{
    const double weight = 1.5, weight_bytes = 8;
    double items = of->info.items, length = items;

    if (of->info.bytes)
        length = (double)of->info.bytes / weight_bytes / items;
    return history * length * weight;
}

static double weights_nanoseconds(const snapshot *of, double history)
{
    const double weight = 0.25, packed_weight = 4;

    if (of->info.storage == EASE_STORE_LATENT)
        return latent_nanoseconds(of, history);
    if (of->info.storage == EASE_STORE_SPARSE)
        return sparse_nanoseconds(of, history);
    if (of->info.storage == EASE_STORE_KNOWN)
        return 0;
    return of->info.items * history *
           (of->info.storage == EASE_STORE_PACKED ? packed_weight : weight);
}

/* About how long a list takes, with the times of a usual processor: reading weights,
 * filters and powers of all items, and writing the items with their reasons. Lists of
 * sparse models look at all items only for filters. */
static double nanoseconds_of(const snapshot *of, const wish *w, bool filters)
{
    const double item = 2, filtered_item = 40, written = 400, reason = 100;
    double items = of->info.items, history = w->past.row.count;
    bool all = filters || w->o.popularity_power != 0;
    bool sparse = of->info.storage == EASE_STORE_SPARSE;

    return weights_nanoseconds(of, history) +
           items * (all      ? filtered_item
                    : sparse ? 0
                             : item) +
           (double)w->k * (written + (w->reasons ? reason * history : 0));
}

/* ---- lists ----------------------------------------------------------------------- */

static bool is_fallback(const snapshot *of, const wish *w)
{
    return w->past.row.count == 0 && !ease_model_method(of->model)->known_users;
}

static void put_unknown(json_writer *w, const past *of)
{
    put_open(w, "unknown", '[');
    for (int64_t i = 0; i < of->unknown_count; i++)
        put_id(w, NULL, of->unknown[i]);
    put_close(w, ']');
}

/* True if the answer, to the end of `made`, is longer than the server allows; notes a
 * problem of the request then. */
static bool is_too_long(request *r, const bytes *made)
{
    const service *s = r->service;
    size_t before = made == &r->answer ? 0 : r->answer.length;

    if (before + made->length <= s->limits.answer)
        return false;
    problem_note(
        &r->problem, PROBLEM_too_large,
        "the answer has more than the %zu bytes that the server allows: ask for "
        "less at once, such as fewer lists or reasons",
        s->limits.answer);
    return true;
}

/* A list ends early if the time for the request is over or its answer too long, which
 * is then its problem. */
static void put_list(request *r, json_writer *w, const snapshot *of, const wish *one,
                     const ease_rec *recs, int32_t count, const reasons *why)
{
    put_unknown(w, &one->past);
    if (is_fallback(of, one))
        put_text(w, "fallback", "popular");
    put_open(w, "items", '[');
    for (int32_t i = 0;
         i < count && !(one->reasons && request_is_late(r)) && !is_too_long(r, w->to);
         i++) {
        put_open(w, NULL, '{');
        put_item(w, of->model, recs[i].item);
        put_float(w, "score", recs[i].score);
        if (one->o.popularity_power != 0)
            put_float(w, "factor",
                      ease_model_popularity_factor(of->model, recs[i].item,
                                                   one->o.popularity_power));
        if (one->reasons)
            reasons_put(why, w, recs[i].item, is_fallback(of, one) ? 0 : one->reasons);
        put_close(w, '}');
    }
    put_close(w, ']');
}

static bool make_list(request *r, snapshot *of, wish *one, arena *a, json_writer *w,
                      problem *p)
{
    ease_rec *recs = arena_take_array(a, (size_t)one->o.k + 1, sizeof(*recs));
    reasons why = {.model = of->model, .row = one->past.row};
    ease_scorer *scorer = NULL;
    int32_t count = 0;
    ease_error err = {0};
    bool fine = recs && (!one->reasons || reasons_start(&why, a));

    if (!fine)
        return problem_note_memory(p);
    if (snapshot_take_scorer(of, &scorer, &err) ||
        ease_recommend(scorer, one->past.row, &one->o, recs, &count, &err))
        fine = note_tags(p, &err);
    why.scorer = scorer;
    if (fine)
        put_list(r, w, of, one, recs, count, &why);
    snapshot_give_scorer(of, scorer);
    return fine;
}

/* Writes the members of one result into an object, or sets r->later. */
static void answer_one(request *r, snapshot *of, json_t *o, arena *a, json_writer *w,
                       problem *p)
{
    wish one = {.k = 0};

    if (take_wish(r->service, of, o, a, &one, p)) {
        r->later = r->quick &&
                   nanoseconds_of(of, &one, has_filters(o)) > QUICK_NANOSECONDS;
        if (!r->later && take_filters(r->service, of, o, a, &one, p))
            make_list(r, of, &one, a, w, p);
    }
    past_free(&one.past);
}

/* ---- requests -------------------------------------------------------------------- */

static bool take_batch(const service *s, json_t *o, json_t **list, problem *p)
{
    if (!json_check_members(o, batch_members, p))
        return false;
    *list = json_object_get(o, "requests");
    if (!json_is_array(*list))
        return problem_note(p, PROBLEM_bad_value, "\"requests\" must be a list");
    if (json_array_size(*list) > (size_t)s->limits.batch)
        return problem_note(p, PROBLEM_too_large,
                            "\"requests\" has %zu entries; at most %lld are allowed",
                            json_array_size(*list), (long long)s->limits.batch);
    return true;
}

/* Writes one result, or its error: that of one does not concern the others. */
static void put_result(request *r, snapshot *of, json_t *one, json_writer *w)
{
    problem p = {.code = PROBLEM_NONE};
    bytes made = {0};
    json_writer inner = {.to = &made};
    arena a = {.last = NULL};

    if (!json_is_object(one))
        problem_note(&p, PROBLEM_bad_value, "a request must be a JSON object");
    else if (json_check_members(one, wish_members, &p))
        answer_one(r, of, one, &a, &inner, &p);
    put_open(w, NULL, '{');
    if (p.code)
        put_problem(w, &p);
    else
        bytes_put(w->to, made.at, made.length);
    put_close(w, '}');
    w->to->failed = w->to->failed || made.failed;
    bytes_free(&made);
    arena_free(&a);
}

static void answer_batch(request *r, snapshot *of, json_t *list, json_writer *w)
{
    put_open(w, "results", '[');
    for (size_t i = 0;
         i < json_array_size(list) && !request_is_late(r) && !is_too_long(r, w->to);
         i++)
        put_result(r, of, json_array_get(list, i), w);
    put_close(w, ']');
}

static void answer_body(request *r, json_t *body)
{
    service *s = r->service;
    json_writer w = {.to = &r->answer};
    json_t *list = NULL;
    const char *model = NULL;
    snapshot *of = NULL;
    bool batch = json_object_get(body, "requests") != NULL;

    if (batch ? !take_batch(s, body, &list, &r->problem)
              : !json_check_members(body, single_members, &r->problem))
        return;
    r->later = batch && r->quick;
    if (r->later)
        return;
    if (json_take_text(body, "model", &model, &r->problem))
        of = service_snapshot(s, model, &r->problem);
    if (!of)
        return;
    put_open(&w, NULL, '{');
    put_count(&w, "generation", of->generation);
    if (batch)
        answer_batch(r, of, list, &w);
    else
        answer_one(r, of, body, &r->memory, &w, &r->problem);
    put_close(&w, '}');
    bytes_put(&r->answer, "\n", 1);
    snapshot_release(of);
}

bool answer_recommend(request *r)
{
    json_t *body = NULL;

    if (json_parse_body(r->body, r->length, &body, &r->problem))
        answer_body(r, body);
    json_decref(body);
    return true;
}
