/* A verb is a table, from which parsing, --help, the man page and the completions
 * are derived, so that they always agree. */
#ifndef EASE_CLI_SHARED_OPTIONS_H
#define EASE_CLI_SHARED_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "console.h"

typedef enum option_type {
    OPTION_FLAG,     /* int: 1 when given */
    OPTION_TEXT,     /* const char * */
    OPTION_PATH,     /* const char *, completed as a file name */
    OPTION_LIST,     /* text_list: may be repeated */
    OPTION_REAL,     /* double, finite */
    OPTION_POSITIVE, /* double, finite and above 0 */
    OPTION_COUNT,    /* int64_t, least .. most */
    OPTION_TIME,     /* double, seconds since 1970; NaN: not given */
    OPTION_SIZE,     /* size_t: bytes, as in 500M, 2G, 2GiB */
    OPTION_CHOICE    /* int: index of the word in `value` */
} option_type;

typedef struct text_list {
    const char **at;
    size_t count;
} text_list;

typedef struct option {
    const char *name;
    const char *value; /* its name in the help: FILE, N; for a choice "f32|f64" */
    const char *help;
    /* Words that a text can be, by index from 0, NULL past the end: help lists them and
     * shells complete them. NULL: any text. */
    const char *(*word)(int index);
    size_t at;           /* offset of its value in the group's structure */
    int64_t least, most; /* of a count; most 0: no bound */
    option_type type;
    char letter; /* 0: none */
    bool required;
} option;

typedef struct option_group {
    const char *title;
    const option *options; /* ended by one without a name */
    size_t at;             /* offset of the group's structure in that of the verb */
} option_group;

typedef struct operand {
    const char *name, *help;
} operand;

/* An option of another verb or program, which people may try here. */
typedef struct refusal {
    const char *name, *why; /* a name or a letter; why: what to do instead */
} refusal;

typedef struct verb {
    const char *name, *summary;
    const char *const *usage;   /* without "ease NAME"; ended by NULL */
    const char *about;          /* paragraphs, separated by an empty line */
    const operand *operands;    /* ended by one without a name; may be NULL */
    const option_group *groups; /* ended by one without a title */
    const char *const *examples;
    const char *words; /* first operands that are not files: "merge import" */
    int least_operands, most_operands; /* most -1: any number */
    size_t size;                       /* of its arguments, common_args first */
    const void *defaults;
    bool hidden;
    const refusal *refusals; /* ended by one without a name; may be NULL */
    const char *surplus; /* where an operand too many belongs; NULL: nothing to say */
    int (*run)(console *c, void *args); /* the exit code */
} verb;

/* The first member of every verb's arguments. */
typedef struct common_args {
    const verb *verb;
    char **argv; /* all arguments behind the verb */
    int argc;
    const char **operands; /* ended by NULL */
    int operand_count;
    int help, quiet, no_progress, verbose, json, csv, no_verify;
    int64_t threads;
} common_args;

extern const option general_options[]; /* --quiet, --no-progress, --help */
extern const option threads_options[]; /* those, --threads, --verbose */
extern const option output_options[];  /* --json, --csv */
extern const option verify_options[];  /* --no-verify */

#define OPTIONS_END  \
    {                \
        .name = NULL \
    }
#define GROUPS_END    \
    {                 \
        .title = NULL \
    }
#define VERIFY_GROUP                       \
    {                                      \
        "Reading MODEL", verify_options, 0 \
    }
#define FORMAT_GROUP(options_) \
    {                          \
        "Output", options_, 0  \
    }

/* Parses the arguments into a new structure of the verb's size, *args; free with
 * options_free. Returns 0, or the exit code after a message. */
int options_parse(console *c, const verb *v, int argc, char **argv, void **args);
void options_free(const verb *v, void *args);

/* Prints a line with the error and a line that names the help. Returns the exit
 * code. */
int usage_error(console *c, const verb *v, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

void options_help(FILE *to, const verb *v);

enum { OPTION_HELP_BYTES = 400 };
/* The help of an option, which begins with its words if it has any: "npz, mtx or table;
 * by default recognized". */
const char *option_help(const option *o, char buffer[OPTION_HELP_BYTES]);

/* An iteration over all options of a verb: starts with {0}, and returns NULL at the
 * end. */
typedef struct option_walk {
    size_t group, index;
} option_walk;
const option *options_next(const verb *v, option_walk *walk,
                           const option_group **group);

#endif
