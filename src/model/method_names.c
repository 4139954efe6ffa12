/* Names and forms. What they train is in src/rivals/. */
#include "model/method_names.h"

#include <string.h>

static const struct {
    const char *name;
    ease__form form;
} methods[] = {
#define X(name, form) {name, form},
    EASE__METHODS(X)
#undef X
};

enum { METHODS = sizeof(methods) / sizeof(methods[0]) };

const char *ease_method_name(int index)
{
    return index >= 0 && index < METHODS ? methods[index].name : NULL;
}

int ease__method_number(const char *name)
{
    for (int i = 0; i < METHODS; i++)
        if (strcmp(methods[i].name, name) == 0)
            return i;
    return -1;
}

ease__form ease__method_form(int number)
{
    return methods[number].form;
}

ease__form ease__storage_form(ease_storage storage)
{
    switch (storage) {
    case EASE_STORE_NONE:
        return EASE__BASE_FORM;
    case EASE_STORE_SPARSE:
        return EASE__SPARSE_FORM;
    case EASE_STORE_LATENT:
        return EASE__LATENT_FORM;
    case EASE_STORE_KNOWN:
        return EASE__KNOWN_FORM;
    default:
        return EASE__DENSE_FORM;
    }
}

const char *ease__ease_method(bool nonnegative)
{
    return methods[nonnegative ? 1 : 0].name;
}

int ease_method_has_lambda(const char *method)
{
    int number = method ? ease__method_number(method) : -1;

    return number >= 0 && methods[number].form == EASE__DENSE_FORM;
}

int ease_method_known_users(const char *method)
{
    int number = method ? ease__method_number(method) : -1;

    return number >= 0 && methods[number].form == EASE__KNOWN_FORM;
}
