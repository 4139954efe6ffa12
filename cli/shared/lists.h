/* Lists of items with a number each, as recommend and similar print them. */
#ifndef EASE_CLI_SHARED_LISTS_H
#define EASE_CLI_SHARED_LISTS_H

#include "files.h"
#include "histories.h"

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

/* What is needed to say why: room for a reason for each item of the history. */
typedef struct list_reasons {
    ease_scorer *scorer;
    ease_rec *found;
    int32_t most;
} list_reasons;

/* `longest` is the length of the longest history. */
int reasons_make(console *c, const ease_model *m, int64_t most, int32_t longest,
                 list_reasons *out);
void reasons_free(list_reasons *r);
/* Sorts by magnitude, the strongest first. */
void sort_reasons(ease_rec *reasons, int32_t count);

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
    list_reasons *reasons; /* NULL: not asked for */
    ease_row history;      /* what they are looked for in */
} item_list;

/* For CSV a header first, once. */
void list_header(const ease_model *m, output_format format, const item_list *l);
void list_put(const ease_model *m, output_format format, const item_list *l);

/* Decimals that show six digits of the largest of these numbers. */
int decimals_for(const ease_rec *recs, int32_t count);

#endif
