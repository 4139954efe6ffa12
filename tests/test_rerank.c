/* Re-ranking: the power of popularity, caps and filters by tags, against a twin that
 * sorts the whole catalog and takes items in this order. */
#include <float.h>
#include <math.h>

#include "models.h"
#include "tagged.h"

/* ---- lists ----------------------------------------------------------------------- */

enum { HISTORIES = 9, LONGEST = 12, MOST_DENIED = 300 };

typedef struct batch {
    ease_row row[HISTORIES];
    int32_t items[HISTORIES][LONGEST];
    float weights[LONGEST];
    ease_row denied[HISTORIES];
    int32_t denied_items[HISTORIES][MOST_DENIED];
} batch;

/* Denied items for some of the histories: a few, or so many that longer lists do not
 * suffice. */
static void fill_denied(ease__random *r, int32_t n, batch *b)
{
    for (int u = 0; u < HISTORIES; u++) {
        uint64_t most = ease__random_below(r, 2) ? MOST_DENIED : 8;
        int32_t want = (int32_t)ease__random_below(r, most), count = 0;

        for (int32_t j = 0; j < n && count < want; j++)
            if (ease__random_below(r, (uint64_t)(n - j)) < (uint64_t)(want - count))
                b->denied_items[u][count++] = j;
        b->denied[u] = (ease_row){.items = b->denied_items[u], .count = count};
    }
}

/* Histories of random lengths; the first one is empty, the last one has weights. */
static void fill_batch(ease__random *r, int32_t n, batch *b)
{
    for (int i = 0; i < LONGEST; i++)
        b->weights[i] = (float)(ease__random_unit(r) * 4 - 1);
    for (int u = 0; u < HISTORIES; u++) {
        int32_t want = u ? 1 + (int32_t)ease__random_below(r, LONGEST) : 0, count = 0;

        for (int32_t j = 0; j < n && count < want; j++)
            if (ease__random_below(r, (uint64_t)(n - j)) < (uint64_t)(want - count))
                b->items[u][count++] = j;
        b->row[u] = (ease_row){b->items[u], u + 1 < HISTORIES ? NULL : b->weights,
                               count};
    }
}

static const double powers[] = {0, -0.5, 0, 1, -1, 0.3, -10, 10};

/* Random options over `allowed` and `caps`. */
static ease_recommend_options random_options(ease__random *r, int32_t n,
                                             uint8_t *allowed, ease_cap caps[3])
{
    ease_recommend_options o;

    ease_recommend_options_init(&o);
    o.k = 1 + (int32_t)ease__random_below(r, ease__random_below(r, 3) ? 12 : 60);
    o.keep_seen = ease__random_below(r, 4) == 0;
    o.popularity_power = powers[ease__random_below(r, 8)];
    o.threads = 1 + (int)ease__random_below(r, 3);
    for (int32_t j = 0; j < n; j++)
        allowed[j] = ease__random_below(r, 3) != 0;
    o.allowed = ease__random_below(r, 3) ? NULL : allowed;
    caps[0] = (ease_cap){"author", 1 + (int32_t)ease__random_below(r, 3)};
    caps[1] = (ease_cap){"genre", 1 + (int32_t)ease__random_below(r, 9)};
    caps[2] = (ease_cap){"author", 2};
    o.caps = caps;
    o.cap_count = (int64_t)ease__random_below(r, 4);
    return o;
}

/* The scores of all items without re-ranking, by another call. */
static int32_t all_scores(test *t, ease_scorer *s, ease_row row, ease_rec *out,
                          int32_t n)
{
    ease_recommend_options o;
    int32_t count = 0;

    ease_recommend_options_init(&o);
    o.k = n;
    o.keep_seen = 1;
    check_status(t, ease_recommend(s, row, &o, out, &count, NULL), EASE_OK);
    return count;
}

static bool same_list(const ease_rec *a, int32_t a_count, const ease_rec *b,
                      int32_t b_count)
{
    return a_count == b_count && memcmp(a, b, (size_t)a_count * sizeof(*a)) == 0;
}

static void check_lists(test *t, const ease_model *m, ease__random *r, int round)
{
    int32_t n = ease_model_items(m), count = 0, counts[HISTORIES];
    uint8_t *allowed = malloc((size_t)n);
    ease_rec *all = calloc((size_t)n, sizeof(*all));
    ease_rec recs[60], want[60], *many = calloc(HISTORIES * 60, sizeof(*many));
    ease_cap caps[3];
    ease_recommend_options o = random_options(r, n, allowed, caps);
    bool deny = ease__random_below(r, 2);
    ease_scorer *s = NULL;
    batch b;

    fill_batch(r, n, &b);
    fill_denied(r, n, &b);
    o.denied = deny ? b.denied : NULL;
    check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
    check_status(t, ease_recommend_many(m, b.row, HISTORIES, &o, many, counts, NULL),
                 EASE_OK);
    for (int u = 0; u < HISTORIES; u++) {
        int32_t scored = all_scores(t, s, b.row[u], all, n), wanted;

        o.denied = deny ? &b.denied[u] : NULL;
        wanted = tagged_twin(m, all, scored, b.row[u], &o, want);
        check_status(t, ease_recommend(s, b.row[u], &o, recs, &count, NULL), EASE_OK);
        if (!check(t, same_list(recs, count, want, wanted)) ||
            !check(t,
                   same_list(many + (size_t)u * (size_t)o.k, counts[u], want, wanted)))
            printf("  round %d, history %d: %d items, k %d, power %g, %d caps, %d "
                   "denied: %d, %d, not %d\n",
                   round, u, (int)n, (int)o.k, o.popularity_power, (int)o.cap_count,
                   deny ? (int)b.denied[u].count : -1, (int)count, (int)counts[u],
                   (int)wanted);
    }
    ease_scorer_free(s);
    free(allowed);
    free(all);
    free(many);
}

static void lists_are_those_of_sorting_the_whole_catalog(test *t)
{
    static const int32_t sizes[] = {1, 2, 33, 64, 65, 130, 300, 700};
    ease__random r;

    printf("  seed 11\n");
    ease__random_seed(&r, 11, 0);
    for (int round = 0; round < 160; round++) {
        int32_t n = sizes[round % 8];
        bool coarse = round % 3 == 0;
        ease_model *m = round % 4 == 3 ? random_sparse(n, (uint64_t)round, coarse)
                                       : random_model(n, (uint64_t)round, coarse,
                                                      (ease_gram_kind)(round / 8 % 3),
                                                      round % 5 == 0);

        give_tags(m, (uint64_t)round);
        if (round % 4 < 3 && round % 2) {
            ease_model *back = reopened(
                t, m, round % 4 == 1 ? EASE_STORE_F16 : EASE_STORE_F32);

            ease_model_free(m);
            m = back;
        }
        for (int i = 0; i < 3; i++)
            check_lists(t, m, &r, round);
        ease_model_free(m);
    }
}

/* All items are of one author but item x, which completes every list, however low its
 * score is, except that of a user who has it. Users before and after such a user must
 * not be mistaken for one. */
static void an_item_of_the_lowest_rank_completes_lists(test *t)
{
    enum { N = 400, USERS = 12 };
    static const ease_cap caps[] = {{"author", 1}};
    static const char *tags[N];
    static int32_t items[N];

    for (int32_t x = 0; x < N; x += 39) {
        ease_model *m = random_model(N, (uint64_t)x, false, EASE_GRAM_COUNTS, false);
        int32_t other[] = {x == 7 ? 8 : 7}, counts[USERS];
        ease_row rows[USERS];
        ease_recommend_options o;
        ease_rec recs[USERS * 3];

        for (int32_t j = 0; j < N; j++) {
            items[j] = j;
            tags[j] = j == x ? "author=x" : "author=0";
        }
        set_tags(m, N, items, tags);
        for (int u = 0; u < USERS; u++)
            rows[u] = (ease_row){u % 2 ? &items[x] : other, NULL, 1};
        ease_recommend_options_init(&o);
        o.k = 3;
        o.caps = caps;
        o.cap_count = 1;
        o.threads = 1;
        check_status(t, ease_recommend_many(m, rows, USERS, &o, recs, counts, NULL),
                     EASE_OK);
        for (size_t u = 0; u < USERS; u++) {
            check_int(t, counts[u], u % 2 ? 1 : 2);
            check(t, u % 2 || recs[3 * u].item == x || recs[3 * u + 1].item == x);
        }
        ease_model_free(m);
    }
}

/* More items are asked for than there are authors: every list stays short. */
static void caps_that_few_items_pass_are_exact(test *t)
{
    static const ease_cap caps[] = {{"author", 1}};
    ease_recommend_options o;
    ease_rec *all = calloc(700, sizeof(*all)), want[40], recs[40];
    ease__random r;

    ease_recommend_options_init(&o);
    o.k = 40;
    o.caps = caps;
    o.cap_count = 1;
    for (int way = 0; way < 2; way++) {
        ease_model *m = way ? random_sparse(700, 8, false)
                            : random_model(700, 8, false, EASE_GRAM_COUNTS, false);
        uint8_t allowed[700];
        ease_scorer *s = NULL;
        batch b;

        give_tags(m, 4);
        for (int32_t j = 0; j < 700; j++)
            allowed[j] = ease_model_item_tags(m, j).count > 0;
        o.allowed = allowed;
        ease__random_seed(&r, 8, 0);
        fill_batch(&r, 700, &b);
        check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
        for (int u = 0; u < HISTORIES; u++) {
            int32_t count = 0, scored = all_scores(t, s, b.row[u], all, 700);
            int32_t wanted = tagged_twin(m, all, scored, b.row[u], &o, want);

            check_status(t, ease_recommend(s, b.row[u], &o, recs, &count, NULL),
                         EASE_OK);
            check(t, same_list(recs, count, want, wanted));
        }
        ease_scorer_free(s);
        ease_model_free(m);
    }
    free(all);
}

static void similar_items_are_reranked_too(test *t)
{
    ease_model *m = random_model(200, 3, false, EASE_GRAM_COUNTS, false);
    ease_scorer *s = NULL;
    ease_rec all[200], want[60], recs[60];
    uint8_t allowed[200];
    ease__random r;

    give_tags(m, 3);
    ease__random_seed(&r, 12, 0);
    check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
    for (int round = 0; round < 100; round++) {
        ease_cap caps[3];
        ease_recommend_options o = random_options(&r, 200, allowed, caps), plain;
        int32_t item = (int32_t)ease__random_below(&r, 200), count = 0, wanted = 0;
        ease_row itself = {.items = &item, .count = 1};
        int32_t without[] = {7, 20, 150};
        ease_row denied = {.items = without, .count = 3};

        o.keep_seen = 0;
        o.denied = round % 2 ? &denied : NULL;
        ease_recommend_options_init(&plain);
        plain.k = 200;
        check_status(t, ease_similar(s, item, &plain, all, &count, NULL), EASE_OK);
        wanted = tagged_twin(m, all, count, itself, &o, want);
        check_status(t, ease_similar(s, item, &o, recs, &count, NULL), EASE_OK);
        check(t, same_list(recs, count, want, wanted));
    }
    ease_scorer_free(s);
    ease_model_free(m);
}

/* ---- factors --------------------------------------------------------------------- */

/* A float is at most half a unit from the exact power; that of libm is as near. */
static void factors_are_powers_of_popularity(test *t)
{
    static const double counts[] = {-3,   0,     0.5,      1,           1.5, 2,
                                    3,    10,    999,      123456,      7e8, 2e9,
                                    1e30, 1e300, 16777215, 4294967295.0};
    enum { N = sizeof(counts) / sizeof(counts[0]) };
    ease_model *m = random_model(N, 1, false, EASE_GRAM_COUNTS, false);
    ease_model *tests[1] = {m};

    memcpy((double *)(uintptr_t)tests[0]->popularity, counts, sizeof(counts));
    for (int i = 0; i < N; i++)
        for (double e = -10; e <= 10; e += 0.25) {
            double want = pow(counts[i] > 1 ? counts[i] : 1, e);
            float got = ease_model_popularity_factor(m, i, e);

            want = want < 1e-30 ? 1e-30 : want > 1e30 ? 1e30 : want;
            check_near(t, (double)got / want, 1, (double)FLT_EPSILON / 2 * 1.0001);
            if (e == 0 || counts[i] <= 1)
                check(t, got == 1);
            if (e == 1 && counts[i] == (double)(float)counts[i] && counts[i] > 1 &&
                counts[i] < 1e30)
                check(t, got == (float)counts[i]);
        }
    check(t, isnan(ease_model_popularity_factor(NULL, 0, 1)));
    check(t, isnan(ease_model_popularity_factor(m, -1, 1)));
    check(t, isnan(ease_model_popularity_factor(m, N, 1)));
    check(t, isnan(ease_model_popularity_factor(m, 0, 10.001)));
    check(t, isnan(ease_model_popularity_factor(m, 0, NAN)));
    ease_model_free(m);
}

/* A scorer keeps the factors of a power, and must not use them for another. */
static void a_scorer_may_be_asked_with_several_powers(test *t)
{
    ease_model *m = random_model(100, 2, false, EASE_GRAM_COUNTS, false);
    int32_t items[] = {3, 50}, count = 0;
    ease_row row = {items, NULL, 2};
    ease_recommend_options o;
    ease_scorer *one = NULL;

    ease_recommend_options_init(&o);
    check_status(t, ease_scorer_new(m, &one, NULL), EASE_OK);
    for (int i = 0; i < 16; i++) {
        ease_scorer *other = NULL;
        ease_rec a[10], b[10];

        o.popularity_power = powers[i % 8];
        check_status(t, ease_recommend(one, row, &o, a, &count, NULL), EASE_OK);
        check_status(t, ease_scorer_new(m, &other, NULL), EASE_OK);
        check_status(t, ease_recommend(other, row, &o, b, &count, NULL), EASE_OK);
        check(t, same_list(a, 10, b, count));
        ease_scorer_free(other);
    }
    ease_scorer_free(one);
    ease_model_free(m);
}

/* ---- filters --------------------------------------------------------------------- */

static bool has_tag(const ease_model *m, int32_t item, const char *tag)
{
    ease_row row = ease_model_item_tags(m, item);

    for (int32_t i = 0; i < row.count; i++)
        if (strcmp(ease_model_tag(m, row.items[i]), tag) == 0)
            return true;
    return false;
}

static void filters_choose_items_by_their_tags(test *t)
{
    static const char *const only[] = {"author=1", "genre=0", "author=2", "author=1"};
    static const char *const except[] = {"genre=1", "author=3"};
    ease_model *m = random_model(300, 6, false, EASE_GRAM_COUNTS, false);
    int kept = 0;

    give_tags(m, 6);
    for (int64_t a = 0; a <= 4; a++)
        for (int64_t b = 0; b <= 2; b++) {
            uint8_t allowed[300];

            for (int j = 0; j < 300; j++)
                allowed[j] = j % 7 ? 5 : 0;
            check_status(t, ease_model_filter(m, only, a, except, b, allowed, NULL),
                         EASE_OK);
            for (int32_t j = 0; j < 300; j++) {
                bool author = has_tag(m, j, "author=1") ||
                              (a > 2 && has_tag(m, j, "author=2"));
                bool genre = has_tag(m, j, "genre=0");
                bool bad = (b > 0 && has_tag(m, j, "genre=1")) ||
                           (b > 1 && has_tag(m, j, "author=3"));
                bool good = (a < 1 || author) && (a < 2 || genre) && !bad;

                check_int(t, allowed[j], j % 7 && good ? 5 : 0);
                kept += allowed[j] && a == 4;
            }
        }
    check(t, kept > 0);
    ease_model_free(m);
}

static void unknown_tags_leave_the_items_as_they_are(test *t)
{
    static const char *const good = "genre=0", *const bad = "genre=none",
                             *const null = NULL;
    ease_model *m = random_model(20, 6, false, EASE_GRAM_COUNTS, false);
    uint8_t allowed[20];
    ease_error err = {0};

    memset(allowed, 1, sizeof(allowed));
    check_status(t, ease_model_filter(m, NULL, 0, NULL, 0, allowed, &err), EASE_OK);
    check_status(t, ease_model_filter(m, &good, 1, NULL, 0, allowed, &err), EASE_E_ARG);
    check_contains(t, err.text, "no tags");
    give_tags(m, 1);
    check_status(t, ease_model_filter(m, &bad, 1, NULL, 0, allowed, &err), EASE_E_DATA);
    check_contains(t, err.text, "genre=none");
    check_status(t, ease_model_filter(m, &good, 1, &bad, 1, allowed, &err),
                 EASE_E_DATA);
    check_status(t, ease_model_filter(m, &null, 1, NULL, 0, allowed, &err), EASE_E_ARG);
    check_status(t, ease_model_filter(m, NULL, 1, NULL, 0, allowed, &err), EASE_E_ARG);
    check_status(t, ease_model_filter(m, NULL, -1, NULL, 0, allowed, &err), EASE_E_ARG);
    check_status(t, ease_model_filter(NULL, NULL, 0, NULL, 0, allowed, &err),
                 EASE_E_ARG);
    check_status(t, ease_model_filter(m, NULL, 0, NULL, 0, NULL, &err), EASE_E_ARG);
    for (int j = 0; j < 20; j++)
        check_int(t, allowed[j], 1);
    ease_model_free(m);
}

/* ---- refusals, progress, memory -------------------------------------------------- */

static void check_refused(test *t, const ease_model *m, ease_recommend_options o,
                          ease_status want, const char *text)
{
    int32_t item = 0, count = 0;
    ease_row row = {&item, NULL, 1};
    ease_scorer *s = NULL;
    ease_rec recs[10];
    ease_error err = {0};

    check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
    check_status(t, ease_recommend(s, row, &o, recs, &count, &err), want);
    check_contains(t, err.text, text);
    check_status(t, ease_similar(s, 0, &o, recs, &count, NULL), want);
    check_status(t, ease_recommend_many(m, &row, 1, &o, recs, &count, &err), want);
    check_contains(t, err.text, text);
    ease_scorer_free(s);
}

static void bad_options_are_refused(test *t)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY, 10.5, -11, 1e300};
    ease_model *m = random_model(20, 6, false, EASE_GRAM_COUNTS, false);
    ease_cap cap = {"author", 1};
    int32_t items[] = {3, 3};
    ease_row denied = {.items = items, .count = 2};
    ease_recommend_options o;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ease_recommend_options_init(&o);
        o.popularity_power = bad[i];
        check_refused(t, m, o, EASE_E_ARG, "power of popularity");
    }
    ease_recommend_options_init(&o);
    o.caps = &cap;
    o.cap_count = 1;
    check_refused(t, m, o, EASE_E_ARG, "no tags");
    give_tags(m, 1);
    cap.kind = "autor";
    check_refused(t, m, o, EASE_E_DATA, "\"autor\"");
    cap.kind = "auth";
    check_refused(t, m, o, EASE_E_DATA, "\"auth\"");
    cap.kind = "author=1";
    check_refused(t, m, o, EASE_E_DATA, "author=1");
    cap.kind = "";
    check_refused(t, m, o, EASE_E_ARG, "kind");
    cap.kind = NULL;
    check_refused(t, m, o, EASE_E_ARG, "kind");
    cap.kind = "author";
    cap.most = 0;
    check_refused(t, m, o, EASE_E_ARG, "at least 1");
    o.caps = NULL;
    check_refused(t, m, o, EASE_E_ARG, "caps");
    o.caps = &cap;
    o.cap_count = -1;
    check_refused(t, m, o, EASE_E_ARG, "caps");
    o.cap_count = 0;
    o.denied = &denied;
    check_refused(t, m, o, EASE_E_ARG, "denied row 0, place 1: items are not strictly");
    items[1] = 20;
    check_refused(t, m, o, EASE_E_ARG, "denied row 0, place 1: no item of this model");
    denied.items = NULL;
    check_refused(t, m, o, EASE_E_ARG, "denied row 0, place 0: no items");
    ease_model_free(m);
}

typedef struct watch {
    double last;
    int calls, stop_at;
    bool falls;
} watch;

static int note(void *user, const char *stage, double fraction)
{
    watch *w = user;

    (void)stage;
    w->falls |= fraction < w->last || fraction > 1;
    w->last = fraction;
    return ++w->calls == w->stop_at;
}

static void capped_lists_report_progress_and_can_be_cancelled(test *t)
{
    static const ease_cap caps[] = {{"author", 1}, {"genre", 1}};

    for (int way = 0; way < 2; way++) {
        ease_model *m = way ? random_sparse(300, 8, false)
                            : random_model(300, 8, false, EASE_GRAM_COUNTS, false);
        ease_recommend_options o;
        ease_rec *recs = calloc(HISTORIES * 30, sizeof(*recs));
        int32_t counts[HISTORIES];
        watch w = {0};
        ease_hooks hooks = {.progress = note, .user = &w};
        ease__random r;
        batch b;

        give_tags(m, 4);
        ease__random_seed(&r, 8, 0);
        fill_batch(&r, 300, &b);
        ease_recommend_options_init(&o);
        o.k = 30;
        o.caps = caps;
        o.cap_count = 2;
        o.hooks = &hooks;
        o.threads = 1; /* or the number of calls varies */
        check_status(t,
                     ease_recommend_many(m, b.row, HISTORIES, &o, recs, counts, NULL),
                     EASE_OK);
        check(t, w.calls > 1 && !w.falls && w.last == 1);
        for (int stop = w.calls; stop > 0; stop--) {
            w = (watch){.stop_at = stop};
            check_status(
                t, ease_recommend_many(m, b.row, HISTORIES, &o, recs, counts, NULL),
                EASE_E_CANCELLED);
        }
        free(recs);
        ease_model_free(m);
    }
}

static ease_status use_all(const ease_model *m, const batch *b)
{
    static const ease_cap caps[] = {{"author", 1}, {"genre", 1}};
    static const char *const only[] = {"author=1"};
    ease_recommend_options o;
    ease_rec recs[HISTORIES * 10];
    int32_t counts[HISTORIES];
    uint8_t allowed[300];
    ease_scorer *s = NULL;
    ease_status status;

    ease_recommend_options_init(&o);
    o.caps = caps;
    o.cap_count = 2;
    o.popularity_power = -0.5;
    o.denied = b->denied;
    o.threads = 2;
    status = ease_model_filter(m, only, 1, NULL, 0, allowed, NULL);
    if (!status)
        status = ease_recommend_many(m, b->row, HISTORIES, &o, recs, counts, NULL);
    if (!status)
        status = ease_scorer_new(m, &s, NULL);
    if (!status)
        status = ease_recommend(s, b->row[1], &o, recs, counts, NULL);
    if (!status)
        status = ease_similar(s, 1, &o, recs, counts, NULL);
    ease_scorer_free(s);
    return status;
}

static void every_failed_allocation_is_survived(test *t)
{
    ease_model *m = random_model(300, 8, false, EASE_GRAM_COUNTS, false);
    ease_status status;
    ease__random r;
    batch b;
    int n = 0;

    give_tags(m, 4);
    ease__random_seed(&r, 8, 0);
    fill_batch(&r, 300, &b);
    fill_denied(&r, 300, &b);
    do {
        alloc_fail_after(n++);
        status = use_all(m, &b);
        alloc_fail_after(-1);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 20);
    ease_model_free(m);
}

static const test_case cases[] = {
    TEST(lists_are_those_of_sorting_the_whole_catalog),
    TEST(an_item_of_the_lowest_rank_completes_lists),
    TEST(caps_that_few_items_pass_are_exact),
    TEST(similar_items_are_reranked_too),
    TEST(factors_are_powers_of_popularity),
    TEST(a_scorer_may_be_asked_with_several_powers),
    TEST(filters_choose_items_by_their_tags),
    TEST(unknown_tags_leave_the_items_as_they_are),
    TEST(bad_options_are_refused),
    TEST(capped_lists_report_progress_and_can_be_cancelled),
    TEST(every_failed_allocation_is_survived),
};

TEST_MAIN(cases)
