/* Tests of every metric, over all entries of the table: a new metric needs no test of
 * its own here. Its values are compared with twins in test_eval.c and numpy_eval.py. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "data.h"
#include "test.h"
#include "tune/tune.h"

enum { ROUNDS = 300, LENGTH = 30, USERS = 40, ITEMS = 60, ALL_BYTES = 400 };

/* ---- the table ---------------------------------------------------------------- */

static ease__ranking_metric metric_at(const ease__metric_kind *kind, int32_t k)
{
    ease__ranking_metric m = {.kind = kind, .k = k};

    snprintf(m.name, sizeof(m.name), "%s@%d", kind->info.name, (int)k);
    return m;
}

static void entries_are_complete(test *t)
{
    int count = 0;

    for (int at = 0; ease__metric_kinds[at]; at++) {
        const ease__metric_kind *kind = ease__metric_kinds[at];
        ease__ranking_metric wanted = metric_at(kind, 7), parsed[EASE__MAX_METRICS];
        ease_error err;
        int n = 0;

        check(t, kind->info.name[0] && kind->info.about && kind->info.about[0]);
        check_int(t, !!kind->from_hits + !!kind->from_items + !!kind->from_times, 1);
        check(t, kind->from_items || (!kind->needs_users && !kind->needs_tags));
        check(t, ease__metric_kind_of(kind->info.name) ==
                     kind); /* no other has its name */
        check_text(t, metric_name(count++), kind->info.name);
        check(t, ease_metric_find(kind->info.name) == &kind->info);
        check(t, ease_metric_find(wanted.name) == &kind->info);
        check_int(t, kind->info.by_user, kind->from_times == NULL);
        check_status(t, ease__metrics_parse(wanted.name, parsed, &n, NULL), EASE_OK);
        check_int(t, n, 1);
        check(t, parsed[0].kind == kind && parsed[0].k == 7);
        check_status(t, ease__metrics_parse("none@7", parsed, &n, &err), EASE_E_ARG);
        check_contains(t, err.text, kind->info.name);
    }
    check(t, metric_name(count) == NULL && metric_name(-1) == NULL);
    check(t, ease_metric_find("none") == NULL && ease_metric_find(NULL) == NULL);
}

/* ---- from hits ---------------------------------------------------------------- */

/* A list of LENGTH items, `held_out` of them or fewer being hits. */
static void random_hits(ease__random *r, int32_t held_out, bool hit[LENGTH])
{
    int32_t left = held_out;

    for (int32_t i = 0; i < LENGTH; i++) {
        hit[i] = left > 0 && ease__random_below(r, 4) == 0;
        left -= hit[i];
    }
}

/* One list of each round; `k` and `held_out` are above or below each other. */
static void check_hits(test *t, const ease__metric_kind *kind, ease__random *r)
{
    int32_t k = 1 + (int32_t)ease__random_below(r, LENGTH);
    int32_t held_out = 1 + (int32_t)ease__random_below(r, LENGTH);
    int32_t swapped = (int32_t)ease__random_below(r, LENGTH - 1);
    ease__ranking_metric m = metric_at(kind, k);
    bool hit[LENGTH], perfect[LENGTH], none[LENGTH] = {false};
    double value, best;

    random_hits(r, held_out, hit);
    for (int32_t i = 0; i < LENGTH; i++)
        perfect[i] = i < held_out;
    value = ease__metric_value(&m, hit, LENGTH, held_out);
    best = ease__metric_value(&m, perfect, LENGTH, held_out);
    check(t, value >= 0 && value <= 1);
    check(t, !ease__metric_better(kind, value, best));
    check(t, !ease__metric_better(kind, ease__metric_value(&m, none, LENGTH, held_out),
                                  value));
    check_near(t, ease__metric_value(&m, hit, k, held_out), value, 0);
    if (!hit[swapped] && hit[swapped + 1]) { /* one hit a rank higher */
        hit[swapped] = true;
        hit[swapped + 1] = false;
        check(t, !ease__metric_better(kind, value,
                                      ease__metric_value(&m, hit, LENGTH, held_out)));
    }
}

static void hits_make_a_list_better(test *t)
{
    bool all[LENGTH], none[LENGTH] = {false};

    memset(all, true, sizeof(all));
    for (int at = 0; ease__metric_kinds[at]; at++) {
        const ease__metric_kind *kind = ease__metric_kinds[at];
        ease__random r;

        if (!kind->from_hits)
            continue;
        check(t, kind->info.direction != EASE__NEITHER_IS_BETTER);
        ease__random_seed(&r, 5, 1);
        for (int i = 0; i < ROUNDS; i++)
            check_hits(t, kind, &r);
        for (int32_t k = 1; k <= LENGTH; k++) {
            ease__ranking_metric m = metric_at(kind, k);
            double worst = kind->info.direction == EASE__LOWER_IS_BETTER;

            /* As many held out as the list is long: both ends are reached. */
            check_near(t, ease__metric_value(&m, all, LENGTH, k), 1 - worst, 1e-15);
            check_near(t, ease__metric_value(&m, none, LENGTH, k), worst, 0);
            check_near(t, ease__metric_value(&m, none, 0, k), worst, 0);
        }
    }
}

/* ---- from items ---------------------------------------------------------------- */

enum { TAGS = 7 };

/* Items with all numbers of users from 0 on, and with tags or without. */
typedef struct catalog {
    double popularity[ITEMS], by_tag[TAGS];
    int32_t numbers[ITEMS][TAGS];
    float weights[ITEMS][TAGS];
    ease_row tags[ITEMS];
} catalog;

static void fill_catalog(catalog *c, ease__random *r)
{
    *c = (catalog){0};
    for (int32_t i = 0; i < ITEMS; i++) {
        int32_t count = 0;

        c->popularity[i] = i % USERS;
        for (int32_t tag = 0; tag < TAGS; tag++) {
            if (ease__random_below(r, 4) != 0)
                continue;
            c->weights[i][count] = (float)(1 + ease__random_below(r, 3));
            c->numbers[i][count++] = tag;
        }
        c->tags[i] = (ease_row){.items = c->numbers[i],
                                .weights = i % 2 ? c->weights[i] : NULL,
                                .count = count};
    }
}

static void lists_of_items_are_measured_in_any_order(test *t)
{
    for (int at = 0; ease__metric_kinds[at]; at++) {
        const ease__metric_kind *kind = ease__metric_kinds[at];
        ease__random r;
        catalog c;

        if (!kind->from_items)
            continue;
        ease__random_seed(&r, 8, 1);
        for (int round = 0; round < ROUNDS; round++) {
            ease_rec recs[LENGTH], turned[LENGTH];
            ease__list l = {.recs = recs,
                            .count = (int32_t)ease__random_below(&r, LENGTH + 1),
                            .popularity = c.popularity,
                            .users = USERS,
                            .tags = kind->needs_tags ? c.tags : NULL,
                            .by_tag = kind->needs_tags ? c.by_tag : NULL};
            int32_t first = (int32_t)ease__random_below(&r, ITEMS - LENGTH);
            double value;

            fill_catalog(&c, &r);
            if (!kind->needs_users)
                l.users = NAN;
            for (int32_t i = 0; i < l.count; i++)
                recs[i] = turned[l.count - 1 - i] = (ease_rec){first + i, 0};
            value = kind->from_items(&l);
            check(t, isfinite(value) && value >= 0);
            for (int tag = 0; tag < TAGS; tag++)
                check_near(t, c.by_tag[tag], 0, 0);
            l.recs = turned;
            check_near(t, kind->from_items(&l), value, 1e-13 * (1 + value));
            l.count = 0;
            check_near(t, kind->from_items(&l), 0, 0);
        }
    }
}

/* ---- of all lists together ---------------------------------------------------- */

static void shuffle(ease__random *r, int64_t *x, int32_t n)
{
    for (int32_t i = n - 1; i > 0; i--) {
        int32_t j = (int32_t)ease__random_below(r, (uint64_t)i + 1);
        int64_t kept = x[i];

        x[i] = x[j];
        x[j] = kept;
    }
}

static void equal_shares_are_best_and_one_item_worst(test *t)
{
    for (int at = 0; ease__metric_kinds[at]; at++) {
        const ease__metric_kind *kind = ease__metric_kinds[at];
        ease__random r;

        if (!kind->from_times)
            continue;
        check(t, kind->info.direction != EASE__NEITHER_IS_BETTER);
        ease__random_seed(&r, 6, 1);
        for (int i = 0; i < ROUNDS; i++) {
            int64_t times[ITEMS], other[ITEMS], even[ITEMS], one[ITEMS] = {0};
            double value;

            for (int32_t k = 0; k < ITEMS; k++) {
                times[k] = other[k] = (int64_t)ease__random_below(&r, 5);
                even[k] = 3;
            }
            one[ease__random_below(&r, ITEMS)] = (int64_t)3 * ITEMS;
            shuffle(&r, other, ITEMS);
            value = kind->from_times(times, ITEMS);
            check(t, value >= 0 && value <= 1);
            check_near(t, kind->from_times(other, ITEMS), value, 0);
            check(t, !ease__metric_better(kind, value, kind->from_times(even, ITEMS)));
            check(t, ease__metric_better(kind, value, kind->from_times(one, ITEMS)));
        }
    }
}

/* ---- by evaluating ------------------------------------------------------------ */

static ease_interactions *copy_rows(const ease_interactions *x, bool reversed)
{
    int32_t *cols = malloc((size_t)x->nnz * sizeof(*cols));
    ease_interactions *copy = NULL;

    for (int64_t u = 0; u < x->users; u++) {
        int64_t begin = x->row_ptr[u], last = x->row_ptr[u + 1] - 1;

        for (int64_t a = begin; a <= last; a++)
            cols[a] = x->cols[reversed ? begin + last - a : a];
    }
    if (ease_interactions_from_csr(x->users, x->items, x->row_ptr, cols, NULL, &copy,
                                   NULL))
        abort();
    free(cols);
    return copy;
}

static ease_interactions *some_data(uint64_t seed, bool reversed)
{
    ease_interactions *x = random_interactions(USERS, ITEMS, 0.2, false, seed);
    ease_interactions *copy = copy_rows(x, reversed);

    free_interactions(x);
    return copy;
}

static ease_report *report_of(const ease_model *m, const ease_interactions *input,
                              const ease_interactions *target, const char *metrics)
{
    ease_eval_options o;
    ease_report *r = NULL;

    ease_eval_options_init(&o);
    o.metrics = metrics;
    o.threads = 2;
    if (ease_evaluate(m, input, target, &o, &r, NULL))
        abort();
    return r;
}

static const char *all_at_10(char text[ALL_BYTES])
{
    int used = 0;

    for (int i = 0; metric_name(i); i++)
        used += snprintf(text + used, (size_t)(ALL_BYTES - used), "%s%s@10",
                         i ? "," : "", metric_name(i));
    return text;
}

static ease_model *trained(const ease_interactions *x, const char *method,
                           const ease_train_options *o)
{
    ease_model *m = NULL;

    if (train_method(x, method, o, &m, NULL))
        abort();
    give_some_tags(m, false);
    return m;
}

/* With ones as values, an item's count is at most the number of users. */
static void reports_do_not_depend_on_the_order_of_held_out_items(test *t)
{
    ease_interactions *input = some_data(5, false), *target = some_data(6, false),
                      *reversed = some_data(6, true);
    ease_model *m = trained(input, "item-item", NULL);
    char text[ALL_BYTES];
    ease_report *a = report_of(m, input, target, all_at_10(text)),
                *b = report_of(m, input, reversed, text);

    for (int i = 0; metric_name(i); i++) {
        const ease__metric_kind *kind = ease__metric_kind_of(metric_name(i));
        double most = kind->from_items ? USERS : 1;
        ease_metric x = report_metric(a, i), y = report_metric(b, i);

        check(t, x.mean > 0 && x.mean <= most);
        check_near(t, y.mean, x.mean, 0);
        check_int(t, isnan(x.standard_error), kind->from_times != NULL);
        for (int64_t u = 0; u < report_info(a).users; u++) {
            double value = ease_report_value(a, i, u);

            if (kind->from_times)
                check(t, isnan(value));
            else if (check(t, value >= 0 && value <= most))
                check_near(t, ease_report_value(b, i, u), value, 0);
        }
    }
    ease_report_free(a);
    ease_report_free(b);
    ease_model_free(m);
    ease_interactions_free(input);
    ease_interactions_free(target);
    ease_interactions_free(reversed);
}

/* ---- choosing by a metric ----------------------------------------------------- */

static void the_best_trial_is_that_of_the_metrics_direction(test *t)
{
    static const double means[] = {0.3, 0.1, 0.4, 0.2};
    ease_tuning *tuned = calloc(1, sizeof(*tuned));

    tuned->method = ease__methods[0];
    tuned->count = 4;
    for (int i = 0; i < tuned->count; i++)
        tuned->tried[i].trial.mean = means[i];
    for (int at = 0; ease__metric_kinds[at]; at++) {
        const ease__metric_kind *kind = ease__metric_kinds[at];

        tuned->metric = kind;
        check_int(t, ease_tuning_best(tuned),
                  kind->info.direction == EASE__LOWER_IS_BETTER ? 1 : 2);
    }
    free(tuned);
}

/* Every epoch has the weights that training with so many epochs ends with. */
static void the_best_epoch_is_that_of_the_metrics_direction(test *t)
{
    enum { EPOCHS = 5 };
    ease_interactions *x = some_data(5, false), *target = some_data(6, false);
    ease_report *after[EPOCHS];
    char text[ALL_BYTES], settings[60];
    ease_train_options o;

    ease_train_options_init(&o);
    o.settings = settings;
    for (int e = 0; e < EPOCHS; e++) {
        ease_model *m;

        snprintf(settings, sizeof(settings), "epochs=%d,hidden=4,batch=10", e + 1);
        m = trained(x, "mult-dae", &o);
        after[e] = report_of(m, x, target, all_at_10(text));
        ease_model_free(m);
    }
    o.validation_input = x;
    o.validation_target = target;
    for (int i = 0; metric_name(i); i++) {
        ease__ranking_metric metric = metric_at(ease__metric_kinds[i], 10);
        ease_report *chosen;
        ease_model *m;
        double value;

        if (metric.kind->needs_tags) /* while it is trained, the model has none */
            continue;
        o.metric = metric.name;
        m = trained(x, "mult-dae", &o);
        chosen = report_of(m, x, target, metric.name);
        value = report_metric(chosen, 0).mean;
        for (int e = 0; e < EPOCHS; e++)
            check(t, !ease__metric_better(metric.kind, report_metric(after[e], i).mean,
                                          value));
        ease_report_free(chosen);
        ease_model_free(m);
    }
    for (int e = 0; e < EPOCHS; e++)
        ease_report_free(after[e]);
    ease_interactions_free(x);
    ease_interactions_free(target);
}

static const test_case cases[] = {
    TEST(entries_are_complete),
    TEST(hits_make_a_list_better),
    TEST(lists_of_items_are_measured_in_any_order),
    TEST(equal_shares_are_best_and_one_item_worst),
    TEST(reports_do_not_depend_on_the_order_of_held_out_items),
    TEST(the_best_trial_is_that_of_the_metrics_direction),
    TEST(the_best_epoch_is_that_of_the_metrics_direction),
};

TEST_MAIN(cases)
