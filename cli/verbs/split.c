#include <math.h>
#include <string.h>

#include "files.h"
#include "parquet.h"
#include "verbs.h"

typedef struct split_args {
    common_args common;
    reading_args reading;
    const char *output;
    int protocol;
    int64_t heldout_users, seed;
    double share, test_from, validation_from;
} split_args;

#define AT(member)     .at = offsetof(split_args, member)
#define PROTOCOL_WORDS "liang18|volkovs15|leave-last|time|random|cold-items"

enum { LIANG18, VOLKOVS15, LEAVE_LAST, TIME, RANDOM, COLD_ITEMS, PROTOCOLS };
static const char *const protocol_names[PROTOCOLS] = {
    "liang18", "volkovs15", "leave-last", "time", "random", "cold-items"};
enum { PUBLISHED_MIN_USER = 5 };

static const option split_options[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_PATH,
     .required = true,
     AT(output),
     .value = "DIR",
     .help = "the directory to write: new, empty, or with a split to replace; "
             "required"},
    {.name = "protocol",
     .type = OPTION_CHOICE,
     AT(protocol),
     .value = PROTOCOL_WORDS,
     .help = "how to divide; required without --recipe, which implies one"},
    {.name = "heldout-users",
     .type = OPTION_COUNT,
     AT(heldout_users),
     .value = "H",
     .least = 1,
     .help = "liang18: users for validation, and as many for testing (default 10000, "
             "or the recipe's)"},
    {.name = "share",
     .type = OPTION_POSITIVE,
     AT(share),
     .value = "S",
     .help = "liang18, time, random: the share that is held out (default 0.2); "
             "cold-items: the share of items, below 0.5 (default 0.1)"},
    {.name = "test-from",
     .type = OPTION_TIME,
     AT(test_from),
     .value = "TIME",
     .help =
         "time: rows from this time on are test data, such as 2024-01-31; by default "
         "--share chooses the time. --until drops what is later still"},
    {.name = "validation-from",
     .type = OPTION_TIME,
     AT(validation_from),
     .value = "TIME",
     .help = "time: the others from this time on are validation data; by default "
             "--share of them"},
    {.name = "seed",
     .type = OPTION_COUNT,
     AT(seed),
     .value = "S",
     .most = UINT32_MAX,
     .help = "the same seed gives the same split (default 98765)"},
    OPTIONS_END};

static void note_part(console *c, const char *what, const ease_split_part *input,
                      const ease_split_part *target)
{
    char givers[NUMBER_CHARS], in[NUMBER_CHARS], users[NUMBER_CHARS],
        held[NUMBER_CHARS];

    note(c, "%s: %s interactions of %s users as input, %s of %s as targets", what,
         format_count(in, sizeof(in), input->interactions),
         format_count(givers, sizeof(givers), input->users),
         format_count(held, sizeof(held), target->interactions),
         format_count(users, sizeof(users), target->users));
}

static void note_split(console *c, const split_args *a, const ease_split_info *info,
                       double seconds)
{
    char users[NUMBER_CHARS], items[NUMBER_CHARS], pairs[NUMBER_CHARS],
        took[NUMBER_CHARS];
    ease_interactions_info data = *info->data;

    data.recognized = info->recognized;
    note_data(c, a->common.operands[0], &data);
    note_values(c, &data, "--min-rating uses them");
    note_published(c, ease_recipe_at(a->reading.recipe), &data);
    if (a->protocol == LEAVE_LAST && !info->by_time)
        note(c, "no times: the order is that of the rows");
    note(c, "train: %s users, %s items, %s interactions",
         format_count(users, sizeof(users), info->train.users),
         format_count(items, sizeof(items), info->train.items),
         format_count(pairs, sizeof(pairs), info->train.interactions));
    note_part(c, "validation", &info->validation_input, &info->validation_target);
    note_part(c, "test", &info->test_input, &info->test_target);
    if (info->cold_items)
        note(c,
             "cold: %s items have all interactions among the test targets, as many "
             "others among the validation targets",
             format_count(items, sizeof(items), info->cold_items));
    note(c, "wrote %s in %s", a->output, format_seconds(took, sizeof(took), seconds));
}

/* Prints a part: in JSON as an object, in CSV as rows such as train_users. */
static void report_part(report *r, const char *key, const ease_split_part *part)
{
    const struct {
        const char *name;
        int64_t count;
    } facts[] = {{"users", part->users},
                 {"items", part->items},
                 {"interactions", part->interactions}};
    char name[64];

    if (r->format == OUTPUT_JSON)
        json_open(&r->json, key, '{');
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        snprintf(name, sizeof(name), "%s_%s", key, facts[i].name);
        report_count(r, r->format == OUTPUT_JSON ? facts[i].name : name, "",
                     facts[i].count);
    }
    if (r->format == OUTPUT_JSON)
        json_close(&r->json, '}');
}

static void report_split(const split_args *a, const ease_split_info *info,
                         double seconds)
{
    report r = report_begin(format_of(&a->common));

    if (a->reading.recipe >= 0)
        report_text(&r, "recipe", "", ease_recipe_at(a->reading.recipe)->name);
    report_text(&r, "protocol", "", protocol_names[a->protocol]);
    report_count(&r, "seed", "", a->seed);
    report_count(&r, "users", "", info->data->users);
    report_count(&r, "items", "", info->data->items);
    report_count(&r, "interactions", "", info->data->interactions);
    report_part(&r, "train", &info->train);
    report_part(&r, "validation_train", &info->validation_train);
    report_part(&r, "validation_input", &info->validation_input);
    report_part(&r, "validation_target", &info->validation_target);
    report_part(&r, "test_input", &info->test_input);
    report_part(&r, "test_target", &info->test_target);
    if (info->cold_items)
        report_count(&r, "cold_items", "", info->cold_items);
    report_seconds(&r, "seconds", "", seconds);
    report_text(&r, "path", "", a->output);
    report_end(&r);
}

/* Sets the protocol: that of the recipe, or the one given. */
static int settle_protocol(console *c, split_args *a)
{
    const ease_recipe *recipe = ease_recipe_at(a->reading.recipe);
    int given = a->protocol;

    if (!recipe && given < 0)
        return usage_error(c, a->common.verb, "--protocol or --recipe is required");
    for (int i = 0; recipe && i < PROTOCOLS; i++)
        if (strcmp(protocol_names[i], recipe->protocol) == 0)
            a->protocol = i;
    if (given >= 0 && a->protocol != given)
        return usage_error(c, a->common.verb,
                           "--recipe %s is for the protocol %s, not %s", recipe->name,
                           recipe->protocol, protocol_names[given]);
    if (!recipe && a->reading.min_user < 0 && given == LIANG18)
        a->reading.min_user = PUBLISHED_MIN_USER;
    return EXIT_DONE;
}

static int run(console *c, void *args)
{
    split_args *a = args;
    double began = seconds_now();
    const ease_recipe *recipe = ease_recipe_at(a->reading.recipe);
    int code;
    ease_read_options r;
    ease_split_options o;
    ease_interactions_info data = {.size = sizeof(data)};
    ease_split_info info = {.size = sizeof(info), .data = &data};
    ease_error err;

    if (strcmp(a->output, "-") == 0)
        return usage_error(c, a->common.verb, "a split is a directory, not a stream");
    code = settle_protocol(c, a);
    if (code)
        return code;
    code = refuse_parquet(c, &a->common, a->common.operands[0]);
    if (code)
        return code;
    reading_several(&a->reading, &a->common);
    r = reading_options_of(c, &a->common, &a->reading);
    ease_split_options_init(&o);
    o.recipe = recipe ? recipe->name : NULL;
    o.protocol = protocol_names[a->protocol];
    o.heldout_users = a->heldout_users;
    o.share = a->share;
    o.test_from = a->test_from;
    o.validation_from = a->validation_from;
    o.seed = (uint32_t)a->seed;
    o.hooks = r.hooks;
    if (ease_split(a->common.operands[0], &r, &o, a->output, &info, &err))
        return fail_with(c, &err);
    note_split(c, a, &info, seconds_now() - began);
    if (format_of(&a->common) != OUTPUT_TEXT)
        report_split(a, &info, seconds_now() - began);
    return EXIT_DONE;
}

static const option_group groups[] = {{"Splitting", split_options, 0},
                                      READING_GROUP(split_args),
                                      FORMAT_GROUP(output_options),
                                      {"General", threads_options, 0},
                                      GROUPS_END};
static const operand operands[] = {
    {"DATA", "interactions, in any form that 'ease train' reads: files, a directory, a "
             "pattern; - for standard input"},
    {NULL, NULL}};
static const char *const usage[] = {
    "DATA -o DIR --protocol liang18 [--heldout-users H] [--seed S]",
    "DATA -o DIR --protocol volkovs15|leave-last|time|random",
    "DATA -o DIR --protocol cold-items [--share S] [--seed S]",
    "DATA -o DIR --recipe ml-20m|netflix|msd|ml-10m", NULL};
static const char *const examples[] = {
    "ratings.csv -o ml-20m --protocol liang18 --min-rating 4",
    "ml-1m.csv -o ml-1m --protocol liang18 --min-rating 4 --heldout-users 1000",
    "visits.tsv.gz -o weeks --protocol time --share 0.1",
    "visits.tsv.gz -o june --protocol time --test-from 2024-06-01 --until 2024-07-01",
    "ratings.csv -o new --protocol cold-items --min-rating 4",
    "nf_prize_dataset -o netflix --recipe netflix",
    NULL};

const verb verb_split = {
    .name = "split",
    .summary = "divide interactions into train, validation and test parts",
    .usage = usage,
    .about =
        "liang18 divides the users into train, validation and test users, and holds "
        "out a random fifth of the items of validation and test users. It chooses "
        "the same users and items as the published code, and writes the same files. "
        "Users with fewer than 5 items are dropped unless --min-user is given, and "
        "filters are applied in one pass.\n\n"
        "The other protocols divide the items of each user. volkovs15: a random 30 "
        "% is training data, the rest test data. random: a random share is test "
        "data. leave-last: the last item is test data, and the one before it "
        "validation data, in the order of time if the data has times, else in that "
        "of the rows. time: all interactions after one point in time are test data: "
        "--test-from, or "
        "a time that leaves --share of them.\n\n"
        "cold-items measures how well a model recommends items that nobody has yet: a "
        "random tenth of the items has all its interactions in the test data, another "
        "tenth in the validation data. A random fifth of each user's other items is "
        "test data too, and a fifth of the rest validation data. ease eval reports "
        "both "
        "kinds of items apart.\n\n"
        "--recipe applies the published filters, protocol and held-out users to one "
        "of the paper's data sets in its original files. ml-20m: ratings.csv, "
        "ratings above 3.5, users with 5 items, 10,000 held out. netflix: "
        "training_set with a file for each movie, or combined_data_1.txt to _4.txt; "
        "ratings 4 and 5, users with 5 items, 40,000 held out. msd: "
        "train_triplets.txt; songs with 200 users, then users with 20 songs, 50,000 "
        "held out. These three use liang18. ml-10m: ratings.dat, every rating, "
        "volkovs15.\n\n"
        "The directory has the published layout: train.csv, validation_tr.csv, "
        "validation_te.csv, test_tr.csv and test_te.csv contain numbers, whose ids "
        "are listed in unique_uid.txt and unique_sid.txt. If validation items are "
        "part of train.csv, validation_train.csv is the training data without them, "
        "for tuning. split.json records how the split was made. A split that is "
        "already in the directory is replaced in one step: if the program is "
        "killed, the old split stays as it was.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .least_operands = 1,
    .most_operands = -1,
    .size = sizeof(split_args),
    .defaults = &(const split_args){.reading = READING_DEFAULTS,
                                    .protocol = -1,
                                    .seed = 98765,
                                    .test_from = (double)NAN,
                                    .validation_from = (double)NAN},
    .run = run,
};
