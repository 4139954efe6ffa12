/* A reader that is not in the library, as an example of adding one. Copied into
 * src/read, with the line READER(ease__toy_reader) in src/read/readers.h, it is
 * complete, and tests/test_reader_contract.c built with -DEASE_TOY_READER passes. The
 * format: a first line #toy, then a line user|item for each interaction. */
#include <string.h>

#include "read/blocks.h"
#include "read/readers.h"

static const char head[] = "#toy\n";

enum { HEAD_BYTES = sizeof(head) - 1 };

static ease_status recognize(const ease__reading *r, bool *is, ease_error *err)
{
    (void)err;
    *is = r->sample_bytes >= HEAD_BYTES && memcmp(r->sample, head, HEAD_BYTES) == 0;
    return EASE_OK;
}

static ease_status read_toy(const ease__reading *r, ease_error *err)
{
    const char *name = ease__input_name(r->in);
    ease__row_form form = {.kind = EASE__ROWS_TABLE,
                           .fields = 2,
                           .user = 0,
                           .item = 1,
                           .value = -1,
                           .time = -1,
                           .min_rating = r->o->min_rating};
    bool is = false;
    ease_status status = recognize(r, &is, err);

    if (!status && !is)
        status = ease__fail_at(err, EASE_E_PARSE, 1, "%s:1: expected #toy", name);
    if (!status)
        status = ease__check_no_table(name, "a toy", false, r->o, err);
    if (!status)
        status = ease__check_values(name, "a toy", false, r->o, err);
    if (!status)
        status = ease__splitter_make("|", &form.splitter, err);
    if (!status)
        status = ease__set_recognized(r, "toy", err);
    if (status)
        return status;
    ease__input_skip(r->in, HEAD_BYTES);
    return ease__blocks_read(r->in, &form, 2, r->block_bytes, r->o, r->draft, err);
}

const ease__reader ease__toy_reader = {
    .format = {.name = "toy", .about = "#toy, then lines user|item"},
    .recognize = recognize,
    .read = read_toy,
};
