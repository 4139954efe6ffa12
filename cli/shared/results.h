/* Results on standard output: text for people, JSON and CSV for programs. */
#ifndef EASE_CLI_SHARED_RESULTS_H
#define EASE_CLI_SHARED_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "console.h"

typedef enum output_format { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_CSV } output_format;

/* ---- numbers for people -------------------------------------------------------- */

enum { NUMBER_CHARS = 40 };
const char *format_count(char *to, size_t size, int64_t n);        /* 40,981 */
const char *format_bytes(char *to, size_t size, size_t bytes);     /* 54.2 MB */
const char *format_seconds(char *to, size_t size, double seconds); /* 2 min 10 s */

/* ---- ids and titles on a screen ------------------------------------------------ */

/* Copies with control characters and what is not UTF-8 as '?', so that no id can
 * drive the terminal, cutting at `size` bytes less one. Returns the length. */
size_t text_make_safe(char *to, size_t size, const char *from);
void text_put(FILE *to, const char *s);
/* Columns that text_put takes. */
int text_width(const char *s);
void text_pad(FILE *to, int columns);

/* ---- CSV (RFC 4180) and JSON --------------------------------------------------- */

void csv_put(FILE *to, const char *field);

/* Commas come by themselves. A key is NULL within an array. */
typedef struct json {
    FILE *to;
    bool comma;
} json;

void json_open(json *j, const char *key, char bracket);
void json_close(json *j, char bracket);
void json_text(json *j, const char *key, const char *value); /* NULL: null */
void json_count(json *j, const char *key, int64_t value);
void json_real(json *j, const char *key, double value); /* not finite: null */
void json_float(json *j, const char *key, float value);
void json_bool(json *j, const char *key, bool value);

/* ---- a list of facts, in any format -------------------------------------------- */

/* Text: "label   value" lines. JSON: one object. CSV: rows of fact,value. */
typedef struct report {
    output_format format;
    json json;
} report;

report report_begin(output_format format);
void report_text(report *r, const char *key, const char *label, const char *value);
/* Below 0: unknown. */
void report_count(report *r, const char *key, const char *label, int64_t value);
void report_bytes(report *r, const char *key, const char *label, size_t value);
void report_seconds(report *r, const char *key, const char *label, double value);
void report_real(report *r, const char *key, const char *label, double value);
void report_bool(report *r, const char *key, const char *label, bool value);
/* Where the time went: "phases" with seconds for each. */
void report_phases(report *r, const console *c);

typedef struct report_item {
    const char *id, *title; /* title NULL: none */
    double count;
} report_item;
void report_items(report *r, const char *key, const char *label,
                  const report_item *items, size_t count);
void report_end(report *r);

/* ---- the end ------------------------------------------------------------------- */

/* Nobody wants more: a signal came, or nothing can be written. To be asked between the
 * parts of a long output, for each would wait for a pipe that nobody reads. */
bool output_stopped(void);
/* Flushes; a full disk shows here. Returns 0 or the exit code after a message. */
int output_flush(console *c);
int output_close(console *c);
/* Forgets what is not yet written. */
void output_drop(void);

#endif
