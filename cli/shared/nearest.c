#include "nearest.h"

#include <stdio.h>
#include <string.h>

/* Longer words are not compared: they are not typing errors. */
enum { LENGTH_MOST = 64 };

static int least_of(int a, int b)
{
    return a < b ? a : b;
}

/* The number of letters to add, drop, change or swap with the next one, to get from
 * a to b. */
static int edit_distance(const char *a, size_t m, const char *b, size_t n)
{
    int rows[3][LENGTH_MOST + 1], *before = rows[0], *last = rows[1], *now = rows[2];

    for (size_t j = 0; j <= n; j++)
        last[j] = (int)j;
    for (size_t i = 1; i <= m; i++) {
        int *spare = before;

        now[0] = (int)i;
        for (size_t j = 1; j <= n; j++) {
            now[j] = least_of(last[j], now[j - 1]) + 1;
            now[j] = least_of(now[j], last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least_of(now[j], before[j - 2] + 1);
        }
        before = last;
        last = now;
        now = spare;
    }
    return last[n];
}

void nearest_offer(nearest *n, const char *candidate)
{
    size_t length = strlen(n->word), other = strlen(candidate);
    size_t gap = length > other ? length - other : other - length;
    int most = least_of((int)(length + 2) / 3, 3), distance, at;

    if (length > LENGTH_MOST || other > LENGTH_MOST || gap > (size_t)most)
        return;
    distance = edit_distance(n->word, length, candidate, other);
    if (distance > most || distance >= (int)length)
        return;
    at = n->count < NEAREST_MOST ? n->count++ : NEAREST_MOST;
    for (; at > 0 && n->distance[at - 1] > distance; at--)
        if (at < NEAREST_MOST) {
            n->distance[at] = n->distance[at - 1];
            n->found[at] = n->found[at - 1];
        }
    if (at == NEAREST_MOST)
        return;
    n->distance[at] = distance;
    n->found[at] = candidate;
}

const char *nearest_phrase(const nearest *n, const char *prefix, char *to, size_t size)
{
    size_t put = 0;

    *to = '\0';
    for (int i = 0; i < n->count && put < size; i++) {
        const char *joint = i == 0             ? "; did you mean "
                            : i < n->count - 1 ? ", "
                                               : " or ";

        put += (size_t)snprintf(to + put, size - put, "%s%s%s%s", joint, prefix,
                                n->found[i], i == n->count - 1 ? "?" : "");
    }
    return to;
}
