/* Training through the public interface, and its plan. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data.h"
#include "gram/gram.h"
#include "oracle.h"
#include "test.h"

static ease_train_options options(double lambda)
{
    ease_train_options o;

    ease_train_options_init(&o);
    o.lambda = lambda;
    return o;
}

/* ---- weights ------------------------------------------------------------------ */

/* W and c by their definitions, from dense X: w is items x items. */
static void oracle_train(const ease_interactions *x, ease_gram_kind kind, double lambda,
                         double *w, double *base)
{
    int32_t n = x->items;
    double *dense = dense_interactions(x), *mu = calloc((size_t)n, sizeof(*mu));
    double *s = calloc((size_t)n, sizeof(*s));
    double *g = malloc((size_t)n * (size_t)n * sizeof(*g));
    double users = (double)x->users;

    oracle_gram(dense, x->users, n, g);
    for (int64_t u = 0; u < x->users; u++)
        for (int32_t i = 0; i < n; i++)
            mu[i] += dense[u * n + i] / users;
    for (int32_t i = 0; i < n && kind != EASE_GRAM_COUNTS; i++)
        for (int32_t j = 0; j < n; j++)
            g[i * n + j] -= users * mu[i] * mu[j];
    for (int32_t i = 0; i < n; i++)
        s[i] = kind == EASE_GRAM_CORRELATION ? sqrt(fmax(g[i * n + i], 0)) : 1;
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < n; j++)
            g[i * n + j] = s[i] > 1e-6 && s[j] > 1e-6 ? g[i * n + j] / (s[i] * s[j])
                                                      : 0;
    oracle_ease(g, n, lambda, w);
    for (int32_t j = 0; j < n; j++) {
        base[j] = kind == EASE_GRAM_COUNTS ? 0 : mu[j];
        for (int32_t i = 0; i < n; i++) {
            w[i * n + j] *= s[i] > 1e-6 ? s[j] / s[i] : 0;
            base[j] -= kind == EASE_GRAM_COUNTS ? 0 : mu[i] * w[i * n + j];
        }
    }
    free(g);
    free(s);
    free(mu);
    free(dense);
}

static void check_weights(test *t, const ease_model *m, const ease_interactions *x,
                          ease_gram_kind kind, double lambda, double tolerance)
{
    size_t n = (size_t)x->items;
    double *w = malloc(n * n * sizeof(*w)), *base = malloc(n * sizeof(*base));
    float *row = malloc(n * sizeof(*row));
    double largest = 0;

    oracle_train(x, kind, lambda, w, base);
    for (size_t k = 0; k < n * n; k++)
        largest = fmax(largest, fabs(w[k]));
    for (int32_t i = 0; i < x->items; i++) {
        check_status(t, ease_model_row(m, i, row, NULL), EASE_OK);
        check(t, row[i] == 0);
        check_near(t, (double)ease_model_base(m, i), base[i], tolerance * largest * 10);
        for (size_t j = 0; j < n; j++)
            if (!check_near(t, (double)row[j], w[(size_t)i * n + j],
                            tolerance * largest))
                break;
    }
    free(row);
    free(base);
    free(w);
}

/* What is promised is a relative 1e-4 of the largest weight. */
static void weights_equal_the_oracle_for_every_kind(test *t)
{
    for (int kind = 0; kind < 3; kind++)
        for (int weighted = 0; weighted < 2; weighted++)
            for (int wide = 0; wide < 2; wide++) {
                ease_interactions *x = random_interactions(90, 40, 0.2, weighted, 6);
                ease_train_options o = options(kind == 2 ? 0.5 : 5);
                ease_model *m = NULL;
                ease_error err = {0};

                o.kind = (ease_gram_kind)kind;
                o.precision = wide ? EASE_F64 : EASE_F32;
                if (check_status(t, ease_train(x, &o, &m, &err), EASE_OK))
                    check_weights(t, m, x, o.kind, o.lambda, wide ? 1e-6 : 1e-4);
                ease_model_free(m);
                free_interactions(x);
            }
}

static void weights_cross_tile_borders(test *t)
{
    ease_interactions *x = random_interactions(60, 530, 0.05, false, 6);
    ease_train_options o = options(20);
    ease_model *m = NULL;

    check_status(t, ease_train(x, &o, &m, NULL), EASE_OK);
    check_weights(t, m, x, EASE_GRAM_COUNTS, 20, 1e-4);
    ease_model_free(m);
    free_interactions(x);
}

static void a_model_tells_what_it_was_trained_with(test *t)
{
    ease_interactions *x = random_interactions(50, 20, 0.2, false, 6);
    ease_train_options o = options(7.5);
    ease_model *m = NULL;
    ease_model_info info = {.size = sizeof(info)};

    check_status(t, ease_train(x, &o, &m, NULL), EASE_OK);
    info = model_info(m);
    check_int(t, info.items, 20);
    check_int(t, info.users, 50);
    check_int(t, info.interactions, x->nnz);
    check_near(t, info.lambda, 7.5, 0);
    check(t, info.residual > 0 && info.residual < 1e-4);
    check(t, info.precision == EASE_F32 && info.kind == EASE_GRAM_COUNTS);
    check_text(t, ease_model_item_id(m, 19), "19");
    check_near(t, ease_model_popularity(m, 1), 50, 0); /* which everyone has */
    ease_model_free(m);
    free_interactions(x);
}

static void check_same_model(test *t, const ease_model *a, const ease_model *b)
{
    int32_t n = model_info(a).items;
    size_t bytes = (size_t)n * sizeof(float);
    float *left = malloc(bytes), *right = malloc(bytes);

    for (int32_t i = 0; i < n; i++) {
        check_status(t, ease_model_row(a, i, left, NULL), EASE_OK);
        check_status(t, ease_model_row(b, i, right, NULL), EASE_OK);
        if (!check(t, memcmp(left, right, bytes) == 0))
            break;
    }
    free(left);
    free(right);
}

static void models_have_the_same_bits_at_any_number_of_threads(test *t)
{
    ease_interactions *x = random_interactions(60, 1100, 0.05, false, 6);
    ease_train_options o = options(20);
    ease_model *first = NULL;

    o.threads = 1;
    check_status(t, ease_train(x, &o, &first, NULL), EASE_OK);
    for (o.threads = 2; o.threads <= 5; o.threads++) {
        ease_model *m = NULL;

        check_status(t, ease_train(x, &o, &m, NULL), EASE_OK);
        check_same_model(t, m, first);
        ease_model_free(m);
    }
    ease_model_free(first);
    free_interactions(x);
}

/* ---- where float32 is not enough ---------------------------------------------- */

typedef struct notes {
    int count;
    char text[480];
} notes;

/* Warnings of precision: there are others, such as that of OpenBLAS's kernels. */
static void on_log(void *user, int level, const char *text)
{
    notes *n = user;

    if (level > 1 || !strstr(text, "float32"))
        return;
    n->count++;
    snprintf(n->text, sizeof(n->text), "%s", text);
}

/* Fewer users than items: singular but for lambda. */
static ease_interactions *singular(void)
{
    return random_interactions(50, 120, 0.3, false, 6);
}

static void a_tiny_lambda_is_solved_again_in_float64(test *t)
{
    ease_interactions *x = singular();
    ease_train_options o = options(1e-6);
    ease_model *m = NULL;
    ease_error err = {0};
    notes n = {0};

    o.hooks = &(ease_hooks){.log = on_log, .user = &n};
    if (check_status(t, ease_train(x, &o, &m, &err), EASE_OK)) {
        check(t, model_info(m).precision == EASE_F64);
        check(t, model_info(m).residual < 1e-4);
    }
    check_int(t, n.count, 1);
    check_contains(t, n.text, "float32 is not enough here (");
    check_contains(t, n.text, "solving again in float64");
    ease_model_free(m);
    free_interactions(x);
}

static void without_memory_for_float64_the_error_says_so(test *t)
{
    ease_interactions *x = singular();
    ease_train_options o = options(1e-6);
    ease_model *m = NULL;
    ease_error err = {0};
    ease_plan plan = {.size = sizeof(plan)};
    ease_status status;

    check_status(t, ease_plan_data(x, &o, EASE_STORE_F32, &plan, NULL), EASE_OK);
    o.memory_limit = plan.peak_bytes;
    status = ease_train(x, &o, &m, &err);
    check(t, status == EASE_E_ACCURACY || status == EASE_E_NOT_POSDEF);
    check(t, err.status == status && m == NULL);
    check_contains(t, err.text, "use float64 (which takes");
    free_interactions(x);
}

static void hopeless_data_ends_in_a_clear_error(test *t)
{
    ease_interactions *x = singular();
    ease_train_options o = options(1e-14);
    ease_model *m = NULL;
    ease_error err = {0};
    ease_status status = ease_train(x, &o, &m, &err);

    check(t, status == EASE_E_ACCURACY || status == EASE_E_NOT_POSDEF);
    check_contains(t, err.text, "raise lambda");
    check(t, m == NULL && !strstr(err.text, "float64"));
    free_interactions(x);
}

/* ---- Gram matrices ------------------------------------------------------------ */

static ease_gram *gram_of(test *t, const ease_interactions *x)
{
    ease_gram *g = NULL;

    if (!check_status(t, ease_gram_build(x, NULL, &g, NULL), EASE_OK))
        exit(1);
    return g;
}

static void a_gram_gives_the_model_of_its_data(test *t)
{
    for (int weighted = 0; weighted < 2; weighted++)
        for (int wide = 0; wide < 2; wide++) {
            ease_interactions *x = random_interactions(60, 530, 0.05, weighted, 6);
            ease_train_options o = options(20);
            ease_gram *g = gram_of(t, x);
            ease_model *whole = NULL, *solved = NULL, *read = NULL;
            const char *path = test_path("some.gram");

            o.precision = wide ? EASE_F64 : EASE_F32;
            check_status(t, ease_train(x, &o, &whole, NULL), EASE_OK);
            check_status(t, ease_gram_save(g, path, NULL, NULL), EASE_OK);
            check_status(t, ease_train_gram_file(path, &o, &read, NULL), EASE_OK);
            check_status(t, ease_gram_solve(&g, &o, &solved, NULL), EASE_OK);
            check(t, g == NULL);
            check_same_model(t, read, solved);
            /* Weighted entries round to float32 in a Gram that is not wide. */
            if (!(weighted && wide))
                check_same_model(t, whole, solved);
            check(t, model_info(solved).precision == o.precision);
            ease_model_free(whole);
            ease_model_free(solved);
            ease_model_free(read);
            free_interactions(x);
        }
}

static void a_gram_is_consumed_by_failure_too(test *t)
{
    ease_interactions *x = singular();
    ease_train_options o = options(1e-6), wrong = options(0);
    ease_gram *g = gram_of(t, x);
    ease_model *m = NULL;
    ease_error err = {0};
    ease_status status = ease_gram_solve(&g, &o, &m, &err);

    check(t, status == EASE_E_ACCURACY || status == EASE_E_NOT_POSDEF);
    check_contains(t, err.text, "use float64");
    check(t, g == NULL && m == NULL);
    g = gram_of(t, x);
    check_status(t, ease_gram_solve(&g, &wrong, &m, &err), EASE_E_ARG);
    check(t, g == NULL);
    check_status(t, ease_gram_solve(&g, &o, &m, &err), EASE_E_ARG);
    free_interactions(x);
}

static void a_failed_pivot_is_named_by_its_id(test *t)
{
    ease_interactions *x = random_interactions(50, 5, 0.5, false, 6);
    const char *ids[] = {"ant", "bee", "cow", "dog", "eel"};
    ease_train_options o = options(1);
    ease_gram *g;
    ease_model *m = NULL;
    ease_error err = {0};

    for (int i = 0; i < 5; i++)
        ease__ids_add(&x->item_ids, ids[i], 3);
    g = gram_of(t, x);
    /* More users of both than of either: no Gram matrix. */
    ((uint32_t *)g->g.data)[3 * g->g.edge + 2] = 1000;
    check_status(t, ease_gram_solve(&g, &o, &m, &err), EASE_E_NOT_POSDEF);
    check_contains(t, err.text, "\"dog\" (number 3)");
    check_int(t, err.where, 3);
    free_interactions(x);
}

/* ---- what is refused, and what is cancelled ----------------------------------- */

static void wrong_options_are_refused(test *t)
{
    const double lambdas[] = {0, -1, -INFINITY, INFINITY};
    ease_interactions *x = random_interactions(50, 5, 0.5, false, 6);
    ease_train_options o;
    ease_model *m = NULL;
    ease_error err = {0};

    for (size_t i = 0; i < 4; i++) {
        o = options(lambdas[i]);
        check_status(t, ease_train(x, &o, &m, &err), EASE_E_ARG);
        check_contains(t, err.text, "lambda");
    }
    check_status(t, ease_train(x, NULL, &m, &err), EASE_E_ARG);
    o = options(1);
    check_status(t, ease_train(NULL, &o, &m, &err), EASE_E_ARG);
    check_status(t, ease_train_gram_file(NULL, &o, &m, &err), EASE_E_ARG);
    o.size = 3;
    check_status(t, ease_train(x, &o, &m, &err), EASE_E_ARG);
    o = options(1);
    o.backend = "abacus";
    check_status(t, ease_train(x, &o, &m, &err), EASE_E_ARG);
    o = options(1);
    o.memory_limit = 1000;
    check_status(t, ease_train(x, &o, &m, &err), EASE_E_MEMORY_LIMIT);
    check_contains(t, err.text, "training 5 items takes");
    check(t, m == NULL);
    free_interactions(x);
}

static int cancel_when_solving(void *user, const char *stage, double fraction)
{
    (void)user;
    (void)fraction;
    return strcmp(stage, "solving") == 0;
}

static void training_can_be_cancelled(test *t)
{
    ease_interactions *x = random_interactions(50, 60, 0.5, false, 6);
    ease_train_options o = options(1);
    ease_model *m = NULL;

    o.hooks = &(ease_hooks){.progress = cancel_when_solving};
    check_status(t, ease_train(x, &o, &m, NULL), EASE_E_CANCELLED);
    check(t, m == NULL);
    free_interactions(x);
}

static void train_survives_every_failed_allocation(test *t)
{
    ease_interactions *x = random_interactions(50, 30, 0.5, true, 6);

    for (int kind = 0; kind < 3; kind++) {
        ease_train_options o = options(10);
        ease_status status;
        int n = 0;

        o.kind = (ease_gram_kind)kind;
        do {
            ease_model *m = NULL;

            alloc_fail_after(n++);
            status = ease_train(x, &o, &m, NULL);
            alloc_fail_after(-1);
            check_int(t, m != NULL, status == EASE_OK);
            ease_model_free(m);
        } while (status == EASE_E_NOMEM);
        check_status(t, status, EASE_OK);
    }
    free_interactions(x);
}

/* ---- the plan ----------------------------------------------------------------- */

static void a_plan_adds_up(test *t)
{
    ease_train_options o = options(1);
    ease_plan narrow = {.size = sizeof(narrow)}, wide = narrow, file = narrow;
    size_t n = 41140;

    check_status(
        t, ease_plan_sizes(500000, 41140, 30000000, &o, EASE_STORE_F16, &narrow, NULL),
        EASE_OK);
    check(t, narrow.matrix_bytes > 2 * n * n && narrow.matrix_bytes < 22 * n * n / 10);
    check(t, narrow.peak_bytes > narrow.matrix_bytes + 2 * 4 * 30000000);
    check(t, narrow.peak_bytes < 22 * n * n / 10 + 16 * 30000000ul + 100000000);
    check(t, narrow.model_bytes > 2 * n * n && narrow.model_bytes < 21 * n * n / 10);
    check_near(t, narrow.flops, (double)n * (double)n * (double)n, 0);
    check(t, narrow.flops_a_second > 1e8 && narrow.threads >= 1);
    check(t, narrow.gram_seconds > 0 && narrow.write_seconds > 0);
    o.precision = EASE_F64;
    o.memory_limit = narrow.peak_bytes;
    check_status(
        t, ease_plan_sizes(500000, 41140, 30000000, &o, EASE_STORE_F32, &wide, NULL),
        EASE_OK);
    check(t, wide.matrix_bytes == 2 * narrow.matrix_bytes && !wide.fits);
    check_int(t, wide.available_bytes, o.memory_limit);
    o.precision = EASE_F32;
    check_status(t, ease_plan_sizes(0, 41140, 0, &o, EASE_STORE_PACKED, &file, NULL),
                 EASE_OK);
    check(t, file.fits && file.peak_bytes < narrow.peak_bytes - 100000000);
    check_status(t, ease_plan_sizes(0, 0, 0, &o, EASE_STORE_F32, &file, NULL),
                 EASE_E_ARG);
    check_status(t, ease_plan_sizes(0, 5, 0, &o, EASE_STORE_NONE, &file, NULL),
                 EASE_E_ARG);
    check_status(t, ease_plan_sizes(0, 5, 0, &o, (ease_storage)9, &file, NULL),
                 EASE_E_ARG);
}

/* ---- the memory of the plan against that of a process ------------------------- */

enum { PEAK_USERS = 40000, PEAK_ITEMS = 4096, PEAK_LENGTH = 50 };

static double peak_resident(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    double kib = 0;

    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = atof(line + 6);
    if (f)
        fclose(f);
    return 1024 * kib;
}

/* Prints what was planned and what was taken. */
static int train_and_report(void)
{
    ease_interactions x = {.users = PEAK_USERS, .items = PEAK_ITEMS};
    ease_train_options o = options(100);
    ease_model *m = NULL;
    ease_plan plan = {.size = sizeof(plan)};
    ease_error err = {0};

    x.row_ptr = malloc((PEAK_USERS + 1) * sizeof(*x.row_ptr));
    x.cols = malloc(sizeof(*x.cols) * PEAK_USERS * PEAK_LENGTH);
    for (int32_t u = 0; u <= PEAK_USERS; u++) {
        x.row_ptr[u] = x.nnz;
        for (int32_t k = 0; k < PEAK_LENGTH && u < PEAK_USERS; k++)
            x.cols[x.nnz++] = 80 * k + (u * 7 + k * u) % 80;
    }
    if (ease_plan_data(&x, &o, EASE_STORE_F32, &plan, &err) ||
        ease_train(&x, &o, &m, &err)) {
        printf("%s\n", err.text);
        return 1;
    }
    printf("%.0f %.0f\n", (double)plan.peak_bytes, peak_resident());
    ease_model_free(m);
    free(x.row_ptr);
    free(x.cols);
    return 0;
}

static void peak_memory_is_what_the_plan_says(test *t)
{
    char self[400], command[420];
    double planned = 0, taken = 1;
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    FILE *f;

#ifdef SANITIZED
    test_skip(t, "a sanitizer takes memory of its own");
    return;
#endif
#ifdef EMULATED
    test_skip(t, "an emulated program cannot start itself");
    return;
#endif
    self[length > 0 ? length : 0] = '\0';
    snprintf(command, sizeof(command), "'%s' peak", self);
    f = popen(command, "r");
    check(t, f && fscanf(f, "%lf %lf", &planned, &taken) == 2);
    if (f)
        check_int(t, pclose(f), 0);
    check_near(t, planned / taken, 1, 0.1);
}

static const test_case cases[] = {
    TEST(weights_equal_the_oracle_for_every_kind),
    TEST(weights_cross_tile_borders),
    TEST(a_model_tells_what_it_was_trained_with),
    TEST(models_have_the_same_bits_at_any_number_of_threads),
    TEST(a_tiny_lambda_is_solved_again_in_float64),
    TEST(without_memory_for_float64_the_error_says_so),
    TEST(hopeless_data_ends_in_a_clear_error),
    TEST(a_gram_gives_the_model_of_its_data),
    TEST(a_gram_is_consumed_by_failure_too),
    TEST(a_failed_pivot_is_named_by_its_id),
    TEST(wrong_options_are_refused),
    TEST(training_can_be_cancelled),
    TEST(train_survives_every_failed_allocation),
    TEST(a_plan_adds_up),
    TEST(peak_memory_is_what_the_plan_says),
};

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "peak") == 0)
        return train_and_report();
    return test_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
