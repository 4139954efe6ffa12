#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contest.h"
#include "measuring.h"
#include "planning.h"
#include "published.h"
#include "table.h"
#include "verbs.h"

typedef struct reproduce_args {
    common_args common;
    tuning_args tuning; /* lambda NULL: the paper's */
    const char *data, *output, *sets, *models;
    int64_t heldout_users;
    int markdown;
} reproduce_args;

#define AT(member) .at = offsetof(reproduce_args, member)

static const option reproduce_options[] = {
    {.name = "data",
     .type = OPTION_PATH,
     .required = true,
     AT(data),
     .value = "DIR",
     .help = "the directory of the data sets; required"},
    {.name = "output",
     .letter = 'o',
     .type = OPTION_PATH,
     AT(output),
     .value = "DIR",
     .help = "the directory for the splits, each with the name of its set (default: a "
             "directory with the table's name)"},
    {.name = "sets",
     .type = OPTION_TEXT,
     AT(sets),
     .value = "NAME,NAME,...",
     .help = "some of ml-20m, netflix and msd (default: all that are found)"},
    {.name = "models",
     .type = OPTION_TEXT,
     AT(models),
     .value = "NAME,NAME,...",
     .help = "as ease help models lists them (default: ease,ease-nonneg,popularity); "
             "settings are tuned on the validation users"},
    {.name = "lambda",
     .type = OPTION_TEXT,
     AT(tuning.lambda),
     .value = "L,L,...",
     .help = "values to try on the validation users, or auto, or one value to use "
             "(default: the paper's, 500 for ml-20m, 1000 for netflix, 200 for msd, "
             "3000 for ml-10m)"},
    {.name = "unknown",
     .type = OPTION_CHOICE,
     AT(tuning.unknown),
     .value = UNKNOWN_VALUE,
     .help = UNKNOWN_HELP},
    {.name = "heldout-users",
     .type = OPTION_COUNT,
     AT(heldout_users),
     .value = "H",
     .least = 1,
     .help = "for smaller data than the paper's: users for validation, and as many for "
             "testing"},
    {.name = "precision",
     .type = OPTION_CHOICE,
     AT(tuning.precision),
     .value = "f32|f64",
     .help = "precision of the solve (default f32)"},
    {.name = "memory-limit",
     .type = OPTION_SIZE,
     AT(tuning.memory_limit),
     .value = "SIZE",
     .help = "the most memory to use, as in 500M or 2GiB (default: the available "
             "memory)"},
    BACKEND_OPTION(offsetof(reproduce_args, tuning.backend)),
    DEVICE_MEMORY_OPTION(offsetof(reproduce_args, tuning.device_memory)),
    OPTIONS_END};

static const option form_options[] = {{.name = "markdown",
                                       .type = OPTION_FLAG,
                                       AT(markdown),
                                       .help = "the tables in Markdown"},
                                      OPTIONS_END};

/* A data set of the table. */
typedef struct entrant {
    const ease_recipe *recipe;
    int number;          /* index among the table's sets */
    char data[PATH_MAX]; /* path; "": not found */
    char split[PATH_MAX];
    ease_split_info info;
    contest contest;
} entrant;

typedef struct event {
    const published_table *table;
    entrant at[MOST_SETS];
    int count;
    const ease_recipe *absent[MOST_SETS];
    int absences;
    lambdas given; /* values of --lambda */
} event;

/* ---- finding the data --------------------------------------------------------- */

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* Joins a directory and a name. Returns false if the path is too long. */
static bool join(char to[PATH_MAX], const char *dir, const char *name)
{
    return snprintf(to, PATH_MAX, "%s/%s", dir, name) < PATH_MAX;
}

static void find_data(const char *dir, entrant *e)
{
    const char *name = e->recipe->name;

    for (const char *const *p = published_places(name); *p; p++)
        if (join(e->data, dir, *p) && exists(e->data))
            return;
    /* Files of Kaggle may be in the directory itself. */
    if (strcmp(name, "netflix") == 0 && join(e->data, dir, "combined_data_1.txt") &&
        exists(e->data)) {
        snprintf(e->data, sizeof(e->data), "%s", dir);
        return;
    }
    e->data[0] = '\0';
}

/* True if the word is in the list "a,b,c". */
static bool listed(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list;; at++) {
        size_t part = strcspn(at, ",");

        if (part == length && strncmp(at, word, length) == 0)
            return true;
        at += part;
        if (!*at)
            return false;
    }
}

static int check_sets(console *c, const reproduce_args *a, const published_table *t)
{
    for (const char *at = a->sets; at; at++) {
        int length = (int)strcspn(at, ",");
        bool known = false;

        for (int i = 0; i < MOST_SETS && t->sets[i]; i++)
            known = known || ((size_t)length == strlen(t->sets[i]) &&
                              strncmp(at, t->sets[i], (size_t)length) == 0);
        if (!known)
            return usage_error(c, a->common.verb, "--sets: '%.*s' is none of %s",
                               length, at, t->name);
        at += length;
        if (!*at)
            break;
    }
    return EXIT_DONE;
}

static int fail_without_data(console *c, const reproduce_args *a, const event *v)
{
    char wanted[1024] = "";
    size_t used = 0;

    for (int i = 0; i < MOST_SETS && v->table->sets[i] && used < sizeof(wanted); i++)
        if (!a->sets || listed(a->sets, v->table->sets[i]))
            used += (size_t)snprintf(wanted + used, sizeof(wanted) - used,
                                     "%s%s/%s (from %s)", used ? ", " : "", a->data,
                                     published_places(v->table->sets[i])[0],
                                     published_source(v->table->sets[i]));
    return fail(c, EXIT_FAILED, "%s: no data set of %s was found: put it into %s",
                a->data, v->table->name, wanted);
}

static void note_absent(console *c, const reproduce_args *a, event *v,
                        const ease_recipe *r)
{
    v->absent[v->absences++] = r;
    note(c, "%s was not found: %s/%s, from %s", r->title, a->data,
         published_places(r->name)[0], published_source(r->name));
}

static int find_all(console *c, const reproduce_args *a, event *v)
{
    int code = check_readable(c, a->data);

    if (code)
        return code;
    for (int i = 0; i < MOST_SETS && v->table->sets[i]; i++) {
        entrant *e = &v->at[v->count];

        if (a->sets && !listed(a->sets, v->table->sets[i]))
            continue;
        *e = (entrant){.recipe = ease_recipe_find(v->table->sets[i]), .number = i};
        find_data(a->data, e);
        if (e->data[0])
            v->count++;
        else
            note_absent(c, a, v, e->recipe);
    }
    return v->count ? EXIT_DONE : fail_without_data(c, a, v);
}

/* ---- splitting and planning --------------------------------------------------- */

static int make_directory(console *c, const char *dir)
{
    struct stat st;

    if (mkdir(dir, 0777) == 0 ||
        (errno == EEXIST && stat(dir, &st) == 0 && S_ISDIR(st.st_mode)))
        return EXIT_DONE;
    return fail(c, EXIT_FAILED, "%s: cannot create: %s", dir, strerror(errno));
}

static int split(console *c, const reproduce_args *a, const char *output, entrant *e)
{
    ease_interactions_info data = {.size = sizeof(data)};
    ease_read_options r;
    ease_split_options o;
    ease_error err;

    if (!join(e->split, output, e->recipe->name))
        return fail(c, EXIT_FAILED, "%s: too long a path", output);
    ease_read_options_init(&r);
    ease_recipe_apply(e->recipe, &r);
    r.threads = (int)a->common.threads;
    r.memory_limit = a->tuning.memory_limit;
    r.hooks = console_hooks(c);
    ease_split_options_init(&o);
    o.recipe = e->recipe->name;
    if (e->recipe->heldout_users)
        o.heldout_users = a->heldout_users;
    o.hooks = r.hooks;
    e->info = (ease_split_info){.size = sizeof(e->info), .data = &data};
    if (ease_split(e->data, &r, &o, e->split, &e->info, &err))
        return fail_with(c, &err);
    e->info.data = NULL;
    data.recognized = e->info.recognized;
    note_data(c, e->data, &data);
    note_published(c, e->recipe, &data);
    return EXIT_DONE;
}

/* Plans the models that have a lambda, which are trained one after the other. If
 * lambda is tuned, the Gram matrix is kept beside the matrix that is solved. */
static int plan(console *c, const reproduce_args *a, const event *v, const entrant *e)
{
    ease_train_options o = train_options_of(c, &a->common, &a->tuning);
    char need[NUMBER_CHARS], have[NUMBER_CHARS], took[NUMBER_CHARS],
        items[NUMBER_CHARS];
    bool chosen = a->tuning.lambda && v->given.count != 1;
    ease_error err;
    ease_plan p = {.size = sizeof(p)};
    int solves = 0;

    for (int i = 0; i < e->contest.count; i++)
        solves += ease_method_find(e->contest.at[i].name)->from_gram;
    if (!solves)
        return EXIT_DONE;
    o.lambda = 1;
    if (ease_plan_sizes(e->info.train.users, e->info.train.items,
                        e->info.train.interactions, &o, EASE_STORE_PACKED, &p, &err))
        return fail_with(c, &err);
    p.peak_bytes += chosen ? p.matrix_bytes : 0;
    format_bytes(need, sizeof(need), p.peak_bytes);
    format_bytes(have, sizeof(have), p.available_bytes);
    if (p.available_bytes && p.peak_bytes > p.available_bytes)
        return fail(c, EXIT_MEMORY, "%s: %s items need %s of memory, %s are available",
                    e->recipe->name, format_count(items, sizeof(items), p.items), need,
                    have);
    note(
        c, "plan for %s: %s of memory (%s available), about %s for %s", e->recipe->name,
        need, p.available_bytes ? have : "unknown",
        format_seconds(took, sizeof(took), solves * (p.gram_seconds + p.solve_seconds)),
        chosen ? "each lambda" : "training");
    return EXIT_DONE;
}

/* ---- output ------------------------------------------------------------------- */

static const contender *contender_of(const contest *all, const char *model)
{
    for (int i = 0; i < all->count; i++)
        if (strcmp(all->at[i].name, model) == 0)
            return &all->at[i];
    return NULL;
}

static double figure(const event *v, const entrant *e, const char *model, int metric)
{
    const published_model *m = published_of(v->table, model);

    return m ? m->figure[e->number][metric] : (double)NAN;
}

/* Prints a row of the table; k NULL: only the paper has the model. */
static void put_row(table *t, const event *v, const entrant *e, const char *model,
                    const contender *k)
{
    table_text(t, model);
    table_text(t, k ? k->chosen : "");
    for (int i = 0; i < e->contest.metrics; i++) {
        double paper = figure(v, e, model, i);
        char text[64] = "";

        if (k) {
            ease_metric m = {.size = sizeof(m)};

            m = metric_of(k->report, i);
            snprintf(text, sizeof(text), "%.5f (%.5f)", m.mean, m.standard_error);
        }
        table_text(t, text);
        snprintf(text, sizeof(text), "%.*f", e->contest.metrics == 1 ? 4 : 3, paper);
        table_text(t, isnan(paper) ? "" : text);
    }
    table_real(t, k ? k->seconds : (double)NAN, 2);
}

static bool put_set(const event *v, const entrant *e, table_form form)
{
    const contest *all = &e->contest;
    char users[NUMBER_CHARS], items[NUMBER_CHARS], test[NUMBER_CHARS];
    table t = table_begin(form, 3 + 2 * (size_t)all->metrics);

    printf("%s, %s: trained on %s users and %s items, means over %s test users\n",
           v->table->title, e->recipe->title,
           format_count(users, sizeof(users), e->info.train.users),
           format_count(items, sizeof(items), e->info.train.items),
           format_count(test, sizeof(test), ease_report_users(all->at[0].report)));
    put_unknown(all->at[0].report);
    fputc('\n', stdout);
    table_text(&t, "model");
    table_text(&t, "settings");
    for (int i = 0; i < all->metrics; i++) {
        table_text(&t, metric_of(all->at[0].report, i).name);
        table_text(&t, "paper");
    }
    table_text(&t, "training, s");
    for (int i = 0; i < all->count; i++)
        put_row(&t, v, e, all->at[i].name, &all->at[i]);
    for (const published_model *m = v->table->models; m->model; m++)
        if (!contender_of(all, m->model))
            put_row(&t, v, e, m->model, NULL);
    return table_end(&t);
}

/* Prints a row for each metric of each model, including those that only the paper
 * has. */
static void put_csv_rows(table *t, const event *v, const entrant *e, const char *model,
                         const contender *k)
{
    const contest *all = &e->contest;

    for (int i = 0; i < all->metrics; i++) {
        ease_metric m = metric_of(all->at[0].report, i);
        const char *name = m.name;

        m.mean = m.standard_error = (double)NAN;
        if (k)
            m = metric_of(k->report, i);
        table_text(t, e->recipe->name);
        table_text(t, model);
        table_value(t, k ? k->lambda : (double)NAN);
        table_text(t, k ? k->chosen : "");
        table_text(t, name);
        table_value(t, m.mean);
        table_value(t, m.standard_error);
        table_value(t, k ? (double)ease_report_users(k->report) : (double)NAN);
        table_value(t, k ? k->seconds : (double)NAN);
        table_value(t, figure(v, e, model, i));
    }
}

static bool put_csv(const event *v)
{
    static const char *const heads[] = {"set",     "model",    "lambda", "settings",
                                        "metric",  "mean",     "stderr", "users",
                                        "seconds", "published"};
    size_t columns = sizeof(heads) / sizeof(heads[0]);
    table t = table_begin(TABLE_CSV, columns);

    for (size_t i = 0; i < columns; i++)
        table_text(&t, heads[i]);
    for (int i = 0; i < v->count; i++) {
        const entrant *e = &v->at[i];

        for (int k = 0; k < e->contest.count; k++)
            put_csv_rows(&t, v, e, e->contest.at[k].name, &e->contest.at[k]);
        for (const published_model *m = v->table->models; m->model; m++)
            if (!contender_of(&e->contest, m->model))
                put_csv_rows(&t, v, e, m->model, NULL);
    }
    return table_end(&t);
}

static void json_model(json *j, const event *v, const entrant *e, const char *model,
                       const contender *k)
{
    const contest *all = &e->contest;

    json_open(j, NULL, '{');
    json_text(j, "model", model);
    if (k) {
        json_real(j, "lambda", k->lambda);
        json_text(j, "settings", k->chosen);
        json_metrics(j, k->report);
        json_real(j, "seconds", k->seconds);
    }
    json_open(j, "published", '{');
    for (int i = 0; i < all->metrics; i++)
        json_real(j, metric_of(all->at[0].report, i).name, figure(v, e, model, i));
    json_close(j, '}');
    json_close(j, '}');
}

static void json_set(json *j, const event *v, const entrant *e)
{
    ease_report_info info = {.size = sizeof(info)};

    ease_report_describe(e->contest.at[0].report, &info);
    json_open(j, NULL, '{');
    json_text(j, "set", e->recipe->name);
    json_text(j, "data", e->data);
    json_text(j, "split", e->split);
    json_count(j, "users", info.users);
    json_unknown(j, info.unknown, info.unknown_targets);
    json_open(j, "models", '[');
    for (int i = 0; i < e->contest.count; i++)
        json_model(j, v, e, e->contest.at[i].name, &e->contest.at[i]);
    for (const published_model *m = v->table->models; m->model; m++)
        if (!contender_of(&e->contest, m->model))
            json_model(j, v, e, m->model, NULL);
    json_close(j, ']');
    json_close(j, '}');
}

static void put_json(const event *v)
{
    json j = {.to = stdout};

    json_open(&j, NULL, '{');
    json_text(&j, "table", v->table->name);
    json_open(&j, "sets", '[');
    for (int i = 0; i < v->count; i++)
        json_set(&j, v, &v->at[i]);
    json_close(&j, ']');
    json_open(&j, "absent", '[');
    for (int i = 0; i < v->absences; i++)
        json_text(&j, NULL, v->absent[i]->name);
    json_close(&j, ']');
    json_close(&j, '}');
    fputc('\n', stdout);
}

/* ---- the verb ----------------------------------------------------------------- */

/* Trains and measures the models of a set; in text format the set is printed when it
 * is done. */
static int run_set(console *c, const reproduce_args *a, event *v, entrant *e)
{
    double paper = e->recipe->lambda;
    lambdas l = a->tuning.lambda ? v->given : (lambdas){.at = &paper, .count = 1};
    tuning_args tuning = a->tuning;
    ease_split_parts parts = {.size = sizeof(parts)};
    int code;

    tuning.metric = v->table->metric;
    note(c, "%s", e->recipe->title);
    code = open_split(c, e->split, &parts);
    if (!code)
        code = contest_run(c, &a->common, &tuning, &l, v->table->metrics, e->split,
                           &parts, &e->contest);
    ease_split_close(&parts);
    if (code || format_of(&a->common) != OUTPUT_TEXT)
        return code;
    if (e != v->at)
        fputc('\n', stdout);
    if (!put_set(v, e, a->markdown ? TABLE_MARKDOWN : TABLE_TEXT))
        return fail_no_memory(c);
    return output_flush(c);
}

static int check(console *c, const reproduce_args *a, event *v)
{
    double paper = 1; /* any value: there is one */
    lambdas one = {.at = &paper, .count = 1};
    contest models = {.count = 0};
    tuning_args tuning = a->tuning;
    int code = EXIT_DONE;

    v->table = published_find(a->common.operands[0]);
    if (!v->table)
        return usage_error(c, a->common.verb,
                           "no table '%s': there are table1 and table2",
                           a->common.operands[0]);
    if (a->markdown && (a->common.json || a->common.csv))
        return usage_error(c, a->common.verb,
                           "--markdown, --json and --csv exclude each other");
    if (a->heldout_users && v->table == published_find("table2"))
        return usage_error(c, a->common.verb, "table2 holds out no users");
    code = check_sets(c, a, v->table);
    if (!code)
        code = contest_parse(c, a->common.verb, a->models, &models);
    if (!code && a->tuning.lambda)
        code = lambdas_parse(c, a->common.verb, a->tuning.lambda, &v->given);
    tuning.metric = v->table->metric;
    if (!code)
        code = contest_check(c, &a->common, &tuning,
                             a->tuning.lambda ? &v->given : &one, &models);
    if (!code)
        code = find_all(c, a, v);
    for (int i = 0; i < v->count; i++)
        v->at[i].contest = models;
    return code;
}

static int run(console *c, void *args)
{
    const reproduce_args *a = args;
    event v = {.count = 0};
    int code = check(c, a, &v);
    const char *output = a->output ? a->output : a->common.operands[0];

    if (!code)
        code = make_directory(c, output);
    for (int i = 0; !code && i < v.count; i++)
        code = split(c, a, output, &v.at[i]);
    for (int i = 0; !code && i < v.count; i++)
        code = plan(c, a, &v, &v.at[i]);
    for (int i = 0; !code && i < v.count; i++)
        code = run_set(c, a, &v, &v.at[i]);
    if (!code && a->common.json)
        put_json(&v);
    if (!code && a->common.csv && !put_csv(&v))
        code = fail_no_memory(c);
    for (int i = 0; i < v.count; i++)
        contest_free(&v.at[i].contest);
    lambdas_free(&v.given);
    return code;
}

static const option_group groups[] = {{"Reproducing", reproduce_options, 0},
                                      FORMAT_GROUP(output_options),
                                      {"Markdown", form_options, 0},
                                      {"General", threads_options, 0},
                                      GROUPS_END};
static const operand operands[] = {
    {"TABLE",
     "table1 (strong generalization on ml-20m, netflix and msd) or table2 (weak "
     "generalization on ml-10m)"},
    {NULL, NULL}};
static const char *const usage[] = {
    "table1|table2 --data DIR [-o DIR] [--sets NAME,...] [--lambda auto]", NULL};
static const char *const examples[] = {
    "table1 --data downloads", "table1 --data downloads --sets ml-20m --lambda auto",
    "table2 --data downloads --json", NULL};

const verb verb_reproduce = {
    .name = "reproduce",
    .summary = "reproduce the paper's tables from its data",
    .usage = usage,
    .about =
        "Splits each data set that is found by its recipe, reports what training "
        "needs, trains the models, measures them on the test users and prints the "
        "paper's table: our figures, with standard errors in brackets, beside those "
        "of the paper. Lambda is the paper's unless --lambda says otherwise: auto "
        "chooses it on the validation users, as the paper did, for each model.\n\n"
        "Found in the directory of --data, as they are distributed: ml-20m/ or "
        "ml-20m.zip; netflix/, nf_prize_dataset/, netflix-prize-data/, download/, "
        "training_set/ or combined_data_1.txt to _4.txt; msd/, train_triplets.txt or "
        "train_triplets.txt.zip; ml-10M100K/, ml-10m/ or ml-10m.zip. ease split "
        "--help says what each recipe does.\n\n"
        "--json gives one object with the keys table, sets (set, data, split, users, "
        "unknown, unknown_targets, and models: model, lambda, settings, metrics, "
        "seconds, published) and absent; --csv has a row for each metric of each "
        "model.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .words = "table1 table2",
    .least_operands = 1,
    .most_operands = 1,
    .size = sizeof(reproduce_args),
    .defaults = &(const reproduce_args){.models = "ease,ease-nonneg,popularity"},
    .run = run,
};
