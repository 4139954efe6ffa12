/* The Netflix Prize's ratings: a line `movie:`, then a row `customer,rating,date` for
 * each of its ratings. There is one file for each movie, or a few files with many. */
#include <stdio.h>
#include <string.h>

#include "read/blocks.h"
#include "read/layout.h"
#include "read/readers.h"

static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8 */

static size_t mark_bytes(const char *sample, size_t bytes)
{
    return bytes >= 3 && memcmp(sample, mark, 3) == 0 ? 3 : 0;
}

static ease_status recognize(const ease__reading *r, bool *is, ease_error *err)
{
    const char *p = r->sample, *end = p + r->sample_bytes, *digits;

    (void)err;
    p = digits = p + mark_bytes(p, r->sample_bytes);
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    *is = p > digits && p < end && *p++ == ':';
    if (p < end && *p == '\r')
        p++;
    *is = *is && (p == end || *p == '\n');
    return EASE_OK;
}

static ease_status describe(const ease__reading *r, ease_error *err)
{
    char all[120], many[EASE__FILES_CHARS];

    snprintf(all, sizeof(all),
             "%sNetflix Prize%s: movie lines, then customer,rating,date",
             ease__input_coding(r->in), ease__in_files(r, many));
    return ease__set_recognized(r, all, err);
}

static ease_status read_netflix(const ease__reading *r, ease_error *err)
{
    ease__row_form form = {.kind = EASE__ROWS_HEADED,
                           .fields = 3,
                           .user = 0,
                           .item = -1,
                           .value = 1,
                           .time = 2,
                           .weighted = r->o->weights != 0,
                           .timed = r->timed,
                           .dated = r->dated,
                           .since = r->o->since,
                           .until = r->o->until,
                           .min_rating = r->o->min_rating};
    ease_status status = ease__check_no_table(
        ease__input_name(r->in), "the Netflix Prize's form", false, r->o, err);

    if (!status)
        status = ease__splitter_make(",", &form.splitter, err);
    if (!status)
        status = describe(r, err);
    if (status)
        return status;
    form.splitter.quotes = false;
    ease__input_skip(r->in, mark_bytes(r->sample, r->sample_bytes));
    return ease__blocks_read(r->in, &form, 1, r->block_bytes, r->o, r->draft, err);
}

const ease__reader ease__netflix_reader = {
    .format = {.name = "netflix",
               .about = "the Netflix Prize's ratings: a line movie:, then rows "
                        "customer,rating,date",
               .values = 1,
               .times = 1},
    .series = true,
    .parts = true,
    .recognize = recognize,
    .read = read_netflix,
};
