/* Gram matrices: X'X and the data that training needs with it. */
#ifndef EASE_GRAM_GRAM_H
#define EASE_GRAM_GRAM_H

#include "data/item_users.h"
#include "gram/proof_sums.h"
#include "matrix/tiled.h"

/* What is known if X'X was built from the interactions. With the user power b > 0 the
 * matrix is X'WX, where W = diagMat(w) and w_u = (items of user u)^-b. */
typedef struct ease__by_user {
    double *counts;         /* the number of users of each item */
    double *weighted_sums;  /* of the columns of WX; NULL: b = 0, they are `sums` */
    double mass;            /* sum of w; for b = 0 the number of users */
    double mean_weight;     /* sum of w_u x_uj^2 over that of x_uj^2; 1 for b = 0 */
    ease__proof_sums proof; /* {0}: the matrix has exact counts */
} ease__by_user;

/* The weight of a user with so many items: items^-power. A user without items has none,
 * unless the power is 0. */
double ease__user_weight(int64_t items, double power);

/* Copies the numbers of n items, and adds items without users up to `to`. NULL: no
 * memory. */
ease__by_user *ease__by_user_copy(const ease__by_user *b, size_t n, size_t to);
void ease__by_user_free(ease__by_user *b);

struct ease_gram {
    ease__tiled g; /* U32: exact counts; F32, F64: weighted (or counts, converted) */
    bool weighted;
    bool rounded; /* entries of counts were rounded to float32 */
    double *sums; /* of the columns of X; NULL: unknown */
    ease__ids ids;
    int64_t users, interactions; /* -1: unknown */
    ease__by_user *by_user;      /* NULL: unknown, and every user has the weight 1 */
};

/* Builds X'X. The element is U32 or F64 for data of ones, F32 or F64 for weights. */
ease_status ease__gram_build(const ease_interactions *x, ease__element element,
                             int threads, const ease_hooks *hooks, ease_gram **out,
                             ease_error *err);

/* A matrix that is built one band of tile rows after the other, in order: g->g is
 * the band; the sums of its rows and of those above are known. */
typedef struct ease__bands {
    size_t bytes; /* at least a tile row of padded tiles */
    ease_status (*take)(void *user, ease_gram *g, ease_error *err);
    void *user;
} ease__bands;

/* Builds X'X, or with a user power X'WX, in bands; *out has no matrix then. `bands`
 * NULL: as a whole, in *out. With a user power the element is not U32. */
ease_status ease__gram_build_bands(const ease_interactions *x, ease__element element,
                                   double user_power, const ease__bands *bands,
                                   int threads, const ease_hooks *hooks,
                                   ease_gram **out, ease_error *err);
ease_status ease__gram_read_bands(const char *path, ease__element element,
                                  const ease__bands *bands, const ease_hooks *hooks,
                                  ease_gram **out, ease_error *err);
/* Allocates the matrix, or a band of it. */
ease_status ease__gram_tiles_new(ease_gram *g, int32_t items, ease__element element,
                                 const ease__bands *bands, ease_error *err);

/* The parts of ease__gram_build, for matrices whose tiles lie elsewhere. The first adds
 * what the users of x contribute to rows from .. to-1, of `to` entries each: uint32 for
 * data of ones, else double. Users that come in several calls, in their order, give the
 * bits of one call. The second copies entries of a row to entries of a matrix. */
void ease__gram_add_rows(const ease_interactions *x, const ease__item_users *c,
                         int32_t from, int32_t to, int threads, void *rows);
void ease__gram_store(ease__element element, bool weighted, const void *row,
                      size_t count, void *to);

/* Bytes of interactions with their ids, and bytes of scratch for building X'X. */
size_t ease__interactions_bytes(const ease_interactions *x);
size_t ease__gram_scratch_bytes(int64_t interactions, int32_t items, bool weighted,
                                int threads);

/* The most bytes that may be in use, including `held` bytes that already are:
 * `limit`, or if that is 0 the available memory. 0: unknown. */
size_t ease__memory_allowed(size_t limit, size_t held);
/* Fails with EASE_E_MEMORY_LIMIT and the numbers unless peak <= allowed: "training
 * 41140 items needs ...". */
ease_status ease__memory_check(const char *what, int32_t items, size_t peak,
                               size_t allowed, ease_error *err);

/* Reads a Gram file into entries of this element type; U32 means the type of the
 * file. U32 can be converted to F32, and both to F64. */
ease_status ease__gram_read(const char *path, ease__element element,
                            const ease_hooks *hooks, ease_gram **out, ease_error *err);

/* Fails with EASE_E_ARG if two of the paths are the same file or directory. */
ease_status ease__shards_check(const char *const *paths, int count, ease_error *err);

/* Take the options as EASE__OPTIONS_TAKE does, and check the values that every use of a
 * Gram matrix relies on: kind, precision, threads. */
ease_status ease__train_options_take(const ease_train_options *given,
                                     ease_train_options *o, ease_error *err);
ease_status ease__gram_options_take(const ease_gram_options *given,
                                    ease_gram_options *o, ease_error *err);

/* The scaling of G to the matrix that is inverted, n entries each:
 *
 *     A_ij = C_ij unit_i unit_j,   the solver inverts A + diagMat(ridge)
 *
 * with C = G for counts, and the centred matrix for covariance and correlation. An item
 * whose diagonal entry with lambda is above 2^60 or below 2^-60 is also scaled by a
 * power of two, so that neither A nor its inverse leaves the range of float32. */
typedef struct ease__scales {
    double *scale; /* s; 0 for a constant column */
    double *unit;  /* 1 / s, or 0 */
    double *ridge; /* Lambda, times the square of the item's power of two */
    bool plain;    /* counts, and every s is 1: G is solved as it is */
} ease__scales;

/* The regularizer, a number for each item, with d the diagonal of C:
 *
 *     Lambda_j = lambda d_j^power + share g_j
 *
 * An item with d_j = 0 has no weights, and Lambda_j = lambda + share g_j. */
typedef struct ease__penalty {
    double lambda, power;
    double share;    /* p / (1 - p), if entries of X are dropped with probability p */
    const double *g; /* 0 or more; may be NULL if share is 0 */
} ease__penalty;

/* True for a nonzero diagonal entry of X'X above 2^100 or below 2^-100: near the limits
 * of float32, which the other entries of its row may exceed. */
bool ease__beyond_float(double diagonal);
/* The element type of X'X for this data: U32 if all values are ones, else F32, or F64
 * if `precision` asks for it or a diagonal entry is beyond float. */
ease_status ease__gram_element(const ease_interactions *x, ease_precision precision,
                               ease__element *out, ease_error *err);

/* Allocates the scales. Fails with EASE_E_DATA if the kind needs column sums that
 * are unknown. */
ease_status ease__scales_new(const ease_gram *g, ease_gram_kind kind, ease__scales *out,
                             ease_error *err);
void ease__scales_free(ease__scales *s);

/* Converts counts or sums in place to the matrix that is solved: U32 becomes F32,
 * then the kind is applied (in float64, entry by entry); zero rows stay zero. For a
 * band, its rows of the scales are filled in; those above must have been before, and
 * p->g is needed for the rows of the band alone. */
void ease__gram_prepare(ease_gram *g, ease_gram_kind kind, const ease__penalty *p,
                        int threads, ease__scales *s);

/* The two parts of ease__gram_prepare, for matrices whose tiles lie elsewhere. The
 * first sets the scales of item i, whose diagonal entry is d: scale_i = 1 or sqrt(C_ii)
 * by the kind, 0 if the column is constant; unit_i = 1 / scale_i, or 0, so that the row
 * and the column become zero. The second, once the scales of all items are set,
 * converts one tile; the element type of g->g stays. */
void ease__scales_set(const ease_gram *g, ease_gram_kind kind, const ease__penalty *p,
                      int32_t i, double d, ease__scales *s);
void ease__gram_prepare_tile(const ease_gram *g, ease_gram_kind kind,
                             const ease__scales *s, int32_t i, int32_t j);

/* The column sums that covariance is centred by, and the number that they are divided
 * by to get means: with a user power both are weighted. */
const double *ease__gram_centre(const ease_gram *g, double *mass);

#endif
