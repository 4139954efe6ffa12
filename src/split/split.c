#include "split/split.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/sized.h"
#include "read/readers.h"
#include "split/split_place.h"

void ease_split_options_defaults(ease_split_options *o)
{
    static const ease_split_options defaults = {
        .seed = 98765, .test_from = (double)NAN, .validation_from = (double)NAN};

    ease__options_defaults(o, &defaults, sizeof(defaults));
}

/* ---- options --------------------------------------------------------------------- */

static ease_status settle_recipe(ease__split *s, ease_error *err)
{
    ease_split_options *o = &s->options;

    if (!o->recipe)
        return EASE_OK;
    s->recipe = ease_recipe_find(o->recipe);
    if (!s->recipe)
        return ease__fail(err, EASE_E_ARG, "no recipe '%.40s'", o->recipe);
    if (!o->protocol)
        o->protocol = s->recipe->protocol;
    if (strcmp(o->protocol, s->recipe->protocol) != 0)
        return ease__fail(err, EASE_E_ARG,
                          "the recipe %s is for the protocol %s, not %.40s",
                          s->recipe->name, s->recipe->protocol, o->protocol);
    if (!o->heldout_users)
        o->heldout_users = s->recipe->heldout_users;
    return EASE_OK;
}

/* Replaces options of 0 by their defaults. */
static ease_status settle_options(ease__split *s, ease_error *err)
{
    ease_split_options *o = &s->options;
    const ease__protocol *p = s->protocol;

    if (o->heldout_users < 0)
        return ease__fail(err, EASE_E_ARG, "%lld users to hold out: at least 1",
                          (long long)o->heldout_users);
    if (o->heldout_users && !p->strong)
        return ease__fail(err, EASE_E_ARG, "the protocol %s holds out no users",
                          p->name);
    if (o->share != 0.0 && !p->share)
        return ease__fail(err, EASE_E_ARG, "the protocol %s has a fixed share",
                          p->name);
    if (o->share != 0.0 && !(o->share > 0.0 && o->share < 1.0))
        return ease__fail(err, EASE_E_ARG, "a share is above 0 and below 1");
    if (p->items && o->share >= 0.5)
        return ease__fail(err, EASE_E_ARG,
                          "the protocol %s holds out a share of the items twice, for "
                          "testing and for validation: it must be below 0.5",
                          p->name);
    if ((!isnan(o->test_from) || !isnan(o->validation_from)) && !p->needs_time)
        return ease__fail(err, EASE_E_ARG, "the protocol %s divides by no date",
                          p->name);
    if (o->validation_from >= o->test_from)
        return ease__fail(err, EASE_E_ARG,
                          "the validation data do not begin before the test data");
    if (o->share != 0.0 && !isnan(o->test_from) && !isnan(o->validation_from))
        return ease__fail(err, EASE_E_ARG, "a share, where both dates are given");
    if (p->strong && !o->heldout_users)
        o->heldout_users = 10000;
    if (o->share == 0.0)
        o->share = p->items ? 0.1 : 0.2;
    return EASE_OK;
}

ease_status ease__split_settle(ease__split *s, const ease_split_options *o,
                               ease_error *err)
{
    ease_status status = EASE__OPTIONS_TAKE(ease_split_options, &s->options, o, err);

    if (!status)
        status = settle_recipe(s, err);
    if (!status)
        status = ease__find_protocol(s->options.protocol, &s->protocol, err);
    return status ? status : settle_options(s, err);
}

static ease_status settle_reading(ease__split *s, const ease_read_options *r,
                                  ease_error *err)
{
    ease_status status = EASE__OPTIONS_TAKE(ease_read_options, &s->reading, r, err);

    if (status)
        return status;
    if (!r)
        s->reading.hooks = s->options.hooks;
    if (!r && s->recipe)
        ease_recipe_apply(s->recipe, &s->reading);
    else if (!r && s->protocol->strong)
        s->reading.min_user = 5;
    status = ease__check_read_options(&s->reading, err);
    if (status)
        return status;
    if (s->reading.weights)
        return ease__fail(err, EASE_E_ARG, "the files of a split have no weights");
    if (s->reading.half_life > 0.0)
        return ease__fail(err, EASE_E_ARG,
                          "the files of a split have no weights, which a half-life "
                          "makes");
    if (s->reading.repeat != EASE_REPEAT_FIRST && s->reading.repeat != EASE_REPEAT_LAST)
        return ease__fail(err, EASE_E_ARG,
                          "a split keeps the first or the last row of a pair");
    if (s->protocol->strong)
        s->reading.one_pass = 1;
    return EASE_OK;
}

/* Refuses to overwrite the data, which could be the train.csv of the split itself. */
static ease_status check_place(const char *data, const char *dir, ease_error *err)
{
    char *whole = realpath(data, NULL), *place = realpath(dir, NULL);
    size_t length = place ? strlen(place) : 0;
    bool inside = whole && place && strncmp(whole, place, length) == 0 &&
                  whole[length] == '/' && !strchr(whole + length + 1, '/');

    free(whole);
    free(place);
    if (!inside)
        return EASE_OK;
    return ease__fail(err, EASE_E_IO, "%s: the data is in the directory %s itself",
                      data, dir);
}

/* ---- splitting ---------------------------------------------------------------- */

static void describe_data(const ease__split *s, ease_split_info *info)
{
    const ease__events *e = &s->events;

    snprintf(info->recognized, sizeof(info->recognized), "%s", e->recognized);
    *info->data = e->counts;
    info->by_time = s->protocol->timed && e->time;
}

/* Counts the users and items that have events after the filters, before anything is
 * divided. */
static ease_status count_data(const ease__split *s, ease_interactions_info *counts,
                              ease_error *err)
{
    const ease__events *e = &s->events;
    uint8_t *seen = ease__alloc_zero((size_t)e->items, 1);

    if (!seen)
        return ease__fail(err, EASE_E_NOMEM, "counting items");
    for (int64_t i = 0; i < e->count; i++)
        if (e->part[i])
            seen[e->item[i]] = 1;
    for (int32_t i = 0; i < e->items; i++)
        counts->items += seen[i];
    ease__free(seen);
    return EASE_OK;
}

static ease_status read_and_divide(ease__split *s, const char *path,
                                   ease_split_info *info, ease_error *err)
{
    bool dated = !isnan(s->options.test_from) || !isnan(s->options.validation_from);
    ease_status status = ease__events_read(path, &s->reading, 0, s->protocol->timed,
                                           dated, &s->events, err);

    if (status)
        return status;
    if (s->protocol->needs_time && !s->events.time)
        return ease__fail(err, EASE_E_ARG,
                          "%s: the protocol %s needs a column of times; this is %s",
                          s->data, s->protocol->name, s->events.recognized);
    describe_data(s, info);
    status = count_data(s, info->data, err);
    if (!status)
        status = ease__split_divide(s, err);
    info->data->users = info->users = s->user_count;
    info->items = s->item_count;
    info->cold_items = s->cold_items;
    return status;
}

ease_status ease_split(const char *data, const ease_read_options *r,
                       const ease_split_options *o, const char *dir,
                       ease_split_info *info, ease_error *err)
{
    ease__split s = {.data = data && strcmp(data, "-") == 0 ? "standard input" : data};
    ease_interactions_info counts = {0};
    ease_split_info found = {.data = &counts};
    ease__place place = EASE__PLACE_NONE;
    ease_status status;

    if (!data || !*data || !o || !dir || !*dir)
        return ease__fail(err, EASE_E_ARG,
                          "data, options and a directory are required");
    status = ease__split_settle(&s, o, err);
    if (!status && info)
        status = ease__info_check(info, "ease_split_info", err);
    if (!status)
        status = settle_reading(&s, r, err);
    if (!status)
        status = check_place(data, dir, err);
    if (!status)
        status = ease__place_open(dir, &place, err);
    if (!status)
        status = read_and_divide(&s, data, &found, err);
    if (!status)
        status = ease__split_write(&s, place.part, &found, err);
    if (!status)
        status = ease__place_commit(&place, err);
    ease__place_close(&place);
    ease__split_free(&s);
    if (!status && info) {
        found.data = info->data;
        ease__info_give(info->data, &counts, sizeof(counts));
        ease__info_give(info, &found, sizeof(found));
    }
    return status;
}
