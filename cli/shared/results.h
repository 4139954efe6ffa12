/* Results on standard output: text for people, JSON and CSV for programs. */
#ifndef EASE_CLI_SHARED_RESULTS_H
#define EASE_CLI_SHARED_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "console.h"

typedef enum output_format { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_CSV } output_format;

/* ---- numbers as text ---------------------------------------------------------- */

enum { NUMBER_CHARS = 40 };
const char *format_count(char *to, size_t size, int64_t n);        /* 40,981 */
const char *format_bytes(char *to, size_t size, size_t bytes);     /* 54.2 MB */
const char *format_seconds(char *to, size_t size, double seconds); /* 2 min 10 s */
/* Seconds since 1970 as a date in UTC: 2024-01-31, or with the time of day if that is
 * not midnight: 2024-01-31T18:05:00Z. */
const char *format_time(char *to, size_t size, double seconds);

/* ---- ids and titles on a screen ------------------------------------------------ */

/* Copies text with control characters and invalid UTF-8 replaced by '?', so that no
 * id can control the terminal; cut to `size` - 1 bytes. Returns the length. */
size_t text_make_safe(char *to, size_t size, const char *from);
void text_put(FILE *to, const char *s);
/* The number of columns that text_put uses. */
int text_width(const char *s);
void text_pad(FILE *to, int columns);

/* ---- CSV (RFC 4180) and JSON --------------------------------------------------- */

void csv_put(FILE *to, const char *field);

/* A JSON writer, which adds commas. A key is NULL within an array. */
typedef struct json {
    FILE *to;
    bool comma;
} json;

void json_open(json *j, const char *key, char bracket);
void json_close(json *j, char bracket);
void json_text(json *j, const char *key, const char *value); /* NULL: null */
/* Writes an id: under `key` if it is UTF-8, else in base64 under KEY_base64; within an
 * array then as an object {"id_base64": ...}. */
void json_id(json *j, const char *key, const char *id);
void json_count(json *j, const char *key, int64_t value);
void json_real(json *j, const char *key, double value); /* not finite: null */
void json_float(json *j, const char *key, float value);
void json_bool(json *j, const char *key, bool value);

/* ---- a list of facts, in any format -------------------------------------------- */

/* A list of facts. Text: lines "label   value". JSON: one object. CSV: rows
 * fact,value. */
typedef struct report {
    output_format format;
    json json;
} report;

report report_begin(output_format format);
void report_text(report *r, const char *key, const char *label, const char *value);
/* Prints a count; below 0: unknown. */
void report_count(report *r, const char *key, const char *label, int64_t value);
void report_bytes(report *r, const char *key, const char *label, size_t value);
void report_seconds(report *r, const char *key, const char *label, double value);
void report_real(report *r, const char *key, const char *label, double value);
void report_bool(report *r, const char *key, const char *label, bool value);
/* Prints "phases", with the seconds of each. */
void report_phases(report *r, const console *c);

typedef struct report_item {
    const char *id, *title; /* title NULL: none */
    double count;
} report_item;
void report_items(report *r, const char *key, const char *label,
                  const report_item *items, size_t count);
void report_end(report *r);

/* ---- end of output ------------------------------------------------------------ */

/* True if output should stop: a signal came, or nothing can be written. To be called
 * between the parts of a long output, each of which might wait for a pipe that
 * nobody reads. */
bool output_stopped(void);
/* Flushes standard output, which detects a full disk. Returns 0, or the exit code
 * after a message. */
int output_flush(console *c);
int output_close(console *c);
/* Discards output that is not written yet. */
void output_drop(void);

#endif
