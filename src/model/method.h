/* A method is a way to train a model: one constant of type ease__method in one file of
 * src/methods, and one line in the table of src/methods/methods.h. */
#ifndef EASE_MODEL_METHOD_H
#define EASE_MODEL_METHOD_H

#include "model/family.h"
#include "model/form.h"

/* A setting that the search of src/tune/search.c changes. */
typedef struct ease__axis {
    double start, step; /* first value, and first change of it */
    int setting;        /* its place in the table of settings */
    bool odds;          /* a share p, of which log(p / (1 - p)) is changed by `step` */
    bool coupled; /* it needs no solve, but its best value depends on the inverse */
} ease__axis;

enum { EASE__MOST_AXES = 8 };

typedef struct ease__method {
    ease_method_info info; /* what users see */
    uint32_t number;       /* in model files: never changed, never reused */
    /* At most EASE__MOST_SETTINGS, ended by a NULL name. */
    const ease_setting *settings;
    const ease__form *form; /* of the models that training makes */
    bool nonnegative;       /* negative weights are set to 0 */
    /* Members of the closed-form family: what settings mean. NULL: EASE. */
    void (*family)(const double *settings, ease__family *out);
    const ease__axis *axes; /* with `family`: ended by a step of 0 */
    /* Fails with EASE_E_ARG if the settings are valid each, but not together; may be
     * NULL. */
    ease_status (*check)(const double *settings, ease_error *err);
    /* NULL: a method with from_gram adds tags to the Gram matrix, by the weight of the
     * options. Otherwise the setting with the weight of tags, which `finish` uses. */
    const char *tag_setting;
    /* Changes a model that was made from an inverse, by the tags of the options; may be
     * NULL. Can be called again with other settings. */
    ease_status (*finish)(ease_model *m, const ease_train_options *o,
                          const double *settings, ease_error *err);
    /* Exactly one of fit and fill is set. x has at least one item, and `o` was
     * checked.
     *
     * fit makes the model. fill gets a model with ids and popularity, and sets the
     * members of its form; `settings` has a number for each entry of the table of
     * settings. */
    ease_status (*fit)(const ease_interactions *x, const ease_train_options *o,
                       ease_model **out, ease_error *err);
    ease_status (*fill)(const ease_interactions *x, const ease_train_options *o,
                        const double *settings, ease_model *m, ease_error *err);
    /* Methods that are planned and have no from_gram: writes the memory, the time and
     * the size of the file for data of these sizes, whose users have `pairs` pairs of
     * items. `out` already has the sizes, the threads and the available memory. */
    void (*plan)(const ease_gram_info *sizes, double pairs, const ease_train_options *o,
                 const double *settings, ease_plan *out);
} ease__method;

/* All methods, in the order in which users see them; ended by NULL. Defined in
 * src/methods/methods.c, a later folder. */
extern const ease__method *const ease__methods[];

/* Finds the method that the options name, or the first one if they name none, and sets
 * o->method to its static name. Fails with EASE_E_ARG if there is no such method, or if
 * it does not accept o->settings. */
ease_status ease__method_take(ease_train_options *o, const ease__method **out,
                              ease_error *err);
/* The method with this name, or with this number in files; NULL: there is none. */
const ease__method *ease__method_find(const char *name);
const ease__method *ease__method_numbered(uint32_t number);

/* Fails with EASE_E_ARG unless the method can be trained from a Gram matrix. */
ease_status ease__method_from_gram(const ease__method *m, ease_error *err);
/* Fails with EASE_E_ARG if the method requires tags, and the options have none. */
ease_status ease__method_tags(const ease__method *m, const ease_train_options *o,
                              ease_error *err);
/* Fails with EASE_E_ARG if the options have a model `like` whose method, kind or lambda
 * is another one, or which is not updatable. */
ease_status ease__method_like(const ease__method *m, const ease_train_options *o,
                              ease_error *err);
/* The weight that tags have in training, by values of its table of settings; 0: they
 * are kept only, or there are none. */
double ease__method_tag_weight(const ease__method *m, const ease_train_options *o,
                               const double *settings);
/* The settings of a member of the family, from values of its table of settings. */
ease__family ease__method_family(const ease__method *m, const double *settings);
/* Fails with EASE_E_ARG if the method has a lambda and o->lambda is not above 0. */
ease_status ease__method_lambda(const ease__method *m, const ease_train_options *o,
                                ease_error *err);

#endif
