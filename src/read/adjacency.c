/* Adjacency lines: a user and then that user's items, `user item item ...`, separated
 * by tabs or by any blanks. */
#include <stdio.h>

#include "read/blocks.h"
#include "read/layout.h"
#include "read/readers.h"

/* True if tabs separate the items: most lines have another number of fields than the
 * first. */
static bool has_tabs(const ease__layout *l)
{
    return l->splitter.kind == EASE__SPLIT_BYTE && l->splitter.text[0] == '\t' &&
           l->uneven;
}

/* True if the lines are not those of a table: they have tabs as above, or numbers of
 * fields that a table separated by spaces would not have. */
static bool has_lists(const ease__layout *l)
{
    if (l->header)
        return false;
    if (has_tabs(l))
        return true;
    if (l->splitter.kind != EASE__SPLIT_BLANKS)
        return false;
    return l->varied || l->fields > 4 || (l->fields > 2 && !l->numeric[2]);
}

static ease_status recognize(const ease__reading *r, bool *is, ease_error *err)
{
    ease__layout l = {0};
    ease_error why = {0};
    ease_status status;

    *is = false;
    if (r->o->columns)
        return EASE_OK;
    status = ease__layout_of_pairs(r, r->o->separator, r->o->header, &l, &why);
    if (status == EASE_E_NOMEM)
        return ease__fail(err, status, "%s", why.text);
    *is = !status && has_lists(&l);
    ease__layout_free(&l);
    return EASE_OK;
}

static ease_status read_lists(const ease__reading *r, const ease__layout *l,
                              ease_error *err)
{
    ease__row_form form = {.kind = EASE__ROWS_ADJACENCY,
                           .splitter = l->splitter,
                           .value = -1,
                           .time = -1,
                           .min_rating = r->o->min_rating};
    char words[96], many[EASE__FILES_CHARS];
    ease_status status;

    snprintf(words, sizeof(words), "%sadjacency lines%s", ease__input_coding(r->in),
             ease__in_files(r, many));
    status = ease__check_values(ease__input_name(r->in), words, false, r->o, err);
    if (!status)
        status = ease__set_recognized(r, words, err);
    if (status)
        return status;
    ease__input_skip(r->in, l->skip);
    return ease__blocks_read(r->in, &form, l->lines + 1, r->block_bytes, r->o, r->draft,
                             err);
}

static ease_status read_adjacency(const ease__reading *r, ease_error *err)
{
    ease__layout l = {0};
    ease_status status = ease__layout_of_pairs(r, r->o->separator, 0, &l, err);

    /* Ids between tabs may have spaces in them. */
    if (!status && !r->o->separator && !has_tabs(&l)) {
        ease__layout_free(&l);
        status = ease__layout_of_pairs(r, " ", 0, &l, err);
    }
    if (!status)
        status = ease__check_no_table(ease__input_name(r->in), "adjacency lines", true,
                                      r->o, err);
    if (!status)
        status = read_lists(r, &l, err);
    ease__layout_free(&l);
    return status;
}

const ease__reader ease__adjacency_reader = {
    .format = {.name = "adjacency",
               .about = "a line for each user: the user, then its items"},
    .parts = true,
    .recognize = recognize,
    .read = read_adjacency,
};
