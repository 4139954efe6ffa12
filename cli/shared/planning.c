#include "planning.h"

#include <stdio.h>

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

static double seconds_of(const ease_plan *p)
{
    return p->gram_seconds + p->solve_seconds + p->write_seconds;
}

void note_plan(console *c, const ease_plan *p)
{
    char memory[NUMBER_CHARS], disk[NUMBER_CHARS], took[NUMBER_CHARS],
        have[NUMBER_CHARS], solves[NUMBER_CHARS] = "";

    if (p->solves > 1)
        snprintf(solves, sizeof(solves), " for some %lld solves", (long long)p->solves);
    note(c, "plan: %s of memory (%s available), about %s%s, %s on disk",
         format_bytes(memory, sizeof(memory), p->peak_bytes),
         p->available_bytes ? format_bytes(have, sizeof(have), p->available_bytes)
                            : "unknown",
         format_seconds(took, sizeof(took), seconds_of(p)), solves,
         format_bytes(disk, sizeof(disk), p->model_bytes));
    if (p->traffic_bytes)
        note(c, "plan: the matrix in a work file of %s, %s read and written",
             format_bytes(disk, sizeof(disk), p->work_bytes),
             format_bytes(memory, sizeof(memory), p->traffic_bytes));
}

smaller_plan find_smaller(const ease_interactions *x, const ease_plan *p,
                          const ease_train_options *o)
{
    const char *name = o->method ? o->method : ease_method_at(0)->name;
    smaller_plan s = {ease_method_find(name)->smaller, {.size = sizeof(s.plan)}};
    ease_train_options used = *o;
    ease_status status;

    if (!s.method || (!x && p->interactions < 1))
        return (smaller_plan){0};
    used.method = s.method;
    used.settings = NULL;
    used.kind = EASE_GRAM_COUNTS;
    status = x ? ease_plan_data(x, &used, EASE_STORE_SPARSE, &s.plan, NULL)
               : ease_plan_sizes(p->users, p->items, p->interactions, &used,
                                 EASE_STORE_SPARSE, &s.plan, NULL);
    return status ? (smaller_plan){0} : s;
}

/* "; --model ease-sparse needs 1.2 GB of memory and about 40 s", if that fits. */
static void name_smaller(const smaller_plan *s, char *to, size_t size)
{
    char need[NUMBER_CHARS], took[NUMBER_CHARS];

    to[0] = '\0';
    if (s && s->method && s->plan.fits)
        snprintf(to, size, "; --model %s needs %s of memory and about %s", s->method,
                 format_bytes(need, sizeof(need), s->plan.peak_bytes),
                 format_seconds(took, sizeof(took), seconds_of(&s->plan)));
}

int refuse_plan(console *c, const ease_plan *p, bool workdir,
                const smaller_plan *smaller)
{
    char other[160];
    char need[NUMBER_CHARS], have[NUMBER_CHARS], items[NUMBER_CHARS];
    char least[NUMBER_CHARS], work[NUMBER_CHARS];

    name_smaller(smaller, other, sizeof(other));
    format_count(items, sizeof(items), p->items);
    if (p->device_available_bytes && p->device_bytes > p->device_available_bytes)
        return fail(c, EXIT_MEMORY,
                    "%s items need %s of the device's memory, %s are available there; "
                    "--min-item leaves out rare items",
                    items, format_bytes(need, sizeof(need), p->device_bytes),
                    format_bytes(have, sizeof(have), p->device_available_bytes));
    format_bytes(need, sizeof(need), p->peak_bytes);
    format_bytes(have, sizeof(have), p->available_bytes);
    if (p->solves > 1)
        return fail(c, EXIT_MEMORY,
                    "choosing lambda for %s items takes %s of memory, %s are "
                    "available; --lambda L takes at least %s less%s%s",
                    items, need, have,
                    format_bytes(least, sizeof(least), p->matrix_bytes),
                    workdir ? ", and can use --workdir" : "", other);
    if (workdir || !p->work_bytes || p->least_bytes > p->available_bytes)
        return fail(c, EXIT_MEMORY,
                    "%s items need %s of memory%s, %s are available; --min-item leaves "
                    "out rare items%s",
                    items, need, workdir ? " beside a work file" : "", have, other);
    return fail(c, EXIT_MEMORY,
                "%s items need %s of memory, %s are available; --min-item leaves out "
                "rare items, --workdir DIR needs %s and %s on disk%s",
                items, need, have, format_bytes(least, sizeof(least), p->least_bytes),
                format_bytes(work, sizeof(work), p->work_bytes), other);
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
