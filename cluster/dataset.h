/* The interactions of a training, of which every process has a share of the users. */
#ifndef EASE_CLUSTER_DATASET_H
#define EASE_CLUSTER_DATASET_H

#include "gram/gram.h"
#include "group.h"

typedef struct dataset {
    const group *group;
    ease_gram_info info;     /* of X'X of all users */
    ease_interactions *rows; /* of the users of this process, in order; without ids */
    ease__ids ids;           /* of the items; borrowed from `packed` */
    void *packed;
    size_t packed_bytes;
    double *sums;  /* of the columns of X */
    uint64_t hash; /* of the rows of all users, and of the ids */
    int32_t strip; /* rows of X'X that are counted at once */
    bool quiet;
} dataset;

/* Process 0 reads the file or files as ease_interactions_read() does, numbers users and
 * items, and sends each process its users: consecutive ones, about as many interactions
 * for each. The other processes need not see the files. Fails as reading does. */
ease_status dataset_read(dataset *d, const char *path, const ease_read_options *o,
                         ease_error *err);
void dataset_free(dataset *d);

/* Bytes of the rows of this process. */
size_t dataset_bytes(const dataset *d);
/* Copies all that is known of X'X beside its tiles. */
ease_status dataset_head(const dataset *d, ease_gram *g, ease_error *err);

#endif
