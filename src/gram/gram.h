/* X'X and what training needs beside it. */
#ifndef EASE_GRAM_H
#define EASE_GRAM_H

#include "data/interactions.h"
#include "matrix/tiled.h"

struct ease_gram {
    ease__tiled g; /* U32: exact counts; F32, F64: weighted (or counts, converted) */
    bool weighted;
    double *sums; /* of the columns of X; NULL: unknown */
    ease__ids ids;
    int64_t users, interactions; /* -1: unknown */
};

/* An element for the entries: U32 or F64 for data of ones, F32 or F64 for weights. */
ease_status ease__gram_build(const ease_interactions *x, ease__element element,
                             int threads, const ease_hooks *hooks, ease_gram **out,
                             ease_error *err);

/* Reads a Gram file into entries of this element; U32 stands for "as it is there".
 * From U32 to F32 it is converted on the way, and to F64 from both. */
ease_status ease__gram_read(const char *path, ease__element element,
                            const ease_hooks *hooks, ease_gram **out, ease_error *err);

/* What the solver is given, made in place from counts or sums: U32 becomes F32,
 * then the kind is applied (in float64, entry by entry), zero rows staying zero.
 * *scale receives s (n, freed by the caller) for correlation, else NULL. */
ease_status ease__gram_prepare(ease_gram *g, ease_gram_kind kind, double **scale,
                               ease_error *err);

#endif
