/* POST /v1/explain: the score of an item as a sum of reasons, and its rank. */
#include <stdlib.h>

#include "past.h"
#include "reasons.h"

typedef struct explanation {
    past past;
    int32_t item;
    float base, score;
    int64_t rank; /* 0: none */
    bool seen;
} explanation;

static const char *const members[] = {"history", "user", "item", "model", NULL};

static bool has_item(ease_row row, int32_t item)
{
    int32_t low = 0, high = row.count;

    while (low < high) {
        int32_t middle = low + (high - low) / 2;

        if (row.items[middle] < item)
            low = middle + 1;
        else
            high = middle;
    }
    return low < row.count && row.items[low] == item;
}

/* The place of the item in the list of all items that are not in the history. */
static ease_status find_rank(const snapshot *of, ease_scorer *scorer, explanation *e,
                             ease_error *err)
{
    ease_rec *recs = malloc((size_t)of->info.items * sizeof(*recs));
    ease_recommend_options o;
    int32_t count = 0;
    ease_status status;

    if (!recs) {
        *err = (ease_error){.status = EASE_E_NOMEM, .text = "out of memory"};
        return EASE_E_NOMEM;
    }
    ease_recommend_options_init(&o);
    o.k = of->info.items;
    status = ease_recommend(scorer, e->past.row, &o, recs, &count, err);
    for (int32_t i = 0; !status && i < count && !e->rank; i++)
        if (recs[i].item == e->item)
            e->rank = i + 1;
    free(recs);
    return status;
}

static void put_explanation(request *r, const snapshot *of, const explanation *e,
                            const reasons *why)
{
    json_writer w = {.to = &r->answer};

    put_open(&w, NULL, '{');
    put_count(&w, "generation", of->generation);
    put_item(&w, of->model, e->item);
    put_float(&w, "score", e->score);
    put_float(&w, "base", e->base);
    if (e->rank)
        put_count(&w, "rank", e->rank);
    else
        put_text(&w, "rank", NULL);
    put_bool(&w, "seen", e->seen);
    put_open(&w, "unknown", '[');
    for (int64_t i = 0; i < e->past.unknown_count; i++)
        put_id(&w, NULL, e->past.unknown[i]);
    put_close(&w, ']');
    reasons_write(why, &w, e->past.row.count);
    put_close(&w, '}');
    bytes_put(&r->answer, "\n", 1);
}

static bool explain(request *r, snapshot *of, explanation *e)
{
    reasons why = {.model = of->model, .row = e->past.row};
    ease_status status;
    ease_error err = {0};

    if (!reasons_start(&why, &r->memory))
        return problem_note_memory(&r->problem);
    e->seen = has_item(e->past.row, e->item);
    status = snapshot_take_scorer(of, &why.scorer, &err);
    if (!status)
        status = reasons_find(&why, e->item, &e->base, &e->score, &err);
    if (!status && e->past.row.count && !e->seen)
        status = find_rank(of, why.scorer, e, &err);
    snapshot_give_scorer(of, why.scorer);
    if (status)
        return problem_note_error(&r->problem, &err);
    put_explanation(r, of, e, &why);
    return true;
}

static bool take_explanation(request *r, snapshot *of, json_t *body, explanation *e)
{
    const char *id = NULL;

    if (!json_take_id(body, "item", &r->memory, &id, &r->problem))
        return false;
    if (!id)
        return problem_note(&r->problem, PROBLEM_bad_value, "\"item\" is required");
    e->item = ease_model_find(of->model, id);
    if (e->item == EASE_NO_ITEM)
        return problem_note(&r->problem, PROBLEM_unknown_item,
                            "the model has no item of this id: /v1/items?search=TEXT "
                            "finds some");
    if (!of->explains)
        return problem_note(&r->problem, PROBLEM_not_possible,
                            "%s has no reasons to give", of->info.method);
    return past_take(r->service, of, body, &r->memory, &e->past, &r->problem);
}

static void answer_body(request *r, json_t *body)
{
    explanation e = {.item = EASE_NO_ITEM};
    const char *model = NULL;
    snapshot *of = NULL;

    if (json_check_members(body, members, &r->problem) &&
        json_take_text(body, "model", &model, &r->problem))
        of = service_snapshot(r->service, model, &r->problem);
    if (of && take_explanation(r, of, body, &e))
        explain(r, of, &e);
    past_free(&e.past);
    snapshot_release(of);
}

bool answer_explain(request *r)
{
    json_t *body = NULL;

    if (json_parse_body(r->body, r->length, &body, &r->problem))
        answer_body(r, body);
    json_decref(body);
    return true;
}
