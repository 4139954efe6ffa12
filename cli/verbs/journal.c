#include <math.h>
#include <string.h>
#include <time.h>

#include "files.h"
#include "users.h"
#include "verbs.h"

typedef struct journal_args {
    common_args common;
    reading_args reading;
    const char *users, *output;
    int64_t after;
} journal_args;

#define AT(member) .at = offsetof(journal_args, member)

static const option applying_options[] = {
    {.name = "users",
     .type = OPTION_PATH,
     AT(users),
     .value = "DATA",
     .help = "apply the events to these interactions, and write the result to the file "
             "of --output"},
    {.name = "output",
     .letter = 'o',
     .type = OPTION_PATH,
     AT(output),
     .value = "FILE",
     .help = "the CSV file with the interactions after all events; - for standard "
             "output"},
    OPTIONS_END};

static const option listing_options[] = {
    {.name = "after",
     .type = OPTION_COUNT,
     AT(after),
     .value = "N",
     .help = "only events with a sequence number above N"},
    OPTIONS_END};

/* ---- listing --------------------------------------------------------------------- */

typedef struct listing {
    output_format format;
    uint64_t after;
    bool begun;
    json json;
} listing;

enum { TIME_CHARS = 32 };

/* The time as 2026-01-31T12:00:00.000Z. */
static const char *time_text(int64_t ms, char to[TIME_CHARS])
{
    int64_t part = (ms % 1000 + 1000) % 1000;
    time_t seconds = (time_t)((ms - part) / 1000);
    struct tm parts;
    size_t length;

    if (!gmtime_r(&seconds, &parts))
        memset(&parts, 0, sizeof(parts));
    length = strftime(to, TIME_CHARS, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(to + length, TIME_CHARS - length, ".%03dZ", (int)part);
    return to;
}

static const char *kind_text(const journal_event *e)
{
    return e->kind == JOURNAL_SET ? "set" : "remove";
}

static void put_text_row(const journal_event *e)
{
    char when[TIME_CHARS];

    printf("%8llu  %s  %-6s  ", (unsigned long long)e->sequence,
           time_text(e->time, when), kind_text(e));
    text_put(stdout, e->user);
    fputs("  ", stdout);
    text_put(stdout, e->item);
    if (e->kind == JOURNAL_SET)
        printf("  %.9g", (double)e->weight);
    putchar('\n');
}

static void put_csv_row(const journal_event *e)
{
    char when[TIME_CHARS];

    printf("%llu,%s,%s,", (unsigned long long)e->sequence, time_text(e->time, when),
           kind_text(e));
    csv_put(stdout, e->user);
    putchar(',');
    csv_put(stdout, e->item);
    if (e->kind == JOURNAL_SET)
        printf(",%.9g,", (double)e->weight);
    else
        fputs(",,", stdout);
    csv_put(stdout, e->event_id);
    putchar('\n');
}

static void put_json_row(listing *l, const journal_event *e)
{
    char when[TIME_CHARS];

    json_open(&l->json, NULL, '{');
    json_count(&l->json, "sequence", (int64_t)e->sequence);
    json_text(&l->json, "time", time_text(e->time, when));
    json_text(&l->json, "event", kind_text(e));
    json_text(&l->json, "user", e->user);
    json_text(&l->json, "item", e->item);
    if (e->kind == JOURNAL_SET)
        json_float(&l->json, "weight", e->weight);
    if (*e->event_id)
        json_text(&l->json, "event_id", e->event_id);
    json_close(&l->json, '}');
}

/* Before the first event: a path that is no journal gives no output. */
static void begin(listing *l)
{
    if (l->begun)
        return;
    l->begun = true;
    if (l->format == OUTPUT_CSV)
        puts("sequence,time,event,user,item,weight,event_id");
    if (l->format == OUTPUT_JSON)
        json_open(&l->json, NULL, '[');
}

static ease_status put_event(void *data, const journal_event *e, ease_error *err)
{
    listing *l = data;

    if (output_stopped())
        return journal_fail(err, EASE_E_CANCELLED, 0, "cancelled");
    if (e->sequence <= l->after)
        return EASE_OK;
    begin(l);
    if (l->format == OUTPUT_CSV)
        put_csv_row(e);
    else if (l->format == OUTPUT_JSON)
        put_json_row(l, e);
    else
        put_text_row(e);
    return EASE_OK;
}

static void note_journal(console *c, const char *path, const journal_info *info)
{
    char events[NUMBER_CHARS], size[NUMBER_CHARS];

    note(c, "%s: %s events, numbers %llu to %llu, in %lld segment%s of %s; journal %s",
         path,
         format_count(events, sizeof(events), (int64_t)(info->last + 1 - info->first)),
         (unsigned long long)info->first, (unsigned long long)info->last,
         (long long)info->segments, info->segments == 1 ? "" : "s",
         format_bytes(size, sizeof(size), info->bytes), info->id);
    if (info->torn)
        warn(c,
             "%s: the last %zu bytes are an incomplete event, which was never "
             "acknowledged; it is left out",
             info->torn_path, info->torn);
}

static int list(console *c, const journal_args *a)
{
    listing l = {.format = format_of(&a->common),
                 .after = (uint64_t)a->after,
                 .json = {.to = stdout}};
    journal_info info;
    ease_error err;
    const char *path = a->common.operands[0];
    ease_status status;

    status = journal_read(path, put_event, &l, &info, &err);
    if (status)
        return fail_with(c, &err);
    begin(&l);
    if (l.format == OUTPUT_JSON) {
        json_close(&l.json, ']');
        putchar('\n');
    }
    note_journal(c, path, &info);
    return output_flush(c);
}

/* ---- applying -------------------------------------------------------------------- */

static ease_status apply_event(void *data, const journal_event *e, ease_error *err)
{
    if (signals_caught())
        return journal_fail(err, EASE_E_CANCELLED, 0, "cancelled");
    return users_apply(data, e, err);
}

/* Writes the histories after all events. */
static int write_users(console *c, const journal_args *a, const users *u)
{
    ease_interactions *x = NULL;
    ease_interactions_info info = {.size = sizeof(info)};
    char count[NUMBER_CHARS], rows[NUMBER_CHARS];
    ease_error err;
    int code = 0;

    if (users_interactions(u, USERS_NOW, &x, &err))
        return fail_with(c, &err);
    if (!x)
        return fail(c, EXIT_DATA, "no interaction is left after the events");
    ease_interactions_describe(x, &info);
    if (ease_interactions_write(x, a->output, console_hooks(c), &err))
        code = fail_with(c, &err);
    else
        note(c, "wrote %s: %s interactions of %s users", a->output,
             format_count(rows, sizeof(rows), info.interactions),
             format_count(count, sizeof(count), info.users));
    ease_interactions_free(x);
    return code;
}

static int apply(console *c, const journal_args *a)
{
    const users_options o = {.weights = reading_is_weighted(&a->reading)};
    ease_interactions *x = NULL;
    users *u = NULL;
    journal_info info;
    ease_error err;
    int code = check_output(c, a->output);

    if (!code)
        code = check_differs(c, a->output, a->users);
    if (!code)
        code = read_data(c, &a->common, &a->reading, a->users, 0, &x);
    if (code)
        return code;
    if (users_new(x, &o, &u, &err)) {
        ease_interactions_free(x);
        return fail_with(c, &err);
    }
    if (journal_read(a->common.operands[0], apply_event, u, &info, &err)) {
        code = fail_with(c, &err);
    } else {
        note_journal(c, a->common.operands[0], &info);
        code = write_users(c, a, u);
    }
    users_free(u);
    return code;
}

/* ---- the verb -------------------------------------------------------------------- */

static int run(console *c, void *args)
{
    const journal_args *a = args;
    const verb *v = a->common.verb;

    if (!a->users != !a->output)
        return usage_error(c, v, "--users DATA and --output FILE go together");
    if (!a->users && !reading_is_default(&a->reading))
        return usage_error(c, v, "options of DATA need --users");
    if (a->users && (a->common.csv || a->common.json || a->after))
        return usage_error(c, v,
                           "--csv, --json and --after list events, and cannot be "
                           "used with --users");
    if (a->reading.half_life > 0.0)
        return usage_error(c, v,
                           "--half-life: the file would have the weights of today and "
                           "no times, and could not be aged again; add the events with "
                           "their times to the data instead: ease journal %s --csv",
                           a->common.operands[0]);
    return a->users ? apply(c, a) : list(c, a);
}

static const journal_args defaults = {.reading = READING_DEFAULTS};
static const option_group groups[] = {
    {"Listing", listing_options, 0}, {"Applying", applying_options, 0},
    READING_GROUP(journal_args),     FORMAT_GROUP(output_options),
    {"General", general_options, 0}, GROUPS_END};
static const operand operands[] = {{"DIR", "the directory of a journal"}, {NULL, NULL}};
static const char *const usage[] = {"DIR [--after N] [--csv|--json]",
                                    "DIR --users DATA -o FILE [--weights] ...", NULL};
static const char *const examples[] = {"feedback", "feedback --csv > events.csv",
                                       "feedback --users ratings.csv -o tonight.csv",
                                       NULL};

const verb verb_journal = {
    .name = "journal",
    .summary = "list the feedback that a server has received, or apply it to data",
    .usage = usage,
    .about =
        "A server with feedback (ease serve --journal DIR) writes each event to a "
        "journal: a user has an item with a weight (set), or not any more (remove). "
        "The last event of a user and an item wins.\n\n"
        "The journal can be read while the server runs. With --users, the events "
        "are applied to the data that the model was trained on, to train the next "
        "model. The server is then started with the new model and the new data, and "
        "with the same journal: events that the data have already change nothing. "
        "--half-life cannot be used here, since the file has no times: --csv lists the "
        "events with theirs, as rows to add to the data.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .least_operands = 1,
    .most_operands = 1,
    .size = sizeof(journal_args),
    .defaults = &defaults,
    .run = run,
};
