#include <stdlib.h>

#include "lists.h"
#include "verbs.h"

typedef struct explain_args {
    common_args common;
    text_list history;
    const char *titles;
} explain_args;

#define AT(member) .at = offsetof(explain_args, member)

static const option explain_options[] = {
    {.name = "history",
     .type = OPTION_LIST,
     .required = true,
     AT(history),
     .value = "ID,ID,...",
     .help = "the items that a user has; ID:2 has the weight 2, @FILE reads ids, one "
             "per line, and what begins with [ or { is JSON; required"},
    {.name = "titles",
     .type = OPTION_PATH,
     AT(titles),
     .value = "FILE",
     .help = "a table of ids and titles to show instead of the model's titles"},
    OPTIONS_END};

typedef struct explanation {
    int32_t item;
    ease_rec *reasons; /* the strongest first */
    int32_t count;
    int64_t unknown;
    float base, score;
} explanation;

/* The next tag that two items share, *i and *k being places in their rows, which start
 * at 0; EASE_NO_TAG: there is none. */
static int32_t next_shared(ease_row a, ease_row b, int32_t *i, int32_t *k)
{
    while (*i < a.count && *k < b.count) {
        int32_t tag = a.items[*i], other = b.items[*k];

        *i += tag <= other;
        *k += other <= tag;
        if (tag == other)
            return tag;
    }
    return EASE_NO_TAG;
}

static int id_width(const ease_model *m, int32_t item)
{
    return text_width(ease_model_item_id(m, item));
}

/* "  [genre=Comedy, genre=Drama]": the tags that two items share; of an item with
 * itself, all. */
static void put_shared(const ease_model *m, int32_t a, int32_t b)
{
    ease_row x = ease_model_item_tags(m, a), y = ease_model_item_tags(m, b);
    const char *before = "  [";
    int32_t i = 0, k = 0, tag;

    while ((tag = next_shared(x, y, &i, &k)) != EASE_NO_TAG) {
        fputs(before, stdout);
        text_put(stdout, ease_model_tag(m, tag));
        before = ", ";
    }
    if (before[0] == ',')
        fputc(']', stdout);
}

static void put_row(const ease_model *m, int32_t explained, ease_rec row, int decimals,
                    int width)
{
    const char *title = ease_model_title(m, row.item);

    printf("%+12.*f  ", decimals, (double)row.score);
    text_put(stdout, ease_model_item_id(m, row.item));
    if (title) {
        text_pad(stdout, width - id_width(m, row.item) + 2);
        text_put(stdout, title);
    }
    put_shared(m, explained, row.item);
    fputc('\n', stdout);
}

static void put_text(const ease_model *m, const explanation *e)
{
    ease_rec numbers[2] = {{.score = e->score}, {.score = e->base}};
    int decimals = decimals_for(numbers, 2), own = decimals_for(e->reasons, e->count);
    int width = id_width(m, e->item);

    if (e->count && own < decimals)
        decimals = own;
    for (int32_t i = 0; i < e->count; i++) {
        int w = id_width(m, e->reasons[i].item);

        width = w > width ? w : width;
    }
    put_row(m, e->item, (ease_rec){e->item, e->score}, decimals, width);
    puts("because of");
    for (int32_t i = 0; i < e->count; i++)
        put_row(m, e->item, e->reasons[i], decimals, width);
    if (model_info_of(m).has_base)
        printf("%+12.*f  (base)\n", decimals, (double)e->base);
    if (!e->count)
        puts("nothing: no item of the history is known to the model, and recommend "
             "gives the popular items");
    if (e->unknown)
        printf("%lld of the history unknown to the model\n", (long long)e->unknown);
}

static void put_json_item(json *j, const ease_model *m, int32_t item)
{
    const char *title = ease_model_title(m, item);

    json_id(j, "id", ease_model_item_id(m, item));
    if (title)
        json_text(j, "title", title);
}

/* Writes the tags that two items share, if the model has tags. */
static void json_shared(json *j, const char *key, const ease_model *m, int32_t a,
                        int32_t b)
{
    ease_row x = ease_model_item_tags(m, a), y = ease_model_item_tags(m, b);
    int32_t i = 0, k = 0, tag;

    if (!ease_model_tags(m))
        return;
    json_open(j, key, '[');
    while ((tag = next_shared(x, y, &i, &k)) != EASE_NO_TAG)
        json_text(j, NULL, ease_model_tag(m, tag));
    json_close(j, ']');
}

static void put_json(const ease_model *m, const explanation *e)
{
    json j = {.to = stdout};

    json_open(&j, NULL, '{');
    put_json_item(&j, m, e->item);
    json_float(&j, "score", e->score);
    json_float(&j, "base", e->base);
    json_shared(&j, "tags", m, e->item, e->item);
    if (e->unknown)
        json_count(&j, "unknown", e->unknown);
    json_open(&j, "reasons", '[');
    for (int32_t i = 0; i < e->count; i++) {
        json_open(&j, NULL, '{');
        put_json_item(&j, m, e->reasons[i].item);
        json_float(&j, "contribution", e->reasons[i].score);
        json_shared(&j, "shared_tags", m, e->item, e->reasons[i].item);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    fputc('\n', stdout);
}

/* The tags in one field, separated by '|'. */
static void csv_shared(const ease_model *m, int32_t a, int32_t b)
{
    ease_row x = ease_model_item_tags(m, a), y = ease_model_item_tags(m, b);
    int32_t i = 0, k = 0, tag;
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);

    while (f && (tag = next_shared(x, y, &i, &k)) != EASE_NO_TAG)
        fprintf(f, "%s%s", ftell(f) > 0 ? "|" : "", ease_model_tag(m, tag));
    if (f && fclose(f) == 0)
        csv_put(stdout, text);
    free(text);
}

static void put_csv_row(const ease_model *m, const char *role, int32_t explained,
                        int32_t item, float value)
{
    const char *title = item == EASE_NO_ITEM ? NULL : ease_model_title(m, item);

    printf("%s,", role);
    csv_put(stdout, item == EASE_NO_ITEM ? "" : ease_model_item_id(m, item));
    if (model_info_of(m).has_titles) {
        fputc(',', stdout);
        csv_put(stdout, title ? title : "");
    }
    printf(",%.9g", (double)value);
    if (ease_model_tags(m)) {
        fputc(',', stdout);
        csv_shared(m, explained, item);
    }
    fputc('\n', stdout);
}

static void put_csv(const ease_model *m, const explanation *e)
{
    printf("role,item%s,contribution%s\n", model_info_of(m).has_titles ? ",title" : "",
           ease_model_tags(m) ? ",shared_tags" : "");
    put_csv_row(m, "score", e->item, e->item, e->score);
    if (model_info_of(m).has_base)
        put_csv_row(m, "base", e->item, EASE_NO_ITEM, e->base);
    for (int32_t i = 0; i < e->count; i++)
        put_csv_row(m, "reason", e->item, e->reasons[i].item, e->reasons[i].score);
}

static int explain(console *c, const explain_args *a, const ease_model *m,
                   const ease_history *h, int32_t item)
{
    explanation e = {.item = item,
                     .count = ease_history_row(h).count,
                     .unknown = ease_history_unknown(h)};
    output_format format = format_of(&a->common);
    ease_scorer *s = NULL;
    ease_error err;
    int code = EXIT_DONE;

    e.reasons = calloc((size_t)ease_history_row(h).count + 1, sizeof(*e.reasons));
    if (!e.reasons)
        return fail_no_memory(c);
    if (ease_scorer_new(m, &s, &err) ||
        ease_explain(s, ease_history_row(h), item, e.reasons, &e.base, &e.score, &err))
        code = fail_with(c, &err);
    if (!code) {
        sort_reasons(e.reasons, e.count);
        if (format == OUTPUT_JSON)
            put_json(m, &e);
        else if (format == OUTPUT_CSV)
            put_csv(m, &e);
        else
            put_text(m, &e);
    }
    ease_scorer_free(s);
    free(e.reasons);
    return code;
}

static int run(console *c, void *args)
{
    const explain_args *a = args;
    const char *path = a->common.operands[0];
    ease_model *m = NULL;
    ease_history *h = NULL;
    int32_t item = EASE_NO_ITEM;
    int code;

    if (a->history.count > 1)
        return usage_error(c, a->common.verb, "one --history at a time");
    code = open_model(c, &a->common, path, a->titles, &m);
    if (!code)
        code = find_item(c, m, path, a->common.operands[1], &item);
    if (!code)
        code = history_read(c, m, a->history.at[0], 0, &h);
    if (!code)
        code = explain(c, a, m, h, item);
    ease_history_free(h);
    ease_model_free(m);
    return code;
}

static const option_group groups[] = {{"Explaining", explain_options, 0},
                                      VERIFY_GROUP,
                                      FORMAT_GROUP(output_options),
                                      {"General", general_options, 0},
                                      GROUPS_END};
static const operand operands[] = {
    {"MODEL", "a model file"}, {"ITEM", "the id of the item to explain"}, {NULL, NULL}};
static const char *const usage[] = {"MODEL --history ID,ID,... ITEM [options]", NULL};
static const char *const examples[] = {"model.ease --history react,redux webpack",
                                       "model.ease --history @mine.txt webpack --json",
                                       NULL};

const verb verb_explain = {
    .name = "explain",
    .summary = "explain the score of an item for a history",
    .usage = usage,
    .about =
        "A score is a sum over the history, so the reasons are exact: the "
        "contribution of each item of the history, the strongest first. Models "
        "trained with --kind covariance or correlation also have a base, the score "
        "without any history. Models with factors and lrec have no such sum, and "
        "cannot be explained. If the model has tags (ease train --tags), each reason "
        "also shows the tags that it shares with the item, and the item all of its "
        "tags.\n\n"
        "--json gives one object with id, title, score, base and reasons (id, "
        "title, contribution), --csv the columns role (score, base or reason), "
        "item, title (if there are any) and contribution. Models with tags add tags, "
        "shared_tags of each reason, and a column shared_tags, separated by |.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .least_operands = 2,
    .most_operands = 2,
    .size = sizeof(explain_args),
    .run = run,
};
