/* What can be trained, by name and by the form of what comes out. */
#ifndef EASE_MODEL_METHOD_NAMES_H
#define EASE_MODEL_METHOD_NAMES_H

#include "core/core.h"

/* What a model of a method consists of. */
typedef enum ease__form {
    EASE__DENSE_FORM,  /* rows or the packed triangle */
    EASE__BASE_FORM,   /* the base alone */
    EASE__SPARSE_FORM, /* rows of few weights */
    EASE__LATENT_FORM, /* an encoder and factors */
    EASE__KNOWN_FORM   /* scores of the users of the training data */
} ease__form;

/* The place of a method is its number in model files: new ones come last. */
#define EASE__METHODS(X)               \
    X("ease", EASE__DENSE_FORM)        \
    X("ease-nonneg", EASE__DENSE_FORM) \
    X("popularity", EASE__BASE_FORM)   \
    X("item-item", EASE__SPARSE_FORM)  \
    X("slim", EASE__SPARSE_FORM)       \
    X("slim-free", EASE__SPARSE_FORM)  \
    X("wmf", EASE__LATENT_FORM)        \
    X("ii-svd", EASE__LATENT_FORM)     \
    X("cdae", EASE__LATENT_FORM)       \
    X("mult-dae", EASE__LATENT_FORM)   \
    X("mult-vae", EASE__LATENT_FORM)   \
    X("lrec", EASE__KNOWN_FORM)

int ease__method_number(const char *name); /* -1: none of this name */
ease__form ease__method_form(int number);
ease__form ease__storage_form(ease_storage storage);

/* The method of a dense form, which not every file says. */
const char *ease__ease_method(bool nonnegative);

#endif
