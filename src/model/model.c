/* Models in memory: creation, description and accessors. */
#include <math.h>
#include <string.h>

#include "core/sized.h"
#include "data/interactions.h"
#include "model/model.h"

void ease_model_describe(const ease_model *m, ease_model_info *info)
{
    static const ease_model_info nothing = {0};

    ease__info_give(info, m ? &m->info : &nothing, sizeof(nothing));
}

int32_t ease_model_items(const ease_model *m)
{
    return m ? m->info.items : 0;
}

const ease_method_info *ease_model_method(const ease_model *m)
{
    return m ? ease_method_find(m->info.method) : NULL;
}

static bool known(const ease_model *m, int32_t item)
{
    return m && item >= 0 && item < m->info.items;
}

int32_t ease_model_find(const ease_model *m, const char *item_id)
{
    int64_t number = m && item_id ? ease__ids_find(&m->ids, item_id, strlen(item_id))
                                  : EASE__NO_ID;

    return number < 0 ? EASE_NO_ITEM : (int32_t)number;
}

const char *ease_model_item_id(const ease_model *m, int32_t item)
{
    return known(m, item) ? ease__ids_at(&m->ids, item) : NULL;
}

const char *ease_model_title(const ease_model *m, int32_t item)
{
    const char *title;

    if (!known(m, item) || !m->info.has_titles)
        return NULL;
    title = ease__ids_at(&m->titles, item);
    return *title ? title : NULL;
}

double ease_model_popularity(const ease_model *m, int32_t item)
{
    return known(m, item) ? m->popularity[item] : (double)NAN;
}

float ease_model_base(const ease_model *m, int32_t item)
{
    if (!known(m, item))
        return NAN;
    return m->base ? m->base[item] : 0.0f;
}

/* No sum overflows: all of it is in memory. */
size_t ease__model_held(const ease_model *m)
{
    size_t n = (size_t)m->info.items;

    return n * sizeof(*m->popularity) + (m->base ? n * sizeof(*m->base) : 0) +
           ease__ids_held(&m->ids) + ease__item_tags_held(&m->tags, m->info.items) +
           m->form->held(m) + ease__living_held(&m->living, m->info.items);
}

int64_t ease_model_find_user(const ease_model *m, const char *user_id)
{
    int64_t number = m && m->form->known_users && user_id
                         ? ease__ids_find(&m->known.ids, user_id, strlen(user_id))
                         : EASE__NO_ID;

    return number < 0 ? EASE_NO_USER : number;
}

ease_row ease_model_history(const ease_model *m, int64_t user)
{
    const ease__known *k;

    if (!m || !m->form->known_users || user < 0 || user >= m->known.users)
        return (ease_row){0};
    k = &m->known;
    return (ease_row){.items = k->items + k->starts[user],
                      .count = (int32_t)(k->starts[user + 1] - k->starts[user])};
}

const char *ease_model_user_id(const ease_model *m, int64_t user)
{
    if (!m || !m->form->known_users || user < 0 || user >= m->known.users)
        return NULL;
    return ease__ids_at(&m->known.ids, user);
}

ease_status ease_model_set_threads(ease_model *m, int threads, ease_error *err)
{
    ease_status status;

    if (!m)
        return ease__fail(err, EASE_E_ARG, "a model is required");
    status = ease__threads_check(threads, err);
    if (!status)
        m->threads = threads;
    return status;
}

ease_status ease__model_needs_weights(const ease_model *m, const char *what,
                                      ease_error *err)
{
    if (!m->form->store->empty)
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG, "%s needs weights, which a model of %s has not",
                      what, m->info.method);
}

void ease__model_forget(const ease_model *m)
{
    if (m->work)
        ease__tilefile_forget(m->work, &m->inverse);
}

/* ---- a new one ------------------------------------------------------------------- */

ease_status ease__model_set_settings(ease_model *m, const char *settings,
                                     ease_error *err)
{
    char *copy = NULL;

    if (settings && settings[0]) {
        copy = ease__copy_string(settings);
        if (!copy)
            return ease__fail(err, EASE_E_NOMEM, "settings of a model");
    }
    ease__free_const(m->settings);
    m->settings = copy;
    m->info.settings = copy ? copy : "";
    return EASE_OK;
}

static ease_status fill_common(ease_model *m, const ease_interactions *x,
                               const char *settings, ease_error *err)
{
    double *sums = ease__alloc_zero((size_t)x->items, sizeof(*sums));
    ease_status status = ease__model_set_settings(m, settings, err);

    m->popularity = sums;
    if (!sums)
        status = ease__fail(err, EASE_E_NOMEM, "model of %d items", (int)x->items);
    if (status)
        return status;
    for (int64_t at = 0; at < x->nnz; at++)
        sums[x->cols[at]] += x->vals ? (double)x->vals[at] : 1;
    return x->item_ids.count ? ease__ids_copy(&m->ids, &x->item_ids, err)
                             : ease__ids_number(&m->ids, 0, x->items, err);
}

ease_status ease__model_new(const ease__method *method, const ease_interactions *x,
                            const char *settings, ease_model **out, ease_error *err)
{
    ease_model *m = ease__alloc_zero(1, sizeof(*m));
    ease_status status;

    if (!m)
        return ease__fail(err, EASE_E_NOMEM, "model of %d items", (int)x->items);
    m->file = EASE__CONTAINER_NONE;
    m->kernels = ease__kernels_best();
    m->info = (ease_model_info){.method = method->info.name,
                                .items = x->items,
                                .users = x->users,
                                .interactions = x->nnz,
                                .storage = method->form->number};
    m->form = method->form;
    status = fill_common(m, x, settings, err);
    if (status) {
        ease_model_free(m);
        return status;
    }
    *out = m;
    return EASE_OK;
}

void ease_model_free(ease_model *m)
{
    if (!m)
        return;
    if (m->form && m->form->free)
        m->form->free(m);
    if (m->file.map) { /* the arrays lie in it */
        ease__container_close(&m->file);
    } else {
        ease__free_const(m->base);
        ease__free_const(m->popularity);
        ease__free_const(m->settings);
        ease__living_free(&m->living);
    }
    ease__ids_free(&m->ids);
    ease__ids_free(&m->titles);
    ease__item_tags_free(&m->tags);
    ease__free(m->title_bytes);
    ease__free(m->log);
    ease__free(m);
}
