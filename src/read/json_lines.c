/* JSON lines: an object for each interaction, whose fields are named by their paths:
 * user.id for {"user": {"id": 7}}. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "read/blocks.h"
#include "read/column_names.h"
#include "read/layout.h"
#include "read/readers.h"
#include "read/recognize.h"

enum { MOST_FIELDS = 256, STUDIED_LINES = 1000 };

static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8 */

static size_t mark_bytes(const ease__reading *r)
{
    return r->sample_bytes >= 3 && memcmp(r->sample, mark, 3) == 0 ? 3 : 0;
}

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
        p++;
    return p;
}

/* An object, or an array of objects, which reading refuses. */
static ease_status recognize(const ease__reading *r, bool *is, ease_error *err)
{
    const char *end = r->sample + r->sample_bytes,
               *p = skip_space(r->sample + mark_bytes(r), end);

    (void)err;
    *is = false;
    if (p < end && *p == '[') {
        p = skip_space(p + 1, end);
        *is = p < end && *p == '{';
    } else if (p < end && *p == '{') {
        p = skip_space(p + 1, end);
        *is = p < end && (*p == '"' || *p == '}');
    }
    return EASE_OK;
}

/* ---- the fields of the sample ---------------------------------------------- */

/* The paths of the values in the first lines, in the order of their appearance. */
typedef struct findings {
    ease__field names[MOST_FIELDS];
    size_t count;
    ease__field *row; /* NULL while names are collected */
    bool nomem;
} findings;

static void findings_free(findings *f)
{
    for (size_t i = 0; i < f->count; i++)
        ease__free((char *)f->names[i].text);
    f->count = 0;
}

static size_t find_name(const findings *f, const ease__json_value *v)
{
    size_t i = 0;

    while (i < f->count && (f->names[i].length != v->path_length ||
                            memcmp(f->names[i].text, v->path, v->path_length) != 0))
        i++;
    return i;
}

static bool take_value(void *to, const ease__json_value *v, char *what)
{
    findings *f = to;
    size_t i = find_name(f, v);
    char *name;

    (void)what;
    if (v->kind == EASE__JSON_OBJECT || v->kind == EASE__JSON_ARRAY)
        return true;
    if (f->row) {
        if (i < f->count && v->kind != EASE__JSON_NULL)
            f->row[i] = (ease__field){.text = v->text, .length = v->length};
        return true;
    }
    if (i < f->count || f->count == MOST_FIELDS)
        return true;
    name = ease__alloc_array(v->path_length + 1, 1);
    if (!name) {
        f->nomem = true;
        return false;
    }
    memcpy(name, v->path, v->path_length);
    name[v->path_length] = '\0';
    f->names[f->count++] = (ease__field){.text = name, .length = v->path_length};
    return true;
}

/* The whole lines of the sample, one by one. */
typedef struct lines {
    const char *at, *end;
    bool whole; /* the last line may lack its end */
} lines;

/* False: there are no more lines that can be parsed. Reading names those that
 * cannot. */
static bool next_line(lines *l, findings *f)
{
    char what[EASE__JSON_WHAT];

    l->at = skip_space(l->at, l->end);
    if (l->at == l->end ||
        (!l->whole && !memchr(l->at, '\n', (size_t)(l->end - l->at))))
        return false;
    return ease__json_line(&l->at, l->end, take_value, f, what);
}

static bool collect_names(const ease__reading *r, findings *f)
{
    lines l = {r->sample + mark_bytes(r), r->sample + r->sample_bytes, r->whole};
    int count = 0;

    while (count++ < STUDIED_LINES && next_line(&l, f))
        continue;
    return !f->nomem;
}

static bool survey_lines(const ease__reading *r, findings *f, ease__survey *s)
{
    lines l = {r->sample + mark_bytes(r), r->sample + r->sample_bytes, r->whole};
    bool more = true;

    f->row = ease__alloc_array(f->count, sizeof(*f->row));
    if (!f->row)
        return false;
    while (more) {
        for (size_t i = 0; i < f->count; i++)
            f->row[i] = (ease__field){.text = ""};
        more = next_line(&l, f) && ease__survey_add(s, f->row);
    }
    ease__free(f->row);
    f->row = NULL;
    return true;
}

/* ---- choosing the fields --------------------------------------------------- */

typedef struct choice {
    findings found;
    ease_columns columns;
    bool guessed;
    char words[400];
} choice;

static ease_status guess_fields(const ease__reading *r, choice *c, ease_error *err)
{
    ease__survey s = {0};
    ease_error why = {0};
    ease_status status;

    if (!ease__survey_start(&s, c->found.count) || !survey_lines(r, &c->found, &s))
        status = ease__fail(&why, EASE_E_NOMEM, "recognizing fields");
    else
        status = ease__recognize(&s, c->found.names, r->o->columns_option, &c->columns,
                                 &why);
    ease__survey_free(&s);
    c->guessed = true;
    return status ? ease__fail_at(err, status, why.where, "%s: %s",
                                  ease__input_name(r->in), why.text)
                  : EASE_OK;
}

/* Fails if the first line is none, with its fault. */
static ease_status check_first_line(const ease__reading *r, findings *f,
                                    ease_error *err)
{
    const char *name = ease__input_name(r->in), *start = r->sample + mark_bytes(r),
               *end = r->sample + r->sample_bytes, *at = skip_space(start, end);
    char what[EASE__JSON_WHAT] = "no JSON object: each line needs one";
    int64_t line = 1;

    for (const char *p = start; p < at; p++)
        line += *p == '\n';
    if (at < end && *at == '[')
        return ease__fail_at(err, EASE_E_PARSE, line,
                             "%s:%lld: a JSON array; JSON lines are needed, an object "
                             "in each: jq -c '.[]' makes them",
                             name, (long long)line);
    if (at < end && ease__json_line(&at, end, take_value, f, what))
        return EASE_OK;
    if (f->nomem)
        return ease__fail(err, EASE_E_NOMEM, "recognizing fields");
    return ease__fail_at(err, EASE_E_PARSE, line, "%s:%lld: %s", name, (long long)line,
                         what);
}

static ease_status choose_fields(const ease__reading *r, choice *c, ease_error *err)
{
    const char *name = ease__input_name(r->in);
    ease_status status = check_first_line(r, &c->found, err);
    char columns[300], many[EASE__FILES_CHARS];

    if (status)
        return status;
    if (!collect_names(r, &c->found))
        return ease__fail(err, EASE_E_NOMEM, "recognizing fields");
    status = r->o->columns ? ease__find_columns(c->found.names, c->found.count, name,
                                                r->o->columns, &c->columns, err)
                           : guess_fields(r, c, err);
    if (status)
        return status;
    ease__describe_columns(&c->columns, c->found.names,
                           r->timed || r->dated ||
                               (ease__wants_values(r->o) && c->columns.value < 0),
                           columns, sizeof(columns));
    snprintf(c->words, sizeof(c->words), "%sJSON lines%s: %s",
             ease__input_coding(r->in), ease__in_files(r, many), columns);
    status = ease__check_values(name, c->words, c->columns.value >= 0, r->o, err);
    if (!status)
        status = ease__check_times(name, c->words, c->columns.time >= 0, r->o, err);
    return status;
}

/* ---- reading --------------------------------------------------------------- */

static ease_status read_lines(const ease__reading *r, const choice *c, ease_error *err)
{
    const int column[] = {c->columns.user, c->columns.item, c->columns.value,
                          r->timed || r->dated ? c->columns.time : -1};
    ease__row_form form = {.kind = EASE__ROWS_JSON,
                           .value = column[2] >= 0 ? 2 : -1,
                           .time = column[3] >= 0 ? 3 : -1,
                           .weighted = r->o->weights != 0,
                           .timed = r->timed && column[3] >= 0,
                           .dated = r->dated && column[3] >= 0,
                           .since = r->o->since,
                           .until = r->o->until,
                           .min_rating = r->o->min_rating};

    for (int i = 0; i < EASE__JSON_FIELDS; i++)
        if (column[i] >= 0)
            form.json.path[i] = c->found.names[column[i]].text;
    ease__input_skip(r->in, mark_bytes(r));
    return ease__blocks_read(r->in, &form, 1, r->block_bytes, r->o, r->draft, err);
}

static ease_status read_json(const ease__reading *r, ease_error *err)
{
    const char *name = ease__input_name(r->in);
    choice *c = ease__alloc_zero(1, sizeof(*c));
    ease_status status = EASE_OK;

    if (!c)
        return ease__fail(err, EASE_E_NOMEM, "recognizing fields");
    c->columns = (ease_columns){.user = -1, .item = -1, .value = -1, .time = -1};
    if (r->o->header > 0 || r->o->separator)
        status = ease__fail(
            err, EASE_E_ARG,
            "%s: a header and a separator are for tables alone; this is "
            "JSON lines",
            name);
    if (!status)
        status = choose_fields(r, c, err);
    if (!status)
        status = ease__set_recognized(r, c->words, err);
    if (!status)
        status = read_lines(r, c, err);
    if (!status)
        status = ease__draft_doubt(
            r->draft, r->o->guess || !c->guessed ? r->o->guess : &c->columns, name,
            err);
    findings_free(&c->found);
    ease__free(c);
    return status;
}

const ease__reader ease__json_reader = {
    .format = {.name = "jsonl",
               .about = "an object in each line, of which fields are the columns: "
                        "user.id for {\"user\": {\"id\": 7}}",
               .values = 1,
               .times = 1},
    .parts = true,
    .recognize = recognize,
    .read = read_json,
};
