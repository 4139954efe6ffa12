/* Tags of items: a sparse matrix of items and tags, and how it is built from pairs. */
#ifndef EASE_DATA_TAGS_H
#define EASE_DATA_TAGS_H

#include "data/dictionary.h"

/* The tags of item i are numbers[starts[i]] .. numbers[starts[i + 1] - 1], ascending;
 * each item has at least one. */
struct ease_tags {
    ease__ids items, names; /* names are KIND=VALUE */
    uint64_t *starts;       /* items + 1 */
    int32_t *numbers;
    float *weights; /* above 0; NULL: all ones */
    char *source;   /* the name of the input, for messages */
    int64_t rows, empty;
};

/* A pair as it was read. */
typedef struct ease__tag_pair {
    int32_t item, tag;
    float weight;
} ease__tag_pair;

/* Tags under construction. */
typedef struct ease__tag_draft {
    ease__budget *budget;
    ease__dictionary items, names;
    ease__tag_pair *pairs; /* in the order of the input */
    size_t count, capacity;
    char *text; /* buffer for one id or name */
    size_t text_capacity;
    bool weighted;       /* pairs have weights other than 1 */
    int64_t rows, empty; /* see ease_tags_info */
} ease__tag_draft;

/* The functions below that return bool return false if there is no memory or the budget
 * refused it; ease__budget_fail makes the message. */
bool ease__tag_draft_start(ease__tag_draft *d, ease__budget *budget);
/* The number of an item, which is added if it is new. Its id is not empty. */
bool ease__tag_draft_item(ease__tag_draft *d, const char *id, size_t length,
                          int32_t *item);
/* Adds the tag KIND=VALUE, or VALUE itself if that is already KIND=VALUE. The value is
 * trimmed of blanks; an empty value, or a weight of 0, adds nothing: see
 * ease__tag_is_empty. */
bool ease__tag_draft_add(ease__tag_draft *d, int32_t item, const char *kind,
                         ease__name value, float weight);
/* A value without blanks at its ends. */
ease__name ease__tag_trim(ease__name value);
/* Sorts and folds the pairs. `source` names the input. Fails with EASE_E_DATA if there
 * is no pair, or if weights of a repeated pair add up to more than a float,
 * EASE_E_MEMORY_LIMIT or EASE_E_NOMEM. */
ease_status ease__tag_draft_finish(ease__tag_draft *d, const char *source,
                                   ease_tags **out, ease_error *err);
void ease__tag_draft_free(ease__tag_draft *d);

/* Converts the name of a column to a kind: letters (also all bytes beyond ASCII),
 * digits, '-' and '_' stay, a type as in `genres:token_seq` is cut off, blanks at the
 * ends are trimmed, and other characters become '_'. The kind of an empty name is
 * "tag". Returns NULL if there is no memory; the caller frees it. */
char *ease__tag_kind(const char *name, size_t length);

/* The length of KIND in a tag KIND=VALUE; 0: the tag has none. */
size_t ease__tag_kind_length(const char *tag, size_t length);

#endif
