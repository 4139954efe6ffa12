#include "read/recognize.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include "core/sized.h"
#include "text/moment.h"
#include "text/number.h"
#include "text/roles.h"

enum {
    MOST_ROWS = 4096,
    MOST_CELLS = 1 << 18,
    ENOUGH_ROWS = 20, /* with fewer rows, counts of distinct values say nothing */
    FEW_VALUES = 5,   /* at most this many: a gender, a status, a type of event */
    MOST_GRADES = 11  /* 0 to 10 */
};

/* ---- times ----------------------------------------------------------------- */

/* Years 1990 to 2039: larger than most ids that count from 1, whatever the unit. */
static bool is_epoch(double v)
{
    static const double from = 631152000.0, to = 2208988800.0, unit[] = {1.0, 1e3, 1e6};

    for (int i = 0; i < 3; i++)
        if (v >= from * unit[i] && v < to * unit[i])
            return true;
    return false;
}

/* 20050402 */
static bool is_plain_date(double v)
{
    int64_t n = v >= 19000101.0 && v <= 21001231.0 ? (int64_t)v : 0;
    int64_t month = n / 100 % 100, day = n % 100;

    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/* ---- surveying ------------------------------------------------------------- */

bool ease__survey_start(ease__survey *s, size_t columns)
{
    size_t most = columns ? MOST_CELLS / columns : 0;

    *s = (ease__survey){.columns = columns};
    s->most = most < 1 ? 1 : most > MOST_ROWS ? MOST_ROWS : most;
    s->tallies = ease__alloc_zero(columns, sizeof(*s->tallies));
    s->hashes = ease__alloc_array(ease__size_mul(columns, s->most), sizeof(*s->hashes));
    if (s->tallies && s->hashes)
        return true;
    ease__survey_free(s);
    return false;
}

void ease__survey_free(ease__survey *s)
{
    ease__free(s->tallies);
    ease__free(s->hashes);
    *s = (ease__survey){0};
}

static void tally_value(ease__tally *t, const ease__field *f, bool commas)
{
    double v = (double)NAN;
    ease__number_fault fault;

    if (f->length == 0)
        return;
    t->filled++;
    fault = ease__parse_decimal(f->text, f->length, !commas, &v);
    if (fault == EASE__NUMBER_BAD && !ease__names_no_number(f)) {
        t->dates += ease__looks_like_date(f->text, f->length);
        return;
    }
    t->numbers++;
    if (fault)
        return;
    t->fractions += v != floor(v);
    t->epochs += v == floor(v) && is_epoch(v);
    t->days += v == floor(v) && is_plain_date(v);
}

bool ease__survey_add(ease__survey *s, const ease__field *fields)
{
    if (s->rows == s->most)
        return false;
    for (size_t i = 0; i < s->columns; i++) {
        tally_value(&s->tallies[i], &fields[i], s->commas);
        s->hashes[i * s->most + s->rows] = XXH3_64bits(fields[i].text,
                                                       fields[i].length);
    }
    s->rows++;
    return true;
}

static int compare_hashes(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* Sorts the hashes and counts the distinct ones. */
static size_t count_distinct(uint64_t *hashes, size_t count)
{
    size_t distinct = 0;

    qsort(hashes, count, sizeof(*hashes), compare_hashes);
    for (size_t i = 0; i < count; i++)
        distinct += i == 0 || hashes[i] != hashes[i - 1];
    return distinct;
}

/* ---- judging --------------------------------------------------------------- */

typedef struct judging {
    const ease__survey *s;
    const ease__field *names; /* NULL: no header */
    ease__naming *naming;
    uint64_t *scratch; /* s->rows */
    bool *taken;
    int count;
    bool epochs_are_ids; /* numbers that look like times are taken as ids */
    int rest;            /* the first column after user and item: a value may follow */
    int rival;           /* a column that is as likely as a chosen one; -1: none */
} judging;

static const uint64_t *hashes_of(const judging *j, int column)
{
    return j->s->hashes + (size_t)column * j->s->most;
}

static void count_values(judging *j)
{
    for (int c = 0; c < j->count; c++) {
        const uint64_t *h = hashes_of(j, c);
        ease__tally *t = &j->s->tallies[c];

        t->runs = 0;
        for (size_t i = 0; i < j->s->rows; i++)
            t->runs += i == 0 || h[i] != h[i - 1];
        if (j->s->rows)
            memcpy(j->scratch, h, j->s->rows * sizeof(*h));
        t->distinct = count_distinct(j->scratch, j->s->rows);
    }
}

/* Two columns that group the rows alike mean the same, as user_id and user_name. */
static bool divide_alike(const judging *j, int a, int b)
{
    const uint64_t *ha = hashes_of(j, a), *hb = hashes_of(j, b);
    const ease__tally *t = j->s->tallies;
    size_t both;

    for (size_t i = 0; i < j->s->rows; i++)
        j->scratch[i] = ha[i] * UINT64_C(0x9e3779b97f4a7c15) + hb[i];
    both = count_distinct(j->scratch, j->s->rows);
    return both == t[a].distinct && both == t[b].distinct;
}

static bool are_all(size_t count, const ease__tally *t)
{
    return t->filled > 0 && count == t->filled;
}

static bool is_constant(const judging *j, int c)
{
    return j->s->rows >= ENOUGH_ROWS && j->s->tallies[c].distinct == 1;
}

/* Dates surely, numbers probably: as ids they would have to be believed. */
static bool looks_like_time(const ease__tally *t)
{
    return are_all(t->dates, t) || are_all(t->days, t) || are_all(t->epochs, t);
}

/* Could values of a column of this kind be ids? */
static bool may_be_ids(const judging *j, int c)
{
    const ease__tally *t = &j->s->tallies[c];
    bool fractions = are_all(t->numbers, t) && t->fractions > 0;
    bool times = j->s->rows >= ENOUGH_ROWS &&
                 (are_all(t->days, t) || (!j->epochs_are_ids && are_all(t->epochs, t)));

    return !fractions && !times && !are_all(t->dates, t);
}

static bool is_unnamed(const judging *j, int c)
{
    return !j->taken[c] && j->naming[c].role == EASE__ROLE_UNKNOWN && may_be_ids(j, c);
}

/* True if values occur repeatedly, and are neither all the same nor a few categories.
 * In a table sorted by user, where each value is one run of rows, few values may be
 * ids. */
static bool has_ids(const judging *j, int c)
{
    const ease__tally *t = &j->s->tallies[c];
    size_t rows = j->s->rows;

    return is_unnamed(j, c) && rows >= ENOUGH_ROWS && t->distinct > 1 &&
           t->distinct < rows && 2 * t->filled > rows &&
           (t->distinct > FEW_VALUES || t->runs == t->distinct);
}

static bool has_ids_and_says_so(const judging *j, int c)
{
    return has_ids(j, c) && j->naming[c].form == EASE__FORM_ID;
}

static bool is_another(const judging *j, int c)
{
    return !j->taken[c] && j->naming[c].role == EASE__ROLE_OTHER && may_be_ids(j, c);
}

static bool is_left(const judging *j, int c)
{
    return !j->taken[c] && j->naming[c].role != EASE__ROLE_VALUE &&
           j->naming[c].role != EASE__ROLE_TIME;
}

typedef bool column_filter(const judging *j, int c);

static int count_columns(const judging *j, column_filter *is)
{
    int n = 0;

    for (int c = 0; c < j->count; c++)
        n += is(j, c);
    return n;
}

/* The first column of a kind; -1: there is none. */
static int find_first(const judging *j, column_filter *is)
{
    for (int c = 0; c < j->count; c++)
        if (is(j, c))
            return c;
    return -1;
}

static int take_first(judging *j, column_filter *is)
{
    int c = find_first(j, is);

    if (c >= 0)
        j->taken[c] = true;
    return c;
}

/* ---- by names -------------------------------------------------------------- */

static int rank(const judging *j, int c)
{
    const ease__naming *n = &j->naming[c];

    return 16 * (int)n->tier + 8 * !is_constant(j, c) + (int)n->form;
}

static bool is_candidate(const judging *j, int c, ease__role role)
{
    const ease__tally *t = &j->s->tallies[c];

    if (j->taken[c] || j->naming[c].role != role)
        return false;
    if (role != EASE__ROLE_VALUE)
        return true;
    /* A column called rating must contain numbers, and reading fails where it does
     * not. A weight or an amount is used only if every row has one. */
    return j->naming[c].tier == EASE__TIER_STRONG ? t->numbers > 0 || t->filled == 0
                                                  : t->numbers == j->s->rows;
}

/* A column whose name fits the role as well as `best`, but means something else. */
static int find_rival(const judging *j, int best, ease__role role)
{
    for (int c = 0; c < j->count; c++) {
        if (c == best || !is_candidate(j, c, role) || is_constant(j, c))
            continue;
        if (j->naming[c].tier == j->naming[best].tier &&
            j->naming[c].stem != j->naming[best].stem && !divide_alike(j, c, best))
            return c;
    }
    return -1;
}

static int take_named(judging *j, ease__role role)
{
    int best = -1;

    for (int c = 0; c < j->count; c++)
        if (is_candidate(j, c, role) && (best < 0 || rank(j, c) > rank(j, best)))
            best = c;
    if (best < 0)
        return -1;
    if (j->rival < 0 && (role == EASE__ROLE_USER || role == EASE__ROLE_ITEM))
        j->rival = find_rival(j, best, role);
    j->taken[best] = true;
    return best;
}

/* ---- by values and order --------------------------------------------------- */

/* Chooses the user and the item that were not found by name. True: they were chosen by
 * their order alone. */
static bool take_unnamed(judging *j, ease_columns *out)
{
    int wanted = (out->user < 0) + (out->item < 0);
    bool said = j->names && count_columns(j, has_ids_and_says_so) == wanted;
    column_filter *filters[] = {is_unnamed, is_another, is_left};
    int *place[] = {&out->user, &out->item};

    if (said)
        filters[0] = has_ids_and_says_so;
    else if (j->names && count_columns(j, has_ids) >= wanted)
        filters[0] = has_ids;
    for (int i = 0; i < 2; i++)
        for (int f = 0; f < 3 && *place[i] < 0; f++)
            *place[i] = take_first(j, filters[f]);
    return !said;
}

static bool may_be_taken(const judging *j, int c)
{
    return is_unnamed(j, c) || is_another(j, c);
}

/* Takes the columns that `out` lacks as if epochs were ids, into `other`, and then as
 * they look, if there are enough without them. True: nothing but order speaks for
 * them. */
static bool take_missing(judging *j, ease_columns *out, ease_columns *other)
{
    int wanted = (out->user < 0) + (out->item < 0);

    *other = *out;
    j->epochs_are_ids = true;
    (void)take_unnamed(j, other);
    if (out->user < 0 && other->user >= 0)
        j->taken[other->user] = false;
    if (out->item < 0 && other->item >= 0)
        j->taken[other->item] = false;
    j->epochs_are_ids = false; /* for the count */
    j->epochs_are_ids = count_columns(j, may_be_taken) < wanted;
    return take_unnamed(j, out);
}

/* A column of the one that the other does not have; -1: they have the same. */
static int find_odd(const ease_columns *one, const ease_columns *other)
{
    if (one->user != other->user && one->user != other->item)
        return one->user;
    return one->item != other->user && one->item != other->item ? one->item : -1;
}

/* True if the column of `other` that looks like epoch times may be ids: times seldom
 * repeat, while customer numbers of ten digits do. Ratings do not replace them. */
static bool is_as_likely(const judging *j, const ease_columns *c,
                         const ease_columns *other)
{
    const ease__tally *t = j->s->tallies;
    int epochs = find_odd(other, c), instead = find_odd(c, other);

    if (epochs < 0)
        return false;
    return 2 * t[epochs].distinct <= j->s->rows ||
           (t[instead].distinct <= MOST_GRADES &&
            t[instead].runs > t[instead].distinct);
}

static bool is_value(const judging *j, int c)
{
    return c >= j->rest && !j->taken[c] && j->naming[c].role == EASE__ROLE_UNKNOWN &&
           !looks_like_time(&j->s->tallies[c]);
}

static bool is_time(const judging *j, int c)
{
    return !j->taken[c] && j->naming[c].role == EASE__ROLE_UNKNOWN &&
           looks_like_time(&j->s->tallies[c]);
}

/* Chooses the value and the time in a table without known names, by order. */
static void take_rest(judging *j, ease_columns *out)
{
    const ease__tally *t = j->s->tallies;
    int next;

    j->rest = (out->user > out->item ? out->user : out->item) + 1;
    next = find_first(j, is_value);
    if (next >= 0 && 2 * t[next].numbers > t[next].filled)
        out->value = take_first(j, is_value);
    if (out->time < 0)
        out->time = take_first(j, is_time);
    if (out->time < 0 && out->value >= 0) {
        next = find_first(j, is_value); /* a number of any unit */
        if (next >= 0 && are_all(t[next].numbers, &t[next]))
            out->time = take_first(j, is_value);
    }
}

/* Writes the name of a column for an option, or its number if it has no name, or one
 * that cannot be typed. */
static void name_column(const judging *j, int c, char *to, size_t size)
{
    const ease__field *f = j->names ? &j->names[c] : NULL;
    bool plain = f && f->length > 0 && f->length < size && !f->doubled;

    for (size_t i = 0; plain && i < f->length; i++)
        plain = (unsigned char)f->text[i] >= ' ' && !strchr(",'\\\x7f", f->text[i]);
    for (int i = 0; plain && i < j->count; i++)
        plain = i == c || j->names[i].length != f->length ||
                strncasecmp(j->names[i].text, f->text, f->length) != 0;
    if (plain && !j->s->in_memory && f->text[0] >= '0' && f->text[0] <= '9')
        plain = false; /* it would be taken for a number */
    if (plain)
        snprintf(to, size, "%.*s", (int)f->length, f->text);
    else
        snprintf(to, size, "%d", c + 1);
}

enum { TYPED_CHARS = 44, ADVICE_CHARS = 2 * TYPED_CHARS + 24 };

static void propose(const judging *j, const char *option, int user, int item, char *to,
                    size_t size)
{
    char names[2][TYPED_CHARS];

    name_column(j, user, names[0], TYPED_CHARS);
    name_column(j, item, names[1], TYPED_CHARS);
    snprintf(to, size, "%s'%s,%s'", option, names[0], names[1]);
}

/* Writes the columns to give if the guess is wrong: another one in place of the less
 * certain column, or the two swapped. */
static void advise(const judging *j, const char *option, ease_columns *out)
{
    bool item_is_one = j->s->tallies[out->item].distinct == 1;
    int user = out->item, item = out->user, other = find_first(j, is_unnamed);
    char instead[ADVICE_CHARS], same[ADVICE_CHARS];

    if (other < 0)
        other = find_first(j, is_another);
    if (other >= 0 && !(out->guessed & EASE_GUESSED_ITEM)) {
        user = other;
        item = out->item;
    } else if (other >= 0) {
        item = other;
        if (!(out->guessed & EASE_GUESSED_USER) || item_is_one)
            user = out->user;
    }
    propose(j, option, user, item, instead, sizeof(instead));
    propose(j, option, out->user, out->item, same, sizeof(same));
    snprintf(out->advice, sizeof(out->advice),
             "name the columns, such as %s, or %s if the guess is right", instead,
             same);
}

static ease_status refuse_both(const judging *j, const char *option,
                               const ease_columns *c, int user, int item,
                               ease_error *err)
{
    char first[ADVICE_CHARS], second[ADVICE_CHARS];

    propose(j, option, c->user, c->item, first, sizeof(first));
    propose(j, option, user, item, second, sizeof(second));
    return ease__fail(err, EASE_E_ARG,
                      "which columns are the user and the item is not clear: name "
                      "them, as %s or %s",
                      first, second);
}

static ease_status refuse_rivals(const judging *j, const char *option,
                                 const ease_columns *c, ease_error *err)
{
    bool user = j->naming[j->rival].role == EASE__ROLE_USER ||
                (j->naming[j->rival].role != EASE__ROLE_ITEM &&
                 (c->guessed & EASE_GUESSED_USER));

    return refuse_both(j, option, c, user ? j->rival : c->user,
                       user ? c->item : j->rival, err);
}

static ease_status refuse_missing(const judging *j, const char *option,
                                  const ease_columns *c, ease_error *err)
{
    int user = c->user >= 0 ? c->user : c->item == 0, item = c->item;
    char typed[ADVICE_CHARS];

    if (j->count < 2)
        return ease__fail_at(err, EASE_E_PARSE, 1,
                             "a user and an item are needed, found 1 field");
    if (item < 0)
        item = user == 0;
    propose(j, option, user, item, typed, sizeof(typed));
    return ease__fail_at(err, EASE_E_PARSE, 1,
                         "no column is recognized as the %s: name the columns, such as "
                         "%s",
                         c->user < 0 ? "user" : "item", typed);
}

static ease_status judge(judging *j, const char *option, ease_columns *out,
                         ease_error *err)
{
    ease_columns c = {.user = -1, .item = -1, .value = -1, .time = -1};
    ease_columns other;
    bool named, by_order = false;

    for (int i = 0; i < j->count; i++)
        if (j->names)
            j->naming[i] = ease__name_role(&j->names[i]);
    count_values(j);
    c.user = take_named(j, EASE__ROLE_USER);
    c.item = take_named(j, EASE__ROLE_ITEM);
    c.value = take_named(j, EASE__ROLE_VALUE);
    c.time = take_named(j, EASE__ROLE_TIME);
    named = c.user >= 0 || c.item >= 0 || c.value >= 0;
    if (c.user < 0 || j->naming[c.user].tier == EASE__TIER_LOOSE)
        c.guessed |= EASE_GUESSED_USER;
    if (c.item < 0 || j->naming[c.item].tier == EASE__TIER_LOOSE)
        c.guessed |= EASE_GUESSED_ITEM;
    other = c;
    if (c.user < 0 || c.item < 0)
        by_order = take_missing(j, &c, &other);
    if (c.user < 0 || c.item < 0)
        return refuse_missing(j, option, &c, err);
    if (by_order && is_as_likely(j, &c, &other))
        return refuse_both(j, option, &c, other.user, other.item, err);
    if (!named)
        take_rest(j, &c);
    if (by_order && j->names && j->rival < 0)
        j->rival = find_first(j, has_ids);
    if (j->rival >= 0)
        return refuse_rivals(j, option, &c, err);
    ease__describe_columns(&c, j->names, true, c.words, sizeof(c.words));
    advise(j, option, &c);
    *out = c;
    return EASE_OK;
}

ease_status ease__recognize(ease__survey *s, const ease__field *names,
                            const char *option, ease_columns *out, ease_error *err)
{
    judging j = {.s = s, .names = names, .count = (int)s->columns, .rival = -1};
    ease_status status;

    j.naming = ease__alloc_zero(s->columns, sizeof(*j.naming));
    j.taken = ease__alloc_zero(s->columns, sizeof(*j.taken));
    j.scratch = ease__alloc_array(s->rows, sizeof(*j.scratch));
    if (j.naming && j.taken && j.scratch)
        status = judge(&j, option ? option : "columns ", out, err);
    else
        status = ease__fail(err, EASE_E_NOMEM, "recognizing columns");
    ease__free(j.naming);
    ease__free(j.taken);
    ease__free(j.scratch);
    return status;
}

/* ---- in words -------------------------------------------------------------- */

void ease__describe_columns(const ease_columns *c, const ease__field *names, bool timed,
                            char *to, size_t size)
{
    const struct {
        const char *is;
        int column;
    } parts[] = {{"user", c->user},
                 {", item", c->item},
                 {", value", c->value},
                 {", time", timed ? c->time : -1}};
    size_t used = 0;

    to[0] = '\0';
    for (int i = 0; i < 4 && used < size; i++) {
        const ease__field *f = names && parts[i].column >= 0 ? &names[parts[i].column]
                                                             : NULL;
        char shown[EASE__EXCERPT_CHARS];

        if (parts[i].column < 0)
            continue;
        if (f)
            used += (size_t)snprintf(to + used, size - used, "%s = %s", parts[i].is,
                                     ease__excerpt(f->text, f->length, shown));
        else
            used += (size_t)snprintf(to + used, size - used, "%s = column %d",
                                     parts[i].is, parts[i].column + 1);
    }
}

char *ease__doubt(const ease_columns *guess, const char *input, int64_t users,
                  int64_t items, int64_t rows, bool *failed)
{
    const char *fault = NULL;
    ease_error e;
    char *copy;

    *failed = false;
    if (!guess || rows < 2)
        return NULL;
    if ((guess->guessed & EASE_GUESSED_USER) && users == 1)
        fault = "all rows are of one user";
    else if ((guess->guessed & EASE_GUESSED_ITEM) && items == 1)
        fault = "all rows are of one item";
    else if ((guess->guessed & EASE_GUESSED_USER) && users == rows)
        fault = "each user has one row only";
    if (!fault)
        return NULL;
    (void)ease__fail(&e, EASE_E_ARG, "%s: %s: %s (%s)", input, fault, guess->advice,
                     guess->words);
    copy = ease__copy_string(e.text);
    *failed = !copy;
    return copy;
}

/* ---- from memory ----------------------------------------------------------- */

static ease__field field_of(const char *text)
{
    return (ease__field){.text = text ? text : "", .length = text ? strlen(text) : 0};
}

static ease_status recognize_texts(const char *const *names, int count,
                                   const char *const *values, int64_t rows,
                                   const char *option, ease__survey *s,
                                   ease__field *header, ease__field *fields,
                                   ease_columns *out, ease_error *err)
{
    bool more = true;

    s->in_memory = true;
    for (int64_t r = 0; r < rows && more; r++) {
        for (int c = 0; c < count; c++)
            fields[c] = field_of(values[r * count + c]);
        more = ease__survey_add(s, fields);
    }
    for (int c = 0; names && c < count; c++)
        header[c] = field_of(names[c]);
    return ease__recognize(s, names ? header : NULL, option, out, err);
}

ease_status ease_columns_recognize(const char *const *names, int count,
                                   const char *const *values, int64_t rows,
                                   const ease_read_options *o, ease_columns *out,
                                   ease_error *err)
{
    ease__survey s = {0};
    ease__field *header, *fields;
    ease_columns found;
    ease_read_options used;
    ease_status status = EASE__OPTIONS_TAKE(ease_read_options, &used, o, err);

    if (!status)
        status = ease__info_check(out, "ease_columns", err);
    if (status)
        return status;
    if (count < 1 || rows < 0 || (rows > 0 && !values))
        return ease__fail(err, EASE_E_ARG, "columns are required");
    header = ease__alloc_array((size_t)count, sizeof(*header));
    fields = ease__alloc_array((size_t)count, sizeof(*fields));
    if (!header || !fields || !ease__survey_start(&s, (size_t)count))
        status = ease__fail(err, EASE_E_NOMEM, "recognizing columns");
    else
        status = recognize_texts(names, count, values, rows, used.columns_option, &s,
                                 header, fields, &found, err);
    if (!status)
        ease__info_give(out, &found, sizeof(found));
    ease__survey_free(&s);
    ease__free(header);
    ease__free(fields);
    return status;
}

ease_status ease__draft_doubt(ease__draft *d, const ease_columns *guess,
                              const char *name, ease_error *err)
{
    bool failed = false;

    d->doubt = ease__doubt(guess, name, d->user_ids.count, d->item_ids.count,
                           d->records, &failed);
    return failed ? ease__fail(err, EASE_E_NOMEM, "reading %s", name) : EASE_OK;
}
