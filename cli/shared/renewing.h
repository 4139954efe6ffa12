/* Solving a model anew, from the data as they are now, as it was trained before. */
#ifndef EASE_CLI_SHARED_RENEWING_H
#define EASE_CLI_SHARED_RENEWING_H

#include "files.h"

/* What a model can be solved from; at most one is given. */
typedef struct renewing_args {
    const char *data, *gram;
    size_t memory_limit, device_memory;
    const char *workdir, *backend;
} renewing_args;

/* The data, once they were read, and the plan for them. Starts as {0}. */
typedef struct renewal {
    bool possible;    /* there are data, or a Gram file that gram_serves */
    bool gram_serves; /* such a model can be solved from a Gram file */
    ease_interactions *data;
    ease_gram_info gram;
    ease_plan plan;
} renewal;

/* Plans a solve with the settings of `m`, and reads the data for it. Says so if the
 * Gram file cannot be used for it; fails with EXIT_DATA if it is of data without
 * weights, and `m` of data with weights. */
int renewal_plan(console *c, const common_args *common, const reading_args *reading,
                 const renewing_args *a, const ease_model *m, renewal *r);
/* The options that would make a solve possible, as text. */
const char *renewal_sources(const renewal *r);
/* The time of the solve, from the data to the model. */
double renewal_seconds(const renewal *r);
/* Solves, and gives the model the titles and tags of `m`. */
int renewal_solve(console *c, const common_args *common, const renewing_args *a,
                  const ease_model *m, const renewal *r, ease_model **out);
void renewal_free(renewal *r);

#endif
