#include <string.h>

#include "console.h"
#include "results.h"

/* If there are too many phases, the time counts as "rest", which no phase has. */
void phase_end(console *c, const char *name)
{
    double now = seconds_now();
    int i = 0;

    while (i < c->phase_count && strcmp(c->phases[i].name, name) != 0)
        i++;
    if (i == c->phase_count && i < PHASES_MOST)
        c->phases[c->phase_count++] = (phase){.name = name};
    if (i < c->phase_count)
        c->phases[i].seconds += now - c->marked;
    c->marked = now;
}

static void note_phase(console *c, const char *name, double seconds, double all)
{
    char took[NUMBER_CHARS];

    note(c, "  %-24s %10s %5.1f %%", name, format_seconds(took, sizeof(took), seconds),
         all > 0 ? 100.0 * seconds / all : 0.0);
}

void phases_note(console *c)
{
    double all = seconds_now() - c->started, rest = all;

    note(c, "where the time went:");
    for (int i = 0; i < c->phase_count; i++) {
        note_phase(c, c->phases[i].name, c->phases[i].seconds, all);
        rest -= c->phases[i].seconds;
    }
    note_phase(c, "the rest", rest > 0 ? rest : 0, all);
    note_phase(c, "all", all, all);
}
