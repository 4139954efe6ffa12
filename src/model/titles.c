/* Titles for a model that is at hand. */
#include "data/titles.h"

#include "model/model.h"

ease_status ease_model_read_titles(ease_model *m, const char *path, int32_t *matched,
                                   ease_error *err)
{
    ease__ids titles = {0};
    void *packed = NULL;
    size_t bytes = 0;
    int32_t found = 0;
    ease_status status;

    if (!m || !path)
        return ease__fail(err, EASE_E_ARG, "a model and a path are required");
    status = ease__titles_read(path, &m->ids, &packed, &bytes, &found, err);
    if (!status)
        status = ease__ids_borrow(&titles, packed, bytes, m->info.items, false, path,
                                  err);
    if (status) {
        ease__free(packed);
        return status;
    }
    ease__ids_free(&m->titles);
    ease__free(m->title_bytes);
    m->titles = titles;
    m->title_bytes = packed;
    m->info.has_titles = 1;
    if (matched)
        *matched = found;
    return EASE_OK;
}
