/* A split under construction: the part of each event, and the numbers of users and
 * items in its files. */
#ifndef EASE_SPLIT_SPLIT_H
#define EASE_SPLIT_SPLIT_H

#include "read/events.h"

/* Values of events.part. If users are divided (strong), each part has its own input
 * and targets. Otherwise the input is the train part, and validation targets belong
 * to the train part of the final model. */
enum {
    EASE__TRAIN = 1, /* as set by ease__events_read */
    EASE__VALIDATION_INPUT = 2,
    EASE__VALIDATION_TARGET = 4,
    EASE__TEST_INPUT = 8,
    EASE__TEST_TARGET = 16
};

typedef struct ease__protocol ease__protocol;

typedef struct ease__split {
    const char *data; /* name of the data, for messages */
    const ease__protocol *protocol;
    const ease_recipe *recipe; /* NULL: none */
    ease_read_options reading; /* as they were used */
    ease_split_options options;
    ease__events events;
    uint32_t *ascending; /* users with events, by id */
    uint32_t *users;     /* the same, by their numbers in the split */
    int64_t user_count;
    int64_t *user_number; /* by user of the events; -1: none */
    int32_t *items;       /* items of the events by number */
    int32_t item_count;
    int32_t *item_number;              /* by item of the events; -1: none */
    double validation_from, test_from; /* protocol time: the moments */
    int32_t cold_items; /* protocol cold-items: test-cold items, and validation-cold */
} ease__split;

struct ease__protocol {
    const char *name;
    bool strong; /* users are divided, not their interactions */
    bool share;  /* it has a share */
    bool timed;  /* it uses times, ... */
    bool needs_time;
    bool items; /* the share is one of items: all rows of these are held out */
    /* Sets part of every event that is not dropped. */
    ease_status (*divide)(ease__split *s, ease_error *err);
};

/* The named protocol, or EASE_E_ARG with the list of them. */
ease_status ease__find_protocol(const char *name, const ease__protocol **out,
                                ease_error *err);

/* Divides the events: sets their parts, the ascending order of users, and the
 * numbers of users and items. */
ease_status ease__split_divide(ease__split *s, ease_error *err);
void ease__split_free(ease__split *s);

/* A table of a split: which events it has. */
typedef struct ease__part_table {
    int which;     /* of ease__split_tables; -1: the end */
    uint8_t parts; /* the parts of its events */
    uint8_t with;  /* only users with events of this part; 0: all */
    bool by_user;  /* users ascending; else in the order of the file */
} ease__part_table;

/* The tables of a split that is divided. */
const ease__part_table *ease__part_tables(const ease__split *s);
/* True if a user has events of these parts. */
bool ease__user_has(const ease__events *e, uint32_t user, uint8_t parts);

/* Replaces options of 0 by their defaults, which the recipe and the protocol give, and
 * finds these. */
ease_status ease__split_settle(ease__split *s, const ease_split_options *o,
                               ease_error *err);

/* Gives parts to the caller; those that a caller with an older header has no member for
 * are freed. */
void ease__split_give(const ease_split_parts *p, ease_split_parts *out);

/* Writes all files of the split into the directory `dir`, and syncs them. */
ease_status ease__split_write(const ease__split *s, const char *dir,
                              ease_split_info *info, ease_error *err);

#endif
