/* A verb is a table: from it come parsing, --help, the man page and the completions,
 * so that none of them can say what another does not. */
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
    OPTION_LIST,     /* text_list: repeats */
    OPTION_REAL,     /* double, finite */
    OPTION_POSITIVE, /* double, finite and above 0 */
    OPTION_COUNT,    /* int64_t, least .. most */
    OPTION_SIZE,     /* size_t: bytes, as in 500M, 2G, 2GiB */
    OPTION_CHOICE,   /* int: which of the words of `value`, from 0 */
    OPTION_NAME      /* const char *: one of `names` */
} option_type;

typedef struct text_list {
    const char **at;
    size_t count;
} text_list;

typedef struct option {
    const char *name;
    const char *value; /* as help names it: FILE, N; for a choice "f32|f64" */
    const char *help;
    const char *(*names)(int); /* of a name: from 0 on, NULL past the end */
    size_t at;                 /* where its value lies in the group's structure */
    int64_t least, most;       /* of a count; most 0: no bound */
    option_type type;
    char letter; /* 0: none */
    bool required;
} option;

typedef struct option_group {
    const char *title;
    const option *options; /* ended by one without a name */
    size_t at;             /* where the group's structure lies in the verb's */
} option_group;

typedef struct operand {
    const char *name, *help;
} operand;

typedef struct verb {
    const char *name, *summary;
    const char *const *usage;   /* its forms, without "ease NAME"; ended by NULL */
    const char *about;          /* paragraphs, divided by an empty line */
    const operand *operands;    /* ended by one without a name; may be NULL */
    const option_group *groups; /* ended by one without a title */
    const char *const *examples;
    const char *words; /* what a first operand may be beside a file: "merge import" */
    int least_operands, most_operands; /* most -1: any number */
    size_t size;                       /* of its arguments, common_args first */
    const void *defaults;
    bool hidden;
    int (*run)(console *c, void *args); /* the exit code */
} verb;

/* What every verb's arguments begin with. */
typedef struct common_args {
    const verb *verb;
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
/* For verbs that solve; `at_` is where the `const char *` lies. */
#define BACKEND_OPTION(at_)                                                   \
    {                                                                         \
        .name = "backend", .type = OPTION_NAME, .at = (at_), .value = "NAME", \
        .names = ease_backend_name,                                           \
        .help = "the backend that solves (default: the first); ease info "    \
                "--backends describes them"                                   \
    }
#define VERIFY_GROUP                       \
    {                                      \
        "Reading MODEL", verify_options, 0 \
    }
#define FORMAT_GROUP(options_) \
    {                          \
        "Output", options_, 0  \
    }

/* Arguments into a structure of the verb's size, at *args; free with options_free.
 * Returns 0 or the exit code after a message. */
int options_parse(console *c, const verb *v, int argc, char **argv, void **args);
void options_free(const verb *v, void *args);

/* One line about what is wrong, one about where help is. Returns the exit code. */
int usage_error(console *c, const verb *v, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

void options_help(FILE *to, const verb *v);
/* The help of an option, with the names of an OPTION_NAME added. Returns `to`. */
enum { OPTION_HELP_SIZE = 600 };
const char *option_help(const option *o, char to[OPTION_HELP_SIZE]);

/* Walks over all options of a verb: start with {0}; NULL at the end. */
typedef struct option_walk {
    size_t group, index;
} option_walk;
const option *options_next(const verb *v, option_walk *walk,
                           const option_group **group);

#endif
