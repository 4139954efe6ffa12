/* A method is a way to train a model: one constant of this type in one file of
 * src/methods, and one line in the table of src/methods/methods.h. Everything else asks
 * the table. */
#ifndef EASE_MODEL_METHOD_H
#define EASE_MODEL_METHOD_H

#include "model/form.h"

typedef struct ease__method {
    ease_method_info info; /* what users see */
    uint32_t number;       /* of its models in files: never changed, never reused */
    const ease_setting
        *settings;          /* ended by a NULL name; EASE__MOST_SETTINGS at most */
    const ease__form *form; /* of the models that training makes */
    bool nonnegative;       /* weights below 0 become 0 */
    /* Refuses settings that are each valid, but not together; may be NULL. */
    ease_status (*check)(const double *settings, ease_error *err);
    /* Exactly one of the next two is there. `settings` has a number for each entry of the
     * table, x has at least one item, and `o` was checked.
     *
     * fit makes the model from nothing. fill is given a model with ids and popularity and
     * adds what its form has beside them. */
    ease_status (*fit)(const ease_interactions *x, const ease_train_options *o,
                       ease_model **out, ease_error *err);
    ease_status (*fill)(const ease_interactions *x, const ease_train_options *o,
                        const double *settings, ease_model *m, ease_error *err);
} ease__method;

/* All of them, in the order in which users see them; ended by NULL. Defined in
 * src/methods/methods.c, since the functions of the table stand behind this folder. */
extern const ease__method *const ease__methods[];

/* The method that options name, or the first of all. Their name of it is the static one
 * afterwards. EASE_E_ARG if there is no such method, or it does not accept their
 * settings. */
ease_status ease__method_take(ease_train_options *o, const ease__method **out,
                              ease_error *err);
/* NULL: there is none of this name, or of this number in files. */
const ease__method *ease__method_find(const char *name);
const ease__method *ease__method_numbered(uint32_t number);

/* EASE_E_ARG unless the method is trained from a Gram matrix alone. */
ease_status ease__method_from_gram(const ease__method *m, ease_error *err);
/* EASE_E_ARG if the method has a lambda, and that of the options is none. */
ease_status ease__method_lambda(const ease__method *m, const ease_train_options *o,
                                ease_error *err);

#endif
