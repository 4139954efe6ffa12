/* GET /v1/items, /v1/items/{id} and /v1/items/{id}/similar. */
#include "past.h"

/* ---- searching ------------------------------------------------------------------- */

/* A search that takes longer is left to the second pool. */
static const double QUICK_NANOSECONDS = 1e6;

/* Whether a search takes long, with the times of a usual processor: items that have the
 * longest word of several are searched for each of the others. */
static bool takes_long(const snapshot *of, const char *text)
{
    const double item = 5, word = 20;
    int blanks = 0;

    for (; *text; text++)
        blanks += *text == ' ';
    return of->info.items * (item + word * blanks) > QUICK_NANOSECONDS;
}

static bool put_found(request *r, snapshot *of, const char *text, int32_t k)
{
    int32_t *items = arena_take_array(&r->memory, (size_t)k + 1, sizeof(*items));
    json_writer w = {.to = &r->answer};
    bool more = false;
    int32_t count;

    if (!items)
        return problem_note_memory(&r->problem);
    count = catalog_search(of->catalog, text, k, items, &more, &r->problem);
    if (count < 0)
        return false;
    put_open(&w, NULL, '{');
    put_open(&w, "items", '[');
    for (int32_t i = 0; i < count; i++) {
        put_open(&w, NULL, '{');
        put_item(&w, of->model, items[i]);
        put_number(&w, "popularity", ease_model_popularity(of->model, items[i]));
        put_close(&w, '}');
    }
    put_close(&w, ']');
    put_bool(&w, "more", more);
    put_close(&w, '}');
    bytes_put(&r->answer, "\n", 1);
    return true;
}

bool answer_search(request *r)
{
    static const char *const names[] = {"search", "k", "model", NULL};
    service *s = r->service;
    const char *text = target_find(&r->target, "search");
    int64_t k = 10;
    snapshot *of;

    if (!target_check(&r->target, names, &r->problem) ||
        !target_take_count(&r->target, "k", 1, s->limits.k, &k, &r->problem))
        return true;
    of = service_snapshot(s, target_find(&r->target, "model"), &r->problem);
    text = text ? text : "";
    r->later = of && r->quick && takes_long(of, text);
    if (of && !r->later)
        put_found(r, of, text, (int32_t)k);
    snapshot_release(of);
    return true;
}

/* ---- one item -------------------------------------------------------------------- */

/* The item of the path, and its snapshot; NULL after noting a problem. */
static snapshot *find_item(request *r, int32_t *item)
{
    snapshot *of = service_snapshot(r->service, target_find(&r->target, "model"),
                                    &r->problem);

    if (!of)
        return NULL;
    *item = ease_model_find(of->model, r->target.segment[2]);
    if (*item != EASE_NO_ITEM)
        return of;
    problem_note(&r->problem, PROBLEM_unknown_item,
                 "the model has no item of this id: /v1/items?search=TEXT finds some");
    snapshot_release(of);
    return NULL;
}

bool answer_item(request *r)
{
    static const char *const names[] = {"model", NULL};
    json_writer w = {.to = &r->answer};
    int32_t item = EASE_NO_ITEM;
    snapshot *of;
    ease_row tags;

    if (!target_check(&r->target, names, &r->problem))
        return true;
    of = find_item(r, &item);
    if (!of)
        return true;
    tags = ease_model_item_tags(of->model, item);
    put_open(&w, NULL, '{');
    put_item(&w, of->model, item);
    put_number(&w, "popularity", ease_model_popularity(of->model, item));
    put_open(&w, "tags", '[');
    for (int32_t i = 0; i < tags.count; i++)
        put_text(&w, NULL, ease_model_tag(of->model, tags.items[i]));
    put_close(&w, ']');
    put_close(&w, '}');
    bytes_put(&r->answer, "\n", 1);
    snapshot_release(of);
    return true;
}

static void put_similar(request *r, const snapshot *of, int32_t item,
                        const ease_rec *recs, int32_t count)
{
    json_writer w = {.to = &r->answer};

    put_open(&w, NULL, '{');
    put_count(&w, "generation", of->generation);
    put_item(&w, of->model, item);
    put_open(&w, "items", '[');
    for (int32_t i = 0; i < count; i++) {
        put_open(&w, NULL, '{');
        put_item(&w, of->model, recs[i].item);
        put_float(&w, "similarity", recs[i].score);
        put_close(&w, '}');
    }
    put_close(&w, ']');
    put_close(&w, '}');
    bytes_put(&r->answer, "\n", 1);
}

static bool list_similar(request *r, snapshot *of, int32_t item, int32_t k)
{
    ease_rec *recs = arena_take_array(&r->memory, (size_t)k + 1, sizeof(*recs));
    ease_recommend_options o;
    ease_scorer *scorer = NULL;
    ease_error err = {0};
    int32_t count = 0;
    ease_status status;

    if (!recs)
        return problem_note_memory(&r->problem);
    ease_recommend_options_init(&o);
    o.k = k;
    status = snapshot_take_scorer(of, &scorer, &err);
    if (!status)
        status = ease_similar(scorer, item, &o, recs, &count, &err);
    snapshot_give_scorer(of, scorer);
    if (status == EASE_E_ARG)
        return problem_note(&r->problem, PROBLEM_not_possible, "%s", err.text);
    if (status)
        return problem_note_error(&r->problem, &err);
    put_similar(r, of, item, recs, count);
    return true;
}

bool answer_similar(request *r)
{
    static const char *const names[] = {"k", "model", NULL};
    const service *s = r->service;
    int64_t k = 10;
    int32_t item = EASE_NO_ITEM;
    snapshot *of;

    if (!target_check(&r->target, names, &r->problem) ||
        !target_take_count(&r->target, "k", 1, s->limits.k, &k, &r->problem))
        return true;
    of = find_item(r, &item);
    if (!of)
        return true;
    list_similar(r, of, item, (int32_t)(k < of->info.items ? k : of->info.items));
    snapshot_release(of);
    return true;
}
