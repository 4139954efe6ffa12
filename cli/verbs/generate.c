/* Prints the man page and the completions of shells, from the same tables as --help. */
#include <string.h>

#include "files.h"
#include "measuring.h"
#include "verbs.h"

#define PAGE_DATE "2026-11-15"

static bool takes_value(const option *o)
{
    return o->type != OPTION_FLAG;
}

/* ---- man ---------------------------------------------------------------------- */

/* Prints the first `length` bytes of `s` as roff text: requests and escapes are
 * neutralized, and hyphens are minus signs so that options can be copied. Lines are
 * kept short. */
static void put_roff_part(const char *s, size_t length)
{
    size_t column = 0;

    for (size_t i = 0; i < length; i++) {
        if (s[i] == ' ' && column > 60) {
            putchar('\n');
            column = 0;
            continue;
        }
        if (s[i] == '\\')
            fputs("\\e", stdout);
        else if (s[i] == '-')
            fputs("\\-", stdout);
        else if ((s[i] == '.' || s[i] == '\'') && column == 0)
            printf("\\&%c", s[i]);
        else
            putchar(s[i]);
        column++;
    }
}

static void put_roff(const char *s)
{
    put_roff_part(s, strlen(s));
}

static void put_roff_text(const char *s)
{
    const char *gap;

    while ((gap = strstr(s, "\n\n"))) {
        put_roff_part(s, (size_t)(gap - s));
        fputs("\n.PP\n", stdout);
        s = gap + 2;
    }
    put_roff(s);
    putchar('\n');
}

static void put_man_option(const option *o)
{
    char help[OPTION_HELP_BYTES];

    fputs(".TP\n", stdout);
    if (o->letter)
        printf("\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB\\-\\-", stdout);
    put_roff(o->name);
    fputs("\\fR", stdout);
    if (takes_value(o)) {
        fputs(" \\fI", stdout);
        put_roff(o->value);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    put_roff(option_help(o, help));
    putchar('\n');
}

static void put_man_verb(const verb *v)
{
    printf(".SS ease %s\n", v->name);
    put_roff(v->summary);
    fputs(".\n", stdout);
    for (size_t i = 0; v->usage[i]; i++) {
        printf(i ? ".br\n\\fBease %s\\fR " : ".PP\n\\fBease %s\\fR ", v->name);
        put_roff(v->usage[i]);
        putchar('\n');
    }
    if (v->about) {
        fputs(".PP\n", stdout);
        put_roff_text(v->about);
    }
    for (const operand *o = v->operands; o && o->name; o++) {
        fputs(".TP\n\\fI", stdout);
        put_roff(o->name);
        fputs("\\fR\n", stdout);
        put_roff(o->help);
        putchar('\n');
    }
    for (const option_group *g = v->groups; g->title; g++) {
        fputs(".PP\n", stdout);
        put_roff(g->title);
        fputs(":\n", stdout);
        for (const option *o = g->options; o->name; o++)
            put_man_option(o);
    }
}

static void put_man_metrics(void)
{
    const ease_metric_info *m;

    fputs(".SH METRICS\nOf the best K items of each list:\n", stdout);
    for (int i = 0; (m = ease_metric_at(i)); i++) {
        fputs(".TP\n\\fB", stdout);
        put_roff(m->name);
        fputs("@\\fIK\\fR\n", stdout);
        put_roff(m->about);
        put_roff(metric_direction(m->name));
        fputs(".\n", stdout);
    }
}

static void put_man_formats(void)
{
    const ease_format *f;

    fputs(".SH FORMATS\nOf interactions, in the order in which they are recognized:\n",
          stdout);
    for (int i = 0; (f = ease_format_at(i)); i++) {
        fputs(".TP\n\\fB", stdout);
        put_roff(f->name);
        fputs("\\fR\n", stdout);
        put_roff(f->about);
        put_roff(format_carries(f));
        fputs(".\n", stdout);
    }
}

static void put_man_examples(void)
{
    fputs(".SH EXAMPLES\n.nf\n", stdout);
    for (size_t i = 0; all_verbs[i]; i++)
        for (size_t k = 0; all_verbs[i]->examples && all_verbs[i]->examples[k]; k++) {
            printf("ease %s ", all_verbs[i]->name);
            put_roff(all_verbs[i]->examples[k]);
            putchar('\n');
        }
    fputs(".fi\n", stdout);
}

static void put_man(void)
{
    printf(".TH EASE 1 \"" PAGE_DATE "\" \"ease %s\" \"User Commands\"\n",
           ease_version());
    fputs(".SH NAME\nease \\- recommendations in closed form\n"
          ".SH SYNOPSIS\n\\fBease\\fR \\fIverb\\fR [\\fIoptions\\fR]\n"
          ".br\n\\fBease help\\fR [\\fIverb\\fR]\n"
          ".br\n\\fBease \\-\\-version\\fR\n"
          ".SH DESCRIPTION\n"
          "Learns which items go together from who interacted with what, by the model\n"
          "EASE (Steck, WWW 2019), and recommends items for a history.\n"
          "Results go to standard output, everything else to standard error.\n"
          "On a terminal a bar shows progress and the time left.\n"
          ".SH VERBS\n",
          stdout);
    for (size_t i = 0; all_verbs[i]; i++)
        if (!all_verbs[i]->hidden)
            put_man_verb(all_verbs[i]);
    put_man_formats();
    put_man_metrics();
    fputs(".SH EXIT STATUS\n"
          ".TP\n0\nDone.\n"
          ".TP\n1\nFailed: a missing file, a full disk.\n"
          ".TP\n2\nWrong usage.\n"
          ".TP\n3\nBad data, or a damaged file.\n"
          ".TP\n4\nRefused for memory, or out of it.\n"
          ".TP\n5\nNumerical failure: lambda is too small for the data.\n"
          ".TP\n130, 143\nInterrupted, terminated. No partial file is left.\n"
          ".SH ENVIRONMENT\n"
          ".TP\nNO_COLOR\nIf set and not empty, the progress bar has no colour.\n"
          ".TP\nTERM\nIf unset or dumb, there is no progress bar.\n",
          stdout);
    put_man_examples();
}

/* ---- quoting for shells ------------------------------------------------------- */

/* Prints a string within single quotes of a POSIX shell or zsh, with a backslash
 * before `special` characters. */
static void put_quoted(const char *s, const char *special)
{
    for (; *s; s++) {
        if (*s == '\'')
            fputs("'\\''", stdout);
        else if (strchr(special, *s))
            printf("\\%c", *s);
        else
            putchar(*s);
    }
}

/* Prints the choices "f32|f64" with another separator. */
static void put_choices(const char *choices, char between)
{
    for (; *choices; choices++)
        putchar(*choices == '|' ? between : *choices);
}

static bool has_choices(const option *o)
{
    return o->type == OPTION_CHOICE || o->word;
}

/* All that the option can be, divided by spaces. */
static void put_option_choices(const option *o)
{
    const char *word;

    if (!o->word)
        put_choices(o->value, ' ');
    for (int i = 0; o->word && (word = o->word(i)); i++)
        printf("%s%s", i ? " " : "", word);
}

static void put_verb_names(void)
{
    for (size_t i = 0, put = 0; all_verbs[i]; i++)
        if (!all_verbs[i]->hidden)
            printf("%s%s", put++ ? " " : "", all_verbs[i]->name);
}

/* The first operands of a verb that are not files; those of help are verbs too. */
static void put_words(const verb *v)
{
    fputs(v->words ? v->words : "", stdout);
    if (v == &verb_help) {
        putchar(' ');
        put_verb_names();
    }
}

static void put_option_names(const verb *v)
{
    option_walk walk = {0};
    const option *o;

    while ((o = options_next(v, &walk, NULL))) {
        printf(" --%s", o->name);
        if (o->letter)
            printf(" -%c", o->letter);
    }
}

/* ---- bash --------------------------------------------------------------------- */

static void put_bash_values(const verb *v)
{
    option_walk walk = {0};
    const option *o;

    while ((o = options_next(v, &walk, NULL))) {
        if (!takes_value(o))
            continue;
        printf("        %s:--%s", v->name, o->name);
        if (o->letter)
            printf("|%s:-%c", v->name, o->letter);
        if (has_choices(o)) {
            fputs(") COMPREPLY=($(compgen -W '", stdout);
            put_option_choices(o);
            puts("' -- \"$word\")); return ;;");
        } else if (o->type == OPTION_PATH) {
            puts(") COMPREPLY=($(compgen -f -- \"$word\")); return ;;");
        } else {
            puts(") return ;;");
        }
    }
}

static void put_bash(void)
{
    puts("# Completion of ease for bash.\n"
         "_ease()\n"
         "{\n"
         "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "    local verb=${COMP_WORDS[1]} options= words=\n"
         "    compopt -o filenames 2>/dev/null\n"
         "    if ((COMP_CWORD == 1)); then");
    fputs("        COMPREPLY=($(compgen -W '", stdout);
    put_verb_names();
    puts(" --help --version' -- \"$word\"))\n"
         "        return\n"
         "    fi\n"
         "    case $verb:$before in");
    for (size_t i = 0; all_verbs[i]; i++)
        if (!all_verbs[i]->hidden)
            put_bash_values(all_verbs[i]);
    puts("    esac\n    case $verb in");
    for (size_t i = 0; all_verbs[i]; i++) {
        const verb *v = all_verbs[i];

        if (v->hidden)
            continue;
        printf("        %s) options='", v->name);
        put_option_names(v);
        fputs("' words='", stdout);
        put_words(v);
        puts("' ;;");
    }
    puts("    esac\n"
         "    if [[ $word == -* ]]; then\n"
         "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "    else\n"
         "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\") "
         "$(compgen -f -- \"$word\"))\n"
         "    fi\n"
         "}\n"
         "complete -F _ease ease");
}

/* ---- zsh ---------------------------------------------------------------------- */

static void put_zsh_option(const option *o)
{
    const char *repeats = o->type == OPTION_LIST ? "*" : "";
    char help[OPTION_HELP_BYTES];

    fputs(" \\\n                ", stdout);
    if (o->letter)
        printf("'(-%c --%s)'{-%c,--%s}'", o->letter, o->name, o->letter, o->name);
    else
        printf("'%s--%s", repeats, o->name);
    putchar('[');
    put_quoted(option_help(o, help), "[]:\\");
    putchar(']');
    if (takes_value(o)) {
        putchar(':');
        put_quoted(has_choices(o) ? "choice" : o->value, "[]:\\");
        putchar(':');
        if (o->type == OPTION_PATH)
            fputs("_files", stdout);
        if (has_choices(o)) {
            putchar('(');
            put_option_choices(o);
            putchar(')');
        }
    }
    putchar('\'');
}

static void put_zsh(void)
{
    puts("#compdef ease\n"
         "_ease()\n"
         "{\n"
         "    local -a verbs\n"
         "    verbs=(");
    for (size_t i = 0; all_verbs[i]; i++)
        if (!all_verbs[i]->hidden) {
            printf("        '%s:", all_verbs[i]->name);
            put_quoted(all_verbs[i]->summary, ":\\");
            puts("'");
        }
    puts("    )\n"
         "    if ((CURRENT == 2)); then\n"
         "        _describe -t verbs verb verbs\n"
         "        return\n"
         "    fi\n"
         "    local verb=$words[2]\n"
         "    shift words\n"
         "    ((CURRENT--))\n"
         "    case $verb in");
    for (size_t i = 0; all_verbs[i]; i++) {
        option_walk walk = {0};
        const option *o;

        if (all_verbs[i]->hidden)
            continue;
        printf("        %s)\n            _arguments", all_verbs[i]->name);
        while ((o = options_next(all_verbs[i], &walk, NULL)))
            put_zsh_option(o);
        if (all_verbs[i] == &verb_help)
            printf(" \\\n                '1:verb:->verb'\n"
                   "            _describe -t verbs verb verbs\n"
                   "            compadd %s ;;\n",
                   verb_help.words);
        else
            puts(" \\\n                '*:file:_files' ;;");
    }
    puts("    esac\n"
         "}\n"
         "_ease \"$@\"");
}

/* ---- fish --------------------------------------------------------------------- */

static void put_fish_quoted(const char *s)
{
    putchar('\'');
    for (; *s; s++) {
        if (*s == '\'' || *s == '\\')
            putchar('\\');
        putchar(*s);
    }
    putchar('\'');
}

static void put_fish_option(const verb *v, const option *o)
{
    char help[OPTION_HELP_BYTES];

    printf("complete -c ease -n '__fish_seen_subcommand_from %s' -l %s", v->name,
           o->name);
    if (o->letter)
        printf(" -s %c", o->letter);
    if (has_choices(o)) {
        fputs(" -x -a '", stdout);
        put_option_choices(o);
        putchar('\'');
    } else if (o->type == OPTION_PATH) {
        fputs(" -r -F", stdout);
    } else if (takes_value(o)) {
        fputs(" -x", stdout);
    }
    fputs(" -d ", stdout);
    put_fish_quoted(option_help(o, help));
    putchar('\n');
}

static void put_fish(void)
{
    puts("# Completion of ease for fish.");
    for (size_t i = 0; all_verbs[i]; i++) {
        const verb *v = all_verbs[i];
        option_walk walk = {0};
        const option *o;

        if (v->hidden)
            continue;
        printf("complete -c ease -n __fish_use_subcommand -f -a %s -d ", v->name);
        put_fish_quoted(v->summary);
        putchar('\n');
        if (v->words) {
            printf("complete -c ease -n '__fish_seen_subcommand_from %s' -a '",
                   v->name);
            put_words(v);
            puts("'");
        }
        while ((o = options_next(v, &walk, NULL)))
            put_fish_option(v, o);
    }
}

/* ---- the verb ----------------------------------------------------------------- */

static int run(console *c, void *args)
{
    static const struct {
        const char *name;
        void (*put)(void);
    } forms[] = {
        {"man", put_man}, {"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};
    const common_args *a = args;

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (strcmp(a->operands[0], forms[i].name) == 0) {
            forms[i].put();
            return EXIT_DONE;
        }
    return usage_error(c, a->verb, "expected man, bash, zsh or fish, not '%s'",
                       a->operands[0]);
}

static const option_group groups[] = {{"Options", general_options, 0}, GROUPS_END};
static const operand operands[] = {{"WHAT", "man, bash, zsh or fish"}, {NULL, NULL}};
static const char *const usage[] = {"man|bash|zsh|fish", NULL};

const verb verb_generate = {
    .name = "generate",
    .summary = "print the man page or the completion for a shell",
    .usage = usage,
    .operands = operands,
    .groups = groups,
    .least_operands = 1,
    .most_operands = 1,
    .size = sizeof(common_args),
    .hidden = true,
    .run = run,
};
