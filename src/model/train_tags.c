/* What training does with tags after the weights are there. */
#include <stdio.h>

#include "data/tags.h"
#include "model/model.h"
#include "model/settings.h"

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

static ease_status finish(ease_model *m, const ease_train_options *o, ease_error *err)
{
    const ease__method *method = ease__method_find(m->info.method);
    double settings[EASE__MOST_SETTINGS];
    int32_t matched = 0;
    ease_status status = ease_model_set_tags(m, o->tags, &matched, err);

    if (status)
        return status;
    log_unknown(m, o, matched);
    m->tags.weight = ease__method_tag_weight(method, o);
    if (!method->finish || !(m->tags.weight > 0))
        return EASE_OK;
    status = ease__settings_parse(method->settings, method->info.name, o->settings,
                                  settings, NULL, err);
    return status ? status : method->finish(m, o, settings, err);
}

ease_status ease__train_finish(ease_model *m, const ease_train_options *o,
                               ease_model **out, ease_error *err)
{
    ease_status status = o->tags ? finish(m, o, err) : EASE_OK;

    if (status)
        ease_model_free(m);
    else
        *out = m;
    return status;
}
