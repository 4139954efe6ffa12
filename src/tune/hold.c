/* Trials of lambda on the training data, for methods that cannot leave users out: some
 * users are held out together, and every trial trains a model of the others. */
#include <math.h>
#include <string.h>

#include "core/random.h"
#include "tune/tune.h"

/* Held-out users have at least so many items, of which a fifth are targets. There must
 * be FEWEST_USERS such users, and a tenth of them is held out at most. */
enum { FEWEST_ITEMS = 5, TARGETS_OF = 5, FEWEST_USERS = 20, HELD_OF = 10 };

/* Streams of random numbers. */
enum { USERS_STREAM = 1, TARGETS_STREAM = 2 };
static const uint64_t SEED = 98765;

/* The parts of the data. Ids are those of the data; held-out users are numbered. */
typedef struct ease__holder {
    ease_interactions train, input, target;
    ease__ids numbered;                  /* of the items, if the data has no ids */
    bool *held;                          /* by user */
    int64_t users;                       /* held out */
    char settings[EASE__SETTINGS_CHARS]; /* those that were given */
    size_t limit;                        /* memory of a trial; 0: what is available */
} ease__holder;

/* ---- options --------------------------------------------------------------------- */

static ease_status take_settings(const ease__tuner *t, ease__holder *h, ease_error *err)
{
    const ease__method *m = ease__method_find(t->train.method);
    double values[EASE__MOST_SETTINGS];
    bool fixed[EASE__MOST_SETTINGS];
    ease_status status = ease__settings_parse(m->settings, m->info.name,
                                              t->train.settings, values, fixed, err);

    if (!status)
        ease__settings_print(m->settings, values, fixed, h->settings);
    return status;
}

ease_status ease__tune_holding_check(const ease__tuner *t, ease_error *err)
{
    const ease__method *m = ease__method_find(t->train.method);
    ease__holder h = {.users = 0};

    if (!m->info.has_lambda)
        return ease__fail(err, EASE_E_ARG,
                          "holding users out tunes lambda, which %s does not have",
                          m->info.name);
    if (t->o.grid)
        return ease__fail(err, EASE_E_ARG,
                          "holding users out tunes lambda alone: settings are fixed, "
                          "and have no grid");
    if (t->o.users < 0)
        return ease__fail(err, EASE_E_ARG, "a sample of %lld users",
                          (long long)t->o.users);
    return take_settings(t, &h, err);
}

/* ---- dividing the data ----------------------------------------------------------- */

/* Draws `left` of `from` places in order, one call for each (Knuth's algorithm S). */
static bool draw_place(ease__random *r, int64_t *left, int64_t from)
{
    bool taken = ease__random_below(r, (uint64_t)from) < (uint64_t)*left;

    *left -= taken;
    return taken;
}

static int64_t length_of(const ease_interactions *x, int64_t user)
{
    return x->row_ptr[user + 1] - x->row_ptr[user];
}

/* Chooses the users, and counts the rows of the parts. */
static ease_status choose_users(const ease__tuner *t, ease__holder *h, ease_error *err)
{
    const ease_interactions *x = t->x;
    int64_t candidates = 0, left;
    ease__random r;

    for (int64_t u = 0; u < x->users; u++)
        candidates += length_of(x, u) >= FEWEST_ITEMS;
    if (candidates < FEWEST_USERS)
        return ease__fail(err, EASE_E_DATA,
                          "it is measured on users who are held out, and only %lld "
                          "users have %d items: that takes at least %d",
                          (long long)candidates, (int)FEWEST_ITEMS, (int)FEWEST_USERS);
    h->users = candidates / HELD_OF;
    if (t->o.users > 0 && t->o.users < h->users)
        h->users = t->o.users;
    h->held = ease__alloc_zero((size_t)x->users, sizeof(*h->held));
    if (!h->held)
        return ease__fail(err, EASE_E_NOMEM, "users that are held out");
    left = h->users;
    ease__random_seed(&r, SEED, USERS_STREAM);
    for (int64_t u = 0; left > 0; u++)
        if (length_of(x, u) >= FEWEST_ITEMS)
            h->held[u] = draw_place(&r, &left, candidates--);
    return EASE_OK;
}

static void count_rows(const ease_interactions *x, ease__holder *h)
{
    h->train = h->input = h->target = (ease_interactions){.items = x->items};
    h->train.users = x->users;
    h->input.users = h->target.users = h->users;
    for (int64_t u = 0; u < x->users; u++) {
        int64_t length = length_of(x, u);

        h->train.nnz += h->held[u] ? 0 : length;
        h->target.nnz += h->held[u] ? length / TARGETS_OF : 0;
    }
    h->input.nnz = x->nnz - h->train.nnz - h->target.nnz;
}

static bool allocate_part(bool weighted, ease_interactions *part)
{
    part->row_ptr = ease__alloc_zero((size_t)part->users + 1, sizeof(*part->row_ptr));
    part->cols = ease__alloc_array((size_t)part->nnz, sizeof(*part->cols));
    if (weighted)
        part->vals = ease__alloc_array((size_t)part->nnz, sizeof(*part->vals));
    return part->row_ptr && part->cols && (part->vals || !weighted);
}

static void free_part(ease_interactions *part)
{
    ease__free(part->row_ptr);
    ease__free(part->cols);
    ease__free(part->vals);
}

/* Adds place `at` of the data to the end of a part; *next is the end. */
static void add_entry(const ease_interactions *x, int64_t at, ease_interactions *part,
                      int64_t *next)
{
    part->cols[*next] = x->cols[at];
    if (part->vals)
        part->vals[*next] = x->vals[at];
    ++*next;
}

static void fill_parts(const ease_interactions *x, ease__holder *h)
{
    int64_t train = 0, input = 0, target = 0, number = 0;
    ease__random r;

    ease__random_seed(&r, SEED, TARGETS_STREAM);
    for (int64_t u = 0; u < x->users; u++) {
        int64_t length = length_of(x, u), left = length / TARGETS_OF;

        for (int64_t k = 0; k < length; k++) {
            int64_t at = x->row_ptr[u] + k;

            if (!h->held[u])
                add_entry(x, at, &h->train, &train);
            else if (draw_place(&r, &left, length - k))
                add_entry(x, at, &h->target, &target);
            else
                add_entry(x, at, &h->input, &input);
        }
        h->train.row_ptr[u + 1] = train;
        if (h->held[u]) {
            number++;
            h->input.row_ptr[number] = input;
            h->target.row_ptr[number] = target;
        }
    }
}

static ease_status share_ids(const ease_interactions *x, ease__holder *h,
                             ease_error *err)
{
    ease_status status = EASE_OK;

    if (!x->item_ids.count)
        status = ease__ids_number(&h->numbered, 0, x->items, err);
    if (!status)
        status = ease__ids_number(&h->input.user_ids, 0, h->users, err);
    h->train.user_ids = x->user_ids;
    h->train.item_ids = x->item_ids.count ? x->item_ids : h->numbered;
    h->input.item_ids = h->target.item_ids = h->train.item_ids;
    h->target.user_ids = h->input.user_ids;
    return status;
}

static size_t array_bytes(const ease_interactions *x)
{
    return ((size_t)x->users + 1) * sizeof(*x->row_ptr) +
           (size_t)x->nnz * (x->vals ? 8 : 4);
}

/* Divides the data, which takes as much memory again. */
static ease_status divide(const ease__tuner *t, ease__holder *h, ease_error *err)
{
    const ease_interactions *x = t->x;
    size_t limit = t->train.memory_limit, bytes = array_bytes(x);
    size_t held = ease__interactions_bytes(x);
    ease_status status = choose_users(t, h, err);

    if (!status)
        status = ease__memory_check("choosing lambda for", x->items, held + bytes,
                                    ease__memory_allowed(limit, held), err);
    if (status)
        return status;
    count_rows(x, h);
    if (!allocate_part(x->vals, &h->train) || !allocate_part(x->vals, &h->input) ||
        !allocate_part(x->vals, &h->target))
        return ease__fail(err, EASE_E_NOMEM, "%lld interactions", (long long)x->nnz);
    fill_parts(x, h);
    bytes += array_bytes(&h->input) + array_bytes(&h->target);
    if (limit && limit != SIZE_MAX) /* training counts its own part */
        h->limit = limit > bytes ? limit - bytes : 1;
    else
        h->limit = limit;
    return share_ids(x, h, err);
}

static void holder_free(ease__holder *h)
{
    free_part(&h->train);
    free_part(&h->input);
    free_part(&h->target);
    ease__ids_free(&h->input.user_ids);
    ease__ids_free(&h->numbered);
    ease__free(h->held);
}

/* ---- trials ---------------------------------------------------------------------- */

static ease_status try_lambda(ease__tuner *t, double lambda, ease_error *err)
{
    const ease__holder *h = t->holder;
    ease_train_options o = t->train;
    ease__attempt a = {.trial = {.lambda = lambda, .solves = 1}};
    double begin = ease__seconds();
    ease_model *m = NULL;
    ease_status status;

    o.lambda = lambda;
    o.memory_limit = h->limit;
    status = ease_train(&h->train, &o, &m, err);
    if (!status)
        status = ease__tuner_measure(t, m, o.hooks, begin, &a, err);
    ease_model_free(m);
    if (status)
        return status;
    memcpy(a.settings, h->settings, sizeof(a.settings));
    ease__tuner_keep(t->result, a);
    ease__log(o.hooks, 2, "lambda %g: %s %.5f, standard error %.5f, %.2g s", lambda,
              t->o.metric, a.trial.mean, a.trial.standard_error, a.trial.seconds);
    return EASE_OK;
}

ease_status ease__tune_holding(ease__tuner *t, ease_error *err)
{
    ease__holder h = {.users = 0};
    ease_status status = take_settings(t, &h, err);

    if (!status)
        status = divide(t, &h, err);
    if (!status) {
        ease__log(t->train.hooks, 2,
                  "lambda is measured on %lld of %lld users, who are held out: each "
                  "trial trains a model of the others, and ranks a fifth of their "
                  "items by the rest",
                  (long long)h.users, (long long)t->x->users);
        t->holder = &h;
        t->input = &h.input;
        t->target = &h.target;
        status = ease__search_lambda(t, try_lambda, err);
        t->holder = NULL;
        t->input = t->target = NULL;
    }
    if (!status && t->result->count > 0)
        ease__tell_search_end(t);
    if (!status)
        t->result->all = t->x;
    holder_free(&h);
    return status;
}
