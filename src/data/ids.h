/* The mapping between ids and numbers. Ids are strings of any bytes but NUL,
 * numbered in the order in which they are added. A "numbered" table has the digits
 * of consecutive integers as its ids; each is formatted when it is first used. */
#ifndef EASE_DATA_IDS_H
#define EASE_DATA_IDS_H

#include "core/container.h"

typedef struct ease__ids {
    int64_t count;
    uint64_t *offsets; /* count + 1; id i is bytes[offsets[i]] .. a NUL */
    char *bytes; /* numbered: EASE__DIGITS bytes for each id, zeros until it is used */
    uint32_t *slots;  /* open addressing: number + 1, 0 is free */
    size_t mask;      /* slots - 1 */
    uint64_t seed;    /* of the hashes */
    int64_t capacity; /* of offsets; 0: offsets and bytes are borrowed */
    size_t byte_capacity;
    bool numbered; /* id i is the digits of first + i; no offsets, no slots */
    int first;
} ease__ids;

enum { EASE__NO_ID = -1 };
#define EASE__MAX_IDS ((int64_t)UINT32_MAX - 2)
enum { EASE__DIGITS = 11 }; /* digits of EASE__MAX_IDS, and a NUL */

/* {0} is an empty table. */
void ease__ids_free(ease__ids *t);
/* Returns the number of an id, which is added if it is new; EASE__NO_ID if there is
 * no memory or there are EASE__MAX_IDS already. Not for a numbered table. */
int64_t ease__ids_add(ease__ids *t, const char *id, size_t length);
/* Reserves space in an empty table for `count` ids of `bytes` bytes in all, which takes
 * ease__ids_size() bytes of memory. False: no memory. */
bool ease__ids_reserve(ease__ids *t, int64_t count, size_t bytes);
size_t ease__ids_size(int64_t count, size_t bytes);
int64_t ease__ids_find(const ease__ids *t, const char *id, size_t length);
/* The string of an id. Any number of threads may call it, as long as none adds ids. */
const char *ease__ids_at(const ease__ids *t, int64_t number);
size_t ease__ids_length(const ease__ids *t, int64_t number);

/* Makes a numbered table of the ids `first`, `first` + 1, ...; `first` is 0 or 1. Takes
 * constant time, and physical memory only for the ids that are used: a matrix may have
 * far more columns than can be trained. */
ease_status ease__ids_number(ease__ids *t, int first, int64_t count, ease_error *err);
ease_status ease__ids_copy(ease__ids *t, const ease__ids *from, ease_error *err);

/* The bytes of memory of the table, without borrowed arrays, and the largest number of
 * bytes that it needs while one more id is added. */
size_t ease__ids_held(const ease__ids *t);
size_t ease__ids_growing(const ease__ids *t);
/* Bytes of the table in a file: count + 1 offsets, then the strings. */
size_t ease__ids_bytes(const ease__ids *t);
void ease__ids_pack(const ease__ids *t, void *to);
/* Writes the packed table as a section of a file. */
ease_status ease__ids_write(const ease__ids *t, ease__container_writer *w,
                            const char *section, ease_error *err);
/* Borrows a packed table, which must outlive this one, after checking every offset.
 * `indexed`: builds slots for searching; ids must then be distinct. `what` names the
 * place in messages. */
ease_status ease__ids_borrow(ease__ids *t, const void *packed, size_t bytes,
                             int64_t count, bool indexed, const char *what,
                             ease_error *err);

#endif
