/* Parsing a block of lines into records: what the threads of a reader do. */
#ifndef EASE_READ_RECORDS_H
#define EASE_READ_RECORDS_H

#include "data/dictionary.h"
#include "data/draft.h"
#include "read/layout.h"

typedef enum ease__row_kind {
    EASE__ROWS_TABLE,
    EASE__ROWS_ADJACENCY,
    EASE__ROWS_COORDINATES, /* numbers from 1, as in MatrixMarket */
    EASE__ROWS_HEADED,      /* rows without an item, below a line with its number */
    EASE__ROWS_TRIPLETS     /* item, item, number: records are timed by the number */
} ease__row_kind;

/* The same for all blocks of a file. */
typedef struct ease__row_form {
    ease__row_kind kind;
    ease__splitter splitter;
    size_t fields;               /* of each row; adjacency has any number */
    int user, item, value, time; /* -1: none */
    bool weighted;               /* values are kept */
    bool timed;                  /* so are times */
    double min_rating;           /* NaN: none */
    int64_t rows, columns;       /* of coordinates */
} ease__row_form;

enum {
    EASE__BLOCK_PADDING = 64, /* readable bytes behind a block's text */
    EASE__BLOCK_WHAT = 160,
    EASE__HEADING_DIGITS = 18
};

/* Ids that the whole file's dictionary did not have when the block was parsed: the ith
 * of them has the code ~i. */
typedef struct ease__newcomers {
    const ease__dictionary *all; /* blocks before this one may still add to it */
    ease__dictionary fresh;
    ease__key last; /* of the row before, and its code */
    uint32_t last_code;
    uint32_t known;    /* codes below it are of `all`; set by merging */
    uint32_t *numbers; /* of those in fresh, likewise */
    size_t number_room;
} ease__newcomers;

/* The item of the rows below: its number, readable as a key. */
typedef struct ease__heading {
    char text[EASE__HEADING_DIGITS + 8];
    size_t length; /* 0: none yet */
} ease__heading;

typedef struct ease__block {
    char *text; /* whole lines, the last one ended too; changed by unquoting */
    size_t bytes, room;
    ease__budget *budget; /* for all arrays of the block */
    /* Small files share a block: the first bytes are of this one of the input's files,
     * and of the next one from each break on. */
    size_t file;
    size_t *breaks, break_count, break_room;
    bool opens_file;     /* its first line is one of the file; of the first file this
                            is told of triplets only */
    ease__heading above; /* what its first line stands below */
    ease__newcomers users, items;
    uint32_t *records; /* as in ease__chunk, with codes */
    size_t count, record_room;
    int64_t lines; /* behind the last break */
    int64_t below_rating;
    int64_t unlike_one, negative; /* rows kept with a value other than 1, below 0 */
    ease_status status;           /* of the first bad line, ... */
    int64_t bad_line;             /* ... counted from 1 within the block, ... */
    size_t bad_file;              /* ... or behind so many breaks */
    char what[EASE__BLOCK_WHAT];
} ease__block;

/* Parses block->text; its users and items have been started. Never fails: what is
 * wrong stands in block->status. */
void ease__parse_block(const ease__row_form *form, ease__block *block);

/* Triplets: is the third field of a file's first line a name, not a number? */
bool ease__names_amount(const ease__field *f);
/* The line of a record of triplets, counted as in bad_line. */
int64_t ease__record_line(const ease__row_form *form, const ease__block *block,
                          size_t record, size_t *file);

#endif
