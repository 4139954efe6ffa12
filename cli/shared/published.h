/* The figures of the paper's tables, and the places of its data. */
#ifndef EASE_CLI_SHARED_PUBLISHED_H
#define EASE_CLI_SHARED_PUBLISHED_H

enum { MOST_SETS = 3, MOST_FIGURES = 3 };

typedef struct published_model {
    const char *model; /* as ease names it, or would */
    /* By set and metric; NAN: none was published. */
    double figure[MOST_SETS][MOST_FIGURES];
} published_model;

typedef struct published_table {
    const char *name;              /* "table1" */
    const char *title;             /* title of the table */
    const char *metrics;           /* "recall@20,recall@50,ndcg@100" */
    const char *metric;            /* the metric that chooses lambda */
    const char *sets[MOST_SETS];   /* recipes; NULL past the last */
    const published_model *models; /* ended by one without a name */
} published_table;

/* Returns NULL if there is no table of this name. */
const published_table *published_find(const char *name);
/* Returns NULL if the paper does not have the model. */
const published_model *published_of(const published_table *t, const char *model);

/* The places of a recipe's data within a directory, in the order of the search,
 * ended by NULL; and where it can be downloaded. */
const char *const *published_places(const char *recipe);
const char *published_source(const char *recipe);

#endif
