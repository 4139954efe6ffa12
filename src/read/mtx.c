/* MatrixMarket coordinates: rows are users, columns are items, ids are their numbers,
 * from 1. */
#include <stdio.h>
#include <string.h>

#include "read/blocks.h"
#include "read/layout.h"
#include "read/readers.h"
#include "text/number.h"

static const char banner[] = "%%MatrixMarket";

typedef struct mtx {
    ease__input *in;
    const char *name;
    bool pattern;
    int64_t rows, columns, entries;
    int64_t lines; /* of the head */
} mtx;

static ease_status recognize(const ease__reading *r, bool *is, ease_error *err)
{
    (void)err;
    *is = r->sample_bytes >= sizeof(banner) - 1 &&
          strncasecmp(r->sample, banner, sizeof(banner) - 1) == 0;
    return EASE_OK;
}

static ease_status bad_head(const mtx *m, const char *what, ease_error *err)
{
    return ease__fail_at(err, EASE_E_PARSE, m->lines, "%s:%lld: %s", m->name,
                         (long long)m->lines, what);
}

enum { LINE_BYTES = 1 << 12 };

/* Reads a line of the head, without its end; long lines are cut. */
static ease_status next_line(mtx *m, char line[LINE_BYTES], size_t *length,
                             ease_error *err)
{
    size_t used = 0;

    m->lines++;
    for (;;) {
        size_t got = 0;
        char c;
        ease_status status = ease__input_read(m->in, &c, 1, &got, err);

        if (status)
            return status;
        if (got == 0 && used == 0)
            return bad_head(m, "the file ends within its head", err);
        if (got == 0 || c == '\n')
            break;
        if (used < LINE_BYTES - 1)
            line[used++] = c;
    }
    if (used && line[used - 1] == '\r')
        used--;
    line[used] = '\0';
    *length = used;
    return EASE_OK;
}

/* Splits a line into words, in place. Returns their number, or `most` + 1 if there are
 * more. */
static size_t split_words(char *line, char **words, size_t most)
{
    char *rest = NULL;
    size_t count = 0;

    for (char *w = strtok_r(line, " \t", &rest); w; w = strtok_r(NULL, " \t", &rest)) {
        if (count == most)
            return most + 1;
        words[count++] = w;
    }
    return count;
}

static ease_status read_banner(mtx *m, ease_error *err)
{
    char line[LINE_BYTES], *word[5];
    size_t length;
    ease_status status = next_line(m, line, &length, err);

    if (status)
        return status;
    if (split_words(line, word, 5) != 5 || strcasecmp(word[0], banner) != 0)
        return bad_head(
            m, "not a head of MatrixMarket: %%MatrixMarket matrix coordinate ...", err);
    if (strcasecmp(word[1], "matrix") != 0 || strcasecmp(word[2], "coordinate") != 0)
        return bad_head(m, "only MatrixMarket matrices of coordinates can be read",
                        err);
    m->pattern = strcasecmp(word[3], "pattern") == 0;
    if (!m->pattern && strcasecmp(word[3], "real") != 0 &&
        strcasecmp(word[3], "integer") != 0)
        return bad_head(
            m, "only MatrixMarket values real, integer or pattern can be read", err);
    if (strcasecmp(word[4], "general") != 0)
        return bad_head(m, "only general MatrixMarket matrices can be read", err);
    return EASE_OK;
}

static bool take_size(const char *word, int64_t *out)
{
    return ease__parse_int(word, strlen(word), out) == EASE__NUMBER_OK && *out >= 0;
}

static ease_status read_sizes(mtx *m, ease_error *err)
{
    char line[LINE_BYTES], *word[3];
    size_t length, blanks;

    do {
        ease_status status = next_line(m, line, &length, err);

        if (status)
            return status;
        blanks = strspn(line, " \t");
    } while (line[0] == '%' || line[blanks] == '\0');
    if (split_words(line, word, 3) != 3 || !take_size(word[0], &m->rows) ||
        !take_size(word[1], &m->columns) || !take_size(word[2], &m->entries))
        return bad_head(m, "expected the numbers of rows, columns and entries", err);
    return EASE_OK;
}

static ease_status read_entries(const mtx *m, const ease__reading *r, ease_error *err)
{
    ease__row_form form = {.kind = EASE__ROWS_COORDINATES,
                           .fields = m->pattern ? 2 : 3,
                           .value = m->pattern ? -1 : 2,
                           .time = -1,
                           .weighted = r->o->weights != 0,
                           .min_rating = r->o->min_rating,
                           .rows = m->rows,
                           .columns = m->columns};
    ease__draft *draft = r->draft;
    ease_status status = ease__splitter_make(" ", &form.splitter, err);

    if (!status)
        status = ease__blocks_read(m->in, &form, m->lines + 1, r->block_bytes, r->o,
                                   draft, err);
    if (status)
        return status;
    if (draft->counts.rows != m->entries)
        return ease__fail(err, EASE_E_PARSE,
                          "%s: %lld entries where its head says %lld", m->name,
                          (long long)draft->counts.rows, (long long)m->entries);
    status = ease__ids_number(&draft->user_ids, 1, m->rows, err);
    return status ? status : ease__ids_number(&draft->item_ids, 1, m->columns, err);
}

static ease_status describe(const mtx *m, const ease__reading *r, ease_error *err)
{
    char all[160];

    snprintf(all, sizeof(all), "%sMatrixMarket coordinate%s, %lld x %lld",
             ease__input_coding(m->in), m->pattern ? " pattern" : "",
             (long long)m->rows, (long long)m->columns);
    return ease__set_recognized(r, all, err);
}

static ease_status read_mtx(const ease__reading *r, ease_error *err)
{
    mtx m = {.in = r->in, .name = ease__input_name(r->in)};
    ease_status status = ease__check_no_table(m.name, "MatrixMarket", false, r->o, err);

    if (!status)
        status = read_banner(&m, err);
    if (!status)
        status = read_sizes(&m, err);
    if (!status)
        status = ease__check_claim(m.name, m.rows, m.columns, 0, r->o, err);
    if (!status)
        status = describe(&m, r, err);
    if (!status)
        status = ease__check_values(m.name, r->draft->recognized, !m.pattern, r->o,
                                    err);
    return status ? status : read_entries(&m, r, err);
}

const ease__reader ease__mtx_reader = {
    .format = {.name = "mtx",
               .about = "MatrixMarket coordinates: rows are users, columns are items",
               .values = 1},
    .recognize = recognize,
    .read = read_mtx,
};
