/* Benchmarks of updating a model, and of leaving users out of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "benching.h"

/* ---- rows of some users ------------------------------------------------------- */

enum { UPDATED = 100 }; /* users who come, leave or change */

/* Ids as one text, which grows. */
typedef struct id_text {
    FILE *to;
    char *bytes;
    size_t length;
    int64_t *offsets, count;
} id_text;

static bool ids_begin(id_text *t, int64_t most)
{
    *t = (id_text){.offsets = calloc((size_t)most + 1, sizeof(*t->offsets))};
    t->to = open_memstream(&t->bytes, &t->length);
    return t->to && t->offsets;
}

static void ids_add(id_text *t, const char *prefix, const char *id)
{
    int length = fprintf(t->to, "%s%s", prefix, id);

    t->offsets[t->count + 1] = t->offsets[t->count] + (length > 0 ? length : 0);
    t->count++;
}

/* False: no memory. */
static bool ids_end(id_text *t)
{
    bool done = t->to && fclose(t->to) == 0;

    t->to = NULL;
    return done;
}

static void ids_free(id_text *t)
{
    if (t->to)
        fclose(t->to);
    free(t->bytes);
    free(t->offsets);
}

/* The users first, first + step, ... */
typedef struct sample {
    int64_t first, step, count;
} sample;

static int64_t user_at(const bench *b, sample s, int64_t k)
{
    return (s.first + k * s.step) % b->users;
}

/* Adds the ids of each interaction of the rows. */
static void add_rows(const bench *b, sample rows, sample ids, const char *prefix,
                     id_text *users, id_text *items)
{
    for (int64_t k = 0; k < rows.count; k++) {
        ease_row row = ease_interactions_row(b->x, user_at(b, rows, k));

        for (int32_t i = 0; i < row.count; i++) {
            ids_add(users, prefix, ease_interactions_user_id(b->x, user_at(b, ids, k)));
            ids_add(items, "", ease_interactions_item_id(b->x, row.items[i]));
        }
    }
}

/* Makes data of the rows of some users, with a prefix before the ids of other ones. */
static int take_rows(const bench *b, sample rows, sample ids, const char *prefix,
                     ease_interactions **out)
{
    id_text users = {0}, items = {0};
    int64_t nnz = 0;
    ease_error err;
    int code = EXIT_DONE;

    for (int64_t k = 0; k < rows.count; k++)
        nnz += ease_interactions_row(b->x, user_at(b, rows, k)).count;
    if (ids_begin(&users, nnz) && ids_begin(&items, nnz))
        add_rows(b, rows, ids, prefix, &users, &items);
    else
        code = fail_no_memory(b->console);
    if (!code && (!ids_end(&users) || !ids_end(&items)))
        code = fail_no_memory(b->console);
    if (!code &&
        ease_interactions_from_table(
            nnz, &(ease_id_column){NULL, users.bytes, users.offsets},
            &(ease_id_column){NULL, items.bytes, items.offsets}, NULL, NULL, out, &err))
        code = fail_with(b->console, &err);
    ids_free(&users);
    ids_free(&items);
    return code;
}

/* ---- updates ------------------------------------------------------------------ */

/* The same users come, leave, and change: each gets the row of the next one. */
enum { COME, LEAVE, CHANGE, CHANGES };
static const char *const names[CHANGES] = {"update-come", "update-leave",
                                           "update-change"};

typedef struct updating {
    ease_interactions *was[CHANGES], *now[CHANGES];
    bench_record *records[CHANGES];
    ease_update_info info[CHANGES];
    double bytes[CHANGES];
} updating;

static int draw_changes(const bench *b, updating *u)
{
    int64_t half = b->users / 2, count = half < UPDATED ? half : UPDATED;
    sample some = {.step = b->users / (count > 0 ? count : 1),
                   .count = count > 0 ? count : 1};
    sample next = some;
    int code;

    next.first = 1;
    code = take_rows(b, some, some, "new ", &u->now[COME]);
    if (!code)
        code = take_rows(b, some, some, "", &u->was[LEAVE]);
    if (!code)
        code = take_rows(b, some, some, "", &u->was[CHANGE]);
    return code ? code : take_rows(b, next, some, "", &u->now[CHANGE]);
}

static int update_once(const bench *b, updating *u, int k)
{
    double before = bench_memory("VmRSS:"), began;
    bool counted = bench_forget_peak();
    ease_update_options o;
    ease_model *next = NULL;
    ease_error err;

    ease_update_options_init(&o);
    o.threads = (int)b->common->threads;
    o.hooks = console_hooks(b->console);
    u->info[k].size = sizeof(u->info[k]);
    began = seconds_now();
    if (ease_model_update(b->model, u->was[k], u->now[k], &o, &next, &u->info[k], &err))
        return fail_with(b->console, &err);
    bench_record_run(u->records[k], seconds_now() - began);
    phase_end(b->console, "updating");
    u->bytes[k] = counted ? bench_memory("VmHWM:") - before : NAN;
    ease_model_free(next);
    return EXIT_DONE;
}

static void finish_record(const bench *b, const updating *u, int k)
{
    bench_record *r = u->records[k];
    double seconds = r->amount / r->rate, n = (double)b->items;

    r->amount = n * n * (double)u->info[k].rank;
    r->rate = r->amount / seconds;
    if (b->sgemm > 0) {
        r->limit = "sgemm";
        r->limit_rate = b->sgemm;
    }
    bench_record_fact(r, "rank", (double)u->info[k].rank);
    bench_record_fact(r, "residual", u->info[k].residual);
    bench_record_fact(r, "deviation", u->info[k].deviation);
    bench_record_fact(r, "bytes", u->bytes[k]);
    bench_record_fact(r, "bytes_an_entry", u->bytes[k] / n / n);
}

int bench_run_update(bench *b)
{
    updating u = {0};
    int code = bench_need_model(b);

    if (!code)
        code = draw_changes(b, &u);
    for (int k = 0; !code && k < CHANGES; k++)
        u.records[k] = bench_record_new(b, names[k], "flop", 1);
    for (int i = 0; !code && i < b->repeat * CHANGES; i++)
        code = update_once(b, &u, i % CHANGES);
    for (int k = 0; !code && k < CHANGES; k++)
        finish_record(b, &u, k);
    for (int k = 0; k < CHANGES; k++) {
        ease_interactions_free(u.was[k]);
        ease_interactions_free(u.now[k]);
    }
    return code;
}

/* ---- leaving users out -------------------------------------------------------- */

static int leave_once(const bench *b, double *seconds, ease_report_info *info)
{
    ease_leave_options o;
    ease_report *made = NULL;
    double began = seconds_now();
    ease_error err;

    ease_leave_options_init(&o);
    o.metrics = "ndcg@100"; /* lists are as long as those of recommending */
    o.threads = (int)b->common->threads;
    o.hooks = console_hooks(b->console);
    if (ease_leave_one_out(b->model, b->x, &o, &made, &err))
        return fail_with(b->console, &err);
    *seconds = seconds_now() - began;
    phase_end(b->console, "leaving users out");
    ease_report_describe(made, info);
    ease_report_free(made);
    return EXIT_DONE;
}

/* By turns with recommending to all users from the same model. */
int bench_run_leave(bench *b)
{
    bench_record *r = bench_record_new(b, "leave", "users", (double)b->users);
    ease_report_info info = {.size = sizeof(info)};
    double seconds = 0;
    int code = bench_need_model(b);

    r->limit = "recommend";
    for (int i = 0; !code && i < b->repeat; i++) {
        code = bench_list_once(b, b->model, &seconds);
        if (!code && r->amount / seconds > r->limit_rate)
            r->limit_rate = r->amount / seconds;
        if (!code)
            code = leave_once(b, &seconds, &info);
        if (!code)
            bench_record_run(r, seconds);
    }
    bench_record_fact(r, "recommend", r->limit_rate);
    bench_record_fact(r, "evaluated", (double)info.users);
    bench_record_fact(r, "refused", (double)info.refused);
    return code;
}
