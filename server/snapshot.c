#include "snapshot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static ease_status no_memory(ease_error *err)
{
    if (err)
        *err = (ease_error){
            .status = EASE_E_NOMEM, .where = -1, .text = "out of memory"};
    return EASE_E_NOMEM;
}

/* ---- weights --------------------------------------------------------------------- */

enum { SAMPLE_ROWS = 256 };

static int32_t sampled_row(int32_t items, int32_t rows, int32_t i)
{
    return (int32_t)((int64_t)items * i / rows);
}

static void find_limits(weight_histogram *h, const float *row, int32_t n)
{
    for (int32_t j = 0; j < n; j++) {
        h->low = fmin(h->low, (double)row[j]);
        h->high = fmax(h->high, (double)row[j]);
    }
}

static void count_row(weight_histogram *h, const float *row, int32_t n, int32_t own)
{
    double scale = h->high > h->low ? HISTOGRAM_BINS / (h->high - h->low) : 0;

    for (int32_t j = 0; j < n; j++) {
        int bin = (int)(((double)row[j] - h->low) * scale);

        if (j != own)
            h->bin[bin < HISTOGRAM_BINS ? bin : HISTOGRAM_BINS - 1]++;
    }
}

/* Two passes over the sampled rows: for the limits, and to count. */
static ease_status sample_weights(const ease_model *m, weight_histogram *h, float *row,
                                  ease_error *err)
{
    int32_t n = ease_model_items(m), rows = n < SAMPLE_ROWS ? n : SAMPLE_ROWS;
    ease_status status = EASE_OK;

    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; !status && i < rows; i++) {
            int32_t item = sampled_row(n, rows, i);

            status = ease_model_row(m, item, row, err);
            if (status)
                break;
            if (pass == 0)
                find_limits(h, row, n);
            else
                count_row(h, row, n, item);
        }
    h->rows = status ? 0 : rows;
    return status == EASE_E_ARG ? EASE_OK : status; /* a model without weights */
}

static ease_status measure_weights(snapshot *s, ease_error *err)
{
    float *row = calloc((size_t)s->info.items + 1, sizeof(*row));
    ease_status status = row ? sample_weights(s->model, &s->weights, row, err)
                             : no_memory(err);

    free(row);
    return status;
}

/* ---- snapshots ------------------------------------------------------------------- */

/* Makes the first scorer, and finds out whether the model can explain. */
static ease_status try_scorer(snapshot *s, ease_error *err)
{
    ease_status status = ease_scorer_new(s->model, &s->spare[0], err);
    float base, score;

    if (status)
        return status;
    s->spares = 1;
    s->explains = ease_explain(s->spare[0], (ease_row){0}, 0, NULL, &base, &score,
                               NULL) == EASE_OK;
    return EASE_OK;
}

static void snapshot_free(snapshot *s)
{
    if (s->free_extra)
        s->free_extra(s->extra);
    for (int i = 0; i < s->spares; i++)
        ease_scorer_free(s->spare[i]);
    catalog_free(s->catalog);
    ease_model_free(s->model);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

ease_status snapshot_new(ease_model *m, snapshot **out, ease_error *err)
{
    snapshot *s = calloc(1, sizeof(*s));
    ease_status status;

    if (!s)
        return no_memory(err);
    pthread_mutex_init(&s->lock, NULL);
    s->references = 1;
    s->model = m;
    s->loaded = (int64_t)time(NULL);
    s->info.size = sizeof(s->info);
    ease_model_describe(m, &s->info);
    s->catalog = catalog_new(m);
    status = s->catalog ? measure_weights(s, err) : no_memory(err);
    if (!status)
        status = try_scorer(s, err);
    if (status) {
        s->model = NULL; /* stays with the caller */
        snapshot_free(s);
        return status;
    }
    *out = s;
    return EASE_OK;
}

void snapshot_release(snapshot *s)
{
    if (s && atomic_fetch_sub(&s->references, 1) == 1)
        snapshot_free(s);
}

ease_status snapshot_take_scorer(snapshot *s, ease_scorer **out, ease_error *err)
{
    ease_scorer *found = NULL;

    pthread_mutex_lock(&s->lock);
    if (s->spares)
        found = s->spare[--s->spares];
    pthread_mutex_unlock(&s->lock);
    if (!found)
        return ease_scorer_new(s->model, out, err);
    *out = found;
    return EASE_OK;
}

void snapshot_give_scorer(snapshot *s, ease_scorer *scorer)
{
    if (!scorer)
        return;
    pthread_mutex_lock(&s->lock);
    if (s->spares < SPARE_SCORERS) {
        s->spare[s->spares++] = scorer;
        scorer = NULL;
    }
    pthread_mutex_unlock(&s->lock);
    ease_scorer_free(scorer);
}

/* ---- stations -------------------------------------------------------------------- */

void station_init(station *t)
{
    pthread_mutex_init(&t->lock, NULL);
}

static ease_status open_file(const station *t, ease_model **out, ease_error *err)
{
    ease_open_options o;
    ease_model *m = NULL;
    ease_status status;

    ease_open_options_init(&o);
    o.verify = EASE_VERIFY_OPEN;
    o.in_memory = !t->mapped;
    o.threads = t->threads;
    status = ease_model_open(t->path, &o, &m, err);
    if (!status && t->titles)
        status = ease_model_read_titles(m, t->titles, NULL, err);
    if (status)
        ease_model_free(m);
    else
        *out = m;
    return status;
}

enum { RETIRE_TRIES = 2000 }; /* of 5 ms */

/* Gives back the station's reference when no request has another one: freeing a large
 * model takes long, which should be the time of this thread. */
static void retire(snapshot *s)
{
    const struct timespec ms = {.tv_nsec = 5000000};

    for (int i = 0; s && i < RETIRE_TRIES && atomic_load(&s->references) > 1; i++)
        nanosleep(&ms, NULL);
    snapshot_release(s);
}

static void swap(station *t, snapshot *s)
{
    snapshot *old;

    pthread_mutex_lock(&t->lock);
    s->generation = ++t->generations;
    old = t->current;
    t->current = s;
    pthread_mutex_unlock(&t->lock);
    retire(old);
}

ease_status station_serve(station *t, ease_model *m, ease_error *err)
{
    snapshot *s = NULL;
    ease_status status = snapshot_new(m, &s, err);

    if (!status && t->complete)
        status = t->complete(t->user, s, err);
    if (status) {
        if (s)
            s->model = NULL; /* stays with the caller */
        snapshot_release(s);
        return status;
    }
    swap(t, s);
    return EASE_OK;
}

ease_status station_load(station *t, ease_error *err)
{
    ease_model *m = NULL;
    ease_status status;

    /* Before it is opened: a file that replaces it meanwhile is another one. */
    t->opened = identity_of(t->path);
    status = open_file(t, &m, err);
    if (!status)
        status = station_serve(t, m, err);
    else
        return status;
    if (status)
        ease_model_free(m);
    return status;
}

snapshot *station_current(station *t)
{
    snapshot *s;

    pthread_mutex_lock(&t->lock);
    s = t->current;
    if (s)
        atomic_fetch_add(&s->references, 1);
    pthread_mutex_unlock(&t->lock);
    return s;
}

void station_close(station *t)
{
    snapshot_release(t->current);
    t->current = NULL;
    pthread_mutex_destroy(&t->lock);
}
