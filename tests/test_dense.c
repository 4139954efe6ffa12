/* The closed-form family in the library: the inverse and what is read off it in double
 * precision, rescaling without a solve, similarities, files, failed allocations. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "data.h"
#include "methods/methods.h"
#include "model/dense.h"
#include "quick.h"
#include "solve/solve.h"
#include "test.h"

enum { USERS = 90, ITEMS = 40 };

#define EVERYTHING                                                      \
    "lambda-power=0.5,dropout=0.3,user-power=0.5,relaxation=0.4,input-" \
    "power=0.2,output-power=-0.1"

/* A member with its settings, and whether it can be trained from correlations. */
typedef struct member {
    const char *method, *settings;
    bool correlation;
} member;

static const member members[] = {
    {"ease", "", true},
    {"edlae", "dropout=0.6", false},
    {"rlae", "relaxation=0.3", true},
    {"rlae", "relaxation=1", true},
    {"rdlae", "dropout=0.2,relaxation=0.6", false},
    {"dan", "dropout=0.1,user-power=0.7,item-power=0.3,relaxation=0.1", false},
    {"dan", "user-power=-0.5", true},
    {"ease-rescaled", "power=0.4", true},
    {"ease-ips", "power=0.4", true},
    {"ease-ips", "propensity=power,power=0.4", true},
    {"mrf", "", false},
    {"ease-family", "lambda-power=-0.5", false},
    {"ease-family", "user-power=0.5,relaxation=0.4,output-power=0.3", true},
    {"ease-family", EVERYTHING, false},
};
enum { MEMBERS = sizeof(members) / sizeof(members[0]) };

static ease_train_options options_of(const member *of, ease_gram_kind kind,
                                     ease_precision precision)
{
    ease_train_options o;

    ease_train_options_init(&o);
    o.method = of->method;
    o.settings = of->settings;
    o.lambda = kind == EASE_GRAM_CORRELATION ? 0.5 : 5;
    o.kind = kind;
    o.precision = precision;
    o.threads = 2;
    return o;
}

static bool has_kind(const member *of, ease_gram_kind kind)
{
    const ease_gram_kind *own = ease_method_find(of->method)->kind;

    if (own)
        return kind == *own;
    return kind != EASE_GRAM_CORRELATION || of->correlation;
}

static ease__family family_of(const member *of)
{
    const ease__method *m = ease__method_find(of->method);
    double values[EASE__MOST_SETTINGS];

    if (ease__settings_parse(m->settings, of->method, of->settings, values, NULL, NULL))
        abort();
    return ease__method_family(m, values);
}

static ease__dense_order order_of(test *t, const ease_train_options *o)
{
    ease__dense_order order = {0};
    ease_error err = {0};

    if (!check_status(t, ease__dense_order_take(o, &order, &err), EASE_OK)) {
        printf("  %s: %s\n", o->method, err.text);
        abort();
    }
    return order;
}

static ease_gram *gram_for(const ease_interactions *x, const ease__dense_order *order)
{
    ease__element element = order->o.precision == EASE_F64             ? EASE__F64
                            : x->vals || order->family.user_power != 0 ? EASE__F32
                                                                       : EASE__U32;
    ease_gram *g = NULL;

    if (ease__gram_build_bands(x, element, order->family.user_power, NULL, 2, NULL, &g,
                               NULL))
        abort();
    return g;
}

/* ---- the twin: long double, plain loops, the formulas of model/family.h -------- */

typedef struct twin {
    size_t n;
    long double *p, *w; /* n x n: the inverse for the kind, and the weights */
} twin;

static long double *reals(size_t count)
{
    long double *x = calloc(count, sizeof(*x));

    return x ? x : (abort(), NULL);
}

static void invert(long double *a, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        long double pivot = a[k * n + k];

        a[k * n + k] = 1;
        for (size_t j = 0; j < n; j++)
            a[k * n + j] /= pivot;
        for (size_t i = 0; i < n; i++) {
            long double factor = a[i * n + k];

            if (i == k)
                continue;
            a[i * n + k] = 0;
            for (size_t j = 0; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
    }
}

static long double at_least_one(long double users)
{
    return fmaxl(users, 1);
}

/* 1 / the propensity of an item, or n^output. Items that nobody has do not change the
 * range of the others. */
static long double output_of(const ease__family *f, const long double *users, size_t n,
                             size_t j)
{
    long double least = INFINITY, most = 1, count = at_least_one(users[j]);
    long double own = logl(count + 1);

    for (size_t i = 0; i < n; i++) {
        if (users[i] > 0)
            least = fminl(least, at_least_one(users[i]));
        most = fmaxl(most, users[i]);
    }
    if (f->output_kind == EASE__RESCALE_SHARE)
        return powl(count / most, f->output);
    if (f->output_kind == EASE__RESCALE_SIGMOID)
        return 1 + expl(f->output * (own - (logl(least + 1) + logl(most + 1)) / 2));
    return powl(count, f->output);
}

static twin twin_of(const ease_interactions *x, const ease__family *f,
                    ease_gram_kind kind, double lambda)
{
    size_t n = (size_t)x->items;
    twin d = {.n = n, .p = reals(n * n), .w = reals(n * n)};
    long double *users = reals(n), *sums = reals(n), *ridge = reals(n), *of = reals(n);
    long double *whole = reals(n), mass = 0, square = 0, weighted = 0;
    double *dense = dense_interactions(x);
    long double *p = d.p;

    for (int64_t u = 0; u < x->users; u++) {
        const double *row = dense + (size_t)u * n;
        long double own = 0, count = 0;

        for (size_t i = 0; i < n; i++)
            count += row[i] != 0;
        own = count > 0 ? powl(count, -(long double)f->user_power) : 0;
        mass += own;
        for (size_t i = 0; i < n; i++) {
            users[i] += row[i] != 0;
            sums[i] += own * row[i];
            square += (long double)row[i] * row[i];
            weighted += own * row[i] * row[i];
            for (size_t j = 0; j < n; j++)
                p[i * n + j] += own * row[i] * row[j];
        }
    }
    for (size_t i = 0; i < n; i++)
        whole[i] = p[i * n + i];
    for (size_t i = 0; kind != EASE_GRAM_COUNTS && i < n; i++)
        for (size_t j = 0; j < n; j++)
            p[i * n + j] -= sums[i] * sums[j] / mass;
    for (size_t i = 0; i < n; i++) {
        long double c = p[i * n + i];
        bool constant = kind != EASE_GRAM_COUNTS && !(c > 1e-6L * whole[i]);

        of[i] = constant ? 0 : kind == EASE_GRAM_CORRELATION ? sqrtl(c) : 1;
        ridge[i] = f->raw ? lambda : lambda * weighted / square;
        if (f->lambda_power != 0 && !constant && c > 0)
            ridge[i] *= powl(c, f->lambda_power);
        ridge[i] += (long double)f->dropout / (1 - (long double)f->dropout) *
                    (f->raw ? users[i] : whole[i]);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            p[i * n + j] = of[i] == 0 || of[j] == 0 ? 0
                                                    : p[i * n + j] / (of[i] * of[j]);
    for (size_t i = 0; i < n; i++)
        p[i * n + i] += ridge[i];
    invert(p, n);
    for (size_t j = 0; j < n; j++) {
        long double diagonal = p[j * n + j], xi = f->relaxation, m;

        m = 1 - ridge[j] * diagonal > xi ? (1 - xi) / diagonal : ridge[j];
        if (xi == 0)
            m = 1 / diagonal;
        for (size_t i = 0; i < n; i++)
            if (i != j && of[i] != 0 && of[j] != 0)
                d.w[i * n + j] = -powl(at_least_one(users[i]), f->input) *
                                 p[i * n + j] * m * output_of(f, users, n, j) * of[j] /
                                 of[i];
    }
    free(users);
    free(sums);
    free(ridge);
    free(of);
    free(whole);
    free(dense);
    return d;
}

static void twin_free(twin *d)
{
    free(d->p);
    free(d->w);
}

static double largest_of(const long double *w, size_t count)
{
    long double largest = 0;

    for (size_t k = 0; k < count; k++)
        largest = fmaxl(largest, fabsl(w[k]));
    return (double)largest;
}

/* ---- in double precision --------------------------------------------------------- */

/* W_ij from the inverse, before anything is rounded to float32. */
static double weight_of(const ease_gram *g, const ease__model_parts *r, int32_t i,
                        int32_t j)
{
    double pivot = ease__tiled_at(&g->g, j, j), m = 1 / pivot;
    double from = r->scale ? r->scale[i] : 1, to = r->scale ? r->scale[j] : 1;

    if (i == j || from == 0 || to == 0)
        return 0;
    if (r->relaxation > 0)
        m = 1 - r->ridge[j] * pivot > r->relaxation ? (1 - r->relaxation) / pivot
                                                    : r->ridge[j];
    return -(r->input ? r->input[i] : 1) / from * ease__tiled_at(&g->g, i, j) * m * to *
           (r->output ? r->output[j] : 1);
}

static void check_in_double(test *t, const ease_interactions *x, const member *of,
                            ease_gram_kind kind)
{
    ease_train_options o = options_of(of, kind, EASE_F64);
    ease__dense_order order = order_of(t, &o);
    ease__dense_vectors v = {0};
    ease_gram *g = gram_for(x, &order);
    twin d = twin_of(x, &order.family, order.o.kind, o.lambda);
    double residual, slack = 1e-9 * largest_of(d.w, d.n * d.n);
    ease__model_parts r;

    check_status(t, ease__dense_vectors_new(g, &order, &v, NULL), EASE_OK);
    ease__dense_prepare(g, &order, &v);
    check_status(
        t,
        ease__solve(&g->g, v.scales.ridge, order.backend, 2, 0, NULL, &residual, NULL),
        EASE_OK);
    r = ease__dense_parts(g, &order, &v, EASE__F64, residual);
    for (int32_t i = 0; i < x->items; i++)
        for (int32_t j = 0; j < x->items; j++) {
            double want = (double)d.w[(size_t)i * d.n + (size_t)j];

            if (!check_near(t, weight_of(g, &r, i, j), want, slack)) {
                printf("  %s %s, kind %d, %d to %d\n", of->method, of->settings,
                       (int)kind, (int)i, (int)j);
                i = j = x->items;
            }
        }
    ease__dense_vectors_free(&v);
    ease_gram_free(g);
    twin_free(&d);
}

static void weights_in_float64_equal_a_plain_inverse(test *t)
{
    for (int weighted = 0; weighted < 2; weighted++) {
        ease_interactions *x = random_interactions(USERS, ITEMS, 0.2, weighted, 6);

        for (int kind = 0; kind < 3; kind++)
            for (size_t i = 0; i < MEMBERS; i++)
                if (has_kind(&members[i], (ease_gram_kind)kind))
                    check_in_double(t, x, &members[i], (ease_gram_kind)kind);
        free_interactions(x);
    }
}

/* ---- rescaling without a solve --------------------------------------------------- */

static bool same_floats(const float *a, const float *b, size_t n)
{
    return (!a && !b) || (a && b && memcmp(a, b, n * sizeof(*a)) == 0);
}

static void check_same_bits(test *t, const ease_model *a, const ease_model *b)
{
    size_t n = (size_t)a->info.items;
    float *left = malloc(n * sizeof(*left)), *right = malloc(n * sizeof(*right));

    for (int32_t i = 0; i < a->info.items; i++) {
        check_status(t, ease_model_row(a, i, left, NULL), EASE_OK);
        check_status(t, ease_model_row(b, i, right, NULL), EASE_OK);
        if (!check(t, same_floats(left, right, n)))
            break;
    }
    check(t, same_floats(a->base, b->base, n));
    check(t, same_floats(a->norm, b->norm, n));
    check(t, same_floats(a->norm_to, b->norm_to, n));
    check_text(t, model_info(a).settings, model_info(b).settings);
    check_near(t, model_info(a).residual, model_info(b).residual, 0);
    free(left);
    free(right);
}

/* One inverse, and what is read off it, in this order; the first is solved for. */
static const struct readings {
    const char *method;
    bool correlation;
    const char *settings[5];
} readings[] = {
    {"ease-family",
     true,
     {"relaxation=0.4", "output-power=-0.3", "", "input-power=0.2,relaxation=0.9",
      "relaxation=1,output-power=1"}},
    {"ease-family",
     false,
     {"dropout=0.4,user-power=0.5,lambda-power=0.3",
      "dropout=0.4,user-power=0.5,lambda-power=0.3,relaxation=0.2,input-power=1",
      "dropout=0.4,user-power=0.5,lambda-power=0.3,output-power=-1",
      "dropout=0.4,user-power=0.5,lambda-power=0.3,relaxation=0.8",
      "dropout=0.4,user-power=0.5,lambda-power=0.3"}},
    {"dan",
     false,
     {"dropout=0.1", "dropout=0.1,item-power=0.5",
      "dropout=0.1,item-power=0,relaxation=0.3", "dropout=0.1,item-power=-1",
      "dropout=0.1,relaxation=1"}},
    {"ease-ips",
     true,
     {"power=0.5", "power=0", "propensity=power,power=0.2",
      "propensity=sigmoid,power=0.2", "power=1.5"}},
};

static void check_readings(test *t, const ease_interactions *x,
                           const struct readings *of, ease_gram_kind kind,
                           ease_precision precision)
{
    member first = {of->method, of->settings[0], true};
    ease_train_options o = options_of(&first, kind, precision);
    ease__dense_order order = order_of(t, &o);
    ease__dense d = {0};

    if (!check_status(t, ease__dense_solve(gram_for(x, &order), &order, &d, NULL),
                      EASE_OK))
        return;
    for (size_t k = 0; k < 5; k++) {
        double values[EASE__MOST_SETTINGS];
        ease_model *trained = NULL;

        o.settings = of->settings[k];
        if (ease__settings_parse(order.method->settings, o.method, o.settings, values,
                                 NULL, NULL))
            abort();
        if (k > 0)
            check_status(t, ease__dense_read(&d, values, NULL), EASE_OK);
        check_status(t, ease_train(x, &o, &trained, NULL), EASE_OK);
        check_same_bits(t, d.model, trained);
        ease_model_free(trained);
    }
    ease__dense_free(&d);
}

static void reading_again_gives_the_bits_of_training(test *t)
{
    for (int weighted = 0; weighted < 2; weighted++) {
        ease_interactions *x = random_interactions(USERS, ITEMS, 0.2, weighted, 6);

        for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++)
            for (int kind = 0; kind < (readings[i].correlation ? 3 : 2); kind++)
                for (int wide = 0; wide < 2; wide++)
                    check_readings(t, x, &readings[i], (ease_gram_kind)kind,
                                   wide ? EASE_F64 : EASE_F32);
        free_interactions(x);
    }
}

/* ---- similarities and files ------------------------------------------------------ */

static ease_model *trained(test *t, const ease_interactions *x, const member *of,
                           ease_gram_kind kind)
{
    ease_train_options o = options_of(of, kind, EASE_F64);
    ease_model *m = NULL;
    ease_error err = {0};

    if (!check_status(t, ease_train(x, &o, &m, &err), EASE_OK)) {
        printf("  %s\n", err.text);
        abort();
    }
    return m;
}

static void check_similar(test *t, const ease_model *m, const twin *d, double tolerance)
{
    ease_scorer *s = NULL;
    ease_recommend_options o;
    ease_rec recs[ITEMS];

    ease_recommend_options_init(&o);
    o.k = ITEMS;
    check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
    for (int32_t i = 0; i < ITEMS; i++) {
        int32_t count = 0;

        check_status(t, ease_similar(s, i, &o, recs, &count, NULL), EASE_OK);
        check_int(t, count, ITEMS - 1);
        for (int32_t k = 0; k < count; k++) {
            size_t a = (size_t)i * d->n, b = (size_t)recs[k].item * d->n;
            long double p = d->p[a + (size_t)recs[k].item];
            long double scale = sqrtl(d->p[a + (size_t)i] *
                                      d->p[b + (size_t)recs[k].item]);

            if (!check_near(t, (double)recs[k].score, (double)(-p / scale), tolerance))
                return;
        }
    }
    ease_scorer_free(s);
}

/* Weights of scaled members are not symmetric, but similarities are. In float16 a
 * weight has 11 bits. */
static void similarities_are_partial_correlations(test *t)
{
    const char *path = test_path("similar.ease");
    ease_interactions *x = random_interactions(USERS, ITEMS, 0.2, false, 6);

    for (int kind = 0; kind < 3; kind++)
        for (size_t i = 0; i < MEMBERS; i++) {
            const member *of = &members[i];
            ease__family f = family_of(of);
            ease_model *m;
            twin d;

            if (!has_kind(of, (ease_gram_kind)kind))
                continue;
            d = twin_of(x, &f, (ease_gram_kind)kind, kind == 2 ? 0.5 : 5);
            m = trained(t, x, of, (ease_gram_kind)kind);
            check_similar(t, m, &d, 1e-6);
            for (int storage = 0; storage < 3; storage++) {
                ease_model *back = NULL;

                check_status(
                    t, ease_model_save(m, path, (ease_storage)storage, NULL, NULL),
                    EASE_OK);
                check_status(t, ease_model_open(path, NULL, &back, NULL), EASE_OK);
                check_similar(t, back, &d, storage == EASE_STORE_F16 ? 0x1p-11 : 1e-6);
                ease_model_free(back);
            }
            ease_model_free(m);
            twin_free(&d);
        }
    free_interactions(x);
}

static bool has_section(const char *path, const char *name)
{
    ease__disk_header h = read_header(path);

    for (uint32_t s = 0; s < h.sections; s++)
        if (strcmp(h.section[s].name, name) == 0)
            return true;
    return false;
}

static void files_keep_every_bit(test *t)
{
    const char *path = test_path("kept.ease");
    ease_interactions *x = random_interactions(USERS, ITEMS, 0.2, false, 6);

    for (size_t i = 0; i < MEMBERS; i++) {
        ease_gram_kind kind = has_kind(&members[i], EASE_GRAM_COVARIANCE)
                                  ? EASE_GRAM_COVARIANCE
                                  : EASE_GRAM_COUNTS;
        ease_model *m = trained(t, x, &members[i], kind);

        for (int storage = 0; storage < 3; storage++) {
            ease_model *back = NULL;

            check_status(t, ease_model_save(m, path, (ease_storage)storage, NULL, NULL),
                         EASE_OK);
            check_int(t, has_section(path, "norm_to"), m->norm_to != NULL);
            check_status(t, ease_model_open(path, NULL, &back, NULL), EASE_OK);
            check_text(t, model_info(back).method, members[i].method);
            check_near(t, model_info(back).lambda, 5, 0);
            if (storage != EASE_STORE_F16)
                check_same_bits(t, back, m);
            ease_model_free(back);
        }
        ease_model_free(m);
    }
    free_interactions(x);
}

/* EASE's own files stay as they were. */
static void only_members_that_need_it_have_norm_to(test *t)
{
    ease_interactions *x = random_interactions(USERS, ITEMS, 0.2, false, 6);

    for (size_t i = 0; i < MEMBERS; i++) {
        ease_model *m = trained(t, x, &members[i], EASE_GRAM_COUNTS);
        ease__family f = family_of(&members[i]);
        bool scaled = f.relaxation > 0 || ease__family_scales(&f);

        check_int(t, m->norm_to != NULL, scaled);
        ease_model_free(m);
    }
    free_interactions(x);
}

static void wrong_norms_are_damage(test *t)
{
    char path[512], copy[512];
    ease_interactions *x = random_interactions(USERS, ITEMS, 0.2, false, 6);
    ease_model *m = trained(t, x, &members[MEMBERS - 1], EASE_GRAM_COUNTS);
    float norms[ITEMS + 1];
    static const float wrong[] = {0, -1, NAN, INFINITY};

    snprintf(path, sizeof(path), "%s", test_path("norms.ease"));
    snprintf(copy, sizeof(copy), "%s", test_path("wrong.ease"));
    for (int storage = 0; storage < 3; storage++) {
        check_status(t, ease_model_save(m, path, (ease_storage)storage, NULL, NULL),
                     EASE_OK);
        for (size_t k = 0; k < 4 + 3; k++) {
            static const size_t counts[] = {0, ITEMS - 1, ITEMS + 1};
            size_t count = k < 4 ? ITEMS : counts[k - 4];
            ease_model *back = NULL;
            ease_error err = {0};

            for (int32_t i = 0; i < ITEMS + 1; i++)
                norms[i] = 1;
            if (k < 4)
                norms[17] = wrong[k];
            copy_changed(path,
                         (section_change){.name = "norm_to",
                                          .data = norms,
                                          .bytes = count * sizeof(float)},
                         copy);
            if (!check_status(t, ease_model_open(copy, NULL, &back, &err),
                              EASE_E_FORMAT))
                printf("  storage %d, change %zu\n", storage, k);
            ease_model_free(back);
        }
    }
    ease_model_free(m);
    free_interactions(x);
}

/* ---- plans, options -------------------------------------------------------------- */

static void what_the_plan_allows_can_be_trained(test *t)
{
    for (int weighted = 0; weighted < 2; weighted++)
        for (size_t i = 0; i < MEMBERS; i++) {
            ease_interactions *x = random_interactions(3000, 200, 0.05, weighted, 6);
            ease_train_options o = options_of(&members[i], EASE_GRAM_COUNTS, EASE_F32);
            ease_plan plan = {.size = sizeof(plan)};
            ease_model *m = NULL;
            ease_error err = {0};

            check_status(t, ease_plan_data(x, &o, EASE_STORE_F16, &plan, NULL),
                         EASE_OK);
            o.memory_limit = plan.peak_bytes;
            if (!check_status(t, ease_train(x, &o, &m, &err), EASE_OK))
                printf("  %s %s: %s\n", members[i].method, members[i].settings,
                       err.text);
            ease_model_free(m);
            free_interactions(x);
        }
}

static void options_are_checked_without_data(test *t)
{
    ease_tags *tags = quick_tags(3);
    ease_error err = {0};

    for (int i = 0; ease__methods[i]; i++) {
        const ease__method *m = ease__methods[i];
        char text[QUICK_TEXT];
        ease_train_options o = quick_options(m, 1, text);

        o.method = m->info.name;
        o.tags = NULL; /* they may not have been read yet */
        check_status(t, ease_train_options_check(&o, 0, &err), EASE_OK);
        o.tags = tags;
        check_status(t, ease_train_options_check(&o, 0, &err), EASE_OK);
        o.lambda = NAN; /* with tags, users cannot be left out; they can be held out */
        check_status(t, ease_train_options_check(&o, 0, &err),
                     m->info.has_lambda && m->info.from_gram ? EASE_E_ARG : EASE_OK);
        o.lambda = 10;
        if (strcmp(m->info.name, "dan") != 0)
            check_status(t, ease_train_options_check(&o, 1, &err),
                         m->info.from_gram ? EASE_OK : EASE_E_ARG);
        o.settings = "none=1";
        check_status(t, ease_train_options_check(&o, 0, &err), EASE_E_ARG);
        o.settings = NULL;
        o.kind = (ease_gram_kind)7;
        check_status(t, ease_train_options_check(&o, 0, &err), EASE_E_ARG);
        o.kind = EASE_GRAM_COUNTS;
        o.threads = -1;
        check_status(t, ease_train_options_check(&o, 0, &err), EASE_E_ARG);
    }
    check_status(t, ease_train_options_check(NULL, 0, &err), EASE_E_ARG);
    ease_tags_free(tags);
}

static void impossible_options_are_refused(test *t)
{
    ease_train_options o;
    ease_error err = {0};

    ease_train_options_init(&o);
    o.lambda = 1;
    o.method = "dan";
    check_status(t, ease_train_options_check(&o, 1, &err), EASE_E_ARG);
    check_contains(t, err.text, "needs the interactions");
    o.method = "edlae";
    o.kind = EASE_GRAM_CORRELATION;
    check_status(t, ease_train_options_check(&o, 0, &err), EASE_E_ARG);
    check_contains(t, err.text, "correlation has no dropout");
    o.method = "mrf";
    check_status(t, ease_train_options_check(&o, 0, &err), EASE_E_ARG);
    check_contains(t, err.text, "mrf has a kind of Gram matrix of its own");
    o.kind = EASE_GRAM_COVARIANCE;
    check_status(t, ease_train_options_check(&o, 0, &err), EASE_OK);
    o.method = "ease";
    o.backend = "abacus";
    check_status(t, ease_train_options_check(&o, 0, &err), EASE_E_ARG);
}

/* A Gram matrix in memory has the numbers of users, one from a file has not. */
static void a_gram_of_weighted_data_may_lack_the_counts(test *t)
{
    const char *path = test_path("weighted.gram");
    ease_interactions *x = random_interactions(USERS, ITEMS, 0.2, true, 6);
    ease_train_options o = options_of(&members[7], EASE_GRAM_COUNTS, EASE_F32);
    ease_gram *g = NULL, *copy = NULL;
    ease_model *m = NULL, *direct = NULL;
    ease_error err = {0};

    check_status(t, ease_train(x, &o, &direct, NULL), EASE_OK);
    check_status(t, ease_gram_build(x, NULL, &g, NULL), EASE_OK);
    check_status(t, ease_gram_save(g, path, NULL, NULL), EASE_OK);
    check_status(t, ease_gram_copy(g, &copy, NULL), EASE_OK);
    check_status(t, ease_gram_solve(&copy, &o, &m, NULL), EASE_OK);
    check_same_bits(t, m, direct);
    ease_gram_free(g);
    ease_model_free(m);
    m = NULL;
    check_status(t, ease_train_gram_file(path, &o, &m, &err), EASE_E_DATA);
    check_contains(t, err.text, "needs the number of users of each item");
    check(t, m == NULL);
    ease_model_free(direct);
    free_interactions(x);
}

/* ---- failed allocations ---------------------------------------------------------- */

static void training_survives_every_failed_allocation(test *t)
{
    ease_interactions *x = random_interactions(USERS, 20, 0.2, true, 6);

    for (int kind = 0; kind < 2; kind++) {
        ease_train_options o = options_of(&members[MEMBERS - 1], (ease_gram_kind)kind,
                                          EASE_F32);
        ease_status status;
        int n = 0;

        o.threads = 1;
        do {
            ease_model *m = NULL;

            alloc_fail_after(n++);
            status = ease_train(x, &o, &m, NULL);
            alloc_fail_after(-1);
            check_int(t, m != NULL, status == EASE_OK);
            ease_model_free(m);
        } while (status == EASE_E_NOMEM);
        check_status(t, status, EASE_OK);
        check(t, n > 20);
    }
    free_interactions(x);
}

static void reading_again_survives_every_failed_allocation(test *t)
{
    ease_interactions *x = random_interactions(USERS, 20, 0.2, false, 6);
    ease_train_options o = options_of(&members[MEMBERS - 1], EASE_GRAM_COVARIANCE,
                                      EASE_F32);
    ease__dense_order order = order_of(t, &o);
    double values[EASE__MOST_SETTINGS];
    ease_status status;
    int n = 0;

    if (ease__settings_parse(order.method->settings, o.method,
                             "lambda-power=0.5,dropout=0.3,user-power=0.5,relaxation=0."
                             "1,input-power=1",
                             values, NULL, NULL))
        abort();
    do {
        ease__dense d = {0};

        if (ease__dense_solve(gram_for(x, &order), &order, &d, NULL))
            abort();
        alloc_fail_after(n++);
        status = ease__dense_read(&d, values, NULL);
        alloc_fail_after(-1);
        ease__dense_free(&d);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 4);
    free_interactions(x);
}

static void copying_a_gram_survives_every_failed_allocation(test *t)
{
    ease_interactions *x = random_interactions(USERS, 20, 0.2, true, 6);
    ease_gram *g = NULL;
    ease_status status;
    int n = 0;

    if (ease__gram_build_bands(x, EASE__F64, 0.5, NULL, 1, NULL, &g, NULL))
        abort();
    do {
        ease_gram *copy = NULL;

        alloc_fail_after(n++);
        status = ease_gram_copy(g, &copy, NULL);
        alloc_fail_after(-1);
        check_int(t, copy != NULL, status == EASE_OK);
        if (copy)
            check(t, copy->by_user->mean_weight == g->by_user->mean_weight &&
                         memcmp(copy->by_user->weighted_sums, g->by_user->weighted_sums,
                                20 * sizeof(double)) == 0);
        ease_gram_free(copy);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    ease_gram_free(g);
    free_interactions(x);
}

static void files_survive_every_failed_allocation(test *t)
{
    const char *path = test_path("failing.ease");
    ease_interactions *x = random_interactions(USERS, 20, 0.2, false, 6);
    ease_model *m = trained(t, x, &members[MEMBERS - 1], EASE_GRAM_COUNTS);

    for (int storage = 0; storage < 3; storage++) {
        ease_status status;
        int n = 0;

        do {
            alloc_fail_after(n++);
            status = ease_model_save(m, path, (ease_storage)storage, NULL, NULL);
            alloc_fail_after(-1);
        } while (status == EASE_E_NOMEM);
        check_status(t, status, EASE_OK);
        n = 0;
        do {
            ease_model *back = NULL;

            alloc_fail_after(n++);
            status = ease_model_open(path, NULL, &back, NULL);
            alloc_fail_after(-1);
            check_int(t, back != NULL, status == EASE_OK);
            ease_model_free(back);
        } while (status == EASE_E_NOMEM);
        check_status(t, status, EASE_OK);
    }
    ease_model_free(m);
    free_interactions(x);
}

static const test_case cases[] = {
    TEST(weights_in_float64_equal_a_plain_inverse),
    TEST(reading_again_gives_the_bits_of_training),
    TEST(similarities_are_partial_correlations),
    TEST(files_keep_every_bit),
    TEST(only_members_that_need_it_have_norm_to),
    TEST(wrong_norms_are_damage),
    TEST(what_the_plan_allows_can_be_trained),
    TEST(options_are_checked_without_data),
    TEST(impossible_options_are_refused),
    TEST(a_gram_of_weighted_data_may_lack_the_counts),
    TEST(training_survives_every_failed_allocation),
    TEST(reading_again_survives_every_failed_allocation),
    TEST(copying_a_gram_survives_every_failed_allocation),
    TEST(files_survive_every_failed_allocation),
};
TEST_MAIN(cases)
