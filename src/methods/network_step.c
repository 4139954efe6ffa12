/* One step of training: forward, loss, backward, Adam. */
#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "compute/blas.h"
#include "compute/exponential.h"
#include "methods/network.h"

/* The shapes of blocks, which determine rounding: they do not depend on the number
 * of threads. */
enum {
    ROWS = 64,       /* users that go through the layers together */
    PANEL = 256,     /* items that are scored, or updated, together */
    TILE_ROWS = 128, /* tile of the gradient of h, a sum over all items */
    TILE_COLUMNS = 256,
    SLICE = 4096,     /* least number of items of a slice of that sum, ... */
    MOST_SLICES = 16, /* ... so that many processors can share few tiles */
    BLOCK = 64 /* rows of a layer, or of the embedding, that are updated together */
};

/* Partial results of one user and one panel of items. */
typedef struct part {
    float max, sum; /* multinomial: sum of exp(y - max); later max is the factor */
    double picked;  /* sum of x_j y_j; squares: the loss */
} part;

typedef struct ease__step_scratch {
    const ease__kernels *kernels;
    float *y; /* batch x stride: scores, then their gradient */
    size_t stride;
    float *h[EASE__MOST_LAYERS]; /* batch x width: outputs of the layers, ... */
    float *d[EASE__MOST_LAYERS]; /* ... and their gradients, later those before f */
    float *slices; /* slice k >= 1 of the last d: at (k - 1) x batch x rank */
    float *s, *ds; /* spread and its gradient */
    float *drawn;  /* h of the drawn layer: mu + e exp(s / 2) */
    double *loss;  /* of each user */
    part *parts;   /* panels x batch */
    ease__batch_columns input; /* of the batch, by items */
    float *gradient;           /* of a block: `each` for each thread */
    size_t each;
    ease__adam weights, biases, users; /* for this step */
    double divergence;                 /* weight of the divergence in this step */
} scratch;

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t blocks_of(int32_t count, int32_t block)
{
    return (count + block - 1) / block;
}

static int32_t rank_of(const ease__network *net)
{
    return ease__latent_rank(&net->o.shape);
}

/* The number of items of a slice; slices are about equal. */
static int32_t slice_items(int32_t items)
{
    int32_t slices = smaller(blocks_of(items, SLICE), MOST_SLICES);

    return blocks_of(items, slices);
}

static int32_t slices_of(int32_t items)
{
    return blocks_of(items, slice_items(items));
}

/* ---- scratch --------------------------------------------------------------- */

static size_t slices_floats(const ease__network_options *o, int32_t items)
{
    return (size_t)(slices_of(items) - 1) * (size_t)o->batch *
           (size_t)ease__latent_rank(&o->shape);
}

static size_t stride_of(int32_t items)
{
    size_t stride = ((size_t)items + 15) / 16 * 16;

    return stride % 512 == 0 ? stride + 16 : stride; /* rows in different cache sets */
}

static size_t widths_of(const ease__network_options *o)
{
    size_t sum = 0;

    for (int32_t l = 0; l < o->shape.layers; l++)
        sum += (size_t)o->shape.width[l];
    return sum;
}

static size_t gradient_floats(const ease__network_options *o)
{
    size_t most = 0;

    for (int32_t l = 0; l < o->shape.layers; l++)
        if ((size_t)o->shape.width[l] > most)
            most = (size_t)o->shape.width[l];
    return (PANEL + 1) * most + PANEL;
}

size_t ease__step_scratch_bytes(const ease__network_options *o, int32_t items,
                                int64_t longest, int threads)
{
    size_t batch = (size_t)o->batch, panels = (size_t)blocks_of(items, PANEL);
    size_t drawn = o->drawn >= 0 ? (size_t)o->shape.width[o->drawn] : 0;
    size_t a_user = (stride_of(items) + 2 * widths_of(o) + 3 * drawn) * sizeof(float) +
                    panels * sizeof(part) + sizeof(double);
    size_t bytes = ease__size_mul(batch, a_user);

    bytes = ease__size_add(bytes, slices_floats(o, items) * sizeof(float));
    bytes = ease__size_add(bytes, ((size_t)items + 1) * sizeof(int64_t));
    bytes = ease__size_add(bytes, ease__size_mul((size_t)longest, 2 * sizeof(float)));
    return ease__size_add(
        bytes, ease__size_mul((size_t)threads, gradient_floats(o) * sizeof(float)));
}

static bool have_layers(const scratch *r, const ease__network_options *o)
{
    for (int32_t l = 0; l < o->shape.layers; l++)
        if (!r->h[l] || !r->d[l])
            return false;
    return o->drawn < 0 || (r->s && r->ds && r->drawn);
}

scratch *ease__step_scratch_new(const ease__network *net, int64_t longest)
{
    const ease__network_options *o = &net->o;
    size_t batch = (size_t)o->batch;
    scratch *r = ease__alloc_zero(1, sizeof(*r));

    if (!r)
        return NULL;
    r->kernels = ease__kernels_best();
    r->stride = stride_of(net->items);
    r->each = gradient_floats(o);
    r->y = ease__alloc_array(ease__size_mul(batch, r->stride), sizeof(float));
    for (int32_t l = 0; l < o->shape.layers; l++) {
        r->h[l] = ease__alloc_array(batch * (size_t)o->shape.width[l], sizeof(float));
        r->d[l] = ease__alloc_array(batch * (size_t)o->shape.width[l], sizeof(float));
    }
    if (o->drawn >= 0) {
        size_t count = batch * (size_t)o->shape.width[o->drawn];

        r->s = ease__alloc_array(count, sizeof(float));
        r->ds = ease__alloc_array(count, sizeof(float));
        r->drawn = ease__alloc_array(count, sizeof(float));
    }
    r->slices = ease__alloc_array(slices_floats(o, net->items), sizeof(float));
    r->loss = ease__alloc_array(batch, sizeof(*r->loss));
    r->parts = ease__alloc_array(batch * (size_t)blocks_of(net->items, PANEL),
                                 sizeof(*r->parts));
    r->input.starts = ease__alloc_array((size_t)net->items + 1, sizeof(int64_t));
    r->input.rows = ease__alloc_array((size_t)longest, sizeof(int32_t));
    r->input.values = ease__alloc_array((size_t)longest, sizeof(float));
    r->gradient = ease__alloc_array(ease__size_mul((size_t)net->threads, r->each),
                                    sizeof(float));
    if (!r->y || !have_layers(r, o) || !r->slices || !r->loss || !r->parts ||
        !r->input.starts || !r->input.rows || !r->input.values || !r->gradient) {
        ease__step_scratch_free(r);
        return NULL;
    }
    return r;
}

void ease__step_scratch_free(scratch *r)
{
    if (!r)
        return;
    for (int l = 0; l < EASE__MOST_LAYERS; l++) {
        ease__free(r->h[l]);
        ease__free(r->d[l]);
    }
    ease__free(r->y);
    ease__free(r->slices);
    ease__free(r->s);
    ease__free(r->ds);
    ease__free(r->drawn);
    ease__free(r->loss);
    ease__free(r->parts);
    ease__free(r->input.starts);
    ease__free(r->input.rows);
    ease__free(r->input.values);
    ease__free(r->gradient);
    ease__free(r);
}

/* The input of the layer after l, or of the decoder. */
static const float *output_of(const ease__network *net, int32_t l)
{
    return l == net->o.drawn ? net->scratch->drawn : net->scratch->h[l];
}

/* ---- forward -------------------------------------------------------------------- */

/* out = in A + bias, for `count` rows. */
static void apply(const ease__network *net, const ease__layer *layer, const float *in,
                  float *out, int32_t count)
{
    size_t width = (size_t)layer->out;

    for (int32_t r = 0; r < count; r++)
        memcpy(out + (size_t)r * width, net->value + layer->b, width * sizeof(*out));
    ease__blas_begin();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, count, layer->out, layer->in,
                1, in, layer->in, net->value + layer->a, layer->out, 1, out,
                layer->out);
    ease__blas_end();
}

/* First layer: the sum of the history's rows of E. */
static void embed(const ease__network *net, const ease__batch *b, int32_t row)
{
    size_t width = (size_t)net->o.shape.width[0];
    const float *e = net->value + net->at.embedding;
    float *h = net->scratch->h[0] + (size_t)row * width;
    ease_row x = b->input[row];

    memcpy(h, net->value + net->at.layer[0].b, width * sizeof(*h));
    if (net->o.of_users)
        net->scratch->kernels->add(h, net->user_value + (size_t)b->user[row] * width,
                                   width);
    for (int32_t i = 0; i < x.count; i++)
        net->scratch->kernels->add_times(h, e + (size_t)x.items[i] * width,
                                         x.weights[i], width);
}

/* Samples mu + e exp(s / 2), and adds the divergence to the loss. */
static void draw(const ease__network *net, const ease__batch *b, int32_t row)
{
    scratch *r = net->scratch;
    int32_t l = net->o.drawn, width = net->o.shape.width[l];
    size_t at = (size_t)row * (size_t)width;
    double sum = 0;

    for (int32_t k = 0; k < width; k++) {
        float mu = r->h[l][at + (size_t)k], s = r->s[at + (size_t)k];
        float deviation = expf(0.5f * s);

        r->drawn[at + (size_t)k] = mu + b->noise[at + (size_t)k] * deviation;
        sum += 0.5 *
               ((double)(deviation * deviation) + (double)(mu * mu) - (double)s - 1);
    }
    r->loss[row] += r->divergence * sum;
}

static void encode_block(const ease__network *net, const ease__batch *b, int32_t first)
{
    const ease__latent_shape *s = &net->o.shape;
    scratch *r = net->scratch;
    int32_t count = smaller(ROWS, b->count - first);

    for (int32_t row = first; row < first + count; row++) {
        r->loss[row] = 0;
        embed(net, b, row);
    }
    for (int32_t l = 0; l < s->layers; l++) {
        size_t at = (size_t)first * (size_t)s->width[l];
        const float *in =
            l ? output_of(net, l - 1) + (size_t)first * (size_t)s->width[l - 1] : NULL;

        if (l)
            apply(net, &net->at.layer[l], in, r->h[l] + at, count);
        if (s->activation[l] == EASE__TANH)
            ease__tanh(r->h[l] + at, (size_t)count * (size_t)s->width[l]);
        if (l == net->o.drawn) {
            apply(net, &net->at.spread, in, r->s + at, count);
            for (int32_t row = first; row < first + count; row++)
                draw(net, b, row);
        }
    }
}

/* ---- scores and their loss ------------------------------------------------------ */

/* The first place in the row whose item is at least `left`. */
static int32_t lower_bound(ease_row x, int32_t left)
{
    int32_t from = 0, to = x.count;

    while (from < to) {
        int32_t middle = from + (to - from) / 2;

        if (x.items[middle] < left)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static float value_of(ease_row x, int32_t place)
{
    return x.weights ? x.weights[place] : 1.0f;
}

/* y <- exp(y - max): a factor completes the gradient later. */
static void begin_multinomial(ease_row x, int32_t left, int32_t count, float *y,
                              part *p)
{
    double picked = 0;

    for (int32_t k = lower_bound(x, left); k < x.count && x.items[k] < left + count;
         k++)
        picked += (double)value_of(x, k) * (double)y[x.items[k] - left];
    p->picked = picked;
    p->sum = ease__exp_panel(y, count, &p->max);
}

/* y <- gradient. */
static void finish_squares(const ease__network *net, ease_row x, int32_t left,
                           int32_t count, float share, float *y, part *p)
{
    float weight = (float)net->o.weight;
    double more = 0;
    int32_t first = lower_bound(x, left);

    for (int32_t k = first; k < x.count && x.items[k] < left + count; k++) {
        double score = (double)y[x.items[k] - left];
        double miss = score - (double)value_of(x, k);

        more += net->o.weight * miss * miss - score * score;
    }
    p->picked = more + (double)ease__square_panel(y, count, 2 * share);
    for (int32_t k = first; k < x.count && x.items[k] < left + count; k++) {
        float *g = &y[x.items[k] - left];

        *g = weight * (*g - 2 * share * value_of(x, k));
    }
}

static void score_panel(const ease__network *net, const ease__batch *b, int32_t panel)
{
    scratch *r = net->scratch;
    int32_t left = panel * PANEL, count = smaller(PANEL, net->items - left);
    int32_t rank = rank_of(net), last = net->o.shape.layers - 1;
    float share = 1 / (float)b->count;
    part *parts = r->parts + (size_t)panel * (size_t)net->o.batch;

    for (int32_t row = 0; row < b->count; row++)
        memcpy(r->y + (size_t)row * r->stride + left, net->value + net->at.base + left,
               (size_t)count * sizeof(*r->y));
    ease__blas_begin();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, b->count, count, rank, 1,
                output_of(net, last), rank,
                net->value + net->at.decoder + (size_t)left * (size_t)rank, rank, 1,
                r->y + left, (int)r->stride);
    ease__blas_end();
    for (int32_t row = 0; row < b->count; row++) {
        float *y = r->y + (size_t)row * r->stride + left;

        if (net->o.loss == EASE__MULTINOMIAL)
            begin_multinomial(b->target[row], left, count, y, &parts[row]);
        else
            finish_squares(net, b->target[row], left, count, share, y, &parts[row]);
    }
}

/* Combines the panels of a user: the loss, and the factors of the panels. */
static void join_multinomial(const ease__network *net, const ease__batch *b,
                             int32_t row)
{
    int32_t panels = blocks_of(net->items, PANEL);
    size_t step = (size_t)net->o.batch;
    part *parts = net->scratch->parts + row;
    double max = -INFINITY, sum = 0, total = 0, picked = 0;

    for (int32_t k = 0; k < b->target[row].count; k++)
        total += (double)value_of(b->target[row], k);
    for (int32_t p = 0; p < panels; p++)
        max = fmax(max, (double)parts[(size_t)p * step].max);
    for (int32_t p = 0; p < panels; p++) {
        const part *one = &parts[(size_t)p * step];

        sum += (double)one->sum * exp((double)one->max - max);
        picked += one->picked;
    }
    for (int32_t p = 0; p < panels; p++) {
        part *one = &parts[(size_t)p * step];

        one->max = (float)(exp((double)one->max - max) / sum * total /
                           (double)b->count);
    }
    net->scratch->loss[row] += total * (max + log(sum)) - picked;
}

static void join_squares(const ease__network *net, int32_t row)
{
    int32_t panels = blocks_of(net->items, PANEL);

    for (int32_t p = 0; p < panels; p++)
        net->scratch->loss[row] +=
            net->scratch->parts[(size_t)p * (size_t)net->o.batch + (size_t)row].picked;
}

/* Completes the gradient: exp(y - max) becomes (sum_j x_j softmax(y) - x) / batch. */
static void finish_multinomial(const ease__network *net, const ease__batch *b,
                               int32_t panel)
{
    scratch *r = net->scratch;
    int32_t left = panel * PANEL, count = smaller(PANEL, net->items - left);
    const part *parts = r->parts + (size_t)panel * (size_t)net->o.batch;
    float share = 1 / (float)b->count;

    for (int32_t row = 0; row < b->count; row++) {
        float *y = r->y + (size_t)row * r->stride + left;
        ease_row x = b->target[row];

        ease__scale(y, parts[row].max, (size_t)count);
        for (int32_t k = lower_bound(x, left); k < x.count && x.items[k] < left + count;
             k++)
            y[x.items[k] - left] -= value_of(x, k) * share;
    }
}

/* ---- backward ------------------------------------------------------------------- */

static int32_t back_tiles(const ease__network *net, const ease__batch *b)
{
    return blocks_of(b->count, TILE_ROWS) * blocks_of(rank_of(net), TILE_COLUMNS);
}

/* A tile of the gradient of h, dy V, over a slice of the items. */
static void decode_back(const ease__network *net, const ease__batch *b, int32_t tile,
                        int32_t slice)
{
    scratch *r = net->scratch;
    int32_t rank = rank_of(net), wide = blocks_of(rank, TILE_COLUMNS);
    int32_t columns = blocks_of(rank, wide); /* about equal tiles */
    int32_t top = tile / wide * TILE_ROWS, left = tile % wide * columns;
    int32_t height = smaller(TILE_ROWS, b->count - top);
    int32_t width = smaller(columns, rank - left);
    int32_t each = slice_items(net->items), first = slice * each;
    size_t one = (size_t)net->o.batch * (size_t)rank;
    float *to = slice ? r->slices + (size_t)(slice - 1) * one
                      : r->d[net->o.shape.layers - 1];

    ease__blas_begin();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, height, width,
                smaller(each, net->items - first), 1,
                r->y + (size_t)top * r->stride + first, (int)r->stride,
                net->value + net->at.decoder + (size_t)first * (size_t)rank + left,
                rank, 0, to + (size_t)top * (size_t)rank + left, rank);
    ease__blas_end();
}

/* Adds the slices of some rows in their order. */
static void join_slices(const ease__network *net, int32_t first, int32_t count)
{
    size_t rank = (size_t)rank_of(net), at = (size_t)first * rank;
    float *d = net->scratch->d[net->o.shape.layers - 1] + at;

    for (int32_t k = 1; k < slices_of(net->items); k++)
        net->scratch->kernels->add(
            d,
            net->scratch->slices + (size_t)(k - 1) * (size_t)net->o.batch * rank + at,
            (size_t)count * rank);
}

/* Converts the gradient of the sample to those of mu, in place, and of s. */
static void draw_back(const ease__network *net, const ease__batch *b, int32_t row)
{
    scratch *r = net->scratch;
    int32_t l = net->o.drawn, width = net->o.shape.width[l];
    float kl = (float)(r->divergence / (double)b->count);

    for (size_t k = (size_t)row * (size_t)width, n = (size_t)width; n > 0; k++, n--) {
        float deviation = expf(0.5f * r->s[k]);

        r->ds[k] = 0.5f * (r->d[l][k] * b->noise[k] * deviation +
                           kl * (deviation * deviation - 1));
        r->d[l][k] += kl * r->h[l][k];
    }
}

/* to = d A', or to += d A'. */
static void apply_back(const ease__network *net, const ease__layer *layer,
                       const float *d, float add, float *to, int32_t count)
{
    ease__blas_begin();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, layer->in, layer->out,
                1, d, layer->out, net->value + layer->a, layer->out, add, to,
                layer->in);
    ease__blas_end();
}

static void encode_back(const ease__network *net, const ease__batch *b, int32_t first)
{
    const ease__latent_shape *s = &net->o.shape;
    scratch *r = net->scratch;
    int32_t count = smaller(ROWS, b->count - first);

    join_slices(net, first, count);
    for (int32_t l = s->layers - 1; l >= 0; l--) {
        size_t at = (size_t)first * (size_t)s->width[l];
        size_t end = at + (size_t)count * (size_t)s->width[l];
        float *to = l ? r->d[l - 1] + (size_t)first * (size_t)s->width[l - 1] : NULL;

        if (l == net->o.drawn)
            for (int32_t row = first; row < first + count; row++)
                draw_back(net, b, row);
        if (s->activation[l] == EASE__TANH)
            for (size_t k = at; k < end; k++)
                r->d[l][k] *= 1 - r->h[l][k] * r->h[l][k];
        if (l)
            apply_back(net, &net->at.layer[l], r->d[l] + at, 0, to, count);
        if (l && l == net->o.drawn)
            apply_back(net, &net->at.spread, r->ds + at, 1, to, count);
    }
}

/* ---- updates -------------------------------------------------------------------- */

static void update(const ease__network *net, const ease__adam *a, size_t at,
                   const float *gradient, size_t count)
{
    ease__adam_update(a, gradient, net->value + at, net->first + at, net->second + at,
                      count);
}

static float *gradient_of_thread(const ease__network *net)
{
    return net->scratch->gradient + (size_t)omp_get_thread_num() * net->scratch->each;
}

static void update_panel(const ease__network *net, const ease__batch *b, int32_t panel)
{
    scratch *r = net->scratch;
    int32_t left = panel * PANEL, count = smaller(PANEL, net->items - left);
    int32_t rank = rank_of(net);
    float *g = gradient_of_thread(net);

    ease__blas_begin();
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, count, rank, b->count, 1,
                r->y + left, (int)r->stride, output_of(net, net->o.shape.layers - 1),
                rank, 0, g, rank);
    ease__blas_end();
    update(net, &r->weights, net->at.decoder + (size_t)left * (size_t)rank, g,
           (size_t)count * (size_t)rank);
    ease__column_sums(r->y + left, b->count, count, r->stride, g);
    update(net, &r->biases, net->at.base + (size_t)left, g, (size_t)count);
}

static void update_bias(const ease__network *net, const ease__layer *layer,
                        const float *d, int32_t rows)
{
    float *g = gradient_of_thread(net);

    ease__column_sums(d, rows, layer->out, (size_t)layer->out, g);
    update(net, &net->scratch->biases, layer->b, g, (size_t)layer->out);
}

/* Updates some rows of a dense layer, with the first ones also its bias; d is its
 * gradient. */
static void update_rows(const ease__network *net, const ease__layer *layer,
                        const float *in, const float *d, int32_t rows, int32_t block)
{
    int32_t top = block * BLOCK, count = smaller(BLOCK, layer->in - top);
    size_t out = (size_t)layer->out;
    float *g = gradient_of_thread(net);

    ease__blas_begin();
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, count, layer->out, rows, 1,
                in + top, layer->in, d, layer->out, 0, g, layer->out);
    ease__blas_end();
    update(net, &net->scratch->weights, layer->a + (size_t)top * out, g,
           (size_t)count * out);
    if (block == 0)
        update_bias(net, layer, d, rows);
}

/* Updates the embedding of a block of items, also of those that no user of the batch
 * has, as dense Adam does. */
static void update_items(const ease__network *net, int32_t block)
{
    scratch *r = net->scratch;
    size_t width = (size_t)net->o.shape.width[0];
    int32_t end = smaller(net->items, (block + 1) * BLOCK);
    float *g = gradient_of_thread(net);

    for (int32_t i = block * BLOCK; i < end; i++) {
        memset(g, 0, width * sizeof(*g));
        for (int64_t at = r->input.starts[i]; at < r->input.starts[i + 1]; at++)
            r->kernels->add_times(g, r->d[0] + (size_t)r->input.rows[at] * width,
                                  r->input.values[at], width);
        update(net, &r->weights, net->at.embedding + (size_t)i * width, g, width);
    }
}

static void update_user(const ease__network *net, const ease__batch *b, int32_t row)
{
    size_t width = (size_t)net->o.shape.width[0], at = (size_t)b->user[row] * width;

    ease__adam_update(&net->scratch->users, net->scratch->d[0] + (size_t)row * width,
                      net->user_value + at, net->user_first + at, net->user_second + at,
                      width);
}

/* ---- the phases, by all threads of a region ------------------------------------- */

static void forward(const ease__network *net, const ease__batch *b)
{
    int32_t panels = blocks_of(net->items, PANEL), rows = blocks_of(b->count, ROWS);

#pragma omp for schedule(dynamic)
    for (int32_t k = 0; k < rows; k++)
        encode_block(net, b, k * ROWS);
#pragma omp for schedule(dynamic)
    for (int32_t p = 0; p < panels; p++)
        score_panel(net, b, p);
#pragma omp for schedule(static)
    for (int32_t row = 0; row < b->count; row++)
        if (net->o.loss == EASE__MULTINOMIAL)
            join_multinomial(net, b, row);
        else
            join_squares(net, row);
}

static void backward(const ease__network *net, const ease__batch *b)
{
    int32_t panels = blocks_of(net->items, PANEL), rows = blocks_of(b->count, ROWS);
    int32_t tiles = back_tiles(net, b), slices = slices_of(net->items);

    if (net->o.loss == EASE__MULTINOMIAL) {
#pragma omp for schedule(dynamic)
        for (int32_t p = 0; p < panels; p++)
            finish_multinomial(net, b, p);
    }
#pragma omp for schedule(dynamic)
    for (int32_t t = 0; t < tiles * slices; t++)
        decode_back(net, b, t % tiles, t / tiles);
#pragma omp for schedule(dynamic)
    for (int32_t k = 0; k < rows; k++)
        encode_back(net, b, k * ROWS);
}

/* Updates all weights. No loop reads what another one writes, so that threads need
 * not wait in between. */
static void update_all(const ease__network *net, const ease__batch *b)
{
    scratch *r = net->scratch;
    const ease__network_parts *at = &net->at;
    int32_t drawn = net->o.drawn;

#pragma omp for schedule(dynamic) nowait
    for (int32_t p = 0; p < blocks_of(net->items, PANEL); p++)
        update_panel(net, b, p);
    for (int32_t l = 1; l < net->o.shape.layers; l++) {
#pragma omp for schedule(dynamic) nowait
        for (int32_t k = 0; k < blocks_of(at->layer[l].in, BLOCK); k++)
            update_rows(net, &at->layer[l], output_of(net, l - 1), r->d[l], b->count,
                        k);
    }
#pragma omp for schedule(dynamic) nowait
    for (int32_t k = 0; k < blocks_of(at->spread.in, BLOCK); k++)
        update_rows(net, &at->spread, output_of(net, drawn - 1), r->ds, b->count, k);
#pragma omp single nowait
    update_bias(net, &at->layer[0], r->d[0], b->count);
    if (net->o.of_users) {
#pragma omp for schedule(static) nowait
        for (int32_t row = 0; row < b->count; row++)
            update_user(net, b, row);
    }
#pragma omp for schedule(dynamic)
    for (int32_t k = 0; k < blocks_of(net->items, BLOCK); k++)
        update_items(net, k);
}

double ease__network_step(ease__network *net, const ease__batch *b)
{
    scratch *r = net->scratch;
    const ease__network_options *o = &net->o;
    double weight = o->anneal > 0 ? (double)net->steps / o->anneal : o->cap, sum = 0;

    r->divergence = weight < o->cap ? weight : o->cap;
    net->steps++;
    r->weights = ease__adam_at(o->rate, o->decay, net->steps);
    r->biases = ease__adam_at(o->rate, 0, net->steps);
    r->users = ease__adam_at(o->rate, o->decay, net->epoch);
    ease__batch_transpose(b->input, b->count, net->items, &r->input);
#pragma omp parallel num_threads(net->threads)
    {
        omp_set_num_threads(1); /* for BLAS, as in graph.c */
        forward(net, b);
        backward(net, b);
        update_all(net, b);
    }
    for (int32_t row = 0; row < b->count; row++)
        sum += r->loss[row];
    return sum / b->count;
}
