#include "table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results.h"

table table_begin(table_form form, size_t columns)
{
    return (table){.form = form, .columns = columns};
}

void table_text(table *t, const char *text)
{
    if (t->count == t->capacity && !t->failed) {
        size_t capacity = 2 * t->capacity + 64;
        char **cell = realloc(t->cell, capacity * sizeof(*cell));

        t->failed = !cell;
        if (cell) {
            t->cell = cell;
            t->capacity = capacity;
        }
    }
    if (t->failed)
        return;
    t->cell[t->count] = strdup(text);
    if (t->cell[t->count])
        t->count++;
    else
        t->failed = true;
}

static void put_number(table *t, double value, const char *format, int digits)
{
    char text[64] = "";

    if (isfinite(value))
        snprintf(text, sizeof(text), t->form == TABLE_CSV ? "%.*g" : format,
                 t->form == TABLE_CSV ? 12 : digits, value);
    table_text(t, text);
}

void table_real(table *t, double value, int decimals)
{
    put_number(t, value, "%.*f", decimals);
}

void table_value(table *t, double value)
{
    put_number(t, value, "%.*g", 6);
}

static int column_width(const table *t, size_t column)
{
    int width = 0;

    for (size_t i = column; i < t->count; i += t->columns) {
        int w = text_width(t->cell[i]);

        width = w > width ? w : width;
    }
    return width;
}

/* Aligns the first column to the left, numbers to the right. */
static void put_cell(const char *cell, size_t column, int width)
{
    if (column > 0)
        text_pad(stdout, width - text_width(cell));
    text_put(stdout, cell);
    if (column == 0)
        text_pad(stdout, width - text_width(cell));
}

static void put_row(const table *t, size_t first)
{
    for (size_t k = 0; k < t->columns && first + k < t->count; k++) {
        const char *cell = t->cell[first + k];

        if (t->form == TABLE_CSV) {
            fputs(k ? "," : "", stdout);
            csv_put(stdout, cell);
            continue;
        }
        fputs(t->form == TABLE_MARKDOWN ? (k ? " | " : "| ") : k ? "  " : "", stdout);
        put_cell(cell, k, column_width(t, k));
    }
    fputs(t->form == TABLE_MARKDOWN ? " |\n" : "\n", stdout);
}

static void put_rule(const table *t)
{
    for (size_t k = 0; k < t->columns; k++)
        fputs(k ? " ---: |" : "| --- |", stdout);
    fputc('\n', stdout);
}

bool table_end(table *t)
{
    for (size_t i = 0; !t->failed && i < t->count; i += t->columns) {
        put_row(t, i);
        if (i == 0 && t->form == TABLE_MARKDOWN)
            put_rule(t);
    }
    for (size_t i = 0; i < t->count; i++)
        free(t->cell[i]);
    free(t->cell);
    t->cell = NULL;
    t->count = 0;
    return !t->failed;
}
