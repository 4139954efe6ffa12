#include "files.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nearest.h"
#include "parquet.h"
#include "splitdir.h"

#define AT(member) .at = offsetof(reading_args, member)

static const char *format_name(int index)
{
    const ease_format *f = ease_format_at(index);

    return f ? f->name : NULL;
}

static const char *encoding_name(int index)
{
    static const char *const names[] = {"utf-8", "utf-16", "latin-1"};

    return index >= 0 && index < 3 ? names[index] : NULL;
}

const option reading_options[] = {
    {.name = "recipe",
     .type = OPTION_CHOICE,
     AT(recipe),
     .value = "ml-20m|netflix|msd|ml-10m",
     .help = "the published filters of a data set, for example --min-rating 4 "
             "--min-user 5 --one-pass for the first two; other options override them"},
    {.name = "format",
     .type = OPTION_TEXT,
     AT(format),
     .value = "FORMAT",
     .word = format_name,
     .help = "by default the format is recognized, and so are columns, separator and "
             "header; ease help formats describes each"},
    {.name = "columns",
     .type = OPTION_TEXT,
     AT(columns),
     .value = "USER,ITEM[,VALUE[,TIME]]",
     .help = "columns of a table, by name in its header or by number from 1; VALUE may "
             "be empty. Required if the columns cannot be recognized with confidence"},
    {.name = "separator",
     .type = OPTION_TEXT,
     AT(separator),
     .value = "TEXT",
     .help = "the separator of columns: , or :: or tab or space or another text"},
    {.name = "header",
     .type = OPTION_CHOICE,
     AT(header),
     .value = "no|yes",
     .help = "whether the first line names the columns"},
    {.name = "encoding",
     .type = OPTION_TEXT,
     AT(encoding),
     .value = "ENCODING",
     .word = encoding_name,
     .help =
         "of the text; by default UTF-16 is recognized, and other bytes are read as "
         "they are, as UTF-8"},
    {.name = "min-rating",
     .type = OPTION_REAL,
     AT(min_rating),
     .value = "R",
     .help = "keep rows with a value of at least R"},
    {.name = "weights",
     .type = OPTION_FLAG,
     AT(weights),
     .help = "use the values; by default every row counts as 1"},
    {.name = "since",
     .type = OPTION_TIME,
     AT(since),
     .value = "TIME",
     .help =
         "keep rows from this time on: 2024-01-31, 2024-01-31T18:00+01:00 (without a "
         "zone: UTC), or seconds since 1970. Times in DATA have these forms too, or "
         "are milli-, micro- or nanoseconds"},
    {.name = "until",
     .type = OPTION_TIME,
     AT(until),
     .value = "TIME",
     .help = "keep rows before this time"},
    {.name = "half-life",
     .type = OPTION_POSITIVE,
     AT(half_life),
     .value = "DAYS",
     .help =
         "weight rows by age: a row counts half after this many days, a quarter "
         "after twice as many. Ages count from --until, or else from the newest row"},
    {.name = "repeat",
     .type = OPTION_CHOICE,
     AT(repeat),
     .value = "first|last|max|sum",
     .help =
         "the value to use if a user has an item several times (default first); with "
         "--half-life, max is the newest row"},
    {.name = "min-user",
     .type = OPTION_COUNT,
     AT(min_user),
     .value = "N",
     .help = "drop users with fewer than N items"},
    {.name = "min-item",
     .type = OPTION_COUNT,
     AT(min_item),
     .value = "N",
     .help = "drop items with fewer than N users; both filters are repeated until "
             "nothing changes"},
    {.name = "one-pass",
     .type = OPTION_FLAG,
     AT(one_pass),
     .help = "drop items once and then users once, as published recipes do"},
    OPTIONS_END};

const char *format_carries(const ease_format *f)
{
    if (f->values && f->times)
        return "; can have values and times";
    return f->values ? "; can have values" : f->times ? "; can have times" : "";
}

bool reading_is_weighted(const reading_args *a)
{
    return a->weights || a->half_life > 0.0;
}

bool reading_has_fixed_ages(const reading_args *a)
{
    return a->half_life == 0.0 || !isnan(a->until);
}

void reading_several(reading_args *a, const common_args *common)
{
    a->more = common->operand_count > 1 ? common->operands + 1 : NULL;
}

bool reading_is_default(const reading_args *a)
{
    return !a->format && !a->columns && !a->separator && !a->encoding &&
           a->header < 0 && isnan(a->min_rating) && !a->weights && !a->one_pass &&
           !a->repeat && isnan(a->since) && isnan(a->until) && a->half_life == 0.0 &&
           a->min_user < 0 && a->min_item < 0 && a->recipe < 0;
}

const char *separator_named(const char *word)
{
    if (!word)
        return NULL;
    if (strcmp(word, "\\t") == 0 || strcmp(word, "tab") == 0)
        return "\t";
    if (strcmp(word, "space") == 0)
        return " ";
    if (strcmp(word, "comma") == 0)
        return ",";
    return word;
}

/* "3 rows dropped: 2 below the rating, 1 repeated" */
static void note_dropped(console *c, const ease_interactions_info *info)
{
    const struct {
        int64_t count;
        const char *why;
    } reasons[] = {
        {info->below_rating, "below --min-rating"},
        {info->outside_time, "not from --since until --until"},
        {info->zero_weight, info->age_from != 0.0 ? "of weight 0" : "of value 0"},
        {info->repeated, "repeated"},
        {info->filtered, "of rare users or items"}};
    char text[400] = "", number[NUMBER_CHARS];
    size_t put = 0;
    int64_t all = 0;

    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (!reasons[i].count)
            continue;
        put += (size_t)snprintf(
            text + put, sizeof(text) - put, "%s%s %s", all ? ", " : "",
            format_count(number, sizeof(number), reasons[i].count), reasons[i].why);
        all += reasons[i].count;
    }
    if (all)
        note(c, "rows not kept: %s", text);
}

static void note_times(console *c, const ease_interactions_info *info)
{
    char oldest[NUMBER_CHARS], newest[NUMBER_CHARS], from[NUMBER_CHARS];

    if (info->newest != 0.0)
        note(c, "times: %s to %s%s%s",
             format_time(oldest, sizeof(oldest), info->oldest),
             format_time(newest, sizeof(newest), info->newest),
             info->age_from != 0.0 ? ", ages count from " : "",
             info->age_from != 0.0 ? format_time(from, sizeof(from), info->age_from)
                                   : "");
    if (info->age_from != 0.0 && info->repeated)
        note(c, "of a pair with several rows, --repeat first|last|max|sum chooses the "
                "weight; max is the newest row's");
}

void note_data(console *c, const char *path, const ease_interactions_info *info)
{
    char users[NUMBER_CHARS], items[NUMBER_CHARS], pairs[NUMBER_CHARS];

    if (info->recognized)
        note(c, "%s: %s", strcmp(path, "-") == 0 ? "standard input" : path,
             info->recognized);
    note_dropped(c, info);
    note_times(c, info);
    note(c, "%s users, %s items, %s interactions%s",
         format_count(users, sizeof(users), info->users),
         format_count(items, sizeof(items), info->items),
         format_count(pairs, sizeof(pairs), info->interactions),
         info->weighted ? ", weighted" : "");
}

void note_values(console *c, const ease_interactions_info *info, const char *use)
{
    char rows[NUMBER_CHARS];

    if (info->negative)
        warn(c,
             "ratings are not used: every row counts as 1, also %s with a value below "
             "0; %s",
             format_count(rows, sizeof(rows), info->negative), use);
    else if (info->unused)
        note(c, "ratings are not used: every row counts as 1; %s", use);
}

int check_guess(console *c, const ease_interactions *x)
{
    ease_interactions_info info = {.size = sizeof(info)};

    ease_interactions_describe(x, &info);
    return info.doubt ? fail(c, EXIT_USAGE, "%s", info.doubt) : EXIT_DONE;
}

void note_published(console *c, const ease_recipe *r,
                    const ease_interactions_info *data)
{
    char users[NUMBER_CHARS], items[NUMBER_CHARS], pairs[NUMBER_CHARS];

    if (!r || !r->users ||
        (data->users == r->users && data->items == r->items &&
         data->interactions == r->interactions))
        return;
    note(c, "published of %s: %s users, %s items, %s interactions", r->title,
         format_count(users, sizeof(users), r->users),
         format_count(items, sizeof(items), r->items),
         format_count(pairs, sizeof(pairs), r->interactions));
}

int recognize_file(console *c, const char *path, ease_file_kind *kind)
{
    ease_error err;
    struct stat st;

    *kind = EASE_FILE_OTHER;
    if (strcmp(path, "-") == 0)
        return EXIT_DONE;
    if (is_pattern(path) || (stat(path, &st) == 0 && !S_ISREG(st.st_mode)))
        return EXIT_DONE;
    return ease_file_recognize(path, kind, &err) ? fail_with(c, &err) : EXIT_DONE;
}

ease_read_options reading_options_of(console *c, const common_args *common,
                                     const reading_args *reading)
{
    const ease_recipe *recipe = ease_recipe_at(reading->recipe);
    ease_read_options o;

    ease_read_options_init(&o);
    if (recipe)
        ease_recipe_apply(recipe, &o);
    if (reading->format)
        o.format = reading->format;
    o.columns = reading->columns;
    o.encoding = reading->encoding;
    o.columns_option = "--columns ";
    o.separator = separator_named(reading->separator);
    o.header = reading->header;
    if (!isnan(reading->min_rating))
        o.min_rating = reading->min_rating;
    o.weights = reading->weights;
    o.since = reading->since;
    o.until = reading->until;
    o.half_life = reading->half_life;
    o.more = reading->more;
    o.repeat = (ease_repeat)reading->repeat;
    if (reading->min_user >= 0)
        o.min_user = reading->min_user;
    if (reading->min_item >= 0)
        o.min_item = reading->min_item;
    o.one_pass = o.one_pass || reading->one_pass;
    o.threads = (int)common->threads;
    o.hooks = console_hooks(c);
    return o;
}

/* `may_be_empty`: data without interactions are noted, and leave *out as it is. */
static int read_noting(console *c, const common_args *common,
                       const reading_args *reading, const char *path,
                       size_t memory_limit, bool may_be_empty, ease_interactions **out)
{
    ease_read_options o = reading_options_of(c, common, reading);
    ease_interactions_info info = {.size = sizeof(info)};
    ease_file_kind kind;
    ease_error err;
    int code = check_no_split(c, path);

    if (!code)
        code = recognize_file(c, path, &kind);
    if (code)
        return code;
    code = refuse_parquet(c, common, path);
    if (code)
        return code;
    if (kind == EASE_FILE_MODEL)
        return fail(
            c, EXIT_DATA,
            "%s: a model, where interactions are wanted: ease recommend %s uses "
            "it, ease info %s describes it",
            path, path, path);
    if (kind == EASE_FILE_GRAM)
        return fail(c, EXIT_DATA,
                    "%s: a Gram file, where interactions are wanted: ease train --gram "
                    "%s trains from it",
                    path, path);
    o.memory_limit = memory_limit;
    if (ease_interactions_read(path, &o, out, &err)) {
        if (!may_be_empty || err.status != EASE_E_DATA || err.sys_errno != ENODATA)
            return fail_with(c, &err);
        note(c, "%s", err.text);
        return EXIT_DONE;
    }
    phase_end(c, "reading");
    ease_interactions_describe(*out, &info);
    note_data(c, path, &info);
    note_values(c, &info, "--min-rating or --weights use them");
    return EXIT_DONE;
}

int read_data(console *c, const common_args *common, const reading_args *reading,
              const char *path, size_t memory_limit, ease_interactions **out)
{
    return read_noting(c, common, reading, path, memory_limit, false, out);
}

int read_data_or_none(console *c, const common_args *common,
                      const reading_args *reading, const char *path,
                      size_t memory_limit, ease_interactions **out)
{
    *out = NULL;
    return read_noting(c, common, reading, path, memory_limit, true, out);
}

/* ---- models ---------------------------------------------------------------------- */

ease_model_info model_info_of(const ease_model *m)
{
    ease_model_info info = {.size = sizeof(info)};

    ease_model_describe(m, &info);
    return info;
}

int open_model(console *c, const common_args *common, const char *path,
               const char *titles, ease_model **out)
{
    ease_open_options o;
    ease_file_kind kind;
    ease_model *m;
    ease_error err;
    int code = recognize_file(c, path, &kind);

    if (code)
        return code;
    if (is_split(path))
        return fail(c, EXIT_DATA,
                    "%s: a split, where a model is wanted: ease tune %s -o MODEL makes "
                    "one",
                    path, path);
    if (kind == EASE_FILE_GRAM)
        return fail(c, EXIT_DATA,
                    "%s: a Gram file, where a model is wanted: ease train --gram %s -o "
                    "MODEL --lambda L makes one",
                    path, path);
    ease_open_options_init(&o);
    o.verify = common->no_verify ? EASE_VERIFY_NEVER : EASE_VERIFY_USE;
    if (ease_model_open(path, &o, &m, &err))
        return kind == EASE_FILE_OTHER && err.status == EASE_E_FORMAT
                   ? fail(c, EXIT_DATA, "%s; ease train makes a model of data",
                          err.text)
                   : fail_with(c, &err);
    if (titles && ease_model_read_titles(m, titles, NULL, &err)) {
        ease_model_free(m);
        return fail_with(c, &err);
    }
    *out = m;
    return EXIT_DONE;
}

int find_item(console *c, const ease_model *m, const char *path, const char *id,
              int32_t *item)
{
    nearest near = {.word = id};
    char phrase[300];
    int32_t items;

    *item = ease_model_find(m, id);
    if (*item != EASE_NO_ITEM)
        return EXIT_DONE;
    items = ease_model_items(m);
    for (int32_t i = 0; i < items; i++)
        nearest_offer(&near, ease_model_item_id(m, i));
    return fail(c, EXIT_DATA, "%s: no item '%s'%s", path, id,
                nearest_phrase(&near, "", phrase, sizeof(phrase)));
}

/* ---- output files ---------------------------------------------------------------- */

int check_output(console *c, const char *path)
{
    return check_space(c, path, 0);
}

int check_output_file(console *c, const char *path)
{
    if (strcmp(path, "-") == 0)
        return fail(c, EXIT_USAGE, "this file cannot be written to standard output");
    return check_output(c, path);
}

int check_figure(console *c, const char *path)
{
    ease_error err;

    return ease_plot_check(path, &err) ? fail_with(c, &err) : EXIT_DONE;
}

int check_directory(console *c, const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
        errno = ENOTDIR;
    else if (access(path, W_OK | X_OK) == 0)
        return EXIT_DONE;
    return fail(c, EXIT_FAILED, "%s: %s", path, strerror(errno));
}

int check_space(console *c, const char *path, size_t bytes)
{
    ease_error err;

    return ease_output_check(path, bytes, &err) ? fail_with(c, &err) : EXIT_DONE;
}

void warn_written(console *c, const char *path)
{
    warn(c, "%s was written before the failure", path);
}

size_t file_bytes(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (size_t)st.st_size : 0;
}

int check_readable(console *c, const char *path)
{
    if (access(path, R_OK) == 0)
        return EXIT_DONE;
    return fail(c, EXIT_FAILED, "%s: cannot open: %s", path, strerror(errno));
}

output_format format_of(const common_args *common)
{
    return common->json ? OUTPUT_JSON : common->csv ? OUTPUT_CSV : OUTPUT_TEXT;
}
