/* Parses a block of lines into records: the work of each thread of the parallel
 * reader. */
#ifndef EASE_READ_RECORDS_H
#define EASE_READ_RECORDS_H

#include "data/dictionary.h"
#include "data/draft.h"
#include "read/json_rows.h"
#include "read/layout.h"

typedef enum ease__row_kind {
    EASE__ROWS_TABLE,
    EASE__ROWS_ADJACENCY,
    EASE__ROWS_COORDINATES, /* numbers from 1, as in MatrixMarket */
    EASE__ROWS_HEADED,      /* rows without an item, below a heading with its number */
    EASE__ROWS_JSON,        /* an object in each line */
    EASE__ROWS_TRIPLETS     /* item, item, number: records are timed by the number */
} ease__row_kind;

/* The form of the rows, the same for all blocks of a file. */
typedef struct ease__row_form {
    ease__row_kind kind;
    ease__splitter splitter;
    const ease__field *header;   /* of a table: of its first file; NULL: none */
    size_t fields;               /* of each row; adjacency has any number */
    int user, item, value, time; /* -1: none */
    bool weighted;               /* values are kept */
    bool timed;                  /* times are kept */
    bool dated; /* times are dates: rows outside `since` .. `until` are dropped */
    double since, until;    /* seconds since 1970; NaN: no bound */
    double min_rating;      /* NaN: none */
    int64_t rows, columns;  /* of coordinates */
    ease__json_fields json; /* of JSON lines: user, item, value, time */
} ease__row_form;

enum {
    EASE__BLOCK_PADDING = 64, /* readable bytes after the text of a block */
    EASE__BLOCK_WHAT = 160,   /* bytes of a message about a line */
    EASE__HEADING_DIGITS = 18
};

/* Ids of a block that the dictionary of the whole file did not have when the block was
 * parsed: the ith of them has the code ~i. */
typedef struct ease__newcomers {
    const ease__dictionary *all; /* of the file; earlier blocks may still add to it */
    ease__dictionary fresh;
    ease__key last; /* id of the row before, and its code */
    uint32_t last_code;
    /* Set when the block is merged: */
    uint32_t known;    /* codes below it are numbers of `all` */
    uint32_t *numbers; /* the final numbers of the ids in `fresh` */
    size_t number_capacity;
} ease__newcomers;

/* The heading above rows: the number of their item. Keys are read in units of 8 bytes,
 * hence the padding. */
typedef struct ease__heading {
    char text[EASE__HEADING_DIGITS + 8];
    size_t length; /* 0: none yet */
} ease__heading;

typedef struct ease__block {
    char *text; /* whole lines, the last one ended too; changed by unquoting */
    size_t bytes, capacity;
    ease__budget *budget; /* for all arrays of the block */
    /* Small files share a block: it begins in this one of the input's files, and at
     * each break the next file begins. */
    size_t file;
    size_t *breaks, break_count, break_capacity;
    bool opens_file;     /* the block begins with the first line of its file; for the
                            first file of the input set for triplets only */
    ease__heading above; /* the heading of its first line */
    ease__newcomers users, items;
    uint32_t *records; /* as in ease__chunk, with codes */
    size_t count, record_capacity;
    int64_t lines; /* after the last break */
    int64_t below_rating;
    int64_t unlike_one, negative; /* rows kept with a value other than 1, below 0 */
    int64_t outside;              /* rows whose date is outside the bounds */
    int64_t small;                /* dates that are small numbers, see moment.h */
    double oldest, newest;        /* of the rows kept, if dated */
    ease_status status;           /* of the first bad line, ... */
    int64_t bad_line;             /* ... counted from 1 within the block, ... */
    size_t bad_file;              /* ... or after this many breaks */
    char what[EASE__BLOCK_WHAT];
} ease__block;

/* Parses block->text; the dictionaries of its users and items have been started. Errors
 * are reported in block->status. */
void ease__parse_block(const ease__row_form *form, ease__block *block);

/* True if the third field of the first line of a file of triplets is a name, not a
 * number: the line is a header. */
bool ease__names_amount(const ease__field *f);
/* The line of a record of triplets, counted as in bad_line. */
int64_t ease__record_line(const ease__row_form *form, const ease__block *block,
                          size_t record, size_t *file);

#endif
