/* Small models for tests: computed from dense data by plain loops, or random. */
#ifndef EASE_TEST_MODELS_H
#define EASE_TEST_MODELS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "data.h"
#include "model/model.h"
#include "test.h"

/* Inverts a (n x n) in place, without pivoting. */
static inline void dense_invert(double *a, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        double pivot = a[k * n + k];

        a[k * n + k] = 1;
        for (size_t j = 0; j < n; j++)
            a[k * n + j] /= pivot;
        for (size_t i = 0; i < n; i++) {
            double factor = a[i * n + k];

            if (i == k)
                continue;
            a[i * n + k] = 0;
            for (size_t j = 0; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
    }
}

/* The tiles of a dense symmetric matrix as a solver returns them: NaN in the halves
 * that must not be read, the identity in the padding. */
static inline ease__tiled tile_matrix(const double *dense, int32_t n, ease__element e)
{
    ease__tiled t = {0};

    if (ease__tiled_new(n, e, &t, NULL) != EASE_OK)
        abort();
    for (int32_t i = 0; i < t.tiles * t.edge; i++)
        for (int32_t j = 0; j < (i / t.edge + 1) * t.edge; j++) {
            size_t at = (size_t)(i % t.edge) * (size_t)t.edge + (size_t)(j % t.edge);
            bool inside = i < n && j < n;
            double v = inside ? dense[(size_t)i * (size_t)n + (size_t)j] : i == j;

            if (j > i)
                v = NAN;
            if (e == EASE__F64)
                ((double *)ease__tile(&t, i / t.edge, j / t.edge))[at] = v;
            else
                ((float *)ease__tile(&t, i / t.edge, j / t.edge))[at] = (float)v;
        }
    return t;
}

/* The ids "a", "b", ... for 26 items, then "item 26" and so on. */
static inline ease__ids letter_ids(int32_t n)
{
    ease__ids ids = {0};

    for (int32_t i = 0; i < n; i++) {
        char text[24];
        int length = i < 26 ? snprintf(text, sizeof(text), "%c", 'a' + (int)i)
                            : snprintf(text, sizeof(text), "item %d", (int)i);

        if (ease__ids_add(&ids, text, (size_t)length) != i)
            abort();
    }
    return ids;
}

/* A whole dense model in float64: the twin of the library's model. */
typedef struct dense_model {
    int32_t n;
    double *inverse, *weights; /* n x n */
    double *base, *sums, *scale, *diagonal;
} dense_model;

static inline void dense_free(dense_model *d)
{
    free(d->inverse);
    free(d->weights);
    free(d->base);
    free(d->sums);
    free(d->scale);
    free(d->diagonal);
}

/* Trains from X (users x n, row-major) by the formulas of ease_gram_kind. */
static inline dense_model dense_train(const double *x, int64_t users, int32_t items,
                                      ease_gram_kind kind, double lambda, bool clip)
{
    size_t n = (size_t)items;
    double count = (double)users;
    dense_model d = {.n = items,
                     .inverse = calloc(n * n, sizeof(double)),
                     .weights = calloc(n * n, sizeof(double)),
                     .base = calloc(n, sizeof(double)),
                     .sums = calloc(n, sizeof(double)),
                     .scale = calloc(n, sizeof(double)),
                     .diagonal = calloc(n, sizeof(double))};
    double *p = d.inverse;

    for (int64_t u = 0; u < users; u++)
        for (size_t i = 0; i < n; i++) {
            d.sums[i] += x[(size_t)u * n + i];
            for (size_t j = 0; j < n; j++)
                p[i * n + j] += x[(size_t)u * n + i] * x[(size_t)u * n + j];
        }
    for (size_t i = 0; i < n; i++)
        d.diagonal[i] = p[i * n + i];
    for (size_t i = 0; i < n; i++) {
        double c = d.diagonal[i] - d.sums[i] * d.sums[i] / count;

        d.scale[i] = !(c > 1e-12 * d.diagonal[i])    ? 0
                     : kind == EASE_GRAM_CORRELATION ? sqrt(c)
                                                     : 1;
    }
    for (size_t i = 0; kind != EASE_GRAM_COUNTS && i < n; i++)
        for (size_t j = 0; j < n; j++) {
            p[i * n + j] -= d.sums[i] * d.sums[j] / count;
            if (d.scale[i] == 0 || d.scale[j] == 0)
                p[i * n + j] = 0;
            else if (kind == EASE_GRAM_CORRELATION)
                p[i * n + j] /= d.scale[i] * d.scale[j];
        }
    for (size_t i = 0; i < n; i++)
        p[i * n + i] += lambda;
    dense_invert(p, n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double w = i == j ? 0 : -p[i * n + j] / p[j * n + j];

            if (kind == EASE_GRAM_CORRELATION && w != 0)
                w *= d.scale[j] / d.scale[i];
            d.weights[i * n + j] = clip && w < 0 ? 0 : w;
        }
    for (size_t j = 0; kind != EASE_GRAM_COUNTS && j < n; j++) {
        d.base[j] = d.sums[j] / count;
        for (size_t i = 0; i < n; i++)
            d.base[j] -= d.sums[i] / count * d.weights[i * n + j];
    }
    return d;
}

/* The library's model with the same inverse. */
static inline ease_model *model_of(const dense_model *d, int64_t users,
                                   ease_gram_kind kind, bool clip, ease__element e)
{
    ease__tiled p = tile_matrix(d->inverse, d->n, e);
    ease__ids ids = letter_ids(d->n);
    ease__model_parts r = {.method = ease__method_find(clip ? "ease-nonneg" : "ease"),
                           .kind = kind,
                           .precision = e == EASE__F64 ? EASE_F64 : EASE_F32,
                           .lambda = 1.5,
                           .residual = 1e-6,
                           .users = users,
                           .interactions = 77,
                           .sums = d->sums,
                           .centre = d->sums,
                           .mass = (double)users,
                           .scale = kind == EASE_GRAM_COUNTS ? NULL : d->scale,
                           .diagonal = d->diagonal,
                           .ids = &ids};
    ease_model *m = NULL;
    ease_error err;

    if (ease__model_from_inverse(&p, &r, &m, &err) != EASE_OK) {
        printf("%s\n", err.text);
        abort();
    }
    return m;
}

/* Zeros and ones, a third of them ones. No user has the last item but one, and all
 * users have the last one, so that its variance is 0. */
static inline double *random_data(int64_t users, int32_t items, uint64_t seed)
{
    double *x = calloc((size_t)users * (size_t)items, sizeof(*x));
    ease__random r;

    ease__random_seed(&r, seed, 0);
    for (int64_t u = 0; u < users; u++)
        for (int32_t i = 0; i < items; i++) {
            double v = ease__random_below(&r, 3) == 0;

            if (i >= items - 2)
                v = i == items - 1;
            x[(size_t)u * (size_t)items + (size_t)i] = v;
        }
    return x;
}

/* A model with a random symmetric P, of any size; `coarse` weights have few distinct
 * values, so that scores tie. */
static inline ease_model *random_model(int32_t n, uint64_t seed, bool coarse,
                                       ease_gram_kind kind, bool clip)
{
    dense_model d = {.n = n};
    size_t size = (size_t)n;
    ease_model *m;
    ease__random r;

    ease__random_seed(&r, seed, 1);
    d.inverse = calloc(size * size, sizeof(double));
    d.sums = calloc(size, sizeof(double));
    d.scale = calloc(size, sizeof(double));
    d.diagonal = calloc(size, sizeof(double));
    for (size_t i = 0; i < size; i++) {
        d.sums[i] = 1 + (double)ease__random_below(&r, 40);
        d.diagonal[i] = d.sums[i];
        d.scale[i] = sqrt(d.diagonal[i]);
        for (size_t j = 0; j < i; j++)
            d.inverse[i * size + j] = d.inverse[j * size + i] =
                coarse ? 0.25 * ((double)ease__random_below(&r, 5) - 2)
                       : ease__random_unit(&r) - 0.5;
        d.inverse[i * size + i] = coarse ? 1 : 1 + ease__random_unit(&r);
    }
    m = model_of(&d, 50, kind, clip, EASE__F32);
    dense_free(&d);
    return m;
}

/* A model without the members of its form. */
static inline ease_model *bare_model(const char *method, const ease_interactions *x)
{
    ease_model *m = NULL;

    if (ease__model_new(ease__method_find(method), x, "seed=1", &m, NULL) != EASE_OK)
        abort();
    return m;
}

/* A sparse model with up to 12 weights in a row; `coarse` weights have few distinct
 * values, -0 among them, so that scores tie and cancel out. */
static inline ease_model *random_sparse(int32_t n, uint64_t seed, bool coarse)
{
    ease_interactions *x = random_interactions(50, n, 0.1, false, seed);
    ease_model *m = bare_model("slim-free", x);
    uint64_t *starts = calloc((size_t)n + 1, sizeof(*starts));
    int32_t *columns = calloc((size_t)n * 12 + 1, sizeof(*columns));
    float *weights = calloc((size_t)n * 12 + 1, sizeof(*weights));
    ease__random r;

    ease__random_seed(&r, seed, 2);
    for (int32_t i = 0; i < n; i++) {
        uint64_t at = starts[i], most = ease__random_below(&r, 13);

        for (int32_t j = 0; j < n && at < starts[i] + most; j++)
            if (j != i && ease__random_below(&r, (uint64_t)n) < most) {
                columns[at] = j;
                weights[at++] = coarse ? 0.25f * ((float)ease__random_below(&r, 5) - 2)
                                       : (float)ease__random_unit(&r) - 0.5f;
                if (coarse && at % 7 == 0)
                    weights[at - 1] = -0.0f;
            }
        starts[i + 1] = at;
    }
    m->sparse = (ease__sparse){
        .starts = starts, .columns = columns, .weights = weights};
    free_interactions(x);
    return m;
}

/* Saves a model and opens the file. */
static inline ease_model *reopened(test *t, const ease_model *m, ease_storage storage)
{
    const char *path = test_path("reopened.ease");
    ease_model *back = NULL;
    ease_error err = {0};

    if (!check_status(t, ease_model_save(m, path, storage, NULL, &err), EASE_OK) ||
        !check_status(t, ease_model_open(path, NULL, &back, &err), EASE_OK)) {
        printf("  %s\n", err.text);
        abort();
    }
    return back;
}

#endif
