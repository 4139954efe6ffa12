/* Metrics, evaluation, comparison, tuning. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "data.h"
#include "eval/metrics.h"
#include "eval/student.h"
#include "model/model.h"
#include "test.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static const char every_metric[] =
    "recall@5,plain-recall@5,ndcg@5,precision@5,hit@5,map@5,mrr@5,popularity@5,"
    "novelty@5,diversity@5,coverage@5,gini@5,recall@1,ndcg@100,precision@100,map@100,"
    "coverage@100,gini@1,novelty@100,"
    "diversity@100";

/* ---- metrics by hand ---------------------------------------------------------- */

static double value_of(const char *name, const bool *hit, int32_t count,
                       int64_t held_out)
{
    ease__ranking_metric m[EASE__MAX_METRICS];
    int n = 0;

    if (ease__metrics_parse(name, m, &n, NULL) != EASE_OK || n != 1)
        return NAN;
    return ease__metric_value(&m[0], hit, count, held_out);
}

static void metrics_are_what_a_hand_works_out(test *t)
{
    const bool hit[] = {true, false, true, false, false, true};
    const double third = 1 / log2(3), second = 1 / log2(4), fifth = 1 / log2(6);
    const double all3 = 1 + third + second, all5 = all3 + 1 / log2(5) + fifth;

    /* Three held out, two of them among the first five. */
    check_near(t, value_of("recall@5", hit, 6, 3), 2 / 3.0, 1e-15);
    check_near(t, value_of("plain-recall@5", hit, 6, 3), 2 / 3.0, 1e-15);
    check_near(t, value_of("ndcg@5", hit, 6, 3), (1 + second) / all3, 1e-15);
    check_near(t, value_of("precision@5", hit, 6, 3), 0.4, 1e-15);
    check_near(t, value_of("hit@5", hit, 6, 3), 1, 0);
    check_near(t, value_of("map@5", hit, 6, 3), (1 + 2 / 3.0) / 3, 1e-15);
    check_near(t, value_of("mrr@5", hit, 6, 3), 1, 0);
    /* Seven held out: more than the list can hold. */
    check_near(t, value_of("recall@5", hit, 6, 7), 2 / 5.0, 1e-15);
    check_near(t, value_of("plain-recall@5", hit, 6, 7), 2 / 7.0, 1e-15);
    check_near(t, value_of("ndcg@5", hit, 6, 7), (1 + second) / all5, 1e-15);
    check_near(t, value_of("map@5", hit, 6, 7), (1 + 2 / 3.0) / 5, 1e-15);
    /* The first hit is at rank 3. */
    check_near(t, value_of("mrr@4", hit + 3, 3, 1), 1 / 3.0, 1e-15);
    check_near(t, value_of("mrr@2", hit + 3, 3, 1), 0, 0);
    check_near(t, value_of("hit@2", hit + 3, 3, 1), 0, 0);
    check_near(t, value_of("recall@1", hit, 6, 3), 1, 0);
    check_near(t, value_of("ndcg@1", hit + 1, 5, 3), 0, 0);
    /* A list shorter than k, and an empty one. */
    check_near(t, value_of("precision@100", hit, 6, 3), 0.03, 1e-15);
    check_near(t, value_of("recall@100", hit, 6, 3), 1, 0);
    check_near(t, value_of("ndcg@100", hit, 0, 3), 0, 0);
    check_near(t, value_of("mrr@100", hit, 0, 3), 0, 0);
}

static void coverage_and_gini_are_of_the_whole_catalog(test *t)
{
    int64_t alike[] = {3, 3, 3, 3}, one[] = {0, 8, 0, 0}, some[] = {0, 1, 0, 3},
            none[] = {0, 0};

    check_near(t, ease__coverage(alike, 4), 1, 0);
    check_near(t, ease__coverage(one, 4), 0.25, 0);
    check_near(t, ease__coverage(some, 4), 0.5, 0);
    check_near(t, ease__gini(alike, 4), 0, 1e-15);
    check_near(t, ease__gini(one, 4), 0.75, 1e-15);
    /* (-3 * 0 - 1 * 0 + 1 * 1 + 3 * 3) / (4 * 4) */
    check_near(t, ease__gini(some, 4), 10 / 16.0, 1e-15);
    check_near(t, ease__gini(none, 2), 0, 0);
}

static double of_items(const char *name, const ease__list *l)
{
    return ease__metric_kind_of(name)->from_items(l);
}

static void novelty_is_the_mean_surprise(test *t)
{
    const double popularity[] = {8, 2, 1, 0, 32};
    const ease_rec recs[] = {{1, 0}, {2, 0}, {3, 0}, {0, 0}, {4, 0}};
    ease__list l = {.recs = recs, .count = 1, .popularity = popularity, .users = 32};

    check_near(t, of_items("novelty", &l), 4, 1e-15);
    l.count = 2;
    check_near(t, of_items("novelty", &l), 4.5, 1e-15);
    l.count = 3; /* what nobody has counts as one */
    check_near(t, of_items("novelty", &l), 14 / 3.0, 1e-15);
    l.count = 5;
    check_near(t, of_items("novelty", &l), 16 / 5.0, 1e-15);
    l.count = 0;
    check_near(t, of_items("novelty", &l), 0, 0);
}

static void diversity_is_the_mean_distance_of_pairs(test *t)
{
    static const int32_t ab[] = {0, 1}, a[] = {0}, c[] = {2};
    static const float three_four[] = {3, 4};
    ease_row tags[] = {{.items = ab, .count = 2},
                       {.items = a, .count = 1},
                       {.items = c, .count = 1},
                       {.count = 0},
                       {.items = ab, .weights = three_four, .count = 2}};
    static const struct {
        int32_t items[3], count;
        double want;
    } lists[] = {{{0}, 0, 0},
                 {{0}, 1, 0},
                 {{3}, 1, 0},
                 {{0, 2}, 2, 1},
                 {{2, 3}, 2, 1}, /* an item without tags */
                 {{3, 3}, 2, 1},
                 {{0, 0}, 2, 0},
                 {{2, 2, 2}, 3, 0},
                 {{1, 4}, 2, 0.4},
                 {{1, 2, 4}, 3, (1 + 1 + 0.4) / 3}};
    double popularity[5] = {0}, by_tag[3] = {0};

    for (int i = 0; i < COUNT(lists); i++) {
        ease_rec recs[3] = {{0}};
        ease__list l = {.recs = recs,
                        .count = lists[i].count,
                        .popularity = popularity,
                        .users = 5,
                        .tags = tags,
                        .by_tag = by_tag};

        for (int k = 0; k < 3; k++)
            recs[k].item = lists[i].items[k];
        check_near(t, of_items("diversity", &l), lists[i].want, 1e-15);
        for (int k = 0; k < 3; k++)
            check_near(t, by_tag[k], 0, 0);
    }
}

/* Those of the list are compared with the naive twin below. */
static void every_metric_of_the_table_has_a_twin(test *t)
{
    for (int i = 0; metric_name(i); i++) {
        char part[40];

        snprintf(part, sizeof(part), "%s@", metric_name(i));
        check_contains(t, every_metric, part);
    }
}

static void metrics_that_do_not_exist_are_named(test *t)
{
    static const char *const bad[] = {
        "",          "recall",       "recall@", "recall@0",      "recall@-1",
        "recall@1x", "Recall@5",     "recal@5", "recall@10001",  "recall@99999999999",
        "recall@05", "ndcg@5,",      ",ndcg@5", "ndcg@5,,hit@2", "ndcg@5, hit@2",
        "@5",        "ndcg@5,ndcg@5"};
    ease__ranking_metric m[EASE__MAX_METRICS];
    char many[64 * 20] = "recall@1";
    ease_error err;
    int n = -1;

    for (int i = 0; i < COUNT(bad); i++) {
        err.text[0] = '\0';
        if (!check_status(t, ease__metrics_parse(bad[i], m, &n, &err), EASE_E_ARG))
            printf("  %s\n", bad[i]);
        check_contains(t, err.text, i == COUNT(bad) - 1 ? "twice" : "no metric '");
    }
    check_int(t, n, -1);
    for (int i = 2; i <= 64; i++)
        sprintf(many + strlen(many), ",recall@%d", i);
    check_status(t, ease__metrics_parse(many, m, &n, &err), EASE_OK);
    check_int(t, n, 64);
    strcat(many, ",hit@1");
    check_status(t, ease__metrics_parse(many, m, &n, &err), EASE_E_ARG);
}

/* ---- data --------------------------------------------------------------------- */

/* Users x items of zeros and ones. */
typedef struct dense {
    int64_t users;
    int32_t items;
    bool *at;
} dense;

static dense dense_new(int64_t users, int32_t items)
{
    return (dense){users, items, calloc((size_t)users * (size_t)items, 1)};
}

static bool *cell(const dense *d, int64_t user, int32_t item)
{
    return &d->at[(size_t)user * (size_t)d->items + (size_t)item];
}

static ease_interactions *interactions_of(const dense *d)
{
    int64_t *rows = calloc((size_t)d->users + 1, sizeof(*rows));
    int32_t *cols = calloc((size_t)d->users * (size_t)d->items + 1, sizeof(*cols));
    ease_interactions *x = NULL;
    int64_t n = 0;

    for (int64_t u = 0; u < d->users; u++) {
        for (int32_t i = 0; i < d->items; i++)
            if (*cell(d, u, i))
                cols[n++] = i;
        rows[u + 1] = n;
    }
    if (ease_interactions_from_csr(d->users, d->items, rows, cols, NULL, &x, NULL))
        abort();
    free(rows);
    free(cols);
    return x;
}

/* Two tastes: items of the own half with one chance, of the other with another. */
static dense random_tastes(int64_t users, int32_t items, uint64_t seed)
{
    dense d = dense_new(users, items);
    ease__random r;

    ease__random_seed(&r, seed, 0);
    for (int64_t u = 0; u < users; u++)
        for (int32_t i = 0; i < items; i++)
            *cell(&d, u, i) = ease__random_unit(&r) <
                              ((i % 2 == u % 2) ? 0.5 : 0.15) / (1 + 0.05 * i);
    return d;
}

static ease_model *trained(const dense *d, double lambda)
{
    ease_interactions *x = interactions_of(d);
    ease_train_options o;
    ease_model *m = NULL;

    ease_train_options_init(&o);
    o.lambda = lambda;
    o.threads = 2;
    if (ease_train(x, &o, &m, NULL))
        abort();
    ease_interactions_free(x);
    return m;
}

/* As a table whose rows are in no order, so that numbers differ from those of d. */
static ease_interactions *shuffled(const dense *d, uint64_t seed)
{
    size_t places = (size_t)d->users * (size_t)d->items;
    size_t *order = calloc(places + 1, sizeof(*order)), count = 0, used;
    char *text = malloc(places * 24 + 32);
    const char *path = test_path("shuffled.csv");
    ease_interactions *x = NULL;
    ease__random r;

    ease__random_seed(&r, seed, 5);
    for (size_t k = 0; k < places; k++)
        if (d->at[k])
            order[count++] = k;
    used = (size_t)sprintf(text, "user,item\n");
    for (size_t k = count; k > 0; k--) {
        size_t with = (size_t)ease__random_below(&r, (uint32_t)k), pick = order[with];

        order[with] = order[k - 1];
        used += (size_t)sprintf(text + used, "%zu,%zu\n", pick / (size_t)d->items,
                                pick % (size_t)d->items);
    }
    test_write(path, text, used);
    if (ease_interactions_read(path, NULL, &x, NULL))
        abort();
    free(text);
    free(order);
    return x;
}

/* ---- the naive twin ----------------------------------------------------------- */

typedef struct ranked {
    float score;
    int32_t item;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return (x->item > y->item) - (x->item < y->item);
}

/* All of the catalog but the input, best first; returns how many. Without an input, by
 * popularity. */
static int32_t rank_all(const ease_model *m, const dense *input, int64_t user,
                        ranked *out)
{
    int32_t n = model_info(m).items, count = 0, known = 0;
    float *row = malloc((size_t)n * sizeof(*row));
    float *score = calloc((size_t)n, sizeof(*score));

    for (int32_t j = 0; j < n; j++)
        score[j] = ease_model_base(m, j);
    for (int32_t i = 0; i < n; i++) {
        if (user >= input->users || !*cell(input, user, i))
            continue;
        known++;
        if (ease_model_row(m, i, row, NULL) != EASE_OK)
            abort();
        for (int32_t j = 0; j < n; j++)
            score[j] += row[j];
    }
    for (int32_t j = 0; j < n; j++)
        if (!known || !*cell(input, user, j))
            out[count++] = (ranked){
                known ? score[j] : (float)ease_model_popularity(m, j), j};
    qsort(out, (size_t)count, sizeof(*out), compare_ranked);
    free(row);
    free(score);
    return count;
}

static double tag_weight(const ease_model *m, int32_t item, int32_t tag)
{
    ease_row row = ease_model_item_tags(m, item);

    for (int32_t k = 0; k < row.count; k++)
        if (row.items[k] == tag)
            return row.weights ? (double)row.weights[k] : 1;
    return 0;
}

static double naive_distance(const ease_model *m, int32_t i, int32_t j)
{
    double dot = 0, left = 0, right = 0;

    for (int32_t tag = 0; tag < ease_model_tags(m); tag++) {
        double a = tag_weight(m, i, tag), b = tag_weight(m, j, tag);

        dot += a * b;
        left += a * a;
        right += b * b;
    }
    return left > 0 && right > 0 ? 1 - dot / sqrt(left * right) : 1;
}

static double naive_diversity(const ease_model *m, const ranked *list, int32_t shown)
{
    double sum = 0;

    for (int32_t r = 0; r < shown; r++)
        for (int32_t q = 0; q < r; q++)
            sum += naive_distance(m, list[r].item, list[q].item);
    return shown > 1 ? sum / (0.5 * shown * (shown - 1)) : 0;
}

static double naive_value(const char *name, const ease_model *m, const ranked *list,
                          int32_t length, const bool *wanted, int32_t held_out)
{
    double hits = 0, gain = 0, ideal = 0, precision = 0, first = 0, popular = 0,
           surprise = 0;
    int32_t k = atoi(strchr(name, '@') + 1), shown = k < length ? k : length;
    double possible = held_out < k ? held_out : k;

    for (int32_t r = 0; r < shown; r++) {
        double n = ease_model_popularity(m, list[r].item);

        popular += n;
        surprise -= log(fmax(n, 1) / (double)model_info(m).users) / log(2);
        if (!wanted[list[r].item])
            continue;
        hits++;
        gain += log(2) / log(r + 2);
        precision += hits / (r + 1);
        if (first == 0)
            first = 1.0 / (r + 1);
    }
    for (int32_t r = 0; r < possible; r++)
        ideal += log(2) / log(r + 2);
    if (name[0] == 'r')
        return hits / possible;
    if (strncmp(name, "plain", 5) == 0)
        return hits / held_out;
    if (strncmp(name, "nov", 3) == 0)
        return shown ? surprise / shown : 0;
    if (name[0] == 'd')
        return naive_diversity(m, list, shown);
    if (name[0] == 'n')
        return gain / ideal;
    if (strncmp(name, "prec", 4) == 0)
        return hits / k;
    if (name[0] == 'h')
        return hits > 0;
    if (strncmp(name, "map", 3) == 0)
        return precision / possible;
    if (strncmp(name, "mrr", 3) == 0)
        return first;
    return shown ? popular / shown : 0;
}

/* |x_i - x_j| over all pairs: the definition of the Gini coefficient. */
static double naive_gini(const int64_t *times, int32_t n)
{
    double apart = 0, all = 0;

    for (int32_t i = 0; i < n; i++) {
        all += (double)times[i];
        for (int32_t j = 0; j < n; j++)
            apart += fabs((double)times[i] - (double)times[j]);
    }
    return apart / (2.0 * n * all);
}

/* Items of the twin's target that count as held out. */
static int32_t counted_items(const ease_model *m, const dense *target, ease_unknown how)
{
    return how == EASE_UNKNOWN_DROP ? model_info(m).items : target->items;
}

/* Items that the model does not know are cold. */
static bool is_of_kind(const ease_model *m, ease_eval_items kind, int32_t item)
{
    bool cold = item >= model_info(m).items || ease_model_popularity(m, item) == 0;

    return kind == EASE_ITEMS_ALL || (kind == EASE_ITEMS_COLD ? cold : !cold);
}

/* Keeps the items of a kind, in their order; returns how many. */
static int32_t keep_kind(const ease_model *m, ease_eval_items kind, ranked *list,
                         int32_t length)
{
    int32_t kept = 0;

    for (int32_t i = 0; i < length; i++)
        if (is_of_kind(m, kind, list[i].item))
            list[kept++] = list[i];
    return kept;
}

/* One metric of the report against the twin. */
static void check_metric(test *t, const ease_model *m, const dense *input,
                         const dense *target, const ease_report *r, int metric)
{
    int32_t n = model_info(m).items, catalog = 0;
    ease_report_info info = report_info(r);
    int32_t counted = counted_items(m, target, info.unknown);
    ranked *list = malloc((size_t)n * sizeof(*list));
    int64_t *times = calloc((size_t)n, sizeof(*times));
    bool *wanted = calloc((size_t)target->items, 1);
    ease_metric got = report_metric(r, metric);
    int64_t users = report_info(r).users;
    int32_t k = atoi(strchr(got.name, '@') + 1);
    double sum = 0, square = 0;

    for (int64_t p = 0; p < users; p++) {
        int64_t user = atoll(ease_report_user_id(r, p));
        int32_t length = rank_all(m, input, user, list), held_out = 0;
        double value;

        length = keep_kind(m, info.among, list, length);
        for (int32_t i = 0; i < counted; i++) {
            wanted[i] = *cell(target, user, i) && is_of_kind(m, info.targets, i);
            held_out += wanted[i];
        }
        check(t, held_out > 0);
        value = naive_value(got.name, m, list, length, wanted, held_out);
        for (int32_t i = 0; i < k && i < length; i++)
            times[list[i].item]++;
        sum += value;
        square += value * value;
        if (!isnan(got.standard_error))
            check_near(t, ease_report_value(r, metric, p), value,
                       1e-12 * (1 + fabs(value)));
        else
            check(t, isnan(ease_report_value(r, metric, p)));
    }
    for (int32_t i = 0; i < n; i++)
        if (is_of_kind(m, info.among, i))
            times[catalog++] = times[i];
    if (strncmp(got.name, "gini", 4) == 0) {
        check_near(t, got.mean, naive_gini(times, catalog), 1e-12);
    } else if (strncmp(got.name, "cov", 3) == 0) {
        check_near(t, got.mean, ease__coverage(times, catalog), 0);
    } else {
        double mean = sum / (double)users;

        check_near(t, got.mean, mean, 1e-12 * (1 + mean));
        check_near(t, got.standard_error,
                   sqrt((square / (double)users - mean * mean) / (double)users),
                   1e-7 * (1 + mean));
    }
    free(list);
    free(times);
    free(wanted);
}

/* ---- evaluation --------------------------------------------------------------- */

enum { ITEMS = 40, STRANGE = 5, USERS = 150, LOG_BYTES = 4096 };

/* Items from ITEMS on are strange to the model. Of the users, 0 and 1 have nothing held
 * out, 2 and 3 have no input, 4 has strange items alone held out. */
typedef struct scene {
    dense train, input, target;
    ease_interactions *x, *y;
    ease_model *model;
} scene;

static scene make_scene(uint64_t seed)
{
    scene s = {.train = random_tastes(300, ITEMS, seed),
               .input = random_tastes(USERS, ITEMS + STRANGE, seed + 1),
               .target = dense_new(USERS, ITEMS + STRANGE)};
    ease__random r;

    ease__random_seed(&r, seed, 2);
    for (int64_t u = 0; u < USERS; u++)
        for (int32_t i = 0; i < s.input.items; i++) {
            bool out = ease__random_below(&r, 4) == 0;

            if (u < 2)
                out = false;
            if (u == 2 || u == 3)
                out = true;
            if (u == 4) {
                out = i >= ITEMS;
                *cell(&s.input, u, i) = out || i % 2;
            }
            if (u == 5) /* something to be found for everyone else */
                out = out || i == 7;
            *cell(&s.target, u, i) = out && *cell(&s.input, u, i);
            *cell(&s.input, u, i) = !out && *cell(&s.input, u, i);
        }
    s.model = trained(&s.train, 20);
    give_some_tags(s.model, seed % 2);
    s.x = shuffled(&s.input, seed);
    s.y = shuffled(&s.target, seed + 1);
    return s;
}

static void scene_free(scene *s)
{
    free(s->train.at);
    free(s->input.at);
    free(s->target.at);
    ease_interactions_free(s->x);
    ease_interactions_free(s->y);
    ease_model_free(s->model);
}

static void evaluation_equals_its_naive_twin(test *t)
{
    static const ease_storage storages[] = {EASE_STORE_F32, EASE_STORE_F16,
                                            EASE_STORE_PACKED};
    ease_eval_options o;

    ease_eval_options_init(&o);
    check_int(t, o.unknown, EASE_UNKNOWN_MISS);
    o.metrics = every_metric;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        scene s = make_scene(seed);
        ease_model *m = s.model;

        if (seed > 1) {
            const char *path = test_path("stored.ease");

            check_status(t, ease_model_save(m, path, storages[seed - 2], NULL, NULL),
                         EASE_OK);
            check_status(t, ease_model_open(path, NULL, &m, NULL), EASE_OK);
        }
        for (int how = EASE_UNKNOWN_MISS; how <= EASE_UNKNOWN_DROP; how++) {
            ease_report *r = NULL;

            o.unknown = (ease_unknown)how;
            check_status(t, ease_evaluate(m, s.x, s.y, &o, &r, NULL), EASE_OK);
            check_int(t, report_info(r).metrics, 20);
            check_int(t, report_info(r).unknown, how);
            for (int i = 0; i < 20; i++)
                check_metric(t, m, &s.input, &s.target, r, i);
            ease_report_free(r);
        }
        if (m != s.model)
            ease_model_free(m);
        scene_free(&s);
    }
}

/* A model in which every fifth item is cold: nobody has it, and most of these have
 * weights from their tags. */
static ease_model *trained_with_cold_items(const dense *d)
{
    dense warm = dense_new(d->users, d->items);
    ease_interactions *x;
    ease_train_options o;
    ease_tags *tags = some_tags(d->items, false);
    ease_model *m = NULL;

    for (int64_t u = 0; u < d->users; u++)
        for (int32_t i = 0; i < d->items; i++)
            *cell(&warm, u, i) = i % 5 != 2 && *cell(d, u, i);
    x = interactions_of(&warm);
    ease_train_options_init(&o);
    o.lambda = 20;
    o.tags = tags;
    o.tag_weight = 5;
    if (ease_train(x, &o, &m, NULL))
        abort();
    ease_tags_free(tags);
    ease_interactions_free(x);
    free(warm.at);
    return m;
}

static void check_kinds(test *t, const scene *s, const ease_model *m,
                        const ease_report *r)
{
    ease_report_info info = report_info(r);
    int64_t warm = 0, cold = 0, items = 0, users = 0;

    for (int64_t u = 0; u < USERS; u++) {
        int32_t held_out = 0;

        for (int32_t i = 0; i < counted_items(m, &s->target, info.unknown); i++) {
            bool out = *cell(&s->target, u, i);

            warm += out && is_of_kind(m, EASE_ITEMS_WARM, i);
            cold += out && is_of_kind(m, EASE_ITEMS_COLD, i);
            held_out += out && is_of_kind(m, info.targets, i);
        }
        users += held_out > 0;
    }
    for (int32_t i = 0; i < ITEMS; i++)
        items += is_of_kind(m, EASE_ITEMS_COLD, i);
    check_int(t, info.warm_targets, warm);
    check_int(t, info.cold_targets, cold);
    check_int(t, info.cold_items, items);
    check_int(t, info.users, users);
}

static void warm_and_cold_items_are_measured_apart(test *t)
{
    static const ease_eval_items kinds[][2] = {{EASE_ITEMS_ALL, EASE_ITEMS_ALL},
                                               {EASE_ITEMS_WARM, EASE_ITEMS_ALL},
                                               {EASE_ITEMS_WARM, EASE_ITEMS_WARM},
                                               {EASE_ITEMS_COLD, EASE_ITEMS_ALL},
                                               {EASE_ITEMS_COLD, EASE_ITEMS_COLD}};
    scene s = make_scene(12);
    ease_model *models[] = {trained_with_cold_items(&s.train), s.model};

    for (int i = 0; i < 2 * COUNT(kinds) * COUNT(models); i++) {
        const ease_model *m = models[i / 2 / COUNT(kinds)];
        ease_eval_options o;
        ease_report *r = NULL;
        ease_error err = {0};

        ease_eval_options_init(&o);
        check_int(t, o.targets, EASE_ITEMS_ALL);
        check_int(t, o.among, EASE_ITEMS_ALL);
        o.metrics = every_metric;
        o.unknown = (ease_unknown)(i % 2);
        o.targets = kinds[i / 2 % COUNT(kinds)][0];
        o.among = kinds[i / 2 % COUNT(kinds)][1];
        if (m == s.model && o.targets == EASE_ITEMS_COLD &&
            o.unknown == EASE_UNKNOWN_DROP) {
            check_status(t, ease_evaluate(m, s.x, s.y, &o, &r, &err), EASE_E_DATA);
            check_contains(t, err.text, "no user has a cold item held out that");
            continue;
        }
        if (!check_status(t, ease_evaluate(m, s.x, s.y, &o, &r, &err), EASE_OK)) {
            printf("  %s\n", err.text);
            continue;
        }
        check_int(t, report_info(r).targets, o.targets);
        check_int(t, report_info(r).among, o.among);
        check_kinds(t, &s, m, r);
        for (int k = 0; k < report_info(r).metrics; k++)
            if (m != s.model || o.among != EASE_ITEMS_COLD) /* no lists at all */
                check_metric(t, m, &s.input, &s.target, r, k);
            else
                check_near(t, report_metric(r, k).mean, 0, 0);
        ease_report_free(r);
    }
    ease_model_free(models[0]);
    scene_free(&s);
}

static void metrics_say_what_a_model_lacks(test *t)
{
    scene s = make_scene(3);
    ease_model *m = trained(&s.train, 20);
    ease_eval_options o;
    ease_report *r = NULL;
    ease_error err = {0};

    ease_eval_options_init(&o);
    o.metrics = "recall@5,diversity@7";
    check_status(t, ease_evaluate(m, s.x, s.y, &o, &r, &err), EASE_E_DATA);
    check_contains(t, err.text, "diversity@7 needs tags of items");
    check_contains(t, err.text, "--tags");
    m->info.users = -1; /* as from a Gram matrix without their number */
    o.metrics = "novelty@3";
    check_status(t, ease_evaluate(m, s.x, s.y, &o, &r, &err), EASE_E_DATA);
    check_contains(t, err.text, "novelty@3 needs the number of users");
    o.metrics = "popularity@3";
    check_status(t, ease_evaluate(m, s.x, s.y, &o, &r, &err), EASE_OK);
    ease_report_free(r);
    ease_model_free(m);
    scene_free(&s);
}

static void kinds_of_items_are_checked(test *t)
{
    static const int bad[][2] = {{3, 0},
                                 {-1, 0},
                                 {EASE_ITEMS_ALL, EASE_ITEMS_COLD},
                                 {EASE_ITEMS_WARM, EASE_ITEMS_COLD},
                                 {EASE_ITEMS_COLD, EASE_ITEMS_WARM}};
    ease_eval_options o;

    ease_eval_options_init(&o);
    for (int i = 0; i < COUNT(bad); i++) {
        o.targets = (ease_eval_items)bad[i][0];
        o.among = (ease_eval_items)bad[i][1];
        check_status(t, ease_eval_options_check(&o, NULL), EASE_E_ARG);
    }
}

/* What a report says of its users and items, by counting. */
static ease_report_info naive_info(const scene *s, ease_unknown how)
{
    int32_t counted = counted_items(s->model, &s->target, how);
    ease_report_info info = {.unknown = how, .metrics = 3};

    for (int64_t u = 0; u < USERS; u++) {
        int32_t known_in = 0, in = 0, held_out = 0, out = 0, strange = 0;

        for (int32_t i = 0; i < s->input.items; i++) {
            in += *cell(&s->input, u, i);
            out += *cell(&s->target, u, i);
            known_in += *cell(&s->input, u, i) && i < ITEMS;
            held_out += *cell(&s->target, u, i) && i < counted;
            strange += *cell(&s->target, u, i) && i >= ITEMS;
        }
        info.unknown_targets += strange;
        info.unknown_inputs += in - known_in;
        info.users += held_out > 0;
        info.without_target += held_out == 0 && (in || out);
        info.without_input += held_out > 0 && known_in == 0;
    }
    return info;
}

static void check_info(test *t, ease_report_info got, ease_report_info want)
{
    check_int(t, got.users, want.users);
    check_int(t, got.without_target, want.without_target);
    check_int(t, got.without_input, want.without_input);
    check_int(t, got.unknown_targets, want.unknown_targets);
    check_int(t, got.unknown, want.unknown);
    check_int(t, got.unknown_inputs, want.unknown_inputs);
    check_int(t, got.metrics, want.metrics);
}

static void what_is_left_out_is_counted(test *t)
{
    scene s = make_scene(9);
    ease_report_info miss = naive_info(&s, EASE_UNKNOWN_MISS);
    ease_report_info drop = naive_info(&s, EASE_UNKNOWN_DROP);
    ease_report *r = NULL;
    ease_eval_options o;
    int32_t k = 0;

    check(t, miss.users > drop.users && miss.without_target >= 2);
    check(t, miss.without_input >= 2 && miss.unknown_targets >= 5);
    check(t, miss.unknown_inputs > 0);
    ease_eval_options_init(&o);
    o.unknown = EASE_UNKNOWN_DROP;
    check_status(t, ease_evaluate(s.model, s.x, s.y, &o, &r, NULL), EASE_OK);
    check_info(t, report_info(r), drop);
    ease_report_free(r);
    check_status(t, ease_evaluate(s.model, s.x, s.y, NULL, &r, NULL), EASE_OK);
    check_info(t, report_info(r), miss);
    check_text(t, report_metric(r, 2).name, "ndcg@100");
    check(t, ease_report_times(r, &k) != NULL);
    check_int(t, k, 100);
    /* Every list holds the whole catalog less the input. */
    check_int(t, ease_report_times(r, NULL)[0] > 0, 1);
    ease_report_free(r);
    scene_free(&s);
}

/* Lines of the log, one after the other. */
static void remember_log(void *user, int level, const char *text)
{
    char *to = user;
    size_t used = strlen(to);

    snprintf(to + used, LOG_BYTES - used, "%d %s\n", level, text);
}

/* The log has "PART of ALL WHAT" as a warning. */
static void check_said(test *t, const char *log, int64_t part, int64_t all,
                       const char *what)
{
    char line[300];

    snprintf(line, sizeof(line), "1 %lld of %lld %s", (long long)part, (long long)all,
             what);
    check_contains(t, log, line);
}

static void unknown_items_are_said(test *t)
{
    static const char *const fate[] = {"they count as misses", "they are dropped"};
    scene s = make_scene(9);
    ease_report_info want = naive_info(&s, EASE_UNKNOWN_MISS);
    int64_t held_out = interactions_info(s.y).interactions;
    int64_t given = interactions_info(s.x).interactions;
    ease_eval_options o;

    ease_eval_options_init(&o);
    for (int how = EASE_UNKNOWN_MISS; how <= EASE_UNKNOWN_DROP; how++) {
        char log[LOG_BYTES] = "";
        ease_report *r = NULL;

        o.unknown = (ease_unknown)how;
        o.hooks = &(ease_hooks){.log = remember_log, .user = log};
        check_status(t, ease_evaluate(s.model, s.x, s.y, &o, &r, NULL), EASE_OK);
        check_said(t, log, want.unknown_targets, held_out, "held-out items");
        check_contains(t, log, fate[how]);
        check_said(t, log, want.unknown_inputs, given, "interactions of the input");
        ease_report_free(r);
    }
    scene_free(&s);
}

static bool is_no_metric(ease_metric m)
{
    return !m.name && isnan(m.mean) && isnan(m.standard_error);
}

static void what_a_report_does_not_have_is_nan_or_null(test *t)
{
    scene s = make_scene(9);
    ease_report *r = NULL;
    int64_t users;

    check_status(t, ease_evaluate(s.model, s.x, s.y, NULL, &r, NULL), EASE_OK);
    users = report_info(r).users;
    check(t, is_no_metric(report_metric(r, -1)));
    check(t, is_no_metric(report_metric(r, 3)));
    check(t, is_no_metric(report_metric(r, INT_MAX)));
    check(t, isnan(ease_report_value(r, -1, 0)));
    check(t, isnan(ease_report_value(r, 3, 0)));
    check(t, isnan(ease_report_value(r, INT_MIN, INT64_MIN)));
    check(t, isnan(ease_report_value(r, 0, -1)));
    check(t, isnan(ease_report_value(r, 0, users)));
    check(t, !isnan(ease_report_value(r, 2, users - 1)));
    check(t, ease_report_user_id(r, -1) == NULL);
    check(t, ease_report_user_id(r, users) == NULL);
    check(t, ease_report_user_id(r, INT64_MAX) == NULL);
    check(t, ease_report_user_id(r, users - 1) != NULL);
    ease_report_free(r);
    scene_free(&s);
}

static void without_anything_held_out_there_is_no_result(test *t)
{
    scene s = make_scene(3);
    ease_interactions *y;
    ease_report *r = NULL;
    ease_error err;

    for (int64_t u = 0; u < USERS; u++)
        for (int32_t i = 0; i < ITEMS; i++)
            *cell(&s.target, u, i) = false;
    *cell(&s.target, 8, ITEMS) = true;
    y = shuffled(&s.target, 1);
    check_status(t, ease_evaluate(s.model, s.x, y, NULL, &r, &err), EASE_E_DATA);
    check_contains(t, err.text, "held out");
    check(t, r == NULL);
    ease_interactions_free(y);
    scene_free(&s);
}

static void evaluation_refuses_what_it_cannot_use(test *t)
{
    scene s = make_scene(3);
    ease_eval_options o;
    ease_report *r = NULL;

    ease_eval_options_init(&o);
    check_status(t, ease_evaluate(NULL, s.x, s.y, &o, &r, NULL), EASE_E_ARG);
    check_status(t, ease_evaluate(s.model, NULL, s.y, &o, &r, NULL), EASE_E_ARG);
    check_status(t, ease_evaluate(s.model, s.x, NULL, &o, &r, NULL), EASE_E_ARG);
    check_status(t, ease_evaluate(s.model, s.x, s.y, &o, NULL, NULL), EASE_E_ARG);
    check_status(t, ease_eval_options_check(&o, NULL), EASE_OK);
    check_status(t, ease_eval_options_check(NULL, NULL), EASE_OK);
    o.metrics = "speed@3";
    check_status(t, ease_eval_options_check(&o, NULL), EASE_E_ARG);
    check_status(t, ease_evaluate(s.model, s.x, s.y, &o, &r, NULL), EASE_E_ARG);
    o.metrics = NULL;
    check_status(t, ease_evaluate(s.model, s.x, s.y, &o, &r, NULL), EASE_E_ARG);
    ease_eval_options_init(&o);
    o.unknown = (ease_unknown)2;
    check_status(t, ease_eval_options_check(&o, NULL), EASE_E_ARG);
    check_status(t, ease_evaluate(s.model, s.x, s.y, &o, &r, NULL), EASE_E_ARG);
    o = (ease_eval_options){.metrics = "hit@1"};
    check_status(t, ease_evaluate(s.model, s.x, s.y, &o, &r, NULL), EASE_E_ARG);
    check(t, r == NULL);
    scene_free(&s);
}

static void threads_do_not_change_a_bit(test *t)
{
    scene s = make_scene(5);
    ease_report *one = NULL;
    ease_eval_options o;

    ease_eval_options_init(&o);
    o.metrics = every_metric;
    for (int threads = 1; threads <= 5; threads += 2) {
        ease_report *r = NULL;

        o.threads = threads;
        check_status(t, ease_evaluate(s.model, s.x, s.y, &o, &r, NULL), EASE_OK);
        for (int i = 0; one && i < 16; i++) {
            ease_metric a = report_metric(one, i), b = report_metric(r, i);

            check(t, memcmp(&a.mean, &b.mean, sizeof(a.mean)) == 0);
            check(t, memcmp(&a.standard_error, &b.standard_error,
                            sizeof(a.standard_error)) == 0);
        }
        if (!one)
            one = r;
        else
            ease_report_free(r);
    }
    ease_report_free(one);
    scene_free(&s);
}

/* More users than a batch holds: with lists of 10,000 that is 419. */
static void batches_do_not_show(test *t)
{
    dense d = random_tastes(1000, 30, 11), in = dense_new(1000, 30),
          out = dense_new(1000, 30);
    ease_interactions *x, *y;
    ease_report *few = NULL, *many = NULL;
    ease_model *m = trained(&d, 5);
    ease_eval_options o;

    for (int64_t u = 0; u < 1000; u++)
        for (int32_t i = 0; i < 30; i++)
            *cell((i + u) % 3 ? &in : &out, u, i) = *cell(&d, u, i);
    x = interactions_of(&in);
    y = interactions_of(&out);
    ease_eval_options_init(&o);
    o.metrics = "ndcg@10,gini@10";
    check_status(t, ease_evaluate(m, x, y, &o, &few, NULL), EASE_OK);
    o.metrics = "ndcg@10,gini@10,hit@10000";
    check_status(t, ease_evaluate(m, x, y, &o, &many, NULL), EASE_OK);
    for (int i = 0; i < 2; i++)
        check_near(t, report_metric(few, i).mean, report_metric(many, i).mean, 0);
    check_near(t, report_metric(many, 2).mean, 1, 0);
    ease_report_free(few);
    ease_report_free(many);
    ease_interactions_free(x);
    ease_interactions_free(y);
    ease_model_free(m);
    free(d.at);
    free(in.at);
    free(out.at);
}

static int stop_at(void *user, const char *stage, double fraction)
{
    (void)stage;
    return fraction >= *(double *)user;
}

static void evaluation_can_be_cancelled(test *t)
{
    scene s = make_scene(6);
    ease_eval_options o;

    ease_eval_options_init(&o);
    for (double at = 0; at <= 1; at += 0.5) {
        ease_report *r = NULL;

        o.hooks = &(ease_hooks){.progress = stop_at, .user = &at};
        check_status(t, ease_evaluate(s.model, s.x, s.y, &o, &r, NULL),
                     EASE_E_CANCELLED);
        check(t, r == NULL);
    }
    scene_free(&s);
}

static void evaluation_survives_every_failed_allocation(test *t)
{
    scene s = make_scene(7);
    ease_eval_options o;
    ease_status status;
    int n = 0;

    ease_eval_options_init(&o);
    o.metrics = every_metric;
    o.threads = 1;
    o.targets = o.among = EASE_ITEMS_WARM;
    do {
        ease_report *r = NULL;

        alloc_fail_after(n++);
        status = ease_evaluate(s.model, s.x, s.y, &o, &r, NULL);
        alloc_fail_after(-1);
        check_int(t, r != NULL, status == EASE_OK);
        ease_report_free(r);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 15);
    scene_free(&s);
}

/* ---- the users' values as a file ---------------------------------------------- */

static char *slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);

    if (!f || fread(text, 1, (1 << 20) - 1, f) == 0)
        abort();
    fclose(f);
    return text;
}

static void the_values_of_users_are_written_exactly(test *t)
{
    scene s = make_scene(8);
    const char *path = test_path("users.csv");
    char *text, *line;
    ease_report *r = NULL;
    ease_eval_options o;
    ease_error err;

    ease_eval_options_init(&o);
    o.metrics = "ndcg@5,gini@5,popularity@3";
    check_status(t, ease_evaluate(s.model, s.x, s.y, &o, &r, NULL), EASE_OK);
    check_status(t, ease_report_write(r, path, NULL), EASE_OK);
    text = slurp(path);
    line = strtok(text, "\n");
    check_text(t, line, "user,ndcg@5,popularity@3");
    for (int64_t u = 0; u < report_info(r).users; u++) {
        char *end;

        line = strtok(NULL, "\n");
        if (!check(t, line != NULL))
            break;
        check_int(t, strncmp(line, ease_report_user_id(r, u), strcspn(line, ",")), 0);
        check_near(t, strtod(strchr(line, ',') + 1, &end), ease_report_value(r, 0, u),
                   0);
        check_near(t, strtod(end + 1, &end), ease_report_value(r, 2, u), 0);
        check_int(t, *end, 0);
    }
    check(t, strtok(NULL, "\n") == NULL);
    check_status(t, ease_report_write(r, test_path("no/such/place"), &err), EASE_E_IO);
    check_status(t, ease_report_write(r, "/dev/full", &err), EASE_E_IO);
    check_status(t, ease_report_write(r, NULL, &err), EASE_E_ARG);
    free(text);
    ease_report_free(r);
    scene_free(&s);
}

static void ids_of_users_are_quoted_where_needed(test *t)
{
    dense d = random_tastes(20, 5, 1);
    const char *in = test_path("in.csv"), *out = test_path("out.csv");
    ease_interactions *x = NULL, *y = NULL;
    ease_model *m = trained(&d, 5);
    ease_report *r = NULL;
    ease_eval_options o;
    char *text;

    test_write_text(in, "user,item\n\"a,b\",1\n\"say \"\"hi\"\"\",1\nplain,1\n");
    test_write_text(out, "user,item\n\"a,b\",2\n\"say \"\"hi\"\"\",3\nplain,4\n");
    check_status(t, ease_interactions_read(in, NULL, &x, NULL), EASE_OK);
    check_status(t, ease_interactions_read(out, NULL, &y, NULL), EASE_OK);
    ease_eval_options_init(&o);
    o.metrics = "hit@4";
    check_status(t, ease_evaluate(m, x, y, &o, &r, NULL), EASE_OK);
    check_status(t, ease_report_write(r, in, NULL), EASE_OK);
    text = slurp(in);
    check_text(t, text, "user,hit@4\n\"a,b\",1\n\"say \"\"hi\"\"\",1\nplain,1\n");
    free(text);
    ease_report_free(r);
    ease_interactions_free(x);
    ease_interactions_free(y);
    ease_model_free(m);
    free(d.at);
}

/* ---- Student and Holm --------------------------------------------------------- */

static void student_has_its_closed_forms(test *t)
{
    for (double x = 0.01; x < 2000; x *= 1.7) {
        double y = x / sqrt(3);

        check_near(t, ease__student_two_sided(x, 1), 1 - 2 / M_PI * atan(x), 1e-14);
        check_near(t, ease__student_two_sided(x, 2), 1 - x / sqrt(2 + x * x), 1e-14);
        check_near(t, ease__student_two_sided(x, 3),
                   1 - 2 / M_PI * (y / (1 + y * y) + atan(y)), 1e-14);
        check_near(t, ease__student_two_sided(-x, 3), ease__student_two_sided(x, 3), 0);
    }
    for (double p = 0.9; p > 1e-6; p /= 3) {
        check_near(t, ease__student_quantile(p, 1), 1 / tan(M_PI / 2 * p), 1e-13 / p);
        check_near(t, ease__student_quantile(p, 2), (1 - p) * sqrt(2 / (p * (2 - p))),
                   1e-13 / p);
        check_near(t, ease__student_two_sided(ease__student_quantile(p, 999), 999), p,
                   1e-12 * p);
    }
    /* From tables. */
    check_near(t, ease__student_two_sided(2, 10), 0.07338803477074039, 1e-14);
    check_near(t, ease__student_two_sided(1.96, 1e6), 0.04999606758526978, 1e-10);
    check_near(t, ease__student_quantile(0.05, 9), 2.262157163, 1e-9);
    check_near(t, ease__student_two_sided(0, 5), 1, 1e-15);
    check(t, isnan(ease__student_two_sided(NAN, 5)));
    check(t, ease__student_two_sided(1e4, 1000) >= 0);
}

/* A model of popularity whose list is `order`, of items 0 .. 4; then 5, which all users
 * have. */
static ease_model *model_ordering(const int *order)
{
    dense d = dense_new(10, 6);
    ease_interactions *x;
    ease_model *m = NULL;

    for (int k = 0; k < 5; k++)
        for (int64_t u = 0; u < 9 - k; u++)
            *cell(&d, u, order[k]) = true;
    *cell(&d, 0, 5) = true;
    x = interactions_of(&d);
    if (train_method(x, "popularity", NULL, &m, NULL))
        abort();
    ease_interactions_free(x);
    free(d.at);
    return m;
}

/* mrr@5 of users whose one held-out item is given. */
static ease_report *report_ordering(const int *order, const int *wanted, int64_t users)
{
    dense in = dense_new(users, 6), out = dense_new(users, 6);
    ease_interactions *x, *y;
    ease_model *m = model_ordering(order);
    ease_eval_options o;
    ease_report *r = NULL;

    for (int64_t u = 0; u < users; u++) {
        *cell(&in, u, 5) = true;
        *cell(&out, u, wanted[u]) = true;
    }
    x = interactions_of(&in);
    y = interactions_of(&out);
    ease_eval_options_init(&o);
    o.metrics = "mrr@5,coverage@5";
    if (ease_evaluate(m, x, y, &o, &r, NULL))
        abort();
    ease_interactions_free(x);
    ease_interactions_free(y);
    ease_model_free(m);
    free(in.at);
    free(out.at);
    return r;
}

static void a_comparison_is_the_paired_t_test(test *t)
{
    const int up[] = {0, 1, 2, 3, 4}, down[] = {3, 2, 1, 0, 4}, wanted[] = {0, 0, 1, 3};
    /* 1, 1, 1/2, 1/4 against 1/4, 1/4, 1/3, 1. */
    const double d[] = {-0.75, -0.75, -1 / 6.0, 0.75};
    const double mean = (d[0] + d[1] + d[2] + d[3]) / 4;
    double square = 0, error, x;
    ease_report *a = report_ordering(up, wanted, 4);
    ease_report *b = report_ordering(down, wanted, 4);
    const ease_report *both[] = {a, b};
    ease_difference got;

    for (int i = 0; i < 4; i++)
        square += (d[i] - mean) * (d[i] - mean);
    error = sqrt(square / 3 / 4);
    x = fabs(mean) / error / sqrt(3);
    check_status(t, ease_compare(both, 2, 0, &got, NULL), EASE_OK);
    check_near(t, got.mean, mean, 1e-15);
    check_near(t, got.standard_error, error, 1e-15);
    check_near(t, got.p, 1 - 2 / M_PI * (x / (1 + x * x) + atan(x)), 1e-14);
    check_near(t, got.p_holm, got.p, 0);
    check_near(t, got.low, mean - 3.182446305284263 * error, 1e-12);
    check_near(t, got.high, mean + 3.182446305284263 * error, 1e-12);
    ease_report_free(a);
    ease_report_free(b);
}

static void holm_corrects_the_smallest_most(test *t)
{
    const int order[5][5] = {{0, 1, 2, 3, 4},
                             {1, 0, 2, 3, 4},
                             {4, 3, 2, 1, 0},
                             {0, 1, 2, 3, 4},
                             {2, 3, 4, 1, 0}};
    const int wanted[] = {0, 0, 0, 1, 2, 0, 4, 1, 0, 0, 3, 0};
    ease_report *r[5];
    const ease_report *all[5];
    ease_difference d[4];

    for (int i = 0; i < 5; i++)
        all[i] = r[i] = report_ordering(order[i], wanted, COUNT(wanted));
    check_status(t, ease_compare(all, 5, 0, d, NULL), EASE_OK);
    /* By definition: the largest of (number of those not smaller) p, up to this one. */
    for (int i = 0; i < 4; i++) {
        double want = 0;

        for (int j = 0; j < 4; j++) {
            int left = 0;

            if (d[j].p > d[i].p)
                continue;
            for (int k = 0; k < 4; k++)
                left += d[k].p >= d[j].p;
            want = fmax(want, fmin(1, left * d[j].p));
        }
        check_near(t, d[i].p_holm, want, 1e-15);
    }
    /* The same model again: no difference at all. */
    check_near(t, d[2].mean, 0, 0);
    check_near(t, d[2].p, 1, 0);
    check_near(t, d[2].p_holm, 1, 0);
    check_near(t, d[2].low, 0, 0);
    for (int i = 0; i < 5; i++)
        ease_report_free(r[i]);
}

/* With item 7 held out from everyone, both ways have the same users. */
static void only_what_counts_in_one_way_is_compared(test *t)
{
    scene s = make_scene(9);
    const ease_report *both[2];
    ease_report *r[2] = {NULL, NULL};
    ease_eval_options o;
    ease_difference d;
    ease_error err = {0};

    for (int64_t u = 0; u < USERS; u++) {
        *cell(&s.target, u, 7) = true;
        *cell(&s.input, u, 7) = false;
    }
    ease_interactions_free(s.x);
    ease_interactions_free(s.y);
    s.x = shuffled(&s.input, 1);
    s.y = shuffled(&s.target, 2);
    ease_eval_options_init(&o);
    for (int how = EASE_UNKNOWN_MISS; how <= EASE_UNKNOWN_DROP; how++) {
        o.unknown = (ease_unknown)how;
        check_status(t, ease_evaluate(s.model, s.x, s.y, &o, &r[how], NULL), EASE_OK);
        check_int(t, report_info(r[how]).users, USERS);
        both[how] = r[how];
    }
    check_status(t, ease_compare(both, 2, 0, &d, &err), EASE_E_ARG);
    check_contains(t, err.text, "unknown");
    both[1] = both[0];
    check_status(t, ease_compare(both, 2, 0, &d, &err), EASE_OK);
    o.unknown = EASE_UNKNOWN_MISS;
    for (int among = EASE_ITEMS_ALL; among <= EASE_ITEMS_WARM; among++) {
        ease_report_free(r[1]);
        r[1] = NULL;
        o.targets = EASE_ITEMS_WARM;
        o.among = (ease_eval_items)among;
        check_status(t, ease_evaluate(s.model, s.x, s.y, &o, &r[1], NULL), EASE_OK);
        check_int(t, report_info(r[1]).users, USERS);
        both[1] = r[1];
        check_status(t, ease_compare(both, 2, 0, &d, &err), EASE_E_ARG);
        check_contains(t, err.text, "kinds of items");
    }
    ease_report_free(r[0]);
    ease_report_free(r[1]);
    scene_free(&s);
}

static void only_the_same_users_are_compared(test *t)
{
    const int up[] = {0, 1, 2, 3, 4}, wanted[] = {0, 1, 2, 3};
    ease_report *four = report_ordering(up, wanted, 4);
    ease_report *three = report_ordering(up, wanted, 3);
    ease_report *one = report_ordering(up, wanted, 1);
    const ease_report *r[] = {four, three}, *single[] = {one, one};
    const ease_report *same[] = {four, four};
    const ease_report *none[] = {NULL, four}, *half[] = {four, NULL};
    ease_difference d;
    ease_error err;

    check_status(t, ease_compare(r, 2, 0, &d, &err), EASE_E_ARG);
    check_contains(t, err.text, "users");
    check_status(t, ease_compare(same, 2, 1, &d, &err), EASE_E_ARG);
    check_contains(t, err.text, "coverage@5");
    check_status(t, ease_compare(same, 2, 2, &d, NULL), EASE_E_ARG);
    check_status(t, ease_compare(same, 2, -1, &d, NULL), EASE_E_ARG);
    check_status(t, ease_compare(same, 1, 0, &d, NULL), EASE_E_ARG);
    check_status(t, ease_compare(NULL, 2, 0, &d, NULL), EASE_E_ARG);
    check_status(t, ease_compare(none, 2, 0, &d, NULL), EASE_E_ARG);
    check_status(t, ease_compare(half, 2, 0, &d, &err), EASE_E_ARG);
    check_contains(t, err.text, "report 2 of 2");
    check_status(t, ease_compare(same, 2, 0, NULL, NULL), EASE_E_ARG);
    check_status(t, ease_compare(single, 2, 0, &d, NULL), EASE_E_DATA);
    ease_report_free(four);
    ease_report_free(three);
    ease_report_free(one);
}

/* ---- tuning ------------------------------------------------------------------- */

typedef struct watch {
    int trials;     /* told to the log */
    int left_out;   /* warnings */
    int counted;    /* times that counting began */
    int stop_after; /* trials; -1: never */
    const char *stage;
    ease_hooks hooks;         /* that tell it all this, ... */
    ease_train_options train; /* ... and what is tuned with them */
} watch;

static void watch_log(void *user, int level, const char *text)
{
    watch *w = user;

    w->trials += level == 2 && strstr(text, "lambda ") == text;
    w->left_out += level == 1 && strstr(text, "left out") != NULL;
}

static int watch_progress(void *user, const char *stage, double fraction)
{
    watch *w = user;

    (void)fraction;
    if (stage != w->stage && strcmp(stage, "counting pairs") == 0)
        w->counted++;
    w->stage = stage;
    return w->stop_after >= 0 && w->trials >= w->stop_after;
}

static ease_tune_options tune_options(watch *w)
{
    ease_tune_options o;

    *w = (watch){.stop_after = -1, .hooks = {watch_log, watch_progress, w}};
    ease_train_options_init(&w->train);
    w->train.threads = 1;
    w->train.hooks = &w->hooks;
    ease_tune_options_init(&o);
    o.train = &w->train;
    o.metric = "ndcg@10";
    return o;
}

typedef struct split {
    ease_interactions *train, *input, *target;
} split;

/* Noisy enough for a best lambda between the ends. */
static split make_split(void)
{
    dense d = random_tastes(120, 40, 21), in = random_tastes(100, 40, 22),
          out = dense_new(100, 40);
    split s;

    for (int64_t u = 0; u < 100; u++)
        for (int32_t i = 0; i < 40; i++)
            if ((i * 7 + u) % 3 == 0) {
                *cell(&out, u, i) = *cell(&in, u, i);
                *cell(&in, u, i) = false;
            }
    s = (split){interactions_of(&d), interactions_of(&in), interactions_of(&out)};
    free(d.at);
    free(in.at);
    free(out.at);
    return s;
}

static void split_free(split *s)
{
    ease_interactions_free(s->train);
    ease_interactions_free(s->input);
    ease_interactions_free(s->target);
}

static void check_same_weights(test *t, const ease_model *a, const ease_model *b)
{
    int32_t n = model_info(a).items;
    float x[64], y[64];

    check_int(t, model_info(b).items, n);
    check_near(t, model_info(a).lambda, model_info(b).lambda, 0);
    for (int32_t i = 0; i < n; i++) {
        check_status(t, ease_model_row(a, i, x, NULL), EASE_OK);
        check_status(t, ease_model_row(b, i, y, NULL), EASE_OK);
        check(t, memcmp(x, y, (size_t)n * sizeof(float)) == 0);
    }
}

static void a_grid_measures_what_training_gives(test *t)
{
    static const double grid[] = {1000, 1, 30, 30, 0.5};
    split s = make_split();
    ease_tuning *tuned = NULL;
    watch w;
    ease_tune_options o = tune_options(&w);

    o.lambdas = grid;
    o.count = COUNT(grid);
    w.train.method = "ease-nonneg";
    check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL), EASE_OK);
    check_int(t, ease_tuning_count(tuned), 4);
    check_int(t, ease_tuning_stopped(tuned), 0);
    check_int(t, w.trials, 4);
    check_int(t, w.counted, 1);
    for (int i = 0; i < 4; i++) {
        ease_trial trial = tuning_trial(tuned, i);
        ease_eval_options e;
        ease_report *r = NULL;
        ease_model *m = NULL;

        w.train.lambda = trial.lambda;
        ease_eval_options_init(&e);
        e.metrics = "ndcg@10";
        check(t, i == 0 || tuning_trial(tuned, i - 1).lambda < trial.lambda);
        check_status(t, train_method(s.train, "ease-nonneg", &w.train, &m, NULL),
                     EASE_OK);
        check_status(t, ease_evaluate(m, s.input, s.target, &e, &r, NULL), EASE_OK);
        check_near(t, trial.mean, report_metric(r, 0).mean, 0);
        check_near(t, trial.standard_error, report_metric(r, 0).standard_error, 0);
        check(t, trial.mean <= tuning_trial(tuned, ease_tuning_best(tuned)).mean);
        ease_report_free(r);
        ease_model_free(m);
    }
    ease_tuning_free(tuned);
    split_free(&s);
}

static bool is_no_trial(ease_trial trial)
{
    return isnan(trial.lambda) && !trial.settings && isnan(trial.mean) &&
           isnan(trial.standard_error) && isnan(trial.seconds);
}

static void a_trial_that_was_not_made_is_nan(test *t)
{
    static const double grid[] = {1000, 1};
    split s = make_split();
    ease_tuning *tuned = NULL;
    watch w;
    ease_tune_options o = tune_options(&w);

    o.lambdas = grid;
    o.count = COUNT(grid);
    check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL), EASE_OK);
    check(t, is_no_trial(tuning_trial(tuned, -1)));
    check(t, is_no_trial(tuning_trial(tuned, 2)));
    check(t, is_no_trial(tuning_trial(tuned, INT_MAX)));
    check(t, !is_no_trial(tuning_trial(tuned, 1)));
    ease_tuning_free(tuned);
    split_free(&s);
}

static void of_equal_lambdas_the_largest_is_best(test *t)
{
    static const double grid[] = {1e7, 1e8, 1e6};
    dense d = dense_new(30, 3), in = dense_new(2, 3), out = dense_new(2, 3);
    split s;
    ease_tuning *tuned = NULL;
    watch w;
    ease_tune_options o = tune_options(&w);

    for (int64_t u = 0; u < 30; u++)
        *cell(&d, u, (int32_t)(u % 3)) = *cell(&d, u, (int32_t)((u + 1) % 3)) = true;
    for (int64_t u = 0; u < 2; u++)
        *cell(&in, u, 0) = *cell(&out, u, 1) = true;
    s = (split){interactions_of(&d), interactions_of(&in), interactions_of(&out)};
    o.lambdas = grid;
    o.count = 3;
    check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL), EASE_OK);
    check_near(t, tuning_trial(tuned, ease_tuning_best(tuned)).lambda, 1e8, 0);
    ease_tuning_free(tuned);
    split_free(&s);
    free(d.at);
    free(in.at);
    free(out.at);
}

static bool was_tried(const ease_tuning *t, double low, double high)
{
    for (int i = 0; i < ease_tuning_count(t); i++) {
        double lambda = tuning_trial(t, i).lambda;

        if (lambda >= low && lambda <= high)
            return true;
    }
    return false;
}

static void the_search_brackets_the_best(test *t)
{
    split s = make_split();
    ease_tuning *tuned = NULL;
    ease_trial best = {.size = sizeof(best)};
    watch w;
    ease_tune_options o = tune_options(&w);

    check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL), EASE_OK);
    check_int(t, w.counted, 1);
    check_int(t, w.trials, ease_tuning_count(tuned));
    check_int(t, ease_tuning_stopped(tuned), 0);
    best = tuning_trial(tuned, ease_tuning_best(tuned));
    check(t, best.lambda > 1e-5 && best.lambda < 1e8);
    /* The neighbours at an eighth and at a decade. */
    check(t, was_tried(tuned, best.lambda / 1.36, best.lambda / 1.31));
    check(t, was_tried(tuned, best.lambda * 1.31, best.lambda * 1.36));
    check(t, tuning_trial(tuned, 0).lambda < best.lambda / 2);
    check(t,
          tuning_trial(tuned, ease_tuning_count(tuned) - 1).lambda > best.lambda * 2);
    for (int i = 0; i < ease_tuning_count(tuned); i++) {
        double lambda = tuning_trial(tuned, i).lambda;
        char text[32];

        snprintf(text, sizeof(text), "%.3g", lambda);
        check(t, strtod(text, NULL) == lambda);
        check(t, i == 0 || lambda > tuning_trial(tuned, i - 1).lambda);
    }
    ease_tuning_free(tuned);
    split_free(&s);
}

static void the_best_is_trained_from_the_matrix_at_hand(test *t)
{
    split s = make_split();
    ease_tuning *tuned = NULL;
    ease_model *m = NULL, *again = NULL;
    watch w;
    ease_tune_options o = tune_options(&w);

    for (int nonnegative = 0; nonnegative < 2; nonnegative++) {
        w.train.method = method_name(nonnegative);
        check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL),
                     EASE_OK);
        check_status(t, ease_tuning_train(tuned, NULL, &m, NULL), EASE_OK);
        check_text(t, model_info(m).method, w.train.method);
        w.train.lambda = tuning_trial(tuned, ease_tuning_best(tuned)).lambda;
        check_status(t, train_method(s.train, w.train.method, &w.train, &again, NULL),
                     EASE_OK);
        check_same_weights(t, m, again);
        ease_model_free(m);
        ease_model_free(again);
        m = NULL;
        check_status(t, ease_tuning_train(tuned, NULL, &m, NULL), EASE_E_ARG);
        check(t, m == NULL);
        ease_tuning_free(tuned);
        tuned = NULL;
    }
    split_free(&s);
}

static void tuning_ends_when_time_is_over(test *t)
{
    split s = make_split();
    ease_tuning *tuned = NULL;
    watch w;
    ease_tune_options o = tune_options(&w);

    o.seconds = 1e-9;
    check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL), EASE_OK);
    check_int(t, ease_tuning_count(tuned), 1);
    check_int(t, ease_tuning_stopped(tuned), 1);
    check_near(t, tuning_trial(tuned, 0).lambda, 100, 0);
    ease_tuning_free(tuned);
    o.seconds = 1e9;
    check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL), EASE_OK);
    check_int(t, ease_tuning_stopped(tuned), 0);
    ease_tuning_free(tuned);
    split_free(&s);
}

static void a_cancelled_tuning_keeps_the_best_so_far(test *t)
{
    split s = make_split();
    ease_tuning *tuned = NULL;
    ease_model *m = NULL;
    watch w;
    ease_tune_options o = tune_options(&w);

    for (int after = 1; after <= 4; after += 3) {
        w.trials = 0;
        w.stop_after = after;
        check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL),
                     EASE_OK);
        check_int(t, ease_tuning_count(tuned), after);
        check_int(t, ease_tuning_stopped(tuned), 1);
        check_status(t, ease_tuning_train(tuned, NULL, &m, NULL), EASE_OK);
        ease_model_free(m);
        ease_tuning_free(tuned);
        tuned = NULL;
    }
    w.trials = w.stop_after = 0;
    check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL),
                 EASE_E_CANCELLED);
    check(t, tuned == NULL);
    split_free(&s);
}

/* Every item has a twin, so that only lambda makes the matrix definite. */
static void a_lambda_that_cannot_be_solved_with_is_left_out(test *t)
{
    static const double grid[] = {10, 1e-30, 1e-35, 0.001, 1};
    dense d = random_tastes(60, 20, 5), in = random_tastes(30, 20, 6),
          out = dense_new(30, 20);
    split s;
    ease_tuning *tuned = NULL;
    ease_model *m = NULL;
    watch w;
    ease_tune_options o = tune_options(&w);

    for (int64_t u = 0; u < 60; u++)
        for (int32_t i = 0; i < 20; i += 2)
            *cell(&d, u, i + 1) = *cell(&d, u, i);
    for (int64_t u = 0; u < 30; u++)
        for (int32_t i = 0; i < 20; i += 3) {
            *cell(&out, u, i) = *cell(&in, u, i);
            *cell(&in, u, i) = false;
        }
    s = (split){interactions_of(&d), interactions_of(&in), interactions_of(&out)};
    o.lambdas = grid;
    o.count = COUNT(grid);
    check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL), EASE_OK);
    check_int(t, ease_tuning_count(tuned), 3);
    check_int(t, w.left_out, 1);
    check_near(t, tuning_trial(tuned, 0).lambda, 0.001, 0);
    ease_tuning_free(tuned);
    tuned = NULL;
    /* What took float64 in the trial takes it again in the end. */
    o.lambdas = grid + 3;
    o.count = 1;
    check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL), EASE_OK);
    check_status(t, ease_tuning_train(tuned, NULL, &m, NULL), EASE_OK);
    check_int(t, model_info(m).precision, EASE_F64);
    ease_model_free(m);
    ease_tuning_free(tuned);
    tuned = NULL;
    /* Nothing is left. */
    o.lambdas = grid + 1;
    o.count = 2;
    check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL),
                 EASE_E_NOT_POSDEF);
    check(t, tuned == NULL);
    split_free(&s);
    free(d.at);
    free(in.at);
    free(out.at);
}

static double mean_of(const ease_model *m, const scene *s, ease_unknown how)
{
    ease_eval_options o;
    ease_report *r = NULL;
    double mean = NAN;

    ease_eval_options_init(&o);
    o.metrics = "ndcg@10";
    o.unknown = how;
    if (ease_evaluate(m, s->x, s->y, &o, &r, NULL) == EASE_OK)
        mean = report_metric(r, 0).mean;
    ease_report_free(r);
    return mean;
}

static int lines_with(const char *log, const char *text)
{
    int count = 0;

    for (const char *at = log; (at = strstr(at, text)); at++)
        count++;
    return count;
}

/* By lambda, and by a grid of settings. */
static void trials_count_unknown_items_as_told(test *t)
{
    static const double lambdas[] = {10, 20};
    static const char *const methods[] = {"ease", "item-item"};
    scene s = make_scene(9);
    ease_interactions *x = interactions_of(&s.train);
    int64_t strange = naive_info(&s, EASE_UNKNOWN_MISS).unknown_targets;

    for (int i = 0; i < 4; i++) {
        ease_unknown how = (ease_unknown)(i / 2);
        char log[LOG_BYTES] = "";
        ease_tuning *tuned = NULL;
        ease_model *m = NULL;
        ease_hooks hooks = {.log = remember_log, .user = log};
        ease_train_options train;
        ease_tune_options o;

        ease_train_options_init(&train);
        train.method = methods[i % 2];
        train.hooks = &hooks;
        ease_tune_options_init(&o);
        check_int(t, o.unknown, EASE_UNKNOWN_MISS);
        o.train = &train;
        o.lambdas = i % 2 ? NULL : lambdas;
        o.count = i % 2 ? 0 : 2;
        o.grid = i % 2 ? "neighbours=2|5" : NULL;
        o.metric = "ndcg@10";
        o.unknown = how;
        check_status(t, ease_tune(x, s.x, s.y, &o, &tuned, NULL), EASE_OK);
        check_int(t, ease_tuning_count(tuned), 2);
        check_int(t, ease_tuning_unknown_targets(tuned), strange);
        check_int(t, lines_with(log, "held-out items"), 1);
        check_status(t, ease_tuning_train(tuned, NULL, &m, NULL), EASE_OK);
        check_near(t, tuning_trial(tuned, ease_tuning_best(tuned)).mean,
                   mean_of(m, &s, how), 1e-15);
        check(t, mean_of(m, &s, EASE_UNKNOWN_MISS) < mean_of(m, &s, EASE_UNKNOWN_DROP));
        ease_model_free(m);
        ease_tuning_free(tuned);
    }
    ease_interactions_free(x);
    scene_free(&s);
}

static void tuning_refuses_what_it_cannot_use(test *t)
{
    static const double bad[] = {10, 0};
    split s = make_split();
    ease_tuning *tuned = NULL;
    ease_model *m = NULL;
    watch w;
    ease_tune_options good = tune_options(&w), o[17];
    ease_train_options train[COUNT(o)];

    for (int i = 0; i < COUNT(o); i++) {
        o[i] = good;
        train[i] = w.train;
        o[i].train = &train[i];
    }
    train[0].settings = "rank=3";
    train[1].method = "none such";
    train[2].size = 0;
    o[3].metric = "coverage@10";
    o[4].metric = "hit@3,ndcg@10";
    o[5].metric = NULL;
    o[6].lambdas = bad;
    o[6].count = 2;
    o[7].lambdas = bad;
    o[7].count = 0;
    o[8].size = 0;
    o[9].grid = "lambda=1|2";
    o[16].unknown = (ease_unknown)-1;
    for (int i = 10; i < 16; i++)
        train[i].method = "wmf";
    o[10].lambdas = bad;
    o[10].count = 1;
    o[11].grid = "rank=4|x";
    o[12].grid = "rank=4|0";
    o[13].grid = "rank=4|4";
    train[14].settings = "ranks=4";
    o[15].grid = "rank=4|8";
    train[15].settings = "rank=4";
    for (int i = 0; i < COUNT(o); i++)
        if (!check_status(t, ease_tune(s.train, s.input, s.target, &o[i], &tuned, NULL),
                          EASE_E_ARG))
            printf("  %d\n", i);
    check_status(t, ease_tune(NULL, s.input, s.target, &good, &tuned, NULL),
                 EASE_E_ARG);
    check_status(t, ease_tune(s.train, s.input, s.target, NULL, &tuned, NULL),
                 EASE_E_ARG);
    check_status(t, ease_tuning_train(NULL, NULL, &m, NULL), EASE_E_ARG);
    w.train.memory_limit = 1000;
    check_status(t, ease_tune(s.train, s.input, s.target, &good, &tuned, NULL),
                 EASE_E_MEMORY_LIMIT);
    check(t, tuned == NULL && m == NULL);
    split_free(&s);
}

/* ---- tuning settings ---------------------------------------------------------- */

static ease_tune_options grid_options(watch *w, const char *method, const char *grid)
{
    ease_tune_options o = tune_options(w);

    w->train.method = method;
    o.grid = grid;
    return o;
}

static double measured(const ease_model *m, const split *s, const char *metric)
{
    ease_eval_options e;
    ease_report *r = NULL;
    double mean = -1;

    ease_eval_options_init(&e);
    e.metrics = metric;
    if (ease_evaluate(m, s->input, s->target, &e, &r, NULL) == EASE_OK)
        mean = report_metric(r, 0).mean;
    ease_report_free(r);
    return mean;
}

/* Every method over a grid of its own, with what a user would do by hand. */
static void every_point_measures_what_training_gives(test *t)
{
    static const struct {
        const char *method, *grid, *fixed;
        int points;
    } cases[] = {
        {"popularity", NULL, NULL, 1},
        {"item-item", "similarity=cosine|jaccard,neighbours=3|20", "shrinkage=2", 4},
        {"slim", "l1=0.1|1,l2=1|10", NULL, 4},
        {"slim-free", "l1=1,l2=1|10", NULL, 2},
        {"wmf", "rank=2|4,lambda=1|10", "iterations=3", 4},
        {"ii-svd", "neighbours=10|20,rank=4", NULL, 2},
        {"cdae", "decay=0.001|0.1", "epochs=4,hidden=4,rate=0.1", 2},
        {"mult-dae", "decay=0.001|0.1", "epochs=4,hidden=4,rate=0.1", 2},
        {"mult-vae", "cap=0|1", "epochs=4,hidden=4,latent=2,rate=0.1", 2},
    };
    split s = make_split();

    for (int i = 0; i < COUNT(cases); i++) {
        ease_tuning *tuned = NULL;
        ease_model *best = NULL;
        watch w;
        ease_tune_options o = grid_options(&w, cases[i].method, cases[i].grid);

        w.train.settings = cases[i].fixed;
        check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL),
                     EASE_OK);
        check_int(t, ease_tuning_count(tuned), cases[i].points);
        check_int(t, ease_tuning_stopped(tuned), 0);
        for (int k = 0; k < ease_tuning_count(tuned); k++) {
            ease_trial trial = tuning_trial(tuned, k);
            ease_train_options by_hand;
            ease_model *m = NULL;

            ease_train_options_init(&by_hand);
            by_hand.settings = trial.settings;
            by_hand.threads = 2;
            check_status(t, train_method(s.train, cases[i].method, &by_hand, &m, NULL),
                         EASE_OK);
            check_near(t, measured(m, &s, "ndcg@10"), trial.mean, 0);
            check(t, trial.mean <= tuning_trial(tuned, ease_tuning_best(tuned)).mean);
            ease_model_free(m);
        }
        check_status(t, ease_tuning_train(tuned, NULL, &best, NULL), EASE_OK);
        check_near(t, measured(best, &s, "ndcg@10"),
                   tuning_trial(tuned, ease_tuning_best(tuned)).mean, 0);
        ease_model_free(best);
        best = NULL;
        check_status(t, ease_tuning_train(tuned, NULL, &best, NULL), EASE_E_ARG);
        ease_tuning_free(tuned);
    }
    split_free(&s);
}

static void trials_are_in_the_order_of_the_grid(test *t)
{
    static const char *const wanted[] = {
        "similarity=cosine,neighbours=5", "similarity=jaccard,neighbours=5",
        "similarity=cosine,neighbours=9", "similarity=jaccard,neighbours=9"};
    split s = make_split();
    ease_tuning *tuned = NULL;
    watch w;
    ease_tune_options o = grid_options(&w, "item-item",
                                       "neighbours=5|9,similarity=cosine|jaccard");

    check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL), EASE_OK);
    for (int i = 0; i < COUNT(wanted); i++)
        check_text(t, tuning_trial(tuned, i).settings, wanted[i]);
    ease_tuning_free(tuned);
    tuned = NULL;
    /* What is fixed is no part of a method's own grid: 3 x 6 points are left. */
    o.grid = NULL;
    w.train.settings = "shrinkage=1";
    check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL), EASE_OK);
    check_int(t, ease_tuning_count(tuned), 18);
    ease_tuning_free(tuned);
    split_free(&s);
}

static void a_point_that_cannot_be_trained_is_left_out(test *t)
{
    split s = make_split();
    ease_tuning *tuned = NULL;
    watch w;
    ease_tune_options o = grid_options(&w, "wmf", "rank=4000|4");

    check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL), EASE_OK);
    check_int(t, ease_tuning_count(tuned), 1);
    check_int(t, w.left_out, 1);
    check_text(t, tuning_trial(tuned, 0).settings, "rank=4");
    ease_tuning_free(tuned);
    tuned = NULL;
    o.grid = "rank=4000|5000";
    check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL),
                 EASE_E_ARG);
    check(t, tuned == NULL);
    split_free(&s);
}

/* In the middle of a training by epochs: what was reached counts, and can be had
 * again. */
static int stop_late(void *user, const char *stage, double fraction)
{
    (void)user;
    return strcmp(stage, "training") == 0 && fraction > 0.6;
}

/* The least limit that training passes. */
static size_t least_limit(const split *s, const char *method, ease_train_options o)
{
    size_t low = 1, high = (size_t)1 << 30;

    while (low < high) {
        ease_model *m = NULL;

        o.memory_limit = low + (high - low) / 2;
        if (train_method(s->train, method, &o, &m, NULL) == EASE_OK)
            high = o.memory_limit;
        else
            low = o.memory_limit + 1;
        ease_model_free(m);
    }
    return low;
}

static void the_best_so_far_counts_as_memory(test *t)
{
    static const struct {
        const char *method, *settings, *grid;
    } cases[] = {{"item-item", "neighbours=8", "shrinkage=1|10"},
                 {"wmf", "rank=4,iterations=1", "alpha=1|10"}};
    split s = make_split();

    for (int i = 0; i < COUNT(cases); i++) {
        ease_tuning *tuned = NULL;
        ease_model *m = NULL;
        watch w;
        ease_tune_options o = grid_options(&w, cases[i].method, cases[i].grid);
        size_t least;

        w.train.settings = cases[i].settings;
        w.train.threads = 1;
        least = least_limit(&s, cases[i].method, w.train);
        w.train.memory_limit = least;
        check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL),
                     EASE_OK);
        check_int(t, ease_tuning_count(tuned), 1);
        check_int(t, w.left_out, 1);
        check_status(t, ease_tuning_train(tuned, NULL, &m, NULL), EASE_OK);
        ease_tuning_free(tuned);
        tuned = NULL;
        w.train.memory_limit = least + ease__model_held(m);
        check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL),
                     EASE_OK);
        check_int(t, ease_tuning_count(tuned), 2);
        ease_model_free(m);
        ease_tuning_free(tuned);
    }
    split_free(&s);
}

static void a_tuning_can_forget_its_model(test *t)
{
    static const double lambda = 10;
    split s = make_split();

    for (int i = 0; i < 2; i++) {
        ease_tuning *tuned = NULL;
        ease_model *m = NULL;
        watch w;
        ease_tune_options o = grid_options(&w, i ? "popularity" : "ease", NULL);

        o.lambdas = i ? NULL : &lambda;
        o.count = i ? 0 : 1;
        check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL),
                     EASE_OK);
        ease_tuning_forget(tuned);
        check_status(t, ease_tuning_train(tuned, NULL, &m, NULL), EASE_E_ARG);
        check(t, tuning_trial(tuned, ease_tuning_best(tuned)).mean > 0);
        ease_tuning_free(tuned);
    }
    ease_tuning_forget(NULL);
    split_free(&s);
}

static void a_stopped_network_is_a_trial_of_the_epochs_it_had(test *t)
{
    split s = make_split();
    ease_tuning *tuned = NULL;
    ease_model *m = NULL, *again = NULL;
    ease_train_options by_hand;
    watch w;
    ease_tune_options o = grid_options(&w, "mult-dae", "decay=0.1|0.01");

    w.train.settings = "epochs=10,hidden=4,batch=40";
    w.hooks = (ease_hooks){.progress = stop_late};
    check_status(t, ease_tune(s.train, s.input, s.target, &o, &tuned, NULL), EASE_OK);
    check_int(t, ease_tuning_count(tuned), 1);
    check_int(t, ease_tuning_stopped(tuned), 1);
    check_status(t, ease_tuning_train(tuned, NULL, &m, NULL), EASE_OK);
    ease_train_options_init(&by_hand);
    by_hand.settings = tuning_trial(tuned, 0).settings;
    check(t, strstr(by_hand.settings, "epochs=10") == NULL);
    check_status(t, train_method(s.train, "mult-dae", &by_hand, &again, NULL), EASE_OK);
    check_near(t, measured(m, &s, "ndcg@10"), measured(again, &s, "ndcg@10"), 0);
    check_text(t, model_info(m).settings, model_info(again).settings);
    ease_model_free(m);
    ease_model_free(again);
    ease_tuning_free(tuned);
    split_free(&s);
}

static void tuning_settings_survives_every_failed_allocation(test *t)
{
    split s = make_split();
    ease_status status;
    int n = 0;

    do {
        ease_tuning *tuned = NULL;
        ease_model *m = NULL;
        watch w;
        ease_tune_options o = grid_options(&w, "item-item", "neighbours=5|9");

        alloc_fail_after(n++);
        status = ease_tune(s.train, s.input, s.target, &o, &tuned, NULL);
        if (!status)
            status = ease_tuning_train(tuned, NULL, &m, NULL);
        alloc_fail_after(-1);
        check_int(t, m != NULL, status == EASE_OK);
        ease_model_free(m);
        ease_tuning_free(tuned);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    split_free(&s);
}

static void settings_can_be_checked_before_there_are_data(test *t)
{
    static const struct {
        const char *method, *settings, *text;
    } cases[] = {
        {"wmf", "rank=0", "rank: a whole number from 1"},
        {"wmf", "ranks=1", "wmf has no setting 'ranks'"},
        {"ease", "rank=1", "ease has no setting"},
        {"none", NULL, "no method 'none'"},
    };

    for (int i = 0; i < COUNT(cases); i++) {
        ease_error err = {0};

        check_status(t, ease_method_check(cases[i].method, cases[i].settings, &err),
                     EASE_E_ARG);
        check_contains(t, err.text, cases[i].text);
    }
    check_status(t, ease_method_check(NULL, NULL, NULL), EASE_E_ARG);
    check_status(t, ease_method_check("ease", NULL, NULL), EASE_OK);
    check_status(t, ease_tune_options_check(NULL, NULL), EASE_E_ARG);
    for (int i = 0; method_name(i); i++)
        if (ease_method_at(i)->grid) {
            ease_train_options train;
            ease_tune_options o;

            ease_train_options_init(&train);
            ease_tune_options_init(&o);
            train.method = method_name(i);
            o.train = &train;
            check_status(t, ease_tune_options_check(&o, NULL), EASE_OK);
        }
}

/* 400 items are one tile of 0.64 MB, which tuning has twice; in float64 1.28 MB
 * more. */
static void without_memory_for_float64_a_lambda_is_left_out(test *t)
{
    static const double grid[] = {10, 0.001};
    dense d = random_tastes(60, 400, 5);
    split s = make_split();
    ease_interactions *x;
    ease_tuning *tuned = NULL;
    ease_error err = {0};
    ease_status status;
    watch w;
    ease_tune_options o = tune_options(&w);

    for (int64_t u = 0; u < 60; u++)
        for (int32_t i = 0; i < 400; i += 2)
            *cell(&d, u, i + 1) = *cell(&d, u, i);
    x = interactions_of(&d);
    o.lambdas = grid;
    o.count = COUNT(grid);
    w.train.memory_limit = 2000000;
    check_status(t, ease_tune(x, s.input, s.target, &o, &tuned, NULL), EASE_OK);
    check_int(t, ease_tuning_count(tuned), 1);
    check_int(t, w.left_out, 1);
    ease_tuning_free(tuned);
    tuned = NULL;
    o.lambdas = grid + 1;
    o.count = 1;
    status = ease_tune(x, s.input, s.target, &o, &tuned, &err);
    check(t, status == EASE_E_ACCURACY || status == EASE_E_NOT_POSDEF);
    check_contains(t, err.text, "float64 (which takes");
    check(t, tuned == NULL);
    w.train.memory_limit = 4000000;
    check_status(t, ease_tune(x, s.input, s.target, &o, &tuned, NULL), EASE_OK);
    ease_tuning_free(tuned);
    ease_interactions_free(x);
    split_free(&s);
    free(d.at);
}

static void tuning_survives_every_failed_allocation(test *t)
{
    static const double lambda = 10;
    split s = make_split();
    ease_train_options train;
    ease_tune_options o;
    ease_status status;
    int n = 0;

    ease_train_options_init(&train);
    train.threads = 1;
    ease_tune_options_init(&o);
    o.train = &train;
    o.lambdas = &lambda;
    o.count = 1;
    do {
        ease_tuning *tuned = NULL;
        ease_model *m = NULL;

        alloc_fail_after(n++);
        status = ease_tune(s.train, s.input, s.target, &o, &tuned, NULL);
        if (!status)
            status = ease_tuning_train(tuned, NULL, &m, NULL);
        alloc_fail_after(-1);
        check_int(t, m != NULL, status == EASE_OK);
        ease_model_free(m);
        ease_tuning_free(tuned);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    split_free(&s);
}

static const test_case cases[] = {
    TEST(metrics_are_what_a_hand_works_out),
    TEST(coverage_and_gini_are_of_the_whole_catalog),
    TEST(novelty_is_the_mean_surprise),
    TEST(diversity_is_the_mean_distance_of_pairs),
    TEST(every_metric_of_the_table_has_a_twin),
    TEST(metrics_that_do_not_exist_are_named),
    TEST(evaluation_equals_its_naive_twin),
    TEST(warm_and_cold_items_are_measured_apart),
    TEST(kinds_of_items_are_checked),
    TEST(metrics_say_what_a_model_lacks),
    TEST(what_is_left_out_is_counted),
    TEST(unknown_items_are_said),
    TEST(what_a_report_does_not_have_is_nan_or_null),
    TEST(without_anything_held_out_there_is_no_result),
    TEST(evaluation_refuses_what_it_cannot_use),
    TEST(threads_do_not_change_a_bit),
    TEST(batches_do_not_show),
    TEST(evaluation_can_be_cancelled),
    TEST(evaluation_survives_every_failed_allocation),
    TEST(the_values_of_users_are_written_exactly),
    TEST(ids_of_users_are_quoted_where_needed),
    TEST(student_has_its_closed_forms),
    TEST(a_comparison_is_the_paired_t_test),
    TEST(holm_corrects_the_smallest_most),
    TEST(only_what_counts_in_one_way_is_compared),
    TEST(only_the_same_users_are_compared),
    TEST(a_grid_measures_what_training_gives),
    TEST(a_trial_that_was_not_made_is_nan),
    TEST(of_equal_lambdas_the_largest_is_best),
    TEST(the_search_brackets_the_best),
    TEST(the_best_is_trained_from_the_matrix_at_hand),
    TEST(tuning_ends_when_time_is_over),
    TEST(a_cancelled_tuning_keeps_the_best_so_far),
    TEST(a_lambda_that_cannot_be_solved_with_is_left_out),
    TEST(without_memory_for_float64_a_lambda_is_left_out),
    TEST(trials_count_unknown_items_as_told),
    TEST(tuning_refuses_what_it_cannot_use),
    TEST(tuning_survives_every_failed_allocation),
    TEST(every_point_measures_what_training_gives),
    TEST(trials_are_in_the_order_of_the_grid),
    TEST(a_point_that_cannot_be_trained_is_left_out),
    TEST(the_best_so_far_counts_as_memory),
    TEST(a_tuning_can_forget_its_model),
    TEST(a_stopped_network_is_a_trial_of_the_epochs_it_had),
    TEST(tuning_settings_survives_every_failed_allocation),
    TEST(settings_can_be_checked_before_there_are_data),
};

TEST_MAIN(cases)
