/* The tags of a model that was trained with them. */
#include "data/tags.h"
#include "model/model.h"

/* Items of the tags that the model does not know, of which one is named. */
static void log_unknown(const ease_model *m, const ease_train_options *o,
                        int32_t matched)
{
    int32_t count = (int32_t)o->tags->items.count;

    for (int32_t i = 0; i < count && matched < count; i++) {
        const char *id = ease_tags_item_id(o->tags, i);

        if (ease_model_find(m, id) != EASE_NO_ITEM)
            continue;
        ease__log(o->hooks, 2,
                  "%d of %d items with tags are not in the data, such as \"%.100s\"",
                  (int)(count - matched), (int)count, id);
        return;
    }
}

ease_status ease__train_tags(ease_model *m, const ease_train_options *o, double weight,
                             ease_error *err)
{
    int32_t matched = 0;
    ease_status status;

    if (!o->tags)
        return EASE_OK;
    status = ease_model_set_tags(m, o->tags, &matched, err);
    if (status)
        return status;
    log_unknown(m, o, matched);
    m->tags.weight = weight;
    return EASE_OK;
}
