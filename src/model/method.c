/* What is asked of the table of methods. */
#include "model/method.h"

#include <string.h>

const ease__method *ease__method_find(const char *name)
{
    for (int i = 0; name && ease__methods[i]; i++)
        if (strcmp(ease__methods[i]->name, name) == 0)
            return ease__methods[i];
    return NULL;
}

const ease__method *ease__method_numbered(uint32_t number)
{
    for (int i = 0; ease__methods[i]; i++)
        if (ease__methods[i]->number == number)
            return ease__methods[i];
    return NULL;
}

const ease__method *ease__dense_method(bool nonnegative)
{
    int i = 0;

    while (ease__methods[i]->form != &ease__form_packed ||
           ease__methods[i]->nonnegative != nonnegative)
        i++;
    return ease__methods[i];
}

const char *ease_method_name(int index)
{
    for (int i = 0; index >= 0 && ease__methods[i]; i++)
        if (i == index)
            return ease__methods[i]->name;
    return NULL;
}

const char *ease_method_about(const char *method)
{
    const ease__method *m = ease__method_find(method);

    return m ? m->about : NULL;
}

int ease_method_has_lambda(const char *method)
{
    const ease__method *m = ease__method_find(method);

    return m && m->has_lambda;
}

int ease_method_known_users(const char *method)
{
    const ease__method *m = ease__method_find(method);

    return m && m->form->known_users;
}

void ease_method_apply(const char *method, ease_train_options *o)
{
    const ease__method *m = ease__method_find(method);

    if (m && o)
        o->nonnegative = o->nonnegative || m->nonnegative;
}

const ease_setting *ease_method_setting(const char *method, int index)
{
    const ease__method *m = ease__method_find(method);

    for (int i = 0; m && index >= 0 && m->settings[i].name; i++)
        if (i == index)
            return &m->settings[i];
    return NULL;
}

const char *ease_method_grid(const char *method)
{
    const ease__method *m = ease__method_find(method);

    return m ? m->grid : NULL;
}
