/* Newton's method with conjugate gradients for a few regressions at once. The
 * expensive operations are sums of rows, over the users of an item or the items of a
 * user. A row has a number for each regression and is one cache line, so that the
 * sparse data is read once for all of them. All numbers are float64, which allows
 * any tolerance. */
#include "methods/logistic.h"

#include <math.h>
#include <string.h>

#include "compute/kernels.h"

enum { LANES = EASE__LANES, HALF = LANES / 2 };
enum { MOST_STEPS = 200, MOST_HALVINGS = 40 };
enum { USER_ARRAYS = 6, ITEM_ARRAYS = 5 };

typedef struct block {
    const ease__logistic *l;
    ease__logistic_scratch *r;
    int64_t own[LANES]; /* the user of each lane, whose weight is 0; -1: none */
    bool active[LANES];
    double loss[LANES];
    double first[LANES], now[LANES]; /* lengths of the gradient */
    double fall[LANES];              /* -gradient . direction */
} block;

/* ---- scratch --------------------------------------------------------------------- */

size_t ease__logistic_scratch_bytes(const ease__logistic *l)
{
    size_t rows = ease__size_add(ease__size_mul(USER_ARRAYS, (size_t)l->users + 1),
                                 ITEM_ARRAYS * (size_t)l->items);

    return ease__size_add(ease__size_mul(rows, LANES * sizeof(double)),
                          (size_t)l->items);
}

ease_status ease__logistic_scratch_new(const ease__logistic *l,
                                       ease__logistic_scratch *out, ease_error *err)
{
    size_t users = ((size_t)l->users + 1) * LANES, items = (size_t)l->items * LANES;
    size_t bytes = ease__logistic_scratch_bytes(l);
    double *at = ease__alloc_pages(bytes), *by_item;

    if (!at)
        return ease__fail(err, EASE_E_NOMEM, "regressions on %lld users",
                          (long long)l->users);
    by_item = at + USER_ARRAYS * users;
    *out = (ease__logistic_scratch){
        .weights = at,
        .residual = at + users,
        .direction = at + 2 * users,
        .step = at + 3 * users,
        .curved = at + 4 * users,
        .diagonal = at + 5 * users,
        .scores = by_item,
        .change = by_item + items,
        .slope = by_item + 2 * items,
        .product = by_item + 3 * items,
        .bent = by_item + 4 * items,
        .targets = (uint8_t *)(by_item + ITEM_ARRAYS * items),
        .bytes = bytes};
    return EASE_OK;
}

void ease__logistic_scratch_free(ease__logistic_scratch *r)
{
    ease__free_pages(r->weights, r->bytes);
    *r = (ease__logistic_scratch){0};
}

/* ---- sums of rows ------------------------------------------------------------- */

typedef double quad __attribute__((vector_size(HALF * sizeof(double)), may_alias));

/* Row i of `out` = sum of the rows others[starts[i]] ... of `in`. */
static inline __attribute__((always_inline)) void
sum_body(const int64_t *starts, const uint32_t *others, int64_t rows, const double *in,
         double *out)
{
    for (int64_t i = 0; i < rows; i++, out += LANES) {
        quad low = {0}, high = {0};

        for (int64_t k = starts[i]; k < starts[i + 1]; k++) {
            const double *row = in + (size_t)others[k] * LANES;

            low += *(const quad *)row;
            high += *(const quad *)(row + HALF);
        }
        *(quad *)out = low;
        *(quad *)(out + HALF) = high;
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void sum_avx2(const int64_t *starts,
                                                     const uint32_t *others,
                                                     int64_t rows, const double *in,
                                                     double *out)
{
    sum_body(starts, others, rows, in, out);
}
#else
#define sum_avx2 sum_body
#endif

/* The vector code gives the same bits, since there are only sums. */
static void sum_rows(const int64_t *starts, const uint32_t *others, int64_t rows,
                     const double *in, double *out)
{
    if (ease__kernels_best() != &ease__kernels_plain)
        sum_avx2(starts, others, rows, in, out);
    else
        sum_body(starts, others, rows, in, out);
}

/* Sums numbers by item to sums by user; the last row is the sum over all items. */
static void to_users(const block *b, const double *in, double *out)
{
    const ease__logistic *l = b->l;
    double *last = out + (size_t)l->users * LANES;

    sum_rows(l->row_ptr, l->row_items, l->users, in, out);
    memset(last, 0, LANES * sizeof(*last));
    for (int32_t i = 0; i < l->items; i++)
        for (int k = 0; k < LANES; k++)
            last[k] += in[(size_t)i * LANES + (size_t)k];
}

/* Sums numbers by user to sums by item; the last row is added to each. */
static void to_items(const block *b, const double *in, double *out)
{
    const ease__logistic *l = b->l;
    const double *last = in + (size_t)l->users * LANES;

    sum_rows(l->col_ptr, l->col_users, l->items, in, out);
    for (int32_t i = 0; i < l->items; i++)
        for (int k = 0; k < LANES; k++)
            out[(size_t)i * LANES + (size_t)k] += last[k];
}

/* ---- arithmetic by lanes ------------------------------------------------------ */

static void dot(const double *a, const double *b, int64_t rows, double sum[LANES])
{
    memset(sum, 0, LANES * sizeof(*sum));
    for (int64_t i = 0; i < rows; i++, a += LANES, b += LANES)
        for (int k = 0; k < LANES; k++)
            sum[k] += a[k] * b[k];
}

/* a += x b */
static void add_times(double *restrict a, const double x[LANES],
                      const double *restrict b, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++, a += LANES, b += LANES)
        for (int k = 0; k < LANES; k++)
            a[k] += x[k] * b[k];
}

/* Clears the weight of each lane's own user: w_u = 0. */
static void drop_own(const block *b, double *rows)
{
    for (int k = 0; k < LANES; k++)
        if (b->own[k] >= 0)
            rows[b->own[k] * LANES + k] = 0;
}

static bool any(const bool which[LANES])
{
    for (int k = 0; k < LANES; k++)
        if (which[k])
            return true;
    return false;
}

/* ---- loss and gradient -------------------------------------------------------- */

static bool has(const block *b, size_t item, int k)
{
    return (b->r->targets[item] >> k) & 1;
}

/* log(1 + e^z) - y z */
static double loss_of(double z, bool y)
{
    return (z > 0 ? z : 0) + log1p(exp(-fabs(z))) - (y ? z : 0);
}

/* The loss at scores + t change, without the penalty. */
static double loss_at(const block *b, int k, double t)
{
    const ease__logistic_scratch *r = b->r;
    double sum = 0;

    for (size_t i = 0; i < (size_t)b->l->items; i++) {
        size_t at = i * LANES + (size_t)k;

        sum += loss_of(r->scores[at] + t * r->change[at], has(b, i, k));
    }
    return sum;
}

/* product = p - y, slope = p (1 - p). */
static void derive(const block *b)
{
    ease__logistic_scratch *r = b->r;

    for (size_t i = 0; i < (size_t)b->l->items; i++)
        for (int k = 0; k < LANES; k++) {
            size_t at = i * LANES + (size_t)k;
            double p = 1 / (1 + exp(-r->scores[at]));

            r->product[at] = p - has(b, i, k);
            r->slope[at] = p * (1 - p);
        }
}

/* residual = -gradient. Regressions with a short gradient become inactive. */
static void find_gradient(block *b, bool begins)
{
    ease__logistic_scratch *r = b->r;
    int64_t rows = b->l->users + 1;
    double square[LANES];

    derive(b);
    to_users(b, r->product, r->residual);
    for (int64_t i = 0; i < rows * LANES; i++) {
        double pull = i < (rows - 1) * LANES ? b->l->l2 * r->weights[i] : 0;

        r->residual[i] = -(r->residual[i] + pull);
    }
    drop_own(b, r->residual);
    dot(r->residual, r->residual, rows, square);
    for (int k = 0; k < LANES; k++) {
        b->now[k] = sqrt(square[k]);
        if (begins)
            b->first[k] = b->now[k];
        if (!(b->now[k] > b->l->tolerance * b->first[k]))
            b->active[k] = false;
    }
}

/* ---- conjugate gradients ------------------------------------------------------ */

/* The diagonal of H = X D X' + l2 I (b without l2), which preconditions the steps:
 * the numbers of items of users differ by orders of magnitude. */
static void find_diagonal(const block *b)
{
    ease__logistic_scratch *r = b->r;
    double *last = r->diagonal + b->l->users * LANES;

    to_users(b, r->slope, r->diagonal);
    for (int64_t i = 0; i < b->l->users * LANES; i++)
        r->diagonal[i] += b->l->l2;
    for (int k = 0; k < LANES; k++) /* never 0, even if all probabilities are 0 or 1 */
        last[k] += 1e-300;
}

/* curved = H step, product = X' step. */
static void multiply(const block *b)
{
    ease__logistic_scratch *r = b->r;

    to_items(b, r->step, r->product);
    for (size_t i = 0; i < (size_t)b->l->items * LANES; i++)
        r->bent[i] = r->slope[i] * r->product[i];
    to_users(b, r->bent, r->curved);
    for (int64_t i = 0; i < b->l->users * LANES; i++)
        r->curved[i] += b->l->l2 * r->step[i];
    drop_own(b, r->curved);
}

/* step = residual / diagonal + beta step */
static void update_step(const block *b, const double beta[LANES])
{
    ease__logistic_scratch *r = b->r;

    for (int64_t i = 0; i <= b->l->users; i++)
        for (int k = 0; k < LANES; k++) {
            int64_t at = i * LANES + k;

            r->step[at] = r->residual[at] / r->diagonal[at] + beta[k] * r->step[at];
        }
}

/* |residual|^2, and the sum with each square divided by the diagonal. */
static void measure(const block *b, double square[LANES], double scaled[LANES])
{
    const ease__logistic_scratch *r = b->r;

    memset(square, 0, LANES * sizeof(*square));
    memset(scaled, 0, LANES * sizeof(*scaled));
    for (int64_t i = 0; i <= b->l->users; i++)
        for (int k = 0; k < LANES; k++) {
            double value = r->residual[i * LANES + k];

            square[k] += value * value;
            scaled[k] += value * value / r->diagonal[i * LANES + k];
        }
}

/* The residual at which the direction is exact enough: smaller near the end. */
static double enough(const block *b, int k)
{
    double share = sqrt(b->now[k] / b->first[k]);

    return 0.25 * (share < 1 ? share : 1) * b->now[k];
}

/* One conjugate gradient step for the lanes that are `moving`; updates which of them
 * still are. */
static void advance(block *b, bool moving[LANES], double scaled[LANES])
{
    ease__logistic_scratch *r = b->r;
    int64_t rows = b->l->users + 1;
    double alpha[LANES], minus[LANES], beta[LANES], bend[LANES], square[LANES];
    double next[LANES];

    multiply(b);
    dot(r->step, r->curved, rows, bend);
    for (int k = 0; k < LANES; k++) {
        alpha[k] = moving[k] && bend[k] > 0 ? scaled[k] / bend[k] : 0;
        minus[k] = -alpha[k];
        b->fall[k] += alpha[k] * scaled[k];
    }
    add_times(r->direction, alpha, r->step, rows);
    add_times(r->change, alpha, r->product, b->l->items);
    add_times(r->residual, minus, r->curved, rows);
    measure(b, square, next);
    for (int k = 0; k < LANES; k++) {
        moving[k] = moving[k] && alpha[k] > 0 && sqrt(square[k]) > enough(b, k);
        beta[k] = moving[k] ? next[k] / scaled[k] : 0;
        scaled[k] = next[k];
    }
    update_step(b, beta);
}

/* Solves H direction = -gradient approximately; change = X' direction. */
static void find_direction(block *b)
{
    static const double none[LANES];
    ease__logistic_scratch *r = b->r;
    size_t row = LANES * sizeof(double);
    double square[LANES], scaled[LANES];
    bool moving[LANES];

    find_diagonal(b);
    memset(r->direction, 0, ((size_t)b->l->users + 1) * row);
    memset(r->change, 0, (size_t)b->l->items * row);
    memset(r->step, 0, ((size_t)b->l->users + 1) * row);
    memset(b->fall, 0, sizeof(b->fall));
    memcpy(moving, b->active, sizeof(moving));
    measure(b, square, scaled);
    update_step(b, none);
    for (int step = 0; step < MOST_STEPS && any(moving); step++)
        advance(b, moving, scaled);
}

/* ---- line search -------------------------------------------------------------- */

/* The largest of 1, 1/2, 1/4, ... that lowers the loss sufficiently (Armijo); 0:
 * none. The slack allows for rounding of the loss. */
static double stride(block *b, int k, double ww, double wd, double dd)
{
    double half = b->l->l2 / 2, slack = 1e-13 * b->loss[k], t = 1;

    for (int i = 0; i < MOST_HALVINGS; i++) {
        double loss = loss_at(b, k, t) + half * (ww + t * (2 * wd + t * dd));

        if (loss <= b->loss[k] - 1e-4 * t * b->fall[k] + slack) {
            b->loss[k] = loss;
            return t;
        }
        t /= 2;
    }
    return 0;
}

/* Moves weights and scores along the direction. */
static void move(block *b)
{
    ease__logistic_scratch *r = b->r;
    int64_t users = b->l->users;
    double ww[LANES], wd[LANES], dd[LANES], t[LANES];

    dot(r->weights, r->weights, users, ww);
    dot(r->weights, r->direction, users, wd);
    dot(r->direction, r->direction, users, dd);
    for (int k = 0; k < LANES; k++) {
        t[k] = b->active[k] ? stride(b, k, ww[k], wd[k], dd[k]) : 0;
        if (t[k] == 0)
            b->active[k] = false;
    }
    add_times(r->weights, t, r->direction, users + 1);
    add_times(r->scores, t, r->change, b->l->items);
}

/* ---- fitting ------------------------------------------------------------------ */

/* Starts with all weights 0 and the best b for them. */
static void begin(block *b, const int64_t *users, int count)
{
    ease__logistic_scratch *r = b->r;
    const ease__logistic *l = b->l;
    double start[LANES] = {0};

    memset(r->weights, 0, ((size_t)l->users + 1) * LANES * sizeof(*r->weights));
    memset(r->change, 0, (size_t)l->items * LANES * sizeof(*r->change));
    memset(r->targets, 0, (size_t)l->items);
    for (int k = 0; k < LANES; k++) {
        b->own[k] = k < count ? users[k] : -1;
        b->active[k] = k < count;
        if (k >= count)
            continue;
        for (int64_t at = l->row_ptr[users[k]]; at < l->row_ptr[users[k] + 1]; at++)
            r->targets[l->row_items[at]] |= (uint8_t)(1U << k);
        start[k] = (double)(l->row_ptr[users[k] + 1] - l->row_ptr[users[k]]);
        start[k] = log(start[k] / ((double)l->items - start[k]));
        r->weights[l->users * LANES + k] = start[k];
    }
    for (int32_t i = 0; i < l->items; i++)
        memcpy(r->scores + (size_t)i * LANES, start, sizeof(start));
    for (int k = 0; k < count; k++)
        b->loss[k] = loss_at(b, k, 0);
}

ease__logistic_ends ease__logistic_fit(const ease__logistic *l, const int64_t *users,
                                       int count, ease__logistic_scratch *r,
                                       double *losses)
{
    block b = {.l = l, .r = r};
    ease__logistic_ends ends = {0};

    begin(&b, users, count);
    find_gradient(&b, true);
    for (int32_t i = 0; i < l->iterations && any(b.active); i++) {
        find_direction(&b);
        move(&b);
        find_gradient(&b, false);
    }
    for (int k = 0; k < count; k++) {
        bool short_of = b.now[k] > l->tolerance * b.first[k];

        ends.spent += short_of && b.active[k];
        ends.stalled += short_of && !b.active[k];
        losses[k] = b.loss[k];
    }
    return ends;
}
