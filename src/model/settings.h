/* Settings of a method beside lambda: named numbers, as text "rank=64,alpha=10". */
#ifndef EASE_MODEL_SETTINGS_H
#define EASE_MODEL_SETTINGS_H

#include "core/core.h"

enum { EASE__MOST_SETTINGS = 16, EASE__SETTINGS_CHARS = 400 };

/* Parses settings. `values` gets a number for each entry of the table, which ends with
 * a NULL name: the one in the text (may be NULL), else the default; `given` (may be
 * NULL) tells them apart. Fails with EASE_E_ARG for an unknown name, one that is given
 * twice, or a value out of range; `method` is for the message. */
ease_status ease__settings_parse(const ease_setting *table, const char *method,
                                 const char *text, double *values, bool *given,
                                 ease_error *err);

/* Prints the settings that `shown` marks (NULL: all), so that they can be parsed
 * again. */
void ease__settings_print(const ease_setting *table, const double *values,
                          const bool *shown, char to[EASE__SETTINGS_CHARS]);

/* ---- grids: every value of a setting with every one of the others ---------- */

enum { EASE__GRID_VALUES = 256, EASE__GRID_POINTS = 1000 };

typedef struct ease__grid_axis {
    int setting;      /* its place in the table */
    int first, count; /* of the grid's values */
} ease__grid_axis;

typedef struct ease__grid {
    ease__grid_axis axis[EASE__MOST_SETTINGS];
    double value[EASE__GRID_VALUES];
    int axes, values, points;
} ease__grid;

/* Parses a grid: "rank=64|128,alpha=1|10" has four points, "" one point and no axis.
 * Fails with EASE_E_ARG as ease__settings_parse(), and for a value given twice. */
ease_status ease__grid_parse(const ease_setting *table, const char *method,
                             const char *text, ease__grid *out, ease_error *err);
/* Sets `values` of the settings on the axes to those at a point, counted from 0; the
 * last axis changes fastest. */
void ease__grid_point(const ease__grid *g, int point, double *values);

#endif
