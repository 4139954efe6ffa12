/* All parallel code of the library except the task graph (see test_tasks.c): in the
 * tsan preset, where plain_blas.c replaces OpenBLAS, a data race ends this program
 * with an error. In every build the results must be those of one thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tagged.h"
#include "test.h"

enum { THREADS = 4, USERS = 400, ITEMS = 300, K = 10 };

/* ---- reading --------------------------------------------------------------------- */

/* Several blocks of lines, with ids that only one of them has and ids of all of them;
 * some are longer than the 8 bytes that fit into a slot of the dictionary. */
static char *table_text(size_t *bytes)
{
    enum { ROWS = 60000, ROWS_A_USER = 40 };
    char *text = NULL;
    FILE *f = open_memstream(&text, bytes);

    fprintf(f, "user,item,rating,timestamp\n");
    for (int i = 0; i < ROWS; i++)
        fprintf(f, "%s%d,%s%d,%d,%d\n", i % 2 ? "u" : "a-longer-id-", i / ROWS_A_USER,
                i % 4 ? "i" : "another-long-id-", i % 7 ? i % 997 : i, 1 + i % 5,
                900000000 + i);
    fclose(f);
    return text;
}

static bool same_row(ease_row a, ease_row b)
{
    size_t n = (size_t)a.count;

    return a.count == b.count && memcmp(a.items, b.items, n * sizeof(*a.items)) == 0 &&
           (!a.weights || memcmp(a.weights, b.weights, n * sizeof(*a.weights)) == 0);
}

static void check_same_data(test *t, const ease_interactions *a,
                            const ease_interactions *b)
{
    ease_interactions_info one = interactions_info(a), many = interactions_info(b);
    int64_t differ = 0;

    check_int(t, many.users, one.users);
    check_int(t, many.items, one.items);
    for (int64_t u = 0; u < one.users && u < many.users; u++)
        differ += !same_row(ease_interactions_row(a, u), ease_interactions_row(b, u)) ||
                  strcmp(ease_interactions_user_id(a, u),
                         ease_interactions_user_id(b, u)) != 0;
    for (int32_t i = 0; i < one.items && i < many.items; i++)
        differ += strcmp(ease_interactions_item_id(a, i),
                         ease_interactions_item_id(b, i)) != 0;
    check_int(t, differ, 0);
}

static ease_interactions *read_by(test *t, const char *path, int threads, bool weighted)
{
    ease_interactions *x = NULL;
    ease_read_options o;
    ease_error err = {0};

    ease_read_options_init(&o);
    o.threads = threads;
    o.weights = weighted;
    if (!check_status(t, ease_interactions_read(path, &o, &x, &err), EASE_OK))
        printf("  %s\n", err.text);
    return x;
}

static void reading_tables_has_no_race(test *t)
{
    const char *path = test_path("ratings.csv");
    size_t bytes = 0;
    char *text = table_text(&bytes);

    test_write(path, text, bytes);
    for (int weighted = 0; weighted < 2; weighted++) {
        ease_interactions *one = read_by(t, path, 1, weighted),
                          *many = read_by(t, path, THREADS, weighted);

        check_same_data(t, one, many);
        ease_interactions_free(one);
        ease_interactions_free(many);
    }
    free(text);
}

/* ---- training and recommending --------------------------------------------------- */

static ease_interactions *synthetic(int64_t users, int threads)
{
    ease_synth_options o;
    ease_interactions *x = NULL;

    ease_synth_options_init(&o);
    o.users = users;
    o.items = ITEMS;
    o.interactions = 20 * users;
    o.threads = threads;
    if (ease_interactions_synth(&o, &x, NULL))
        abort();
    return x;
}

static void making_data_has_no_race(test *t)
{
    ease_interactions *one = synthetic(5 * USERS, 1),
                      *many = synthetic(5 * USERS, THREADS);

    check_same_data(t, one, many);
    ease_interactions_free(one);
    ease_interactions_free(many);
}

/* The work of a method in a second or so, also under a sanitizer, and in several parts
 * for each thread. */
static const struct work {
    const char *method, *settings;
} works[] = {
    {"ease", NULL},
    {"ease-family", "user-power=0.5,dropout=0.2,relaxation=0.3,output-power=-0.1"},
    {"item-item", "neighbours=20"},
    {"ease-sparse", "neighbours=20,user-power=0.5"},
    {"slim", "l1=1,l2=50"},
    {"slim-free", "l1=1,l2=50"},
    {"wmf", "rank=32,iterations=2"},
    {"ii-svd", "rank=40,iterations=2"},
    {"cdae", "epochs=1,hidden=8"},
    {"mult-dae", "epochs=1,hidden=16"},
    {"mult-vae", "epochs=1,hidden=16,latent=8"},
    {"lrec", NULL},
};

static ease_model *train_by(test *t, const struct work *w, const ease_interactions *x,
                            int threads)
{
    ease_model *m = NULL;
    ease_train_options o;
    ease_error err = {0};

    ease_train_options_init(&o);
    o.method = w->method;
    o.lambda = ease_method_find(w->method)->has_lambda ? 10 : 0;
    o.settings = w->settings;
    o.threads = threads;
    if (!check_status(t, ease_train(x, &o, &m, &err), EASE_OK)) {
        printf("  %s: %s\n", w->method, err.text);
        abort();
    }
    return m;
}

typedef struct lists {
    ease_rec recs[USERS * K];
    int32_t counts[USERS];
} lists;

/* With caps, if the model has tags. */
static void recommend_by(test *t, const ease_model *m, const ease_interactions *x,
                         int threads, lists *out)
{
    static const ease_cap caps[] = {{"author", 1}};
    static ease_row rows[USERS];
    static int64_t users[USERS];
    ease_recommend_options o;

    for (int64_t u = 0; u < USERS; u++) {
        rows[u] = ease_interactions_row(x, u);
        users[u] = u;
    }
    memset(out, 0, sizeof(*out));
    ease_recommend_options_init(&o);
    o.k = K;
    o.threads = threads;
    o.caps = caps;
    o.cap_count = ease_model_tags(m) ? 1 : 0;
    if (ease_method_find(model_info(m).method)->known_users)
        o.users = users;
    check_status(t,
                 ease_recommend_many(m, rows, USERS, &o, out->recs, out->counts, NULL),
                 EASE_OK);
}

static void training_and_recommending_have_no_race(test *t)
{
    static lists one, many;
    ease_interactions *x = synthetic(USERS, THREADS);

    for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
        ease_model *a = train_by(t, &works[i], x, 1),
                   *b = train_by(t, &works[i], x, THREADS);

        recommend_by(t, a, x, 1, &one);
        recommend_by(t, b, x, THREADS, &many);
        if (!check(t, memcmp(&one, &many, sizeof(one)) == 0))
            printf("  %s\n", works[i].method);
        give_tags(a, 1);
        give_tags(b, 1);
        recommend_by(t, a, x, 1, &one);
        recommend_by(t, b, x, THREADS, &many);
        if (!check(t, memcmp(&one, &many, sizeof(one)) == 0))
            printf("  %s, with caps\n", works[i].method);
        ease_model_free(a);
        ease_model_free(b);
    }
    ease_interactions_free(x);
}

/* ---- updating ------------------------------------------------------------------- */

/* A model of x, with the users of `guests` for a while. Their ids stand for others. */
static ease_model *updated(test *t, const ease_interactions *x,
                           const ease_interactions *guests, int threads)
{
    ease_model *made[3] = {NULL};
    ease_train_options train;
    ease_update_options o;

    ease_train_options_init(&train);
    train.lambda = 10;
    train.kind = EASE_GRAM_COVARIANCE;
    train.updatable = 1;
    train.threads = threads;
    ease_update_options_init(&o);
    o.threads = threads;
    if (!check_status(t, ease_train(x, &train, &made[0], NULL), EASE_OK) ||
        !check_status(
            t, ease_model_update(made[0], NULL, guests, &o, &made[1], NULL, NULL),
            EASE_OK) ||
        !check_status(
            t, ease_model_update(made[1], guests, NULL, &o, &made[2], NULL, NULL),
            EASE_OK))
        abort();
    ease_model_free(made[0]);
    ease_model_free(made[1]);
    return made[2];
}

static double leave_by(test *t, const ease_model *m, const ease_interactions *x,
                       int threads)
{
    ease_report *r = NULL;
    ease_leave_options o;
    double mean;

    ease_leave_options_init(&o);
    o.metrics = "ndcg@100";
    o.threads = threads;
    if (!check_status(t, ease_leave_one_out(m, x, &o, &r, NULL), EASE_OK))
        abort();
    mean = report_metric(r, 0).mean;
    ease_report_free(r);
    return mean;
}

static void updating_and_leaving_users_out_have_no_race(test *t)
{
    static lists one, many;
    ease_interactions *x = synthetic(USERS, THREADS), *guests = synthetic(80, THREADS);
    ease_model *a = updated(t, x, guests, 1), *b = updated(t, x, guests, THREADS);

    recommend_by(t, a, x, 1, &one);
    recommend_by(t, b, x, THREADS, &many);
    check(t, memcmp(&one, &many, sizeof(one)) == 0);
    check(t, leave_by(t, a, x, 1) == leave_by(t, b, x, THREADS));
    ease_model_free(a);
    ease_model_free(b);
    ease_interactions_free(guests);
    ease_interactions_free(x);
}

/* ---- reports and summaries ------------------------------------------------------- */

static double evaluate_by(test *t, const ease_model *m, const ease_interactions *x,
                          int threads)
{
    ease_report *r = NULL;
    ease_eval_options o;
    double mean;

    ease_eval_options_init(&o);
    /* Enough to measure for all threads to take part in it. */
    o.metrics = "ndcg@250,ndcg@200,ndcg@150,map@250,mrr@250,coverage@10,popularity@250";
    o.threads = threads;
    if (!check_status(t, ease_evaluate(m, x, x, &o, &r, NULL), EASE_OK))
        abort();
    mean = report_metric(r, 0).mean;
    ease_report_free(r);
    return mean;
}

static void evaluating_has_no_race(test *t)
{
    ease_interactions *x = synthetic(10 * USERS, THREADS);
    ease_model *m = train_by(t, &works[0], x, THREADS);

    check(t, evaluate_by(t, m, x, 1) == evaluate_by(t, m, x, THREADS));
    ease_model_free(m);
    ease_interactions_free(x);
}

static void summarizing_weights_has_no_race(test *t)
{
    ease_interactions *x = synthetic(USERS, THREADS);
    ease_weight_summary one = {.size = sizeof(one)}, many = {.size = sizeof(many)};
    ease_model *m = train_by(t, &works[0], x, THREADS);

    check_status(t, ease_model_summarize_weights(m, &many, NULL, NULL), EASE_OK);
    check_status(t, ease_model_set_threads(m, 1, NULL), EASE_OK);
    check_status(t, ease_model_summarize_weights(m, &one, NULL, NULL), EASE_OK);
    check(t, one.mean == many.mean && one.quantile[3] == many.quantile[3]);
    ease_model_free(m);
    ease_interactions_free(x);
}

/* ---- Gram matrices --------------------------------------------------------------- */

/* The upper triangle of a Gram matrix as text, in several blocks. */
static void write_triplets(const ease_gram *g, const char *path)
{
    FILE *f = fopen(path, "w");

    for (int32_t i = 0; i < ITEMS; i++)
        for (int32_t j = i; j < ITEMS; j++)
            if (ease_gram_at(g, i, j) > 0)
                fprintf(f, "a-longer-id-%d,a-longer-id-%d,%g\n", (int)i, (int)j,
                        ease_gram_at(g, i, j));
    fclose(f);
}

static void importing_has_no_race(test *t)
{
    const char *path = test_path("gram.csv");
    ease_interactions *x = synthetic(USERS, THREADS);
    ease_gram *g = NULL, *back = NULL;
    ease_gram_options o;

    ease_gram_options_init(&o);
    o.threads = THREADS;
    check_status(t, ease_gram_build(x, &o, &g, NULL), EASE_OK);
    write_triplets(g, path);
    if (check_status(t, ease_gram_import(&path, 1, NULL, USERS, &o, &back, NULL),
                     EASE_OK))
        for (int32_t i = 0; i < gram_info(back).items; i++) {
            int item = atoi(ease_gram_item_id(back, i) + strlen("a-longer-id-"));

            check(t, ease_gram_at(back, i, i) == ease_gram_at(g, item, item));
        }
    ease_gram_free(back);
    ease_gram_free(g);
    ease_interactions_free(x);
}

static const test_case cases[] = {
    TEST(reading_tables_has_no_race),
    TEST(making_data_has_no_race),
    TEST(training_and_recommending_have_no_race),
    TEST(updating_and_leaving_users_out_have_no_race),
    TEST(evaluating_has_no_race),
    TEST(summarizing_weights_has_no_race),
    TEST(importing_has_no_race),
};

TEST_MAIN(cases)
