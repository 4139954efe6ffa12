#include "leaving.h"

#include <stdint.h>

#include "measuring.h"

#define AT(member) .at = offsetof(leaving_args, member)

const option leaving_options[] = {
    {.name = "leave-one-out",
     .type = OPTION_PATH,
     AT(data),
     .value = "DATA",
     .help = "the data that MODEL was trained on with --updatable, instead of --input "
             "and --target: each user is measured by the model without this user"},
    {.name = "share",
     .type = OPTION_POSITIVE,
     AT(share),
     .value = "S",
     .help = "the share of each user's items that is held out (default 0.2)"},
    {.name = "seed",
     .type = OPTION_COUNT,
     AT(seed),
     .value = "N",
     .most = UINT32_MAX,
     .help =
         "the seed of the draw of held-out items and of the sample (default 98765)"},
    {.name = "sample",
     .type = OPTION_COUNT,
     AT(sample),
     .value = "N",
     .help = "measure a random sample of N users (default 0: all)"},
    OPTIONS_END};

static ease_leave_options options_of(const leaving_args *a, const char *metrics)
{
    ease_leave_options o;

    ease_leave_options_init(&o);
    o.metrics = metrics;
    if (a->share > 0)
        o.share = a->share;
    if (a->seed >= 0)
        o.seed = (uint32_t)a->seed;
    if (a->sample >= 0)
        o.users = a->sample;
    return o;
}

int check_leaving(console *c, const verb *v, const leaving_args *a, const char *metrics)
{
    ease_leave_options o = options_of(a, metrics);
    const char *alone = a->share > 0     ? "--share"
                        : a->seed >= 0   ? "--seed"
                        : a->sample >= 0 ? "--sample"
                                         : NULL;
    ease_error err;

    if (!a->data && alone)
        return usage_error(c, v, "%s goes with --leave-one-out", alone);
    if (a->data && ease_leave_options_check(&o, &err))
        return fail_with(c, &err);
    return EXIT_DONE;
}

static void note_excluded(console *c, const ease_report *r)
{
    ease_report_info info = {.size = sizeof(info)};
    char users[NUMBER_CHARS];

    ease_report_describe(r, &info);
    if (info.without_target)
        note(c, "%s users have fewer than two items: they are not measured",
             format_count(users, sizeof(users), info.without_target));
    if (info.without_input)
        note(c,
             "%s users have only items in their input that nobody else has: they got "
             "the most popular items",
             format_count(users, sizeof(users), info.without_input));
    if (info.approximate)
        note(c, "the result is approximate: with dropout the regularizer depends on "
                "the users, and is kept as it is with all of them");
}

int measure_leaving(console *c, const common_args *common, const reading_args *reading,
                    const leaving_args *a, const ease_model *m, const char *metrics,
                    ease_report **out)
{
    ease_leave_options o = options_of(a, metrics);
    ease_interactions *x = NULL;
    ease_error err;
    int code = read_data(c, common, reading, a->data, 0, &x);

    o.threads = (int)common->threads;
    o.hooks = console_hooks(c);
    if (!code && ease_leave_one_out(m, x, &o, out, &err))
        code = fail_with(c, &err);
    phase_end(c, "evaluating");
    console_clear(c);
    if (!code)
        note_excluded(c, *out);
    ease_interactions_free(x);
    return code;
}

void json_leaving(json *j, const ease_report *r)
{
    ease_report_info info = {.size = sizeof(info)};

    ease_report_describe(r, &info);
    json_count(j, "refused", info.refused);
    json_bool(j, "approximate", info.approximate != 0);
}
