/* Sets the titles of a model, from a file or from memory. */
#include "read/titles.h"

#include <string.h>

#include "model/model.h"

/* Sets the packed titles, which are taken over even on failure. `what` names their
 * source in messages. */
static ease_status take_titles(ease_model *m, void *packed, size_t bytes,
                               const char *what, ease_error *err)
{
    ease__ids titles = {0};
    ease_status status = ease__ids_borrow(&titles, packed, bytes, m->info.items, false,
                                          what, err);

    if (status) {
        ease__free(packed);
        return status;
    }
    ease__ids_free(&m->titles);
    ease__free(m->title_bytes);
    m->titles = titles;
    m->title_bytes = packed;
    m->info.has_titles = 1;
    return EASE_OK;
}

/* Packs titles in the layout of ease__ids_pack; NULL: no memory. */
static void *pack_titles(const char *const *titles, int32_t items, size_t *bytes)
{
    size_t head = ((size_t)items + 1) * sizeof(uint64_t), used = 0;
    uint64_t *offsets;
    char *packed;

    for (int32_t i = 0; i < items; i++)
        used = ease__size_add(used, titles[i] ? strlen(titles[i]) + 1 : 1);
    packed = ease__alloc_array(ease__size_add(head, used), 1);
    if (!packed)
        return NULL;
    offsets = (uint64_t *)(void *)packed;
    offsets[0] = 0;
    for (int32_t i = 0; i < items; i++) {
        const char *title = titles[i] ? titles[i] : "";
        size_t length = strlen(title) + 1;

        memcpy(packed + head + offsets[i], title, length);
        offsets[i + 1] = offsets[i] + length;
    }
    *bytes = head + used;
    return packed;
}

ease_status ease_model_set_titles(ease_model *m, const char *const *titles,
                                  ease_error *err)
{
    size_t bytes = 0;
    void *packed;

    if (!m || !titles)
        return ease__fail(err, EASE_E_ARG, "a model and titles are required");
    packed = pack_titles(titles, m->info.items, &bytes);
    if (!packed)
        return ease__fail(err, EASE_E_NOMEM, "titles of %d items", (int)m->info.items);
    return take_titles(m, packed, bytes, "titles", err);
}

ease_status ease_model_read_titles(ease_model *m, const char *path, int32_t *matched,
                                   ease_error *err)
{
    void *packed = NULL;
    size_t bytes = 0;
    int32_t found = 0;
    ease_status status;

    if (!m || !path)
        return ease__fail(err, EASE_E_ARG, "a model and a path are required");
    status = ease__titles_read(path, &m->ids, &packed, &bytes, &found, err);
    if (!status)
        status = take_titles(m, packed, bytes, path, err);
    if (!status && matched)
        *matched = found;
    return status;
}
