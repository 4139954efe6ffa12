/* Parsing and printing of numbers, independent of the locale. */
#ifndef EASE_TEXT_NUMBER_H
#define EASE_TEXT_NUMBER_H

#include "core/core.h"

typedef enum ease__number_fault {
    EASE__NUMBER_OK,
    EASE__NUMBER_BAD,  /* not a number: empty, words, hexadecimal, inf, nan */
    EASE__NUMBER_RANGE /* beyond the range of the type */
} ease__number_fault;

/* Parses digits with an optional sign, point and exponent; spaces around them are
 * ignored. The result is the nearest double for any number of digits. */
ease__number_fault ease__parse_double(const char *text, size_t length, double *out);
/* The same, and a number with one comma in place of the point: 3,5. With `thousands`, a
 * comma before exactly three digits (1,234) may separate thousands: the number is
 * bad. */
ease__number_fault ease__parse_decimal(const char *text, size_t length, bool thousands,
                                       double *out);
/* Parses digits with an optional sign and nothing else. */
ease__number_fault ease__parse_int(const char *text, size_t length, int64_t *out);

enum { EASE__FLOAT_CHARS = 32 };
/* Prints the fewest digits, 6 to 9, that read back as `value`; returns the length. */
size_t ease__print_float(float value, char to[EASE__FLOAT_CHARS]);
/* Prints the fewest digits, 15 to 17, that read back as `value`; returns the length. */
size_t ease__print_double(double value, char to[EASE__FLOAT_CHARS]);

#endif
