/* Networks: their weights, and their training by epochs. */
#include "methods/network.h"

#include <math.h>
#include <string.h>

#include "compute/blas.h"
#include "core/random.h"
#include "eval/metrics.h"
#include "gram/gram.h"

ease__network_options ease__network_options_of(const double *settings)
{
    return (ease__network_options){.shape = {.encoder = EASE__NETWORK,
                                             .layers = 1,
                                             .width = {(int32_t)settings[EASE__HIDDEN]},
                                             .activation = {EASE__TANH}},
                                   .drawn = -1,
                                   .epochs = (int32_t)settings[EASE__EPOCHS],
                                   .batch = (int32_t)settings[EASE__BATCH],
                                   .rate = settings[EASE__RATE],
                                   .dropout = settings[EASE__DROPOUT],
                                   .decay = settings[EASE__DECAY],
                                   .seed = (uint64_t)settings[EASE__SEED]};
}

/* ---- weights -------------------------------------------------------------------- */

/* Reserves `count` floats; each part begins at a cache line. */
static size_t take(size_t *at, size_t count)
{
    size_t begin = *at;

    *at = ease__size_add(begin, ease__size_add(count, 15) / 16 * 16);
    return begin;
}

static ease__network_parts place(const ease__network_options *o, int32_t items)
{
    const ease__latent_shape *s = &o->shape;
    size_t n = (size_t)items, at = 0, next;
    ease__network_parts p = {0};

    p.embedding = take(&at, n * (size_t)s->width[0]);
    p.dense = next = take(&at, ease__latent_dense_count(s));
    for (int32_t l = 0; l < s->layers; l++) {
        int32_t in = l ? s->width[l - 1] : 0;

        p.layer[l] = (ease__layer){next, next + (size_t)in * (size_t)s->width[l], in,
                                   s->width[l]};
        next = p.layer[l].b + (size_t)s->width[l];
    }
    if (o->drawn > 0) {
        p.spread = p.layer[o->drawn];
        p.spread.a = take(&at, (size_t)p.spread.in * (size_t)p.spread.out);
        p.spread.b = take(&at, (size_t)p.spread.out);
    }
    p.decoder = take(&at, n * (size_t)ease__latent_rank(s));
    p.base = take(&at, n);
    p.count = at;
    return p;
}

static size_t user_count(const ease__network_options *o, int64_t users)
{
    return o->of_users ? ease__size_mul((size_t)users, (size_t)o->shape.width[0]) : 0;
}

size_t ease__network_bytes(const ease__network_options *o, int64_t users, int32_t items,
                           int64_t longest, int threads)
{
    size_t floats = ease__size_add(place(o, items).count, user_count(o, users));

    return ease__size_add(ease__size_mul(3 * sizeof(float), floats),
                          ease__step_scratch_bytes(o, items, longest, threads));
}

/* Draws two normal numbers (Box and Muller). */
static void draw_normal(ease__random *r, float out[2])
{
    double radius = sqrt(-2 * log(1 - ease__random_unit(r)));
    double angle = 2 * 3.14159265358979323846 * ease__random_unit(r);

    out[0] = (float)(radius * cos(angle));
    out[1] = (float)(radius * sin(angle));
}

static void draw_weights(ease__random *r, float *w, size_t count, double fans)
{
    double limit = sqrt(6 / fans);

    for (size_t i = 0; i < count; i++)
        w[i] = (float)(limit * (2 * ease__random_unit(r) - 1));
}

static void draw_biases(ease__random *r, float *w, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float pair[2];

        do
            draw_normal(r, pair);
        while (fabsf(pair[0]) > 2);
        w[i] = 0.001f * pair[0];
    }
}

static void draw_layer(const ease__network *net, ease__random *r, const ease__layer *l,
                       int32_t outputs)
{
    draw_weights(r, net->value + l->a, (size_t)l->in * (size_t)l->out,
                 (double)l->in + outputs);
    draw_biases(r, net->value + l->b, (size_t)l->out);
}

/* Draws the first weights. As published, mu and s are one layer of twice the
 * outputs. */
static void draw_all(const ease__network *net)
{
    const ease__latent_shape *s = &net->o.shape;
    size_t n = (size_t)net->items;
    int32_t rank = ease__latent_rank(s);
    ease__random r;

    ease__random_seed(&r, net->o.seed, 0);
    draw_weights(&r, net->value + net->at.embedding, n * (size_t)s->width[0],
                 (double)n + s->width[0]);
    for (int32_t l = 0; l < s->layers; l++)
        draw_layer(net, &r, &net->at.layer[l],
                   s->width[l] * (l == net->o.drawn ? 2 : 1));
    if (net->at.spread.in)
        draw_layer(net, &r, &net->at.spread, 2 * net->at.spread.out);
    draw_weights(&r, net->value + net->at.decoder, n * (size_t)rank, (double)n + rank);
    draw_biases(&r, net->value + net->at.base, n);
}

ease_status ease__network_new(const ease__network_options *o, int64_t users,
                              int32_t items, int64_t longest, int threads,
                              ease__network *out, ease_error *err)
{
    ease__network net = {.o = *o,
                         .at = place(o, items),
                         .items = items,
                         .users = users,
                         .threads = threads,
                         .epoch = 1};
    size_t bytes = ease__size_mul(net.at.count, sizeof(float));
    size_t of_users = ease__size_mul(user_count(o, users), sizeof(float));

    net.value = ease__alloc_pages(bytes);
    net.first = ease__alloc_pages(bytes);
    net.second = ease__alloc_pages(bytes);
    if (o->of_users) {
        net.user_value = ease__alloc_pages(of_users);
        net.user_first = ease__alloc_pages(of_users);
        net.user_second = ease__alloc_pages(of_users);
    }
    net.scratch = ease__step_scratch_new(&net, longest);
    if (!net.value || !net.first || !net.second || !net.scratch ||
        (o->of_users && (!net.user_value || !net.user_first || !net.user_second))) {
        ease__network_free(&net);
        return ease__fail(err, EASE_E_NOMEM, "network for %d items", (int)items);
    }
    draw_all(&net);
    *out = net;
    return EASE_OK;
}

void ease__network_free(ease__network *net)
{
    size_t bytes = net->at.count * sizeof(float);
    size_t of_users = user_count(&net->o, net->users) * sizeof(float);

    ease__free_pages(net->value, bytes);
    ease__free_pages(net->first, bytes);
    ease__free_pages(net->second, bytes);
    ease__free_pages(net->user_value, of_users);
    ease__free_pages(net->user_first, of_users);
    ease__free_pages(net->user_second, of_users);
    ease__step_scratch_free(net->scratch);
    *net = (ease__network){0};
}

/* ---- batches -------------------------------------------------------------------- */

typedef struct trainer {
    const ease_interactions *x;
    const ease_train_options *o;
    ease__network net;
    ease__batch batch;
    int32_t *items; /* items of the batch's input, and ... */
    float *weights; /* ... their weights */
    int64_t *place; /* start of each row */
    int64_t *order; /* of users, in this epoch */
    ease_model *model;
    float *embedding, *dense, *decoder, *base; /* of the model: chosen epoch */
    double best;
    int32_t chosen; /* chosen epoch; 0: none yet */
} trainer;

/* Seeds the random stream of a user in an epoch, which does not depend on others.
 * The number `users` is the stream of the order, and epoch 0 that of the first
 * weights. */
static void seed_stream(const trainer *t, int64_t user, ease__random *r)
{
    ease__random_seed(r, t->net.o.seed,
                      (uint64_t)t->net.epoch * ((uint64_t)t->x->users + 1) +
                          (uint64_t)user);
}

static void shuffle(trainer *t)
{
    ease__random r;

    seed_stream(t, t->x->users, &r);
    for (int64_t u = 0; u < t->x->users; u++)
        t->order[u] = u;
    for (int64_t u = t->x->users - 1; u > 0; u--) {
        int64_t other = (int64_t)ease__random_below(&r, (uint64_t)u + 1);
        int64_t spare = t->order[u];

        t->order[u] = t->order[other];
        t->order[other] = spare;
    }
}

static double length_of(ease_row x)
{
    double sum = 0;

    for (int32_t i = 0; i < x.count; i++)
        sum += x.weights ? (double)x.weights[i] * (double)x.weights[i] : 1;
    return sqrt(sum);
}

/* Draws the dropout of a history, and the noise of its user. */
static void draw_row(trainer *t, int32_t row, size_t at)
{
    const ease__network_options *o = &t->net.o;
    ease_row x = t->batch.target[row];
    int32_t *items = t->items + at;
    float *weights = t->weights + at;
    double length = o->shape.normalize ? length_of(x) : 1, keep = 1 - o->dropout;
    float *noise = t->batch.noise, pair[2];
    int32_t left = 0, width = o->drawn < 0 ? 0 : o->shape.width[o->drawn];
    ease__random r;

    seed_stream(t, t->batch.user[row], &r);
    for (int32_t i = 0; i < x.count; i++) {
        double value = x.weights ? (double)x.weights[i] : 1;

        if (ease__random_unit(&r) >= keep || length == 0)
            continue;
        items[left] = x.items[i];
        weights[left++] = (float)(value / length / keep);
    }
    t->batch.input[row] = (ease_row){items, weights, left};
    for (int32_t k = 0; k < width; k++) {
        if (k % 2 == 0)
            draw_normal(&r, pair);
        noise[(size_t)row * (size_t)width + (size_t)k] = pair[k % 2];
    }
}

static void fill_batch(trainer *t, int64_t first)
{
    ease__batch *b = &t->batch;
    int64_t left = t->x->users - first, at = 0;

    b->count = left < t->net.o.batch ? (int32_t)left : t->net.o.batch;
    for (int32_t row = 0; row < b->count; row++) {
        b->user[row] = t->order[first + row];
        b->target[row] = ease_interactions_row(t->x, b->user[row]);
        t->place[row] = at;
        at += b->target[row].count;
    }
#pragma omp parallel for schedule(static) num_threads(t->net.threads)
    for (int32_t row = 0; row < b->count; row++)
        draw_row(t, row, (size_t)t->place[row]);
}

/* ---- epochs --------------------------------------------------------------------- */

static ease_status diverged(const trainer *t, ease_error *err)
{
    return ease__fail(err, EASE_E_ACCURACY,
                      "training diverged in epoch %d: the loss or a weight is not "
                      "finite; try a lower rate than %g",
                      (int)t->net.epoch, t->net.o.rate);
}

static ease_status run_epoch(trainer *t, double *loss, ease_error *err)
{
    const ease__network_options *o = &t->net.o;
    int64_t users = t->x->users;
    double sum = 0;

    shuffle(t);
    for (int64_t first = 0; first < users; first += t->batch.count) {
        double done = t->net.epoch - 1 + (double)first / (double)users, mean;

        if (ease__progress(t->o->hooks, "training", done / o->epochs))
            return ease__cancelled(err);
        fill_batch(t, first);
        mean = ease__network_step(&t->net, &t->batch);
        if (!isfinite(mean))
            return diverged(t, err);
        sum += mean * t->batch.count;
    }
    for (size_t i = 0; i < t->net.at.count; i++)
        if (!isfinite(t->net.value[i]))
            return diverged(t, err);
    *loss = sum / (double)users;
    return EASE_OK;
}

/* Measures the current network on the validation users. */
static ease_status measure(const trainer *t, double *out, ease_error *err)
{
    const float *w = t->net.value;
    ease_model now = *t->model;
    ease_metric value = {.size = sizeof(value)};
    ease_eval_options o;
    ease_report *report = NULL;
    ease_status status;

    now.latent.embedding = w + t->net.at.embedding;
    now.latent.dense = w + t->net.at.dense;
    now.latent.decoder = w + t->net.at.decoder;
    now.base = w + t->net.at.base;
    ease_eval_options_init(&o);
    o.metrics = t->o->metric;
    o.unknown = t->o->unknown;
    o.threads = t->o->threads;
    status = ease_evaluate(&now, t->o->validation_input, t->o->validation_target, &o,
                           &report, err);
    ease_report_metric(report, 0, &value);
    if (!status)
        *out = value.mean;
    ease_report_free(report);
    return status;
}

static void choose(trainer *t)
{
    const ease__latent_shape *s = &t->net.o.shape;
    const float *w = t->net.value;
    size_t n = (size_t)t->net.items;

    memcpy(t->embedding, w + t->net.at.embedding, n * (size_t)s->width[0] * sizeof(*w));
    memcpy(t->dense, w + t->net.at.dense, ease__latent_dense_count(s) * sizeof(*w));
    memcpy(t->decoder, w + t->net.at.decoder,
           n * (size_t)ease__latent_rank(s) * sizeof(*w));
    memcpy(t->base, w + t->net.at.base, n * sizeof(*w));
    t->chosen = t->net.epoch;
}

/* Chooses the epoch if it is the best so far, or if there are no validation users. */
static ease_status judge(trainer *t, double loss, ease_error *err)
{
    double now = 0;
    ease_status status;

    if (!t->o->validation_target) {
        ease__log(t->o->hooks, 2, "epoch %d: loss %.6g", (int)t->net.epoch, loss);
        choose(t);
        return EASE_OK;
    }
    status = measure(t, &now, err);
    if (status)
        return status;
    ease__log(t->o->hooks, 2, "epoch %d: loss %.6g, %s %.5f", (int)t->net.epoch, loss,
              t->o->metric, now);
    if (t->chosen == 0 ||
        ease__metric_better(ease__metric_kind_of(t->o->metric), now, t->best)) {
        t->best = now;
        choose(t);
    }
    return EASE_OK;
}

/* After a failure: true, with a warning, if the chosen epoch is the result anyway. */
static bool salvage(const trainer *t, ease_status status, const char *why)
{
    bool judged = t->o->validation_target != NULL;

    if (t->chosen == 0 ||
        !(status == EASE_E_CANCELLED || (status == EASE_E_ACCURACY && judged)))
        return false;
    ease__log(t->o->hooks, 1, "%s: the model is that of epoch %d, the %s one so far",
              status == EASE_E_CANCELLED ? "stopped" : why, (int)t->chosen,
              judged ? "best" : "last");
    return true;
}

static ease_status run_epochs(trainer *t, ease_error *err)
{
    ease_error why = {0};
    ease_status status = EASE_OK;
    int32_t epochs = t->net.o.epochs;
    double loss = 0;

    if (t->o->validation_target) /* check that it is possible */
        status = measure(t, &t->best, &why);
    for (int32_t epoch = 1; !status && epoch <= epochs; epoch++) {
        t->net.epoch = epoch;
        status = run_epoch(t, &loss, &why);
        if (!status)
            status = judge(t, loss, &why);
    }
    if (!status)
        (void)ease__progress(t->o->hooks, "training", 1); /* too late to stop */
    if (!status && t->o->validation_target)
        ease__log(t->o->hooks, 2, "best epoch: %d of %d, %s %.5f", (int)t->chosen,
                  (int)epochs, t->o->metric, t->best);
    if (!status || salvage(t, status, why.text)) {
        t->model->rounds = t->chosen;
        return EASE_OK;
    }
    if (err)
        *err = why;
    return status;
}

/* ---- training ----------------------------------------------------------------- */

static int64_t longest_batch(const ease_interactions *x, int32_t batch)
{
    int64_t most = 0;

    for (int64_t u = 0; u < x->users; u++)
        if (x->row_ptr[u + 1] - x->row_ptr[u] > most)
            most = x->row_ptr[u + 1] - x->row_ptr[u];
    return most > x->nnz / batch ? x->nnz : most * batch;
}

static ease_status check_memory(const trainer *t, const ease__network_options *n,
                                int64_t longest, int threads, ease_error *err)
{
    const ease_interactions *x = t->x;
    size_t held = ease__interactions_bytes(x), peak, batch;
    size_t drawn = n->drawn < 0 ? 0 : (size_t)n->shape.width[n->drawn];

    batch = ease__size_mul((size_t)n->batch, drawn * sizeof(float) +
                                                 2 * sizeof(ease_row) +
                                                 2 * sizeof(int64_t));
    peak = ease__network_bytes(n, x->users, x->items, longest, threads);
    peak = ease__size_add(peak,
                          ease__size_mul(place(n, x->items).count, sizeof(float)));
    peak = ease__size_add(peak, batch);
    peak = ease__size_add(peak, (size_t)longest * 2 * sizeof(float));
    peak = ease__size_add(peak, (size_t)x->users * sizeof(int64_t));
    peak = ease__size_add(peak, held);
    return ease__memory_check("a network for", x->items, peak,
                              ease__memory_allowed(t->o->memory_limit, held), err);
}

/* Allocates the arrays. The model owns them at once, and frees them on failure. */
static ease_status allocate(trainer *t, const ease__network_options *n, int64_t longest,
                            ease_error *err)
{
    const ease__latent_shape *s = &n->shape;
    size_t items = (size_t)t->x->items, batch = (size_t)n->batch;
    size_t drawn = n->drawn < 0 ? 0 : (size_t)s->width[n->drawn];
    ease_model *m = t->model;

    t->embedding = ease__alloc_array(items * (size_t)s->width[0], sizeof(float));
    t->dense = ease__alloc_array(ease__latent_dense_count(s), sizeof(float));
    t->decoder = ease__alloc_array(items * (size_t)ease__latent_rank(s), sizeof(float));
    t->base = ease__alloc_array(items, sizeof(float));
    m->latent = (ease__latent){*s, t->embedding, t->dense, t->decoder};
    m->base = t->base;
    t->batch.target = ease__alloc_array(batch, sizeof(ease_row));
    t->batch.input = ease__alloc_array(batch, sizeof(ease_row));
    t->batch.user = ease__alloc_array(batch, sizeof(int64_t));
    t->batch.noise = ease__alloc_array(batch * drawn, sizeof(float));
    t->items = ease__alloc_array((size_t)longest, sizeof(int32_t));
    t->weights = ease__alloc_array((size_t)longest, sizeof(float));
    t->place = ease__alloc_array(batch, sizeof(int64_t));
    t->order = ease__alloc_array((size_t)t->x->users, sizeof(int64_t));
    if (t->embedding && t->dense && t->decoder && t->base && t->batch.target &&
        t->batch.input && t->batch.user && t->batch.noise && t->items && t->weights &&
        t->place && t->order)
        return EASE_OK;
    return ease__fail(err, EASE_E_NOMEM, "network for %d items", (int)t->x->items);
}

static ease_status check_validation(const ease_train_options *o, ease_error *err)
{
    ease_eval_options e;

    ease_eval_options_init(&e);
    e.metrics = o->metric;
    e.unknown = o->unknown;
    if (!o->validation_input != !o->validation_target)
        return ease__fail(err, EASE_E_ARG,
                          "validation users need both an input and a target");
    if (o->validation_target && o->validation_target->nnz == 0)
        return ease__fail(err, EASE_E_DATA,
                          "the validation users have nothing to choose an epoch by");
    return o->validation_target ? ease_eval_options_check(&e, err) : EASE_OK;
}

ease_status ease__network_train(const ease_interactions *x, const ease_train_options *o,
                                const ease__network_options *given, ease_model *m,
                                ease_error *err)
{
    ease__network_options n = *given;
    int threads = ease__blas_threads(o->threads, o->hooks);
    trainer t = {.x = x, .o = o, .model = m};
    int64_t longest;
    ease_status status = check_validation(o, err);

    if (!status && x->users < 1)
        status = ease__fail(err, EASE_E_DATA, "there are no users to learn from");
    if (status)
        return status;
    n.batch = x->users < n.batch ? (int32_t)x->users : n.batch;
    longest = longest_batch(x, n.batch);
    status = check_memory(&t, &n, longest, threads, err);
    if (!status)
        status = ease__blas_check_memory(threads, err);
    if (!status)
        status = allocate(&t, &n, longest, err);
    if (!status)
        status = ease__network_new(&n, x->users, x->items, longest, threads, &t.net,
                                   err);
    if (!status)
        status = run_epochs(&t, err);
    ease__network_free(&t.net);
    ease__free(t.batch.target);
    ease__free(t.batch.input);
    ease__free(t.batch.user);
    ease__free(t.batch.noise);
    ease__free(t.items);
    ease__free(t.weights);
    ease__free(t.place);
    ease__free(t.order);
    return status;
}
