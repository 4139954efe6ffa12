#include <string.h>

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

/* Prints the methods and their settings, from the library's tables. */
static void print_models(void)
{
    const char *name;
    const ease_setting *s;

    for (int i = 0; (name = ease_method_name(i)); i++) {
        printf("%s: %s%s\n", name, ease_method_about(name),
               ease_method_known_users(name) ? "; scores only users it was trained with"
                                             : "");
        if (ease_method_has_lambda(name))
            printf("    --lambda L\n");
        if (ease_method_setting(name, 0))
            printf("    --set NAME=VALUE,... of\n");
        for (int k = 0; (s = ease_method_setting(name, k)); k++)
            print_setting(s);
        if (ease_method_grid(name) && ease_method_grid(name)[0])
            printf("    tuned over %s\n", ease_method_grid(name));
    }
}

static void print_metrics(void)
{
    const char *name;

    for (int i = 0; (name = ease_metric_name(i)); i++)
        printf("%s@K: %s%s\n", name, ease_metric_about(name), metric_direction(name));
}

static int run(console *c, void *args)
{
    const common_args *a = args;
    const verb *v;

    if (a->operand_count == 0) {
        print_overview(stdout);
        return EXIT_DONE;
    }
    if (strcmp(a->operands[0], "models") == 0) {
        print_models();
        return EXIT_DONE;
    }
    if (strcmp(a->operands[0], "metrics") == 0) {
        print_metrics();
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
     "a verb; or models, for a list of the models with their settings; or metrics, "
     "for a list of the metrics"},
    {NULL, NULL}};
static const char *const usage[] = {"[VERB | models | metrics]", NULL};
static const char *const examples[] = {"train", "models", "metrics", NULL};

const verb verb_help = {
    .name = "help",
    .summary = "explain a verb, or list the models or the metrics",
    .usage = usage,
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .most_operands = 1,
    .size = sizeof(common_args),
    .run = run,
};
