#include "userdata.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "nearest.h"

/* ---- the data -------------------------------------------------------------------- */

int user_data_make(console *c, const ease_model *m, ease_interactions *x,
                   user_data *out)
{
    ease_interactions_info info = {.size = sizeof(info)};

    ease_interactions_describe(x, &info);
    *out = (user_data){.model = m, .x = x, .weighted = info.weighted != 0};
    out->map = calloc((size_t)info.items + 1, sizeof(*out->map));
    out->scratch = calloc((size_t)info.items + 1, sizeof(*out->scratch));
    if (!out->map || !out->scratch)
        return fail_no_memory(c);
    for (int32_t i = 0; i < info.items; i++)
        out->map[i] = ease_model_find(m, ease_interactions_item_id(x, i));
    return EXIT_DONE;
}

void user_data_free(user_data *d)
{
    ease_interactions_free(d->x);
    free(d->map);
    free(d->scratch);
    *d = (user_data){0};
}

static void warn_unknown_items(console *c, const char *path, const user_data *d)
{
    int32_t items = ease_interactions_items(d->x);
    named unknown = {0};

    for (int32_t i = 0; i < items; i++)
        if (d->map[i] == EASE_NO_ITEM)
            named_add(&unknown, ease_interactions_item_id(d->x, i));
    if (unknown.count)
        warn(c, "%s: %" PRId64 " of %d items unknown to the model: %s", path,
             unknown.count, (int)items, unknown.text);
}

int denied_read(console *c, const common_args *common, const char *path,
                const char *columns, const ease_model *m, user_data *out)
{
    static const reading_args plain = READING_DEFAULTS;
    ease_read_options o = reading_options_of(c, common, &plain);
    ease_interactions_info info = {.size = sizeof(info)};
    ease_interactions *x = NULL;
    ease_error err;
    int code;

    o.columns = columns;
    o.columns_option = "--deny-columns ";
    if (ease_interactions_read(path, &o, &x, &err)) {
        if (err.status == EASE_E_DATA && err.sys_errno == ENODATA)
            return EXIT_DONE;
        return fail_with(c, &err);
    }
    console_clear(c);
    ease_interactions_describe(x, &info);
    note(c, "%s: %s", path, info.recognized);
    code = user_data_make(c, m, x, out);
    if (!code)
        warn_unknown_items(c, path, out);
    return code;
}

/* ---- users ----------------------------------------------------------------------- */

int64_t user_data_find(const user_data *d, const char *id)
{
    return d->x ? ease_interactions_find_user(d->x, id) : EASE_NO_USER;
}

int user_data_require(console *c, const user_data *d, const char *path, const char *id,
                      int64_t *user)
{
    nearest near = {.word = id};
    char phrase[300];
    int64_t users = ease_interactions_users(d->x);

    *user = user_data_find(d, id);
    if (*user != EASE_NO_USER)
        return EXIT_DONE;
    for (int64_t u = 0; u < users; u++)
        nearest_offer(&near, ease_interactions_user_id(d->x, u));
    return fail(c, EXIT_DATA, "%s: no user '%.100s'%s", path, id,
                nearest_phrase(&near, "", phrase, sizeof(phrase)));
}

int32_t user_data_length(const user_data *d, int64_t user)
{
    return d->x ? ease_interactions_row(d->x, user).count : 0;
}

/* ---- rows ------------------------------------------------------------------------ */

bool row_space_reset(row_space *s, size_t need)
{
    int32_t *items;
    float *weights;

    s->used = 0;
    if (need + 1 <= s->capacity)
        return true;
    items = realloc(s->items, (need + 1) * sizeof(*items));
    if (items)
        s->items = items;
    weights = realloc(s->weights, (need + 1) * sizeof(*weights));
    if (weights)
        s->weights = weights;
    if (items && weights)
        s->capacity = need + 1;
    return items && weights;
}

void row_space_free(row_space *s)
{
    free(s->items);
    free(s->weights);
    *s = (row_space){0};
}

static int compare_pairs(const void *a, const void *b)
{
    const user_pair *x = a, *y = b;

    return (x->item > y->item) - (x->item < y->item);
}

ease_row user_data_row(user_data *d, int64_t user, row_space *to)
{
    ease_row row = {0};
    int32_t count = 0;
    size_t at = to->used;

    if (!d->x)
        return row;
    row = ease_interactions_row(d->x, user);
    for (int32_t i = 0; i < row.count; i++) {
        int32_t item = d->map[row.items[i]];

        if (item != EASE_NO_ITEM)
            d->scratch[count++] = (user_pair){item,
                                              row.weights ? row.weights[i] : 1.0f};
    }
    qsort(d->scratch, (size_t)count, sizeof(*d->scratch), compare_pairs);
    for (int32_t i = 0; i < count; i++) {
        to->items[at + (size_t)i] = d->scratch[i].item;
        to->weights[at + (size_t)i] = d->scratch[i].weight;
    }
    to->used += (size_t)count;
    return (ease_row){.items = to->items + at,
                      .weights = d->weighted ? to->weights + at : NULL,
                      .count = count};
}
