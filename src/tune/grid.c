/* Tuning of settings: every point of a grid is trained, and measured on validation
 * users. */
#include <string.h>

#include "tune/tune.h"

/* A grid, and the values of the settings that are not in it. */
typedef struct plan {
    const ease__method *method;
    ease__grid grid;
    double values[EASE__MOST_SETTINGS];
    bool shown[EASE__MOST_SETTINGS]; /* the setting was given, or is in the grid */
    int rounds; /* index of the setting with the number of rounds; -1: none */
} plan;

/* Removes settings that have a fixed value from the default grid. In a grid that the
 * user gave, this is an error. */
static ease_status leave_out_fixed(plan *p, bool own, const bool *fixed,
                                   ease_error *err)
{
    ease__grid *g = &p->grid;
    int kept = 0;

    g->points = 1;
    for (int k = 0; k < g->axes; k++) {
        const ease__grid_axis *a = &g->axis[k];

        if (!fixed[a->setting]) {
            g->points *= a->count;
            g->axis[kept++] = *a;
        } else if (own) {
            return ease__fail(err, EASE_E_ARG, "%s is fixed, and in the grid as well",
                              p->method->settings[a->setting].name);
        }
    }
    g->axes = kept;
    return EASE_OK;
}

static ease_status make_plan(const ease__tuner *t, plan *out, ease_error *err)
{
    const ease__method *m = ease__method_find(t->train.method);
    const ease_method_info *r = &m->info;
    plan p = {.method = m, .rounds = -1};
    ease_status status = ease__settings_parse(m->settings, r->name, t->train.settings,
                                              p.values, p.shown, err);

    if (!status)
        status = ease__grid_parse(m->settings, r->name, t->o.grid ? t->o.grid : r->grid,
                                  &p.grid, err);
    if (!status)
        status = leave_out_fixed(&p, t->o.grid != NULL, p.shown, err);
    if (status)
        return status;
    for (int k = 0; k < p.grid.axes; k++)
        p.shown[p.grid.axis[k].setting] = true;
    for (int i = 0; r->rounds && m->settings[i].name; i++)
        if (strcmp(m->settings[i].name, r->rounds) == 0)
            p.rounds = i;
    *out = p;
    return EASE_OK;
}

/* Fails if no point can be trained; single points that cannot are skipped later. */
static ease_status check_points(const plan *p, ease_error *err)
{
    ease_status status = EASE_OK;

    for (int point = 0; p->method->check && point < p->grid.points; point++) {
        double values[EASE__MOST_SETTINGS];

        memcpy(values, p->values, sizeof(values));
        ease__grid_point(&p->grid, point, values);
        status = p->method->check(values, err);
        if (!status)
            break;
    }
    return status;
}

ease_status ease__tune_grid_check(const ease__tuner *t, ease_error *err)
{
    plan p;
    ease_status status;

    if (t->o.lambdas)
        return ease__fail(err, EASE_E_ARG, "%s has no lambda to tune", t->train.method);
    status = make_plan(t, &p, err);
    return status ? status : check_points(&p, err);
}

/* ---- one trial ------------------------------------------------------------------- */

/* Passes on warnings only: messages about each round would hide those about trials. */
static void log_warnings(void *user, int level, const char *text)
{
    const ease__tuner *t = user;

    if (level <= 1)
        ease__log(t->train.hooks, level, "%s", text);
}

/* Records that a hook cancelled: a method may then return its model so far instead
 * of failing. */
static int watch_progress(void *user, const char *stage, double fraction)
{
    ease__tuner *t = user;

    if (ease__progress(t->train.hooks, stage, fraction))
        t->cancelled = true;
    return t->cancelled;
}

static void tell(const ease__tuner *t, const ease__attempt *a, int point, int points)
{
    ease__log(t->train.hooks, 2,
              "trial %d of %d, %s: %s %.5f, standard error %.5f, %.2g s", point + 1,
              points, a->settings[0] ? a->settings : "defaults", t->o.metric,
              a->trial.mean, a->trial.standard_error, a->trial.seconds);
}

/* Keeps the model if it is the best so far, else frees it. */
static void keep(ease_tuning *t, const ease__attempt *a, ease_model *m)
{
    t->tried[t->count++] = *a;
    if (ease_tuning_best(t) != t->count - 1) {
        ease_model_free(m);
        return;
    }
    ease_model_free(t->model);
    t->model = m;
}

/* The memory limit of a trial: the best model so far stays in memory beside it.
 * Without a limit, the available memory already excludes it. */
static size_t limit_beside(size_t limit, const ease_model *best)
{
    size_t held = best ? ease__model_held(best) : 0;

    if (!limit)
        return 0;
    return held < limit ? limit - held : 1;
}

static ease_status train_point(ease__tuner *t, const plan *p, int point,
                               const ease_hooks *hooks, ease_model **out,
                               ease_error *err)
{
    char settings[EASE__SETTINGS_CHARS];
    double values[EASE__MOST_SETTINGS];
    ease_train_options o = t->train;

    memcpy(values, p->values, sizeof(values));
    ease__grid_point(&p->grid, point, values);
    ease__settings_print(p->method->settings, values, NULL, settings);
    o.settings = settings;
    o.memory_limit = limit_beside(o.memory_limit, t->result->model);
    o.validation_input = t->input;
    o.validation_target = t->target;
    o.metric = t->o.metric;
    o.unknown = t->o.unknown;
    o.hooks = hooks;
    return ease__train(t->x, &o, out, err);
}

/* Writes the settings of a point for users; with the number of rounds if it is not
 * the default, as for the best epoch. */
static ease_status name_point(const ease__tuner *t, const plan *p, const ease_model *m,
                              ease__attempt *out, ease_error *err)
{
    const ease_setting *table = p->method->settings;
    double values[EASE__MOST_SETTINGS];
    bool shown[EASE__MOST_SETTINGS];
    ease_status status = ease__settings_parse(table, t->train.method, m->settings,
                                              values, NULL, err);

    if (status)
        return status;
    memcpy(shown, p->shown, sizeof(shown));
    if (p->rounds >= 0 && values[p->rounds] != table[p->rounds].value)
        shown[p->rounds] = true;
    ease__settings_print(table, values, shown, out->settings);
    return EASE_OK;
}

static ease_status try_point(ease__tuner *t, const plan *p, int point, ease_error *err)
{
    ease_hooks hooks = {log_warnings, watch_progress, t};
    ease__attempt a = {.wide = false};
    double begin = ease__seconds();
    ease_model *m = NULL;
    ease_status status = train_point(t, p, point, &hooks, &m, err);

    /* After a cancellation the model is measured without asking the hooks again. */
    if (!status)
        status = ease__tuner_measure(t, m, t->cancelled ? NULL : &hooks, begin, &a,
                                     err);
    if (!status)
        status = name_point(t, p, m, &a, err);
    if (status) {
        ease_model_free(m);
        return status;
    }
    tell(t, &a, point, p->grid.points);
    keep(t->result, &a, m);
    return EASE_OK;
}

/* ---- all trials --------------------------------------------------------------- */

/* True if a failed point is skipped because the data or the machine do not allow it:
 * a rank above that of the data, numbers that become infinite, too little memory.
 * Other points may succeed. */
static bool left_out(ease__tuner *t, ease_status status, int point,
                     const ease_error *found)
{
    if (status != EASE_E_ARG && status != EASE_E_ACCURACY &&
        status != EASE_E_MEMORY_LIMIT)
        return false;
    if (status == EASE_E_MEMORY_LIMIT && t->result->model)
        ease__log(t->train.hooks, 1,
                  "trial %d is left out: beside the best model so far, %.2f GB, %s",
                  point + 1, (double)ease__model_held(t->result->model) / 1e9,
                  found->text);
    else
        ease__log(t->train.hooks, 1, "trial %d is left out: %s", point + 1,
                  found->text);
    t->why = *found;
    return true;
}

static ease_status try_all(ease__tuner *t, const plan *p, ease_error *err)
{
    for (int point = 0; point < p->grid.points; point++) {
        ease_error found = {0};
        ease_status status;

        if (ease__tuner_late(t) || t->cancelled) {
            t->result->stopped = 1;
            break;
        }
        status = try_point(t, p, point, &found);
        if (!status || left_out(t, status, point, &found))
            continue;
        if (status == EASE_E_CANCELLED && t->result->count > 0)
            continue;
        if (err)
            *err = found;
        return status;
    }
    if (t->cancelled)
        t->result->stopped = 1;
    return EASE_OK;
}

ease_status ease__tune_grid(ease__tuner *t, ease_error *err)
{
    plan p;
    ease_status status = make_plan(t, &p, err);

    if (!status && t->target->nnz == 0)
        status = ease__fail(err, EASE_E_DATA,
                            "the validation users have nothing to tune by");
    return status ? status : try_all(t, &p, err);
}
