/* The index of ids and titles, for searching while somebody types. */
#ifndef EASE_SERVER_CATALOG_H
#define EASE_SERVER_CATALOG_H

#include <stdbool.h>

#include "ease.h"
#include "problem.h"

/* Limits on a text that is searched for: each of its words may be looked for in every
 * item. */
enum { CATALOG_CHARACTERS = 256, CATALOG_WORDS = 16 };

typedef struct catalog catalog;

/* Indexes the items of a model, which is borrowed. Returns NULL if there is no
 * memory. */
catalog *catalog_new(const ease_model *m);
void catalog_free(catalog *c);

/* Finds the `k` best items for a text, regardless of case and accents, and writes them
 * to `items`. The order: ids and titles that are the text, that begin with it, that
 * have a word which begins with it (or, for several words, words that begin with each
 * of them), that contain it; then by popularity. An empty text finds all items. *more:
 * there are others. Returns their number, or -1 after noting a problem: no memory, or
 * more than CATALOG_CHARACTERS characters or CATALOG_WORDS different words. */
int32_t catalog_search(const catalog *c, const char *text, int32_t k, int32_t *items,
                       bool *more, problem *p);

#endif
