/* Weighted matrix factorization (Hu, Koren and Volinsky; Pan and others): every pair
 * of a user and an item counts, observed ones more. Alternating least squares. Users
 * are folded in when they are scored, so that only the factors of items are kept. */
#include <math.h>
#include <string.h>

#include "compute/blas.h"
#include "core/random.h"
#include "gram/gram.h"
#include "methods/als.h"
#include "methods/methods.h"

enum { RANK, ALPHA, LAMBDA, ITERATIONS, STEPS, SEED };

static const ease_setting settings[] = {
    {.name = "rank",
     .about = "number of factors of an item",
     .value = 64,
     .least = 1,
     .most = EASE__MOST_WIDTH,
     .whole = 1},
    {.name = "alpha",
     .about = "an interaction of value x has the confidence 1 + alpha x, other pairs 1",
     .value = 3,
     .most = 1e6},
    {.name = "lambda",
     .about = "regularization",
     .value = 30,
     .least = 1e-6,
     .most = 1e12},
    {.name = "iterations",
     .about = "iterations over users and items",
     .value = 15,
     .least = 1,
     .most = 10000,
     .whole = 1},
    {.name = "steps",
     .about = "conjugate gradient steps in each half of an iteration",
     .value = 3,
     .least = 1,
     .most = 10000,
     .whole = 1},
    {.name = "seed", .about = "seed of the first factors", .most = 1e9, .whole = 1},
    {0}};

static const char stage[] = "factorizing";

typedef struct job {
    const ease_interactions *x;
    const double *settings;
    const ease_hooks *hooks;
    const ease__kernels *kernels;
    int threads;
    int32_t rank, done; /* done: iterations */
    /* X by items. */
    int64_t *starts;
    int32_t *users;
    float *weights;
    float *u;        /* users x rank */
    float *v, *next; /* items x rank: of the last iteration, and of this one */
    float *square;   /* rank x rank: U'U or V'V */
    float *parts;    /* scratch: EASE__SQUARE_PARTS x rank x rank */
} job;

/* ---- setup -------------------------------------------------------------------- */

static ease_status check_data(const ease_interactions *x, const double *given,
                              ease_error *err)
{
    if (given[RANK] > (double)x->items)
        return ease__fail(err, EASE_E_ARG,
                          "wmf: a rank of %g is above the number of items, %d",
                          given[RANK], (int)x->items);
    for (int64_t at = 0; x->vals && at < x->nnz; at++)
        if (x->vals[at] < 0)
            return ease__fail(err, EASE_E_DATA,
                              "wmf: a value below 0 (%g) cannot be a confidence",
                              (double)x->vals[at]);
    return EASE_OK;
}

static ease_status check_memory(const job *j, size_t limit, ease_error *err)
{
    const ease_interactions *x = j->x;
    size_t held = ease__interactions_bytes(x), rank = (size_t)j->rank;
    size_t users = (size_t)x->users, items = (size_t)x->items;
    size_t link = sizeof(*j->users) + (x->vals ? sizeof(*j->weights) : 0);
    size_t floats = ease__size_add(users, 2 * items), peak;

    floats = ease__size_add(floats, (EASE__SQUARE_PARTS + 2) * rank);
    peak = ease__size_mul(ease__size_mul(floats, rank), sizeof(float));
    peak = ease__size_add(peak, ease__size_mul((size_t)x->nnz, link));
    peak = ease__size_add(peak, (items + 1) * sizeof(*j->starts));
    peak = ease__size_add(peak,
                          ease__half_step_bytes(users > items ? x->users : x->items,
                                                j->rank, j->threads));
    return ease__memory_check("wmf for", x->items, ease__size_add(peak, held),
                              ease__memory_allowed(limit, held), err);
}

static void job_free(job *j)
{
    ease__free(j->starts);
    ease__free(j->users);
    ease__free(j->weights);
    ease__free(j->u);
    ease__free(j->v);
    ease__free(j->next);
    ease__free(j->square);
    ease__free(j->parts);
}

static ease_status allocate(job *j, ease_error *err)
{
    const ease_interactions *x = j->x;
    size_t rank = (size_t)j->rank, square = ease__size_mul(rank, rank);
    size_t users = ease__size_mul((size_t)x->users, rank);
    size_t items = ease__size_mul((size_t)x->items, rank);

    j->starts = ease__alloc_zero((size_t)x->items + 1, sizeof(*j->starts));
    j->users = ease__alloc_array((size_t)x->nnz, sizeof(*j->users));
    if (x->vals)
        j->weights = ease__alloc_array((size_t)x->nnz, sizeof(*j->weights));
    j->u = ease__alloc_zero(users, sizeof(*j->u));
    j->v = ease__alloc_array(items, sizeof(*j->v));
    j->next = ease__alloc_array(items, sizeof(*j->next));
    j->square = ease__alloc_array(square, sizeof(*j->square));
    j->parts = ease__alloc_array(ease__size_mul(EASE__SQUARE_PARTS, square),
                                 sizeof(*j->parts));
    if (!j->starts || !j->users || (x->vals && !j->weights) || !j->u || !j->v ||
        !j->next || !j->square || !j->parts)
        return ease__fail(err, EASE_E_NOMEM, "factors of rank %d", (int)j->rank);
    return EASE_OK;
}

/* Transposes X; meanwhile starts[i + 1] is the next free place of item i. */
static void transpose(job *j)
{
    const ease_interactions *x = j->x;
    int64_t *next = j->starts + 1, sum = 0;

    for (int64_t at = 0; at < x->nnz; at++)
        next[x->cols[at]]++;
    for (int32_t i = 0; i < x->items; i++) {
        int64_t count = next[i];

        next[i] = sum;
        sum += count;
    }
    for (int64_t u = 0; u < x->users; u++)
        for (int64_t at = x->row_ptr[u]; at < x->row_ptr[u + 1]; at++) {
            int64_t to = next[x->cols[at]]++;

            j->users[to] = (int32_t)u;
            if (x->vals)
                j->weights[to] = x->vals[at];
        }
}

/* Draws the first factors around 0: factors of one sign would be nearly parallel,
 * which takes a few iterations to leave. */
static void draw_first(job *j)
{
    size_t count = (size_t)j->x->items * (size_t)j->rank;
    ease__random r;

    ease__random_seed(&r, (uint64_t)j->settings[SEED], 0);
    for (size_t i = 0; i < count; i++)
        j->v[i] = (float)(0.1 * (ease__random_unit(&r) - 0.5));
}

/* ---- iterations --------------------------------------------------------------- */

/* square = V'V + lambda I. Returns the trace of V'V. */
static double make_square(job *j, const float *v, int64_t rows)
{
    size_t rank = (size_t)j->rank;
    double trace = 0;

    ease__square(v, rows, j->rank, j->threads, j->parts, j->square);
    for (size_t k = 0; k < rank; k++) {
        float *at = &j->square[k * (rank + 1)];

        trace += (double)*at;
        *at += (float)j->settings[LAMBDA];
    }
    return trace;
}

/* One iteration: users from items, then items from users, which become `next`. *loss
 * is that of the iteration. */
static ease_status iterate(job *j, int32_t iteration, double *loss, ease_error *err)
{
    double all = j->settings[ITERATIONS], users_loss, size;
    ease__half_step h = {
        .links = {j->x->users, j->x->row_ptr, j->x->cols, j->x->vals},
        .rank = j->rank,
        .steps = (int32_t)j->settings[STEPS],
        .alpha = (float)j->settings[ALPHA],
        .fixed = j->v,
        .square = j->square,
        .from = j->u,
        .to = j->u,
        .kernels = j->kernels,
        .hooks = j->hooks,
        .stage = stage,
        .begin = iteration / all,
        .end = (iteration + 0.5) / all,
    };
    ease_status status;

    make_square(j, j->v, j->x->items);
    status = ease__half_step_run(&h, j->threads, &users_loss, err);
    if (status)
        return status;
    size = make_square(j, j->u, j->x->users);
    h.links = (ease__links){j->x->items, j->starts, j->users, j->weights};
    h.fixed = j->u;
    h.from = j->v;
    h.to = j->next;
    h.begin = h.end;
    h.end = (iteration + 1) / all;
    status = ease__half_step_run(&h, j->threads, loss, err);
    if (!status)
        *loss += j->settings[LAMBDA] * size;
    return status;
}

/* Runs the iterations. If cancelled after a complete one, the model is that of the
 * last complete iteration. */
static ease_status run(job *j, ease_error *err)
{
    int32_t all = (int32_t)j->settings[ITERATIONS];

    for (int32_t i = 0; i < all; i++) {
        ease_error found = {0};
        double loss = 0;
        ease_status status = iterate(j, i, &loss, &found);
        float *spare = j->v;

        if (status == EASE_E_CANCELLED && i > 0) {
            ease__log(j->hooks, 1,
                      "stopped after %d of %d iterations: the last is kept", (int)i,
                      (int)all);
            return EASE_OK;
        }
        if (status)
            return ease__fail(err, status, "%s", found.text);
        if (!isfinite(loss))
            return ease__fail(err, EASE_E_ACCURACY,
                              "wmf: the loss is not finite after iteration %d; values "
                              "or alpha are too large",
                              (int)i + 1);
        j->v = j->next;
        j->next = spare;
        j->done = i + 1;
        ease__log(j->hooks, 2, "iteration %d of %d: loss %.7g", (int)i + 1, (int)all,
                  loss);
    }
    return EASE_OK;
}

/* ---- the model ---------------------------------------------------------------- */

static void give(job *j, ease_model *m)
{
    ease__square(j->v, j->x->items, j->rank, j->threads, j->parts, j->square);
    m->latent = (ease__latent){
        .shape = {.encoder = EASE__FOLD_IN,
                  .layers = 1,
                  .width = {j->rank},
                  .alpha = (float)j->settings[ALPHA],
                  .lambda = (float)j->settings[LAMBDA]},
        .dense = j->square,
        .decoder = j->v,
    };
    m->rounds = j->done;
    j->square = NULL;
    j->v = NULL;
}

static ease_status train(const ease_interactions *x, const ease_train_options *o,
                         const double *given, ease_model *m, ease_error *err)
{
    job j = {.x = x,
             .settings = given,
             .hooks = o->hooks,
             .kernels = m->kernels,
             .threads = ease__blas_threads(o->threads, o->hooks),
             .rank = (int32_t)given[RANK]};
    ease_status status = check_data(x, given, err);

    if (!status)
        status = check_memory(&j, o->memory_limit, err);
    if (!status)
        status = ease__blas_check_memory(j.threads, err);
    if (!status)
        status = allocate(&j, err);
    if (!status) {
        transpose(&j);
        draw_first(&j);
        status = run(&j, err);
    }
    if (!status)
        give(&j, m);
    job_free(&j);
    return status;
}

const ease__method ease__wmf = {
    .info =
        {
            .name = "wmf",
            .about =
                "weighted matrix factorization (Hu, Koren and Volinsky, ICDM 2008)",
            .rounds = "iterations",
            .grid = "rank=64|128|256,alpha=1|3|10|30,lambda=3|10|30|100|300",
        },
    .number = 6,
    .settings = settings,
    .form = &ease__form_latent,
    .fill = train,
};
