/* Reading a file of interactions: what form it has, and the reader of that form. */
#include <math.h>
#include <string.h>

#include "core/sized.h"
#include "input/datasets.h"
#include "read/blocks.h"
#include "read/readers.h"
#include "read/recognize.h"
#include "read/split_files.h"

void ease_read_options_defaults(ease_read_options *o)
{
    static const ease_read_options defaults = {.header = -1, .min_rating = (double)NAN};

    ease__options_defaults(o, &defaults, sizeof(defaults));
}

/* ---- reading --------------------------------------------------------------- */

ease_status ease__check_read_options(const ease_read_options *o, ease_error *err)
{
    static const char *const formats[] = {"table", "adjacency", "npz", "mtx",
                                          "netflix"};
    bool known = !o->format;

    for (size_t i = 0; !known && i < sizeof(formats) / sizeof(formats[0]); i++)
        known = strcmp(o->format, formats[i]) == 0;
    if (!known)
        return ease__fail(err, EASE_E_ARG,
                          "format '%.40s': not table, adjacency, npz, mtx or netflix",
                          o->format);
    if (o->repeat < EASE_REPEAT_FIRST || o->repeat > EASE_REPEAT_SUM)
        return ease__fail(err, EASE_E_ARG, "unknown way to fold repeated rows");
    if (o->min_user < 0 || o->min_item < 0)
        return ease__fail(err, EASE_E_ARG, "a minimal count below 0");
    return ease__threads_check(o->threads, err);
}

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

ease_status ease__check_claim(const char *name, int64_t users, int64_t items,
                              size_t bytes, const ease_read_options *o, ease_error *err)
{
    /* The digits, and of a user the row's begin, twice while entries are put in their
     * rows; the length of a folded row and whether it lost any take less. */
    size_t an_id = EASE__DIGITS + 2 * sizeof(int64_t), ids;
    size_t limit = ease__memory_limit(o->memory_limit);
    char need[EASE__SIZE_ROOM], most[EASE__SIZE_ROOM];

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

/* Lines, now that it is known what they are. */
static ease_status read_lines(ease__input *in, const ease__dialect *d,
                              const ease_read_options *o, size_t block_bytes,
                              bool timed, ease__draft *draft, ease_error *err)
{
    const ease__layout *l = &d->layout;
    ease__row_form form = {
        .kind = d->adjacency ? EASE__ROWS_ADJACENCY : EASE__ROWS_TABLE,
        .splitter = l->splitter,
        .fields = l->fields,
        .user = d->columns.user,
        .item = d->columns.item,
        .value = d->columns.value,
        .time = timed ? d->columns.time : -1,
        .weighted = o->weights != 0,
        .timed = timed && d->columns.time >= 0,
        .min_rating = o->min_rating,
    };
    ease_status status;

    ease__input_skip(in, l->skip);
    status = ease__blocks_read(in, &form, l->lines + 1, block_bytes, o, draft, err);
    if (!status && draft->counts.rows == 0 && l->header)
        status = ease__fail(err, EASE_E_DATA, "%s: a header and no rows",
                            ease__input_name(in));
    return status;
}

static ease_status read_text(ease__input *in, const char *sample, size_t bytes,
                             bool whole, const ease_read_options *o, size_t block_bytes,
                             bool timed, ease__draft *draft, ease_error *err)
{
    const char *name = ease__input_name(in);
    ease__dialect d = {0};
    ease_status status;

    if (bytes >= 2 && memcmp(sample, "\xff\xfe", 2) == 0)
        return ease__fail(err, EASE_E_PARSE, "%s: UTF-16 text; UTF-8 is needed", name);
    if (memchr(sample, '\0', bytes))
        return ease__fail(err, EASE_E_PARSE, "%s: looks like a binary file", name);
    status = ease__dialect_guess(name, ease__input_coding(in), sample, bytes, whole, o,
                                 timed, &d, err);
    if (!status)
        status = ease__check_values(name, d.recognized, d.columns.value >= 0, o, err);
    if (!status)
        status = read_lines(in, &d, o, block_bytes, timed, draft, err);
    if (!status)
        status = ease__draft_doubt(
            draft, o->guess || !d.guessed ? o->guess : &d.columns, name, err);
    if (!status) {
        draft->recognized = d.recognized;
        d.recognized = NULL;
    }
    ease__dialect_free(&d);
    return status;
}

/* A table of a split by itself: with the ids that its numbers stand for. */
static ease_status read_split_table(ease__input *in, const char *path, const char *dir,
                                    const char *sample, size_t bytes, bool whole,
                                    const ease_read_options *o, size_t block_bytes,
                                    ease__draft *draft, ease_error *err)
{
    ease_read_options used = *o;
    ease_status status;

    ease__split_table_options(&used);
    status = read_text(in, sample, bytes, whole, &used, block_bytes, false, draft, err);
    return status ? status : ease__split_table_restore(in, path, dir, draft, err);
}

static ease_status read_form(ease__input *in, const char *path,
                             const ease_read_options *o, size_t block_bytes, bool timed,
                             ease__draft *draft, ease_interactions *x, ease_error *err)
{
    const char *sample = NULL, *format = o->format ? o->format : "";
    char *split = NULL;
    size_t bytes = 0;
    bool whole = false;
    ease_status status = ease__sample(in, o->memory_limit, &sample, &bytes, &whole,
                                      err);

    if (!status)
        status = ease__check_blank(ease__input_name(in), sample, bytes, whole, err);
    if (status)
        return status;
    if (strcmp(format, "npz") == 0 || (!*format && ease__npz_begins(sample, bytes)))
        return ease__npz_read(in, o, x, err);
    if (strcmp(format, "mtx") == 0 || (!*format && ease__mtx_begins(sample, bytes)))
        return ease__mtx_read(in, o, block_bytes, draft, err);
    if (strcmp(format, "netflix") == 0 ||
        (!*format && ease__netflix_begins(sample, bytes)))
        return ease__netflix_read(in, sample, bytes, o, block_bytes, timed, draft, err);
    status = ease__split_of_table(path, sample, bytes, o, &split, err);
    if (!status)
        status = split ? read_split_table(in, path, split, sample, bytes, whole, o,
                                          block_bytes, draft, err)
                       : read_text(in, sample, bytes, whole, o, block_bytes, timed,
                                   draft, err);
    ease__free(split);
    return status;
}

static ease_status refuse_own_files(const char *path, ease_error *err)
{
    ease_file_kind kind = EASE_FILE_OTHER;
    ease_status status = ease_file_recognize(path, &kind, err);

    if (status || kind == EASE_FILE_OTHER)
        return status;
    return ease__fail(err, EASE_E_DATA, "%s: a %s of ours, not interactions", path,
                      kind == EASE_FILE_GRAM ? "Gram file" : "model file");
}

ease_status ease__read_any(ease__input *in, const char *path,
                           const ease_read_options *o, size_t block_bytes, bool timed,
                           ease__draft *draft, ease_interactions *x, ease_error *err)
{
    ease_status status = refuse_own_files(path, err);

    return status ? status : read_form(in, path, o, block_bytes, timed, draft, x, err);
}

ease_status ease__interactions_read(const char *path, const ease_read_options *o,
                                    size_t block_bytes, ease_interactions **out,
                                    ease_error *err)
{
    ease__input *in = NULL;
    ease__budget budget;
    ease__draft draft = {.budget = &budget};
    ease_interactions *x = ease__alloc_zero(1, sizeof(*x));
    ease_read_options used = *o;
    ease_status status;

    ease__budget_start(&budget, o->memory_limit);
    used.memory_limit = budget.limit;
    if (!x)
        return ease__fail(err, EASE_E_NOMEM, "reading %s", path);
    status = ease__data_open(path, &used, &in, err);
    if (!status)
        status = ease__read_any(in, path, &used, block_bytes, false, &draft, x, err);
    if (!status && !x->row_ptr)
        status = ease__draft_rows(&draft, ease__threads(o->threads), x, err);
    ease__draft_free(&draft);
    if (!status)
        status = ease__finish(x, o, ease__input_name(in), err);
    ease__input_close(in);
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
