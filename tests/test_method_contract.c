/* Tests of every method, over all entries of the table: a new method needs no test of
 * its own here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/methods.h"
#include "quick.h"
#include "test.h"

enum { USERS = 40, ITEMS = 60, K = 10 };

static ease_interactions *small_data(void)
{
    return quick_data(USERS, ITEMS);
}

static void entries_are_complete(test *t)
{
    for (int i = 0; ease__methods[i]; i++) {
        const ease__method *m = ease__methods[i];
        double values[EASE__MOST_SETTINGS];
        ease__grid grid;
        int count = 0;

        check(t, m->info.name && m->info.name[0] && m->info.about && m->info.about[0]);
        check(t, (m->fit != NULL) != (m->fill != NULL));
        check(t, ease__method_find(m->info.name) == m);  /* no other has its name ... */
        check(t, ease__method_numbered(m->number) == m); /* ... or its number */
        check(t, ease_method_at(i) == &m->info);
        check(t, ease_method_find(m->info.name) == &m->info);
        check_int(t, m->info.known_users, m->form == &ease__form_known);
        check_int(t, m->info.from_gram, m->fit != NULL);
        /* Gram matrices are solved in src/model/train.c, which makes this form. */
        check(t, !m->info.from_gram || m->form == &ease__form_packed);
        check(t, strlen(m->info.name) < sizeof(((ease__model_params *)0)->method_name));
        while (m->settings[count].name)
            count++;
        check(t, count <= EASE__MOST_SETTINGS);
        check(t, ease_method_setting(m->info.name, count) == NULL);
        for (int k = 0; k < count; k++)
            check(t, ease_method_setting(m->info.name, k) == &m->settings[k]);
        check(t, !m->info.nonnegative ||
                     ease__method_find(m->info.nonnegative)->nonnegative);
        check_status(
            t,
            ease__settings_parse(m->settings, m->info.name, NULL, values, NULL, NULL),
            EASE_OK);
        check(t, !m->check || (m->check)(values, NULL) == EASE_OK);
        check_int(t, m->info.grid == NULL, m->info.has_lambda);
        check(t, !m->info.kind || m->info.from_gram);
        check_int(t, m->info.planned, m->info.from_gram || m->plan);
        check(t, !m->info.smaller || ease_method_find(m->info.smaller)->planned);
        if (m->info.grid)
            check_status(
                t,
                ease__grid_parse(m->settings, m->info.name, m->info.grid, &grid, NULL),
                EASE_OK);
        check(t, !m->info.rounds || has_setting(m, m->info.rounds));
    }
}

/* Numbers are in files that users have. */
static void numbers_in_files_stay(test *t)
{
    static const char *const names[] = {
        "ease",      "ease-nonneg",   "popularity", "item-item", "slim",
        "slim-free", "wmf",           "ii-svd",     "cdae",      "mult-dae",
        "mult-vae",  "lrec",          "edlae",      "rlae",      "rdlae",
        "dan",       "ease-rescaled", "ease-ips",   "mrf",       "ease-family",
        "add-ease",  "ease-sparse"};

    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (check(t, ease__method_numbered(i) != NULL))
            check_text(t, ease__method_numbered(i)->info.name, names[i]);
}

static void bad_settings_are_refused(test *t)
{
    ease_interactions *x = small_data();

    for (int i = 0; ease__methods[i]; i++) {
        const ease__method *m = ease__methods[i];
        ease_model *model = NULL;
        ease_train_options o;
        char text[QUICK_TEXT];
        ease_error err;

        o = quick_options(m, 1, text);
        o.settings = "no-such-setting=1";
        check_status(t, train_method(x, m->info.name, &o, &model, &err), EASE_E_ARG);
        check_contains(t, err.text, "no-such-setting");
        for (int k = 0; m->settings[k].name; k++) {
            snprintf(text, sizeof(text), "%s=word", m->settings[k].name);
            check_status(t, ease_method_check(m->info.name, text, &err), EASE_E_ARG);
            check_contains(t, err.text, m->settings[k].name);
        }
        check(t, model == NULL);
    }
    ease_interactions_free(x);
}

static char *file_of(test *t, const ease__method *m, const ease_interactions *x,
                     int threads, size_t *bytes)
{
    const char *path = test_path("contract.ease");
    ease_model *model = NULL;

    if (!check_status(t, train_quickly(m, x, threads, &model), EASE_OK) ||
        !check_status(t, ease_model_save(model, path, EASE_STORE_F32, NULL, NULL),
                      EASE_OK))
        abort();
    ease_model_free(model);
    return test_read(path, bytes);
}

static void models_have_the_same_bits_at_any_number_of_threads(test *t)
{
    ease_interactions *x = small_data();

    for (int i = 0; ease__methods[i]; i++) {
        size_t one_bytes = 0, three_bytes = 0;
        char *one = file_of(t, ease__methods[i], x, 1, &one_bytes);
        char *three = file_of(t, ease__methods[i], x, 3, &three_bytes);

        check_int(t, one_bytes, three_bytes);
        check(t, one_bytes == three_bytes && memcmp(one, three, one_bytes) == 0);
        free(one);
        free(three);
    }
    ease_interactions_free(x);
}

/* Lists for all users of x. */
static ease_rec *lists_of(test *t, const ease_model *m, const ease_interactions *x)
{
    ease_rec *recs = calloc(USERS * K, sizeof(*recs));
    ease_row rows[USERS];
    int64_t users[USERS];
    int32_t counts[USERS];
    ease_recommend_options o;

    ease_recommend_options_init(&o);
    o.k = K;
    o.users = ease_method_find(model_info(m).method)->known_users ? users : NULL;
    for (int64_t u = 0; u < USERS; u++) {
        rows[u] = ease_interactions_row(x, u);
        users[u] = u;
    }
    check_status(t, ease_recommend_many(m, rows, USERS, &o, recs, counts, NULL),
                 EASE_OK);
    for (int u = 0; u < USERS; u++)
        check(t, counts[u] > 0);
    return recs;
}

static void saved_models_open_to_the_same_lists(test *t)
{
    ease_interactions *x = small_data();

    for (int i = 0; ease__methods[i]; i++) {
        const char *path = test_path("opened.ease");
        ease_model *made = NULL, *back = NULL;
        ease_rec *before, *after;

        if (!check_status(t, train_quickly(ease__methods[i], x, 2, &made), EASE_OK) ||
            !check_status(t, ease_model_save(made, path, EASE_STORE_F32, NULL, NULL),
                          EASE_OK) ||
            !check_status(t, ease_model_open(path, NULL, &back, NULL), EASE_OK))
            abort();
        check_text(t, model_info(made).method, ease__methods[i]->info.name);
        check_text(t, model_info(back).method, ease__methods[i]->info.name);
        check_int(t, model_info(back).lambda > 0, ease__methods[i]->info.has_lambda);
        check_text(t, model_info(back).settings, model_info(made).settings);
        before = lists_of(t, made, x);
        after = lists_of(t, back, x);
        check(t, memcmp(before, after, USERS * K * sizeof(*before)) == 0);
        free(before);
        free(after);
        ease_model_free(made);
        ease_model_free(back);
    }
    ease_interactions_free(x);
}

static int stop_at_once(void *user, const char *stage, double fraction)
{
    (void)user, (void)stage, (void)fraction;
    return 1;
}

/* What is trained by rounds may give what it has so far. */
static void training_can_be_cancelled(test *t)
{
    ease_interactions *x = small_data();
    ease_tags *tags = quick_tags(ease_interactions_items(x));

    for (int i = 0; ease__methods[i]; i++) {
        const ease__method *m = ease__methods[i];
        ease_model *model = NULL;
        ease_train_options o;
        char text[QUICK_TEXT];
        ease_status status;

        o = quick_options(m, 2, text);
        o.hooks = &(ease_hooks){.progress = stop_at_once};
        o.tags = m->info.needs_tags ? tags : NULL;
        status = train_method(x, m->info.name, &o, &model, NULL);
        check(t, status == EASE_E_CANCELLED || (status == EASE_OK && model));
        check(t, status == EASE_E_CANCELLED || m->info.rounds ||
                     m->form == &ease__form_none);
        ease_model_free(model);
    }
    ease_tags_free(tags);
    ease_interactions_free(x);
}

static void training_survives_every_failed_allocation(test *t)
{
    ease_interactions *x = small_data();
    ease_tags *tags = quick_tags(ease_interactions_items(x));

    for (int i = 0; ease__methods[i]; i++) {
        ease_status status;
        int n = 0;

        do {
            ease_model *m = NULL;

            alloc_fail_after(n++);
            status = train_quickly_with(ease__methods[i], x, tags, 1, &m);
            alloc_fail_after(-1);
            check_int(t, m != NULL, status == EASE_OK);
            ease_model_free(m);
        } while (status == EASE_E_NOMEM);
        check_status(t, status, EASE_OK);
    }
    ease_tags_free(tags);
    ease_interactions_free(x);
}

static const test_case cases[] = {
    TEST(entries_are_complete),
    TEST(numbers_in_files_stay),
    TEST(bad_settings_are_refused),
    TEST(models_have_the_same_bits_at_any_number_of_threads),
    TEST(saved_models_open_to_the_same_lists),
    TEST(training_can_be_cancelled),
    TEST(training_survives_every_failed_allocation),
};

TEST_MAIN(cases)
