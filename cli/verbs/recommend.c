#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "lists.h"
#include "verbs.h"

typedef struct recommend_args {
    common_args common;
    list_args list;
    reading_args reading;
    text_list history, user;
    const char *users;
    int keep_seen;
    int64_t reasons;
} recommend_args;

#define AT(member) .at = offsetof(recommend_args, member)

static const option recommend_options[] = {
    {.name = "history",
     .type = OPTION_LIST,
     AT(history),
     .value = "ID,ID,...",
     .help = "the items that a user has, for one list; may be repeated. @FILE reads "
             "ids, one per line, @- from standard input"},
    {.name = "user",
     .type = OPTION_LIST,
     AT(user),
     .value = "ID",
     .help = "a user of the training data, for a model that knows its users, such as "
             "lrec; may be repeated"},
    {.name = "users",
     .type = OPTION_PATH,
     AT(users),
     .value = "DATA",
     .help = "a list for every user of a file as for train; - for standard input"},
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

static int recommend_known(console *c, const recommend_args *a, const ease_model *m,
                           const ease_recommend_options *given)
{
    ease_recommend_options o = *given;
    ease_rec *recs = calloc((size_t)o.k + 1, sizeof(*recs));
    int code = recs ? EXIT_DONE : fail_no_memory(c);
    int64_t user;

    for (size_t i = 0; !code && i < a->user.count; i++) /* before anything is printed */
        code = find_user(c, m, a->user.at[i], &user);
    o.users = &user;
    for (size_t i = 0; !code && i < a->user.count; i++) {
        item_list l = {.key = "user",
                       .subject = a->user.at[i],
                       .heading = a->user.count > 1 ? "user" : NULL,
                       .value = "score",
                       .recs = recs,
                       .popularity_power = o.popularity_power,
                       .can_fall_back = true};
        ease_error err;

        user = ease_model_find_user(m, a->user.at[i]);
        l.history = ease_model_history(m, user);
        if (ease_recommend_many(m, &l.history, 1, &o, recs, &l.count, &err))
            code = fail_with(c, &err);
        if (!code && i == 0)
            list_header(m, format_of(&a->common), &l);
        if (!code)
            list_put(m, format_of(&a->common), &l);
    }
    free(recs);
    return code;
}

/* ---- all users of a file --------------------------------------------------------- */

/* Users are processed in blocks, so that only the lists of one block are in memory. */
enum { BLOCK_USERS = 4096, BLOCK_RECS = 1 << 22 };

typedef struct pair {
    int32_t item;
    float weight;
} pair;

typedef struct batch {
    const ease_model *model;
    const ease_interactions *data;
    int32_t *map; /* item of the model for each item of the data */
    int64_t users, first;
    int32_t size; /* most users of a block */
    bool weighted;
    list_reasons why;
    bool known; /* the model is of a method of known users */
    /* for each user of a block: */
    ease_row *rows;
    int64_t *numbers; /* numbers of the users in the model, if it knows them */
    int64_t *unknown;
    pair *pairs; /* scratch for a row */
    int32_t *items;
    float *weights;
    size_t capacity;
    ease_rec *recs;
    int32_t *counts;
    /* for all blocks: */
    named strange;
    int64_t lost, fallbacks;
} batch;

static void batch_free(batch *b)
{
    reasons_free(&b->why);
    free(b->map);
    free(b->rows);
    free(b->numbers);
    free(b->unknown);
    free(b->pairs);
    free(b->items);
    free(b->weights);
    free(b->recs);
    free(b->counts);
}

static bool batch_make(batch *b, const ease_model *m, const ease_interactions *x,
                       int32_t k)
{
    ease_interactions_info info = {.size = sizeof(info)};
    size_t size;

    ease_interactions_describe(x, &info);
    b->model = m;
    b->data = x;
    b->users = info.users;
    b->weighted = info.weighted != 0;
    b->known = knows_users(m);
    b->size = BLOCK_RECS / (k > 0 ? k : 1);
    b->size = b->size < 1 ? 1 : b->size > BLOCK_USERS ? BLOCK_USERS : b->size;
    size = (size_t)b->size;
    b->map = calloc((size_t)info.items + 1, sizeof(*b->map));
    b->pairs = calloc((size_t)info.items + 1, sizeof(*b->pairs));
    b->rows = calloc(size, sizeof(*b->rows));
    b->numbers = calloc(size, sizeof(*b->numbers));
    b->unknown = calloc(size, sizeof(*b->unknown));
    b->counts = calloc(size, sizeof(*b->counts));
    b->recs = calloc(size * (size_t)k + 1, sizeof(*b->recs));
    if (!b->map || !b->pairs || !b->rows || !b->numbers || !b->unknown || !b->counts ||
        !b->recs)
        return false;
    for (int32_t i = 0; i < info.items; i++) {
        const char *id = ease_interactions_item_id(x, i);

        b->map[i] = ease_model_find(m, id);
        if (b->map[i] == EASE_NO_ITEM)
            named_add(&b->strange, id);
    }
    return true;
}

static bool reserve(batch *b, int32_t count)
{
    size_t need = 1;
    int32_t *items;
    float *weights;

    for (int32_t i = 0; i < count; i++)
        need += (size_t)ease_interactions_row(b->data, b->first + i).count;
    if (need <= b->capacity)
        return true;
    items = realloc(b->items, need * sizeof(*items));
    if (items)
        b->items = items;
    weights = realloc(b->weights, need * sizeof(*weights));
    if (weights)
        b->weights = weights;
    if (items && weights)
        b->capacity = need;
    return items && weights;
}

static int compare_pairs(const void *a, const void *b)
{
    const pair *x = a, *y = b;

    return (x->item > y->item) - (x->item < y->item);
}

/* The known items of a row, with the model's numbers and in its order, at place `at`
 * of the buffers. */
static ease_row translate(batch *b, ease_row row, size_t at)
{
    int32_t count = 0;

    for (int32_t i = 0; i < row.count; i++) {
        int32_t item = b->map[row.items[i]];

        if (item != EASE_NO_ITEM)
            b->pairs[count++] = (pair){item, row.weights ? row.weights[i] : 1.0f};
    }
    qsort(b->pairs, (size_t)count, sizeof(*b->pairs), compare_pairs);
    for (int32_t i = 0; i < count; i++) {
        b->items[at + (size_t)i] = b->pairs[i].item;
        b->weights[at + (size_t)i] = b->pairs[i].weight;
    }
    return (ease_row){.items = b->items + at,
                      .weights = b->weighted ? b->weights + at : NULL,
                      .count = count};
}

static void translate_block(batch *b, int32_t count)
{
    size_t at = 0;

    for (int32_t i = 0; i < count; i++) {
        ease_row row = ease_interactions_row(b->data, b->first + i);

        b->rows[i] = translate(b, row, at);
        b->unknown[i] = row.count - b->rows[i].count;
        b->lost += b->unknown[i];
        b->numbers[i] = ease_model_find_user(
            b->model, ease_interactions_user_id(b->data, b->first + i));
        b->fallbacks += b->rows[i].count == 0 && !b->known;
        at += (size_t)b->rows[i].count;
    }
}

static void put_block(batch *b, int32_t count, const ease_recommend_options *o,
                      output_format format)
{
    for (int32_t i = 0; i < count && !output_stopped(); i++) {
        item_list l = {.key = "user",
                       .subject = ease_interactions_user_id(b->data, b->first + i),
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
    translate_block(b, count);
    o->users = b->numbers;
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

static void warn_strangers(console *c, const batch *b)
{
    char items[NUMBER_CHARS], lost[NUMBER_CHARS], users[NUMBER_CHARS];

    if (b->strange.count)
        warn(c, "%s items unknown to the model, with %s interactions: %s",
             format_count(items, sizeof(items), b->strange.count),
             format_count(lost, sizeof(lost), b->lost), b->strange.text);
    if (b->fallbacks)
        warn(c, "%s users with nothing known to the model got the popular items",
             format_count(users, sizeof(users), b->fallbacks));
}

/* Checks the users before anything is printed. */
static int check_users(console *c, const batch *b)
{
    int code = EXIT_DONE;
    int64_t number;

    for (int64_t u = 0; !code && b->known && u < b->users; u++)
        code = find_user(c, b->model, ease_interactions_user_id(b->data, u), &number);
    return code;
}

static int recommend_users(console *c, const recommend_args *a, const ease_model *m,
                           const ease_recommend_options *given)
{
    ease_recommend_options o = *given;
    ease_interactions *x = NULL;
    batch b = {0};
    int code = read_data(c, &a->common, &a->reading, a->users, 0, &x);

    console_clear(c);
    if (!code && !batch_make(&b, m, x, o.k))
        code = fail_no_memory(c);
    if (!code)
        code = check_users(c, &b);
    if (!code)
        code = reasons_make(c, m, a->reasons, ease_model_items(m), &b.why);
    while (!code && b.first < b.users)
        code = run_block(c, &b, &o, format_of(&a->common));
    if (!code)
        warn_strangers(c, &b);
    batch_free(&b);
    ease_interactions_free(x);
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
    if (a->user.count && !knows_users(m))
        return usage_error(c, a->common.verb,
                           "%s knows no users: --history or --users DATA", method);
    if (a->reasons && knows_users(m))
        return usage_error(c, a->common.verb, "%s has no --reasons", method);
    return EXIT_DONE;
}

static int run(console *c, void *args)
{
    const recommend_args *a = args;
    ease_recommend_options o;
    ease_model *m = NULL;
    list_choice choice = {0};
    int ways = (a->users != NULL) + (a->history.count > 0) + (a->user.count > 0), code;

    if (ways != 1)
        return usage_error(c, a->common.verb,
                           "either --history or --user or --users DATA%s",
                           ways ? ", not both" : " is required");
    if (!a->users && !reading_is_default(&a->reading))
        return usage_error(c, a->common.verb,
                           "options for reading DATA belong to --users");
    if (a->reasons && a->common.csv)
        return usage_error(c, a->common.verb, "--reasons and --csv exclude each other");
    code = list_check(c, &a->common, &a->list);
    if (!code)
        code = open_model(c, &a->common, a->common.operands[0], a->list.titles, &m);
    if (!code)
        code = list_setup(c, &a->common, &a->list, m, &o, &choice);
    if (!code)
        code = check_model(c, a, m);
    if (!code) {
        o.keep_seen = a->keep_seen;
        code = a->users        ? recommend_users(c, a, m, &o)
               : a->user.count ? recommend_known(c, a, m, &o)
                               : recommend_histories(c, a, m, &o);
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
                                    "MODEL --user ID [-k N] [options]",
                                    "MODEL --users DATA [-k N] [options]", NULL};
static const char *const examples[] = {
    "model.ease --history react,redux -k 5",
    "model.ease --history @mine.txt --deny seen.txt",
    "model.ease --users ratings.csv -k 20 --json",
    "model.ease --history react --popularity-power -0.3", NULL};

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
        "--json prints one line for each list, with the keys user (for --history "
        "its number: \"1\", \"2\", ...), unknown (the number of unknown ids, if "
        "any), fallback (\"popular\" if the list has the most popular items) and "
        "items (id, title, score, reasons, and with --popularity-power factor: the "
        "reasons explain score / factor, the score without it). --csv has the columns "
        "user, rank, item, "
        "title (if there are any), score and fallback.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .least_operands = 1,
    .most_operands = 1,
    .size = sizeof(recommend_args),
    .defaults = &(const recommend_args){.list = LIST_DEFAULTS,
                                        .reading = READING_DEFAULTS},
    .run = run,
};
