/* Lists for users of the training data, each by the model that was trained without this
 * user. */
#ifndef EASE_SCORE_LEAVE_OUT_H
#define EASE_SCORE_LEAVE_OUT_H

#include "score/sweep.h"

/* The rows of some users. Row u consists of the input, inputs[u] items, and then of the
 * target: at least one item each, in increasing order. */
typedef struct ease__left_rows {
    const ease_row *rows;
    const int32_t *inputs;
    int64_t count;
} ease__left_rows;

/* The numbers of a user by which the inverse without the user differs. */
typedef struct ease__left_terms {
    double leverage; /* h */
    /* Of mu' = (1 + shift) mu - shift x; and with r = P(x - mu), of
     *
     *     P_-x (z - mu') = Pz - P mu + gain r,   diag(P_-x)_j = P_jj + bend r_j^2. */
    float shift, gain, bend;
} ease__left_terms;

/* True: 1 - h is so small that sums of rows of P have to be made in float64. */
bool ease__left_narrow(const ease__left_terms *t);
/* False: 1 - h is so small that the rounding of P to float32 matters. */
bool ease__left_usable(const ease__left_terms *t);

/* The vectors of a model that lists are made from, and buffers. */
typedef struct ease__leave_out {
    const ease_model *model;
    ease__family family;
    bool centred; /* covariance, else counts */
    int threads;
    double middle;      /* mu'P mu */
    double *centre;     /* P mu; 0 for counts, as mu is */
    float *columns;     /* vectors of columns, see leave_out.c */
    uint8_t *constancy; /* of the columns */
    ease__sweep sweep;
} ease__leave_out;

/* Fails with EASE_E_ARG unless users can be left out of the model. */
ease_status ease__leave_out_check(const ease_model *m, ease_error *err);
size_t ease__leave_out_bytes(int32_t items);

/* Prepares a model that was checked; `longest` is the number of items of a user at
 * most. To be freed even after a failure. Fails with EASE_E_NOMEM, EASE_E_CANCELLED,
 * and EASE_E_FORMAT or EASE_E_IO if the model's file is damaged. */
ease_status ease__leave_out_new(const ease_model *m, int32_t longest, int threads,
                                const ease_hooks *hooks, ease__leave_out *out,
                                ease_error *err);
void ease__leave_out_free(ease__leave_out *l);

/* Computes the terms of users. Fails as ease__leave_out_new does. */
ease_status ease__leave_out_measure(ease__leave_out *l, const ease__left_rows *users,
                                    const ease_hooks *hooks, ease__left_terms *terms,
                                    ease_error *err);

/* Makes the lists of users whose terms are usable: recs has k items for each. Items
 * that only the user has are not listed; an input that consists of such items alone
 * gets the most popular items, as an empty history does. Fails as ease__leave_out_new
 * does. */
ease_status ease__leave_out_lists(ease__leave_out *l, const ease__left_rows *users,
                                  const ease__left_terms *terms, int32_t k,
                                  const ease_hooks *hooks, ease_rec *recs,
                                  int32_t *counts, ease_error *err);

/* True if no other user of the training data has an item of the row. */
bool ease__left_unknown(const ease_model *m, ease_row row);

/* ---- shared by leave_out.c and leave_lists.c ------------------------------------- */

/* The vectors of `columns`: the diagonal of P, P mu, mu, and Lambda for a relaxed
 * diagonal. They are padded so that all panels are whole. */
enum {
    EASE__LEFT_DIAGONAL,
    EASE__LEFT_CENTRE,
    EASE__LEFT_MEAN,
    EASE__LEFT_RIDGE,
    EASE__LEFT_VECTORS
};
float *ease__left_vector(const ease__leave_out *l, int which);

/* The columns of a covariance that are constant, so that the column is 0 and the score
 * is the mean: with all users, or perhaps without one who does not have the item. */
enum { EASE__LEFT_ORDINARY, EASE__LEFT_PERHAPS_CONSTANT, EASE__LEFT_CONSTANT };

/* True if column j is constant without a user of this weight who has the value x. */
bool ease__left_constant(const ease__leave_out *l, int32_t j, double x, double weight);

/* The weight of a user with so many items. */
static inline double ease__left_weight(const ease__leave_out *l, int32_t items)
{
    return ease__user_weight(items, l->family.user_power);
}

static inline double ease__row_value(ease_row row, int32_t place)
{
    return row.weights ? (double)row.weights[place] : 1;
}

/* The users from number `first` on, as many as a pass takes, and their part of the
 * work. */
ease__left_rows ease__left_batch(const ease__left_rows *users, int64_t first);
ease__portion ease__left_portion(const ease__left_rows *users, int64_t first);

/* The places in the two parts of a row that a pass has reached. */
typedef struct ease__places {
    int32_t input, target;
    int32_t next_input, next_target; /* the items there; INT32_MAX: none */
} ease__places;

static inline int32_t ease__item_at(ease_row row, int32_t place, int32_t end)
{
    return place < end ? row.items[place] : INT32_MAX;
}

static inline ease__places ease__first_places(ease_row row, int32_t inputs)
{
    return (ease__places){.target = inputs,
                          .next_input = ease__item_at(row, 0, inputs),
                          .next_target = ease__item_at(row, inputs, row.count)};
}

static inline void ease__pass_input(ease__places *p, ease_row row, int32_t inputs)
{
    p->next_input = ease__item_at(row, ++p->input, inputs);
}

static inline void ease__pass_target(ease__places *p, ease_row row)
{
    p->next_target = ease__item_at(row, ++p->target, row.count);
}

#endif
