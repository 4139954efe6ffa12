#include "tokens.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { LEAST_BYTES = 16, MOST_BYTES = 255, MOST_TOKENS = 256 };

typedef struct token {
    char text[MOST_BYTES + 1]; /* zero-filled */
} token;

struct tokens {
    const char *path;
    pthread_rwlock_t lock;
    token *token;
    int count;
};

static bool check_mode(FILE *f, const char *path, problem *p)
{
    struct stat st;

    if (fstat(fileno(f), &st) != 0)
        return problem_note(p, PROBLEM_internal, "%s: %s", path, strerror(errno));
    if (st.st_mode & S_IRWXO)
        return problem_note(p, PROBLEM_internal,
                            "%s: other users may read or write the tokens: chmod o= %s",
                            path, path);
    return true;
}

static bool add_token(const char *path, int line, const char *text, token *list,
                      int *count, problem *p)
{
    size_t length = strlen(text);

    if (length == 0 || text[0] == '#')
        return true;
    if (length < LEAST_BYTES || length > MOST_BYTES)
        return problem_note(p, PROBLEM_internal,
                            "%s:%d: a token must have %d to %d characters: 'openssl "
                            "rand -hex 32' makes one",
                            path, line, LEAST_BYTES, MOST_BYTES);
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return problem_note(p, PROBLEM_internal,
                                "%s:%d: a token must consist of printable ASCII "
                                "characters without blanks",
                                path, line);
    if (*count == MOST_TOKENS)
        return problem_note(p, PROBLEM_internal, "%s: more than %d tokens", path,
                            MOST_TOKENS);
    memcpy(list[(*count)++].text, text, length);
    return true;
}

static bool read_tokens(FILE *f, const char *path, token *list, int *count, problem *p)
{
    char *line = NULL;
    size_t size = 0;
    bool fine = check_mode(f, path, p);

    for (int number = 1; fine && getline(&line, &size, f) >= 0; number++) {
        line[strcspn(line, "\r\n")] = '\0';
        fine = add_token(path, number, line, list, count, p);
    }
    free(line);
    if (fine && *count == 0)
        return problem_note(p, PROBLEM_internal, "%s: contains no token", path);
    return fine;
}

bool tokens_reload(tokens *t, problem *p)
{
    FILE *f = fopen(t->path, "re");
    token *list = calloc(MOST_TOKENS, sizeof(*list)), *old;
    int count = 0;
    bool fine;

    if (!f || !list) {
        problem_note(p, PROBLEM_internal, "%s: cannot read the tokens: %s", t->path,
                     strerror(errno));
        if (f)
            fclose(f);
        free(list);
        return false;
    }
    fine = read_tokens(f, t->path, list, &count, p);
    fclose(f);
    old = list;
    if (fine) {
        pthread_rwlock_wrlock(&t->lock);
        old = t->token;
        t->token = list;
        t->count = count;
        pthread_rwlock_unlock(&t->lock);
    }
    free(old);
    return fine;
}

tokens *tokens_open(const char *path, problem *p)
{
    tokens *t = calloc(1, sizeof(*t));

    if (!t) {
        problem_note_memory(p);
        return NULL;
    }
    t->path = path;
    pthread_rwlock_init(&t->lock, NULL);
    if (tokens_reload(t, p))
        return t;
    tokens_close(t);
    return NULL;
}

void tokens_close(tokens *t)
{
    if (!t)
        return;
    pthread_rwlock_destroy(&t->lock);
    free(t->token);
    free(t);
}

/* 0 if the two are equal. Reads all bytes of both. */
static unsigned differ(const token *a, const token *b)
{
    volatile unsigned bits = 0;

    for (int i = 0; i < MOST_BYTES; i++)
        bits = bits | (unsigned)(a->text[i] ^ b->text[i]);
    return bits;
}

bool tokens_allow(tokens *t, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    token given = {.text = ""};
    unsigned found = 0;

    if (!authorization || strncasecmp(authorization, scheme, strlen(scheme)) != 0)
        return false;
    authorization += strlen(scheme);
    authorization += strspn(authorization, " ");
    if (!*authorization || strlen(authorization) > MOST_BYTES)
        return false;
    memcpy(given.text, authorization, strlen(authorization));
    pthread_rwlock_rdlock(&t->lock);
    for (int i = 0; i < t->count; i++)
        found |= differ(&given, &t->token[i]) == 0;
    pthread_rwlock_unlock(&t->lock);
    return found != 0;
}
