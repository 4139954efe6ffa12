#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "histories.h"
#include "idcolumns.h"
#include "planning.h"
#include "table.h"
#include "updating.h"
#include "verbs.h"

enum { DIGEST_BYTES = 65 };

typedef struct forget_args {
    common_args common;
    reading_args reading;
    target_args target;
    const char *data, *users_from, *forgotten;
    text_list users;
    int unverified;
    size_t memory_limit;
} forget_args;

#define AT(member) .at = offsetof(forget_args, member)

static const option forget_options[] = {
    {.name = "users",
     .type = OPTION_PATH,
     .required = true,
     AT(data),
     .value = "DATA",
     .help = "exactly the data of the model, with the users to be removed; required"},
    {.name = "user",
     .type = OPTION_LIST,
     AT(users),
     .value = "ID",
     .help = "a user to remove; may be repeated"},
    {.name = "users-from",
     .type = OPTION_PATH,
     AT(users_from),
     .value = "FILE",
     .help = "users to remove: a file of ids, one per line; - for standard input"},
    {.name = "forgotten",
     .type = OPTION_PATH,
     AT(forgotten),
     .value = "FILE",
     .help = "users who were removed before, and are left out of DATA: a file of ids, "
             "one per line"},
    {.name = "unverified",
     .type = OPTION_FLAG,
     AT(unverified),
     .help = "remove the rows of these users even if DATA is not exactly the data of "
             "the model; the report then says that they are not verified"},
    {.name = "memory-limit",
     .type = OPTION_SIZE,
     AT(memory_limit),
     .value = "SIZE",
     .help = "the most memory to use, as in 500M or 2GiB (default: the available "
             "memory)"},
    OPTIONS_END};

/* A removal in progress. */
typedef struct work {
    ease_model *model, *made;
    ease_interactions *data, *was;
    ease_interactions *gone; /* rows of users who were removed before, or NULL */
    ease_removal *removals;  /* for each user of `was` */
    model_claim claim;
    ease_update_info info;
    ease_model_info before;
    double residual; /* before */
    bool verified;   /* the data are exactly those of the model */
    char digest_before[DIGEST_BYTES], digest[DIGEST_BYTES];
    double seconds;
} work;

static bool is_stream(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static int check(console *c, const forget_args *a)
{
    const verb *v = a->common.verb;
    const char *target = target_path(&a->common, &a->target);
    int code;

    if (!a->users.count && !a->users_from)
        return usage_error(c, v, "--user ID or --users-from FILE is required");
    if (a->unverified && !reading_has_fixed_ages(&a->reading))
        return usage_error(c, v,
                           "--unverified with --half-life needs the --until of "
                           "training: ages would count from the newest row of DATA");
    if (is_stream(a->data) + is_stream(a->users_from) + is_stream(a->forgotten) > 1)
        return usage_error(c, v, "only one file can be standard input");
    code = check_target(c, &a->common, &a->target);
    if (!code)
        code = check_differs(c, target, a->data);
    if (!code)
        code = check_differs(c, target, a->users_from);
    if (!code)
        code = check_differs(c, target, a->forgotten);
    return code;
}

/* ---- the rows of the users ------------------------------------------------------- */

/* What becomes of a user of the data. */
typedef enum fate { STAYS, LEAVES, HAS_LEFT } fate;

/* Marks users of the data who leave. */
static int mark_users(console *c, const forget_args *a, const ease_interactions *x,
                      const char *const *ids, size_t count, fate *fates)
{
    for (size_t i = 0; i < count; i++) {
        int64_t user = ease_interactions_find_user(x, ids[i]);

        if (user == EASE_NO_USER || ease_interactions_row(x, user).count == 0)
            return fail(c, EXIT_DATA, "%s: no user '%s'", a->data, ids[i]);
        if (fates[user] == HAS_LEFT)
            return fail(c, EXIT_DATA,
                        "%s: user '%s' was removed before, and is to be removed again",
                        a->forgotten, ids[i]);
        fates[user] = LEAVES;
    }
    return EXIT_DONE;
}

/* Marks users who were removed before. Data may lack them already. */
static int mark_forgotten(console *c, const forget_args *a, const ease_interactions *x,
                          fate *fates)
{
    id_list ids = {0};
    int code = EXIT_DONE;

    if (!a->forgotten)
        return EXIT_DONE;
    code = ids_from_file(c, a->forgotten, &ids);
    for (size_t i = 0; !code && i < ids.count; i++) {
        int64_t user = ease_interactions_find_user(x, ids.at[i]);

        if (user != EASE_NO_USER)
            fates[user] = HAS_LEFT;
    }
    id_list_free(&ids);
    return code;
}

static int mark_listed(console *c, const forget_args *a, const ease_interactions *x,
                       fate *fates)
{
    id_list ids = {0};
    int code = EXIT_DONE;

    if (!a->users_from)
        return EXIT_DONE;
    code = ids_from_file(c, a->users_from, &ids);
    if (!code && ids.count == 0)
        code = fail(c, EXIT_DATA, "%s: no ids of users", a->users_from);
    if (!code)
        code = mark_users(c, a, x, ids.at, ids.count, fates);
    id_list_free(&ids);
    return code;
}

/* The interactions of some users as a table. Starts as {0}. */
typedef struct user_rows {
    id_column users, items;
    double *values;
} user_rows;

static void user_rows_free(user_rows *r)
{
    id_column_free(&r->users);
    id_column_free(&r->items);
    free(r->values);
}

static bool add_user(const ease_interactions *x, int64_t user, user_rows *r)
{
    ease_row row = ease_interactions_row(x, user);

    for (int32_t k = 0; k < row.count; k++) {
        r->values[r->users.rows] = row.weights ? (double)row.weights[k] : 1;
        if (!id_column_add(&r->users, ease_interactions_user_id(x, user)) ||
            !id_column_add(&r->items, ease_interactions_item_id(x, row.items[k])))
            return false;
    }
    return true;
}

static bool add_users(const ease_interactions *x, const fate *fates, fate which,
                      user_rows *r)
{
    int64_t users = ease_interactions_users(x);
    size_t most = 0;
    bool added;

    for (int64_t u = 0; u < users; u++)
        most += fates[u] == which ? (size_t)ease_interactions_row(x, u).count : 0;
    r->values = calloc(most + 1, sizeof(*r->values));
    added = r->values != NULL;
    for (int64_t u = 0; added && u < users; u++)
        added = fates[u] != which || add_user(x, u, r);
    return added;
}

/* The interactions of the users with one fate; none: *out stays NULL. */
static int select_rows(console *c, const work *w, const fate *fates, fate which,
                       ease_interactions **out)
{
    ease_interactions_info info = {.size = sizeof(info)};
    user_rows rows = {.values = NULL};
    ease_id_column users, items;
    ease_read_options o;
    ease_error err;
    int code = EXIT_DONE;

    ease_interactions_describe(w->data, &info);
    ease_read_options_init(&o);
    o.weights = info.weighted;
    if (!add_users(w->data, fates, which, &rows)) {
        code = fail_no_memory(c);
    } else if (rows.users.rows) {
        users = id_column_view(&rows.users);
        items = id_column_view(&rows.items);
        if (ease_interactions_from_table((int64_t)rows.users.rows, &users, &items,
                                         info.weighted ? rows.values : NULL, &o, out,
                                         &err))
            code = fail_with(c, &err);
    }
    user_rows_free(&rows);
    return code;
}

static int find_rows(console *c, const forget_args *a, work *w)
{
    fate *fates;
    int code = read_data(c, &a->common, &a->reading, a->data, a->memory_limit,
                         &w->data);

    if (!code)
        code = check_weights(c, &a->reading, a->data, w->model);
    if (code)
        return code;
    fates = calloc((size_t)ease_interactions_users(w->data) + 1, sizeof(*fates));
    if (!fates)
        return fail_no_memory(c);
    code = mark_forgotten(c, a, w->data, fates);
    if (!code)
        code = mark_users(c, a, w->data, a->users.at, a->users.count, fates);
    if (!code)
        code = mark_listed(c, a, w->data, fates);
    if (!code)
        code = select_rows(c, w, fates, LEAVES, &w->was);
    if (!code)
        code = select_rows(c, w, fates, HAS_LEFT, &w->gone);
    free(fates);
    return code;
}

/* ---- whether the data are those of the model ------------------------------------- */

/* True if the data without the users to be removed are those of the model, as after
 * their removal. */
static bool model_lacks_them(const work *w)
{
    return !w->gone && !ease_model_check_change(w->model, NULL, w->was, w->data, NULL);
}

/* Data with users who were removed before are those of the model with these users. */
static int compare_data(console *c, const forget_args *a, work *w)
{
    ease_error err;
    ease_status status = w->gone ? ease_model_check_change(w->model, NULL, w->gone,
                                                           w->data, &err)
                                 : ease_model_check_data(w->model, w->data, &err);

    w->verified = !status;
    phase_end(c, "checking the data");
    if (w->verified)
        return EXIT_DONE;
    if (status != EASE_E_DATA)
        return fail_with(c, &err);
    if (a->unverified) {
        warn(c,
             "%s: not exactly the data of the model, so that it is not known whether "
             "the model was trained on these rows",
             a->data);
        return EXIT_DONE;
    }
    if (model_lacks_them(w))
        return fail(c, EXIT_DATA,
                    "%s: the model does not have these users: its data are exactly "
                    "those of %s without them",
                    a->common.operands[0], a->data);
    return fail(c, EXIT_DATA,
                "%s: %s; so it is not known whether the model has these users: give "
                "exactly its data, list users who were removed before in --forgotten "
                "FILE, or give --unverified",
                a->data, err.text);
}

/* ---- the removal ----------------------------------------------------------------- */

static int digest_file(console *c, const char *path, char *digest)
{
    ease_error err;

    if (ease_file_digest(path, digest, &err))
        return fail_with(c, &err);
    phase_end(c, "computing SHA-256");
    return EXIT_DONE;
}

/* Refuses a removal that does not fit into memory. */
static int plan(console *c, const forget_args *a, const work *w)
{
    ease_update_plan p;
    ease_error err;
    int64_t rank;
    int code;

    if (ease_model_update_rank(w->model, w->was, NULL, &rank, &err))
        return fail_with(c, &err);
    code = plan_update(c, &a->common, ease_model_items(w->model), rank, a->memory_limit,
                       &p);
    if (code || update_fits(&p))
        return code;
    return refuse_update(c, &p, "fewer users at a time may need less");
}

static int remove_rows(console *c, const forget_args *a, work *w)
{
    ease_update_options o;
    ease_error err;

    w->removals = calloc((size_t)ease_interactions_users(w->was) + 1,
                         sizeof(*w->removals));
    if (!w->removals)
        return fail_no_memory(c);
    ease_update_options_init(&o);
    o.memory_limit = a->memory_limit;
    o.threads = (int)a->common.threads;
    o.hooks = console_hooks(c);
    o.removals = w->removals;
    if (ease_model_update(w->model, w->was, NULL, &o, &w->made, &w->info, &err))
        return fail_with(c, &err);
    phase_end(c, "updating");
    return EXIT_DONE;
}

static int forget(console *c, const forget_args *a, work *w)
{
    const char *path = a->common.operands[0];
    int code = claim_model(c, &a->common, &a->target, &w->claim);

    if (!code)
        code = open_updatable(c, &a->common, &w->model);
    if (code)
        return code;
    w->before = model_info_of(w->model);
    code = digest_file(c, path, w->digest_before);
    if (!code)
        code = measure_residual(c, &a->common, w->model, &w->residual);
    if (!code && !residual_allowed(w->residual))
        code = fail(c, EXIT_NUMERICAL,
                    "%s: the residual of the model is %.1g, at most %.0g is allowed: "
                    "train it again without these users",
                    path, w->residual, RESIDUAL_ALLOWED);
    if (!code)
        code = find_rows(c, a, w);
    if (!code)
        code = compare_data(c, a, w);
    if (!code)
        code = plan(c, a, w);
    if (!code)
        code = check_space(c, target_path(&a->common, &a->target), file_bytes(path));
    if (!code)
        code = remove_rows(c, a, w);
    if (!code)
        code = save_target(c, &a->common, &a->target, &w->claim, w->made);
    return code ? code : digest_file(c, target_path(&a->common, &a->target), w->digest);
}

/* ---- the report ------------------------------------------------------------------ */

static void put_facts(const forget_args *a, const work *w, report *r)
{
    ease_model_info info = model_info_of(w->made);
    time_t now = time(NULL);
    struct tm utc;
    char text[40] = "";

    if (gmtime_r(&now, &utc))
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    report_text(r, "time", "time", text);
    report_text(r, "version", "ease", ease_version());
    report_text(r, "path_before", "model before", a->common.operands[0]);
    report_text(r, "sha256_before", "  SHA-256", w->digest_before);
    report_count(r, "users_before", "  users", w->before.users);
    report_count(r, "interactions_before", "  interactions", w->before.interactions);
    report_real(r, "residual_before", "  residual", w->residual);
    report_text(r, "path", "model after", target_path(&a->common, &a->target));
    report_text(r, "sha256", "  SHA-256", w->digest);
    report_count(r, "users", "  users", info.users);
    report_count(r, "interactions", "  interactions", info.interactions);
    report_real(r, "residual", "  residual", info.residual);
    report_text(r, "method", "method", info.method);
    if (info.settings[0])
        report_text(r, "settings", "settings", info.settings);
    report_text(r, "kind", "kind", name_of_kind(info.kind));
    report_real(r, "lambda", "lambda", info.lambda);
    report_count(r, "removed_users", "removed users", w->info.left);
    report_count(r, "removed_interactions", "  interactions", w->info.removed);
    report_count(r, "lost_items", "items lost", w->info.lost_items);
    report_bool(r, "data_verified", "data verified", w->verified);
    report_count(r, "forgotten_users", "left before", ease_interactions_users(w->gone));
    report_count(r, "rank", "rank", w->info.rank);
    report_real(r, "bound", "bound", RESIDUAL_ALLOWED);
    report_seconds(r, "seconds", "took", w->seconds);
}

static void put_user_json(json *j, const work *w, int64_t user)
{
    const ease_removal *removal = &w->removals[user];

    json_open(j, NULL, '{');
    json_text(j, "user", ease_interactions_user_id(w->was, user));
    json_count(j, "interactions", ease_interactions_row(w->was, user).count);
    json_real(j, "leverage", removal->leverage);
    json_real(j, "deviation", removal->deviation);
    json_bool(j, "passed", residual_allowed(removal->deviation));
    json_close(j, '}');
}

/* Rows of facts, for CSV. */
static void put_user_facts(report *r, const work *w, int64_t user)
{
    const ease_removal *removal = &w->removals[user];
    char key[80];
    int prefix = snprintf(key, sizeof(key), "user_%" PRId64, user + 1);
    size_t left = sizeof(key) - (size_t)prefix;
    char *end = key + prefix;

    report_text(r, key, "", ease_interactions_user_id(w->was, user));
    snprintf(end, left, "_interactions");
    report_count(r, key, "", ease_interactions_row(w->was, user).count);
    snprintf(end, left, "_leverage");
    report_real(r, key, "", removal->leverage);
    snprintf(end, left, "_deviation");
    report_real(r, key, "", removal->deviation);
    snprintf(end, left, "_passed");
    report_bool(r, key, "", residual_allowed(removal->deviation));
}

static int put_user_table(console *c, const work *w)
{
    table shown = table_begin(TABLE_TEXT, 5);

    table_text(&shown, "user");
    table_text(&shown, "interactions");
    table_text(&shown, "leverage");
    table_text(&shown, "deviation");
    table_text(&shown, "passed");
    for (int64_t u = 0; u < ease_interactions_users(w->was); u++) {
        const ease_removal *removal = &w->removals[u];

        table_text(&shown, ease_interactions_user_id(w->was, u));
        table_real(&shown, (double)ease_interactions_row(w->was, u).count, 0);
        table_value(&shown, removal->leverage);
        table_value(&shown, removal->deviation);
        table_text(&shown, residual_allowed(removal->deviation) ? "yes" : "no");
    }
    fputc('\n', stdout);
    return table_end(&shown) ? EXIT_DONE : fail_no_memory(c);
}

static int put_report(console *c, const forget_args *a, const work *w)
{
    int64_t users = ease_interactions_users(w->was);
    report r = report_begin(format_of(&a->common));

    console_clear(c);
    put_facts(a, w, &r);
    if (r.format == OUTPUT_TEXT)
        return put_user_table(c, w);
    if (r.format == OUTPUT_JSON)
        json_open(&r.json, "removed", '[');
    for (int64_t u = 0; u < users; u++)
        if (r.format == OUTPUT_JSON)
            put_user_json(&r.json, w, u);
        else
            put_user_facts(&r, w, u);
    if (r.format == OUTPUT_JSON)
        json_close(&r.json, ']');
    report_end(&r);
    return EXIT_DONE;
}

/* ---- the verb -------------------------------------------------------------------- */

static int run(console *c, void *args)
{
    const forget_args *a = args;
    work w = {.claim = CLAIM_NONE,
              .info = {.size = sizeof(w.info)},
              .seconds = seconds_now()};
    int code = check(c, a);

    if (!code)
        code = forget(c, a, &w);
    w.seconds = seconds_now() - w.seconds;
    if (!code)
        code = put_report(c, a, &w);
    if (!code && (fflush(stdout) != 0 || ferror(stdout)))
        warn_written(c, target_path(&a->common, &a->target));
    ease_model_free(w.made);
    ease_model_free(w.model);
    ease_interactions_free(w.data);
    ease_interactions_free(w.was);
    ease_interactions_free(w.gone);
    free(w.removals);
    claim_release(&w.claim);
    return code;
}

static const option_group groups[] = {
    {"Forgetting", forget_options, 0}, TARGET_GROUP(forget_args),
    READING_GROUP(forget_args),        FORMAT_GROUP(output_options),
    {"General", threads_options, 0},   GROUPS_END};
static const operand operands[] = {
    {"MODEL", "a model that was trained with --updatable"}, {NULL, NULL}};
static const char *const usage[] = {
    "MODEL --users DATA --user ID ... (-o MODEL2 | --in-place) [options]",
    "MODEL --users DATA --users-from FILE (-o MODEL2 | --in-place)", NULL};
static const char *const examples[] = {
    "living.ease --users all.csv --user u7 -o without.ease",
    "living.ease --users all.csv --user u8 --user u9 --in-place --json",
    "living.ease --users all.csv --user u10 --forgotten gone.txt --in-place", NULL};

#define KEPT "a removal keeps the settings of the model: for other ones train it again"
static const refusal refusals[] = {
    {"lambda", KEPT}, {"model", KEPT}, {"set", KEPT}, {"kind", KEPT}, {NULL, NULL}};

const verb verb_forget = {
    .name = "forget",
    .summary = "remove users from a model, and report that they were removed",
    .usage = usage,
    .about =
        "Makes the model that training without these users would make, and prints a "
        "report that can be kept: the models before and after with the SHA-256 of "
        "their files, and each user who was removed. DATA is read with the options of "
        "training, since the rows of these users must be those that the model was "
        "trained on. If DATA is not exactly the data of the model, nothing is written "
        "and the exit code is 3: a user whom the model does not have would make its "
        "weights wrong, and no other check would notice. Users who were removed before "
        "have to be deleted from DATA, or to be listed in --forgotten. With "
        "--unverified "
        "rows are removed all the same.\n\n"
        "Each removal is checked by itself, as the residual of the whole model does "
        "not tell whether one user was removed. With the inverses P before and P' "
        "after, a row x and its leverage h = x P x', the deviation ||(1 - h) P'x - "
        "Px|| "
        "/ ||Px|| is 0 if x was removed exactly, and must be at most 1e-4. If it is "
        "not, the exit code is 5, and nothing is written.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .least_operands = 1,
    .most_operands = 1,
    .size = sizeof(forget_args),
    .defaults = &(const forget_args){.reading = READING_DEFAULTS},
    .refusals = refusals,
    .run = run,
};
