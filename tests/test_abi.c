/* Structures of callers that were compiled with an older or a newer header. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* A member that is added at the end must make the structure longer: there is no padding
 * behind the last one, which is named here. */
#define ENDS_WITH(type, last)                                                        \
    _Static_assert(sizeof(type) == offsetof(type, last) + sizeof(((type *)0)->last), \
                   #type " has padding at its end, or another last member")

ENDS_WITH(ease_read_options, encoding);
ENDS_WITH(ease_synth_options, hooks);
ENDS_WITH(ease_tag_options, columns_option);
ENDS_WITH(ease_tags_info, empty);
ENDS_WITH(ease_split_options, validation_from);
ENDS_WITH(ease_train_options, like);
ENDS_WITH(ease_gram_options, hooks);
ENDS_WITH(ease_open_options, threads);
ENDS_WITH(ease_recommend_options, denied);
ENDS_WITH(ease_eval_options, among);
ENDS_WITH(ease_update_options, removals);
ENDS_WITH(ease_leave_options, hooks);
ENDS_WITH(ease_tune_options, hold_out);
ENDS_WITH(ease_blas_info, better);
ENDS_WITH(ease_columns, advice);
ENDS_WITH(ease_interactions_info, age_from);
ENDS_WITH(ease_split_info, cold_items);
ENDS_WITH(ease_split_parts, test_target);
ENDS_WITH(ease_plan, tile_edge);
ENDS_WITH(ease_update_plan, solve_seconds);
ENDS_WITH(ease_update_info, deviation);
ENDS_WITH(ease_gram_info, wide);
ENDS_WITH(ease_model_info, updates);
ENDS_WITH(ease_report_info, refused);
ENDS_WITH(ease_metric, standard_error);
ENDS_WITH(ease_trial, solves);
ENDS_WITH(ease_weight_summary, quantile);
ENDS_WITH(ease_weight_histogram, above);

enum { MORE = 32, POISON = 0xAA }; /* bytes of a newer structure */

/* ---- something to call the library with ------------------------------------------ */

static const char *data, *dir, *model_path, *gram_path;
static ease_interactions *x;
static ease_model *m;
static ease_gram *g;
static ease_report *report;
static ease_tuning *tuning;

static void make_split(void)
{
    ease_split_options o;

    ease_split_options_init(&o);
    o.protocol = "random";
    if (ease_split(data, NULL, &o, dir, NULL, NULL))
        abort();
}

static void set_up(void)
{
    static const double lambda = 5;
    static char paths[4][512];
    ease_train_options train;
    ease_tune_options tune;
    FILE *f;

    data = strcpy(paths[0], test_path("data.csv"));
    dir = strcpy(paths[1], test_path("split"));
    model_path = strcpy(paths[2], test_path("x.ease"));
    gram_path = strcpy(paths[3], test_path("x.gram"));
    f = fopen(data, "w");
    fputs("user,item\n", f);
    for (int i = 0; i < 200; i++)
        fprintf(f, "u%d,i%d\n", i / 10, i * 7 % 10 + i / 50);
    fclose(f);
    ease_train_options_init(&train);
    train.lambda = lambda;
    train.updatable = 1;
    ease_tune_options_init(&tune);
    tune.lambdas = &lambda;
    tune.count = 1;
    if (ease_interactions_read(data, NULL, &x, NULL) ||
        ease_train(x, &train, &m, NULL) || ease_gram_build(x, NULL, &g, NULL) ||
        ease_model_save(m, model_path, EASE_STORE_F32, NULL, NULL) ||
        ease_gram_save(g, gram_path, NULL, NULL) ||
        ease_evaluate(m, x, x, NULL, &report, NULL) ||
        ease_tune(x, x, x, &tune, &tuning, NULL))
        abort();
    make_split();
}

static void clean_up(void)
{
    ease_tuning_free(tuning);
    ease_report_free(report);
    ease_gram_free(g);
    ease_model_free(m);
    ease_interactions_free(x);
}

/* ---- options --------------------------------------------------------------- */

static ease_status use_read(const void *o, ease_error *err)
{
    ease_interactions *made = NULL;
    ease_status status = ease_interactions_read(data, o, &made, err);

    ease_interactions_free(made);
    return status;
}

static void set_synth(void *o)
{
    ease_synth_options *s = o;

    s->users = s->items = 5;
    s->interactions = 10;
}

static ease_status use_synth(const void *o, ease_error *err)
{
    ease_interactions *made = NULL;
    ease_status status = ease_interactions_synth(o, &made, err);

    ease_interactions_free(made);
    return status;
}

static void set_split(void *o)
{
    ((ease_split_options *)o)->protocol = "random";
}

static ease_status use_split(const void *o, ease_error *err)
{
    return ease_split(data, NULL, o, dir, NULL, err);
}

static void set_train(void *o)
{
    ((ease_train_options *)o)->lambda = 5;
}

static ease_status use_train(const void *o, ease_error *err)
{
    ease_model *made = NULL;
    ease_status status = ease_train(x, o, &made, err);

    ease_model_free(made);
    return status;
}

static ease_status use_gram(const void *o, ease_error *err)
{
    ease_gram *made = NULL;
    ease_status status = ease_gram_build(x, o, &made, err);

    ease_gram_free(made);
    return status;
}

static ease_status use_open(const void *o, ease_error *err)
{
    ease_model *made = NULL;
    ease_status status = ease_model_open(model_path, o, &made, err);

    ease_model_free(made);
    return status;
}

/* k is 10, the default, or what is there. */
static ease_status use_recommend(const void *o, ease_error *err)
{
    ease_row row = ease_interactions_row(x, 0);
    ease_rec recs[10];
    int32_t count;

    return ease_recommend_many(m, &row, 1, o, recs, &count, err);
}

static ease_status use_eval(const void *o, ease_error *err)
{
    ease_report *made = NULL;
    ease_status status = ease_evaluate(m, x, x, o, &made, err);

    ease_report_free(made);
    return status;
}

static ease_status use_tune(const void *o, ease_error *err)
{
    ease_tuning *made = NULL;
    ease_status status = ease_tune(x, x, x, o, &made, err);

    ease_tuning_free(made);
    return status;
}

static ease_status use_update(const void *o, ease_error *err)
{
    ease_model *made = NULL;
    ease_status status = ease_model_update(m, x, x, o, &made, NULL, err);

    ease_model_free(made);
    return status;
}

static void set_nothing(void *o)
{
    (void)o;
}

#define DEFAULTS(name)                      \
    static void defaults_of_##name(void *o) \
    {                                       \
        ease_##name##_options_defaults(o);  \
    }
DEFAULTS(read)
DEFAULTS(synth)
DEFAULTS(split)
DEFAULTS(train)
DEFAULTS(gram)
DEFAULTS(open)
DEFAULTS(recommend)
DEFAULTS(eval)
DEFAULTS(update)
DEFAULTS(tune)

/* `least`: the members up to here have no default that would do. */
#define OPTIONS(name, first, set)                                                     \
    {                                                                                 \
#name, sizeof(ease_##name##_options), offsetof(ease_##name##_options, first), \
            defaults_of_##name, set, use_##name                                       \
    }
static const struct {
    const char *name;
    size_t size, least;
    void (*defaults)(void *o);
    void (*set)(void *o);
    ease_status (*use)(const void *o, ease_error *err);
} options[] = {
    OPTIONS(read, format, set_nothing),
    OPTIONS(synth, seed, set_synth),
    OPTIONS(split, heldout_users, set_split),
    OPTIONS(train, settings, set_train),
    OPTIONS(gram, memory_limit, set_nothing),
    OPTIONS(open, verify, set_nothing),
    OPTIONS(recommend, k, set_nothing),
    OPTIONS(eval, metrics, set_nothing),
    OPTIONS(tune, train, set_nothing),
    OPTIONS(update, memory_limit, set_nothing),
};
enum { OPTIONS_COUNT = sizeof(options) / sizeof(options[0]) };

/* Members from `size` on as if they belonged to something else. */
static void *options_of_size(int i, size_t size)
{
    unsigned char *o = malloc(options[i].size + MORE);

    memset(o, POISON, options[i].size + MORE);
    memcpy(o, &size, sizeof(size));
    options[i].defaults(o);
    options[i].set(o);
    return o;
}

static bool all_bytes(const void *from, size_t begin, size_t end, int value)
{
    for (size_t at = begin; at < end; at++)
        if (((const unsigned char *)from)[at] != value)
            return false;
    return true;
}

static void older_options_take_the_defaults_of_what_they_lack(test *t)
{
    set_up();
    for (int i = 0; i < OPTIONS_COUNT; i++)
        for (size_t size = options[i].least; size <= options[i].size; size += 8) {
            void *o = options_of_size(i, size);
            ease_error err = {0};

            check(t, all_bytes(o, size, options[i].size + MORE, POISON));
            if (!check_status(t, options[i].use(o, &err), EASE_OK))
                printf("  %s of %zu bytes: %s\n", options[i].name, size, err.text);
            free(o);
        }
    clean_up();
}

static void newer_options_are_used_unless_they_set_more(test *t)
{
    set_up();
    for (int i = 0; i < OPTIONS_COUNT; i++) {
        size_t size = options[i].size, longer = size + MORE;
        unsigned char *o = options_of_size(i, longer);
        ease_error err = {0};

        check(t, all_bytes(o, size, longer, 0));
        if (!check_status(t, options[i].use(o, &err), EASE_OK))
            printf("  %s: %s\n", options[i].name, err.text);
        for (size_t at = size; at < longer; at += MORE - 1) {
            o[at] = 1;
            check_status(t, options[i].use(o, &err), EASE_E_ARG);
            check_contains(t, err.text, "newer ease");
            o[at] = 0;
        }
        free(o);
    }
    clean_up();
}

static void options_without_a_size_are_refused(test *t)
{
    static const size_t sizes[] = {0, 1, sizeof(size_t) - 1, (size_t)1 << 40, SIZE_MAX};

    set_up();
    for (int i = 0; i < OPTIONS_COUNT; i++)
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            void *o = options_of_size(i, options[i].size);
            ease_error err = {0};

            memcpy(o, &sizes[k], sizeof(sizes[k]));
            options[i].defaults(o); /* does nothing then */
            check_status(t, options[i].use(o, &err), EASE_E_ARG);
            check_contains(t, err.text, "_options_init first");
            free(o);
        }
    clean_up();
}

/* ---- descriptions ---------------------------------------------------------- */

static void fill_blas(void *info)
{
    ease_blas_describe(info);
}

static void fill_columns(void *info)
{
    static const char *const names[] = {"user", "item"};
    static const char *const values[] = {"a", "b"};

    if (ease_columns_recognize(names, 2, values, 1, NULL, info, NULL))
        abort();
}

static void fill_interactions(void *info)
{
    ease_interactions_describe(x, info);
}

static void fill_plan(void *info)
{
    if (ease_plan_data(x, NULL, EASE_STORE_F32, info, NULL))
        abort();
}

static void fill_gram(void *info)
{
    ease_gram_describe(g, info);
}

static void fill_peek(void *info)
{
    if (ease_gram_peek(gram_path, info, NULL))
        abort();
}

static void fill_model(void *info)
{
    ease_model_describe(m, info);
}

static void fill_report(void *info)
{
    ease_report_describe(report, info);
}

static void fill_metric(void *info)
{
    ease_report_metric(report, 0, info);
}

static void fill_trial(void *info)
{
    ease_tuning_trial(tuning, 0, info);
}

static void fill_summary(void *info)
{
    if (ease_model_summarize_weights(m, info, NULL, NULL))
        abort();
}

static void fill_histogram(void *info)
{
    if (ease_model_count_weights(m, info, NULL, NULL, NULL))
        abort();
}

static void fill_update(void *info)
{
    ease_model *made = NULL;

    if (ease_model_update(m, x, x, NULL, &made, info, NULL))
        abort();
    ease_model_free(made);
}

static void fill_update_plan(void *info)
{
    if (ease_update_plan_sizes(10, 1, NULL, info, NULL))
        abort();
}

static void fill_plotted(void *info)
{
    if (ease_plot_weights(m, test_path("x.svg"), info, NULL, NULL))
        abort();
}

static const struct {
    const char *name;
    size_t size;
    void (*fill)(void *info);
    bool measured; /* it differs from call to call */
} infos[] = {
    {"blas", sizeof(ease_blas_info), fill_blas, false},
    {"columns", sizeof(ease_columns), fill_columns, false},
    {"interactions", sizeof(ease_interactions_info), fill_interactions, false},
    {"plan", sizeof(ease_plan), fill_plan, true},
    {"gram", sizeof(ease_gram_info), fill_gram, false},
    {"gram file", sizeof(ease_gram_info), fill_peek, false},
    {"model", sizeof(ease_model_info), fill_model, false},
    {"report", sizeof(ease_report_info), fill_report, false},
    {"metric", sizeof(ease_metric), fill_metric, false},
    {"trial", sizeof(ease_trial), fill_trial, false},
    {"weights", sizeof(ease_weight_summary), fill_summary, false},
    {"histogram", sizeof(ease_weight_histogram), fill_histogram, false},
    {"update", sizeof(ease_update_info), fill_update, false},
    {"update plan", sizeof(ease_update_plan), fill_update_plan, true},
    {"plotted weights", sizeof(ease_weight_summary), fill_plotted, false},
};

static unsigned char *info_of_size(int i, size_t size)
{
    unsigned char *info = malloc(infos[i].size + 2 * MORE);

    memset(info, POISON, infos[i].size + 2 * MORE);
    memcpy(info, &size, sizeof(size));
    infos[i].fill(info);
    return info;
}

static void descriptions_stay_within_their_size(test *t)
{
    set_up();
    for (int i = 0; i < (int)(sizeof(infos) / sizeof(infos[0])); i++) {
        size_t known = infos[i].size, end = known + 2 * MORE;
        unsigned char *whole = info_of_size(i, known);

        for (size_t size = sizeof(size); size <= known + MORE; size += 8) {
            unsigned char *info = info_of_size(i, size);
            size_t told = size < known ? size : known, kept;

            memcpy(&kept, info, sizeof(kept));
            check_int(t, kept, size);
            check(t, all_bytes(info, size, end, POISON));
            check(t, size <= known || all_bytes(info, known, size, 0));
            if (!infos[i].measured &&
                !check(t, memcmp(info + sizeof(size), whole + sizeof(size),
                                 told - sizeof(size)) == 0))
                printf("  %s of %zu bytes\n", infos[i].name, size);
            free(info);
        }
        free(whole);
    }
    clean_up();
}

static void descriptions_without_a_size_are_not_written(test *t)
{
    ease_columns c = {.user = 7};
    ease_plan plan = {.threads = 7};
    ease_gram_info info = {.items = 7};
    ease_weight_summary w = {.count = 7};
    ease_weight_histogram h = {.bins = 7};
    ease_split_parts parts = {0};
    ease_model_info model = {.items = 7};
    ease_error err = {0};

    set_up();
    check_status(t, ease_columns_recognize(NULL, 2, NULL, 0, NULL, &c, &err),
                 EASE_E_ARG);
    check_contains(t, err.text, "{.size = sizeof(");
    check_status(t, ease_plan_data(x, NULL, EASE_STORE_F32, &plan, NULL), EASE_E_ARG);
    check_status(t, ease_gram_peek(gram_path, &info, NULL), EASE_E_ARG);
    check_status(t, ease_model_summarize_weights(m, &w, NULL, NULL), EASE_E_ARG);
    check_status(t, ease_model_count_weights(m, &h, NULL, NULL, NULL), EASE_E_ARG);
    check_status(t, ease_split_open(dir, &parts, NULL), EASE_E_ARG);
    ease_model_describe(m, &model);
    ease_model_describe(m, NULL);
    check(t, c.user == 7 && plan.threads == 7 && info.items == 7 && w.count == 7 &&
                 h.bins == 7 && model.items == 7 && !parts.train);
    clean_up();
}

/* A leak checker sees whether the other parts are freed. */
static void parts_that_an_older_caller_does_not_know_are_freed(test *t)
{
    ease_split_parts parts;

    set_up();
    memset(&parts, POISON, sizeof(parts));
    parts.size = offsetof(ease_split_parts, validation_input);
    check_status(t, ease_split_open(dir, &parts, NULL), EASE_OK);
    check(t, ease_interactions_users(parts.train) > 0);
    check(t, all_bytes(&parts, parts.size, sizeof(parts), POISON));
    ease_split_close(&parts);
    check(t, parts.train == NULL);
    check_int(t, parts.size, offsetof(ease_split_parts, validation_input));
    check(t, all_bytes(&parts, parts.size, sizeof(parts), POISON));
    clean_up();
}

static void a_split_tells_what_it_read_where_that_is_wanted(test *t)
{
    ease_interactions_info read = {.size = sizeof(read)};
    ease_split_info info = {.size = sizeof(info), .data = &read};
    ease_split_options o;

    set_up();
    ease_split_options_init(&o);
    o.protocol = "random";
    check_status(t, ease_split(data, NULL, &o, dir, &info, NULL), EASE_OK);
    check(t, info.data == &read);
    check_int(t, read.rows, 200);
    check_int(t, info.users, read.users);
    info = (ease_split_info){.size = sizeof(info)};
    check_status(t, ease_split(data, NULL, &o, dir, &info, NULL), EASE_OK);
    check(t, info.data == NULL && info.train.users > 0);
    info.size = 0;
    check_status(t, ease_split(data, NULL, &o, dir, &info, NULL), EASE_E_ARG);
    clean_up();
}

/* ---- NULL ------------------------------------------------------------------ */

static void accessors_accept_null(test *t)
{
    ease_metric metric = report_metric(NULL, 0);
    ease_trial trial = tuning_trial(NULL, 0);
    int32_t k = 7;

    check_int(t, interactions_info(NULL).users, 0);
    check(t, interactions_info(NULL).recognized == NULL);
    check_int(t, ease_interactions_users(NULL), 0);
    check_int(t, ease_interactions_items(NULL), 0);
    check_int(t, ease_interactions_row(NULL, 0).count, 0);
    check(t, ease_interactions_user_id(NULL, 0) == NULL);
    check(t, ease_interactions_item_id(NULL, 0) == NULL);
    check_int(t, ease_interactions_find_user(NULL, "a"), EASE_NO_USER);
    check_int(t, gram_info(NULL).items, 0);
    check_int(t, ease_gram_items(NULL), 0);
    check(t, isnan(ease_gram_at(NULL, 0, 0)));
    check(t, ease_gram_item_id(NULL, 0) == NULL);
    check_int(t, model_info(NULL).items, 0);
    check_int(t, ease_model_items(NULL), 0);
    check(t, ease_model_method(NULL) == NULL);
    check_int(t, ease_model_find(NULL, "a"), EASE_NO_ITEM);
    check(t, ease_model_item_id(NULL, 0) == NULL);
    check(t, ease_model_title(NULL, 0) == NULL);
    check_int(t, ease_model_find_user(NULL, "a"), EASE_NO_USER);
    check_int(t, ease_model_history(NULL, 0).count, 0);
    check(t, ease_model_user_id(NULL, 0) == NULL);
    check(t, isnan(ease_model_popularity(NULL, 0)));
    check(t, isnan(ease_model_base(NULL, 0)));
    check_status(t, ease_model_row(NULL, 0, NULL, NULL), EASE_E_ARG);
    check_int(t, ease_history_row(NULL).count, 0);
    check_int(t, ease_history_unknown(NULL), 0);
    check_int(t, report_info(NULL).users, 0);
    check_int(t, ease_report_users(NULL), 0);
    check_int(t, ease_report_metrics(NULL), 0);
    check(t, metric.name == NULL && isnan(metric.mean) && isnan(metric.standard_error));
    check(t, isnan(ease_report_value(NULL, 0, 0)));
    check(t, ease_report_user_id(NULL, 0) == NULL);
    check(t, ease_report_times(NULL, &k) == NULL && k == 0);
    check_int(t, ease_tuning_count(NULL), 0);
    check_int(t, ease_tuning_best(NULL), 0);
    check_int(t, ease_tuning_stopped(NULL), 0);
    check_int(t, ease_tuning_unknown_targets(NULL), 0);
    check(t, trial.settings == NULL && isnan(trial.lambda) && isnan(trial.mean));
    ease_recipe_apply(NULL, NULL);
    ease_split_close(NULL);
    ease_history_free(NULL);
}

static void the_version_is_that_of_the_header(test *t)
{
    char text[40];

    snprintf(text, sizeof(text), "%d.%d.%d", EASE_VERSION_MAJOR, EASE_VERSION_MINOR,
             EASE_VERSION_PATCH);
    check_text(t, ease_version(), text);
    check_int(t, ease_version_number(), EASE_VERSION_NUMBER);
}

static const test_case cases[] = {
    TEST(older_options_take_the_defaults_of_what_they_lack),
    TEST(newer_options_are_used_unless_they_set_more),
    TEST(options_without_a_size_are_refused),
    TEST(descriptions_stay_within_their_size),
    TEST(descriptions_without_a_size_are_not_written),
    TEST(parts_that_an_older_caller_does_not_know_are_freed),
    TEST(a_split_tells_what_it_read_where_that_is_wanted),
    TEST(accessors_accept_null),
    TEST(the_version_is_that_of_the_header),
};

TEST_MAIN(cases)
