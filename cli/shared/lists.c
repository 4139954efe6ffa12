#include "lists.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) .at = offsetof(list_args, member)

const option list_options[] = {
    {.name = "count",
     .letter = 'k',
     .type = OPTION_COUNT,
     AT(k),
     .value = "N",
     .least = 1,
     .most = INT32_MAX,
     .help = "number of items in a list (default 10)"},
    {.name = "allow",
     .type = OPTION_PATH,
     AT(allow),
     .value = "FILE",
     .help = "list only these items: a file of ids, one per line"},
    {.name = "deny",
     .type = OPTION_PATH,
     AT(deny),
     .value = "FILE",
     .help = "do not list these items: a file of ids, one per line"},
    {.name = "only",
     .type = OPTION_LIST,
     AT(tags.only),
     .value = "KIND=VALUE",
     .help = "list only items with this tag, such as genre=Comedy; may be repeated: "
             "one of the tags of each kind is enough"},
    {.name = "not",
     .type = OPTION_LIST,
     AT(tags.except),
     .value = "KIND=VALUE",
     .help = "do not list items with this tag; may be repeated"},
    {.name = "at-most",
     .type = OPTION_LIST,
     AT(tags.at_most),
     .value = "KIND=N",
     .help = "list at most N items with the same tag of this kind, such as author=2; "
             "may be repeated"},
    {.name = "popularity-power",
     .type = OPTION_REAL,
     AT(popularity_power),
     .value = "E",
     .help =
         "multiply the number of each item by its popularity to the power E, -10 to "
         "10: below 0, less popular items are listed more (default 0)"},
    {.name = "titles",
     .type = OPTION_PATH,
     AT(titles),
     .value = "FILE",
     .help = "a table of ids and titles to show instead of the model's titles"},
    OPTIONS_END};

#define LENGTH "the number of items in a list is -k N, or --count N"

const refusal list_refusals[] = {
    {"n", LENGTH},     {"k", LENGTH},      {"top", LENGTH},    {"top-k", LENGTH},
    {"limit", LENGTH}, {"length", LENGTH}, {"number", LENGTH}, {NULL, NULL}};

int list_check(console *c, const common_args *common, const list_args *a)
{
    if (!(fabs(a->popularity_power) <= 10))
        return usage_error(c, common->verb,
                           "--popularity-power %g: must be within -10 .. 10",
                           a->popularity_power);
    return tag_args_check(c, common, &a->tags);
}

void list_choice_free(list_choice *choice)
{
    free(choice->mask);
    caps_free(choice->caps, choice->cap_count);
}

int list_setup(console *c, const common_args *common, const list_args *a,
               const ease_model *m, ease_recommend_options *o, list_choice *choice)
{
    int32_t items = ease_model_items(m);
    int code;

    ease_recommend_options_init(o);
    o->k = a->k < items ? (int32_t)a->k : items;
    o->threads = (int)common->threads;
    o->hooks = console_quiet_hooks(c);
    o->popularity_power = a->popularity_power;
    choice->cap_count = a->tags.at_most.count;
    code = read_allowed(c, m, a->allow, a->deny, &choice->mask);
    if (!code)
        code = tags_filter(c, common, &a->tags, m, &choice->mask);
    if (!code)
        code = caps_make(c, common, &a->tags, m, &choice->caps);
    o->allowed = choice->mask;
    o->caps = choice->caps;
    o->cap_count = (int64_t)choice->cap_count;
    return code;
}

int decimals_for(const ease_rec *recs, int32_t count)
{
    double largest = 0.0;
    int decimals;

    for (int32_t i = 0; i < count; i++)
        if (fabs((double)recs[i].score) > largest)
            largest = fabs((double)recs[i].score);
    if (!(largest > 0.0) || !isfinite(largest))
        return 5;
    decimals = 5 - (int)floor(log10(largest));
    return decimals < 0 ? 0 : decimals > 9 ? 9 : decimals;
}

/* ---- reasons --------------------------------------------------------------------- */

int reasons_make(console *c, const ease_model *m, int64_t most, int32_t longest,
                 list_reasons *out)
{
    ease_error err;

    out->most = (int32_t)most;
    if (!most)
        return EXIT_DONE;
    out->found = calloc((size_t)longest + 1, sizeof(*out->found));
    if (!out->found)
        return fail_no_memory(c);
    return ease_scorer_new(m, &out->scorer, &err) ? fail_with(c, &err) : EXIT_DONE;
}

void reasons_free(list_reasons *r)
{
    ease_scorer_free(r->scorer);
    free(r->found);
}

static int compare_reasons(const void *a, const void *b)
{
    const ease_rec *x = a, *y = b;
    float p = fabsf(x->score), q = fabsf(y->score);

    if (p != q)
        return p < q ? 1 : -1;
    return (x->item > y->item) - (x->item < y->item);
}

void sort_reasons(ease_rec *reasons, int32_t count)
{
    if (count > 1)
        qsort(reasons, (size_t)count, sizeof(*reasons), compare_reasons);
}

/* Finds the reasons to show for an item of the list, the strongest first. Returns their
 * number. *sum receives the sum of *base and all reasons: the score, before it is
 * multiplied for its popularity. */
static int32_t find_reasons(const item_list *l, int32_t item, float *base, float *sum)
{
    list_reasons *r = l->reasons;

    *base = *sum = 0;
    if (!r || !r->most || l->popular ||
        ease_explain(r->scorer, l->history, item, r->found, base, sum, NULL))
        return 0;
    sort_reasons(r->found, l->history.count);
    return l->history.count < r->most ? l->history.count : r->most;
}

static void put_text_reasons(const ease_model *m, const item_list *l, int32_t item,
                             int decimals)
{
    float base, sum;
    int32_t count = find_reasons(l, item, &base, &sum);

    for (int32_t i = 0; i < count; i++) {
        int32_t reason = l->reasons->found[i].item;
        const char *title = ease_model_title(m, reason);

        fputs(i ? "; " : "                    because of ", stdout);
        text_put(stdout, title ? title : ease_model_item_id(m, reason));
        printf(" %+.*f", decimals, (double)l->reasons->found[i].score);
    }
    if (count && l->popularity_power != 0)
        printf("; in all %+.*f, times %.3g for its popularity", decimals, (double)sum,
               (double)ease_model_popularity_factor(m, item, l->popularity_power));
    if (count)
        fputc('\n', stdout);
}

static void put_json_reasons(json *j, const ease_model *m, const item_list *l,
                             int32_t item)
{
    float base, sum;
    int32_t count = find_reasons(l, item, &base, &sum);

    json_open(j, "reasons", '[');
    for (int32_t i = 0; i < count; i++) {
        json_open(j, NULL, '{');
        json_id(j, "id", ease_model_item_id(m, l->reasons->found[i].item));
        if (ease_model_title(m, l->reasons->found[i].item))
            json_text(j, "title", ease_model_title(m, l->reasons->found[i].item));
        json_float(j, "contribution", l->reasons->found[i].score);
        json_close(j, '}');
    }
    json_close(j, ']');
    if (base != 0)
        json_float(j, "base", base);
}

/* ---- lists ----------------------------------------------------------------------- */

static void put_text(const ease_model *m, const item_list *l)
{
    int decimals = decimals_for(l->recs, l->count), width = 2;

    if (l->heading) {
        printf("%s ", l->heading);
        text_put(stdout, l->subject);
        fputc('\n', stdout);
    }
    if (l->popular)
        puts("nothing in this history is known to the model: the popular items");
    for (int32_t i = 0; i < l->count; i++) {
        int w = text_width(ease_model_item_id(m, l->recs[i].item));

        width = w > width ? w : width;
    }
    printf("%4s  %12s  id\n", "", l->value);
    for (int32_t i = 0; i < l->count && !output_stopped(); i++) {
        const char *id = ease_model_item_id(m, l->recs[i].item);
        const char *title = ease_model_title(m, l->recs[i].item);

        printf("%4d  %12.*f  ", (int)i + 1, decimals, (double)l->recs[i].score);
        text_put(stdout, id);
        if (title) {
            text_pad(stdout, width - text_width(id) + 2);
            text_put(stdout, title);
        }
        fputc('\n', stdout);
        put_text_reasons(m, l, l->recs[i].item, decimals > 3 ? decimals - 2 : 1);
    }
    if (l->heading)
        fputc('\n', stdout);
}

void json_items(json *j, const ease_model *m, const item_list *l)
{
    json_open(j, "items", '[');
    for (int32_t i = 0; i < l->count && !output_stopped(); i++) {
        const char *title = ease_model_title(m, l->recs[i].item);

        json_open(j, NULL, '{');
        json_id(j, "id", ease_model_item_id(m, l->recs[i].item));
        if (title)
            json_text(j, "title", title);
        json_float(j, l->value, l->recs[i].score);
        if (l->popularity_power != 0)
            json_float(
                j, "factor",
                ease_model_popularity_factor(m, l->recs[i].item, l->popularity_power));
        if (l->reasons)
            put_json_reasons(j, m, l, l->recs[i].item);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_json(const ease_model *m, const item_list *l)
{
    json j = {.to = stdout};

    json_open(&j, NULL, '{');
    json_id(&j, l->key, l->subject);
    if (l->unknown)
        json_count(&j, "unknown", l->unknown);
    if (l->popular)
        json_text(&j, "fallback", "popular");
    json_items(&j, m, l);
    json_close(&j, '}');
    fputc('\n', stdout);
}

static void put_csv(const ease_model *m, const item_list *l)
{
    bool titles = model_info_of(m).has_titles != 0;

    for (int32_t i = 0; i < l->count && !output_stopped(); i++) {
        const char *title = ease_model_title(m, l->recs[i].item);

        csv_put(stdout, l->subject);
        printf(",%d,", (int)i + 1);
        csv_put(stdout, ease_model_item_id(m, l->recs[i].item));
        if (titles) {
            fputc(',', stdout);
            csv_put(stdout, title ? title : "");
        }
        printf(",%.9g", (double)l->recs[i].score);
        if (l->can_fall_back)
            printf(",%s", l->popular ? "popular" : "");
        fputc('\n', stdout);
    }
}

void list_header(const ease_model *m, output_format format, const item_list *l)
{
    if (format == OUTPUT_CSV)
        printf("%s,rank,%s%s,%s%s\n", l->key,
               strcmp(l->key, "item") == 0 ? "other" : "item",
               model_info_of(m).has_titles ? ",title" : "", l->value,
               l->can_fall_back ? ",fallback" : "");
}

void list_put(const ease_model *m, output_format format, const item_list *l)
{
    if (format == OUTPUT_JSON)
        put_json(m, l);
    else if (format == OUTPUT_CSV)
        put_csv(m, l);
    else
        put_text(m, l);
}
