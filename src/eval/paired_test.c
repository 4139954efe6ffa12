/* Paired tests: is one model better than another, or is the difference due to
 * chance? */
#include <math.h>
#include <string.h>

#include "core/core.h"
#include "eval/student.h"

enum { MAX_REPORTS = 64 };

static ease_status check(const ease_report *const *reports, int count, int metric,
                         ease_error *err)
{
    ease_report_info first = {.size = sizeof(first)};
    ease_metric wanted = {.size = sizeof(wanted)};
    int64_t users;

    if (!reports || count < 2 || count > MAX_REPORTS)
        return ease__fail(err, EASE_E_ARG, "2 to %d reports are required",
                          (int)MAX_REPORTS);
    for (int k = 0; k < count; k++)
        if (!reports[k])
            return ease__fail(err, EASE_E_ARG, "report %d of %d is NULL", k + 1, count);
    users = ease_report_users(reports[0]);
    if (users < 2)
        return ease__fail(err, EASE_E_DATA, "a comparison needs at least 2 users");
    ease_report_describe(reports[0], &first);
    ease_report_metric(reports[0], metric, &wanted);
    for (int k = 0; k < count; k++) {
        ease_report_info info = {.size = sizeof(info)};
        ease_metric found = {.size = sizeof(found)};

        ease_report_describe(reports[k], &info);
        ease_report_metric(reports[k], metric, &found);
        if (!found.name || !wanted.name || strcmp(found.name, wanted.name) != 0)
            return ease__fail(err, EASE_E_ARG, "reports of different metrics");
        if (isnan(found.standard_error))
            return ease__fail(err, EASE_E_ARG, "%s has no value for each user",
                              found.name);
        if (info.unknown != first.unknown)
            return ease__fail(err, EASE_E_ARG,
                              "reports that count unknown items in different ways");
        if (info.targets != first.targets || info.among != first.among)
            return ease__fail(err, EASE_E_ARG, "reports of different kinds of items");
        if (info.users != users)
            return ease__fail(err, EASE_E_ARG, "reports of different users");
        for (int64_t u = 0; u < users; u++)
            if (strcmp(ease_report_user_id(reports[k], u),
                       ease_report_user_id(reports[0], u)) != 0)
                return ease__fail(err, EASE_E_ARG, "reports of different users");
    }
    return EASE_OK;
}

static ease_difference paired(const ease_report *first, const ease_report *other,
                              int metric)
{
    int64_t users = ease_report_users(first);
    double n = (double)users, mean = 0, square = 0, half;
    ease_difference d = {0};

    for (int64_t u = 0; u < users; u++)
        mean += ease_report_value(other, metric, u) -
                ease_report_value(first, metric, u);
    mean /= n;
    for (int64_t u = 0; u < users; u++) {
        double off = ease_report_value(other, metric, u) -
                     ease_report_value(first, metric, u) - mean;

        square += off * off;
    }
    d.mean = mean;
    d.standard_error = sqrt(square / (n - 1) / n);
    half = ease__student_quantile(0.05, n - 1) * d.standard_error;
    d.low = mean - half;
    d.high = mean + half;
    /* If all differences are 0 there is nothing to test. */
    d.p = d.standard_error > 0 ? ease__student_two_sided(mean / d.standard_error, n - 1)
                               : (mean == 0 ? 1 : 0);
    return d;
}

/* Holm's correction: the smallest p times their number, the next one times one less,
 * and so on, none below the one before it. */
static void correct(ease_difference *d, int count)
{
    bool done[MAX_REPORTS] = {0};
    double floor = 0;

    for (int left = count; left > 0; left--) {
        int least = -1;

        for (int i = 0; i < count; i++)
            if (!done[i] && (least < 0 || d[i].p < d[least].p))
                least = i;
        floor = fmax(floor, fmin(1, left * d[least].p));
        d[least].p_holm = floor;
        done[least] = true;
    }
}

ease_status ease_compare(const ease_report *const *reports, int count, int metric,
                         ease_difference *out, ease_error *err)
{
    ease_status status;

    if (!out)
        return ease__fail(err, EASE_E_ARG, "an array for the differences is required");
    status = check(reports, count, metric, err);
    if (status)
        return status;
    for (int k = 1; k < count; k++)
        out[k - 1] = paired(reports[0], reports[k], metric);
    correct(out, count - 1);
    return EASE_OK;
}
