#include <stdlib.h>

#include "lists.h"
#include "verbs.h"

typedef struct similar_args {
    common_args common;
    list_args list;
} similar_args;

static int print_similar(console *c, const similar_args *a, const ease_model *m,
                         const ease_recommend_options *o, int32_t item)
{
    output_format format = format_of(&a->common);
    item_list l = {.key = "item",
                   .subject = a->common.operands[1],
                   .value = "similarity",
                   .popularity_power = o->popularity_power};
    ease_scorer *s = NULL;
    ease_rec *recs = calloc((size_t)o->k + 1, sizeof(*recs));
    ease_error err;
    int code = EXIT_DONE;

    if (!recs)
        code = fail_no_memory(c);
    else if (ease_scorer_new(m, &s, &err) ||
             ease_similar(s, item, o, recs, &l.count, &err))
        code = fail_with(c, &err);
    if (!code) {
        l.recs = recs;
        list_header(m, format, &l);
        list_put(m, format, &l);
        if (signals_caught())
            code = fail_interrupted(c);
    }
    ease_scorer_free(s);
    free(recs);
    return code;
}

static int run(console *c, void *args)
{
    const similar_args *a = args;
    const char *path = a->common.operands[0];
    ease_recommend_options o;
    ease_model *m = NULL;
    list_choice choice = {0};
    int32_t item = EASE_NO_ITEM;
    int code = list_check(c, &a->common, &a->list);

    if (!code)
        code = open_model(c, &a->common, path, a->list.titles, &m);
    if (!code)
        code = find_item(c, m, path, a->common.operands[1], &item);
    if (!code)
        code = list_setup(c, &a->common, &a->list, m, &o, &choice);
    if (!code)
        code = print_similar(c, a, m, &o, item);
    list_choice_free(&choice);
    ease_model_free(m);
    return code;
}

static const option_group groups[] = {LIST_GROUP(similar_args),
                                      VERIFY_GROUP,
                                      FORMAT_GROUP(output_options),
                                      {"General", general_options, 0},
                                      GROUPS_END};
static const operand operands[] = {
    {"MODEL", "a model file"}, {"ITEM", "the id of an item"}, {NULL, NULL}};
static const char *const usage[] = {"MODEL ITEM [-k N] [options]", NULL};
static const char *const examples[] = {"model.ease react -k 5",
                                       "model.ease react --csv", NULL};

const verb verb_similar = {
    .name = "similar",
    .summary = "list the items most similar to an item",
    .usage = usage,
    .about =
        "For ease and its relatives (all models with a lambda) the similarity is the "
        "partial correlation: what two items have in common beyond what all others "
        "explain. It is symmetric and lies between -1 and 1. For models with few "
        "weights (item-item, slim, slim-free) it is the weight, for models with "
        "factors "
        "(wmf, ii-svd, the networks) the cosine of the factors.\n\n"
        "--json gives one object with the keys item and items (id, title, "
        "similarity, and with --popularity-power factor, which the similarity is "
        "multiplied by), --csv the columns item, rank, other, title (if there are any) "
        "and similarity.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .refusals = list_refusals,
    .least_operands = 2,
    .most_operands = 2,
    .size = sizeof(similar_args),
    .defaults = &(const similar_args){.list = LIST_DEFAULTS},
    .run = run,
};
