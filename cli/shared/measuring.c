#include "measuring.h"

#include <math.h>
#include <string.h>

#include "splitdir.h"
#include "table.h"

const char *model_name(int index)
{
    const ease_method_info *m = ease_method_at(index);

    return m ? m->name : NULL;
}

ease_metric metric_of(const ease_report *r, int metric)
{
    ease_metric found = {.size = sizeof(found)};

    ease_report_metric(r, metric, &found);
    return found;
}

const char *metric_direction(const char *metric)
{
    const ease_metric_info *m = ease_metric_find(metric);

    if (!m || m->direction == 0)
        return "";
    return m->direction > 0 ? "; higher is better" : "; lower is better";
}

int check_metrics(console *c, const char *metrics)
{
    ease_eval_options o;
    ease_error err;

    ease_eval_options_init(&o);
    o.metrics = metrics;
    return ease_eval_options_check(&o, &err) ? fail_with(c, &err) : EXIT_DONE;
}

int check_method(console *c, const verb *v, const char *method)
{
    char names[400] = "";
    size_t used = 0;

    if (ease_method_find(method))
        return EXIT_DONE;
    for (int i = 0; ease_method_at(i) && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                 i ? ", " : "", ease_method_at(i)->name);
    return usage_error(c, v, "no model '%s': there are %s", method, names);
}

const char *method_named(const char *method, int nonnegative)
{
    const ease_method_info *m = ease_method_find(method);

    return nonnegative && m->nonnegative ? m->nonnegative : method;
}

int check_held_out(console *c, const verb *v, const reading_args *reading,
                   const held_out *from)
{
    if (from->split ? from->input || from->target : !from->input || !from->target)
        return usage_error(c, v, "either --input and --target or --split is required");
    if (from->split && !reading_is_default(reading))
        return usage_error(c, v, "options for reading DATA do not apply to a split");
    if (!from->split && strcmp(from->input, "-") == 0 && strcmp(from->target, "-") == 0)
        return usage_error(c, v, "--input and --target cannot both be standard input");
    return EXIT_DONE;
}

int read_held_out(console *c, const common_args *common, const reading_args *reading,
                  const held_out *from, ease_interactions **input,
                  ease_interactions **target)
{
    ease_split_parts parts = {.size = sizeof(parts)};
    ease_error err;
    int code;

    if (from->split) {
        code = check_split(c, from->split);
        if (code)
            return code;
        if (ease_split_open(from->split, &parts, &err))
            return fail_with(c, &err);
        phase_end(c, "reading");
        *input = parts.test_input;
        *target = parts.test_target;
        parts.test_input = parts.test_target = NULL;
        ease_split_close(&parts);
        return EXIT_DONE;
    }
    code = read_data(c, common, reading, from->input, 0, input);
    return code ? code : read_data(c, common, reading, from->target, 0, target);
}

static void note_users(console *c, const ease_report_info *info)
{
    char count[NUMBER_CHARS];

    if (info->without_target)
        note(c, "%s users left out: %s was held out",
             format_count(count, sizeof(count), info->without_target),
             info->targets == EASE_ITEMS_WARM   ? "no warm item"
             : info->targets == EASE_ITEMS_COLD ? "no cold item"
                                                : "nothing");
    if (info->without_input)
        warn(c, "%s users with nothing known to the model got the popular items",
             format_count(count, sizeof(count), info->without_input));
}

int measure_with(console *c, const common_args *common, const ease_model *m,
                 const ease_interactions *input, const ease_interactions *target,
                 const ease_eval_options *given, ease_report **out)
{
    ease_eval_options o = *given;
    ease_report_info info = {.size = sizeof(info)};
    ease_error err;

    o.threads = (int)common->threads;
    o.hooks = console_hooks(c);
    if (ease_evaluate(m, input, target, &o, out, &err))
        return fail_with(c, &err);
    phase_end(c, "evaluating");
    console_clear(c);
    ease_report_describe(*out, &info);
    note_users(c, &info);
    return EXIT_DONE;
}

int measure(console *c, const common_args *common, const ease_model *m,
            const ease_interactions *input, const ease_interactions *target,
            const char *metrics, int unknown, ease_report **out)
{
    ease_eval_options o;

    ease_eval_options_init(&o);
    o.metrics = metrics;
    o.unknown = (ease_unknown)unknown;
    return measure_with(c, common, m, input, target, &o, out);
}

int measure_decimals(double value)
{
    return fabs(value) < 10 ? 5 : 2;
}

void table_metric(table *t, ease_metric m)
{
    int decimals = measure_decimals(m.mean);

    table_text(t, m.name);
    table_real(t, m.mean, decimals);
    table_real(t, m.standard_error, decimals);
}

int put_report(console *c, output_format format, const ease_report *r)
{
    table t = table_begin(format == OUTPUT_CSV ? TABLE_CSV : TABLE_TEXT, 3);
    int metrics = ease_report_metrics(r);

    table_text(&t, "metric");
    table_text(&t, "mean");
    table_text(&t, "stderr");
    for (int i = 0; i < metrics; i++)
        table_metric(&t, metric_of(r, i));
    return table_end(&t) ? EXIT_DONE : fail_no_memory(c);
}

void json_metrics(json *j, const ease_report *r)
{
    int metrics = ease_report_metrics(r);

    json_open(j, "metrics", '{');
    for (int i = 0; i < metrics; i++) {
        ease_metric m = {.size = sizeof(m)};

        ease_report_metric(r, i, &m);
        json_open(j, m.name, '{');
        json_real(j, "mean", m.mean);
        json_real(j, "stderr", m.standard_error);
        json_close(j, '}');
    }
    json_close(j, '}');
}

void json_unknown(json *j, ease_unknown how, int64_t targets)
{
    json_text(j, "unknown", how == EASE_UNKNOWN_DROP ? "drop" : "miss");
    json_count(j, "unknown_targets", targets);
}

void put_unknown(const ease_report *r)
{
    ease_report_info info = {.size = sizeof(info)};
    char count[NUMBER_CHARS];

    ease_report_describe(r, &info);
    if (info.unknown_targets)
        printf("%s held-out items are unknown to the models: they %s.\n",
               format_count(count, sizeof(count), info.unknown_targets),
               info.unknown == EASE_UNKNOWN_DROP ? "are dropped" : "count as misses");
}

void json_report(json *j, const ease_report *r)
{
    ease_report_info info = {.size = sizeof(info)};

    ease_report_describe(r, &info);
    json_count(j, "users", info.users);
    json_metrics(j, r);
    json_count(j, "without_target", info.without_target);
    json_count(j, "without_input", info.without_input);
    json_unknown(j, info.unknown, info.unknown_targets);
    json_count(j, "unknown_inputs", info.unknown_inputs);
}
