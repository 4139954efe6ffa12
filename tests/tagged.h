/* Models whose items have tags, and lists with the options of re-ranking made by the
 * plainest way. */
#ifndef EASE_TEST_TAGGED_H
#define EASE_TEST_TAGGED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "ranked.h"
#include "test.h"

typedef struct tagged_column {
    char *bytes;
    size_t length;
    FILE *to;
    int64_t *offsets;
} tagged_column;

/* Sets the tags of a model: items[i] has tags[i]. */
static inline void set_tags(ease_model *m, int64_t rows, const int32_t *items,
                            const char *const *tags)
{
    tagged_column c[2] = {{0}};
    ease_id_column given[2];
    ease_tags *t = NULL;
    ease_error err = {0};

    for (int k = 0; k < 2; k++) {
        c[k].offsets = calloc((size_t)rows + 1, sizeof(int64_t));
        c[k].to = open_memstream(&c[k].bytes, &c[k].length);
        for (int64_t i = 0; i < rows; i++) {
            fputs(k ? tags[i] : ease_model_item_id(m, items[i]), c[k].to);
            fflush(c[k].to);
            c[k].offsets[i + 1] = (int64_t)c[k].length;
        }
        fclose(c[k].to);
        given[k] = (ease_id_column){.bytes = c[k].bytes, .offsets = c[k].offsets};
    }
    if (ease_tags_from_table(rows, &given[0], &given[1], NULL, NULL, &t, &err) ||
        ease_model_set_tags(m, t, NULL, &err)) {
        printf("%s\n", err.text);
        abort();
    }
    ease_tags_free(t);
    for (int k = 0; k < 2; k++) {
        free(c[k].bytes);
        free(c[k].offsets);
    }
}

/* Gives each item up to two authors and two genres, and some items no tag. The last
 * item has both kinds. */
static inline void give_tags(ease_model *m, uint64_t seed)
{
    static const char *const authors[] = {"author=0", "author=1", "author=2",
                                          "author=3", "author=4", "author=5",
                                          "author=6", "author=7", "author=8"};
    static const char *const genres[] = {"genre=0", "genre=1", "genre=2"};
    int32_t n = ease_model_items(m);
    size_t rows = 0, most = (size_t)n * 4 + 2;
    int32_t *items = calloc(most, sizeof(*items));
    const char **tags = calloc(most, sizeof(*tags));
    ease__random r;

    ease__random_seed(&r, seed, 3);
    for (int32_t j = 0; j < n; j++)
        for (int i = 0; i < 4; i++) {
            uint64_t count = i < 2 ? 9 : 3, number = ease__random_below(&r, 2 * count);

            if (number >= count)
                continue;
            items[rows] = j;
            tags[rows++] = i < 2 ? authors[number] : genres[number];
        }
    for (int i = 0; i < 2; i++) {
        items[rows] = n - 1;
        tags[rows++] = i ? "author=0" : "genre=0";
    }
    set_tags(m, (int64_t)rows, items, tags);
    free(items);
    free(tags);
}

/* ---- the twin -------------------------------------------------------------------- */

/* Tags are compared as text. */
static inline bool tagged_share(const ease_model *m, int32_t a, int32_t b,
                                const char *tag)
{
    int found = 0;

    for (int side = 0; side < 2; side++) {
        ease_row row = ease_model_item_tags(m, side ? b : a);

        for (int32_t i = 0; i < row.count; i++)
            found += strcmp(ease_model_tag(m, row.items[i]), tag) == 0;
    }
    return found == 2;
}

/* False if one of the item's tags of a capped kind occurs too often in the list. */
static inline bool tagged_may_follow(const ease_model *m, const ease_cap *cap,
                                     const ease_rec *list, int32_t count, int32_t item)
{
    ease_row tags = ease_model_item_tags(m, item);
    size_t length = strlen(cap->kind);

    for (int32_t i = 0; i < tags.count; i++) {
        const char *tag = ease_model_tag(m, tags.items[i]);
        int32_t times = 0;

        if (strncmp(tag, cap->kind, length) != 0 || tag[length] != '=')
            continue;
        for (int32_t at = 0; at < count; at++)
            times += tagged_share(m, list[at].item, item, tag);
        if (times >= cap->most)
            return false;
    }
    return true;
}

/* Makes a list from the scores of all items, `all`, in any order: multiplies, sorts
 * everything, and takes items in this order. `all` is changed; o->denied is one row. */
static inline int32_t tagged_twin(const ease_model *m, ease_rec *all, int32_t count,
                                  ease_row history, const ease_recommend_options *o,
                                  ease_rec *out)
{
    int32_t kept = 0, taken = 0;

    for (int32_t i = 0; i < count; i++) {
        int32_t item = all[i].item;
        bool seen = false;
        volatile float score = all[i].score;

        for (int32_t h = 0; h < history.count && !o->keep_seen; h++)
            seen |= history.items[h] == item;
        for (int32_t d = 0; o->denied && d < o->denied[0].count; d++)
            seen |= o->denied[0].items[d] == item;
        if (seen || (o->allowed && !o->allowed[item]))
            continue;
        if (o->popularity_power != 0)
            score = score * ease_model_popularity_factor(m, item, o->popularity_power);
        all[kept++] = (ease_rec){item, score};
    }
    ranked_sort(m, all, kept);
    for (int32_t i = 0; i < kept && taken < o->k; i++) {
        bool good = true;

        for (int64_t c = 0; good && c < o->cap_count; c++)
            good = tagged_may_follow(m, &o->caps[c], out, taken, all[i].item);
        if (good)
            out[taken++] = all[i];
    }
    return taken;
}

#endif
