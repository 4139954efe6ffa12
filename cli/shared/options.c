#include "options.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"

/* ---- options of many verbs ------------------------------------------------------- */

#define OPTION_QUIET                                                                 \
    {                                                                                \
        .name = "quiet", .letter = 'q', .type = OPTION_FLAG,                         \
        .at = offsetof(common_args, quiet), .help = "print only warnings and errors" \
    }
#define OPTION_NO_PROGRESS                                 \
    {                                                      \
        .name = "no-progress", .type = OPTION_FLAG,        \
        .at = offsetof(common_args, no_progress),          \
        .help = "show no progress bar, even on a terminal" \
    }
#define OPTION_HELP                                                 \
    {                                                               \
        .name = "help", .letter = 'h', .type = OPTION_FLAG,         \
        .at = offsetof(common_args, help), .help = "show this help" \
    }
#define OPTION_JSON                                                             \
    {                                                                           \
        .name = "json", .type = OPTION_FLAG, .at = offsetof(common_args, json), \
        .help = "results as JSON"                                               \
    }
#define OPTION_CSV                                                            \
    {                                                                         \
        .name = "csv", .type = OPTION_FLAG, .at = offsetof(common_args, csv), \
        .help = "results as CSV with a header"                                \
    }

const option general_options[] = {OPTION_QUIET, OPTION_NO_PROGRESS, OPTION_HELP,
                                  OPTIONS_END};

const option threads_options[] = {
    {.name = "threads",
     .type = OPTION_COUNT,
     .at = offsetof(common_args, threads),
     .value = "N",
     .most = 1024,
     .help = "threads to use (default 0: one for each processor)"},
    {.name = "verbose",
     .letter = 'v',
     .type = OPTION_FLAG,
     .at = offsetof(common_args, verbose),
     .help = "print how long each phase took"},
    OPTION_QUIET,
    OPTION_NO_PROGRESS,
    OPTION_HELP,
    OPTIONS_END};

const option output_options[] = {OPTION_JSON, OPTION_CSV, OPTIONS_END};

const option verify_options[] = {
    {.name = "no-verify",
     .type = OPTION_FLAG,
     .at = offsetof(common_args, no_verify),
     .help = "do not verify the weights; by default each MiB of them is verified "
             "against its checksum before its first use"},
    OPTIONS_END};

const option *options_next(const verb *v, option_walk *walk, const option_group **group)
{
    for (; v->groups[walk->group].title; walk->group++, walk->index = 0) {
        const option_group *g = &v->groups[walk->group];
        const option *o = &g->options[walk->index];

        if (!o->name)
            continue;
        walk->index++;
        if (group)
            *group = g;
        return o;
    }
    return NULL;
}

/* ---- values ---------------------------------------------------------------------- */

int usage_error(console *c, const verb *v, const char *fmt, ...)
{
    char text[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    fail(c, EXIT_USAGE, "%s", text);
    fprintf(stderr, "try 'ease %s%s--help'\n", v ? v->name : "", v ? " " : "");
    return EXIT_USAGE;
}

/* The index of a word in "f32|f64", or -1. */
static int find_choice(const char *choices, const char *word)
{
    size_t length = strlen(word);

    for (int i = 0;; i++) {
        size_t here = strcspn(choices, "|");

        if (here == length && memcmp(choices, word, length) == 0)
            return i;
        if (!choices[here])
            return -1;
        choices += here + 1;
    }
}

static bool parse_real(const char *text, double *value)
{
    char *end;

    *value = strtod(text, &end);
    return end != text && !*end && isfinite(*value);
}

static bool parse_count(const char *text, int64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoll(text, &end, 10);
    return end != text && !*end && errno == 0;
}

/* Parses a size: 500M and 500MB are 10^6 times, 500MiB 2^20 times the number, which
 * may have a fraction. */
static bool parse_size(const char *text, size_t *value)
{
    static const char letters[] = "KMGTP";
    const char *letter;
    double number, unit = 1.0;
    char *end;

    number = strtod(text, &end);
    if (end == text || !(number > 0.0))
        return false;
    letter = *end ? strchr(letters, *end >= 'a' ? *end - 'a' + 'A' : *end) : NULL;
    if (letter) {
        bool binary = end[1] == 'i';

        unit = pow(binary ? 1024.0 : 1000.0, (double)(letter - letters + 1));
        end += binary ? 2 : 1;
    }
    if (*end == 'B')
        end++;
    number = floor(number * unit);
    if (*end || !(number >= 1.0 && number < 0x1p63))
        return false;
    *value = (size_t)number;
    return true;
}

static int set_count(console *c, const verb *v, const option *o, const char *text,
                     int64_t *value)
{
    int64_t most = o->most ? o->most : INT64_MAX;

    if (parse_count(text, value) && *value >= o->least && *value <= most)
        return 0;
    if (o->most)
        return usage_error(c, v,
                           "--%s: expected a whole number from %lld to %lld, not '%s'",
                           o->name, (long long)o->least, (long long)most, text);
    return usage_error(c, v, "--%s: expected a whole number of at least %lld, not '%s'",
                       o->name, (long long)o->least, text);
}

static int set_value(console *c, const verb *v, const option *o, void *slot,
                     const char *text)
{
    text_list *list = slot;
    ease_error err;

    switch (o->type) {
    case OPTION_FLAG:
        *(int *)slot = 1;
        return 0;
    case OPTION_TEXT:
    case OPTION_PATH:
        if (!*text)
            return usage_error(c, v, "--%s: an empty %s", o->name, o->value);
        *(const char **)slot = text;
        return 0;
    case OPTION_LIST:
        list->at[list->count++] = text;
        return 0;
    case OPTION_REAL:
        if (parse_real(text, slot))
            return 0;
        return usage_error(c, v, "--%s: expected a number, not '%s'", o->name, text);
    case OPTION_POSITIVE:
        if (parse_real(text, slot) && *(double *)slot > 0.0)
            return 0;
        return usage_error(c, v, "--%s: expected a finite number above 0, not '%s'",
                           o->name, text);
    case OPTION_COUNT:
        return set_count(c, v, o, text, slot);
    case OPTION_TIME:
        if (ease_time_parse(text, slot, &err) == EASE_OK)
            return 0;
        return usage_error(c, v, "--%s: %s", o->name, err.text);
    case OPTION_SIZE:
        if (parse_size(text, slot))
            return 0;
        return usage_error(c, v, "--%s: expected a size such as 500M or 2GiB, not '%s'",
                           o->name, text);
    case OPTION_CHOICE:
        *(int *)slot = find_choice(o->value, text);
        if (*(int *)slot >= 0)
            return 0;
        return usage_error(c, v, "--%s: expected %s, not '%s'", o->name, o->value,
                           text);
    }
    return 0;
}

/* ---- parsing --------------------------------------------------------------------- */

typedef struct parser {
    console *console;
    const verb *verb;
    char **argv;
    int argc, at;
    char *args;
    bool given[128]; /* in the order of options_next */
} parser;

static void *slot_of(const parser *p, const option_group *g, const option *o)
{
    return p->args + g->at + o->at;
}

/* Finds an option by its long name (of `length` bytes) or by its letter. */
static const option *find_option(parser *p, const char *name, size_t length,
                                 char letter, void **slot)
{
    option_walk walk = {0};
    const option_group *g;
    const option *o;

    for (size_t i = 0; (o = options_next(p->verb, &walk, &g)); i++) {
        bool same = name ? strlen(o->name) == length &&
                               memcmp(o->name, name, length) == 0
                         : o->letter == letter;

        if (!same)
            continue;
        p->given[i] = true;
        *slot = slot_of(p, g, o);
        return o;
    }
    return NULL;
}

/* What to do instead of an option that the verb does not have; NULL: not known. */
static const char *refusal_of(const verb *v, const char *word)
{
    for (const refusal *r = v->refusals; r && r->name; r++)
        if (strcmp(r->name, word) == 0)
            return r->why;
    return NULL;
}

static int unknown_letter(parser *p, char letter)
{
    const char *why = refusal_of(p->verb, (const char[]){letter, '\0'});

    if (why)
        return usage_error(p->console, p->verb, "-%c: %s", letter, why);
    return usage_error(p->console, p->verb, "unknown option -%c", letter);
}

static int unknown_option(parser *p, const char *name, size_t length)
{
    char word[80], phrase[120];
    const char *why;
    nearest near = {.word = word};
    option_walk walk = {0};
    const option *o;

    snprintf(word, sizeof(word), "%.*s", (int)length, name);
    why = refusal_of(p->verb, word);
    if (why)
        return usage_error(p->console, p->verb, "--%s: %s", word, why);
    while ((o = options_next(p->verb, &walk, NULL)))
        nearest_offer(&near, o->name);
    if (near.count > 1)
        near.count = 1;
    return usage_error(p->console, p->verb, "unknown option --%s%s", word,
                       nearest_phrase(&near, "--", phrase, sizeof(phrase)));
}

static int parse_long(parser *p)
{
    const char *name = p->argv[p->at] + 2, *value = strchr(name, '=');
    size_t length = value ? (size_t)(value - name) : strlen(name);
    void *slot;
    const option *o = find_option(p, name, length, 0, &slot);

    if (!o)
        return unknown_option(p, name, length);
    if (value && o->type == OPTION_FLAG)
        return usage_error(p->console, p->verb, "--%s takes no value", o->name);
    if (value)
        value++;
    else if (o->type != OPTION_FLAG) {
        if (p->at + 1 >= p->argc)
            return usage_error(p->console, p->verb, "--%s needs a value: %s", o->name,
                               o->value);
        value = p->argv[++p->at];
    }
    return set_value(p->console, p->verb, o, slot, value);
}

/* Parses -q, -qk 10, -k10: several flags, the last one with its value. */
static int parse_short(parser *p)
{
    for (const char *at = p->argv[p->at] + 1; *at; at++) {
        void *slot;
        const option *o = find_option(p, NULL, 0, *at, &slot);
        const char *value = at + 1;
        int code;

        if (!o)
            return unknown_letter(p, *at);
        if (o->type != OPTION_FLAG && !*value) {
            if (p->at + 1 >= p->argc)
                return usage_error(p->console, p->verb, "-%c needs a value: %s", *at,
                                   o->value);
            value = p->argv[++p->at];
        }
        code = set_value(p->console, p->verb, o, slot, value);
        if (code || o->type != OPTION_FLAG)
            return code;
    }
    return 0;
}

static int parse_arguments(parser *p)
{
    common_args *common = (void *)p->args;
    bool options = true;
    int code = 0;

    for (p->at = 0; p->at < p->argc && !code && !common->help; p->at++) {
        const char *word = p->argv[p->at];

        if (options && strcmp(word, "--") == 0)
            options = false;
        else if (options && word[0] == '-' && word[1] == '-')
            code = parse_long(p);
        else if (options && word[0] == '-' && word[1])
            code = parse_short(p);
        else
            common->operands[common->operand_count++] = word;
    }
    return code;
}

static int check_complete(parser *p)
{
    const verb *v = p->verb;
    const common_args *common = (void *)p->args;
    option_walk walk = {0};
    const option *o;

    if (common->help)
        return 0;
    for (size_t i = 0; (o = options_next(v, &walk, NULL)); i++)
        if (o->required && !p->given[i])
            return usage_error(p->console, v, "--%s %s is required", o->name, o->value);
    if (common->operand_count < v->least_operands) {
        const char *missing = v->operands[common->operand_count].name;

        return usage_error(p->console, v, "%s is missing", missing);
    }
    if (v->most_operands >= 0 && common->operand_count > v->most_operands)
        return usage_error(p->console, v, "one argument too many: '%s'%s%s",
                           common->operands[v->most_operands], v->surplus ? "; " : "",
                           v->surplus ? v->surplus : "");
    if (common->json && common->csv)
        return usage_error(p->console, v, "--json and --csv exclude each other");
    return 0;
}

/* Allocates lists as long as the arguments, so that they need not grow. */
static bool make_lists(parser *p)
{
    option_walk walk = {0};
    const option_group *g;
    const option *o;
    bool made = true;

    while ((o = options_next(p->verb, &walk, &g)))
        if (o->type == OPTION_LIST) {
            text_list *list = slot_of(p, g, o);

            list->at = calloc((size_t)p->argc + 1, sizeof(*list->at));
            made = made && list->at;
        }
    return made;
}

int options_parse(console *c, const verb *v, int argc, char **argv, void **args)
{
    parser p = {.console = c, .verb = v, .argc = argc, .argv = argv};
    common_args *common;
    int code;

    p.args = calloc(1, v->size);
    if (!p.args)
        return fail_no_memory(c);
    if (v->defaults)
        memcpy(p.args, v->defaults, v->size);
    common = (void *)p.args;
    common->verb = v;
    common->argv = argv;
    common->argc = argc;
    common->operands = calloc((size_t)argc + 1, sizeof(*common->operands));
    if (!make_lists(&p) || !common->operands)
        code = fail_no_memory(c);
    else
        code = parse_arguments(&p);
    if (!code)
        code = check_complete(&p);
    if (code)
        options_free(v, p.args);
    else
        *args = p.args;
    return code;
}

void options_free(const verb *v, void *args)
{
    option_walk walk = {0};
    const option_group *g;
    const option *o;

    if (!args)
        return;
    while ((o = options_next(v, &walk, &g)))
        if (o->type == OPTION_LIST)
            free(((text_list *)(void *)((char *)args + g->at + o->at))->at);
    free(((common_args *)args)->operands);
    free(args);
}

/* ---- help ------------------------------------------------------------------------ */

enum { HELP_COLUMN = 26, HELP_WIDTH = 80 };

/* Writes the words of `text` from column `column` on, in lines that begin at
 * `indent`. */
static void put_wrapped(FILE *to, const char *text, int indent, int column)
{
    bool first = true;

    while (*text) {
        size_t length = strcspn(text, " \n");

        if (!first && column + 1 + (int)length > HELP_WIDTH) {
            fprintf(to, "\n%*s", indent, "");
            column = indent;
            first = true;
        }
        column += fprintf(to, "%s%.*s", first ? "" : " ", (int)length, text);
        first = false;
        text += length;
        if (text[0] == '\n' && text[1] == '\n') {
            fputs("\n\n", to);
            column = 0;
            first = true;
        }
        text += strspn(text, " \n");
    }
    fputc('\n', to);
}

static void put_entry(FILE *to, const char *name, const char *help)
{
    int column = fprintf(to, "  %s", name);

    if (column + 2 > HELP_COLUMN) {
        fputc('\n', to);
        column = 0;
    }
    fprintf(to, "%*s", HELP_COLUMN - column, "");
    put_wrapped(to, help, HELP_COLUMN, HELP_COLUMN);
}

const char *option_help(const option *o, char buffer[OPTION_HELP_BYTES])
{
    size_t used = 0;
    const char *word;

    if (!o->word)
        return o->help;
    for (int i = 0; (word = o->word(i)) && used < OPTION_HELP_BYTES; i++)
        used += (size_t)snprintf(buffer + used, OPTION_HELP_BYTES - used, "%s%s",
                                 i == 0           ? ""
                                 : o->word(i + 1) ? ", "
                                                  : " or ",
                                 word);
    if (used < OPTION_HELP_BYTES)
        snprintf(buffer + used, OPTION_HELP_BYTES - used, "; %s", o->help);
    return buffer;
}

static void put_option(FILE *to, const option *o)
{
    char name[120], help[OPTION_HELP_BYTES], letter[8] = "    ";

    if (o->letter)
        snprintf(letter, sizeof(letter), "-%c, ", o->letter);
    snprintf(name, sizeof(name), "%s--%s%s%s", letter, o->name,
             o->type == OPTION_FLAG ? "" : " ", o->type == OPTION_FLAG ? "" : o->value);
    put_entry(to, name, option_help(o, help));
}

void options_help(FILE *to, const verb *v)
{
    fprintf(to, "ease %s: %s\n\n", v->name, v->summary);
    for (size_t i = 0; v->usage[i]; i++)
        fprintf(to, "%s ease %s %s\n", i ? "      " : "Usage:", v->name, v->usage[i]);
    if (v->about) {
        fputc('\n', to);
        put_wrapped(to, v->about, 0, 0);
    }
    if (v->operands) {
        fputs("\nArguments:\n", to);
        for (const operand *o = v->operands; o->name; o++)
            put_entry(to, o->name, o->help);
    }
    for (const option_group *g = v->groups; g->title; g++) {
        fprintf(to, "\n%s:\n", g->title);
        for (const option *o = g->options; o->name; o++)
            put_option(to, o);
    }
    if (!v->examples)
        return;
    fputs("\nExamples:\n", to);
    for (size_t i = 0; v->examples[i]; i++)
        fprintf(to, "  ease %s %s\n", v->name, v->examples[i]);
}
