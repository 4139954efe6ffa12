/* A user with row x and weight w is left out of the inverse P by the formula of Sherman
 * and Morrison: with q = sqrt(w) x for counts, and q = sqrt(w M / (M - w)) (x - mu) for
 * the covariance, of mass M and mean mu,
 *
 *     h = q'Pq,   P_-x t = Pt + Pq (q'Pt) / (1 - h).
 *
 * The list for the input z, a part of x, is then made from Pz and Px alone, which are
 * sums of rows of P. A first pass over P computes x'Px and z'Px of each user, for which
 * only panels with an item of x are summed; a second one makes the lists. */
#include "score/leave_out.h"

#include <math.h>
#include <string.h>

#include "compute/topk.h"
#include "solve/solve.h"

static const char STAGE[] = "leaving users out";

/* With sums in float32 the error of h is about 1e-6, and that of scores, relative to
 * the largest, up to 1e-5 where 1 - h is .05, and 4e-5 where it is .02. Below the bound
 * sums are made in float64: then only the rounding of P itself remains. */
static const double NARROW_REST = 0.1;
/* Users with less are refused: the rounding of P alone gives 1e-5 and more. */
static const double LEAST_REST = 0.03;

static const _Alignas(64) float zeros[EASE__PANEL];

/* The length of the vectors: their panels are whole. */
static size_t padded(int32_t n)
{
    return ((size_t)n + EASE__PANEL - 1) / EASE__PANEL * EASE__PANEL;
}

float *ease__left_vector(const ease__leave_out *l, int which)
{
    return l->columns + (size_t)which * padded(l->model->info.items);
}

bool ease__left_usable(const ease__left_terms *t)
{
    return 1 - t->leverage >= LEAST_REST;
}

bool ease__left_narrow(const ease__left_terms *t)
{
    return 1 - t->leverage < NARROW_REST;
}

bool ease__left_unknown(const ease_model *m, ease_row row)
{
    for (int32_t i = 0; i < row.count; i++)
        if (m->living.counts[row.items[i]] > 1)
            return false;
    return true;
}

ease_status ease__leave_out_check(const ease_model *m, ease_error *err)
{
    ease__family f = ease__model_family(m);
    ease_status status = ease__leaving_check(ease__method_find(m->info.method), &f,
                                             m->info.kind, false, err);

    return status ? status : ease__living_required(m, err);
}

/* ---- the vectors of a model ------------------------------------------------------ */

size_t ease__leave_out_bytes(int32_t items)
{
    size_t own = EASE__LEFT_VECTORS * sizeof(float) + 2 * sizeof(double) +
                 sizeof(uint8_t);

    return ease__size_add(ease__size_mul(padded(items), own),
                          ease__sweep_bytes(items, sizeof(float)));
}

void ease__leave_out_free(ease__leave_out *l)
{
    ease__free(l->centre);
    ease__free(l->columns);
    ease__free(l->constancy);
    ease__sweep_free(&l->sweep);
    *l = (ease__leave_out){0};
}

bool ease__left_constant(const ease__leave_out *l, int32_t j, double x, double weight)
{
    const ease__living *all = &l->model->living;
    double diagonal = all->diagonal[j] - weight * x * x;
    double sum = all->sums[j] - weight * x;
    ease__living rest = {.diagonal = &diagonal,
                         .sums = &sum,
                         .mass = all->mass - weight,
                         .weighted = all->weighted};

    return ease__living_constant(&rest, 0);
}

/* The longest or the shortest row has the largest weight. */
static double largest_weight(const ease__leave_out *l, int32_t longest)
{
    return fmax(ease__left_weight(l, 1), ease__left_weight(l, longest));
}

static void set_mean(ease__leave_out *l, double largest)
{
    const ease__living *all = &l->model->living;
    float *mean = ease__left_vector(l, EASE__LEFT_MEAN);

    for (int32_t j = 0; j < l->model->info.items; j++) {
        mean[j] = (float)(all->sums[j] / all->mass);
        l->constancy[j] = ease__living_constant(all, j) ? EASE__LEFT_CONSTANT
                          : ease__left_constant(l, j, 0, largest)
                              ? EASE__LEFT_PERHAPS_CONSTANT
                              : EASE__LEFT_ORDINARY;
    }
}

/* Sets P mu and mu'P mu. In a constant column mu counts as 0, as q is. */
static ease_status set_centre(ease__leave_out *l, ease_error *err)
{
    const ease_model *m = l->model;
    int32_t n = m->info.items;
    double *mean = ease__alloc_zero((size_t)n, sizeof(*mean));
    float *centre = ease__left_vector(l, EASE__LEFT_CENTRE);

    if (!mean)
        return ease__fail(err, EASE_E_NOMEM, "the means of %d items", (int)n);
    for (int32_t j = 0; j < n; j++)
        if (l->constancy[j] != EASE__LEFT_CONSTANT)
            mean[j] = m->living.sums[j] / m->living.mass;
    ease__tiled_times(&m->inverse, mean, l->centre, l->threads);
    for (int32_t j = 0; j < n; j++) {
        centre[j] = (float)l->centre[j];
        l->middle += mean[j] * l->centre[j];
    }
    ease__free(mean);
    return EASE_OK;
}

static ease_status set_ridge(ease__leave_out *l, ease_error *err)
{
    int32_t n = l->model->info.items;
    double *penalty = ease__alloc_array((size_t)n, sizeof(*penalty));
    float *ridge = ease__left_vector(l, EASE__LEFT_RIDGE);

    if (!penalty)
        return ease__fail(err, EASE_E_NOMEM, "lambda of %d items", (int)n);
    ease__living_penalty(&l->model->living, &l->family, n, penalty);
    for (int32_t j = 0; j < n; j++)
        ridge[j] = (float)penalty[j];
    ease__free(penalty);
    return EASE_OK;
}

static ease_status set_vectors(ease__leave_out *l, int32_t longest, ease_error *err)
{
    const ease_model *m = l->model;
    float *diagonal = ease__left_vector(l, EASE__LEFT_DIAGONAL);
    ease_status status = EASE_OK;

    for (int32_t j = 0; j < m->info.items; j++) {
        diagonal[j] = (float)ease__tiled_at(&m->inverse, j, j);
        if ((j + 1) % m->inverse.edge == 0)
            ease__model_forget(m);
    }
    if (l->centred) {
        set_mean(l, largest_weight(l, longest));
        status = set_centre(l, err);
    }
    if (!status && l->family.relaxation > 0)
        status = set_ridge(l, err);
    return status;
}

static void take_inverse(const ease_model *m, ease__window w, void *out, size_t ld)
{
    ease__tiled_copy(&m->inverse, w, out, ld, m->kernels->transpose);
}

ease_status ease__leave_out_new(const ease_model *m, int32_t longest, int threads,
                                const ease_hooks *hooks, ease__leave_out *out,
                                ease_error *err)
{
    ease__sweep_work work = {
        .take = take_inverse, .bytes = sizeof(float), .stage = STAGE};
    size_t n = padded(m->info.items);
    ease_status status;

    *out = (ease__leave_out){.model = m,
                             .family = ease__model_family(m),
                             .centred = m->info.kind == EASE_GRAM_COVARIANCE,
                             .threads = threads};
    out->centre = ease__alloc_zero(n, sizeof(*out->centre));
    out->columns = ease__alloc_zero(n, EASE__LEFT_VECTORS * sizeof(*out->columns));
    out->constancy = ease__alloc_zero(n, sizeof(*out->constancy));
    if (!out->centre || !out->columns || !out->constancy)
        return ease__fail(err, EASE_E_NOMEM, "leaving users out of %d items",
                          (int)m->info.items);
    status = ease__sweep_new(m, &work, threads, NULL, &out->sweep, err);
    if (!status)
        status = ease__container_need_all(&m->file, threads, hooks, err);
    return status ? status : set_vectors(out, longest, err);
}

/* ---- the terms of users ---------------------------------------------------------- */

/* Sums of a user: x'Px and z'Px, without constant columns. */
typedef struct tally {
    ease__places at;
    double own, input;
} tally;

typedef struct measuring {
    const ease__leave_out *l;
    ease__left_rows users;
    tally *tallies;
} measuring;

/* The sums of a user in float64, from the entries of P for pairs of items. */
static void tally_wide(const ease__leave_out *l, ease_row row, int32_t inputs, tally *t)
{
    const ease__tiled *p = &l->model->inverse;

    t->own = t->input = 0;
    for (int32_t i = 0; i < row.count; i++) {
        double sum = 0;

        if (l->constancy[row.items[i]] == EASE__LEFT_CONSTANT)
            continue;
        for (int32_t k = 0; k < row.count; k++)
            sum += ease__row_value(row, k) *
                   ease__tiled_at(p, row.items[i], row.items[k]);
        sum *= ease__row_value(row, i);
        t->own += sum;
        t->input += i < inputs ? sum : 0;
    }
}

/* A part x_j (Px)_j of x'Px. */
static double part_of(const ease__leave_out *l, ease_row row, int32_t place,
                      const float *px, int32_t left)
{
    int32_t item = row.items[place];

    if (l->constancy[item] == EASE__LEFT_CONSTANT)
        return 0;
    return ease__row_value(row, place) * (double)px[item - left];
}

static void measure_user(measuring *b, int64_t u, const ease__panel *p)
{
    _Alignas(64) float px[EASE__PANEL];
    const ease__leave_out *l = b->l;
    ease_row row = b->users.rows[u];
    ease__rows all = {row.items, row.weights, row.count, zeros};
    int32_t inputs = b->users.inputs[u];
    tally *t = &b->tallies[u];

    if (t->at.next_input >= p->right && t->at.next_target >= p->right)
        return;
    if (!l->model->kernels->sum_floats(p->numbers, all, -INFINITY, px)) {
        memcpy(px, zeros, sizeof(px));
        t->own = NAN; /* none of the sums is a number */
    }
    while (t->at.next_input < p->right) {
        double part = part_of(l, row, t->at.input, px, p->left);

        t->own += part;
        t->input += part;
        ease__pass_input(&t->at, row, inputs);
    }
    while (t->at.next_target < p->right) {
        t->own += part_of(l, row, t->at.target, px, p->left);
        ease__pass_target(&t->at, row);
    }
}

static void measure_panel(void *user, const ease__panel *p, int64_t from, int64_t to)
{
    for (int64_t u = from; u < to; u++)
        measure_user(user, u, p);
}

/* With k = w / (M - w), mu' = mu - k (x - mu) and t = z - mu'. */
static ease__left_terms find_terms(const ease__leave_out *l, ease_row row,
                                   int32_t inputs, const tally *t)
{
    double w = ease__left_weight(l, row.count), shift = 0, from_own = 0, from_input = 0;
    double factor = w, rest, product; /* q = sqrt(factor) (x - mu); (x - mu)'P t */
    ease__left_terms terms;

    for (int32_t i = 0; l->centred && i < row.count; i++) {
        double part = ease__row_value(row, i) * l->centre[row.items[i]];

        from_own += part;
        from_input += i < inputs ? part : 0;
    }
    if (l->centred) {
        shift = w / (l->model->living.mass - w);
        factor = w * (1 + shift);
    }
    terms.leverage = factor * (t->own - 2 * from_own + l->middle);
    product = t->input - from_input - (1 + shift) * (from_own - l->middle) +
              shift * (t->own - from_own);
    rest = 1 - terms.leverage;
    terms.shift = (float)shift;
    terms.bend = (float)(factor / rest);
    terms.gain = (float)(shift + factor / rest * product);
    return terms;
}

static ease_status measure_batch(ease__leave_out *l, measuring *b,
                                 ease__portion portion, ease__left_terms *terms,
                                 ease_error *err)
{
    const ease__left_rows *users = &b->users;
    ease_status status;

    for (int64_t u = 0; u < users->count; u++)
        b->tallies[u] = (tally){
            .at = ease__first_places(users->rows[u], users->inputs[u])};
    status = ease__sweep_run(&l->sweep, users->rows, users->count, portion, err);
    if (status)
        return status;
#pragma omp parallel for schedule(dynamic, 64) num_threads(ease__threads(l->threads))
    for (int64_t u = 0; u < users->count; u++) {
        ease_row row = users->rows[u];
        int32_t inputs = users->inputs[u];
        tally *t = &b->tallies[u];

        terms[u] = find_terms(l, row, inputs, t);
        if (!ease__left_narrow(&terms[u]))
            continue;
        tally_wide(l, row, inputs, t);
        terms[u] = find_terms(l, row, inputs, t);
    }
    return EASE_OK;
}

ease__left_rows ease__left_batch(const ease__left_rows *users, int64_t first)
{
    int64_t left = users->count - first;

    return (ease__left_rows){users->rows + first, users->inputs + first,
                             left < EASE__SWEEP_USERS ? left : EASE__SWEEP_USERS};
}

ease__portion ease__left_portion(const ease__left_rows *users, int64_t first)
{
    double whole = (double)users->count;

    return (ease__portion){(double)first / whole,
                           (double)ease__left_batch(users, first).count / whole};
}

ease_status ease__leave_out_measure(ease__leave_out *l, const ease__left_rows *users,
                                    const ease_hooks *hooks, ease__left_terms *terms,
                                    ease_error *err)
{
    measuring b = {.l = l};
    size_t most = (size_t)ease__left_batch(users, 0).count;
    ease_status status = EASE_OK;

    b.tallies = ease__alloc_array(most, sizeof(*b.tallies));
    if (!b.tallies)
        return ease__fail(err, EASE_E_NOMEM, "sums of %zu users", most);
    l->sweep.work.use = measure_panel;
    l->sweep.work.user = &b;
    l->sweep.hooks = hooks;
    for (int64_t first = 0; !status && first < users->count; first += b.users.count) {
        b.users = ease__left_batch(users, first);
        status = measure_batch(l, &b, ease__left_portion(users, first), terms + first,
                               err);
    }
    ease__free(b.tallies);
    return status;
}
