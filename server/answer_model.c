/* GET /v1/model: facts about the model that is being served. */
#include <string.h>

#include "json.h"
#include "service.h"

static const char *kind_name(ease_gram_kind kind)
{
    static const char *const names[] = {[EASE_GRAM_COUNTS] = "counts",
                                        [EASE_GRAM_COVARIANCE] = "covariance",
                                        [EASE_GRAM_CORRELATION] = "correlation"};

    return names[kind];
}

static const char *storage_name(ease_storage storage)
{
    switch (storage) {
    case EASE_STORE_F32:
        return "f32";
    case EASE_STORE_F16:
        return "f16";
    case EASE_STORE_PACKED:
        return "packed";
    default:
        return "other";
    }
}

/* Writes a count, or null if it is not known. */
static void put_known(json_writer *w, const char *key, int64_t count)
{
    if (count < 0)
        put_text(w, key, NULL);
    else
        put_count(w, key, count);
}

static void put_weights(json_writer *w, const weight_histogram *h)
{
    if (!h->rows) {
        put_text(w, "weights", NULL);
        return;
    }
    put_open(w, "weights", '{');
    put_count(w, "sampled_rows", h->rows);
    put_number(w, "low", h->low);
    put_number(w, "high", h->high);
    put_open(w, "counts", '[');
    for (int i = 0; i < HISTOGRAM_BINS; i++)
        put_count(w, NULL, h->bin[i]);
    put_close(w, ']');
    put_close(w, '}');
}

enum { MOST_KINDS = 32, KIND_CHARS = 64 };

/* Writes the kinds of tags, "genre" of "genre=Comedy", each once. */
static void put_kinds(json_writer *w, const ease_model *m)
{
    char kinds[MOST_KINDS][KIND_CHARS];
    int count = 0;

    put_open(w, "tag_kinds", '[');
    for (int32_t t = 0; t < ease_model_tags(m) && count < MOST_KINDS; t++) {
        const char *tag = ease_model_tag(m, t);
        size_t length = strcspn(tag, "=");
        int i = 0;

        if (length >= KIND_CHARS)
            continue;
        while (i < count && (strncmp(kinds[i], tag, length) != 0 || kinds[i][length]))
            i++;
        if (i < count)
            continue;
        memcpy(kinds[count], tag, length);
        kinds[count++][length] = '\0';
        put_text(w, NULL, kinds[i]);
    }
    put_close(w, ']');
}

static void put_facts(json_writer *w, const snapshot *of)
{
    const ease_model_info *i = &of->info;

    put_count(w, "generation", of->generation);
    put_count(w, "loaded", of->loaded);
    put_text(w, "method", i->method);
    put_text(w, "settings", i->settings);
    put_text(w, "kind", kind_name(i->kind));
    put_text(w, "storage", storage_name(i->storage));
    put_number(w, "lambda", i->lambda);
    put_number(w, "residual", i->residual);
    put_count(w, "items", i->items);
    put_known(w, "users", i->users);
    put_known(w, "interactions", i->interactions);
    put_bool(w, "nonnegative", i->nonnegative != 0);
    put_bool(w, "has_titles", i->has_titles != 0);
    put_bool(w, "has_base", i->has_base != 0);
    put_bool(w, "knows_users", ease_model_method(of->model)->known_users != 0);
    put_bool(w, "explains", of->explains);
    put_count(w, "tags", ease_model_tags(of->model));
    put_kinds(w, of->model);
    put_weights(w, &of->weights);
}

/* What the server can do beside this. */
static void put_abilities(json_writer *w, const service *s)
{
    put_open(w, "server", '{');
    put_text(w, "version", ease_version());
    put_bool(w, "users", s->users != NULL);
    put_bool(w, "feedback", s->journal != NULL);
    put_bool(w, "live", s->live != NULL);
    put_open(w, "models", '[');
    for (int i = 0; i < s->station_count; i++)
        put_text(w, NULL, s->stations[i].name);
    put_close(w, ']');
    put_close(w, '}');
}

bool answer_model(request *r)
{
    static const char *const names[] = {"model", NULL};
    json_writer w = {.to = &r->answer};
    snapshot *of;

    if (!target_check(&r->target, names, &r->problem))
        return true;
    of = service_snapshot(r->service, target_find(&r->target, "model"), &r->problem);
    if (!of)
        return true;
    put_open(&w, NULL, '{');
    put_facts(&w, of);
    put_abilities(&w, r->service);
    put_close(&w, '}');
    bytes_put(&r->answer, "\n", 1);
    snapshot_release(of);
    return true;
}
