/* Tuning of the closed-form family: lambda and all settings of a method together.
 *
 * Some settings need another inverse (a solve), others are read off the inverse at hand
 * (an evaluation). The search goes along one axis after the other. A line along an axis
 * tries both neighbours of the best point, and goes on in a direction that improves.
 *
 *  1. The settings that need no solve.
 *  2. The size of the regularizer: lambda and the odds of dropout together.
 *  3. Each setting that needs solves, then one joint step to the vertices of the
 *     parabolas through the three points of each line.
 *  4. The settings that need no solve, and the rest of the solves with half the step.
 *
 * The best values of some settings that need no solve depend on the inverse. One step
 * of each is therefore tried at every inverse that is nearly the best.
 *
 * A member of the family that has no inverse (ease-sparse) is trained instead, without
 * the scales of items, which its weights are multiplied by afterwards. What would need
 * another inverse counts as a solve all the same. */
#include <math.h>
#include <string.h>

#include "tune/solve_trial.h"

/* The solves of a search. A start where the size of the regularizer is far from the
 * best one adds a solve for each step towards it, up to the second number. */
enum { FEW_SOLVES = 12, MOST_SOLVES = 18 };

/* The axes beside those of the method: lambda, and lambda with the odds of dropout.
 * Their logarithms are changed. */
enum { LAMBDA = -1, STRENGTH = -2 };
static const double LAMBDA_STEP = 0.375, STRENGTH_STEP = 0.5; /* decades */

/* Steps are halved once. */
static const double LEAST_SCALE = 0.5;

typedef struct point {
    double lambda;
    double values[EASE__MOST_SETTINGS];
} point;

typedef struct axis {
    ease__axis of;
    bool solves;   /* another value needs another inverse */
    double vertex; /* of the parabola through the last line, relative to the best */
} axis;

typedef struct search {
    ease__tuner *t;
    ease_tuning *result;
    const ease__method *method;
    ease__dense_order order;
    ease_gram *gram;
    double gram_power; /* the user power of `gram` */
    ease__dense dense; /* the inverse at hand; dense.model NULL: none */
    float *unscaled;   /* without inverses: the weights at hand without scales */
    point at;          /* that the inverse was solved for */
    bool wide;         /* in float64 */
    axis axes[EASE__MOST_AXES + 1];
    int axis_count;
    int solves_allowed; /* 0: any number */
    point best;
    double best_score; /* -INFINITY: nothing was measured */
    double mean_diagonal;
    bool shown[EASE__MOST_SETTINGS];
    bool go_on;
} search;

static ease__family family_of(const search *s, const point *p)
{
    return ease__method_family(s->method, p->values);
}

static bool may_solve(const search *s)
{
    return !s->solves_allowed || s->result->solves < s->solves_allowed;
}

/* True if trials are read off an inverse. */
static bool has_inverse(const search *s)
{
    return s->method->info.from_gram;
}

/* ---- the inverse at hand --------------------------------------------------------- */

static bool same_inverse(const search *s, const point *a, const point *b)
{
    ease__family f = family_of(s, a), g = family_of(s, b);

    return a->lambda == b->lambda && f.lambda_power == g.lambda_power &&
           f.dropout == g.dropout && f.user_power == g.user_power;
}

/* Makes s->gram that of the user power of the point. */
static ease_status load(search *s, const point *p, ease_error *err)
{
    double power = family_of(s, p).user_power;

    if (s->gram && s->gram_power == power)
        return EASE_OK;
    ease_gram_free(s->gram);
    s->gram = NULL;
    ease__dense_order_set(&s->order, p->values);
    s->gram_power = power;
    return ease__trial_load(s->t->x, &s->order, &s->gram, err);
}

/* Makes the inverse at hand that of the point. The one before is freed first: there is
 * never more than one. */
static ease_status solve(search *s, const point *p, ease_error *err)
{
    ease_status status;

    ease__dense_free(&s->dense);
    status = load(s, p, err);
    if (status)
        return status;
    s->result->solves++;
    s->order.o.lambda = p->lambda;
    ease__dense_order_set(&s->order, p->values);
    s->at = *p;
    return ease__trial_solve(s->gram, &s->order, &s->wide, &s->dense, err);
}

/* Two points that differ in one setting. */
static void two_points(const search *s, int setting, point *a, point *b)
{
    *a = (point){.lambda = 1};
    for (int i = 0; s->method->settings[i].name; i++)
        a->values[i] = s->method->settings[i].value;
    *b = *a;
    b->values[setting] = a->values[setting] == 0.5 ? 0.25 : 0.5;
}

/* True for the settings of the scales of items. */
static bool is_scale(const search *s, int setting)
{
    ease__family f, g;
    point a, b;

    two_points(s, setting, &a, &b);
    f = family_of(s, &a);
    g = family_of(s, &b);
    return f.input != g.input || f.output != g.output;
}

/* True if the weights of two points differ in the scales of items alone. */
static bool same_unscaled(const search *s, const point *a, const point *b)
{
    for (int i = 0; s->method->settings[i].name; i++)
        if (a->values[i] != b->values[i] && !is_scale(s, i))
            return false;
    return a->lambda == b->lambda;
}

static void drop_model(search *s)
{
    ease__dense_free(&s->dense);
    ease__free(s->unscaled);
    s->unscaled = NULL;
}

/* Trains a method that has no inverse, without the scales of items. The memory is
 * checked by training: the copy and the scaled weights together take no more than the
 * second copy of all weights while they are transposed, which training counts. */
static ease_status train_unscaled(search *s, const point *p, ease_error *err)
{
    ease_train_options o = s->order.o;
    char settings[EASE__SETTINGS_CHARS];
    const ease__sparse *w;
    size_t bytes;
    point plain = *p;
    ease_status status;

    if (!s->dense.model || !same_inverse(s, p, &s->at))
        s->result->solves++;
    drop_model(s);
    for (int i = 0; s->method->settings[i].name; i++)
        if (is_scale(s, i))
            plain.values[i] = 0;
    ease__settings_print(s->method->settings, plain.values, NULL, settings);
    o.lambda = p->lambda;
    o.settings = settings;
    status = ease_train(s->t->x, &o, &s->dense.model, err);
    if (status)
        return status;
    w = &s->dense.model->sparse;
    bytes = (size_t)w->starts[s->t->x->items] * sizeof(*w->weights);
    s->unscaled = ease__alloc_array(bytes + 1, 1);
    if (!s->unscaled)
        return ease__fail(err, EASE_E_NOMEM, "weights of %zu bytes", bytes);
    memcpy(s->unscaled, w->weights, bytes);
    return EASE_OK;
}

/* Makes the model of a point whose method has no inverse. The model has the bits of one
 * that is trained with these settings. */
static ease_status train(search *s, const point *p, ease_error *err)
{
    ease__family f = family_of(s, p);
    char settings[EASE__SETTINGS_CHARS];
    ease_status status = EASE_OK;

    if (!s->dense.model || !same_unscaled(s, p, &s->at))
        status = train_unscaled(s, p, err);
    if (status)
        return status;
    s->at = *p;
    ease__settings_print(s->method->settings, p->values, NULL, settings);
    status = ease__model_set_settings(s->dense.model, settings, err);
    if (!status)
        status = ease__sparse_scale(&f, s->t->x, s->unscaled, s->dense.model, err);
    return status ? status : ease__sparse_check(s->dense.model, err);
}

/* Makes the model at hand that of the point. */
static ease_status make(search *s, const point *p, ease_error *err)
{
    if (!has_inverse(s))
        return train(s, p, err);
    if (!s->dense.model || !same_inverse(s, p, &s->at))
        return solve(s, p, err);
    return ease__dense_read(&s->dense, p->values, err);
}

/* ---- one trial ------------------------------------------------------------------- */

static void name_point(const search *s, const point *p, ease__attempt *a)
{
    ease__settings_print(s->method->settings, p->values, s->shown, a->settings);
    memcpy(a->values, p->values, sizeof(a->values));
}

static double score_of(const search *s, double mean)
{
    return s->result->metric->info.direction < 0 ? -mean : mean;
}

static bool same_values(const double *a, const double *b)
{
    for (int i = 0; i < EASE__MOST_SETTINGS; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

static const ease__attempt *find_attempt(const search *s, const point *p)
{
    for (int i = 0; i < s->result->count; i++) {
        const ease__attempt *a = &s->result->tried[i];

        if (a->trial.lambda == p->lambda && same_values(a->values, p->values))
            return a;
    }
    return NULL;
}

static ease_status measure(search *s, const point *p, double begin, bool solved,
                           ease_error *err)
{
    ease__attempt a = {.trial = {.lambda = p->lambda}, .wide = s->wide};
    ease_status status = ease__tuner_measure(s->t, s->dense.model, s->order.o.hooks,
                                             begin, &a, err);

    if (status)
        return status;
    name_point(s, p, &a);
    a.trial.solves = solved;
    s->result->tried[s->result->count++] = a;
    ease__log(s->order.o.hooks, 2,
              "trial %d, lambda %g, %s: %s %.5f, standard error %.5f, %.2g s%s",
              s->result->count, p->lambda, a.settings, s->t->o.metric, a.trial.mean,
              a.trial.standard_error, a.trial.seconds, solved ? ", a solve" : "");
    if (score_of(s, a.trial.mean) > s->best_score) {
        s->best_score = score_of(s, a.trial.mean);
        s->best = *p;
    }
    return EASE_OK;
}

/* Tries a point, unless it was tried; *score receives its score, -INFINITY if it cannot
 * be solved. Afterwards s->go_on says whether more may be tried. */
static ease_status visit(search *s, const point *p, double *score, ease_error *err)
{
    const ease__attempt *known = find_attempt(s, p);
    double begin = ease__seconds();
    bool solved = !s->dense.model || !same_inverse(s, p, &s->at);
    ease_error found = {0};
    ease_status status;

    *score = known ? score_of(s, known->trial.mean) : -INFINITY;
    if (known || !s->go_on || (solved && !may_solve(s)))
        return EASE_OK;
    if (s->result->count == EASE__MOST_TRIALS || ease__tuner_late(s->t)) {
        s->result->stopped = ease__tuner_late(s->t);
        s->go_on = false;
        return EASE_OK;
    }
    status = make(s, p, &found);
    if (!status)
        status = measure(s, p, begin, solved, &found);
    if (!status) {
        *score = score_of(s, s->result->tried[s->result->count - 1].trial.mean);
        return EASE_OK;
    }
    drop_model(s); /* it may be half made */
    if (status == EASE_E_CANCELLED && s->result->count > 0) {
        s->result->stopped = 1;
        s->go_on = false;
        return EASE_OK;
    }
    if (ease__is_numerical(status)) {
        ease__log(s->order.o.hooks, 1, "lambda %g is left out: %s", p->lambda,
                  found.text);
        s->t->why = found;
        return EASE_OK;
    }
    if (err)
        *err = found;
    return status;
}

/* ---- moving along an axis -------------------------------------------------------- */

/* Three significant digits, so that the value shown is exact. */
static double rounded(double value)
{
    double unit;

    if (value == 0)
        return 0;
    unit = pow(10, floor(log10(fabs(value))) - 2);
    return unit < 1 ? round(value / unit) / round(1 / unit)
                    : round(value / unit) * unit;
}

/* Hundredths. */
static double hundredths(double value)
{
    double r = round(value * 100) / 100;

    return r == 0 ? 0 : r; /* not -0 */
}

/* About the mean of d^power. */
static double mean_power(const search *s, double power)
{
    return pow(s->mean_diagonal, power);
}

/* Changes the value of a setting, and keeps it in its range. */
static void move_value(const search *s, const ease__axis *a, double change, point *p)
{
    const ease_setting *setting = &s->method->settings[a->setting];
    double *value = &p->values[a->setting];

    if (a->odds) {
        double share = fmin(fmax(*value, 0.01), 0.98);

        *value = 1 / (1 + (1 - share) / share * exp(-change));
    } else {
        *value += change;
    }
    *value = hundredths(fmin(fmax(*value, setting->least), setting->most));
}

/* Moves a point by `steps` steps along the axis. With another power of the diagonal
 * lambda keeps its mean size. */
static point moved(const search *s, const point *from, const axis *a, double steps)
{
    point p = *from;
    double change = a->of.step * steps;
    double before = family_of(s, from).lambda_power, after;

    if (a->of.setting < 0)
        p.lambda = rounded(from->lambda * pow(10, change));
    for (int i = 0; a->of.setting == STRENGTH && i < s->axis_count; i++)
        if (s->axes[i].of.odds)
            move_value(s, &s->axes[i].of, change * log(10), &p);
    if (a->of.setting < 0)
        return p;
    move_value(s, &a->of, change, &p);
    after = family_of(s, &p).lambda_power;
    if (after != before)
        p.lambda = rounded(p.lambda * mean_power(s, before) / mean_power(s, after));
    return p;
}

static bool equal(const point *a, const point *b)
{
    return a->lambda == b->lambda && same_values(a->values, b->values);
}

/* A point with its score. */
typedef struct scored {
    point p;
    double score;
} scored;

static scored best_of(const search *s)
{
    return (scored){s->best, s->best_score};
}

/* Measures the point moved along an axis; its score is -INFINITY if the axis ends. */
static ease_status step(search *s, const scored *from, const axis *a, double steps,
                        scored *out, ease_error *err)
{
    *out = (scored){moved(s, &from->p, a, steps), -INFINITY};
    return equal(&out->p, &from->p) ? EASE_OK : visit(s, &out->p, &out->score, err);
}

/* True if settings that need no solve could make the point the best one: it is at most
 * half a standard error behind. */
static bool is_close(const search *s, const scored *q)
{
    int count = s->result->count;

    return count > 0 &&
           q->score >
               s->best_score - s->result->tried[count - 1].trial.standard_error / 2;
}

/* Tries one step along the axes that need no solve and are coupled to others. */
static ease_status touch(search *s, double scale, scored *at, ease_error *err)
{
    ease_status status = EASE_OK;

    for (int i = 0; !status && s->go_on && i < s->axis_count; i++)
        for (int sign = 1; s->axes[i].of.coupled && !status && sign >= -1; sign -= 2) {
            scored q;

            status = step(s, at, &s->axes[i], sign * scale, &q, err);
            if (!status && q.score > at->score) {
                *at = q;
                break;
            }
        }
    return status;
}

/* The score of a neighbour, once it is known. */
typedef struct side {
    bool known;
    double score;
} side;

/* The vertex of the parabola through three equidistant points, whose middle one is the
 * highest. */
static double vertex_of(double low, double middle, double high)
{
    return (high - low) / (2 * (2 * middle - high - low));
}

/* Tries both neighbours of a point along an axis, and goes on while that improves; `at`
 * becomes the best of them. Sets the vertex. */
static ease_status line(search *s, axis *a, double scale, scored *at, ease_error *err)
{
    side low = {0}, high = {0};
    ease_status status = EASE_OK;

    a->vertex = 0;
    while (!status && s->go_on && !(low.known && high.known)) {
        bool up = !high.known;
        scored q;

        status = step(s, at, a, up ? scale : -scale, &q, err);
        if (!status && a->solves && is_close(s, &q))
            status = touch(s, 1, &q, err);
        if (q.score > at->score) { /* what was the centre becomes a neighbour */
            *(up ? &low : &high) = (side){true, at->score};
            *(up ? &high : &low) = (side){0};
            *at = q;
            if (a->of.setting == STRENGTH && s->solves_allowed < MOST_SOLVES)
                s->solves_allowed++;
        } else {
            *(up ? &high : &low) = (side){true, q.score};
        }
    }
    if (low.known && high.known && isfinite(low.score) && isfinite(high.score) &&
        at->score > fmax(low.score, high.score))
        a->vertex = scale * vertex_of(low.score, at->score, high.score);
    return status;
}

/* Moves all axes of one sort to their vertices at once. */
static ease_status jump(search *s, bool solves, scored *at, ease_error *err)
{
    scored q = *at;
    ease_status status = EASE_OK;

    for (int i = 0; i < s->axis_count; i++)
        if (s->axes[i].solves == solves && s->axes[i].vertex != 0) {
            q.p = moved(s, &q.p, &s->axes[i], s->axes[i].vertex);
            s->axes[i].vertex = 0;
        }
    if (equal(&q.p, &at->p))
        return EASE_OK;
    status = visit(s, &q.p, &q.score, err);
    if (!status && solves && is_close(s, &q))
        status = touch(s, 1, &q, err);
    if (q.score > at->score)
        *at = q;
    return status;
}

/* Searches the settings that need no other inverse. */
static ease_status polish(search *s, double scale, scored *at, ease_error *err)
{
    ease_status status = EASE_OK;

    for (int i = 0; !status && s->go_on && i < s->axis_count; i++)
        if (!s->axes[i].solves)
            status = line(s, &s->axes[i], scale, at, err);
    return status || !s->go_on ? status : jump(s, false, at, err);
}

/* ---- the search ------------------------------------------------------------------ */

/* Lines along all axes that need solves, and their joint step. The line along lambda is
 * left out of the first sweep, since that of its size has just been made. */
static ease_status sweep(search *s, double scale, scored *at, ease_error *err)
{
    ease_status status = EASE_OK;

    for (int i = 0; !status && s->go_on && i < s->axis_count; i++)
        if (s->axes[i].solves && (scale < 1 || s->axes[i].of.setting != LAMBDA))
            status = line(s, &s->axes[i], scale, at, err);
    return status || !s->go_on ? status : jump(s, true, at, err);
}

static ease_status run(search *s, point *start, ease_error *err)
{
    axis strength = {.of = {.setting = STRENGTH, .step = STRENGTH_STEP},
                     .solves = true};
    scored at = {*start, -INFINITY};
    double scale = 1;
    ease_status status = visit(s, start, &at.score, err);

    if (!status && s->go_on)
        status = polish(s, scale, &at, err);
    if (!status && s->go_on)
        status = line(s, &strength, scale, &at, err);
    while (!status && s->go_on && scale >= LEAST_SCALE) {
        status = sweep(s, scale, &at, err);
        at = best_of(s);
        scale /= 2;
        if (!status && s->go_on)
            status = polish(s, scale, &at, err);
    }
    return status;
}

/* ---- lists of values ------------------------------------------------------------- */

/* Tries every lambda with every point of the grid, points that share an inverse one
 * after the other as far as the order of the grid allows. */
static ease_status try_grid(search *s, const ease__grid *g, const point *start,
                            ease_error *err)
{
    ease_status status = EASE_OK;

    for (int i = 0; !status && s->go_on && i < s->t->o.count; i++)
        for (int k = 0; !status && s->go_on && k < g->points; k++) {
            point p = *start;
            double score;

            p.lambda = s->t->o.lambdas[i];
            ease__grid_point(g, k, p.values);
            status = visit(s, &p, &score, err);
        }
    return status;
}

/* ---- beginning and end ----------------------------------------------------------- */

static bool needs_solve(const search *s, int setting)
{
    point a, b;

    two_points(s, setting, &a, &b);
    return !same_inverse(s, &a, &b);
}

/* True for settings that the kind of matrix does not have: in a correlation matrix
 * lambda is relative to the diagonal already. */
static bool is_refused(const search *s, int setting)
{
    ease__family f, g;
    point a, b;

    if (s->order.o.kind != EASE_GRAM_CORRELATION)
        return false;
    two_points(s, setting, &a, &b);
    f = family_of(s, &a);
    g = family_of(s, &b);
    return f.lambda_power != g.lambda_power || f.dropout != g.dropout;
}

static void add_axis(search *s, ease__axis of, bool solves)
{
    s->axes[s->axis_count++] = (axis){.of = of, .solves = solves};
}

/* The settings that are not fixed, and lambda. */
static void find_axes(search *s, const bool *fixed, point *start)
{
    const ease__axis *a = s->method->axes;

    add_axis(s, (ease__axis){.setting = LAMBDA, .step = LAMBDA_STEP}, true);
    for (; a->step != 0; a++)
        if (!fixed[a->setting] && !is_refused(s, a->setting)) {
            add_axis(s, *a, needs_solve(s, a->setting));
            start->values[a->setting] = a->start;
            s->shown[a->setting] = true;
        }
}

/* lambda begins at three times the mean of the diagonal, which is about right for most
 * data, divided by the mean of its power. */
static void find_start(search *s, point *start)
{
    const ease_interactions *x = s->t->x;
    double sum = 0;

    for (int64_t k = 0; k < x->nnz; k++)
        sum += x->vals ? (double)x->vals[k] * (double)x->vals[k] : 1;
    s->mean_diagonal = s->order.o.kind == EASE_GRAM_CORRELATION || sum <= 0
                           ? 1
                           : sum / (double)x->items;
    start->lambda = rounded(3 * s->mean_diagonal /
                            mean_power(s, family_of(s, start).lambda_power));
}

/* Keeps what ease_tuning_train() needs: the inverse of the best trial if it is at hand,
 * else the Gram matrix that it is solved from. Without inverses it is the model. */
static ease_status finish(search *s, ease_error *err)
{
    ease_tuning *t = s->result;
    bool at_hand = s->dense.model && same_inverse(s, &s->best, &s->at);
    ease_status status = EASE_OK;

    if (t->count == 0)
        return EASE_OK;
    if (!has_inverse(s)) {
        s->order.o.hooks = NULL;
        if (!s->dense.model || !equal(&s->best, &s->at))
            status = train(s, &s->best, err);
        t->model = s->dense.model;
        s->dense.model = NULL;
        return status;
    }
    if (at_hand && ease__dense_read(&s->dense, s->best.values, NULL) == EASE_OK) {
        t->model = s->dense.model;
        s->dense.model = NULL;
        return EASE_OK;
    }
    ease__dense_free(&s->dense);
    s->order.o.hooks = NULL; /* a cancelled search ends with its best trial */
    status = load(s, &s->best, err);
    t->gram = s->gram;
    s->gram = NULL;
    return status;
}

/* The memory of the search: the data, a Gram matrix, a copy that becomes the inverse,
 * or the scratch of building. */
static ease_status check_memory(const search *s, ease_error *err)
{
    const ease_interactions *x = s->t->x;
    const ease_train_options *o = &s->order.o;
    size_t held = ease__interactions_bytes(x);
    size_t scratch = ease__size_add(
        ease__gram_scratch_bytes(x->nnz, x->items, x->vals, ease__threads(o->threads)),
        ease__size_mul((size_t)x->users, sizeof(double)));
    size_t matrix, more;
    ease__element element;
    ease_status status = ease__gram_element(x, o->precision, &element, err);

    if (status)
        return status;
    if (o->precision == EASE_F64)
        element = EASE__F64;
    matrix = ease__tiled_bytes(x->items, element);
    more = matrix > scratch ? matrix : scratch;
    if (s->method->finish) /* the inverse for tags */
        more = ease__size_add(more, matrix);
    return ease__memory_check("tuning", x->items,
                              ease__size_add(ease__size_add(matrix, more), held),
                              ease__memory_allowed(o->memory_limit, held), err);
}

static ease_status begin(search *s, point *start, ease__grid *grid, ease_error *err)
{
    ease__tuner *t = s->t;
    bool fixed[EASE__MOST_SETTINGS];
    ease_status status;

    t->train.lambda = 1; /* any: each trial has its own */
    s->order.o = t->train;
    status = has_inverse(s) ? ease__dense_order_take(&t->train, &s->order, err)
                            : EASE_OK;
    if (!status)
        status = ease__settings_parse(s->method->settings, s->method->info.name,
                                      t->train.settings, start->values, fixed, err);
    if (status)
        return status;
    memcpy(s->shown, fixed, sizeof(fixed));
    if (t->o.lambdas) {
        status = ease__grid_parse(s->method->settings, s->method->info.name,
                                  t->o.grid ? t->o.grid : "", grid, err);
        for (int i = 0; !status && i < grid->axes; i++) {
            int k = grid->axis[i].setting;

            s->shown[k] = true;
            if (fixed[k] || is_refused(s, k))
                status = ease__fail(err, EASE_E_ARG, "%s is %s",
                                    s->method->settings[k].name,
                                    fixed[k] ? "fixed, and in the grid as well"
                                             : "nothing that a correlation matrix has");
        }
        return status;
    }
    if (t->o.grid)
        return ease__fail(err, EASE_E_ARG,
                          "a grid of %s needs the values of lambda too",
                          s->method->info.name);
    find_axes(s, fixed, start);
    return EASE_OK;
}

ease_status ease__tune_family_check(const ease__tuner *t, ease_error *err)
{
    ease__tuner copy = *t;
    search s = {.t = &copy, .method = ease__method_find(t->train.method)};
    ease__grid grid;
    point start;

    memset(&start, 0, sizeof(start));
    return begin(&s, &start, &grid, err);
}

ease_status ease__tune_family(ease__tuner *t, ease_error *err)
{
    search s = {.t = t,
                .result = t->result,
                .method = t->result->method,
                .best_score = -INFINITY,
                .go_on = true};
    ease__grid grid;
    point start;
    ease_status status;

    memset(&start, 0, sizeof(start));
    status = begin(&s, &start, &grid, err);
    if (!status && has_inverse(&s))
        status = check_memory(&s, err);
    if (!status && t->o.lambdas)
        status = try_grid(&s, &grid, &start, err);
    if (!status && !t->o.lambdas) {
        s.solves_allowed = FEW_SOLVES;
        find_start(&s, &start);
        status = run(&s, &start, err);
    }
    if (!status)
        status = finish(&s, err);
    drop_model(&s);
    ease_gram_free(s.gram);
    return status;
}
