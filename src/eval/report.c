/* Reports: the results of an evaluation. */
#include <math.h>

#include "core/csv.h"
#include "core/sized.h"
#include "eval/evaluation.h"

void ease_report_describe(const ease_report *r, ease_report_info *info)
{
    static const ease_report_info nothing = {0};

    ease__info_give(info, r ? &r->info : &nothing, sizeof(nothing));
}

int64_t ease_report_users(const ease_report *r)
{
    return r ? r->info.users : 0;
}

int ease_report_metrics(const ease_report *r)
{
    return r ? r->info.metrics : 0;
}

void ease_report_metric(const ease_report *r, int metric, ease_metric *out)
{
    static const ease_metric nothing = {.mean = (double)NAN,
                                        .standard_error = (double)NAN};
    bool there = r && metric >= 0 && metric < r->info.metrics;

    ease__info_give(out, there ? &r->value[metric] : &nothing, sizeof(nothing));
}

double ease_report_value(const ease_report *r, int metric, int64_t user)
{
    if (!r || metric < 0 || metric >= r->info.metrics || user < 0 ||
        user >= r->info.users)
        return NAN;
    return r->by_user[metric * r->info.users + user];
}

const char *ease_report_user_id(const ease_report *r, int64_t user)
{
    return !r || user < 0 || user >= r->info.users ? NULL
                                                   : ease__ids_at(&r->user_ids, user);
}

const int64_t *ease_report_times(const ease_report *r, int32_t *k)
{
    if (k)
        *k = r ? r->k : 0;
    return r ? r->times[r->info.metrics] : NULL;
}

static void write_head(const ease_report *r, ease__csv *w)
{
    ease__csv_text(w, "user");
    for (int i = 0; i < r->info.metrics; i++)
        if (ease__metric_by_user(&r->metric[i]))
            ease__csv_text(w, r->metric[i].name);
    ease__csv_end_row(w);
}

static void write_user(const ease_report *r, int64_t user, ease__csv *w)
{
    ease__csv_text(w, ease_report_user_id(r, user));
    for (int i = 0; i < r->info.metrics; i++)
        if (ease__metric_by_user(&r->metric[i]))
            ease__csv_real(w, ease_report_value(r, i, user));
    ease__csv_end_row(w);
}

ease_status ease_report_write(const ease_report *r, const char *path, ease_error *err)
{
    ease__csv w;

    if (!r || !path)
        return ease__fail(err, EASE_E_ARG, "a report and a path are required");
    ease__csv_open(&w, path, err);
    write_head(r, &w);
    for (int64_t u = 0; !w.status && u < r->info.users; u++)
        write_user(r, u, &w);
    return ease__csv_close(&w);
}

void ease_report_free(ease_report *r)
{
    if (!r)
        return;
    for (int i = 0; i <= EASE__MAX_METRICS; i++)
        ease__free(r->times[i]);
    ease__free(r->by_user);
    ease__ids_free(&r->user_ids);
    ease__free(r);
}
