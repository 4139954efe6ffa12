/* Ids <-> numbers: strings of any bytes but NUL, numbered as they come; or the digits of
 * consecutive numbers, which are printed when they are first asked for. */
#ifndef EASE_DATA_IDS_H
#define EASE_DATA_IDS_H

#include "core/container.h"

typedef struct ease__ids {
    int64_t count;
    uint64_t *offsets; /* count + 1; id i is bytes[offsets[i]] .. a NUL */
    char *bytes; /* numbered: a cell of EASE__DIGITS bytes for each, 0: not printed */
    uint32_t *slots; /* open addressing: number + 1, 0 is free */
    size_t mask;     /* slots - 1 */
    uint64_t seed;   /* of their hashes */
    int64_t room;    /* of offsets; 0: offsets and bytes are borrowed */
    size_t byte_room;
    bool numbered; /* id i is the digits of first + i; no offsets, no slots */
    int first;
} ease__ids;

enum { EASE__NO_ID = -1 };
#define EASE__MAX_IDS ((int64_t)UINT32_MAX - 2)
enum { EASE__DIGITS = 11 }; /* of EASE__MAX_IDS, and a NUL */

/* {0} is an empty table. */
void ease__ids_free(ease__ids *t);
/* Its number, new or old; EASE__NO_ID: no memory, or 2^32 of them. Not for a numbered
 * table. */
int64_t ease__ids_add(ease__ids *t, const char *id, size_t length);
/* Room for `count` ids of so many bytes in an empty table, which then takes as much
 * memory as ease__ids_size() says. False: no memory. */
bool ease__ids_reserve(ease__ids *t, int64_t count, size_t bytes);
size_t ease__ids_size(int64_t count, size_t bytes);
int64_t ease__ids_find(const ease__ids *t, const char *id, size_t length);
/* Safe from any number of threads, as long as none adds. */
const char *ease__ids_at(const ease__ids *t, int64_t number);
size_t ease__ids_length(const ease__ids *t, int64_t number);

/* "0", "1", ..., or from "1" on, as `first` says. Takes no time, and memory only for
 * the ids that are looked at: a matrix may be far wider than what anyone can train. */
ease_status ease__ids_number(ease__ids *t, int first, int64_t count, ease_error *err);
ease_status ease__ids_copy(ease__ids *t, const ease__ids *from, ease_error *err);

/* Bytes of memory that it takes, of what is not borrowed, and that it takes at most while
 * it grows. */
size_t ease__ids_held(const ease__ids *t);
size_t ease__ids_growing(const ease__ids *t);
/* As it lies in a file: count + 1 offsets, then the bytes. */
size_t ease__ids_bytes(const ease__ids *t);
void ease__ids_pack(const ease__ids *t, void *to);
/* So packed, as a section of a file. */
ease_status ease__ids_write(const ease__ids *t, ease__container_writer *w,
                            const char *section, ease_error *err);
/* Looks into a packed table that outlives this one, after checking every offset.
 * `indexed`: with slots, for find; ids must then be distinct. `what` names the place
 * in messages. */
ease_status ease__ids_borrow(ease__ids *t, const void *packed, size_t bytes,
                             int64_t count, bool indexed, const char *what,
                             ease_error *err);

#endif
