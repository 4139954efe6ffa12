#include "planning.h"

#include "results.h"

const char *name_of_kind(ease_gram_kind kind)
{
    static const char *const names[] = {"counts", "covariance", "correlation"};

    return names[kind];
}

const char *name_of_precision(ease_precision precision)
{
    return precision == EASE_F64 ? "f64" : "f32";
}

const char *backend_name(int index)
{
    const ease_backend_info *b = ease_backend_at(index);

    return b ? b->name : NULL;
}

int check_backend(console *c, const char *name)
{
    ease_error err;

    return ease_backend_check(name, &err) ? fail_with(c, &err) : EXIT_DONE;
}

void note_plan(console *c, const ease_plan *p)
{
    char memory[NUMBER_CHARS], disk[NUMBER_CHARS], took[NUMBER_CHARS],
        have[NUMBER_CHARS];

    note(c, "plan: %s of memory (%s available), about %s, %s on disk",
         format_bytes(memory, sizeof(memory), p->peak_bytes),
         p->available_bytes ? format_bytes(have, sizeof(have), p->available_bytes)
                            : "unknown",
         format_seconds(took, sizeof(took),
                        p->gram_seconds + p->solve_seconds + p->write_seconds),
         format_bytes(disk, sizeof(disk), p->model_bytes));
    if (p->traffic_bytes)
        note(c, "plan: the matrix in a work file of %s, %s read and written",
             format_bytes(disk, sizeof(disk), p->work_bytes),
             format_bytes(memory, sizeof(memory), p->traffic_bytes));
}

int refuse_plan(console *c, const ease_plan *p, bool workdir)
{
    char need[NUMBER_CHARS], have[NUMBER_CHARS], items[NUMBER_CHARS];
    char least[NUMBER_CHARS], work[NUMBER_CHARS];

    format_count(items, sizeof(items), p->items);
    if (p->device_available_bytes && p->device_bytes > p->device_available_bytes)
        return fail(c, EXIT_MEMORY,
                    "%s items need %s of the device's memory, %s are available there; "
                    "--min-item leaves out rare items",
                    items, format_bytes(need, sizeof(need), p->device_bytes),
                    format_bytes(have, sizeof(have), p->device_available_bytes));
    format_bytes(need, sizeof(need), p->peak_bytes);
    format_bytes(have, sizeof(have), p->available_bytes);
    if (workdir || p->least_bytes > p->available_bytes)
        return fail(c, EXIT_MEMORY,
                    "%s items need %s of memory%s, %s are available; --min-item leaves "
                    "out rare items",
                    items, need, workdir ? " beside a work file" : "", have);
    return fail(c, EXIT_MEMORY,
                "%s items need %s of memory, %s are available; --min-item leaves out "
                "rare items, --workdir DIR needs %s and %s on disk",
                items, need, have, format_bytes(least, sizeof(least), p->least_bytes),
                format_bytes(work, sizeof(work), p->work_bytes));
}

void note_gram(console *c, const char *path, const ease_gram_info *info)
{
    char items[NUMBER_CHARS], users[NUMBER_CHARS], pairs[NUMBER_CHARS];

    format_count(items, sizeof(items), info->items);
    if (info->users < 0)
        note(c, "%s: %s items, %s", path, items,
             info->weighted ? "weighted" : "counts");
    else
        note(c, "%s: %s items, %s users, %s interactions, %s", path, items,
             format_count(users, sizeof(users), info->users),
             info->interactions < 0
                 ? "unknown"
                 : format_count(pairs, sizeof(pairs), info->interactions),
             info->weighted ? "weighted" : "counts");
}
