/* Reads interactions: finds the reader of the format, which is recognized or given by
 * options, and calls it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/sized.h"
#include "input/datasets.h"
#include "input/parts.h"
#include "read/layout.h"
#include "read/readers.h"

void ease_read_options_defaults(ease_read_options *o)
{
    static const ease_read_options defaults = {.header = -1,
                                               .min_rating = (double)NAN,
                                               .since = (double)NAN,
                                               .until = (double)NAN};

    ease__options_defaults(o, &defaults, sizeof(defaults));
}

/* ---- options --------------------------------------------------------------- */

/* Writes "npz, mtx or table", from the table of readers. */
static void list_formats(char *to, size_t size)
{
    size_t used = 0;

    for (int i = 0; ease__readers[i] && used < size; i++)
        used += (size_t)snprintf(to + used, size - used, "%s%s",
                                 i == 0                 ? ""
                                 : ease__readers[i + 1] ? ", "
                                                        : " or ",
                                 ease__readers[i]->format.name);
}

ease_status ease__check_read_options(const ease_read_options *o, ease_error *err)
{
    char names[200] = "";

    if (o->format && !ease__reader_named(o->format)) {
        list_formats(names, sizeof(names));
        return ease__fail(err, EASE_E_ARG, "format '%.40s': not %s", o->format, names);
    }
    if (o->repeat < EASE_REPEAT_FIRST || o->repeat > EASE_REPEAT_SUM)
        return ease__fail(err, EASE_E_ARG, "unknown way to fold repeated rows");
    if (o->min_user < 0 || o->min_item < 0)
        return ease__fail(err, EASE_E_ARG, "a minimal count below 0");
    if (o->half_life != 0.0 && !(o->half_life > 0.0 && isfinite(o->half_life)))
        return ease__fail(err, EASE_E_ARG, "a half-life is a number of days above 0");
    if (o->since >= o->until)
        return ease__fail(err, EASE_E_ARG, "`since` is not before `until`");
    if (o->guess && ease__info_check(o->guess, "ease_columns", err))
        return EASE_E_ARG;
    return ease__threads_check(o->threads, err);
}

/* ---- what readers share ---------------------------------------------------- */

bool ease__wants_values(const ease_read_options *o)
{
    return o->weights || !isnan(o->min_rating);
}

ease_status ease__check_values(const char *name, const char *recognized, bool values,
                               const ease_read_options *o, ease_error *err)
{
    if (values || !ease__wants_values(o))
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG, "%s: %s need%s a column of values; this is %s",
                      name, o->weights ? "weights" : "a minimal rating",
                      o->weights ? "" : "s", recognized);
}

bool ease__wants_times(const ease_read_options *o)
{
    return o->half_life > 0.0 || !isnan(o->since) || !isnan(o->until);
}

ease_status ease__check_times(const char *name, const char *recognized, bool times,
                              const ease_read_options *o, ease_error *err)
{
    if (times || !ease__wants_times(o))
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG, "%s: %s need%s a column of times; this is %s",
                      name, o->half_life > 0.0 ? "a half-life" : "since and until",
                      o->half_life > 0.0 ? "s" : "", recognized);
}

ease_status ease__check_claim(const char *name, int64_t users, int64_t items,
                              size_t bytes, const ease_read_options *o, ease_error *err)
{
    /* The digits, and of a user the row's begin, twice while entries are put in their
     * rows; the length of a folded row and whether it lost any take less. */
    size_t an_id = EASE__DIGITS + 2 * sizeof(int64_t), ids;
    size_t limit = ease__memory_limit(o->memory_limit);
    char need[EASE__SIZE_CHARS], most[EASE__SIZE_CHARS];

    if (users > EASE__MAX_IDS || items > INT32_MAX)
        return ease__fail(err, EASE_E_TOO_LARGE, "%s: %lld x %lld is too large", name,
                          (long long)users, (long long)items);
    ids = ease__size_mul((size_t)users + (size_t)items, an_id);
    bytes = ease__size_add(bytes, ids);
    if (bytes <= limit)
        return EASE_OK;
    return ease__fail(err, EASE_E_MEMORY_LIMIT, "%s: reading needs %s; the limit is %s",
                      name, ease__size_text(bytes, need), ease__size_text(limit, most));
}

ease_status ease__check_no_table(const char *name, const char *form, bool separated,
                                 const ease_read_options *o, ease_error *err)
{
    const char *given = o->columns                   ? "columns are"
                        : o->header > 0              ? "a header is"
                        : o->separator && !separated ? "a separator is"
                                                     : NULL;

    if (!given)
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG, "%s: %s for tables alone; this is %s", name,
                      given, form);
}

const char *ease__in_files(const ease__reading *r, char to[EASE__FILES_CHARS])
{
    size_t files = ease__input_files(r->in);

    to[0] = '\0';
    if (files > 1)
        snprintf(to, EASE__FILES_CHARS, " in %zu files", files);
    return to;
}

ease_status ease__set_recognized(const ease__reading *r, const char *words,
                                 ease_error *err)
{
    r->draft->recognized = ease__copy_string(words);
    return r->draft->recognized
               ? EASE_OK
               : ease__fail(err, EASE_E_NOMEM, "reading %s", ease__input_name(r->in));
}

/* ---- choosing the reader --------------------------------------------------- */

static const ease__reader *reader_of_series(void)
{
    for (int i = 0; ease__readers[i]; i++)
        if (ease__readers[i]->series)
            return ease__readers[i];
    return NULL;
}

ease_status ease__reading_open(ease__reading *r, ease_error *err)
{
    bool series = false;
    ease_status status;

    r->reader = r->o->format ? ease__reader_named(r->o->format) : NULL;
    status = ease__data_open(r->path, r->o->more, r->reader && r->reader->series,
                             r->o->hooks, &r->in, &series, err);
    if (!status && r->o->encoding)
        status = ease__input_set_charset(r->in, r->o->encoding, err);
    if (!status && series && !r->reader)
        r->reader = reader_of_series();
    return status;
}

void ease__reading_close(ease__reading *r)
{
    ease__input_close(r->in);
    r->in = NULL;
}

static ease_status refuse_own_files(const char *path, ease_error *err)
{
    ease_file_kind kind = EASE_FILE_OTHER;
    ease_status status = ease__is_pattern(path) ? EASE_OK
                                                : ease_file_recognize(path, &kind, err);

    if (status || kind == EASE_FILE_OTHER)
        return status;
    return ease__fail(err, EASE_E_DATA, "%s: a %s of ours, not interactions", path,
                      kind == EASE_FILE_GRAM ? "Gram file" : "model file");
}

static ease_status recognize(ease__reading *r, ease_error *err)
{
    for (int i = 0; ease__readers[i]; i++) {
        bool is = false;
        ease_status status = ease__readers[i]->recognize(r, &is, err);

        if (status)
            return status;
        if (is) {
            r->reader = ease__readers[i];
            return EASE_OK;
        }
    }
    return ease__fail(err, EASE_E_PARSE, "%s: of no known format",
                      ease__input_name(r->in));
}

/* Spark writes parts without rows as empty files. */
static ease_status pass_empty_files(ease__reading *r, ease_error *err)
{
    size_t got = 0;
    bool more = true;

    while (more) {
        const char *data;
        ease_status status = ease__input_peek(r->in, 1, &data, &got, err);

        if (status || got)
            return status;
        status = ease__input_next(r->in, &more, err);
        if (status)
            return status;
    }
    return EASE_OK;
}

static ease_status check_parts(const ease__reading *r, ease_error *err)
{
    size_t files = ease__input_files(r->in);

    if (files < 2 || r->reader->parts)
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG,
                      "%s: %zu files of the format %s, which are not parts of one: "
                      "tables and JSON lines can be",
                      ease__input_name(r->in), files, r->reader->format.name);
}

ease_status ease__reading_run(ease__reading *r, ease_error *err)
{
    ease_status status = refuse_own_files(r->path, err);

    if (!status)
        status = pass_empty_files(r, err);
    if (!status)
        status = ease__sample(r->in, r->o->memory_limit, &r->sample, &r->sample_bytes,
                              &r->whole, err);
    if (!status)
        status = ease__check_blank(ease__input_name(r->in), r->sample, r->sample_bytes,
                                   r->whole, err);
    if (!status && !r->reader)
        status = recognize(r, err);
    if (!status)
        status = check_parts(r, err);
    if (!status)
        status = ease__check_times(ease__input_name(r->in), r->reader->format.name,
                                   r->reader->format.times, r->o, err);
    if (!status)
        status = r->reader->read(r, err);
    return status ? status
                  : ease__draft_age(r->draft, r->o, ease__input_name(r->in), err);
}

/* ---- reading --------------------------------------------------------------- */

ease_status ease__interactions_read(const char *path, const ease_read_options *o,
                                    size_t block_bytes, ease_interactions **out,
                                    ease_error *err)
{
    ease__budget budget;
    ease__draft draft = {.budget = &budget};
    ease_interactions *x = ease__alloc_zero(1, sizeof(*x));
    ease_read_options used = *o;
    ease__reading r = {
        .path = path, .o = &used, .block_bytes = block_bytes, .draft = &draft, .x = x};
    ease_status status;

    r.timed = o->half_life > 0.0;
    r.dated = ease__wants_times(o);
    ease__budget_start(&budget, o->memory_limit);
    used.memory_limit = budget.limit;
    if (!x)
        return ease__fail(err, EASE_E_NOMEM, "reading %s", path);
    status = ease__reading_open(&r, err);
    if (!status)
        status = ease__reading_run(&r, err);
    if (!status && !x->row_ptr)
        status = ease__draft_rows(&draft, ease__threads(o->threads), x, err);
    ease__draft_free(&draft);
    if (!status)
        status = ease__finish(x, o, ease__input_name(r.in), err);
    ease__reading_close(&r);
    if (status) {
        ease_interactions_free(x);
        return status;
    }
    *out = x;
    return EASE_OK;
}

ease_status ease_interactions_read(const char *path, const ease_read_options *o,
                                   ease_interactions **out, ease_error *err)
{
    ease_read_options used;
    ease_status status;

    if (!path || !*path || !out)
        return ease__fail(err, EASE_E_ARG, "a path is required");
    status = EASE__OPTIONS_TAKE(ease_read_options, &used, o, err);
    if (!status)
        status = ease__check_read_options(&used, err);
    return status ? status : ease__interactions_read(path, &used, 0, out, err);
}
