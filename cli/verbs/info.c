#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "planning.h"
#include "table.h"
#include "updating.h"
#include "verbs.h"

typedef struct info_args {
    common_args common;
    reading_args reading;
    int verify, backends;
    const char *data;
} info_args;

static const option info_options[] = {
    {.name = "verify",
     .type = OPTION_FLAG,
     .at = offsetof(info_args, verify),
     .help = "verify every byte of a model or Gram file against its checksums; of an "
             "updatable model also compute the residual of its inverse again"},
    {.name = "data",
     .type = OPTION_PATH,
     .at = offsetof(info_args, data),
     .value = "DATA",
     .help = "with --verify: check whether an updatable model is a model of exactly "
             "these interactions"},
    {.name = "backends",
     .type = OPTION_FLAG,
     .at = offsetof(info_args, backends),
     .help = "instead of FILE: list the backends that can solve, and whether they can "
             "be used on this machine"},
    OPTIONS_END};

enum { POPULAR = 5 };

/* The POPULAR largest counts, the earlier of equal ones first. */
typedef struct ranking {
    int32_t item[POPULAR];
    double count[POPULAR];
    size_t size;
} ranking;

static void rank(ranking *r, int32_t item, double count)
{
    size_t at = r->size;

    if (r->size < POPULAR)
        r->size++;
    else if (!(count > r->count[--at]))
        return;
    for (; at > 0 && r->count[at - 1] < count; at--) {
        r->count[at] = r->count[at - 1];
        r->item[at] = r->item[at - 1];
    }
    r->count[at] = count;
    r->item[at] = item;
}

/* ---- a model --------------------------------------------------------------------- */

/* The length of KIND in a tag KIND=VALUE. */
static size_t kind_length(const char *tag)
{
    return strcspn(tag, "=");
}

/* True if a tag of a smaller number has the same kind. */
static bool has_earlier(const ease_model *m, int32_t tag)
{
    const char *name = ease_model_tag(m, tag);
    size_t length = kind_length(name);

    for (int32_t i = 0; i < tag; i++) {
        const char *other = ease_model_tag(m, i);

        if (kind_length(other) == length && strncmp(name, other, length) == 0)
            return true;
    }
    return false;
}

static int64_t count_kind(const ease_model *m, int32_t first)
{
    const char *name = ease_model_tag(m, first);
    size_t length = kind_length(name);
    int64_t count = 0;

    for (int32_t i = first; i < ease_model_tags(m); i++) {
        const char *other = ease_model_tag(m, i);

        count += kind_length(other) == length && strncmp(name, other, length) == 0;
    }
    return count;
}

/* The number of tags, and for each kind the number of its tags. */
static void put_tags(report *r, const ease_model *m)
{
    enum { KINDS = 100 };
    report_item items[KINDS];
    char names[KINDS][64];
    size_t count = 0;

    report_count(r, "tags", "tags", ease_model_tags(m));
    for (int32_t i = 0; i < ease_model_tags(m) && count < KINDS; i++) {
        const char *tag = ease_model_tag(m, i);

        if (has_earlier(m, i))
            continue;
        snprintf(names[count], sizeof(names[count]), "%.*s", (int)kind_length(tag),
                 tag);
        items[count] = (report_item){names[count], NULL, (double)count_kind(m, i)};
        count++;
    }
    report_items(r, "tag_kinds", "tags of kind", items, count);
}

/* What was found by --verify. */
typedef struct findings {
    double residual; /* NaN: the model has no proof */
    bool data;       /* the data are those of the model */
} findings;

static void put_findings(const info_args *a, report *r, const findings *f)
{
    if (!a->verify)
        return;
    report_bool(r, "verified", "verified", true);
    if (!isnan(f->residual))
        report_real(r, "residual_now", "residual now", f->residual);
    if (a->data)
        report_bool(r, "data_verified", "its data", f->data);
}

static void put_model(const info_args *a, const ease_model *m, const findings *f)
{
    ease_model_info info = {.size = sizeof(info)};
    const ease_method_info *method = ease_model_method(m);
    report r = report_begin(format_of(&a->common));
    report_item items[POPULAR];
    ranking best = {.size = 0};

    ease_model_describe(m, &info);
    report_text(&r, "file", "file", "model");
    report_text(&r, "method", "method", info.method);
    report_count(&r, "items", "items", info.items);
    report_count(&r, "users", "users", info.users);
    report_count(&r, "interactions", "interactions", info.interactions);
    if (info.settings[0])
        report_text(&r, "settings", "settings", info.settings);
    if (method->has_lambda)
        report_real(&r, "lambda", "lambda", info.lambda);
    if (method->from_gram) {
        report_text(&r, "kind", "kind", name_of_kind(info.kind));
        report_bool(&r, "nonnegative", "nonnegative", info.nonnegative != 0);
        report_text(&r, "precision", "precision", name_of_precision(info.precision));
        report_real(&r, "residual", "residual", info.residual);
    }
    report_text(&r, "storage", "storage", ease_storage_name(info.storage));
    report_bool(&r, "updatable", "updatable", info.updatable != 0);
    if (info.updatable)
        report_count(&r, "updates", "updates", info.updates);
    report_bool(&r, "titles", "titles", info.has_titles != 0);
    put_tags(&r, m);
    report_bytes(&r, "bytes", "size", info.bytes);
    put_findings(a, &r, f);
    for (int32_t i = 0; i < info.items; i++)
        rank(&best, i, ease_model_popularity(m, i));
    for (size_t i = 0; i < best.size; i++)
        items[i] = (report_item){ease_model_item_id(m, best.item[i]),
                                 ease_model_title(m, best.item[i]), best.count[i]};
    report_items(&r, "popular", "popular", items, best.size);
    report_end(&r);
}

static int verify(console *c, const info_args *a)
{
    const ease_hooks *hooks = console_hooks(c);
    ease_error err;

    if (a->verify && ease_file_verify(a->common.operands[0], hooks, &err))
        return fail_with(c, &err);
    console_clear(c);
    return EXIT_DONE;
}

/* Compares the model with its proof. */
static int verify_residual(console *c, const info_args *a, const ease_model *m,
                           double *residual)
{
    int code = measure_residual(c, &a->common, m, residual);

    if (code || residual_allowed(*residual))
        return code;
    return fail(c, EXIT_NUMERICAL,
                "%s: the residual of the model is %.1g, at most %.0g is allowed: train "
                "it again",
                a->common.operands[0], *residual, RESIDUAL_ALLOWED);
}

static int verify_data(console *c, const info_args *a, const ease_model *m, findings *f)
{
    ease_interactions *x = NULL;
    ease_error err;
    int code = read_data(c, &a->common, &a->reading, a->data, 0, &x);

    if (!code && ease_model_check_data(m, x, &err))
        code = fail_with(c, &err);
    f->data = !code;
    ease_interactions_free(x);
    return code;
}

static int verify_model(console *c, const info_args *a, const ease_model *m,
                        findings *f)
{
    bool updatable = model_info_of(m).updatable;
    int code = verify(c, a);

    if (!code && a->data && !updatable)
        code = refuse_fixed(c, a->common.operands[0], m);
    if (!code && a->verify && updatable)
        code = verify_residual(c, a, m, &f->residual);
    if (!code && a->data)
        code = verify_data(c, a, m, f);
    console_clear(c);
    return code;
}

static int tell_model(console *c, const info_args *a)
{
    findings f = {.residual = (double)NAN};
    ease_model *m = NULL;
    int code = open_model(c, &a->common, a->common.operands[0], NULL, &m);

    if (!code)
        code = verify_model(c, a, m, &f);
    if (!code)
        put_model(a, m, &f);
    ease_model_free(m);
    return code;
}

/* ---- a Gram file ----------------------------------------------------------------- */

static int tell_gram(console *c, const info_args *a)
{
    const char *path = a->common.operands[0];
    ease_gram_info info = {.size = sizeof(info)};
    ease_error err;
    report r;
    int code;

    if (ease_gram_peek(path, &info, &err))
        return fail_with(c, &err);
    code = verify(c, a);
    if (code)
        return code;
    r = report_begin(format_of(&a->common));
    report_text(&r, "file", "file", "gram");
    report_count(&r, "items", "items", info.items);
    report_count(&r, "users", "users", info.users);
    report_count(&r, "interactions", "interactions", info.interactions);
    report_text(&r, "entries", "entries",
                !info.weighted ? "counts"
                : info.wide    ? "float64"
                               : "float32");
    report_bool(&r, "sums", "column sums", info.has_sums != 0);
    report_bytes(&r, "bytes", "size", file_bytes(path));
    if (a->verify)
        report_bool(&r, "verified", "verified", true);
    report_end(&r);
    return EXIT_DONE;
}

/* ---- interactions ---------------------------------------------------------------- */

typedef struct statistics {
    int32_t *per_user;
    double *per_item;
} statistics;

static int compare_lengths(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

static void count(const ease_interactions *x, int64_t users, statistics *s)
{
    for (int64_t u = 0; u < users; u++) {
        ease_row row = ease_interactions_row(x, u);

        s->per_user[u] = row.count;
        for (int32_t i = 0; i < row.count; i++)
            s->per_item[row.items[i]] += 1.0;
    }
    qsort(s->per_user, (size_t)users, sizeof(*s->per_user), compare_lengths);
}

static void put_data(const info_args *a, const ease_interactions *x,
                     const statistics *s)
{
    ease_interactions_info info = {.size = sizeof(info)};
    report r = report_begin(format_of(&a->common));
    report_item items[POPULAR];
    ranking best = {.size = 0};

    ease_interactions_describe(x, &info);
    report_text(&r, "file", "file", "data");
    report_text(&r, "recognized", "recognized", info.recognized ? info.recognized : "");
    report_count(&r, "rows", "rows", info.rows);
    report_count(&r, "users", "users", info.users);
    report_count(&r, "items", "items", info.items);
    report_count(&r, "interactions", "interactions", info.interactions);
    report_real(&r, "density", "density",
                (double)info.interactions / ((double)info.users * (double)info.items));
    report_bool(&r, "weighted", "weighted", info.weighted != 0);
    report_count(&r, "median_user", "median user", s->per_user[(info.users - 1) / 2]);
    report_count(&r, "longest_user", "longest user", s->per_user[info.users - 1]);
    for (int32_t i = 0; i < info.items; i++)
        rank(&best, i, s->per_item[i]);
    for (size_t i = 0; i < best.size; i++)
        items[i] = (report_item){ease_interactions_item_id(x, best.item[i]), NULL,
                                 best.count[i]};
    report_items(&r, "popular", "popular", items, best.size);
    report_end(&r);
}

static int tell_data(console *c, const info_args *a)
{
    ease_interactions *x = NULL;
    ease_interactions_info info = {.size = sizeof(info)};
    statistics s = {0};
    bool quiet = c->quiet;
    int code;

    if (a->verify)
        return fail(c, EXIT_DATA, "%s: neither a model nor a Gram file",
                    a->common.operands[0]);
    c->quiet = true; /* the result has all notes */
    code = read_data(c, &a->common, &a->reading, a->common.operands[0], 0, &x);
    c->quiet = quiet;
    if (code)
        return code;
    console_clear(c);
    ease_interactions_describe(x, &info);
    if (info.doubt)
        warn(c, "%s", info.doubt);
    s.per_user = calloc((size_t)info.users + 1, sizeof(*s.per_user));
    s.per_item = calloc((size_t)info.items + 1, sizeof(*s.per_item));
    if (!s.per_user || !s.per_item) {
        code = fail_no_memory(c);
    } else {
        count(x, info.users, &s);
        put_data(a, x, &s);
    }
    free(s.per_user);
    free(s.per_item);
    ease_interactions_free(x);
    return code;
}

/* ---- backends -------------------------------------------------------------------- */

static void put_backends(void)
{
    const ease_backend_info *b;

    for (int i = 0; (b = ease_backend_at(i)); i++) {
        ease_error err;

        printf("%s: %s\n", b->name, b->about);
        if (ease_backend_check(b->name, &err))
            printf("    %s\n", err.text);
    }
}

static int csv_backends(console *c)
{
    table shown = table_begin(TABLE_CSV, 4);
    const ease_backend_info *b;

    table_text(&shown, "name");
    table_text(&shown, "about");
    table_text(&shown, "usable");
    table_text(&shown, "why_not");
    for (int i = 0; (b = ease_backend_at(i)); i++) {
        ease_error err = {0};
        bool usable = ease_backend_check(b->name, &err) == EASE_OK;

        table_text(&shown, b->name);
        table_text(&shown, b->about);
        table_text(&shown, usable ? "true" : "false");
        table_text(&shown, err.text);
    }
    return table_end(&shown) ? EXIT_DONE : fail_no_memory(c);
}

static int json_backends(void)
{
    json j = {.to = stdout};
    const ease_backend_info *b;

    json_open(&j, NULL, '{');
    json_open(&j, "backends", '[');
    for (int i = 0; (b = ease_backend_at(i)); i++) {
        ease_error err = {0};
        bool usable = ease_backend_check(b->name, &err) == EASE_OK;

        json_open(&j, NULL, '{');
        json_text(&j, "name", b->name);
        json_text(&j, "about", b->about);
        json_bool(&j, "usable", usable);
        json_text(&j, "why_not", usable ? NULL : err.text);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    putchar('\n');
    return EXIT_DONE;
}

static int tell_backends(console *c, const info_args *a)
{
    if (a->verify || a->data || !reading_is_default(&a->reading))
        return usage_error(
            c, a->common.verb,
            "--backends takes no --verify, no --data and no options for reading");
    if (a->common.json)
        return json_backends();
    if (a->common.csv)
        return csv_backends(c);
    put_backends();
    return EXIT_DONE;
}

/* ---- the verb -------------------------------------------------------------------- */

static int run(console *c, void *args)
{
    const info_args *a = args;
    ease_file_kind kind;
    int code;

    if (!a->backends == !a->common.operand_count)
        return usage_error(c, a->common.verb, "either FILE or --backends%s",
                           a->backends ? ", not both" : " is required");
    if (a->backends)
        return tell_backends(c, a);
    code = recognize_file(c, a->common.operands[0], &kind);
    if (code)
        return code;
    if (a->data && (kind != EASE_FILE_MODEL || !a->verify))
        return usage_error(c, a->common.verb, "--data goes with a model and --verify");
    if (kind != EASE_FILE_OTHER && !a->data && !reading_is_default(&a->reading))
        return usage_error(c, a->common.verb,
                           "options for reading do not apply to a %s",
                           kind == EASE_FILE_MODEL ? "model" : "Gram file");
    return kind == EASE_FILE_MODEL  ? tell_model(c, a)
           : kind == EASE_FILE_GRAM ? tell_gram(c, a)
                                    : tell_data(c, a);
}

static const option_group groups[] = {{"Checking", info_options, 0},
                                      READING_GROUP(info_args),
                                      FORMAT_GROUP(output_options),
                                      {"General", threads_options, 0},
                                      GROUPS_END};
static const operand operands[] = {
    {"FILE", "interactions, a Gram file or a model; - for data on standard input"},
    {NULL, NULL}};
static const char *const usage[] = {"FILE [--verify] [options]",
                                    "MODEL --verify --data DATA [options]",
                                    "--backends [options]", NULL};
static const char *const examples[] = {
    "ratings.csv",     "model.ease --verify", "living.ease --verify --data ratings.csv",
    "all.gram --json", "--backends",          NULL};

const verb verb_info = {
    .name = "info",
    .summary = "describe a data file, a Gram file or a model",
    .usage = usage,
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .most_operands = 1,
    .size = sizeof(info_args),
    .defaults = &(const info_args){.reading = READING_DEFAULTS},
    .run = run,
};
