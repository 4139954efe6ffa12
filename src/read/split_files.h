/* The files of a split's directory: their names, the record of how many interactions
 * each table has, and the ids that the tables' numbers stand for. */
#ifndef EASE_READ_SPLIT_FILES_H
#define EASE_READ_SPLIT_FILES_H

#include "data/draft.h"
#include "input/input.h"

/* ---- names ------------------------------------------------------------------------- */

#define EASE__USERS_LIST   "unique_uid.txt"
#define EASE__ITEMS_LIST   "unique_sid.txt"
#define EASE__SPLIT_RECORD "split.json"

enum {
    EASE__TABLE_TRAIN,
    EASE__TABLE_VALIDATION_TRAIN, /* the only one that a split may do without */
    EASE__TABLE_VALIDATION_INPUT,
    EASE__TABLE_VALIDATION_TARGET,
    EASE__TABLE_TEST_INPUT,
    EASE__TABLE_TEST_TARGET,
    EASE__SPLIT_TABLES,
    EASE__SPLIT_FILES = EASE__SPLIT_TABLES + 3 /* with the lists and the record */
};

typedef struct ease__split_table {
    const char *name, *key; /* of the file, and in the record */
    size_t at;              /* offset of its counts in ease_split_info */
} ease__split_table;

extern const ease__split_table ease__split_tables[EASE__SPLIT_TABLES];

/* Names of all files: the tables, the lists, the record. */
const char *ease__split_file(int file);
/* Which file has this name; -1: none. */
int ease__split_file_named(const char *name);
/* "dir/name", to be freed; NULL: no memory. */
char *ease__split_path(const char *dir, const char *name);

/* ---- the record ---------------------------------------------------------------------- */

typedef struct ease__split_record {
    bool there;                   /* the published code writes none */
    bool has[EASE__SPLIT_TABLES]; /* there is such a table, with these counts */
    ease_split_part part[EASE__SPLIT_TABLES];
} ease__split_record;

/* Written first where a split must be replaced file by file: until the true record
 * follows, the directory does not open. */
extern const char ease__split_unfinished[];

/* Reads the record of the directory. Fails with EASE_E_PARSE on what is no record,
 * EASE_E_DATA on that of an unfinished split. */
ease_status ease__split_record_read(const char *dir, ease__split_record *out,
                                    ease_error *err);
/* EASE_E_DATA where the table at `path` has other counts than the record says. */
ease_status ease__split_record_check(const ease__split_record *r, int table,
                                     ease_split_part found, const char *path,
                                     ease_error *err);

/* ---- ids ----------------------------------------------------------------------------- */

/* Users and items by number; empty: the numbers are the ids. */
typedef struct ease__split_ids {
    ease__ids users, items;
} ease__split_ids;

/* Reads the lists of the directory. One may be missing only where the record is. */
ease_status ease__split_ids_read(const char *dir, const ease__split_record *r,
                                 ease__split_ids *out, ease_error *err);
void ease__split_ids_free(ease__split_ids *ids);
/* Numbers, as the table at `path` has them, become ids. */
ease_status ease__split_ids_restore(const ease__split_ids *ids, ease__ids *users,
                                    ease__ids *items, const char *path,
                                    ease_error *err);

/* ---- a table by itself ----------------------------------------------------------------- */

/* *dir is the directory, to be freed, of the split that has the table at `path`, or NULL
 * if it is no such table. It is one if its first line, in the sample, is the header
 * uid,sid and if beside it are a list of items or a record. Options that describe the
 * table otherwise are taken at their word. */
ease_status ease__split_of_table(const char *path, const char *sample, size_t bytes,
                                 const ease_read_options *o, char **dir,
                                 ease_error *err);
/* Sets how the tables of a split are laid out. */
void ease__split_table_options(ease_read_options *o);
/* Gives the draft, read from the input, the ids of its split; checks its counts where
 * the record has them. Fails with EASE_E_IO where the split was replaced meanwhile. */
ease_status ease__split_table_restore(const ease__input *in, const char *path,
                                      const char *dir, ease__draft *draft,
                                      ease_error *err);

#endif
