/* Delimited tables: a row for each interaction, with columns for the user, the item and
 * perhaps a value and a time. */
#include <stdio.h>
#include <string.h>

#include "read/blocks.h"
#include "read/column_names.h"
#include "read/layout.h"
#include "read/readers.h"
#include "read/recognize.h"
#include "text/number.h"

typedef struct dialect {
    ease__layout layout;
    ease_columns columns;
    bool guessed;     /* the columns were recognized, not given */
    char *recognized; /* in words */
} dialect;

/* ---- in words -------------------------------------------------------------- */

static const char *kind_of_table(const ease__layout *l, char *buffer, size_t bytes)
{
    const char *s = l->splitter.text;

    if (l->splitter.kind == EASE__SPLIT_BLANKS)
        return "space-separated table";
    if (strcmp(s, ",") == 0)
        return "CSV";
    if (strcmp(s, "\t") == 0)
        return "TSV";
    snprintf(buffer, bytes, "table separated by '%s'", s);
    return buffer;
}

/* Writes what the input was recognized as; to be freed with the dialect. */
static bool describe(dialect *d, const char *coding, const char *files, bool timed)
{
    const ease__layout *l = &d->layout;
    bool recbole = l->header && ease__all_have_recbole_type(l->names, l->fields);
    char kind[64], columns[300], all[400];

    ease__describe_columns(&d->columns, l->header ? l->names : NULL, timed, columns,
                           sizeof(columns));
    snprintf(all, sizeof(all), "%s%s %s header%s: %s", coding,
             recbole ? "RecBole .inter" : kind_of_table(l, kind, sizeof(kind)),
             l->header ? "with" : "without", files, columns);
    d->recognized = ease__copy_string(all);
    return d->recognized != NULL;
}

/* ---- recognizing columns --------------------------------------------------- */

/* False: no memory. */
static bool survey_rows(const ease__reading *r, const ease__layout *l, ease__survey *s)
{
    ease__sample_rest t = {r->sample + l->skip, r->sample + r->sample_bytes, r->whole};
    ease__record record = {0};
    bool nomem = false, more = true;

    s->commas = l->splitter.text[0] == ';';
    while (more && ease__sample_next(&t, &l->splitter, &record, &nomem))
        if (record.count == l->fields)
            more = ease__survey_add(s, record.fields);
    ease__free(record.fields);
    return !nomem;
}

static ease_status recognize_columns(dialect *d, const ease__reading *r,
                                     ease_error *err)
{
    const ease__layout *l = &d->layout;
    const char *name = ease__input_name(r->in);
    ease__survey s = {0};
    ease_error why = {0};
    ease_status status;

    if (!ease__survey_start(&s, l->fields) || !survey_rows(r, l, &s)) {
        ease__survey_free(&s);
        return ease__fail(err, EASE_E_NOMEM, "recognizing columns");
    }
    status = ease__recognize(&s, l->header ? l->names : NULL, r->o->columns_option,
                             &d->columns, &why);
    ease__survey_free(&s);
    if (status)
        return ease__fail_at(err, status, why.where,
                             why.where >= 0 ? "%s:1: %s" : "%s: %s", name, why.text);
    d->guessed = true;
    return EASE_OK;
}

/* Fills *d, to be freed in any case. */
static ease_status settle(const ease__reading *r, const ease_read_options *o,
                          dialect *d, ease_error *err)
{
    char many[EASE__FILES_CHARS];
    ease_status status = ease__layout_of_pairs(r, o->separator, o->header, &d->layout,
                                               err);

    if (status)
        return status;
    status = o->columns ? ease__find_columns(d->layout.names, d->layout.fields,
                                             ease__input_name(r->in), o->columns,
                                             &d->columns, err)
                        : recognize_columns(d, r, err);
    /* A time is named where a value is missed: it may have been meant. */
    if (!status && !describe(d, ease__input_coding(r->in), ease__in_files(r, many),
                             r->timed || r->dated ||
                                 (ease__wants_values(o) && d->columns.value < 0)))
        status = ease__fail(err, EASE_E_NOMEM, "recognizing columns");
    return status;
}

/* ---- reading --------------------------------------------------------------- */

static ease_status read_rows(const ease__reading *r, const ease_read_options *o,
                             const dialect *d, ease_error *err)
{
    const ease__layout *l = &d->layout;
    ease__row_form form = {
        .kind = EASE__ROWS_TABLE,
        .splitter = l->splitter,
        .fields = l->fields,
        .header = l->header ? l->names : NULL,
        .user = d->columns.user,
        .item = d->columns.item,
        .value = d->columns.value,
        .time = r->timed || r->dated ? d->columns.time : -1,
        .weighted = o->weights != 0,
        .timed = r->timed && d->columns.time >= 0,
        .dated = r->dated && d->columns.time >= 0,
        .since = o->since,
        .until = o->until,
        .min_rating = o->min_rating,
    };
    ease_status status;

    ease__input_skip(r->in, l->skip);
    status = ease__blocks_read(r->in, &form, l->lines + 1, r->block_bytes, o, r->draft,
                               err);
    if (!status && r->draft->counts.rows == 0 && l->header)
        status = ease__fail_empty(err, "%s: a header and no rows",
                                  ease__input_name(r->in));
    return status;
}

ease_status ease__read_table(const ease__reading *r, const ease_read_options *o,
                             ease_error *err)
{
    const char *name = ease__input_name(r->in);
    dialect d = {.columns = {.user = -1, .item = -1, .value = -1, .time = -1}};
    ease_status status = settle(r, o, &d, err);

    if (!status)
        status = ease__check_values(name, d.recognized, d.columns.value >= 0, o, err);
    if (!status)
        status = ease__check_times(name, d.recognized, d.columns.time >= 0, o, err);
    if (!status)
        status = read_rows(r, o, &d, err);
    if (!status)
        status = ease__draft_doubt(
            r->draft, o->guess || !d.guessed ? o->guess : &d.columns, name, err);
    if (!status) {
        r->draft->recognized = d.recognized;
        d.recognized = NULL;
    }
    ease__layout_free(&d.layout);
    ease__free(d.recognized);
    return status;
}

static ease_status read_table(const ease__reading *r, ease_error *err)
{
    return ease__read_table(r, r->o, err);
}

/* Any input that no other reader recognizes: if it is no table, reading says why. */
static ease_status recognize(const ease__reading *r, bool *is, ease_error *err)
{
    (void)r;
    (void)err;
    *is = true;
    return EASE_OK;
}

const ease__reader ease__table_reader = {
    .format = {.name = "table",
               .about = "a row for each interaction: CSV, TSV, MovieLens ::, RecBole "
                        ".inter and other separated text",
               .values = 1,
               .times = 1},
    .parts = true,
    .recognize = recognize,
    .read = read_table,
};
