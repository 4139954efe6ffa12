#include "verbs.h"

static int run(console *c, void *args)
{
    const common_args *a = args;
    const verb *v;

    if (a->operand_count == 0) {
        print_overview(stdout);
        return EXIT_DONE;
    }
    v = find_verb(c, a->operands[0]);
    if (!v)
        return EXIT_USAGE;
    options_help(stdout, v);
    return EXIT_DONE;
}

static const option_group groups[] = {{"Options", general_options, 0}, GROUPS_END};
static const operand operands[] = {{"VERB", "what to tell about"}, {NULL, NULL}};
static const char *const usage[] = {"[VERB]", NULL};
static const char *const examples[] = {"train", NULL};

const verb verb_help = {
    .name = "help",
    .summary = "tell about a verb",
    .usage = usage,
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .most_operands = 1,
    .size = sizeof(common_args),
    .run = run,
};
