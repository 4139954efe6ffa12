#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "benching.h"
#include "files.h"
#include "planning.h"
#include "table.h"
#include "verbs.h"

typedef struct bench_args {
    common_args common;
    const char *parts, *dir, *columns, *backend;
    int64_t users, items, interactions, repeat;
    int quick, growth;
} bench_args;

#define AT(member) .at = offsetof(bench_args, member)

static const option bench_options[] = {
    {.name = "parts",
     .type = OPTION_TEXT,
     AT(parts),
     .value = "NAME,...",
     .help = "which of sgemm, copy, read, gram, solve, write, recommend, update and "
             "leave (default all)"},
    {.name = "quick",
     .type = OPTION_FLAG,
     AT(quick),
     .help = "small sizes, which take some seconds: a smoke test"},
    {.name = "growth",
     .type = OPTION_FLAG,
     AT(growth),
     .help = "instead: the time of solve and read by size, over four sizes up to the "
             "given ones, and the exponent that fits"},
    {.name = "columns",
     .type = OPTION_TEXT,
     AT(columns),
     .value = "USER,ITEM[,VALUE[,TIME]]",
     .help = "columns of DATA, as for train"},
    {.name = "items",
     .type = OPTION_COUNT,
     AT(items),
     .value = "N",
     .least = 1,
     .most = INT32_MAX,
     .help = "items of synthetic data (default 20108, with --quick 2000)"},
    {.name = "users",
     .type = OPTION_COUNT,
     AT(users),
     .value = "U",
     .least = 1,
     .help = "users of synthetic data (default 136677, with --quick 10000)"},
    {.name = "interactions",
     .type = OPTION_COUNT,
     AT(interactions),
     .value = "M",
     .least = 1,
     .help = "interactions of synthetic data (default 10000000, with --quick 300000)"},
    {.name = "repeat",
     .type = OPTION_COUNT,
     AT(repeat),
     .value = "R",
     .least = 1,
     .most = RUNS_MOST,
     .help = "number of runs of each part (default 3)"},
    {.name = "dir",
     .type = OPTION_PATH,
     AT(dir),
     .value = "DIR",
     .help = "the directory for temporary files (default: the working directory)"},
    BACKEND_OPTION(offsetof(bench_args, backend)),
    OPTIONS_END};

/* ---- options ------------------------------------------------------------------ */

static int choose_parts(console *c, const bench_args *a, bench *b)
{
    const char *at = a->parts;

    for (int i = 0; i < BENCH_COUNT; i++)
        b->wanted[i] = !at;
    while (at) {
        size_t length = strcspn(at, ",");
        int i = 0;

        while (i < BENCH_COUNT && (strlen(bench_part_names[i]) != length ||
                                   memcmp(bench_part_names[i], at, length) != 0))
            i++;
        if (i == BENCH_COUNT)
            return usage_error(c, a->common.verb, "--parts: no part '%.*s'",
                               (int)length, at);
        b->wanted[i] = true;
        at = at[length] ? at + length + 1 : NULL;
    }
    return EXIT_DONE;
}

static int set_up(console *c, const bench_args *a, bench *b)
{
    int64_t sizes[] = {a->quick ? 10000 : 136677, a->quick ? 2000 : 20108,
                       a->quick ? 300000 : 10000000};
    int code;

    *b = (bench){.console = c,
                 .common = &a->common,
                 .data = a->common.operand_count ? a->common.operands[0] : NULL,
                 .users = a->users ? a->users : sizes[0],
                 .items = a->items ? a->items : sizes[1],
                 .interactions = a->interactions ? a->interactions : sizes[2],
                 .repeat = (int)a->repeat,
                 .quick = a->quick != 0,
                 .columns = a->columns,
                 .backend = a->backend,
                 .dir = a->dir};
    if (b->data && (a->users || a->items || a->interactions || a->growth))
        return usage_error(c, a->common.verb,
                           "--users, --items, --interactions and --growth are for "
                           "synthetic data");
    if (!b->data && a->columns)
        return usage_error(c, a->common.verb, "--columns is for DATA");
    if (b->data && strcmp(b->data, "-") == 0)
        return usage_error(c, a->common.verb, "standard input cannot be read again");
    code = check_backend(c, a->backend);
    return code ? code : choose_parts(c, a, b);
}

/* Sets the number of threads as a plan counts them. */
static int count_threads(bench *b)
{
    ease_train_options o;
    ease_plan plan = {.size = sizeof(plan)};
    ease_error err;

    ease_train_options_init(&o);
    o.threads = (int)b->common->threads;
    o.backend = b->backend;
    if (ease_plan_sizes(0, 1, 0, &o, EASE_STORE_F16, &plan, &err))
        return fail_with(b->console, &err);
    b->threads = plan.threads;
    return EXIT_DONE;
}

/* ---- output ------------------------------------------------------------------- */

static double share_of_limit(const bench_record *r)
{
    return r->limit ? r->rate / r->limit_rate : NAN;
}

static void json_records(json *j, const bench *b)
{
    json_open(j, "parts", '{');
    for (int i = 0; i < b->record_count; i++) {
        const bench_record *r = &b->records[i];

        json_open(j, r->name, '{');
        json_text(j, "unit", r->unit);
        json_real(j, "rate", r->rate);
        if (r->runs) {
            json_real(j, "amount", r->amount);
            json_real(j, "median_seconds", bench_median(r));
            json_open(j, "seconds", '[');
            for (int k = 0; k < r->runs; k++)
                json_real(j, NULL, r->seconds[k]);
            json_close(j, ']');
        }
        if (r->limit) {
            json_text(j, "limit", r->limit);
            json_real(j, "of_limit", share_of_limit(r));
        }
        for (int k = 0; k < r->fact_count; k++)
            json_real(j, r->facts[k].key, r->facts[k].value);
        json_close(j, '}');
    }
    json_close(j, '}');
}

static void json_growth(json *j, const bench *b)
{
    json_open(j, "growth", '{');
    for (int i = 0; i < b->growth_count; i++) {
        const bench_growth *g = &b->growth[i];

        json_open(j, g->name, '{');
        json_text(j, "unit", g->unit);
        json_open(j, "sizes", '[');
        for (int k = 0; k < GROWTH_SIZES; k++)
            json_real(j, NULL, g->size[k]);
        json_close(j, ']');
        json_open(j, "seconds", '[');
        for (int k = 0; k < GROWTH_SIZES; k++)
            json_real(j, NULL, g->seconds[k]);
        json_close(j, ']');
        json_real(j, "exponent", g->exponent);
        json_close(j, '}');
    }
    json_close(j, '}');
}

static void put_json(const bench *b)
{
    ease_blas_info blas = {.size = sizeof(blas)};
    json j = {.to = stdout};

    ease_blas_describe(&blas);
    json_open(&j, NULL, '{');
    json_text(&j, "version", ease_version());
    json_text(&j, "blas", blas.name);
    json_count(&j, "threads", b->threads);
    json_count(&j, "users", b->users);
    json_count(&j, "items", b->items);
    json_count(&j, "interactions", b->interactions);
    json_count(&j, "repeat", b->repeat);
    if (b->growth_count)
        json_growth(&j, b);
    else
        json_records(&j, b);
    json_close(&j, '}');
    fputc('\n', stdout);
}

/* Prints a rate: in text with a prefix, as in 198 Gflop/s, for programs in full. */
static void put_rate(table *t, const bench_record *r)
{
    static const char *const prefix[] = {"", "k", "M", "G", "T"};
    double rate = r->rate;
    char text[60];
    int i = 0;

    for (; rate >= 1000 && i < 4; i++)
        rate /= 1000;
    snprintf(text, sizeof(text), "%.4g %s%s/s", rate, prefix[i], r->unit);
    if (t->form == TABLE_CSV)
        table_real(t, r->rate, 0);
    else
        table_text(t, text);
}

static bool put_records(const bench *b, table_form form)
{
    table t = table_begin(form, 6);

    table_text(&t, "part");
    table_text(&t, "runs");
    table_text(&t, "seconds");
    table_text(&t, "rate");
    table_text(&t, "limit");
    table_text(&t, "% of limit");
    for (int i = 0; i < b->record_count; i++) {
        const bench_record *r = &b->records[i];

        table_text(&t, r->name);
        table_real(&t, r->runs ? (double)r->runs : (double)NAN, 0);
        table_real(&t, bench_median(r), 3);
        put_rate(&t, r);
        table_text(&t, r->limit ? r->limit : "");
        table_real(&t, 100 * share_of_limit(r), 1);
    }
    return table_end(&t);
}

static bool put_growth(const bench *b, table_form form)
{
    table t = table_begin(form, 4);

    table_text(&t, "part");
    table_text(&t, "size");
    table_text(&t, "seconds");
    table_text(&t, "exponent");
    for (int i = 0; i < b->growth_count; i++)
        for (int k = 0; k < GROWTH_SIZES; k++) {
            const bench_growth *g = &b->growth[i];

            table_text(&t, g->name);
            table_real(&t, g->size[k], 0);
            table_real(&t, g->seconds[k], 3);
            table_real(&t, k + 1 == GROWTH_SIZES ? g->exponent : NAN, 2);
        }
    return table_end(&t);
}

static int put(console *c, const bench *b)
{
    table_form form = b->common->csv ? TABLE_CSV : TABLE_TEXT;

    console_clear(c);
    if (b->common->json)
        put_json(b);
    else if (!(b->growth_count ? put_growth : put_records)(b, form))
        return fail_no_memory(c);
    return EXIT_DONE;
}

static int run(console *c, void *args)
{
    const bench_args *a = args;
    char users[NUMBER_CHARS], items[NUMBER_CHARS], pairs[NUMBER_CHARS];
    ease_blas_info blas = {.size = sizeof(blas)};
    bench b;
    int code = set_up(c, a, &b);

    if (!code)
        code = count_threads(&b);
    if (code)
        return code;
    ease_blas_describe(&blas);
    note(c, "%s", blas.name);
    code = a->growth ? bench_grow(&b) : bench_run(&b);
    if (!code) {
        note(c, "%s users, %s items, %s interactions",
             format_count(users, sizeof(users), b.users),
             format_count(items, sizeof(items), b.items),
             format_count(pairs, sizeof(pairs), b.interactions));
        code = put(c, &b);
    }
    bench_clean(&b);
    return code;
}

static const option_group groups[] = {{"Measuring", bench_options, 0},
                                      FORMAT_GROUP(output_options),
                                      {"General", threads_options, 0},
                                      GROUPS_END};
static const operand operands[] = {
    {"DATA", "interactions, as for train; without it, synthetic data"}, {NULL, NULL}};
static const char *const usage[] = {"[DATA] [--parts NAME,...] [options]",
                                    "--growth [--items N --interactions M] [options]",
                                    NULL};
static const char *const examples[] = {
    "--quick", "--parts sgemm,solve --items 5000 --users 5000 --interactions 50000",
    NULL};

const verb verb_bench = {
    .name = "bench",
    .summary = "measure each part of the library against the machine's limits",
    .usage = usage,
    .about =
        "Measures the parts of the library in one run, each with its rate, and with "
        "the limit of the machine where there is one:\n\n"
        "read: lines per second. gram: pairs of items of a user per second. solve: "
        "items^3 flops per second; its limit is the rate of sgemm by all threads at "
        "once, at the best of several sizes, measured for some seconds before and "
        "after each solve. write: bytes of models per second; its limit is copying "
        "memory, and of_disk compares with writing and syncing as many bytes. "
        "recommend: lists of 100 items for all users, from a float16 model. update: "
        "100 users come, leave or change; items^2 flops for each row that is added or "
        "removed. leave: all users are evaluated, each by the model without this user; "
        "its limit is recommending to all of them from the same model.\n\n"
        "Seconds are medians. Rates and limits are those of the best run, except "
        "for the solve and its limit, which are medians. --json has every run, and "
        "for the solve the bytes that it needs beside the data, also as a multiple "
        "of items^2.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .most_operands = 1,
    .size = sizeof(bench_args),
    .defaults = &(const bench_args){.repeat = 3, .dir = "."},
    .run = run,
};
