#include "catalog.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "unicode.h"

/* A place in the text of all items where a word begins. */
typedef struct word {
    uint32_t at;
    int32_t item;
} word;

struct catalog {
    const ease_model *model;
    int32_t items;
    char *text;        /* folded ids and titles, each terminated by NUL */
    size_t length;     /* of the text */
    uint32_t *strings; /* of each item: where its id begins; and one past the last */
    word *words;       /* in the order of the text from there on */
    size_t count, capacity;
};

/* How well an item fits, best first. */
enum { FITS_NOT, FITS_EXACTLY, FITS_BEGINNING, FITS_WORD, FITS_WITHIN };

void catalog_free(catalog *c)
{
    if (!c)
        return;
    free(c->text);
    free(c->strings);
    free(c->words);
    free(c);
}

/* ---- building -------------------------------------------------------------------- */

/* Appends the folded text and a NUL. Bytes that are not UTF-8 stay as they are. */
static void put_folded(bytes *to, const char *s)
{
    while (*s) {
        const char *begin = s;
        int32_t code = unicode_next(&s);
        char text[4];

        if (code < 0)
            bytes_put(to, begin, 1);
        else
            bytes_put(to, text, unicode_put(text, unicode_fold(code)));
    }
    bytes_put(to, "", 1);
}

static bool add_word(catalog *c, size_t at, int32_t item)
{
    if (c->count == c->capacity) {
        size_t capacity = c->capacity ? 2 * c->capacity : 1024;
        word *grown = realloc(c->words, capacity * sizeof(*grown));

        if (!grown)
            return false;
        c->words = grown;
        c->capacity = capacity;
    }
    c->words[c->count++] = (word){(uint32_t)at, item};
    return true;
}

/* Adds the words of a string; its beginning counts as one in any case. */
static bool add_words(catalog *c, size_t from, int32_t item)
{
    const char *s = c->text + from;
    bool inside = false, added = add_word(c, from, item);

    while (added && *s) {
        const char *begin = s;
        int32_t code = unicode_next(&s);
        bool in_word = code >= 0 && unicode_in_word(code);

        if (in_word && !inside && begin != c->text + from)
            added = add_word(c, (size_t)(begin - c->text), item);
        inside = in_word;
    }
    return added;
}

static bool fold_all(catalog *c)
{
    bytes text = {0};

    for (int32_t i = 0; i < c->items; i++) {
        const char *title = ease_model_title(c->model, i);

        c->strings[i] = (uint32_t)text.length;
        put_folded(&text, ease_model_item_id(c->model, i));
        if (title && *title)
            put_folded(&text, title);
    }
    c->strings[c->items] = (uint32_t)text.length;
    c->text = text.at;
    c->length = text.length;
    return !text.failed && text.length < UINT32_MAX;
}

static int compare_words(const void *a, const void *b, void *text)
{
    const word *x = a, *y = b;
    int order = strcmp((char *)text + x->at, (char *)text + y->at);

    return order ? order : (x->at > y->at) - (x->at < y->at);
}

static bool index_words(catalog *c)
{
    for (int32_t i = 0; i < c->items; i++)
        for (size_t at = c->strings[i]; at < c->strings[i + 1];
             at += strlen(c->text + at) + 1)
            if (!add_words(c, at, i))
                return false;
    if (c->count == 0)
        return true;
    qsort_r(c->words, c->count, sizeof(*c->words), compare_words, c->text);
    return true;
}

catalog *catalog_new(const ease_model *m)
{
    catalog *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->model = m;
    c->items = ease_model_items(m);
    c->strings = calloc((size_t)c->items + 1, sizeof(*c->strings));
    if (c->strings && fold_all(c) && index_words(c))
        return c;
    catalog_free(c);
    return NULL;
}

/* ---- searching ------------------------------------------------------------------- */

typedef struct part {
    const char *at;
    size_t length;
} part;

typedef struct query {
    const catalog *catalog;
    const char *text; /* folded, without blanks at its ends */
    size_t length;
    part word[CATALOG_WORDS]; /* of the text, which differ from each other */
    int words;
    uint8_t *fit; /* of each item */
    int64_t found;
} query;

static void note_fit(query *q, int32_t item, uint8_t fit)
{
    q->found += !q->fit[item];
    if (!q->fit[item] || fit < q->fit[item])
        q->fit[item] = fit;
}

/* The first word that is not before `text`. */
static size_t lower_bound(const catalog *c, const char *text, size_t length)
{
    size_t low = 0, high = c->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strncmp(c->text + c->words[middle].at, text, length) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool begins_with(const catalog *c, size_t place, const char *text, size_t length)
{
    return place < c->count && strncmp(c->text + c->words[place].at, text, length) == 0;
}

static void find_beginnings(query *q)
{
    const catalog *c = q->catalog;

    for (size_t i = lower_bound(c, q->text, q->length);
         begins_with(c, i, q->text, q->length); i++) {
        size_t at = c->words[i].at;
        bool first = at == 0 || !c->text[at - 1];

        note_fit(q, c->words[i].item,
                 !first                     ? FITS_WORD
                 : !c->text[at + q->length] ? FITS_EXACTLY
                                            : FITS_BEGINNING);
    }
}

/* True if a word of the item begins with `text`. */
static bool has_word(const catalog *c, int32_t item, const char *text, size_t length)
{
    const char *from = c->text + c->strings[item];
    const char *end = c->text + c->strings[item + 1];
    const char *at = from;

    while ((at = memmem(at, (size_t)(end - at), text, length))) {
        const unsigned char before = at == from ? 0 : (unsigned char)at[-1];

        if (before < 0x80 && !unicode_in_word(before))
            return true;
        at++;
    }
    return false;
}

static bool has_all_words(const query *q, int32_t item)
{
    for (int i = 0; i < q->words; i++)
        if (!has_word(q->catalog, item, q->word[i].at, q->word[i].length))
            return false;
    return true;
}

/* Finds items that have all words of the query, by its longest word. */
static void find_words(query *q)
{
    const catalog *c = q->catalog;
    part longest = {.at = q->text};

    for (int i = 0; i < q->words; i++)
        if (q->word[i].length > longest.length)
            longest = q->word[i];
    if (longest.length == q->length)
        return;
    for (size_t i = lower_bound(c, longest.at, longest.length);
         begins_with(c, i, longest.at, longest.length); i++)
        if (!q->fit[c->words[i].item] && has_all_words(q, c->words[i].item))
            note_fit(q, c->words[i].item, FITS_WORD);
}

/* The item whose strings contain the byte at `at`. */
static int32_t item_at(const catalog *c, size_t at)
{
    int32_t low = 0, high = c->items;

    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;

        if (c->strings[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void find_within(query *q)
{
    const catalog *c = q->catalog;
    const char *at = c->text, *end = c->text + c->length;

    while ((at = memmem(at, (size_t)(end - at), q->text, q->length))) {
        int32_t item = item_at(c, (size_t)(at - c->text));

        note_fit(q, item, FITS_WITHIN);
        at = c->text + c->strings[item + 1];
    }
}

/* ---- the best -------------------------------------------------------------------- */

static bool is_better(const query *q, int32_t a, int32_t b)
{
    double p, r;

    if (q->fit[a] != q->fit[b])
        return q->fit[a] < q->fit[b];
    p = ease_model_popularity(q->catalog->model, a);
    r = ease_model_popularity(q->catalog->model, b);
    return p != r ? p > r : a < b;
}

/* Inserts an item into the sorted list of at most `k`. */
static int32_t insert(const query *q, int32_t item, int32_t k, int32_t count,
                      int32_t *items)
{
    int32_t low = 0, high = count;

    while (low < high) {
        int32_t middle = low + (high - low) / 2;

        if (is_better(q, item, items[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    if (low == k)
        return count;
    count += count < k;
    memmove(items + low + 1, items + low, (size_t)(count - low - 1) * sizeof(*items));
    items[low] = item;
    return count;
}

static int32_t choose_best(const query *q, int32_t k, int32_t *items, bool *more)
{
    int32_t count = 0;

    for (int32_t i = 0; i < q->catalog->items; i++)
        if (q->fit[i])
            count = insert(q, i, k, count, items);
    *more = q->found > count;
    return count;
}

static void find_all(query *q)
{
    memset(q->fit, FITS_EXACTLY, (size_t)q->catalog->items);
    q->found = q->catalog->items;
}

/* ---- reading a query ------------------------------------------------------------- */

static bool check_length(const char *text, problem *p)
{
    int characters = 0;

    while (*text && characters <= CATALOG_CHARACTERS) {
        (void)unicode_next(&text);
        characters++;
    }
    return characters <= CATALOG_CHARACTERS ||
           problem_note(p, PROBLEM_bad_value,
                        "the text to search for has at most %d characters: a part of "
                        "a title is enough",
                        CATALOG_CHARACTERS);
}

static bool has_part(const query *q, part one)
{
    for (int i = 0; i < q->words; i++)
        if (q->word[i].length == one.length &&
            memcmp(q->word[i].at, one.at, one.length) == 0)
            return true;
    return false;
}

/* Words that are repeated count once. */
static bool split(query *q, problem *p)
{
    for (const char *at = q->text; *at; at += strspn(at, " ")) {
        part one = {at, strcspn(at, " ")};

        at += one.length;
        if (has_part(q, one))
            continue;
        if (q->words == CATALOG_WORDS)
            return problem_note(p, PROBLEM_bad_value,
                                "the text to search for has at most %d different "
                                "words: leave some out",
                                CATALOG_WORDS);
        q->word[q->words++] = one;
    }
    return true;
}

/* Folds the text, which the caller frees, and splits it. */
static bool read_query(query *q, const char *text, bytes *folded, problem *p)
{
    if (!check_length(text, p))
        return false;
    put_folded(folded, text + strspn(text, " "));
    if (folded->failed)
        return problem_note_memory(p);
    q->length = folded->length - 1;
    while (q->length && folded->at[q->length - 1] == ' ')
        folded->at[--q->length] = '\0';
    q->text = folded->at;
    return split(q, p);
}

int32_t catalog_search(const catalog *c, const char *text, int32_t k, int32_t *items,
                       bool *more, problem *p)
{
    query q = {.catalog = c};
    bytes folded = {0};
    int32_t count = -1;

    if (read_query(&q, text, &folded, p) && !(q.fit = calloc((size_t)c->items + 1, 1)))
        problem_note_memory(p);
    if (q.fit) {
        if (q.length == 0) {
            find_all(&q);
        } else {
            find_beginnings(&q);
            find_words(&q);
            if (q.found <= k)
                find_within(&q);
        }
        count = choose_best(&q, k, items, more);
    }
    bytes_free(&folded);
    free(q.fit);
    return count;
}
