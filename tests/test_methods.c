/* Methods by name, and popularity: a model without weights. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/random.h"
#include "quick.h"
#include "test.h"

static ease_interactions *some_data(bool weighted)
{
    ease_interactions *x = random_interactions(50, 100, 0.2, weighted, 3), *copy = NULL;

    if (ease_interactions_from_csr(x->users, x->items, x->row_ptr, x->cols, x->vals,
                                   &copy, NULL))
        abort();
    free_interactions(x);
    return copy;
}

static ease_model *popularity_of(const ease_interactions *x)
{
    ease_model *m = NULL;

    if (train_method(x, "popularity", NULL, &m, NULL))
        abort();
    return m;
}

static ease_model *reopen(test *t, const ease_model *m, ease_storage storage)
{
    const char *path = test_path("model.ease");
    ease_model *back = NULL;

    if (!check_status(t, ease_model_save(m, path, storage, NULL, NULL), EASE_OK) ||
        !check_status(t, ease_model_open(path, NULL, &back, NULL), EASE_OK) ||
        !check_status(t, ease_file_verify(path, NULL, NULL), EASE_OK))
        abort();
    return back;
}

static void methods_have_names(test *t)
{
    check_text(t, method_name(0), "ease");
    check_text(t, method_name(1), "ease-nonneg");
    check_text(t, method_name(2), "edlae");
    check(t, method_name(1000) == NULL);
    check(t, method_name(-1) == NULL);
    check(t, ease_method_find("ease-nonneg") == ease_method_at(1));
    check(t, ease_method_find("none such") == NULL && ease_method_find(NULL) == NULL);
    check_int(t, ease_method_find("ease")->has_lambda, 1);
    check_int(t, ease_method_find("ease-nonneg")->has_lambda, 1);
    check_int(t, ease_method_find("popularity")->has_lambda, 0);
    check_text(t, ease_method_find("ease")->nonnegative, "ease-nonneg");
    check_text(t, ease_method_find("ease-nonneg")->nonnegative, "ease-nonneg");
    check(t, ease_method_find("wmf")->nonnegative == NULL);
}

static void methods_train_what_they_say(test *t)
{
    ease_interactions *x = some_data(false);
    ease_tags *tags = quick_tags(100);
    ease_train_options o;
    ease_error err;

    ease_train_options_init(&o);
    o.lambda = 10;
    o.threads = 1;
    for (int i = 0; method_name(i); i++) {
        ease_model *m = NULL, *back;

        /* Its default rank is above the number of users here. */
        o.settings = strcmp(method_name(i), "ii-svd") == 0 ? "rank=20" : NULL;
        o.tags = ease_method_at(i)->needs_tags ? tags : NULL;
        check_status(t, train_method(x, method_name(i), &o, &m, NULL), EASE_OK);
        check_text(t, model_info(m).method, method_name(i));
        check_int(t, model_info(m).nonnegative, i == 1);
        back = reopen(t, m, EASE_STORE_F32);
        check_text(t, model_info(back).method, method_name(i));
        ease_model_free(m);
        ease_model_free(back);
    }
    o.tags = NULL;
    {
        ease_model *m = NULL;

        check_status(t, train_method(x, "slimmer", &o, &m, &err), EASE_E_ARG);
        check_contains(t, err.text, "ease, ease-nonneg, edlae");
        check_status(t, train_method(x, "ease", NULL, &m, NULL), EASE_E_ARG);
        check_status(t, train_method(x, "ease-nonneg", NULL, &m, NULL), EASE_E_ARG);
        check_status(t, train_method(NULL, "popularity", &o, &m, NULL), EASE_E_ARG);
        check_status(t, train_method(x, "popularity", &o, NULL, NULL), EASE_E_ARG);
        check(t, m == NULL);
    }
    ease_tags_free(tags);
    ease_interactions_free(x);
}

/* 100 million columns, of which three hold something: refused before anything of that
 * size is written. */
static void every_method_refuses_what_is_too_wide(test *t)
{
    int64_t row_ptr[] = {0, 1, 2, 3};
    int32_t cols[] = {0, 5, 99999999};
    struct rusage before, after;
    ease_interactions *x = NULL;
    ease_tags *tags = quick_tags(3);
    ease_train_options o;

    getrusage(RUSAGE_SELF, &before);
    if (!check_status(
            t,
            ease_interactions_borrow_csr(3, 100000000, row_ptr, cols, NULL, &x, NULL),
            EASE_OK))
        return;
    ease_train_options_init(&o);
    o.memory_limit = 2000000000;
    for (int i = 0; method_name(i); i++) {
        const char *method = method_name(i);
        bool svd = strcmp(method, "ii-svd") == 0;
        ease_model *m = NULL;
        ease_error err;

        o.lambda = ease_method_at(i)->has_lambda;
        o.settings = svd ? "rank=2" : NULL; /* of three users no more */
        o.tags = ease_method_at(i)->needs_tags ? tags : NULL;
        check_status(t, train_method(x, method, &o, &m, &err), EASE_E_MEMORY_LIMIT);
        check_contains(t, err.text, "GB are available");
    }
    getrusage(RUSAGE_SELF, &after);
#ifndef SANITIZED /* which marks every byte that is allocated */
    check(t, after.ru_maxrss - before.ru_maxrss < 10000);
#endif
    ease_tags_free(tags);
    ease_interactions_free(x);
}

static void popularity_is_the_share_of_users(test *t)
{
    for (int weighted = 0; weighted < 2; weighted++) {
        ease_interactions *x = some_data(weighted);
        double *dense = dense_interactions(x);
        ease_model *made = popularity_of(x), *m = reopen(t, made, EASE_STORE_F16);
        ease_model_info info = model_info(m);
        float row[100];

        check_int(t, info.items, 100);
        check_int(t, info.users, 50);
        check_int(t, info.interactions, x->nnz);
        check_int(t, info.storage, EASE_STORE_NONE);
        check_int(t, info.has_base, 1);
        check_near(t, info.lambda, 0, 0);
        for (int32_t i = 0; i < 100; i++) {
            double sum = 0;

            for (int64_t u = 0; u < 50; u++)
                sum += dense[u * 100 + i];
            check_near(t, ease_model_popularity(m, i), sum, 1e-12);
            check_near(t, (double)ease_model_base(m, i), sum / 50, 1e-6);
            check_near(t, (double)ease_model_base(made, i),
                       (double)ease_model_base(m, i), 0);
            check_status(t, ease_model_row(m, i, row, NULL), EASE_OK);
            for (int32_t j = 0; j < 100; j++)
                check(t, row[j] == 0);
        }
        ease_model_free(made);
        ease_model_free(m);
        ease_interactions_free(x);
        free(dense);
    }
}

/* One by one and many together, with weights in the history or without. */
static void popularity_recommends_what_is_left_of_the_popular(test *t)
{
    static const int32_t has[] = {1, 4, 9};
    static const float weights[] = {2, -1, 0.5f};
    ease_interactions *x = some_data(false);
    ease_model *m = popularity_of(x);
    ease_recommend_options o;
    ease_scorer *s = NULL;

    ease_recommend_options_init(&o);
    o.k = 7;
    check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
    for (int round = 0; round < 3; round++) {
        ease_row row = {has, round == 2 ? weights : NULL, round ? 3 : 0};
        ease_rec one[7], many[7];
        int32_t count = 0, counts[1] = {0};

        check_status(t, ease_recommend(s, row, &o, one, &count, NULL), EASE_OK);
        check_status(t, ease_recommend_many(m, &row, 1, &o, many, counts, NULL),
                     EASE_OK);
        check_int(t, count, 7);
        check_int(t, counts[0], 7);
        for (int k = 0; k < 7; k++) {
            check_int(t, one[k].item, many[k].item);
            check_near(t, (double)one[k].score, (double)many[k].score, 0);
            check_near(t, (double)one[k].score,
                       ease_model_popularity(m, one[k].item) / 50, 1e-7);
            check(t, !round || (one[k].item != 1 && one[k].item != 4));
            check(t, !k || one[k - 1].score > one[k].score ||
                         (one[k - 1].score == one[k].score &&
                          one[k - 1].item < one[k].item));
        }
    }
    check_int(t, ease_model_popularity(m, 1) == 50, 1); /* which all have */
    ease_scorer_free(s);
    ease_model_free(m);
    ease_interactions_free(x);
}

static void what_needs_weights_is_refused(test *t)
{
    static const int32_t has[] = {1, 4};
    ease_interactions *x = some_data(false);
    ease_model *m = popularity_of(x), *weights = NULL;
    ease_train_options o;
    ease_weight_summary w = {.size = sizeof(w)};
    ease_scorer *s = NULL;
    ease_rec recs[10];
    int32_t count = -1;
    float base, score;
    ease_error err;

    check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
    check_status(t, ease_similar(s, 3, NULL, recs, &count, &err), EASE_E_ARG);
    check_contains(t, err.text, "popularity");
    check_status(t, ease_model_export(m, test_path("w.npy"), 0, NULL, &err),
                 EASE_E_ARG);
    check_status(t, ease_model_summarize_weights(m, &w, NULL, &err), EASE_E_ARG);
    check_contains(t, err.text, "popularity");
    check_status(t, ease_plot_weights(m, test_path("w.svg"), NULL, NULL, NULL),
                 EASE_E_ARG);
    check_status(
        t, ease_explain(s, (ease_row){has, NULL, 2}, 3, recs, &base, &score, NULL),
        EASE_OK);
    check_near(t, (double)score, (double)base, 0);
    check_near(t, (double)base, (double)ease_model_base(m, 3), 0);
    check_near(t, (double)recs[0].score, 0, 0);
    /* And weights have to be stored. */
    ease_train_options_init(&o);
    o.lambda = 10;
    check_status(t, ease_train(x, &o, &weights, NULL), EASE_OK);
    check_status(
        t, ease_model_save(weights, test_path("n.ease"), EASE_STORE_NONE, NULL, NULL),
        EASE_E_ARG);
    ease_model_free(weights);
    ease_scorer_free(s);
    ease_model_free(m);
    ease_interactions_free(x);
}

static void popularity_survives_every_failed_allocation(test *t)
{
    ease_interactions *x = some_data(false);
    const char *path = test_path("failing.ease");
    ease_status status;
    int n = 0;

    do {
        ease_model *m = NULL, *back = NULL;

        alloc_fail_after(n++);
        status = train_method(x, "popularity", NULL, &m, NULL);
        check_int(t, m != NULL, status == EASE_OK);
        if (!status)
            status = ease_model_save(m, path, EASE_STORE_F32, NULL, NULL);
        if (!status)
            status = ease_model_open(path, NULL, &back, NULL);
        alloc_fail_after(-1);
        ease_model_free(m);
        ease_model_free(back);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    ease_interactions_free(x);
}

static const test_case cases[] = {
    TEST(methods_have_names),
    TEST(methods_train_what_they_say),
    TEST(every_method_refuses_what_is_too_wide),
    TEST(popularity_is_the_share_of_users),
    TEST(popularity_recommends_what_is_left_of_the_popular),
    TEST(what_needs_weights_is_refused),
    TEST(popularity_survives_every_failed_allocation),
};

TEST_MAIN(cases)
