/* "Did you mean ...?" */
#ifndef EASE_CLI_SHARED_NEAREST_H
#define EASE_CLI_SHARED_NEAREST_H

#include <stddef.h>

enum { NEAREST_MOST = 3 };

/* The candidates nearest to a word, nearest first, the earlier of equal ones first. */
typedef struct nearest {
    const char *word;
    const char *found[NEAREST_MOST]; /* borrowed */
    int distance[NEAREST_MOST];
    int count;
} nearest;

void nearest_offer(nearest *n, const char *candidate);
/* Writes "; did you mean a, b or c?", or nothing. Returns `to`. */
const char *nearest_phrase(const nearest *n, const char *prefix, char *to, size_t size);

#endif
