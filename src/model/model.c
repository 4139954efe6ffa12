/* A model at hand: what it says of itself and of its items. */
#include <string.h>

#include "model/model.h"

ease_model_info ease_model_describe(const ease_model *m)
{
    return m->info;
}

static bool known(const ease_model *m, int32_t item)
{
    return item >= 0 && item < m->info.items;
}

int32_t ease_model_find(const ease_model *m, const char *item_id)
{
    int64_t number = item_id ? ease__ids_find(&m->ids, item_id, strlen(item_id))
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

    if (!m->info.has_titles || !known(m, item))
        return NULL;
    title = ease__ids_at(&m->titles, item);
    return *title ? title : NULL;
}

double ease_model_popularity(const ease_model *m, int32_t item)
{
    return known(m, item) ? m->popularity[item] : 0;
}

float ease_model_base(const ease_model *m, int32_t item)
{
    return m->base && known(m, item) ? m->base[item] : 0.0f;
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
    if (!m->store->empty)
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG, "%s needs weights, which a model of %s has not",
                      what, m->info.method);
}

void ease__model_forget(const ease_model *m)
{
    if (m->work)
        ease__tilefile_forget(m->work, &m->inverse);
}

static void free_array(const void *p)
{
    ease__free((void *)(uintptr_t)p);
}

void ease_model_free(ease_model *m)
{
    if (!m)
        return;
    if (m->file.map) { /* everything large lies in it */
        ease__container_close(&m->file);
    } else {
        ease__tiled_free(&m->inverse);
        if (m->work)
            ease__tilefile_free(m->work);
        ease__free(m->work);
        free_array(m->row_scale);
        free_array(m->col_scale);
        free_array(m->base);
        free_array(m->norm);
        free_array(m->popularity);
    }
    ease__ids_free(&m->ids);
    ease__ids_free(&m->titles);
    ease__free(m->title_bytes);
    ease__free(m);
}
