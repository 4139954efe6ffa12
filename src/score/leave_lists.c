/* The lists of users who are left out, by their terms. */
#include <math.h>

#include "compute/topk.h"
#include "score/leave_out.h"

static const _Alignas(64) float zeros[EASE__PANEL];

/* The state of a user's list. */
typedef struct state {
    ease__places at;
    float least;   /* only scores above it are considered */
    int32_t count; /* length of the list so far */
    bool blank;    /* no other user has an item of the input */
} state;

typedef struct listing {
    const ease__leave_out *l;
    ease__left_rows users;
    const ease__left_terms *terms;
    int32_t k, capacity;
    ease_rec *recs; /* of the batch's users */
    int32_t *counts;
    state *states;
} listing;

/* The columns of a panel, whose vectors begin with it. */
typedef struct columns {
    const ease__panel *panel;
    const float *diagonal, *centre, *mean, *ridge;
    uint32_t there, constant; /* a bit for each column: it exists; it may be constant */
    float relaxation;
} columns;

static columns begin_panel(const ease__leave_out *l, const ease__panel *p)
{
    columns c = {.panel = p,
                 .diagonal = ease__left_vector(l, EASE__LEFT_DIAGONAL) + p->left,
                 .centre = ease__left_vector(l, EASE__LEFT_CENTRE) + p->left,
                 .mean = ease__left_vector(l, EASE__LEFT_MEAN) + p->left,
                 .ridge = ease__left_vector(l, EASE__LEFT_RIDGE) + p->left,
                 .relaxation = (float)l->family.relaxation};

    for (int32_t j = p->left; j < p->right; j++) {
        uint32_t bit = (uint32_t)1 << (j - p->left);

        c.there |= bit;
        if (l->constancy[j] != EASE__LEFT_ORDINARY)
            c.constant |= bit;
    }
    return c;
}

/* The score of an item that the input does not have. With a zero diagonal it is
 * -(P_-x t)_j / d, d = diag(P_-x)_j, where the mean cancels out. */
static inline float plain_score(const ease__left_terms *t, float diagonal, float centre,
                                float pz, float px)
{
    float r = px - centre;

    return -((pz - centre) + t->gain * r) / (diagonal + t->bend * (r * r));
}

/* With a relaxed diagonal: mu'_j - m_j ((P_-x t)_j + mu'_j d). */
static inline float relaxed_score(const ease__left_terms *t, const columns *c, int j,
                                  float mean, float pz, float px)
{
    float r = px - c->centre[j], d = c->diagonal[j] + t->bend * (r * r);
    float inside = (1 - c->relaxation) / d;
    float m = 1 - c->ridge[j] * d > c->relaxation ? inside : c->ridge[j];

    return mean * (1 - m * d) - m * ((pz - c->centre[j]) + t->gain * r);
}

/* Writes the scores of items that the user does not have. */
static void score_columns(const ease__left_terms *t, const columns *c, const float *pz,
                          const float *px, float *out)
{
    const float *diagonal = c->diagonal, *centre = c->centre;
    float more = 1 + t->shift;

    if (c->relaxation == 0)
        for (int j = 0; j < EASE__PANEL; j++)
            out[j] = plain_score(t, diagonal[j], centre[j], pz[j], px[j]);
    else
        for (int j = 0; j < EASE__PANEL; j++)
            out[j] = relaxed_score(t, c, j, more * c->mean[j], pz[j], px[j]);
}

/* The mean of column j without the user, who has the value x. */
static float mean_without(const ease__left_terms *t, const columns *c, int j, double x)
{
    return (1 + t->shift) * c->mean[j] - t->shift * (float)x;
}

/* Replaces the scores of columns that are constant without the user, who does not have
 * their items. */
static void score_constants(const listing *b, int64_t u, const columns *c, float *out)
{
    double weight = ease__left_weight(b->l, b->users.rows[u].count);

    for (uint32_t bits = c->constant; bits; bits &= bits - 1) {
        int j = __builtin_ctz(bits);
        int32_t item = c->panel->left + j;

        if (b->l->constancy[item] == EASE__LEFT_CONSTANT ||
            ease__left_constant(b->l, item, 0, weight))
            out[j] = mean_without(&b->terms[u], c, j, 0);
    }
}

/* Replaces the score of an item of the target. False: no other user has it. */
static bool score_target(const listing *b, int64_t u, const columns *c, const float *pz,
                         const float *px, float *out)
{
    const ease__leave_out *l = b->l;
    const ease__left_terms *t = &b->terms[u];
    ease_row row = b->users.rows[u];
    int32_t place = b->states[u].at.target, item = row.items[place];
    int j = item - c->panel->left;
    double x = ease__row_value(row, place);

    if (l->model->living.counts[item] <= 1)
        return false;
    if (!l->centred)
        return true;
    if (l->constancy[item] == EASE__LEFT_CONSTANT ||
        ease__left_constant(l, item, x, ease__left_weight(l, row.count)))
        out[j] = mean_without(t, c, j, x);
    else if (c->relaxation > 0)
        out[j] = relaxed_score(t, c, j, mean_without(t, c, j, x), pz[j], px[j]);
    else
        out[j] = plain_score(t, c->diagonal[j], c->centre[j], pz[j], px[j]);
    return true;
}

static bool any_above(const float *scores, float least)
{
    int any = 0;

    for (int j = 0; j < EASE__PANEL; j++)
        any |= scores[j] > least;
    return any;
}

/* Offers the columns in `bits` to the user's list. */
static void choose(const listing *b, int64_t u, const columns *c, const float *scores,
                   uint32_t bits)
{
    state *s = &b->states[u];
    ease__topk best = {.recs = b->recs + (size_t)u * (size_t)b->k,
                       .capacity = b->capacity,
                       .count = s->count};

    for (; bits; bits &= bits - 1) {
        int j = __builtin_ctz(bits);

        if (scores[j] > s->least) {
            ease__topk_add(&best, (ease_rec){c->panel->left + j, scores[j]});
            s->least = ease__topk_least(&best);
        }
    }
    s->count = best.count;
}

/* Sums the rows of the input, then those of the target. False: nothing is a number. */
static bool sum_rows(const listing *b, int64_t u, const ease__panel *p, float *pz,
                     float *px)
{
    const ease__kernels *k = b->l->model->kernels;
    ease_row row = b->users.rows[u];
    int32_t inputs = b->users.inputs[u];
    ease__rows input = {row.items, row.weights, inputs, zeros};
    ease__rows target = {row.items + inputs, row.weights ? row.weights + inputs : NULL,
                         row.count - inputs, pz};

    return k->sum_floats(p->numbers, input, -INFINITY, pz) &&
           k->sum_floats(p->numbers, target, -INFINITY, px);
}

/* Adds rows of a panel to sums in float64. */
static void add_rows_wide(const float *panel, ease_row row, int32_t from, int32_t to,
                          double *sums)
{
    for (int32_t i = from; i < to; i++) {
        const float *numbers = panel + (size_t)row.items[i] * EASE__PANEL;
        double value = ease__row_value(row, i);

        for (int j = 0; j < EASE__PANEL; j++)
            sums[j] += value * (double)numbers[j];
    }
}

/* The same as sum_rows in float64. */
static bool sum_rows_wide(const listing *b, int64_t u, const ease__panel *p, float *pz,
                          float *px)
{
    ease_row row = b->users.rows[u];
    int32_t inputs = b->users.inputs[u];
    double sums[EASE__PANEL] = {0};
    bool numbers = false;

    add_rows_wide(p->numbers, row, 0, inputs, sums);
    for (int j = 0; j < EASE__PANEL; j++)
        pz[j] = (float)sums[j];
    add_rows_wide(p->numbers, row, inputs, row.count, sums);
    for (int j = 0; j < EASE__PANEL; j++) {
        px[j] = (float)sums[j];
        numbers = numbers || !isnan(px[j]);
    }
    return numbers;
}

static void list_user(const listing *b, int64_t u, const columns *c)
{
    _Alignas(64) float pz[EASE__PANEL], px[EASE__PANEL], scores[EASE__PANEL];
    const ease__panel *p = c->panel;
    state *s = &b->states[u];
    ease_row row = b->users.rows[u];
    uint32_t bits = c->there;
    bool numbers;

    if (s->blank)
        return;
    numbers = ease__left_narrow(&b->terms[u]) ? sum_rows_wide(b, u, p, pz, px)
                                              : sum_rows(b, u, p, pz, px);
    if (numbers)
        score_columns(&b->terms[u], c, pz, px, scores);
    if (numbers && c->constant)
        score_constants(b, u, c, scores);
    for (; s->at.next_target < p->right; ease__pass_target(&s->at, row))
        if (numbers && !score_target(b, u, c, pz, px, scores))
            bits &= ~((uint32_t)1 << (s->at.next_target - p->left));
    for (; s->at.next_input < p->right;
         ease__pass_input(&s->at, row, b->users.inputs[u]))
        bits &= ~((uint32_t)1 << (s->at.next_input - p->left));
    if (numbers && any_above(scores, s->least))
        choose(b, u, c, scores, bits);
}

static void list_panel(void *user, const ease__panel *p, int64_t from, int64_t to)
{
    const listing *b = user;
    columns c = begin_panel(b->l, p);

    for (int64_t u = from; u < to; u++)
        list_user(b, u, &c);
}

/* Lists the items by their popularity without the user, of whose input no item is
 * known. */
static int32_t list_popular(const listing *b, int64_t u, ease_rec *recs)
{
    const ease_model *m = b->l->model;
    ease_row row = b->users.rows[u];
    ease__places at = ease__first_places(row, b->users.inputs[u]);
    ease__topk best = {.recs = recs, .capacity = b->capacity};
    double users = m->info.users > 1 ? (double)m->info.users - 1 : 1;

    for (int32_t j = 0; j < m->info.items; j++) {
        double popularity = m->popularity[j];
        bool own = j == at.next_input || j == at.next_target;

        if (j == at.next_target) {
            popularity -= ease__row_value(row, at.target);
            ease__pass_target(&at, row);
        }
        if (j == at.next_input)
            ease__pass_input(&at, row, b->users.inputs[u]);
        if (!own || m->living.counts[j] > 1)
            ease__topk_offer_one(&best, (ease_rec){j, (float)(popularity / users)});
    }
    ease__topk_sort(&best);
    return best.count;
}

static void begin_user(listing *b, int64_t u)
{
    ease_row row = b->users.rows[u], input = row;

    input.count = b->users.inputs[u];
    b->states[u] = (state){.at = ease__first_places(row, input.count),
                           .least = -INFINITY,
                           .blank = ease__left_unknown(b->l->model, input)};
}

static void finish_user(listing *b, int64_t u)
{
    ease__topk best = {.recs = b->recs + (size_t)u * (size_t)b->k,
                       .count = b->states[u].count};

    if (b->states[u].blank) {
        b->counts[u] = list_popular(b, u, best.recs);
        return;
    }
    ease__topk_sort(&best);
    b->counts[u] = best.count;
}

static ease_status list_batch(ease__leave_out *l, listing *b, ease__portion portion,
                              ease_error *err)
{
    ease_status status;

    for (int64_t u = 0; u < b->users.count; u++)
        begin_user(b, u);
    status = ease__sweep_run(&l->sweep, b->users.rows, b->users.count, portion, err);
    if (status)
        return status;
#pragma omp parallel for schedule(dynamic, 64) num_threads(ease__threads(l->threads))
    for (int64_t u = 0; u < b->users.count; u++)
        finish_user(b, u);
    return EASE_OK;
}

ease_status ease__leave_out_lists(ease__leave_out *l, const ease__left_rows *users,
                                  const ease__left_terms *terms, int32_t k,
                                  const ease_hooks *hooks, ease_rec *recs,
                                  int32_t *counts, ease_error *err)
{
    int32_t n = l->model->info.items;
    listing b = {.l = l, .k = k, .capacity = k < n ? k : n};
    size_t most = (size_t)ease__left_batch(users, 0).count;
    ease_status status = EASE_OK;

    b.states = ease__alloc_array(most, sizeof(*b.states));
    if (!b.states)
        return ease__fail(err, EASE_E_NOMEM, "lists of %zu users", most);
    l->sweep.work.use = list_panel;
    l->sweep.work.user = &b;
    l->sweep.hooks = hooks;
    for (int64_t first = 0; !status && first < users->count; first += b.users.count) {
        b.users = ease__left_batch(users, first);
        b.terms = terms + first;
        b.recs = recs + (size_t)first * (size_t)k;
        b.counts = counts + first;
        status = list_batch(l, &b, ease__left_portion(users, first), err);
    }
    ease__free(b.states);
    return status;
}
