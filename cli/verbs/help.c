#include <math.h>
#include <string.h>

#include "files.h"
#include "measuring.h"
#include "verbs.h"

static void print_setting(const ease_setting *s)
{
    printf("    %-14s %s (", s->name, s->about);
    if (s->words) {
        const char *word = s->words;

        for (int skip = (int)s->value; skip > 0; skip--)
            word += strcspn(word, "|") + 1;
        printf("%s; default %.*s)\n", s->words, (int)strcspn(word, "|"), word);
    } else {
        printf("default %g)\n", s->value);
    }
}

/* True if train chooses the lambda of a method with its default settings. */
static bool chooses_lambda(const ease_method_info *m)
{
    ease_train_options o;

    ease_train_options_init(&o);
    o.method = m->name;
    o.lambda = (double)NAN;
    return ease_train_options_check(&o, 0, NULL) == EASE_OK;
}

/* Prints the methods and their settings, from the library's tables. */
static void print_models(void)
{
    const ease_method_info *m;
    const ease_setting *s;

    for (int i = 0; (m = ease_method_at(i)); i++) {
        printf("%s: %s%s\n", m->name, m->about,
               m->known_users ? "; scores only users it was trained with" : "");
        if (m->has_lambda)
            printf("    --lambda L%s%s\n", chooses_lambda(m) ? "|auto" : "",
                   m->kind || !m->from_gram ? ""
                                            : ", --kind counts|covariance|correlation");
        if (m->needs_tags)
            printf("    --tags FILE\n");
        else if (m->from_gram)
            printf("    --tags FILE, to learn from tags of items too (CEASE, Jeunen et "
                   "al., RecSys 2020)\n");
        if (ease_method_setting(m->name, 0))
            printf("    --set NAME=VALUE,... with these settings:\n");
        for (int k = 0; (s = ease_method_setting(m->name, k)); k++)
            print_setting(s);
        if (m->grid && m->grid[0])
            printf("    default grid of ease tune: %s\n", m->grid);
    }
}

static void print_metrics(void)
{
    const ease_metric_info *m;

    for (int i = 0; (m = ease_metric_at(i)); i++)
        printf("%s@K: %s%s\n", m->name, m->about, metric_direction(m->name));
}

static void print_formats(void)
{
    const ease_format *f;

    for (int i = 0; (f = ease_format_at(i)); i++)
        printf("%s: %s%s\n", f->name, f->about, format_carries(f));
}

/* What can be told about beside verbs. */
static const struct {
    const char *name;
    void (*print)(void);
} subjects[] = {
    {"models", print_models}, {"metrics", print_metrics}, {"formats", print_formats}};

static int run(console *c, void *args)
{
    const common_args *a = args;
    const verb *v;

    if (a->operand_count == 0) {
        print_overview(stdout);
        return EXIT_DONE;
    }
    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++)
        if (strcmp(a->operands[0], subjects[i].name) == 0) {
            subjects[i].print();
            return EXIT_DONE;
        }
    v = find_verb(c, a->operands[0]);
    if (!v)
        return EXIT_USAGE;
    options_help(stdout, v);
    return EXIT_DONE;
}

static const option_group groups[] = {{"Options", general_options, 0}, GROUPS_END};
static const operand operands[] = {
    {"VERB",
     "a verb; or models, metrics or formats, for a list of the models with their "
     "settings, of the metrics, or of the formats that are read"},
    {NULL, NULL}};
static const char *const usage[] = {"[VERB | models | metrics | formats]", NULL};
static const char *const examples[] = {"train", "models", "metrics", "formats", NULL};

const verb verb_help = {
    .name = "help",
    .summary = "explain a verb, or list the models, the metrics or the formats",
    .usage = usage,
    .words = "models metrics formats",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .most_operands = 1,
    .size = sizeof(common_args),
    .run = run,
};
