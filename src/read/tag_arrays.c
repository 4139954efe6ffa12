/* Tags of items from columns in memory. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/tags.h"

static const char source[] = "tags";

enum { NUMBER_CHARS = 24 };

/* The text of a row; numbers are printed to `buffer`. */
static ease__name text_of(const ease_id_column *c, int64_t row,
                          char buffer[NUMBER_CHARS])
{
    int64_t start;

    if (c->numbers) {
        int length = snprintf(buffer, NUMBER_CHARS, "%lld", (long long)c->numbers[row]);

        return (ease__name){buffer, (size_t)length};
    }
    start = c->offsets[row];
    return (ease__name){c->bytes + start, (size_t)(c->offsets[row + 1] - start)};
}

static ease_status bad_array_row(int64_t row, const char *what, ease_error *err)
{
    return ease__fail_at(err, EASE_E_DATA, row, "row %lld: %s", (long long)row, what);
}

static bool has_nul(ease__name n)
{
    return n.length && memchr(n.text, '\0', n.length);
}

static ease_status add_array_row(ease__tag_draft *d, int64_t row, ease__name id,
                                 ease__name value, double weight, const char *kind,
                                 ease_error *err)
{
    int32_t item;

    d->rows++;
    if (id.length == 0 || has_nul(id))
        return bad_array_row(row, "the item is empty, or has a zero byte", err);
    if (has_nul(value))
        return bad_array_row(row, "the tag has a zero byte", err);
    if (!isfinite((float)weight) || weight < 0)
        return bad_array_row(row, "the weight is not finite and at least 0", err);
    value = ease__tag_trim(value);
    if (value.length == 0 || (float)weight == 0) {
        d->empty++;
        return EASE_OK;
    }
    if (!ease__tag_draft_item(d, id.text, id.length, &item) ||
        !ease__tag_draft_add(d, item, kind, value, (float)weight))
        return ease__budget_fail(d->budget, source, err);
    return EASE_OK;
}

static bool is_id_column(const ease_id_column *c, int64_t rows)
{
    if (!c || (!c->numbers && !c->offsets))
        return false;
    return c->numbers || c->offsets[rows] == 0 || c->bytes;
}

static ease_status add_array_rows(ease__tag_draft *d, int64_t rows,
                                  const ease_id_column *items,
                                  const ease_id_column *tags, const double *weights,
                                  const char *kind, ease_error *err)
{
    char item_text[NUMBER_CHARS], tag_text[NUMBER_CHARS];
    ease_status status = EASE_OK;

    for (int64_t row = 0; !status && row < rows; row++)
        status = add_array_row(d, row, text_of(items, row, item_text),
                               text_of(tags, row, tag_text), weights ? weights[row] : 1,
                               kind, err);
    return status;
}

ease_status ease_tags_from_table(int64_t rows, const ease_id_column *items,
                                 const ease_id_column *tags, const double *weights,
                                 const char *kind, ease_tags **out, ease_error *err)
{
    ease__budget budget;
    ease__tag_draft d = {0};
    ease_status status;
    char *used;

    if (!out || rows < 0 || !is_id_column(items, rows) || !is_id_column(tags, rows))
        return ease__fail(err, EASE_E_ARG, "columns of items and tags are required");
    ease__budget_start(&budget, 0);
    used = ease__tag_kind(kind ? kind : "", kind ? strlen(kind) : 0);
    if (!used || !ease__tag_draft_start(&d, &budget))
        status = ease__budget_fail(&budget, source, err);
    else
        status = add_array_rows(&d, rows, items, tags, weights, used, err);
    if (!status)
        status = ease__tag_draft_finish(&d, source, out, err);
    ease__tag_draft_free(&d);
    ease__free(used);
    return status;
}
