/* The protocols. All random numbers come from NumPy's legacy generator, in an order
 * that is part of the protocol. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mersenne.h"
#include "split/split.h"
#include "text/number.h"

static const char stage_splitting[] = "splitting";

void ease__split_free(ease__split *s)
{
    ease__events_free(&s->events);
    ease__free(s->ascending);
    ease__free(s->users);
    ease__free(s->user_number);
    ease__free(s->items);
    ease__free(s->item_number);
    *s = (ease__split){0};
}

static ease_status no_memory(const ease__split *s, ease_error *err)
{
    return ease__fail(err, EASE_E_NOMEM, "splitting %s", s->data);
}

/* ---- users and items in order --------------------------------------------------- */

typedef struct id_key {
    int64_t number; /* 0 unless all ids are integers */
    const char *id;
    size_t length;
    uint32_t which; /* the user, or the item */
} id_key;

static int compare_keys(const void *left, const void *right)
{
    const id_key *a = left, *b = right;
    int order;

    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    order = memcmp(a->id, b->id, a->length < b->length ? a->length : b->length);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static bool all_are_integers(const ease__ids *ids)
{
    int64_t number;

    for (int64_t i = 0; i < ids->count; i++)
        if (ease__parse_int(ease__ids_at(ids, i), ease__ids_length(ids, i), &number))
            return false;
    return true;
}

static bool has_events(const ease__events *e, int64_t user)
{
    for (int64_t i = e->begin[user]; i < e->begin[user + 1]; i++)
        if (e->part[e->order[i]])
            return true;
    return false;
}

/* Writes the users or items that `used` names to `ascending`, and returns their number:
 * numerically if every id is an integer, including those that filters removed, else by
 * bytes, as a column of the whole file would be sorted. `keys` is scratch for all. */
static int64_t sort_ids(const ease__ids *ids, const uint8_t *used, id_key *keys,
                        uint32_t *ascending)
{
    bool integers = all_are_integers(ids);
    int64_t n = 0;

    for (int64_t i = 0; i < ids->count; i++) {
        if (!used[i])
            continue;
        keys[n] = (id_key){.id = ease__ids_at(ids, i),
                           .length = ease__ids_length(ids, i),
                           .which = (uint32_t)i};
        if (integers)
            (void)ease__parse_int(keys[n].id, keys[n].length, &keys[n].number);
        n++;
    }
    qsort(keys, (size_t)n, sizeof(*keys), compare_keys);
    for (int64_t i = 0; i < n; i++)
        ascending[i] = keys[i].which;
    return n;
}

static ease_status sort_users(ease__split *s, ease_error *err)
{
    const ease__ids *ids = &s->events.user_ids;
    id_key *keys = ease__alloc_array((size_t)ids->count, sizeof(*keys));
    uint8_t *used = ease__alloc_array((size_t)ids->count, sizeof(*used));

    s->ascending = ease__alloc_array((size_t)ids->count, sizeof(*s->ascending));
    s->users = ease__alloc_array((size_t)ids->count, sizeof(*s->users));
    s->user_number = ease__alloc_array((size_t)ids->count, sizeof(*s->user_number));
    if (!keys || !used || !s->ascending || !s->users || !s->user_number) {
        ease__free(keys);
        ease__free(used);
        return no_memory(s, err);
    }
    for (int64_t u = 0; u < ids->count; u++) {
        s->user_number[u] = -1;
        used[u] = has_events(&s->events, u);
    }
    s->user_count = sort_ids(ids, used, keys, s->ascending);
    ease__free(keys);
    ease__free(used);
    return EASE_OK;
}

/* ---- numbers -------------------------------------------------------------------- */

static void number_user(ease__split *s, int64_t number, uint32_t user)
{
    s->users[number] = user;
    s->user_number[user] = number;
}

/* Numbers the items of these parts that have no number yet, by their first
 * appearance in the file. */
static void number_items(ease__split *s, uint8_t parts)
{
    const ease__events *e = &s->events;

    for (int64_t i = 0; i < e->count; i++) {
        int32_t item = e->item[i];

        if (!(e->part[i] & parts) || s->item_number[item] >= 0)
            continue;
        s->items[s->item_count] = item;
        s->item_number[item] = s->item_count++;
    }
}

static ease_status make_item_numbers(ease__split *s, ease_error *err)
{
    size_t items = (size_t)s->events.items;

    s->items = ease__alloc_array(items, sizeof(*s->items));
    s->item_number = ease__alloc_array(items, sizeof(*s->item_number));
    if (!s->items || !s->item_number)
        return no_memory(s, err);
    for (size_t i = 0; i < items; i++)
        s->item_number[i] = -1;
    return EASE_OK;
}

/* ---- random choices ----------------------------------------------------------- */

/* The number of a user's n events that go to the other part; -1: nothing is drawn
 * for the user. */
typedef int64_t how_many(const ease__split *s, int64_t n);

static int64_t share_of(const ease__split *s, int64_t n)
{
    return (int64_t)(s->options.share * (double)n);
}

static int64_t share_of_five(const ease__split *s, int64_t n)
{
    return n < 5 ? -1 : share_of(s, n);
}

static int64_t three_of_ten(const ease__split *s, int64_t n)
{
    int64_t count = 3 * n / 10;

    (void)s;
    return count < 1 ? 1 : count;
}

static int64_t longest_row(const ease__events *e)
{
    int64_t longest = 0;

    for (int64_t u = 0; u < e->users; u++)
        if (e->begin[u + 1] - e->begin[u] > longest)
            longest = e->begin[u + 1] - e->begin[u];
    return longest;
}

/* Collects the user's events of a part, in file order; returns their number. */
static int64_t gather(const ease__events *e, uint32_t user, uint8_t part, uint32_t *to)
{
    int64_t n = 0;

    for (int64_t i = e->begin[user]; i < e->begin[user + 1]; i++)
        if (e->part[e->order[i]] == part)
            to[n++] = e->order[i];
    return n;
}

static ease_status draw_with(ease__split *s, uint8_t from, uint8_t to, how_many *count,
                             int64_t *drawn, uint32_t *events, ease_error *err)
{
    ease__mersenne random;

    ease__mersenne_seed(&random, s->options.seed);
    for (int64_t i = 0; i < s->user_count; i++) {
        int64_t n = gather(&s->events, s->ascending[i], from, events), k;

        if (i % 4096 == 0 && ease__progress(s->options.hooks, stage_splitting,
                                            (double)i / (double)s->user_count))
            return ease__cancelled(err);
        k = n ? count(s, n) : -1;
        if (k < 0)
            continue;
        ease__mersenne_permutation(&random, n, drawn);
        for (int64_t j = 0; j < k; j++)
            s->events.part[events[drawn[j]]] = to;
    }
    return EASE_OK;
}

/* Seeds the generator, and moves a random choice of each user's events, users
 * ascending, from one part to another. */
static ease_status draw(ease__split *s, uint8_t from, uint8_t to, how_many *count,
                        ease_error *err)
{
    size_t longest = (size_t)longest_row(&s->events);
    int64_t *drawn = ease__alloc_array(longest, sizeof(*drawn));
    uint32_t *events = ease__alloc_array(longest, sizeof(*events));
    ease_status status = drawn && events
                             ? draw_with(s, from, to, count, drawn, events, err)
                             : no_memory(s, err);

    ease__free(drawn);
    ease__free(events);
    return status;
}

static void move_all(ease__events *e, uint8_t from, uint8_t to)
{
    for (int64_t i = 0; i < e->count; i++)
        if (e->part[i] == from)
            e->part[i] = to;
}

/* ---- liang18 --------------------------------------------------------------------- */

/* Numbers users by a random permutation; the last ones are held out. */
static ease_status permute_users(ease__split *s, ease_error *err)
{
    int64_t *drawn = ease__alloc_array((size_t)s->user_count, sizeof(*drawn));
    ease__mersenne random;

    if (!drawn)
        return no_memory(s, err);
    ease__mersenne_seed(&random, s->options.seed);
    ease__mersenne_permutation(&random, s->user_count, drawn);
    for (int64_t i = 0; i < s->user_count; i++)
        number_user(s, i, s->ascending[drawn[i]]);
    ease__free(drawn);
    return EASE_OK;
}

/* Gives each event the part of its user. Items that no train user has cannot be
 * learned; events with them are dropped. */
static void divide_by_user(ease__split *s, int64_t heldout)
{
    int64_t test = s->user_count - heldout, validation = test - heldout;
    ease__events *e = &s->events;

    for (int64_t i = 0; i < e->count; i++) {
        int64_t number = s->user_number[e->user[i]];

        if (e->part[i] && number >= validation)
            e->part[i] = number >= test ? EASE__TEST_INPUT : EASE__VALIDATION_INPUT;
    }
    number_items(s, EASE__TRAIN);
    for (int64_t i = 0; i < e->count; i++)
        if (s->item_number[e->item[i]] < 0)
            e->part[i] = 0;
}

static ease_status divide_liang18(ease__split *s, ease_error *err)
{
    int64_t heldout = s->options.heldout_users;
    ease_status status;

    if (heldout > (s->user_count - 1) / 2)
        return ease__fail(err, EASE_E_DATA,
                          "%s: %lld users, where 2 x %lld to hold out and at least one "
                          "to train on are needed",
                          s->data, (long long)s->user_count, (long long)heldout);
    status = permute_users(s, err);
    if (status)
        return status;
    divide_by_user(s, heldout);
    status = draw(s, EASE__VALIDATION_INPUT, EASE__VALIDATION_TARGET, share_of_five,
                  err);
    if (!status)
        status = draw(s, EASE__TEST_INPUT, EASE__TEST_TARGET, share_of_five, err);
    return status;
}

/* ---- protocols that draw from each user --------------------------------------- */

static ease_status divide_volkovs15(ease__split *s, ease_error *err)
{
    ease_status status;

    move_all(&s->events, EASE__TRAIN, EASE__TEST_TARGET);
    status = draw(s, EASE__TEST_TARGET, EASE__TRAIN, three_of_ten, err);
    if (!status)
        status = draw(s, EASE__TRAIN, EASE__VALIDATION_TARGET, share_of, err);
    return status;
}

static ease_status divide_random(ease__split *s, ease_error *err)
{
    ease_status status = draw(s, EASE__TRAIN, EASE__TEST_TARGET, share_of, err);

    if (!status)
        status = draw(s, EASE__TRAIN, EASE__VALIDATION_TARGET, share_of, err);
    return status;
}

/* ---- protocols by time -------------------------------------------------------- */

/* Finds the user's last event and the one before it; of equal times, the event
 * further down in the file is later. Returns the number of the user's events. */
static int64_t find_last(const ease__events *e, uint32_t user, uint32_t *last,
                         uint32_t *before)
{
    int64_t n = 0;

    for (int64_t i = e->begin[user]; i < e->begin[user + 1]; i++) {
        uint32_t event = e->order[i];

        if (!e->part[event])
            continue;
        if (n == 0 || !e->time || e->time[event] >= e->time[*last]) {
            *before = *last;
            *last = event;
        } else if (n == 1 || e->time[event] >= e->time[*before]) {
            *before = event;
        }
        n++;
    }
    return n;
}

/* A user's first event is never held out: there would be no history to recommend
 * from. */
static ease_status divide_leave_last(ease__split *s, ease_error *err)
{
    (void)err;
    for (int64_t i = 0; i < s->user_count; i++) {
        uint32_t last = 0, before = 0;
        int64_t n = find_last(&s->events, s->ascending[i], &last, &before);

        if (n > 1)
            s->events.part[last] = EASE__TEST_TARGET;
        if (n > 2)
            s->events.part[before] = EASE__VALIDATION_TARGET;
    }
    return EASE_OK;
}

/* The k-th smallest of n times, from 0; reorders them (Hoare's selection). */
static double select_time(double *t, int64_t n, int64_t k)
{
    int64_t low = 0, high = n - 1;

    while (low < high) {
        double pivot = t[low + (high - low) / 2];
        int64_t i = low, j = high;

        while (i <= j) {
            while (t[i] < pivot)
                i++;
            while (t[j] > pivot)
                j--;
            if (i <= j) {
                double swap = t[i];

                t[i++] = t[j];
                t[j--] = swap;
            }
        }
        if (k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            break;
    }
    return t[k];
}

/* Finds the moment that about `share` of the times reach or exceed. Equal times stay
 * together. Returns false unless there are times on both sides. */
static bool choose_moment(double *t, int64_t n, double share, double *from)
{
    int64_t wanted = (int64_t)(share * (double)n), before = 0, until = 0, take, less;
    double at, next = INFINITY;

    if (n < 2)
        return false;
    if (wanted < 1)
        wanted = 1;
    at = select_time(t, n, n - wanted);
    for (int64_t i = 0; i < n; i++) {
        before += t[i] < at;
        until += t[i] <= at;
        if (t[i] > at && t[i] < next)
            next = t[i];
    }
    take = n - before; /* with the times equal to it, at least as many as wanted */
    less = n - until;  /* without them, fewer */
    if (take == n && less == 0)
        return false;
    *from = take == n || (less > 0 && wanted - less < take - wanted) ? next : at;
    return true;
}

/* Moves the train events from a moment on to the part `to`: from `given`, or if that is
 * NaN from a moment that is chosen by the share. */
static ease_status cut_by_time(ease__split *s, double *times, uint8_t to, double given,
                               double *from, ease_error *err)
{
    ease__events *e = &s->events;
    int64_t n = 0, moved = 0;

    *from = given;
    for (int64_t i = 0; i < e->count; i++)
        if (e->part[i] == EASE__TRAIN)
            times[n++] = e->time[i];
    if (isnan(given) && !choose_moment(times, n, s->options.share, from))
        return ease__fail(err, EASE_E_DATA,
                          "%s: too few different times to divide by: all of %lld "
                          "interactions have one",
                          s->data, (long long)n);
    for (int64_t i = 0; i < e->count; i++)
        if (e->part[i] == EASE__TRAIN && e->time[i] >= *from) {
            e->part[i] = to;
            moved++;
        }
    if (moved > 0 && moved < n)
        return EASE_OK;
    return ease__fail(err, EASE_E_DATA,
                      "%s: the %s data would be empty: %s of %lld interactions are %s "
                      "the date where the %s data begin",
                      s->data,
                      moved                     ? "training"
                      : to == EASE__TEST_TARGET ? "test"
                                                : "validation",
                      "all", (long long)n, moved ? "from" : "before",
                      to == EASE__TEST_TARGET ? "test" : "validation");
}

static ease_status divide_time(ease__split *s, ease_error *err)
{
    double *times = ease__alloc_array((size_t)s->events.count, sizeof(*times));
    ease_status status;

    if (!times)
        return no_memory(s, err);
    status = cut_by_time(s, times, EASE__TEST_TARGET, s->options.test_from,
                         &s->test_from, err);
    if (!status)
        status = cut_by_time(s, times, EASE__VALIDATION_TARGET,
                             s->options.validation_from, &s->validation_from, err);
    ease__free(times);
    return status;
}

/* ---- cold-items ------------------------------------------------------------------ */

/* The share of a user's rows with other items that is held out too, so that one split
 * measures warm and cold items. */
static const double warm_share = 0.2;

static int64_t warm_share_of(const ease__split *s, int64_t n)
{
    (void)s;
    return (int64_t)(warm_share * (double)n);
}

/* Buffers for choosing items, by item of the events or by place. */
typedef struct item_choice {
    id_key *keys;
    uint32_t *ascending;
    int64_t *drawn;
    uint8_t
        *to; /* the part that all rows of an item go to; at first: 1 if it has any */
} item_choice;

/* The first items of a random permutation are test-cold, the next ones
 * validation-cold. */
static ease_status choose_items(ease__split *s, item_choice *c, ease_error *err)
{
    const ease__events *e = &s->events;
    ease__mersenne random;
    int64_t n, cold;

    for (int64_t i = 0; i < e->count; i++)
        if (e->part[i])
            c->to[e->item[i]] = 1;
    n = sort_ids(&e->item_ids, c->to, c->keys, c->ascending);
    cold = share_of(s, n) < 1 ? 1 : share_of(s, n);
    if (cold > (n - 1) / 2)
        return ease__fail(err, EASE_E_DATA,
                          "%s: %lld items, where 2 x %lld to hold out and at least one "
                          "to train on are needed",
                          s->data, (long long)n, (long long)cold);
    ease__mersenne_seed(&random, s->options.seed);
    ease__mersenne_permutation(&random, n, c->drawn);
    for (int64_t i = 0; i < n; i++)
        c->to[c->ascending[c->drawn[i]]] = i < cold       ? EASE__TEST_TARGET
                                           : i < 2 * cold ? EASE__VALIDATION_TARGET
                                                          : EASE__TRAIN;
    s->cold_items = (int32_t)cold;
    return EASE_OK;
}

/* Moves the train rows of the items of a part to that part. */
static void move_items(ease__events *e, const uint8_t *to, uint8_t part)
{
    for (int64_t i = 0; i < e->count; i++)
        if (e->part[i] == EASE__TRAIN && to[e->item[i]] == part)
            e->part[i] = part;
}

static ease_status divide_items(ease__split *s, item_choice *c, ease_error *err)
{
    static const uint8_t parts[] = {EASE__TEST_TARGET, EASE__VALIDATION_TARGET};
    ease_status status = choose_items(s, c, err);

    for (size_t i = 0; !status && i < sizeof(parts); i++) {
        move_items(&s->events, c->to, parts[i]);
        status = draw(s, EASE__TRAIN, parts[i], warm_share_of, err);
    }
    return status;
}

static ease_status divide_cold_items(ease__split *s, ease_error *err)
{
    size_t items = (size_t)s->events.items;
    item_choice c = {.keys = ease__alloc_array(items, sizeof(*c.keys)),
                     .ascending = ease__alloc_array(items, sizeof(*c.ascending)),
                     .drawn = ease__alloc_array(items, sizeof(*c.drawn)),
                     .to = ease__alloc_zero(items, sizeof(*c.to))};
    ease_status status = c.keys && c.ascending && c.drawn && c.to
                             ? divide_items(s, &c, err)
                             : no_memory(s, err);

    ease__free(c.keys);
    ease__free(c.ascending);
    ease__free(c.drawn);
    ease__free(c.to);
    return status;
}

/* ---- the table ---------------------------------------------------------------- */

static const ease__protocol protocols[] = {
    {.name = "liang18", .strong = true, .share = true, .divide = divide_liang18},
    {.name = "volkovs15", .divide = divide_volkovs15},
    {.name = "random", .share = true, .divide = divide_random},
    {.name = "leave-last", .timed = true, .divide = divide_leave_last},
    {.name = "time",
     .share = true,
     .timed = true,
     .needs_time = true,
     .divide = divide_time},
    {.name = "cold-items", .share = true, .items = true, .divide = divide_cold_items}};

ease_status ease__find_protocol(const char *name, const ease__protocol **out,
                                ease_error *err)
{
    for (size_t i = 0; name && i < sizeof(protocols) / sizeof(protocols[0]); i++) {
        if (strcmp(name, protocols[i].name) == 0) {
            *out = &protocols[i];
            return EASE_OK;
        }
    }
    return ease__fail(err, EASE_E_ARG,
                      "protocol '%.40s': not liang18, volkovs15, random, leave-last, "
                      "time or cold-items",
                      name ? name : "");
}

ease_status ease__split_divide(ease__split *s, ease_error *err)
{
    ease_status status = sort_users(s, err);

    if (!status)
        status = make_item_numbers(s, err);
    if (!status)
        status = s->protocol->divide(s, err);
    if (status || s->protocol->strong)
        return status;
    for (int64_t i = 0; i < s->user_count; i++)
        number_user(s, i, s->ascending[i]);
    number_items(s, EASE__TRAIN | EASE__VALIDATION_TARGET);
    number_items(s, EASE__TEST_TARGET);
    return EASE_OK;
}
