/* The Netflix Prize's ratings: a line `movie:`, then a row `customer,rating,date` for
 * each of its ratings. A file a movie, or all in a few files. */
#include <stdio.h>
#include <string.h>

#include "read/blocks.h"
#include "read/dialect.h"
#include "read/readers.h"

static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8 */

static size_t mark_bytes(const char *sample, size_t bytes)
{
    return bytes >= 3 && memcmp(sample, mark, 3) == 0 ? 3 : 0;
}

bool ease__netflix_begins(const char *sample, size_t bytes)
{
    size_t first = mark_bytes(sample, bytes), at = first;

    while (at < bytes && sample[at] >= '0' && sample[at] <= '9')
        at++;
    if (at == first || at == bytes || sample[at++] != ':')
        return false;
    if (at < bytes && sample[at] == '\r')
        at++;
    return at == bytes || sample[at] == '\n';
}

static ease_status describe(const ease__input *in, ease__draft *draft, ease_error *err)
{
    size_t files = ease__input_files(in);
    char all[120], many[40] = "";

    if (files > 1)
        snprintf(many, sizeof(many), " in %zu files", files);
    snprintf(all, sizeof(all),
             "%sNetflix Prize%s: movie lines, then customer,rating,date",
             ease__input_coding(in), many);
    draft->recognized = ease__copy_string(all);
    return draft->recognized
               ? EASE_OK
               : ease__fail(err, EASE_E_NOMEM, "reading %s", ease__input_name(in));
}

ease_status ease__netflix_read(ease__input *in, const char *sample, size_t bytes,
                               const ease_read_options *o, size_t block_bytes,
                               bool timed, ease__draft *draft, ease_error *err)
{
    ease__row_form form = {.kind = EASE__ROWS_HEADED,
                           .fields = 3,
                           .user = 0,
                           .item = -1,
                           .value = 1,
                           .time = 2,
                           .weighted = o->weights != 0,
                           .timed = timed,
                           .min_rating = o->min_rating};
    ease_status status = ease__check_no_table(
        ease__input_name(in), "the Netflix Prize's form", false, o, err);

    if (!status)
        status = ease__splitter_make(",", &form.splitter, err);
    if (!status)
        status = describe(in, draft, err);
    if (status)
        return status;
    form.splitter.quotes = false;
    ease__input_skip(in, mark_bytes(sample, bytes));
    return ease__blocks_read(in, &form, 1, block_bytes, o, draft, err);
}
