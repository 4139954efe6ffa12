/* Reads tags of items from a table: its columns, and the rows. */
#include <math.h>
#include <string.h>

#include "core/sized.h"
#include "data/tags.h"
#include "read/column_names.h"
#include "read/small_table.h"
#include "read/titles.h"
#include "text/number.h"
#include "text/roles.h"

void ease_tag_options_defaults(ease_tag_options *o)
{
    static const ease_tag_options defaults = {.header = -1};

    ease__options_defaults(o, &defaults, sizeof(defaults));
}

/* A table that is being read; columns are indices, -1: none. */
typedef struct tag_reading {
    const ease_tag_options *o;
    ease__table *table;
    int item, tag, weight;
    bool recognized; /* the columns were not given */
    char *kind;
    char *text; /* a field in UTF-8 */
    size_t text_capacity;
    size_t bars; /* values with a '|', if fields are not split */
    ease__tag_draft draft;
} tag_reading;

/* The field in UTF-8, in r->text. */
static bool to_utf8(tag_reading *r, const ease__field *f, ease__name *out)
{
    size_t length = ease__utf8_put(f, NULL);

    if (length > r->text_capacity) {
        size_t capacity = ease__size_mul(length, 2);
        char *grown = ease__budget_resize(r->draft.budget, r->text, r->text_capacity,
                                          capacity);

        if (!grown)
            return false;
        r->text = grown;
        r->text_capacity = capacity;
    }
    *out = (ease__name){r->text, length};
    if (length)
        ease__utf8_put(f, r->text);
    return true;
}

/* ---- columns --------------------------------------------------------------------- */

static ease_status bad_columns(const char *columns, ease_error *err)
{
    return ease__fail(err, EASE_E_ARG,
                      "columns of tags '%.80s': not ITEM,TAG[,WEIGHT] with different "
                      "columns",
                      columns);
}

static ease_status take_columns(tag_reading *r, ease_error *err)
{
    int *place[] = {&r->item, &r->tag, &r->weight};
    const char *p = r->o->columns;
    int count = 0;

    for (;;) {
        size_t length = strcspn(p, ",");
        ease_status status;

        if (count == 3 || length == 0)
            return bad_columns(r->o->columns, err);
        status = ease__find_column(
            ease__table_header(r->table), ease__table_columns(r->table),
            ease__table_name(r->table), p, length, place[count++], err);
        if (status)
            return status;
        if (!p[length])
            break;
        p += length + 1;
    }
    if (count < 2 || r->item == r->tag || r->weight == r->item || r->weight == r->tag)
        return bad_columns(r->o->columns, err);
    return EASE_OK;
}

static ease_status ask_for_columns(const tag_reading *r, ease_error *err)
{
    return ease__fail(
        err, EASE_E_ARG,
        "%s: which columns are the item and the tag is not clear: give them as "
        "%sITEM,TAG[,WEIGHT], names or numbers from 1",
        ease__table_name(r->table),
        r->o->columns_option ? r->o->columns_option : "columns ");
}

/* How well the name of a column fits the ids of items; -1: not at all. */
static int item_score(const ease__field *name)
{
    ease__naming is = ease__name_role(name);
    ease__field bare = *name;

    if (is.role == EASE__ROLE_ITEM)
        return 10 * (int)is.tier + (int)is.form;
    if (is.role == EASE__ROLE_UNKNOWN && is.form == EASE__FORM_ID)
        return 5;
    return bare.length == 2 && (bare.text[0] == 'i' || bare.text[0] == 'I') &&
                   (bare.text[1] == 'd' || bare.text[1] == 'D')
               ? 4
               : -1;
}

/* The item has the best name for it; the tag is the first other column with a name of
 * tags, or else the only other column beside weights. */
static ease_status recognize_named(tag_reading *r, const ease__field *header,
                                   int columns, ease_error *err)
{
    int best = -1, others = 0, other = -1, weight = -1;

    for (int i = 0; i < columns; i++) {
        int score = item_score(&header[i]);

        if (score > best) {
            best = score;
            r->item = i;
        }
    }
    if (r->item < 0)
        r->item = ease__names_tag(&header[0]) && columns > 1 ? 1 : 0;
    for (int i = 0; i < columns; i++) {
        if (i == r->item)
            continue;
        if (r->tag < 0 && ease__names_tag(&header[i]))
            r->tag = i;
        if (ease__name_role(&header[i]).role == EASE__ROLE_VALUE) {
            weight = i;
        } else {
            other = i;
            others++;
        }
    }
    if (r->tag < 0 && others == 1)
        r->tag = other;
    if (r->tag < 0)
        return ask_for_columns(r, err);
    if (columns == 3 && weight >= 0 && weight != r->tag)
        r->weight = weight;
    return EASE_OK;
}

/* Without a header: item, tag; or item, tag, weight if the third is a number. */
static ease_status recognize_unnamed(tag_reading *r, const ease__field *row,
                                     int columns, ease_error *err)
{
    double number;

    if (columns < 2 || columns > 3)
        return ask_for_columns(r, err);
    r->item = 0;
    r->tag = 1;
    if (columns == 3) {
        if (ease__parse_double(row[2].text, row[2].length, &number) == EASE__NUMBER_BAD)
            return ask_for_columns(r, err);
        r->weight = 2;
    }
    return EASE_OK;
}

static ease_status choose_kind(tag_reading *r, const ease__field *header,
                               ease_error *err)
{
    ease__name name = {.text = ""};

    if (r->o->kind)
        name = (ease__name){r->o->kind, strlen(r->o->kind)};
    else if (header && !to_utf8(r, &header[r->tag], &name))
        return ease__budget_fail(r->draft.budget, ease__table_name(r->table), err);
    r->kind = ease__tag_kind(name.text, name.length);
    return r->kind ? EASE_OK
                   : ease__fail(err, EASE_E_NOMEM, "tags of %s",
                                ease__table_name(r->table));
}

static ease_status choose_columns(tag_reading *r, const ease__field *row,
                                  ease_error *err)
{
    const ease__field *header = ease__table_header(r->table);
    int columns = (int)ease__table_columns(r->table);
    ease_status status;

    r->item = r->tag = r->weight = -1;
    r->recognized = !r->o->columns;
    if (r->o->columns)
        status = take_columns(r, err);
    else if (header)
        status = recognize_named(r, header, columns, err);
    else
        status = recognize_unnamed(r, row, columns, err);
    return status ? status : choose_kind(r, header, err);
}

/* ---- rows ------------------------------------------------------------------------ */

static ease_status bad_tag_row(const tag_reading *r, const char *what,
                               const ease__field *f, ease_error *err)
{
    char shown[EASE__EXCERPT_CHARS];

    return ease__fail_at(err, EASE_E_PARSE, ease__table_line(r->table),
                         "%s:%lld: %s '%s'", ease__table_name(r->table),
                         (long long)ease__table_line(r->table), what,
                         ease__excerpt(f->text, f->length, shown));
}

static ease_status take_weight(const tag_reading *r, const ease__field *row,
                               float *weight, ease_error *err)
{
    const ease__field *f;
    double value;

    *weight = 1;
    if (r->weight < 0)
        return EASE_OK;
    f = &row[r->weight];
    if (ease__parse_double(f->text, f->length, &value) == EASE__NUMBER_BAD)
        return bad_tag_row(r, "the weight is not a number:", f, err);
    if (!isfinite((float)value))
        return bad_tag_row(r, "the weight is too large:", f, err);
    if (value < 0)
        return bad_tag_row(r, "the weight is negative:", f, err);
    *weight = (float)value;
    return EASE_OK;
}

/* The value up to the next separator; *rest is what follows, or has no text. */
static ease__name next_value(ease__name *rest, const char *split)
{
    size_t width = split ? strlen(split) : 0;
    ease__name value = *rest;

    for (size_t i = 0; width && i + width <= value.length; i++)
        if (memcmp(value.text + i, split, width) == 0) {
            *rest = (ease__name){value.text + i + width, value.length - i - width};
            value.length = i;
            return value;
        }
    *rest = (ease__name){0};
    return value;
}

static bool add_values(tag_reading *r, const ease__field *id, ease__name rest,
                       float weight)
{
    int32_t item = -1;

    do {
        ease__name value = ease__tag_trim(next_value(&rest, r->o->split));

        if (value.length == 0 || weight == 0) {
            r->draft.empty++;
            continue;
        }
        r->bars += !r->o->split && memchr(value.text, '|', value.length);
        if (item < 0 && !ease__tag_draft_item(&r->draft, id->text, id->length, &item))
            return false;
        if (!ease__tag_draft_add(&r->draft, item, r->kind, value, weight))
            return false;
    } while (rest.text);
    return true;
}

static ease_status add_tag_row(tag_reading *r, const ease__field *row, ease_error *err)
{
    const ease__field *id = &row[r->item];
    ease__name value;
    float weight;
    ease_status status = take_weight(r, row, &weight, err);

    r->draft.rows++;
    if (status)
        return status;
    if (id->length == 0)
        return bad_tag_row(r, "the item is empty:", id, err);
    if (!to_utf8(r, &row[r->tag], &value) || !add_values(r, id, value, weight))
        return ease__budget_fail(r->draft.budget, ease__table_name(r->table), err);
    return EASE_OK;
}

static ease_status add_tag_rows(tag_reading *r, ease_error *err)
{
    for (;;) {
        const ease__field *row = NULL;
        size_t count = 0;
        ease_status status = ease__table_next(r->table, &row, &count, err);

        if (status || count == 0)
            return status;
        if (!r->kind)
            status = choose_columns(r, row, err);
        if (!status)
            status = add_tag_row(r, row, err);
        if (status)
            return status;
    }
}

static void log_columns(const tag_reading *r)
{
    const char *name = ease__table_name(r->table);

    if (r->recognized && r->weight >= 0)
        ease__log(
            r->o->hooks, 2,
            "%s: items in column %d, tags (%s) in column %d, weights in column %d",
            name, r->item + 1, r->kind, r->tag + 1, r->weight + 1);
    else if (r->recognized)
        ease__log(r->o->hooks, 2, "%s: items in column %d, tags (%s) in column %d",
                  name, r->item + 1, r->kind, r->tag + 1);
    if (2 * r->bars > r->draft.count)
        ease__log(r->o->hooks, 1,
                  "%s: most tags contain '|', and are not split at it: no separator of "
                  "tags is given",
                  name);
}

/* ---- reading --------------------------------------------------------------------- */

static ease_status read_tags(tag_reading *r, ease_tags **out, ease_error *err)
{
    ease__budget *budget = ease__table_budget(r->table);
    const char *name = ease__table_name(r->table);
    ease_status status;

    budget->limit = ease__memory_limit(r->o->memory_limit);
    if (!ease__tag_draft_start(&r->draft, budget))
        return ease__budget_fail(budget, name, err);
    status = add_tag_rows(r, err);
    if (status)
        return status;
    status = ease__tag_draft_finish(&r->draft, name, out, err);
    if (!status)
        log_columns(r);
    return status;
}

ease_status ease_tags_read(const char *path, const ease_tag_options *given,
                           ease_tags **out, ease_error *err)
{
    ease_tag_options o;
    tag_reading r = {.o = &o};
    ease_status status = EASE__OPTIONS_TAKE(ease_tag_options, &o, given, err);

    if (status)
        return status;
    if (!path || !out)
        return ease__fail(err, EASE_E_ARG, "a path is required");
    if (o.split && !o.split[0])
        return ease__fail(err, EASE_E_ARG, "an empty text separates no tags");
    status = ease__table_open(path, o.separator, o.header, o.hooks, &r.table, err);
    if (!status)
        status = read_tags(&r, out, err);
    ease__tag_draft_free(&r.draft); /* counts against the budget of the table */
    ease__free(r.kind);
    ease__free(r.text);
    ease__table_close(r.table);
    return status;
}
