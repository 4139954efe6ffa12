#include "following.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jsonids.h"
#include "lists.h"
#include "requestlines.h"

/* Buffers of all requests. */
typedef struct answerer {
    const following *f;
    ease_scorer *scorer;
    bool known;    /* the model scores only users that it knows */
    bool explains; /* scores are sums of contributions */
    uint8_t *mask; /* of the request, if its list is not that of the command line */
    row_space history, denied;
    list_reasons why;
    ease_rec *recs; /* of all items */
} answerer;

/* What one request asks for. */
typedef struct wish {
    ease_recommend_options o;
    ease_row history, denied;
    ease_history *made; /* of ids */
    json_ids ids;
    int64_t k, reasons, user;
    ease_cap *caps;
} wish;

static const char *const members[] = {
    "history", "user", "k",   "reasons", "keep_seen",        "allow",
    "deny",    "only", "not", "at_most", "popularity_power", NULL};

static bool note_error(json_problem *p, const ease_error *err, const char *data_code)
{
    const char *code = err->status == EASE_E_ARG    ? "bad_value"
                       : err->status == EASE_E_DATA ? data_code
                       : err->status == EASE_E_NOMEM ||
                               err->status == EASE_E_MEMORY_LIMIT
                           ? "busy"
                           : "internal";

    return json_note(p, code, "%s", err->text);
}

/* ---- the history ----------------------------------------------------------------- */

static bool take_history(const answerer *a, const json_value *o, wish *w,
                         json_problem *p)
{
    ease_error err;

    if (a->known)
        return json_note(p, "not_possible",
                         "%s scores only the users that it was trained with: name a "
                         "\"user\", not a \"history\"",
                         ease_model_method(a->f->model)->name);
    if (!json_take_ids(o, "history", true, &w->ids, p))
        return false;
    if (ease_history_new(a->f->model, w->ids.at, w->ids.weights, (int64_t)w->ids.count,
                         &w->made, &err))
        return note_error(p, &err, "bad_value");
    w->history = ease_history_row(w->made);
    return true;
}

/* Sets the items that are denied to a user. */
static bool take_denied(answerer *a, const char *user, wish *w, json_problem *p)
{
    int64_t row = user_data_find(a->f->denied, user);

    if (!row_space_reset(&a->denied, (size_t)user_data_length(a->f->denied, row)))
        return json_note_memory(p);
    w->denied = user_data_row(a->f->denied, row, &a->denied);
    w->o.denied = &w->denied;
    return true;
}

static bool take_user(answerer *a, const json_value *o, wish *w, json_problem *p)
{
    const char *user = NULL;
    int64_t row;

    if (!json_take_id(o, "user", &user, p))
        return false;
    if (!a->known && !a->f->data->x)
        return json_note(p, "not_possible",
                         "no users are known here: send a \"history\", or start with "
                         "--users DATA");
    w->user = ease_model_find_user(a->f->model, user);
    row = user_data_find(a->f->data, user);
    if (a->known ? w->user == EASE_NO_USER : row == EASE_NO_USER)
        return json_note(p, "unknown_user", "%s no user \"%.100s\"",
                         a->known ? "the model knows" : "the data have", user);
    if (!row_space_reset(&a->history, (size_t)user_data_length(a->f->data, row)))
        return json_note_memory(p);
    w->history = row == EASE_NO_USER ? ease_model_history(a->f->model, w->user)
                                     : user_data_row(a->f->data, row, &a->history);
    return take_denied(a, user, w, p);
}

static bool take_past(answerer *a, const json_value *o, wish *w, json_problem *p)
{
    bool listed = json_member(o, "history") != NULL;

    if (listed == (json_member(o, "user") != NULL))
        return json_note(p, "bad_value", "either \"history\" or \"user\" is required%s",
                         listed ? ", not both" : "");
    return listed ? take_history(a, o, w, p) : take_user(a, o, w, p);
}

/* ---- which items ----------------------------------------------------------------- */

static bool needs_tags(const answerer *a, json_problem *p)
{
    return ease_model_tags(a->f->model) ||
           json_note(p, "no_tags",
                     "the model has no tags of items: train it with --tags");
}

static bool filter_tags(const answerer *a, const json_value *o, json_problem *p)
{
    json_ids only = {0}, except = {0};
    ease_error err;
    bool fine = json_take_texts(o, "only", &only, p) &&
                json_take_texts(o, "not", &except, p);

    if (fine && only.count + except.count > 0) {
        fine = needs_tags(a, p);
        if (fine && ease_model_filter(a->f->model, only.at, (int64_t)only.count,
                                      except.at, (int64_t)except.count, a->mask, &err))
            fine = note_error(p, &err, "no_tags");
    }
    json_ids_free(&only);
    json_ids_free(&except);
    return fine;
}

/* Sets the byte of each item of a list to `value`. */
static void mark(const answerer *a, const json_ids *ids, uint8_t value)
{
    for (size_t i = 0; i < ids->count; i++) {
        int32_t item = ease_model_find(a->f->model, ids->at[i]);

        if (item != EASE_NO_ITEM)
            a->mask[item] = value;
    }
}

static bool mark_items(const answerer *a, const json_value *o, json_problem *p)
{
    size_t items = (size_t)ease_model_items(a->f->model);
    const uint8_t *base = a->f->o->allowed;
    json_ids allow = {0}, deny = {0};
    bool fine = json_take_ids(o, "allow", false, &allow, p) &&
                json_take_ids(o, "deny", false, &deny, p);

    if (fine) {
        memset(a->mask, !allow.given, items);
        mark(a, &allow, 1);
        for (size_t i = 0; base && i < items; i++)
            a->mask[i] = a->mask[i] && base[i];
        mark(a, &deny, 0);
    }
    json_ids_free(&allow);
    json_ids_free(&deny);
    return fine;
}

static bool take_mask(const answerer *a, const json_value *o, wish *w, json_problem *p)
{
    if (!json_member(o, "allow") && !json_member(o, "deny") &&
        !json_member(o, "only") && !json_member(o, "not"))
        return true;
    w->o.allowed = a->mask;
    return mark_items(a, o, p) && filter_tags(a, o, p);
}

/* Adds the caps of the request to those of the command line. */
static bool take_caps(const answerer *a, const json_value *o, wish *w, json_problem *p)
{
    const json_value *caps = json_member(o, "at_most");
    const ease_recommend_options *base = a->f->o;
    size_t given;

    if (!caps)
        return true;
    if (caps->kind != TREE_OBJECT)
        return json_note(p, "bad_value",
                         "\"at_most\" must be an object such as {\"author\": 1}");
    given = caps->as.list.count;
    if (given && !needs_tags(a, p))
        return false;
    w->caps = calloc((size_t)base->cap_count + given + 1, sizeof(*w->caps));
    if (!w->caps)
        return json_note_memory(p);
    for (int64_t i = 0; i < base->cap_count; i++)
        w->caps[i] = base->caps[i];
    w->o.caps = w->caps;
    for (const json_value *v = caps->as.list.first; v; v = v->next) {
        int64_t most = 0;

        if (!json_take_count(caps, v->key, 1, INT32_MAX, &most, p))
            return false;
        w->caps[w->o.cap_count++] = (ease_cap){.kind = v->key, .most = (int32_t)most};
    }
    return true;
}

static bool take_wish(answerer *a, const json_value *o, wish *w, json_problem *p)
{
    int32_t items = ease_model_items(a->f->model);

    w->o = *a->f->o;
    w->o.users = &w->user;
    w->k = w->o.k;
    w->reasons = a->f->reasons;
    w->user = EASE_NO_USER;
    if (!json_check_members(o, members, p) ||
        !json_take_count(o, "k", 1, INT32_MAX, &w->k, p) ||
        !json_take_count(o, "reasons", 0, INT32_MAX, &w->reasons, p) ||
        !json_take_flag(o, "keep_seen", &w->o.keep_seen, p) ||
        !json_take_number(o, "popularity_power", -10, 10, &w->o.popularity_power, p) ||
        !take_past(a, o, w, p) || !take_mask(a, o, w, p) || !take_caps(a, o, w, p))
        return false;
    if (w->reasons && !a->explains)
        return json_note(p, "not_possible", "%s has no reasons to give",
                         ease_model_method(a->f->model)->name);
    w->o.k = w->k < items ? (int32_t)w->k : items;
    return true;
}

static void wish_free(wish *w)
{
    ease_history_free(w->made);
    json_ids_free(&w->ids);
    free(w->caps);
}

/* ---- answers --------------------------------------------------------------------- */

static void put_unknown(json *j, const answerer *a, const wish *w)
{
    int64_t unknown = ease_history_unknown(w->made);

    json_open(j, "unknown", '[');
    for (size_t i = 0; unknown && i < w->ids.count; i++)
        if (ease_model_find(a->f->model, w->ids.at[i]) == EASE_NO_ITEM)
            json_id(j, NULL, w->ids.at[i]);
    json_close(j, ']');
}

static void put_answer(answerer *a, const wish *w, int32_t count)
{
    json j = {.to = stdout};
    item_list l = {.value = "score",
                   .recs = a->recs,
                   .count = count,
                   .popularity_power = w->o.popularity_power,
                   .popular = w->history.count == 0 && !a->known,
                   .reasons = w->reasons ? &a->why : NULL,
                   .history = w->history};

    a->why.most = w->reasons < INT32_MAX ? (int32_t)w->reasons : INT32_MAX;
    json_open(&j, NULL, '{');
    put_unknown(&j, a, w);
    if (l.popular)
        json_text(&j, "fallback", "popular");
    json_items(&j, a->f->model, &l);
    json_close(&j, '}');
}

static void put_problem(const json_problem *p)
{
    json j = {.to = stdout};

    json_open(&j, NULL, '{');
    json_open(&j, "error", '{');
    json_text(&j, "code", p->code);
    json_text(&j, "message", p->text);
    json_close(&j, '}');
    json_close(&j, '}');
}

static bool answer_object(answerer *a, const json_value *o, json_problem *p)
{
    wish w = {.k = 0};
    ease_error err;
    int32_t count = 0;
    bool fine = take_wish(a, o, &w, p);

    if (fine && ease_recommend(a->scorer, w.history, &w.o, a->recs, &count, &err))
        fine = note_error(p, &err, "no_tags");
    if (fine)
        put_answer(a, &w, count);
    wish_free(&w);
    return fine;
}

static bool answer_text(answerer *a, char *text, size_t length, json_problem *p)
{
    json_tree t;
    bool fine = json_parse(text, length, &t);

    if (!fine && t.fault)
        json_note(p, "bad_json", "the line is not JSON: byte %zu: %s", t.at, t.fault);
    else if (!fine)
        json_note_memory(p);
    else if (t.root->kind != TREE_OBJECT)
        fine = json_note(p, "bad_value",
                         "a request must be a JSON object such as {\"history\": "
                         "[\"ID\"]}");
    fine = fine && answer_object(a, t.root, p);
    json_tree_free(&t);
    return fine;
}

static void answer_line(answerer *a, const request_line *line)
{
    json_problem p = {0};

    if (line->too_long)
        json_note(&p, "too_large", "the line is longer than %d bytes", LINE_MOST_BYTES);
    else
        answer_text(a, line->text, line->length, &p);
    if (p.code)
        put_problem(&p);
    fputc('\n', stdout);
}

/* ---- the dialogue ---------------------------------------------------------------- */

static int answerer_make(console *c, const following *f, answerer *a)
{
    size_t items = (size_t)ease_model_items(f->model);
    float base, score;
    ease_error err;
    int code;

    *a = (answerer){.f = f, .known = ease_model_method(f->model)->known_users};
    a->mask = malloc(items + 1);
    a->recs = calloc(items + 1, sizeof(*a->recs));
    if (!a->mask || !a->recs)
        return fail_no_memory(c);
    if (ease_scorer_new(f->model, &a->scorer, &err))
        return fail_with(c, &err);
    code = reasons_make(c, f->model, 1, (int32_t)items, &a->why);
    a->explains = !code && !ease_explain(a->scorer, (ease_row){0}, 0, a->why.found,
                                         &base, &score, NULL);
    return code;
}

static void answerer_free(answerer *a)
{
    ease_scorer_free(a->scorer);
    reasons_free(&a->why);
    row_space_free(&a->history);
    row_space_free(&a->denied);
    free(a->mask);
    free(a->recs);
}

int follow(console *c, const following *f)
{
    request_lines lines = {0};
    request_line line;
    answerer a;
    int code = answerer_make(c, f, &a);

    if (!code && isatty(STDIN_FILENO))
        note(c, "one request on each line, such as {\"history\": [\"ID\"]}; end of "
                "input (Ctrl-D) ends");
    while (!code) {
        code = request_line_next(c, &lines, &line);
        if (code || !line.text)
            break;
        answer_line(&a, &line);
        code = output_flush(c);
    }
    request_lines_free(&lines);
    answerer_free(&a);
    return code;
}
