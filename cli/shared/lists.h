/* Lists of items with numbers, as recommend and similar print them. */
#ifndef EASE_CLI_SHARED_LISTS_H
#define EASE_CLI_SHARED_LISTS_H

#include "files.h"
#include "histories.h"
#include "listtags.h"

/* The items that may be in a list, their order, and its length. */
typedef struct list_args {
    int64_t k;
    const char *allow, *deny, *titles;
    tag_args tags;
    double popularity_power;
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
/* Other names of -k. */
extern const refusal list_refusals[];

/* Checks the options, before a model is opened. */
int list_check(console *c, const common_args *common, const list_args *a);

/* What the library's options point to. */
typedef struct list_choice {
    uint8_t *mask;
    ease_cap *caps;
    size_t cap_count;
} list_choice;

/* Sets the library's options from those of the program. Free `choice` in any case with
 * list_choice_free. */
int list_setup(console *c, const common_args *common, const list_args *a,
               const ease_model *m, ease_recommend_options *o, list_choice *choice);
void list_choice_free(list_choice *choice);

/* Scratch for explaining lists: a reason for each item of the history. */
typedef struct list_reasons {
    ease_scorer *scorer;
    ease_rec *found;
    int32_t most;
} list_reasons;

/* Allocates it; `longest` is the length of the longest history. */
int reasons_make(console *c, const ease_model *m, int64_t most, int32_t longest,
                 list_reasons *out);
void reasons_free(list_reasons *r);
/* Sorts by magnitude, the strongest first. */
void sort_reasons(ease_rec *reasons, int32_t count);

typedef struct item_list {
    const char *key;     /* what the list is for: "user", "item" */
    const char *subject; /* id of the user or item */
    const char *heading; /* the word before the id in text; NULL: no heading */
    const char *value;   /* name of the numbers: "score", "similarity" */
    const ease_rec *recs;
    int32_t count;
    double popularity_power; /* of the numbers; 0: they are those of the model */
    int64_t unknown;         /* unknown ids of the history */
    bool popular; /* no item of the history is known: these are popular items */
    bool can_fall_back;
    list_reasons *reasons; /* NULL: reasons are not shown */
    ease_row history;      /* the history that the reasons come from */
} item_list;

/* Prints the header of CSV, once. */
void list_header(const ease_model *m, output_format format, const item_list *l);
void list_put(const ease_model *m, output_format format, const item_list *l);
/* Prints the key items of JSON. */
void json_items(json *j, const ease_model *m, const item_list *l);

/* Decimals that show six digits of the largest of these numbers. */
int decimals_for(const ease_rec *recs, int32_t count);

#endif
