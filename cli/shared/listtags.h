/* Lists chosen by tags: --only, --not and --at-most. */
#ifndef EASE_CLI_SHARED_LISTTAGS_H
#define EASE_CLI_SHARED_LISTTAGS_H

#include "options.h"

typedef struct tag_args {
    text_list only, except, at_most;
} tag_args;

/* Checks the form of the options, before a model is opened. */
int tag_args_check(console *c, const common_args *common, const tag_args *a);

/* Sets the bytes of items that their tags exclude to 0. *mask is allocated if it is
 * NULL and tags are given, and must be freed. */
int tags_filter(console *c, const common_args *common, const tag_args *a,
                const ease_model *m, uint8_t **mask);

/* Makes the caps of --at-most; *out is NULL if there are none. Free with caps_free. */
int caps_make(console *c, const common_args *common, const tag_args *a,
              const ease_model *m, ease_cap **out);
void caps_free(ease_cap *caps, size_t count);

#endif
