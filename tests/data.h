/* Small data and matrices for tests. Everything returned is freed by the caller. */
#ifndef EASE_TEST_DATA_H
#define EASE_TEST_DATA_H

#include "core/container.h"
#include "data/interactions.h"
#include "matrix/tiled.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

/* Random interactions: each pair occurs with probability `chance`; weights are
 * multiples of 1/4 from 1/4 to 5. With more than four items, everyone has item 1 (with
 * weight 1) and no one has item 2. */
ease_interactions *random_interactions(int64_t users, int32_t items, double chance,
                                       bool weighted, uint64_t seed);
void free_interactions(ease_interactions *x);
/* The dense matrix X, users x items, row-major. */
double *dense_interactions(const ease_interactions *x);

/* I + V V' of order n in tiles of this edge, V random of rank 16: no eigenvalue below
 * 1, and none above *largest. The padding's diagonal is 1. */
ease__tiled random_definite(int32_t n, int32_t edge, ease__element element,
                            uint64_t seed, double *largest);
void set_entry(ease__tiled *a, int32_t i, int32_t j, double value); /* i >= j */
/* The dense n x n matrix, row-major; both halves come from the lower triangle. */
double *dense_matrix(const ease__tiled *a);

/* Copies a model or Gram file, with the section `name` as a large section and correct
 * checksums. */
void copy_with_large(const char *path, const char *name, const char *copy);

/* A section that a file of a later version adds or changes. */
typedef struct section_change {
    const char *name; /* an existing section is replaced, a new one is added */
    const void *data;
    size_t bytes;
    uint64_t flags;
} section_change;

/* Copies a model or Gram file with one section changed, and with correct checksums. */
void copy_changed(const char *path, section_change change, const char *copy);
/* Writes a changed header, with its correct checksum. */
void write_header(const char *path, ease__disk_header h);
ease__disk_header read_header(const char *path);

/* Tags of the items "0", "1", ..: item i has i % 4 of six tags, with weights or
 * without. */
ease_tags *some_tags(int32_t items, bool weighted);
/* Gives a model whose items have such ids these tags. */
void give_some_tags(ease_model *m, bool weighted);

#endif
