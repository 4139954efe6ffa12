#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "following.h"
#include "lists.h"
#include "userdata.h"
#include "verbs.h"

typedef struct recommend_args {
    common_args common;
    list_args list;
    reading_args reading;
    text_list history, user;
    const char *users, *denied, *denied_columns;
    int keep_seen, follow;
    int64_t reasons;
} recommend_args;

#define AT(member) .at = offsetof(recommend_args, member)

static const option recommend_options[] = {
    {.name = "history",
     .type = OPTION_LIST,
     AT(history),
     .value = "ID,ID,...",
     .help = "the items that a user has, for one list; may be repeated. ID:2 has the "
             "weight 2. @FILE reads ids, one per line, @- from standard input; what "
             "begins with [ or { is JSON"},
    {.name = "users",
     .type = OPTION_PATH,
     AT(users),
     .value = "DATA",
     .help = "a list for every user of a file as for train; - for standard input"},
    {.name = "user",
     .type = OPTION_LIST,
     AT(user),
     .value = "ID",
     .help = "with --users: only this user of DATA; may be repeated. For a model that "
             "knows its users, such as lrec, also alone: a user of the training data"},
    {.name = "follow",
     .type = OPTION_FLAG,
     AT(follow),
     .help = "answer requests on standard input: each line is one in JSON, whose "
             "answer is printed at once as a line of JSON"},
    {.name = "deny-pairs",
     .type = OPTION_PATH,
     AT(denied),
     .value = "FILE",
     .help = "do not list these items for these users: a table with columns for the "
             "user and the item, read as DATA is"},
    {.name = "deny-columns",
     .type = OPTION_TEXT,
     AT(denied_columns),
     .value = "USER,ITEM",
     .help = "the columns of --deny-pairs, by name or by number from 1"},
    {.name = "keep-seen",
     .type = OPTION_FLAG,
     AT(keep_seen),
     .help = "recommend items of the history too"},
    {.name = "reasons",
     .type = OPTION_COUNT,
     AT(reasons),
     .value = "N",
     .most = INT32_MAX,
     .help = "show the N strongest reasons of each item; not in CSV"},
    OPTIONS_END};

/* ---- histories from the command line --------------------------------------------- */

static int put_one(console *c, const recommend_args *a, const ease_model *m,
                   const ease_history *h, item_list *l, bool first)
{
    list_reasons why = {0};
    int code = reasons_make(c, m, a->reasons, ease_history_row(h).count, &why);

    if (!code) {
        l->unknown = ease_history_unknown(h);
        l->popular = ease_history_row(h).count == 0;
        l->reasons = a->reasons ? &why : NULL;
        l->history = ease_history_row(h);
        if (first)
            list_header(m, format_of(&a->common), l);
        list_put(m, format_of(&a->common), l);
        l->reasons = NULL;
    }
    reasons_free(&why);
    return code;
}

static int recommend_one(console *c, const recommend_args *a, const ease_model *m,
                         ease_scorer *s, const ease_recommend_options *o,
                         ease_rec *recs, size_t number)
{
    bool several = a->history.count > 1;
    char name[24];
    item_list l = {.key = "user",
                   .subject = name,
                   .heading = several ? "history" : NULL,
                   .value = "score",
                   .recs = recs,
                   .popularity_power = o->popularity_power,
                   .can_fall_back = true};
    ease_history *h = NULL;
    ease_error err;
    int code = history_read(c, m, a->history.at[number], several ? number + 1 : 0, &h);

    if (code)
        return code;
    snprintf(name, sizeof(name), "%zu", number + 1);
    if (ease_recommend(s, ease_history_row(h), o, recs, &l.count, &err))
        code = fail_with(c, &err);
    if (!code)
        code = put_one(c, a, m, h, &l, number == 0);
    if (!code && signals_caught())
        code = fail_interrupted(c);
    ease_history_free(h);
    return code;
}

static int recommend_histories(console *c, const recommend_args *a, const ease_model *m,
                               const ease_recommend_options *o)
{
    ease_rec *recs = calloc((size_t)o->k + 1, sizeof(*recs));
    ease_scorer *s = NULL;
    ease_error err;
    int code = EXIT_DONE;

    if (!recs)
        code = fail_no_memory(c);
    else if (ease_scorer_new(m, &s, &err))
        code = fail_with(c, &err);
    for (size_t i = 0; !code && i < a->history.count; i++)
        code = recommend_one(c, a, m, s, o, recs, i);
    ease_scorer_free(s);
    free(recs);
    return code;
}

/* ---- users that the model knows ----------------------------------------------- */

static bool knows_users(const ease_model *m)
{
    return ease_model_method(m)->known_users;
}

static int find_user(console *c, const ease_model *m, const char *id, int64_t *user)
{
    *user = ease_model_find_user(m, id);
    if (*user != EASE_NO_USER)
        return EXIT_DONE;
    return fail(c, EXIT_DATA,
                "%s scores only the users that it was trained with, and \"%.100s\" is "
                "not one of them",
                ease_model_method(m)->name, id);
}

/* What is denied to users, and a row of it. */
typedef struct denials {
    user_data data;
    row_space space;
} denials;

static int recommend_known_one(console *c, const recommend_args *a, const ease_model *m,
                               const ease_recommend_options *given, denials *denied,
                               ease_rec *recs, size_t number)
{
    ease_recommend_options o = *given;
    const char *id = a->user.at[number];
    int64_t user = ease_model_find_user(m, id), row = user_data_find(&denied->data, id);
    item_list l = {.key = "user",
                   .subject = id,
                   .heading = a->user.count > 1 ? "user" : NULL,
                   .value = "score",
                   .recs = recs,
                   .popularity_power = given->popularity_power,
                   .can_fall_back = true,
                   .history = ease_model_history(m, user)};
    ease_row without;
    ease_error err;

    if (!row_space_reset(&denied->space, (size_t)user_data_length(&denied->data, row)))
        return fail_no_memory(c);
    without = user_data_row(&denied->data, row, &denied->space);
    o.users = &user;
    o.denied = &without;
    if (ease_recommend_many(m, &l.history, 1, &o, recs, &l.count, &err))
        return fail_with(c, &err);
    if (number == 0)
        list_header(m, format_of(&a->common), &l);
    list_put(m, format_of(&a->common), &l);
    return EXIT_DONE;
}

static int recommend_known(console *c, const recommend_args *a, const ease_model *m,
                           const ease_recommend_options *o)
{
    ease_rec *recs = calloc((size_t)o->k + 1, sizeof(*recs));
    denials denied = {.space = {.used = 0}};
    int code = recs ? EXIT_DONE : fail_no_memory(c);
    int64_t user;

    for (size_t i = 0; !code && i < a->user.count; i++) /* before anything is printed */
        code = find_user(c, m, a->user.at[i], &user);
    if (!code && a->denied)
        code = denied_read(c, &a->common, a->denied, a->denied_columns, m,
                           &denied.data);
    for (size_t i = 0; !code && i < a->user.count; i++)
        code = recommend_known_one(c, a, m, o, &denied, recs, i);
    user_data_free(&denied.data);
    row_space_free(&denied.space);
    free(recs);
    return code;
}

/* ---- users of a file ------------------------------------------------------------- */

/* Users are processed in blocks, so that only the lists of one block are in memory. */
enum { BLOCK_USERS = 4096, BLOCK_RECS = 1 << 22 };

typedef struct batch {
    const ease_model *model;
    user_data data, denied;
    int64_t *chosen; /* numbers of the users; NULL: all */
    int64_t users, first;
    int32_t size; /* most users of a block */
    list_reasons why;
    bool known; /* the model is of a method of known users */
    /* for each user of a block: */
    ease_row *rows, *denied_rows;
    int64_t *numbers; /* numbers of the users in the model, if it knows them */
    int64_t *unknown;
    row_space space, denied_space;
    ease_rec *recs;
    int32_t *counts;
    /* for all blocks: */
    named strange;
    uint8_t *named_items; /* of the data: 1 if it was added to `strange` */
    int64_t lost, fallbacks, restricted;
} batch;

static void batch_free(batch *b)
{
    user_data_free(&b->data);
    user_data_free(&b->denied);
    reasons_free(&b->why);
    free(b->chosen);
    free(b->rows);
    free(b->denied_rows);
    free(b->numbers);
    free(b->unknown);
    row_space_free(&b->space);
    row_space_free(&b->denied_space);
    free(b->recs);
    free(b->counts);
    free(b->named_items);
}

/* The number of user i of the batch in the data. */
static int64_t user_at(const batch *b, int64_t i)
{
    return b->chosen ? b->chosen[i] : i;
}

static const char *user_id_at(const batch *b, int64_t i)
{
    return ease_interactions_user_id(b->data.x, user_at(b, i));
}

/* Finds the users of --user, if any. */
static int choose_users(console *c, const recommend_args *a, batch *b)
{
    int code = EXIT_DONE;

    b->users = ease_interactions_users(b->data.x);
    if (!a->user.count)
        return EXIT_DONE;
    b->users = (int64_t)a->user.count;
    b->chosen = calloc(a->user.count, sizeof(*b->chosen));
    if (!b->chosen)
        return fail_no_memory(c);
    for (size_t i = 0; !code && i < a->user.count; i++)
        code = user_data_require(c, &b->data, a->users, a->user.at[i], &b->chosen[i]);
    return code;
}

static int batch_make(console *c, batch *b, int32_t k)
{
    size_t size, items = (size_t)ease_interactions_items(b->data.x);

    b->size = BLOCK_RECS / (k > 0 ? k : 1);
    b->size = b->size < 1 ? 1 : b->size > BLOCK_USERS ? BLOCK_USERS : b->size;
    size = (size_t)b->size;
    b->rows = calloc(size, sizeof(*b->rows));
    b->denied_rows = calloc(size, sizeof(*b->denied_rows));
    b->numbers = calloc(size, sizeof(*b->numbers));
    b->unknown = calloc(size, sizeof(*b->unknown));
    b->counts = calloc(size, sizeof(*b->counts));
    b->recs = calloc(size * (size_t)k + 1, sizeof(*b->recs));
    b->named_items = calloc(items + 1, sizeof(*b->named_items));
    if (!b->rows || !b->denied_rows || !b->numbers || !b->unknown || !b->counts ||
        !b->recs || !b->named_items)
        return fail_no_memory(c);
    return EXIT_DONE;
}

static bool reserve(batch *b, int32_t count)
{
    size_t need = 0, denied = 0;

    for (int32_t i = 0; i < count; i++) {
        const char *id = user_id_at(b, b->first + i);

        need += (size_t)user_data_length(&b->data, user_at(b, b->first + i));
        denied += (size_t)user_data_length(&b->denied, user_data_find(&b->denied, id));
    }
    return row_space_reset(&b->space, need) &&
           row_space_reset(&b->denied_space, denied);
}

/* Collects the items of a user that the model does not know, for a warning. */
static void note_strange(batch *b, int64_t user)
{
    ease_row row = ease_interactions_row(b->data.x, user);

    for (int32_t i = 0; i < row.count; i++) {
        int32_t item = row.items[i];

        if (b->data.map[item] != EASE_NO_ITEM || b->named_items[item])
            continue;
        b->named_items[item] = 1;
        named_add(&b->strange, ease_interactions_item_id(b->data.x, item));
    }
}

static void translate_user(batch *b, int32_t i)
{
    int64_t user = user_at(b, b->first + i);
    const char *id = user_id_at(b, b->first + i);
    int64_t denied = user_data_find(&b->denied, id);

    b->rows[i] = user_data_row(&b->data, user, &b->space);
    b->denied_rows[i] = user_data_row(&b->denied, denied, &b->denied_space);
    b->unknown[i] = user_data_length(&b->data, user) - b->rows[i].count;
    if (b->unknown[i])
        note_strange(b, user);
    b->lost += b->unknown[i];
    b->numbers[i] = ease_model_find_user(b->model, id);
    b->fallbacks += b->rows[i].count == 0 && !b->known;
    b->restricted += b->denied_rows[i].count > 0;
}

static void put_block(batch *b, int32_t count, const ease_recommend_options *o,
                      output_format format)
{
    for (int32_t i = 0; i < count && !output_stopped(); i++) {
        item_list l = {.key = "user",
                       .subject = user_id_at(b, b->first + i),
                       .heading = "user",
                       .value = "score",
                       .recs = b->recs + (size_t)i * (size_t)o->k,
                       .popularity_power = o->popularity_power,
                       .count = b->counts[i],
                       .unknown = b->unknown[i],
                       .popular = b->rows[i].count == 0 && !b->known,
                       .can_fall_back = true,
                       .reasons = b->why.most ? &b->why : NULL,
                       .history = b->rows[i]};

        if (b->first + i == 0)
            list_header(b->model, format, &l);
        list_put(b->model, format, &l);
    }
}

static int run_block(console *c, batch *b, ease_recommend_options *o,
                     output_format format)
{
    int64_t left = b->users - b->first;
    int32_t count = left < b->size ? (int32_t)left : b->size;
    ease_error err;

    /* The bar is off if the lists go to the same screen. */
    if (!isatty(STDOUT_FILENO))
        console_progress(c, "recommending", (double)b->first / (double)b->users);
    if (!reserve(b, count))
        return fail_no_memory(c);
    for (int32_t i = 0; i < count; i++)
        translate_user(b, i);
    o->users = b->numbers;
    o->denied = b->denied.x ? b->denied_rows : NULL;
    if (ease_recommend_many(b->model, b->rows, count, o, b->recs, b->counts, &err))
        return fail_with(c, &err);
    phase_end(c, "recommending");
    put_block(b, count, o, format);
    phase_end(c, "printing");
    b->first += count;
    if (signals_caught())
        return fail_interrupted(c);
    return ferror(stdout) ? output_flush(c) : EXIT_DONE;
}

static void tell_users(console *c, const recommend_args *a, const batch *b)
{
    char items[NUMBER_CHARS], lost[NUMBER_CHARS], users[NUMBER_CHARS],
        all[NUMBER_CHARS];

    if (b->strange.count)
        warn(c, "%s items unknown to the model, with %s interactions: %s",
             format_count(items, sizeof(items), b->strange.count),
             format_count(lost, sizeof(lost), b->lost), b->strange.text);
    if (b->fallbacks)
        warn(c, "%s users with nothing known to the model got the popular items",
             format_count(users, sizeof(users), b->fallbacks));
    if (b->denied.x)
        note(c, "%s: items are denied to %s of %s users", a->denied,
             format_count(users, sizeof(users), b->restricted),
             format_count(all, sizeof(all), b->users));
}

/* Checks the users before anything is printed. */
static int check_users(console *c, const batch *b)
{
    int code = EXIT_DONE;
    int64_t number;

    for (int64_t i = 0; !code && b->known && i < b->users; i++)
        code = find_user(c, b->model, user_id_at(b, i), &number);
    return code;
}

/* Reads the users, if a file has them, and what is denied to them. */
static int batch_read(console *c, const recommend_args *a, const ease_model *m,
                      batch *b)
{
    ease_interactions *x = NULL;
    int code = EXIT_DONE;

    b->model = m;
    b->known = knows_users(m);
    if (a->users)
        code = read_data(c, &a->common, &a->reading, a->users, 0, &x);
    console_clear(c);
    if (!code && x)
        code = user_data_make(c, m, x, &b->data);
    if (!code && a->denied)
        code = denied_read(c, &a->common, a->denied, a->denied_columns, m, &b->denied);
    return code;
}

static int recommend_users(console *c, const recommend_args *a, const ease_model *m,
                           const ease_recommend_options *given)
{
    ease_recommend_options o = *given;
    batch b = {0};
    int code = batch_read(c, a, m, &b);

    if (!code)
        code = choose_users(c, a, &b);
    if (!code)
        code = check_users(c, &b);
    if (!code)
        code = batch_make(c, &b, o.k);
    if (!code)
        code = reasons_make(c, m, a->reasons, ease_model_items(m), &b.why);
    while (!code && b.first < b.users)
        code = run_block(c, &b, &o, format_of(&a->common));
    if (!code)
        tell_users(c, a, &b);
    batch_free(&b);
    return code;
}

/* ---- requests on standard input -------------------------------------------------- */

static int follow_requests(console *c, const recommend_args *a, const ease_model *m,
                           const ease_recommend_options *o)
{
    batch b = {.model = m};
    following f = {.model = m,
                   .o = o,
                   .reasons = a->reasons,
                   .data = &b.data,
                   .denied = &b.denied};
    int code = batch_read(c, a, m, &b);

    if (!code)
        code = follow(c, &f);
    batch_free(&b);
    return code;
}

/* ---- the verb -------------------------------------------------------------------- */

/* Checks that the model can do what the options ask. */
static int check_model(console *c, const recommend_args *a, const ease_model *m)
{
    const char *method = ease_model_method(m)->name;

    if (a->history.count && knows_users(m))
        return usage_error(c, a->common.verb,
                           "%s scores only the users that it was trained with, not a "
                           "--history: --user ID or --users DATA",
                           method);
    if (a->user.count && !a->users && !knows_users(m))
        return usage_error(c, a->common.verb,
                           "%s knows no users: add --users DATA, the data with the "
                           "items of this user, or give --history",
                           method);
    if (a->reasons && knows_users(m))
        return usage_error(c, a->common.verb, "%s has no --reasons", method);
    return EXIT_DONE;
}

/* An input beside the requests that is standard input too; NULL: none. */
static const char *second_input(const recommend_args *a)
{
    const struct {
        const char *name, *path;
    } inputs[] = {{"--users", a->users},
                  {"--deny-pairs", a->denied},
                  {"--allow", a->list.allow},
                  {"--deny", a->list.deny}};

    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
        if (inputs[i].path && strcmp(inputs[i].path, "-") == 0)
            return inputs[i].name;
    return NULL;
}

static int check_follow(console *c, const recommend_args *a)
{
    const verb *v = a->common.verb;
    const char *second = second_input(a);

    if (a->history.count || a->user.count)
        return usage_error(c, v,
                           "--follow takes histories and users from its requests: "
                           "leave out %s",
                           a->history.count ? "--history" : "--user");
    if (a->common.csv)
        return usage_error(c, v, "--follow answers in JSON, not in --csv");
    if (second)
        return usage_error(c, v, "--follow reads standard input: %s needs a file",
                           second);
    return EXIT_DONE;
}

/* Checks that it is clear for whom lists are wanted. */
static int check_whom(console *c, const recommend_args *a)
{
    bool history = a->history.count > 0, user = a->users || a->user.count;

    if (a->follow)
        return check_follow(c, a);
    if (history == user)
        return usage_error(c, a->common.verb,
                           "either --history or --user or --users DATA%s",
                           history ? ", not both" : " is required");
    if (history && a->denied)
        return usage_error(
            c, a->common.verb,
            "--deny-pairs is for users: --deny FILE goes with --history");
    return EXIT_DONE;
}

static int check(console *c, const recommend_args *a)
{
    int code = check_whom(c, a);

    if (code)
        return code;
    if (!a->users && !reading_is_default(&a->reading))
        return usage_error(c, a->common.verb,
                           "options for reading DATA belong to --users");
    if (a->denied_columns && !a->denied)
        return usage_error(c, a->common.verb, "--deny-columns goes with --deny-pairs");
    if (a->reasons && a->common.csv)
        return usage_error(c, a->common.verb, "--reasons and --csv exclude each other");
    return list_check(c, &a->common, &a->list);
}

static int recommend(console *c, const recommend_args *a, const ease_model *m,
                     const ease_recommend_options *o)
{
    if (a->follow)
        return follow_requests(c, a, m, o);
    if (a->users)
        return recommend_users(c, a, m, o);
    return a->user.count ? recommend_known(c, a, m, o)
                         : recommend_histories(c, a, m, o);
}

static int run(console *c, void *args)
{
    const recommend_args *a = args;
    ease_recommend_options o;
    ease_model *m = NULL;
    list_choice choice = {0};
    int code = check(c, a);

    if (!code)
        code = open_model(c, &a->common, a->common.operands[0], a->list.titles, &m);
    if (!code)
        code = list_setup(c, &a->common, &a->list, m, &o, &choice);
    if (!code)
        code = check_model(c, a, m);
    if (!code) {
        o.keep_seen = a->keep_seen;
        code = recommend(c, a, m, &o);
    }
    list_choice_free(&choice);
    ease_model_free(m);
    return code;
}

static const option_group groups[] = {{"Recommending", recommend_options, 0},
                                      LIST_GROUP(recommend_args),
                                      VERIFY_GROUP,
                                      READING_GROUP(recommend_args),
                                      FORMAT_GROUP(output_options),
                                      {"General", threads_options, 0},
                                      GROUPS_END};
static const operand operands[] = {{"MODEL", "a model file"}, {NULL, NULL}};
static const char *const usage[] = {"MODEL --history ID,ID,... [-k N] [options]",
                                    "MODEL --users DATA [--user ID] [-k N] [options]",
                                    "MODEL --user ID [-k N] [options]",
                                    "MODEL --follow [--users DATA] [options]", NULL};
static const char *const examples[] = {
    "model.ease --history react,redux -k 5",
    "model.ease --history react:2,redux:0.5",
    "model.ease --history @mine.txt --deny seen.txt",
    "model.ease --users ratings.csv -k 20 --json",
    "model.ease --users ratings.csv --user u17 --reasons 2",
    "model.ease --users ratings.csv --deny-pairs bought.csv --csv",
    "model.ease --follow --users ratings.csv < requests.jsonl",
    "model.ease --history react --popularity-power -0.3",
    NULL};

const verb verb_recommend = {
    .name = "recommend",
    .summary = "list the best items for histories, or for every user of a file",
    .usage = usage,
    .about =
        "Ids that the model does not know are ignored, with a warning. A history "
        "without known items gets the most popular items, and the output says so. A "
        "model that knows its users (lrec) can recommend only for users of its "
        "training data. It does not recommend items that a user had in training, or "
        "with --users those of the file.\n\n"
        "Items of a history have the weight 1, or that behind a colon: ID:2. An id "
        "with a colon that the model knows is taken as it stands. As JSON, a history "
        "is a list of ids and of objects {\"id\": ID, \"weight\": W}, or an object "
        "from ids to weights.\n\n"
        "--follow answers the requests of another program through pipes: each line of "
        "standard input is an object in JSON, and its answer, one line of JSON, is "
        "written before the next line is read. The members are those of the server's "
        "POST /v1/recommend: history (a list as above) or user (of --users DATA, or of "
        "a model that knows its users), and k, reasons, keep_seen, allow and deny "
        "(lists of ids), only and not (lists of tags), at_most (such as {\"author\": "
        "1}) and popularity_power. What is not given is as on the command line; what "
        "the command line excludes stays excluded. An answer has the members unknown "
        "(the ids that the model does not know), fallback and items, with the same "
        "bits as other lists; or error, with a code and a message. The program ends at "
        "the end of the input.\n\n"
        "--json prints one line for each list, with the keys user (for --history "
        "its number: \"1\", \"2\", ...), unknown (the number of unknown ids, if "
        "any), fallback (\"popular\" if the list has the most popular items) and "
        "items (id, title, score, reasons, and with --popularity-power factor: the "
        "reasons explain score / factor, the score without it). An id that is not "
        "UTF-8 "
        "is written in base64 as id_base64, a user as user_base64. --csv has the "
        "columns "
        "user, rank, item, "
        "title (if there are any), score and fallback.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .refusals = list_refusals,
    .surplus = "the items of a history go to --history ID,ID,...",
    .least_operands = 1,
    .most_operands = 1,
    .size = sizeof(recommend_args),
    .defaults = &(const recommend_args){.list = LIST_DEFAULTS,
                                        .reading = READING_DEFAULTS},
    .run = run,
};
