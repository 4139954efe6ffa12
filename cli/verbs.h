/* The verbs. A new verb is a file that defines verb_NAME, and a line here. */
#ifndef EASE_CLI_VERBS_H
#define EASE_CLI_VERBS_H

#include "options.h"

#define VERBS(X) \
    X(train)     \
    X(update)    \
    X(forget)    \
    X(recommend) \
    X(similar)   \
    X(explain)   \
    X(eval)      \
    X(tune)      \
    X(compare)   \
    X(reproduce) \
    X(plot)      \
    X(gram)      \
    X(serve)     \
    X(plan)      \
    X(info)      \
    X(split)     \
    X(synth)     \
    X(export)    \
    X(journal)   \
    X(bench)     \
    X(help)      \
    X(generate)

#define X(name) extern const verb verb_##name;
VERBS(X)
#undef X

/* All verbs, ended by NULL. */
extern const verb *const all_verbs[];

/* Returns the verb of this name, or NULL after a message. */
const verb *find_verb(console *c, const char *name);
void print_overview(FILE *to);

#endif
