/* The files of a split's directory: their names, the record split.json with the counts
 * of each table, and the lists of ids that the numbers in the tables stand for. */
#ifndef EASE_READ_SPLIT_FILES_H
#define EASE_READ_SPLIT_FILES_H

#include "data/draft.h"
#include "input/input.h"

/* ---- names ----------------------------------------------------------------- */

#define EASE__USERS_LIST   "unique_uid.txt"
#define EASE__ITEMS_LIST   "unique_sid.txt"
#define EASE__SPLIT_RECORD "split.json"
#define EASE__SPLIT_HEADER "uid,sid" /* of every table */

enum {
    EASE__TABLE_TRAIN,
    EASE__TABLE_VALIDATION_TRAIN, /* the only table that may be absent */
    EASE__TABLE_VALIDATION_INPUT,
    EASE__TABLE_VALIDATION_TARGET,
    EASE__TABLE_TEST_INPUT,
    EASE__TABLE_TEST_TARGET,
    EASE__SPLIT_TABLES,
    EASE__SPLIT_FILES = EASE__SPLIT_TABLES + 3 /* with the lists and the record */
};

typedef struct ease__split_table {
    const char *name, *key; /* the file's name, and its key in the record */
    size_t at;              /* offset of its counts in ease_split_info */
} ease__split_table;

extern const ease__split_table ease__split_tables[EASE__SPLIT_TABLES];

/* The name of file 0 .. EASE__SPLIT_FILES - 1: the tables, the lists, the record. */
const char *ease__split_file(int file);
/* The number of the file of this name; -1: none. */
int ease__split_file_named(const char *name);
/* "dir/name", to be freed; NULL: no memory. */
char *ease__split_path(const char *dir, const char *name);

/* ---- the record ------------------------------------------------------------ */

typedef struct ease__split_record {
    bool there; /* false: there is no record, as after the published code */
    bool has[EASE__SPLIT_TABLES]; /* the split has this table, with these counts: */
    ease_split_part part[EASE__SPLIT_TABLES];
} ease__split_record;

/* The record that is written first if a split must be replaced file by file: the
 * directory cannot be opened until the final record replaces it. */
extern const char ease__split_unfinished[];

/* Reads the record of a directory, if there is one. Fails with EASE_E_PARSE if it is
 * malformed, EASE_E_DATA if the split is unfinished. */
ease_status ease__split_record_read(const char *dir, ease__split_record *out,
                                    ease_error *err);
/* Fails with EASE_E_DATA if the counts found in the table at `path` differ from those
 * of the record. */
ease_status ease__split_record_check(const ease__split_record *r, int table,
                                     ease_split_part found, const char *path,
                                     ease_error *err);

/* ---- ids ------------------------------------------------------------------- */

/* The ids of users and items by number. An empty table means that numbers are the
 * ids. */
typedef struct ease__split_ids {
    ease__ids users, items;
} ease__split_ids;

/* Reads the lists of a directory. A list may be missing only if there is no record. */
ease_status ease__split_ids_read(const char *dir, const ease__split_record *r,
                                 ease__split_ids *out, ease_error *err);
void ease__split_ids_free(ease__split_ids *ids);
/* Replaces the numbers read from the table at `path` by the ids that they stand for. */
ease_status ease__split_ids_restore(const ease__split_ids *ids, ease__ids *users,
                                    ease__ids *items, const char *path,
                                    ease_error *err);

/* ---- options --------------------------------------------------------------- */

/* Sets the options with which tables of a split are read. */
void ease__split_table_options(ease_read_options *o);

#endif
