/* The tokens that clients may have: one on each line of a file. */
#ifndef EASE_SERVER_TOKENS_H
#define EASE_SERVER_TOKENS_H

#include <stdbool.h>

#include "problem.h"

typedef struct tokens tokens;

/* Reads the file. Blank lines and lines that begin with '#' are no tokens. Fails with a
 * message in `p` if it cannot be read, has no token, has one that is shorter than 16
 * bytes or longer than 255 or has blanks, or if others may read the file. */
tokens *tokens_open(const char *path, problem *p);
/* Reads the file again; if that fails, the tokens stay as they are. */
bool tokens_reload(tokens *t, problem *p);
void tokens_close(tokens *t);

/* True if the value of a header Authorization is "Bearer TOKEN" with one of them. The
 * time that this takes does not depend on how much of a token is right. */
bool tokens_allow(tokens *t, const char *authorization);

#endif
