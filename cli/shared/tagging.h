/* Tags of items that models learn from, for train, tune, compare and plan. */
#ifndef EASE_CLI_SHARED_TAGGING_H
#define EASE_CLI_SHARED_TAGGING_H

#include "options.h"

typedef struct tagging_args {
    const char *tags, *columns, *split, *separator, *kind;
    double weight; /* NAN: not given */
} tagging_args;

#define TAGGING_DEFAULTS      \
    {                         \
        .weight = (double)NAN \
    }
#define TAGGING_GROUP(args)                                       \
    {                                                             \
        "Tags of items", tagging_options, offsetof(args, tagging) \
    }
extern const option tagging_options[];

/* Checks the options without reading the file. `method`, which may be NULL, is the only
 * one that will be trained. */
int check_tagging(console *c, const verb *v, const tagging_args *a,
                  const ease_method_info *method);
/* Reads the tags; *out stays NULL if there is no --tags. Returns 0, or the exit code
 * after a message. */
int read_tags(console *c, const tagging_args *a, size_t memory_limit, ease_tags **out);
/* The weight for ease_train_options. */
double tag_weight_of(const tagging_args *a);

#endif
