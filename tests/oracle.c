#include "oracle.h"

#include <math.h>

#include <stdlib.h>

void oracle_gram(const double *x, int64_t users, int32_t items, double *gram)
{
    for (int32_t i = 0; i < items; i++)
        for (int32_t j = 0; j < items; j++) {
            double sum = 0;

            for (int64_t u = 0; u < users; u++)
                sum += x[u * items + i] * x[u * items + j];
            gram[(size_t)i * (size_t)items + (size_t)j] = sum;
        }
}

void oracle_invert(double *a, int32_t order)
{
    size_t n = (size_t)order;

    for (size_t k = 0; k < n; k++) {
        double *top = a + k * n, pivot = top[k];

        top[k] = 1;
        for (size_t j = 0; j < n; j++)
            top[j] /= pivot;
        for (size_t i = 0; i < n; i++) {
            double *row = a + i * n, factor = row[k];

            if (i == k)
                continue;
            row[k] = 0;
            for (size_t j = 0; j < n; j++)
                row[j] -= factor * top[j];
        }
    }
}

void oracle_ease(const double *gram, int32_t items, double lambda, double *b)
{
    size_t n = (size_t)items;
    double *p = calloc(n * n, sizeof(*p));

    for (size_t i = 0; i < n * n; i++)
        p[i] = gram[i];
    for (size_t i = 0; i < n; i++)
        p[i * n + i] += lambda;
    oracle_invert(p, items);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            b[i * n + j] = i == j ? 0 : -p[i * n + j] / p[j * n + j];
    free(p);
}

void oracle_product(const float *a, const float *b, int32_t rows, int32_t depth,
                    int32_t columns, float *c)
{
    for (int32_t i = 0; i < rows; i++)
        for (int32_t j = 0; j < columns; j++)
            for (int32_t k = 0; k < depth; k++)
                c[i * columns + j] = fmaf(a[i * depth + k], b[k * columns + j],
                                          c[i * columns + j]);
}
