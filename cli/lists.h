/* Lists of items with a number each, as recommend and similar print them. */
#ifndef EASE_CLI_LISTS_H
#define EASE_CLI_LISTS_H

#include "histories.h"
#include "input.h"

/* Which items may be in a list, and how many. */
typedef struct list_args {
    int64_t k;
    const char *allow, *deny, *titles;
} list_args;

#define LIST_DEFAULTS \
    {                 \
        .k = 10       \
    }
#define LIST_GROUP(args)                            \
    {                                               \
        "Lists", list_options, offsetof(args, list) \
    }
extern const option list_options[];

/* The options of the library from those of the program; *mask is to be freed. */
int list_setup(console *c, const common_args *common, const list_args *a,
               const ease_model *m, ease_recommend_options *o, uint8_t **mask);

typedef struct item_list {
    const char *key;     /* what it is for: "user", "item" */
    const char *subject; /* its id */
    const char *heading; /* the word before it in text; NULL: no heading */
    const char *value;   /* what the numbers are: "score", "similarity" */
    const ease_rec *recs;
    int32_t count;
    int64_t unknown; /* ids that were not used */
    bool popular;    /* nothing was known: these are the popular items */
    bool can_fall_back;
} item_list;

/* For CSV a header first, once. */
void list_header(const ease_model *m, output_format format, const item_list *l);
void list_put(const ease_model *m, output_format format, const item_list *l);

/* Decimals that show six digits of the largest of these numbers. */
int decimals_for(const ease_rec *recs, int32_t count);

#endif
