/* Trains a model from a Gram file or from data, over all processes of a group. */
#ifndef EASE_CLUSTER_TRAINING_H
#define EASE_CLUSTER_TRAINING_H

#include "group.h"

typedef struct train_order {
    const char *gram; /* NULL: from data */
    const char *data, *output;
    ease_read_options reading; /* of the data */
    bool reads;                /* options of reading were given */
    ease_train_options options;
    ease_storage storage;
    size_t memory_limit; /* of each process; 0: what its machine has, shared */
    int threads;         /* of each process */
    bool quiet, verbose;
    const char *workdir;       /* of checkpoints; NULL: none are kept */
    double checkpoint_minutes; /* from one to the next */
} train_order;

/* All processes call this, with the same order. */
ease_status train_cluster(const group *g, const train_order *order, ease_error *err);

#endif
