/* A pass over all columns of a matrix for many histories: each panel of columns is
 * copied once and then used for all of them. */
#ifndef EASE_SCORE_SWEEP_H
#define EASE_SCORE_SWEEP_H

#include "model/model.h"

/* The most histories of a pass. */
enum { EASE__SWEEP_USERS = 1 << 17 };

/* Columns left .. right-1, in the rows that the histories have: row i begins at number
 * i x EASE__PANEL of `numbers`. */
typedef struct ease__panel {
    const void *numbers;
    int32_t left, right;
} ease__panel;

/* What is done in a pass. */
typedef struct ease__sweep_work {
    /* Writes a window of the matrix, row r of it to `out` + r x ld numbers. */
    void (*take)(const ease_model *m, ease__window w, void *out, size_t ld);
    size_t bytes; /* of a number */
    /* Uses a panel for the histories from .. to-1. Each history gets all panels, one
     * after the other. Several threads call it, for different histories. */
    void (*use)(void *user, const ease__panel *p, int64_t from, int64_t to);
    void *user;
    const char *stage; /* of the progress */
} ease__sweep_work;

/* The buffers of passes. */
typedef struct ease__sweep {
    const ease_model *model; /* whose file is verified where the matrix is read */
    const ease__store *store;
    ease__sweep_work work;
    int threads;
    const ease_hooks *hooks;
    size_t stripe_bytes;
    void *stripe[2];
    uint8_t *used;
    struct ease__sweep_rows *runs;
} ease__sweep;

/* Allocates the buffers, which ease__sweep_free() frees even after a failure. Fails
 * with EASE_E_NOMEM. */
ease_status ease__sweep_new(const ease_model *m, const ease__sweep_work *work,
                            int threads, const ease_hooks *hooks, ease__sweep *out,
                            ease_error *err);
void ease__sweep_free(ease__sweep *s);
size_t ease__sweep_bytes(int32_t items, size_t number);

/* A share of the work: that before it, and its own, 0 .. 1. */
typedef struct ease__portion {
    double done, step;
} ease__portion;

/* Makes one pass for at most EASE__SWEEP_USERS histories. Verifies what it reads of the
 * model's file, and fails with EASE_E_FORMAT or EASE_E_IO, or EASE_E_CANCELLED. */
ease_status ease__sweep_run(ease__sweep *s, const ease_row *histories, int64_t count,
                            ease__portion portion, ease_error *err);

#endif
