/* Networks: kernels and steps against plain twins in float64, and training. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/exponential.h"
#include "core/random.h"
#include "data.h"
#include "methods/network.h"
#include "test.h"

static const char *const methods[] = {"cdae", "mult-dae", "mult-vae"};
static const char *const small[] = {"hidden=24,batch=70,epochs=3,seed=5",
                                    "hidden=24,batch=70,epochs=3,seed=5",
                                    "hidden=40,latent=9,batch=70,epochs=3,seed=5"};
enum { METHODS = 3 };

static ease_interactions *seeded_data(int64_t users, int32_t items, bool weighted,
                                      uint64_t seed)
{
    ease_interactions *x = random_interactions(users, items, 0.1, weighted, seed);
    ease_interactions *copy = NULL;

    if (ease_interactions_from_csr(x->users, x->items, x->row_ptr, x->cols, x->vals,
                                   &copy, NULL))
        abort();
    free_interactions(x);
    return copy;
}

static ease_interactions *some_data(int64_t users, int32_t items, bool weighted)
{
    return seeded_data(users, items, weighted, 5);
}

/* ---- kernels -------------------------------------------------------------------- */

static void fill_random(float *x, size_t count, double scale, uint64_t seed)
{
    ease__random r;

    ease__random_seed(&r, seed, 1);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(scale * (2 * ease__random_unit(&r) - 1));
}

static void tanh_is_close_to_that_of_the_library(test *t)
{
    float x[3000], y[3000];

    fill_random(x, 1000, 0.01, 1);
    fill_random(x + 1000, 1000, 3, 2);
    fill_random(x + 2000, 1000, 200, 3);
    x[0] = 0;
    memcpy(y, x, sizeof(x));
    ease__tanh(y, 3000);
    for (int i = 0; i < 3000; i++)
        check_near(t, y[i], tanh((double)x[i]), 2 * (double)FLT_EPSILON);
}

/* Scores from what is no number are none either: such items are not recommended. */
static void tanh_of_what_is_no_number_is_none(test *t)
{
    for (size_t at = 0; at < 40; at++) {
        float x[40] = {[3] = INFINITY, [5] = -INFINITY};

        x[at] = NAN;
        ease__tanh(x, 40);
        for (size_t i = 0; i < 40; i++)
            check(t, i == at  ? isnan(x[i])
                     : i == 3 ? x[i] == 1
                     : i == 5 ? x[i] == -1
                              : x[i] == 0);
    }
}

/* Of every length up to some lanes and a rest. */
static void panels_are_exponentiated_and_squared(test *t)
{
    for (int32_t count = 1; count < 60; count++) {
        float x[60], e[60], q[60], max = 0, sum, squares;
        double want = 0, most = -INFINITY, two = 0;

        fill_random(x, (size_t)count, 20, (uint64_t)count);
        memcpy(e, x, sizeof(x));
        memcpy(q, x, sizeof(x));
        sum = ease__exp_panel(e, count, &max);
        squares = ease__square_panel(q, count, 0.25f);
        for (int32_t i = 0; i < count; i++) {
            most = fmax(most, (double)x[i]);
            two += (double)x[i] * (double)x[i];
            check(t, q[i] == 0.25f * x[i]);
        }
        for (int32_t i = 0; i < count; i++) {
            /* the difference is rounded: half a unit of at most 40 */
            double value = exp((double)x[i] - most);

            check_near(t, e[i], value, value * 24 * (double)FLT_EPSILON + 1e-37);
            want += value;
        }
        check_near(t, max, most, 0);
        check_near(t, sum, want, want * 40 * (double)FLT_EPSILON);
        check_near(t, squares, two, two * 60 * (double)FLT_EPSILON);
    }
}

static void scores_far_apart_do_not_overflow(test *t)
{
    float x[3] = {1e30f, -1e30f, 0}, max, sum = ease__exp_panel(x, 3, &max);

    check_near(t, max, (double)1e30f, 0);
    check_near(t, sum, 1, 1e-30);
    check_near(t, x[0], 1, 0);
}

static void adam_follows_its_definition(test *t)
{
    float w[37], m[37] = {0}, v[37] = {0}, g[37];
    double w2[37], m2[37] = {0}, v2[37] = {0};

    fill_random(w, 37, 1, 4);
    for (int i = 0; i < 37; i++)
        w2[i] = (double)w[i];
    for (int step = 1; step <= 20; step++) {
        ease__adam a = ease__adam_at(1e-3, 0.01, step);

        fill_random(g, 37, step % 3 ? 1e-3 : 0, (uint64_t)step);
        ease__adam_update(&a, g, w, m, v, 37);
        for (int i = 0; i < 37; i++) {
            double d = (double)g[i] + 2 * 0.01 * w2[i];

            m2[i] = 0.9 * m2[i] + 0.1 * d;
            v2[i] = 0.999 * v2[i] + 0.001 * d * d;
            w2[i] -= 1e-3 * (m2[i] / (1 - pow(0.9, step))) /
                     (sqrt(v2[i] / (1 - pow(0.999, step))) + 1e-8);
            check_near(t, w[i], w2[i], step * 2e-7);
        }
    }
}

static void a_batch_is_transposed(test *t)
{
    int32_t one[] = {0, 3}, two[] = {3, 4}, rows[8];
    float a[] = {1, 2}, b[] = {3, 4}, values[8];
    int64_t starts[7];
    ease_row batch[] = {{one, a, 2}, {NULL, NULL, 0}, {two, b, 2}};
    ease__batch_columns c = {starts, rows, values};
    static const int64_t want[] = {0, 1, 1, 1, 3, 4, 4};

    ease__batch_transpose(batch, 3, 6, &c);
    check(t, memcmp(starts, want, sizeof(want)) == 0);
    check_int(t, rows[1], 0);
    check_int(t, rows[2], 2);
    check_near(t, values[1], 2, 0);
    check_near(t, values[2], 3, 0);
    check_near(t, values[3], 4, 0);
}

/* ---- a step: the twin ----------------------------------------------------------- */

/* Sizes past one block of each kind. */
enum { USERS = 150, BATCH = 140, ITEMS = 270 };

typedef struct plain {
    const ease__network *net;
    const ease__batch *batch;
    double *w, *users;
    double divergence;
} plain;

static void plain_layer(const plain *p, const ease__layer *l, const double *in,
                        double *out)
{
    for (int32_t j = 0; j < l->out; j++) {
        out[j] = p->w[l->b + (size_t)j];
        for (int32_t i = 0; i < l->in; i++)
            out[j] += in[i] * p->w[l->a + (size_t)i * (size_t)l->out + (size_t)j];
    }
}

/* h of one user, and what the divergence adds. */
static double plain_encode(const plain *p, int32_t row, double *h)
{
    const ease__latent_shape *s = &p->net->o.shape;
    ease_row x = p->batch->input[row];
    double next[100], spread[100], more = 0;
    size_t width = (size_t)s->width[0];

    for (int32_t l = 0; l < s->layers; l++) {
        plain_layer(p, &p->net->at.layer[l], h, next);
        for (size_t k = 0; l == 0 && k < width; k++) {
            for (int32_t i = 0; i < x.count; i++)
                next[k] += (double)x.weights[i] *
                           p->w[p->net->at.embedding + (size_t)x.items[i] * width + k];
            if (p->users)
                next[k] += p->users[(size_t)p->batch->user[row] * width + k];
        }
        if (l == p->net->o.drawn) {
            size_t count = (size_t)s->width[l];

            plain_layer(p, &p->net->at.spread, h, spread);
            for (size_t k = 0; k < count; k++) {
                more += 0.5 * (exp(spread[k]) + next[k] * next[k] - spread[k] - 1);
                next[k] += (double)p->batch->noise[(size_t)row * count + k] *
                           exp(spread[k] / 2);
            }
        }
        for (int32_t k = 0; k < s->width[l]; k++)
            h[k] = s->activation[l] == EASE__TANH ? tanh(next[k]) : next[k];
    }
    return p->divergence * more;
}

static double plain_user(const plain *p, int32_t row)
{
    const ease__network *net = p->net;
    int32_t rank = ease__latent_rank(&net->o.shape), n = net->items;
    double h[100], y[ITEMS], x[ITEMS] = {0}, sum = 0;
    double loss = plain_encode(p, row, h);
    ease_row target = p->batch->target[row];

    for (int32_t k = 0; k < target.count; k++)
        x[target.items[k]] = target.weights ? (double)target.weights[k] : 1;
    for (int32_t j = 0; j < n; j++) {
        y[j] = p->w[net->at.base + (size_t)j];
        for (int32_t k = 0; k < rank; k++)
            y[j] += h[k] * p->w[net->at.decoder + (size_t)j * (size_t)rank + (size_t)k];
        sum += exp(y[j]);
    }
    for (int32_t j = 0; j < n; j++)
        if (net->o.loss == EASE__SQUARES)
            loss += (x[j] != 0 ? net->o.weight : 1) * (x[j] - y[j]) * (x[j] - y[j]);
        else
            loss -= x[j] * (y[j] - log(sum));
    return loss;
}

static double plain_loss(const plain *p)
{
    double sum = 0;

    for (int32_t row = 0; row < p->batch->count; row++)
        sum += plain_user(p, row);
    return sum / p->batch->count;
}

/* ---- a step: the case ----------------------------------------------------------- */

typedef struct setup {
    ease_interactions *x;
    ease__network net;
    ease__batch batch;
    float *weights;
} setup;

static ease__network_options options_of(int method)
{
    ease__network_options o = {.shape = {.encoder = EASE__NETWORK,
                                         .normalize = method > 0,
                                         .layers = 1,
                                         .width = {70},
                                         .activation = {EASE__TANH}},
                               .drawn = -1,
                               .loss = method == 0 ? EASE__SQUARES : EASE__MULTINOMIAL,
                               .of_users = method == 0,
                               .epochs = 1,
                               .batch = BATCH,
                               .rate = 1e-3,
                               .decay = method == 2 ? 0 : 1e-3,
                               .weight = 3,
                               .cap = 0.3,
                               .seed = 3};

    if (method == 2) {
        o.shape.layers = 3;
        o.shape.width[1] = 7;
        o.shape.width[2] = 70;
        o.shape.activation[2] = EASE__TANH;
        o.drawn = 1;
    }
    return o;
}

/* Every second interaction is dropped. */
static setup set_up_with(test *t, ease_interactions *x, int method, int threads)
{
    setup s = {.x = x};
    ease__network_options o = options_of(method);
    int32_t *items = malloc((size_t)s.x->nnz * sizeof(*items));
    int64_t at = 0;

    check_status(t,
                 ease__network_new(&o, USERS, x->items, x->nnz, threads, &s.net, NULL),
                 EASE_OK);
    s.weights = malloc((size_t)s.x->nnz * sizeof(float));
    fill_random(s.weights, (size_t)s.x->nnz, 0.3, 9);
    s.batch = (ease__batch){.count = BATCH,
                            .target = calloc(BATCH, sizeof(ease_row)),
                            .input = calloc(BATCH, sizeof(ease_row)),
                            .user = calloc(BATCH, sizeof(int64_t)),
                            .noise = calloc((size_t)BATCH * 7, sizeof(float))};
    fill_random(s.batch.noise, (size_t)BATCH * 7, 2, 8);
    if (s.net.user_value)
        fill_random(s.net.user_value, (size_t)USERS * 70, 0.2, 7);
    for (int32_t row = 0; row < BATCH; row++) {
        int64_t first = at;

        s.batch.user[row] = USERS - 1 - row;
        s.batch.target[row] = ease_interactions_row(s.x, USERS - 1 - row);
        for (int32_t k = row % 2; k < s.batch.target[row].count; k += 2)
            items[at++] = s.batch.target[row].items[k];
        s.batch.input[row] = (ease_row){items + first, s.weights + first,
                                        (int32_t)(at - first)};
    }
    return s;
}

static setup set_up(test *t, int method, bool weighted, int threads)
{
    return set_up_with(t, some_data(USERS, ITEMS, weighted), method, threads);
}

static void tear_down(setup *s)
{
    free((void *)(uintptr_t)s->batch.input[0].items);
    free(s->weights);
    free(s->batch.target);
    free(s->batch.input);
    free(s->batch.user);
    free(s->batch.noise);
    ease__network_free(&s->net);
    ease_interactions_free(s->x);
}

static double *widened(const float *from, size_t count)
{
    double *to = malloc(count * sizeof(*to));

    for (size_t i = 0; i < count; i++)
        to[i] = (double)from[i];
    return to;
}

/* The derivative of the twin's loss at one number, with that of the decay. */
static double slope(const plain *p, double *at, double decay)
{
    double was = *at, step = 1e-5, up;

    *at = was + step;
    up = plain_loss(p);
    *at = was - step;
    up -= plain_loss(p);
    *at = was;
    return up / (2 * step) + 2 * decay * was;
}

/* Some numbers of a part: the first moment after one step is a tenth of the gradient.
 * Sums of BATCH float32 terms, whose rounding is far below the tolerance. */
static void check_slopes(test *t, const plain *p, double *values, const float *first,
                         size_t count, double decay, uint64_t seed)
{
    ease__random r;

    ease__random_seed(&r, seed, 0);
    for (int k = 0; k < 12; k++) {
        size_t i = ease__random_below(&r, count);
        double want = slope(p, values + i, decay);

        check_near(t, (double)first[i] * 10, want, 2e-5 * fabs(want) + 2e-7);
    }
}

static void check_all_slopes(test *t, const plain *p)
{
    const ease__network *net = p->net;
    const ease__network_parts *at = &net->at;
    double decay = net->o.decay;
    size_t n = ITEMS, width = (size_t)net->o.shape.width[0];

    check_slopes(t, p, p->w + at->embedding, net->first + at->embedding, n * width,
                 decay, 1);
    check_slopes(t, p, p->w + at->decoder, net->first + at->decoder,
                 n * (size_t)ease__latent_rank(&net->o.shape), decay, 2);
    check_slopes(t, p, p->w + at->base, net->first + at->base, n, 0, 3);
    for (int32_t l = 0; l <= net->o.shape.layers; l++) {
        const ease__layer *one = l < net->o.shape.layers ? &at->layer[l] : &at->spread;

        if (one->in)
            check_slopes(t, p, p->w + one->a, net->first + one->a,
                         (size_t)one->in * (size_t)one->out, decay, 4);
        if (one->out)
            check_slopes(t, p, p->w + one->b, net->first + one->b, (size_t)one->out, 0,
                         5);
    }
    if (p->users) /* of those in the batch */
        check_slopes(t, p, p->users + (USERS - BATCH) * width,
                     net->user_first + (USERS - BATCH) * width, BATCH * width, decay,
                     6);
}

/* From the moments, which are known to be right, to the weights. */
static void check_moves(test *t, const ease__network *net, const double *before)
{
    for (size_t i = 0; i < net->at.count; i++) {
        double m = (double)net->first[i] / (1 - 0.9);
        double v = (double)net->second[i] / (1 - 0.999);

        check_near(t, net->value[i], before[i] - 1e-3 * m / (sqrt(v) + 1e-8), 4e-7);
    }
}

static void a_step_goes_down_the_slope(test *t)
{
    for (int round = 0; round < 2 * METHODS; round++) {
        setup s = set_up(t, round % METHODS, round >= METHODS, 2);
        plain p = {&s.net, &s.batch, widened(s.net.value, s.net.at.count), NULL, 0.3};
        double loss, want;

        if (s.net.o.of_users)
            p.users = widened(s.net.user_value, (size_t)USERS * 70);
        want = plain_loss(&p);
        loss = ease__network_step(&s.net, &s.batch);
        check_near(t, loss, want, 1e-5 * fabs(want));
        check_all_slopes(t, &p);
        check_moves(t, &s.net, p.w);
        free(p.w);
        free(p.users);
        tear_down(&s);
    }
}

/* The same data in a catalog that many more items stretch. */
static ease_interactions *stretched_data(int32_t by)
{
    ease_interactions *x = some_data(USERS, ITEMS, true);

    for (int64_t k = 0; k < x->nnz; k++)
        x->cols[k] *= by;
    x->items *= by;
    return x;
}

/* Weights of `from`; the items between have none, and are not to be expected. */
static void spread_weights(const ease__network *from, ease__network *to, int32_t by)
{
    size_t width = (size_t)from->o.shape.width[0];
    size_t rank = (size_t)ease__latent_rank(&from->o.shape);
    const ease__network_parts *a = &from->at, *b = &to->at;
    float unlikely = from->o.loss == EASE__SQUARES ? 0.0f : -80.0f;

    memset(to->value, 0, b->count * sizeof(float));
    memcpy(to->value + b->dense, from->value + a->dense,
           (a->decoder - a->dense) * sizeof(float));
    for (size_t j = 0; j < (size_t)to->items; j++)
        to->value[b->base + j] = unlikely;
    for (size_t i = 0; i < (size_t)from->items; i++) {
        size_t j = i * (size_t)by;

        memcpy(to->value + b->embedding + j * width,
               from->value + a->embedding + i * width, width * sizeof(float));
        memcpy(to->value + b->decoder + j * rank, from->value + a->decoder + i * rank,
               rank * sizeof(float));
        to->value[b->base + j] = from->value[a->base + i];
    }
}

/* What a sum over several slices of items gives is what one slice gives. */
static void many_items_are_summed_in_slices(test *t)
{
    enum { BY = 40 };

    for (int method = 0; method < METHODS; method++) {
        setup one = set_up(t, method, true, 2);
        setup many = set_up_with(t, stretched_data(BY), method, 2);
        size_t dense = one.net.at.decoder - one.net.at.dense, width = 70;

        spread_weights(&one.net, &many.net, BY);
        check_near(t, ease__network_step(&many.net, &many.batch),
                   ease__network_step(&one.net, &one.batch), 1e-4);
        for (size_t k = 0; k < dense; k++)
            check_near(t, many.net.first[many.net.at.dense + k],
                       one.net.first[one.net.at.dense + k], 1e-6);
        for (size_t i = 0; i < ITEMS * width; i++)
            check_near(t,
                       many.net.first[many.net.at.embedding + i / width * BY * width +
                                      i % width],
                       one.net.first[one.net.at.embedding + i], 1e-6);
        tear_down(&one);
        tear_down(&many);
    }
}

static void the_weight_of_the_divergence_rises_to_its_cap(test *t)
{
    setup s = set_up(t, 2, false, 1);
    plain p = {.net = &s.net, .batch = &s.batch};
    static const double want[] = {0, 0.25, 0.3, 0.3};

    s.net.o.anneal = 4;
    for (int step = 0; step < 4; step++) {
        double loss;

        p.w = widened(s.net.value, s.net.at.count);
        p.divergence = want[step];
        loss = plain_loss(&p);
        check_near(t, ease__network_step(&s.net, &s.batch), loss, 1e-5 * loss);
        free(p.w);
    }
    tear_down(&s);
}

/* ---- training ------------------------------------------------------------------- */

static ease_model *train(test *t, const ease_interactions *x, int method,
                         const char *more, int threads)
{
    char settings[200];
    ease_train_options o;
    ease_model *m = NULL;
    ease_error err;

    snprintf(settings, sizeof(settings), "%s%s", small[method], more);
    ease_train_options_init(&o);
    o.settings = settings;
    o.threads = threads;
    if (!check_status(t, train_method(x, methods[method], &o, &m, &err), EASE_OK))
        abort();
    return m;
}

static bool same_weights(const ease_model *a, const ease_model *b)
{
    const ease__latent_shape *s = &a->latent.shape;
    size_t n = (size_t)a->info.items, f = sizeof(float);

    return memcmp(s, &b->latent.shape, sizeof(*s)) == 0 &&
           memcmp(a->base, b->base, n * f) == 0 &&
           memcmp(a->latent.dense, b->latent.dense, ease__latent_dense_count(s) * f) ==
               0 &&
           memcmp(a->latent.embedding, b->latent.embedding,
                  n * (size_t)s->width[0] * f) == 0 &&
           memcmp(a->latent.decoder, b->latent.decoder,
                  n * (size_t)ease__latent_rank(s) * f) == 0;
}

static void threads_do_not_matter_and_the_seed_does(test *t)
{
    ease_interactions *x = some_data(200, 300, false);

    for (int method = 0; method < METHODS; method++) {
        ease_model *one = train(t, x, method, "", 1), *two = train(t, x, method, "", 2),
                   *five = train(t, x, method, "", 5),
                   *other = train(t, x, method, ",rate=0.0011", 1);

        check(t, same_weights(one, two));
        check(t, same_weights(one, five));
        check(t, !same_weights(one, other));
        ease_model_free(one);
        ease_model_free(two);
        ease_model_free(five);
        ease_model_free(other);
    }
    ease_interactions_free(x);
}

static void check_lists(test *t, const ease_model *m, const ease_model *back,
                        const ease_interactions *x)
{
    enum { USER_COUNT = 70, K = 8 };
    ease_row rows[USER_COUNT];
    ease_rec many[USER_COUNT * K], again[USER_COUNT * K], one[K];
    int32_t counts[USER_COUNT], count;
    ease_recommend_options o;
    ease_scorer *s = NULL;

    ease_recommend_options_init(&o);
    o.k = K;
    for (int64_t u = 0; u < USER_COUNT; u++)
        rows[u] = ease_interactions_row(x, u);
    check_status(t, ease_recommend_many(m, rows, USER_COUNT, &o, many, counts, NULL),
                 EASE_OK);
    check_status(t,
                 ease_recommend_many(back, rows, USER_COUNT, &o, again, counts, NULL),
                 EASE_OK);
    check(t, memcmp(many, again, sizeof(many)) == 0);
    check_status(t, ease_scorer_new(back, &s, NULL), EASE_OK);
    for (int64_t u = 0; u < USER_COUNT; u++) {
        check_status(t, ease_recommend(s, rows[u], &o, one, &count, NULL), EASE_OK);
        check_int(t, count, counts[u]);
        check(t, memcmp(one, many + u * K, sizeof(one)) == 0);
    }
    ease_scorer_free(s);
}

static void models_come_back_from_files(test *t)
{
    ease_interactions *x = some_data(100, 300, false);

    for (int method = 0; method < METHODS; method++) {
        ease_model *m = train(t, x, method, "", 2), *back = NULL;
        const char *path = test_path("network.ease");

        check_status(t, ease_model_save(m, path, EASE_STORE_F16, NULL, NULL), EASE_OK);
        check_status(t, ease_file_verify(path, NULL, NULL), EASE_OK);
        if (check_status(t, ease_model_open(path, NULL, &back, NULL), EASE_OK)) {
            check_text(t, model_info(back).method, methods[method]);
            check_text(t, model_info(back).settings, model_info(m).settings);
            check(t, same_weights(m, back));
            check_lists(t, m, back, x);
        }
        ease_model_free(back);
        ease_model_free(m);
    }
    ease_interactions_free(x);
}

/* ---- validation, stopping, failing ---------------------------------------------- */

typedef struct listener {
    int epochs, warnings, calls, stop_at;
    double best, last;
    char warning[480];
    ease_hooks hooks; /* that tell it all this */
} listener;

static void listen(void *user, int level, const char *text)
{
    listener *l = user;
    const char *at = strstr(text, "ndcg@20 ");

    if (level == 1) {
        l->warnings++;
        snprintf(l->warning, sizeof(l->warning), "%s", text);
    }
    if (strncmp(text, "epoch ", 6) == 0) {
        l->epochs++;
        l->last = at ? strtod(at + 8, NULL) : 0;
        l->best = fmax(l->best, l->last);
    }
}

static int stop(void *user, const char *stage, double fraction)
{
    listener *l = user;

    (void)stage;
    (void)fraction;
    return ++l->calls == l->stop_at;
}

static ease_train_options listening(listener *l, const ease_interactions *x)
{
    ease_train_options o;

    ease_train_options_init(&o);
    o.threads = 2;
    o.settings = "hidden=16,latent=4,batch=20,epochs=30,rate=0.05,seed=2";
    o.validation_input = o.validation_target = x;
    o.metric = "ndcg@20";
    l->hooks = (ease_hooks){.log = listen, .progress = stop, .user = l};
    o.hooks = &l->hooks;
    return o;
}

/* Five items of the target are unknown to the model. */
static void the_best_epoch_is_the_model(test *t)
{
    ease_interactions *x = some_data(60, 40, false),
                      *input = seeded_data(50, 40, false, 6),
                      *target = seeded_data(50, 45, false, 7);
    double best[2] = {0, 0};

    for (int how = EASE_UNKNOWN_MISS; how <= EASE_UNKNOWN_DROP; how++) {
        listener l = {0};
        ease_train_options o = listening(&l, input);
        ease_eval_options e;
        ease_model *m = NULL;
        ease_report *r = NULL;

        o.validation_target = target;
        o.unknown = (ease_unknown)how;
        check_status(t, train_method(x, "mult-vae", &o, &m, NULL), EASE_OK);
        check_int(t, l.epochs, 30);
        check(t, l.last < l.best); /* else this test would show nothing */
        ease_eval_options_init(&e);
        e.metrics = "ndcg@20";
        e.unknown = (ease_unknown)how;
        check_status(t, ease_evaluate(m, input, target, &e, &r, NULL), EASE_OK);
        check_near(t, report_metric(r, 0).mean, l.best, 5.1e-6);
        best[how] = l.best;
        ease_report_free(r);
        ease_model_free(m);
    }
    check(t, best[EASE_UNKNOWN_MISS] < best[EASE_UNKNOWN_DROP]);
    ease_interactions_free(x);
    ease_interactions_free(input);
    ease_interactions_free(target);
}

/* Three batches an epoch: the fifth is in the second one. */
static void stopped_training_keeps_the_best_so_far(test *t)
{
    ease_interactions *x = some_data(60, 40, false);

    for (int at = 2; at <= 5; at += 3) {
        listener l = {.stop_at = at};
        ease_train_options o = listening(&l, x);
        ease_model *m = NULL;

        check_status(t, train_method(x, "mult-vae", &o, &m, NULL),
                     at < 4 ? EASE_E_CANCELLED : EASE_OK);
        check_int(t, m != NULL, at >= 4);
        check_int(t, l.warnings, at >= 4);
        if (m)
            check_contains(t, l.warning, "stopped: the model is that of epoch 1");
        ease_model_free(m);
    }
    ease_interactions_free(x);
}

static void training_that_diverges_is_an_error(test *t)
{
    ease_interactions *x = some_data(60, 40, true);
    ease_train_options o;
    ease_error err = {0};
    ease_model *m = NULL;

    ease_train_options_init(&o);
    o.settings = "hidden=8,batch=20,epochs=3";
    for (int64_t i = 0; i < x->nnz; i++)
        x->vals[i] = 3e38f;
    check_status(t, train_method(x, "cdae", &o, &m, &err), EASE_E_ACCURACY);
    check_contains(t, err.text, "diverged in epoch 1");
    check_contains(t, err.text, "lower rate than 0.001");
    check(t, !m);
    ease_interactions_free(x);
}

static void what_cannot_be_is_refused(test *t)
{
    static const int64_t nothing[] = {0, 0};
    static const int64_t one[] = {0, 1};
    static const int32_t last = 49;
    ease_interactions *x = some_data(60, 40, false), *empty = NULL, *unknown = NULL;
    listener l = {0};
    ease_train_options o = listening(&l, x);
    ease_model *m = NULL;

    check_status(t, ease_interactions_from_csr(1, 50, one, &last, NULL, &unknown, NULL),
                 EASE_OK);
    o.validation_target = unknown;
    check_status(t, train_method(x, "mult-vae", &o, &m, NULL), EASE_E_DATA);
    check_int(t, l.epochs, 0);

    check_status(t,
                 ease_interactions_from_csr(1, 40, nothing, NULL, NULL, &empty, NULL),
                 EASE_OK);
    for (int method = 0; method < METHODS; method++) {
        ease_train_options_init(&o);
        o.validation_input = x;
        check_status(t, train_method(x, methods[method], &o, &m, NULL), EASE_E_ARG);
        o.validation_target = empty;
        check_status(t, train_method(x, methods[method], &o, &m, NULL), EASE_E_DATA);
        o.validation_target = x;
        o.metric = "recall";
        check_status(t, train_method(x, methods[method], &o, &m, NULL), EASE_E_ARG);
        ease_train_options_init(&o);
        o.memory_limit = 10000;
        check_status(t, train_method(x, methods[method], &o, &m, NULL),
                     EASE_E_MEMORY_LIMIT);
    }
    check(t, !m);
    ease_interactions_free(x);
    ease_interactions_free(empty);
    ease_interactions_free(unknown);
}

static void training_survives_every_failed_allocation(test *t)
{
    ease_interactions *x = some_data(12, 10, false);
    listener l = {0};

    for (int method = 0; method < METHODS; method++) {
        ease_train_options o = listening(&l, x);
        ease_status status;
        int n = 0;

        o.settings = "hidden=4,epochs=1";
        o.threads = 1;
        do {
            ease_model *m = NULL;

            alloc_fail_after(n++);
            status = train_method(x, methods[method], &o, &m, NULL);
            alloc_fail_after(-1);
            check_int(t, m != NULL, status == EASE_OK);
            ease_model_free(m);
        } while (status == EASE_E_NOMEM);
        check_status(t, status, EASE_OK);
    }
    ease_interactions_free(x);
}

static const test_case cases[] = {
    TEST(tanh_is_close_to_that_of_the_library),
    TEST(tanh_of_what_is_no_number_is_none),
    TEST(panels_are_exponentiated_and_squared),
    TEST(scores_far_apart_do_not_overflow),
    TEST(adam_follows_its_definition),
    TEST(a_batch_is_transposed),
    TEST(a_step_goes_down_the_slope),
    TEST(many_items_are_summed_in_slices),
    TEST(the_weight_of_the_divergence_rises_to_its_cap),
    TEST(threads_do_not_matter_and_the_seed_does),
    TEST(models_come_back_from_files),
    TEST(the_best_epoch_is_the_model),
    TEST(stopped_training_keeps_the_best_so_far),
    TEST(training_that_diverges_is_an_error),
    TEST(what_cannot_be_is_refused),
    TEST(training_survives_every_failed_allocation),
};

TEST_MAIN(cases)
