/* Checkpoints of the sweep, in a directory that all machines share: the tiles after
 * some step, from which the same training goes on with any number of processes.
 *
 * There are two generations: one is replaced while the other one is complete. Each
 * process writes its tiles to a file of its own. The manifest gets its name when all of
 * them are synced; it has the grid of the processes, and a hash of each tile. */
#ifndef EASE_CLUSTER_CHECKPOINT_H
#define EASE_CLUSTER_CHECKPOINT_H

#include "share.h"
#include "workdir.h"

enum { CHECKPOINT_GENERATIONS = 2 };

/* What the tiles are computed from. The bytes are compared. */
typedef struct checkpoint_training {
    uint64_t matrix; /* a hash of X'X */
    double lambda;
    int32_t items, edge;
    uint32_t kind; /* ease_gram_kind */
    uint32_t wide; /* 1: float64 was asked for, and not only used in the end */
} checkpoint_training;

/* Section "params" of a manifest. */
typedef struct checkpoint_params {
    checkpoint_training training;
    uint64_t number;       /* each checkpoint has a larger one than the one before it */
    int32_t rows, columns; /* of the grid of processes that have written the tiles */
    int32_t step;          /* steps of the sweep that are done */
    uint32_t element;      /* of the tiles: ease__element */
    char core[32];         /* processor whose kernels OpenBLAS has used */
} checkpoint_params;

typedef struct checkpoint {
    const group *group;
    workdir dir;    /* without a path there are no checkpoints */
    double seconds; /* from one checkpoint to the next */
    bool verbose;
    int32_t step; /* steps that the tiles which were loaded have behind them; 0: none */
    /* The rest is of checkpoint.c. */
    checkpoint_training training;
    checkpoint_params found[CHECKPOINT_GENERATIONS]; /* step 0: there is none */
    const double *diagonal, *product;                /* borrowed */
    double last; /* time of the last one, or when the sweep began */
} checkpoint;

/* All processes call these functions, in the same order, except checkpoint_due. With
 * c->dir.path NULL they do nothing. */

/* Takes the directory for this run and looks for checkpoints in it. c->group, dir.path,
 * seconds and verbose are set, all else is zero. Fails with EASE_E_DATA if there is one
 * of another training, EASE_E_IO if the directory cannot be used, is used by another
 * run, or is not the same on all machines. Free with checkpoint_end(), also after a
 * failure. */
ease_status checkpoint_begin(checkpoint *c, const checkpoint_training *training,
                             ease_error *err);
/* Lets other runs use the directory; checkpoints stay. */
void checkpoint_end(checkpoint *c);
/* Removes the checkpoints. */
void checkpoint_remove(checkpoint *c);

/* True if the newest checkpoint is of a solve in float64. */
bool checkpoint_is_wide(const checkpoint *c);
/* Fails with EASE_E_IO if there is no space for two generations of these tiles. */
ease_status checkpoint_check_space(const checkpoint *c, const share *s,
                                   ease_error *err);

/* Reads the newest checkpoint that is not damaged, and sets c->step: the tiles of this
 * process, the diagonal of X'X and the product A v, of n numbers each. Without one,
 * c->step is 0, and the tiles have any values if a damaged one was found. Borrows the
 * vectors for the checkpoints that will be written. */
ease_status checkpoint_load(checkpoint *c, const share *s, double *diagonal,
                            double *product, ease_error *err);

/* True if it is time for a checkpoint, by the clock of the process that calls this. */
bool checkpoint_due(const checkpoint *c);
/* Writes the tiles as they are after `step` steps; no task may be under way. A failure
 * is a line on stderr: the training goes on, and the older generation stays. */
void checkpoint_save(checkpoint *c, const share *s, int32_t step);

#endif
