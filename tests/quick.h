/* Trains models of any method quickly, on little data. */
#ifndef EASE_TEST_QUICK_H
#define EASE_TEST_QUICK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "model/method.h"

enum { QUICK_TEXT = 400 };

/* Interactions with ids, made by the library; free with ease_interactions_free(). */
static inline ease_interactions *quick_data(int64_t users, int32_t items)
{
    ease_interactions *x = random_interactions(users, items, 0.2, false, 5),
                      *copy = NULL;

    if (ease_interactions_from_csr(x->users, x->items, x->row_ptr, x->cols, NULL, &copy,
                                   NULL))
        abort();
    free_interactions(x);
    return copy;
}

/* Tags "0", "1" and "2" of the items "0" .. "items - 1". */
static inline ease_tags *quick_tags(int32_t items)
{
    int64_t *item = calloc((size_t)items, sizeof(*item));
    int64_t *tag = calloc((size_t)items, sizeof(*tag));
    ease_id_column from = {.numbers = item}, to = {.numbers = tag};
    ease_tags *tags = NULL;

    for (int32_t i = 0; i < items; i++) {
        item[i] = i;
        tag[i] = i % 3;
    }
    if (ease_tags_from_table(items, &from, &to, NULL, NULL, &tags, NULL))
        abort();
    free(item);
    free(tag);
    return tags;
}

/* True if the method has a setting `name`, which ends with a NUL or "=VALUE". */
static inline bool has_setting(const ease__method *m, const char *name)
{
    size_t length = strcspn(name, "=");

    for (int i = 0; m->settings[i].name; i++)
        if (strlen(m->settings[i].name) == length &&
            strncmp(m->settings[i].name, name, length) == 0)
            return true;
    return false;
}

/* Options with few rounds and small ranks, if the method has such settings; `text` must
 * outlive the options. */
static inline ease_train_options quick_options(const ease__method *m, int threads,
                                               char text[QUICK_TEXT])
{
    static const char *const small[] = {"rank=4", "hidden=6", "latent=4"};
    ease_train_options o;
    size_t used = 0;

    ease_train_options_init(&o);
    o.lambda = m->info.has_lambda ? 10 : 0;
    o.threads = threads;
    text[0] = '\0';
    if (m->info.rounds)
        used = (size_t)snprintf(text, QUICK_TEXT, "%s=2", m->info.rounds);
    for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
        if (has_setting(m, small[i]))
            used += (size_t)snprintf(text + used, QUICK_TEXT - used, "%s%s",
                                     used ? "," : "", small[i]);
    o.settings = text;
    return o;
}

/* With `tags`, which may be NULL, if the method needs them. */
static inline ease_status train_quickly_with(const ease__method *m,
                                             const ease_interactions *x,
                                             const ease_tags *tags, int threads,
                                             ease_model **out)
{
    char text[QUICK_TEXT];
    ease_train_options o = quick_options(m, threads, text);

    o.method = m->info.name;
    o.tags = m->info.needs_tags ? tags : NULL;
    return ease_train(x, &o, out, NULL);
}

static inline ease_status train_quickly(const ease__method *m,
                                        const ease_interactions *x, int threads,
                                        ease_model **out)
{
    ease_tags *tags = m->info.needs_tags ? quick_tags(ease_interactions_items(x))
                                         : NULL;
    ease_status status = train_quickly_with(m, x, tags, threads, out);

    ease_tags_free(tags);
    return status;
}

/* False for methods whose models cannot be saved in a form of their family. */
static inline bool has_form(const ease__method *m, const ease__form *form)
{
    return m->form == form->trained && !(m->finish && form == &ease__form_packed);
}

#endif
