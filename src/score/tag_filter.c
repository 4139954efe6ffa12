/* Chooses items by their tags. */
#include "score/tag_filter.h"

#include <string.h>

ease_status ease__model_needs_tags(const ease_model *m, ease_error *err)
{
    return ease_model_tags(m)
               ? EASE_OK
               : ease__fail(err, EASE_E_ARG, "the items of the model have no tags");
}

enum { NO_GROUP = -1, EXCEPTED = -2 };

/* The tags of a filter. A group has the tags of one kind: an item must have one of
 * them. */
typedef struct filter {
    int32_t *group; /* by tag: the number of its group, NO_GROUP or EXCEPTED */
    int32_t *first; /* by group: one of its tags */
    int32_t *met;   /* by group: the last item with one of its tags */
    int32_t groups;
} filter;

static ease_status find_tag(const ease_model *m, const char *name, int32_t *tag,
                            ease_error *err)
{
    if (!name)
        return ease__fail(err, EASE_E_ARG, "a tag is NULL");
    *tag = ease_model_find_tag(m, name);
    if (*tag == EASE_NO_TAG)
        return ease__fail(err, EASE_E_DATA,
                          "no item of the model has the tag \"%.80s\"", name);
    return EASE_OK;
}

static bool same_kind(const char *a, const char *b)
{
    size_t length = strcspn(a, "=");

    return strncmp(a, b, length) == 0 && b[length] == '=';
}

static void add_to_group(const ease_model *m, int32_t tag, filter *f)
{
    int32_t g = 0;

    while (g < f->groups &&
           !same_kind(ease_model_tag(m, tag), ease_model_tag(m, f->first[g])))
        g++;
    if (g == f->groups) {
        f->first[g] = tag;
        f->met[g] = EASE_NO_ITEM;
        f->groups++;
    }
    f->group[tag] = g;
}

static bool fits(const ease_model *m, int32_t item, const filter *f)
{
    ease_row tags = ease_model_item_tags(m, item);
    int32_t met = 0;

    for (int32_t i = 0; i < tags.count; i++) {
        int32_t g = f->group[tags.items[i]];

        if (g == EXCEPTED)
            return false;
        if (g >= 0 && f->met[g] != item) {
            f->met[g] = item;
            met++;
        }
    }
    return met == f->groups;
}

static ease_status find_tags(const ease_model *m, const char *const *only,
                             int64_t only_count, const char *const *except,
                             int64_t except_count, filter *f, ease_error *err)
{
    ease_status status = EASE_OK;
    int32_t tag = EASE_NO_TAG;

    for (int32_t t = 0; t < ease_model_tags(m); t++)
        f->group[t] = NO_GROUP;
    for (int64_t i = 0; !status && i < only_count; i++) {
        status = find_tag(m, only[i], &tag, err);
        if (!status)
            add_to_group(m, tag, f);
    }
    for (int64_t i = 0; !status && i < except_count; i++) {
        status = find_tag(m, except[i], &tag, err);
        if (!status)
            f->group[tag] = EXCEPTED;
    }
    return status;
}

ease_status ease_model_filter(const ease_model *m, const char *const *only,
                              int64_t only_count, const char *const *except,
                              int64_t except_count, uint8_t *allowed, ease_error *err)
{
    filter f = {0};
    ease_status status;

    if (!m || !allowed || only_count < 0 || except_count < 0 ||
        (only_count > 0 && !only) || (except_count > 0 && !except))
        return ease__fail(err, EASE_E_ARG,
                          "a model, tags and a byte for each item are required");
    if (only_count == 0 && except_count == 0)
        return EASE_OK;
    status = ease__model_needs_tags(m, err);
    if (status)
        return status;
    f.group = ease__alloc_array((size_t)ease_model_tags(m), sizeof(*f.group));
    f.first = ease__alloc_array((size_t)only_count, sizeof(*f.first));
    f.met = ease__alloc_array((size_t)only_count, sizeof(*f.met));
    if (f.group && f.first && f.met)
        status = find_tags(m, only, only_count, except, except_count, &f, err);
    else
        status = ease__fail(err, EASE_E_NOMEM, "a filter of %d tags",
                            (int)ease_model_tags(m));
    for (int32_t j = 0; !status && j < m->info.items; j++)
        if (!fits(m, j, &f))
            allowed[j] = 0;
    ease__free(f.group);
    ease__free(f.first);
    ease__free(f.met);
    return status;
}
