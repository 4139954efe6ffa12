/* Users of real data who are left out, for tests/test_real_data.py:
 *
 *     run_leaving DATA MIN_RATING USERS LAMBDA METHOD SETTINGS KIND PRECISION
 *
 * Prints a line of JSON for each of so many users, or with -USERS for so many of those
 * with the smallest 1 - h: 1 - h, the ids of the items that are held out, all items that
 * the input does not have in the order of their scores, with the scores, and the values
 * of METRICS that ease_leave_one_out finds; before them a line with the lambda of the
 * model, which a user power scales. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "data/interactions.h"
#include "score/leave_out.h"

static const char METRICS[] = "recall@20,ndcg@100";

static void require(ease_status status, const ease_error *err)
{
    if (status) {
        fprintf(stderr, "run_leaving: %s\n", err->text);
        exit(1);
    }
}

static ease_interactions *read_data(const char *path, const char *min_rating)
{
    ease_interactions *x = NULL;
    ease_read_options o;
    ease_error err = {0};

    ease_read_options_init(&o);
    o.min_rating = atof(min_rating);
    require(ease_interactions_read(path, &o, &x, &err), &err);
    return x;
}

/* LAMBDA METHOD SETTINGS KIND PRECISION */
static ease_model *train(const ease_interactions *x, char **with)
{
    ease_model *m = NULL;
    ease_train_options o;
    ease_error err = {0};

    ease_train_options_init(&o);
    o.lambda = atof(with[0]);
    o.method = with[1];
    o.settings = with[2];
    o.kind = strcmp(with[3], "covariance") == 0 ? EASE_GRAM_COVARIANCE
                                                : EASE_GRAM_COUNTS;
    o.precision = strcmp(with[4], "f64") == 0 ? EASE_F64 : EASE_F32;
    o.updatable = 1;
    require(ease_train(x, &o, &m, &err), &err);
    return m;
}

static int compare_items(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

/* Draws the target as docs/design/updating.md says. Writes the items of the model:
 * input, then target. Returns the number of the input. */
static int32_t divide(const ease_interactions *x, const ease_model *m, int64_t user,
                      const ease_leave_options *o, int32_t *items)
{
    ease_row row = ease_interactions_row(x, user);
    int64_t left = (int64_t)(o->share * (double)row.count);
    int32_t inputs = 0, targets = 0;
    ease__random r;

    left = left > 0 ? left : 1;
    ease__random_seed(&r, o->seed, (uint64_t)user);
    for (int32_t i = 0; i < row.count; i++) {
        uint64_t from = (uint64_t)(row.count - i);
        bool taken = ease__random_below(&r, from) < (uint64_t)left;
        int32_t item = ease_model_find(m, ease_interactions_item_id(x, row.items[i]));

        left -= taken;
        if (taken)
            items[row.count - ++targets] = item;
        else
            items[inputs++] = item;
    }
    qsort(items, (size_t)inputs, sizeof(*items), compare_items);
    qsort(items + inputs, (size_t)targets, sizeof(*items), compare_items);
    return inputs;
}

/* The list of all items for one user, and 1 - h. Returns the length of the list. */
static int32_t list_all(const ease_model *m, ease_row row, int32_t inputs,
                        ease_rec *recs, double *rest)
{
    ease__left_rows rows = {&row, &inputs, 1};
    ease__left_terms terms;
    ease__leave_out l;
    ease_error err = {0};
    int32_t count = 0;

    require(ease__leave_out_new(m, row.count, 0, NULL, &l, &err), &err);
    require(ease__leave_out_measure(&l, &rows, NULL, &terms, &err), &err);
    require(ease__leave_out_lists(&l, &rows, &terms, m->info.items, NULL, recs, &count,
                                  &err),
            &err);
    ease__leave_out_free(&l);
    *rest = 1 - terms.leverage;
    return count;
}

static void print_user(const ease_interactions *x, const ease_model *m,
                       const ease_report *made, int64_t k, const ease_leave_options *o)
{
    const char *id = ease_report_user_id(made, k);
    int64_t user = ease_interactions_find_user(x, id);
    ease_row row = ease_interactions_row(x, user);
    int32_t *items = malloc((size_t)row.count * sizeof(*items)), inputs, count;
    ease_rec *recs = malloc((size_t)m->info.items * sizeof(*recs));
    double rest;

    inputs = divide(x, m, user, o, items);
    count = list_all(m, (ease_row){.items = items, .count = row.count}, inputs, recs,
                     &rest);
    printf("{\"user\": \"%s\", \"rest\": %.17g, \"target\": [", id, rest);
    for (int32_t i = inputs; i < row.count; i++)
        printf("%s\"%s\"", i > inputs ? ", " : "", ease_model_item_id(m, items[i]));
    printf("], \"items\": [");
    for (int32_t i = 0; i < count; i++)
        printf("%s\"%s\"", i ? ", " : "", ease_model_item_id(m, recs[i].item));
    printf("], \"scores\": [");
    for (int32_t i = 0; i < count; i++)
        printf("%s%.9g", i ? ", " : "", (double)recs[i].score);
    printf("], \"values\": [%.17g, %.17g]}\n", ease_report_value(made, 0, k),
           ease_report_value(made, 1, k));
    free(items);
    free(recs);
}

/* A user of a report, and 1 - h. */
typedef struct near {
    int64_t place;
    double rest;
} near;

static int compare_near(const void *a, const void *b)
{
    double x = ((const near *)a)->rest, y = ((const near *)b)->rest;

    return (x > y) - (x < y);
}

/* The users of a report by 1 - h. */
static near *by_rest(const ease_interactions *x, const ease_model *m,
                     const ease_report *made, const ease_leave_options *o)
{
    int64_t users = ease_report_users(made);
    near *found = malloc((size_t)users * sizeof(*found));
    int32_t *items = malloc((size_t)m->info.items * sizeof(*items));
    ease_rec *recs = malloc((size_t)m->info.items * sizeof(*recs));

    for (int64_t k = 0; k < users; k++) {
        int64_t user = ease_interactions_find_user(x, ease_report_user_id(made, k));
        int32_t inputs = divide(x, m, user, o, items);
        ease_row row = {.items = items, .count = ease_interactions_row(x, user).count};

        found[k].place = k;
        list_all(m, row, inputs, recs, &found[k].rest);
    }
    qsort(found, (size_t)users, sizeof(*found), compare_near);
    free(items);
    free(recs);
    return found;
}

int main(int argc, char **argv)
{
    ease_interactions *x;
    ease_model *m;
    ease_report *made = NULL;
    ease_leave_options o;
    ease_error err = {0};
    near *nearest;
    int users;

    if (argc != 9) {
        fprintf(stderr, "usage: run_leaving DATA MIN_RATING USERS LAMBDA METHOD "
                        "SETTINGS KIND PRECISION\n");
        return 2;
    }
    x = read_data(argv[1], argv[2]);
    m = train(x, argv + 4);
    ease_leave_options_init(&o);
    o.metrics = METRICS;
    users = atoi(argv[3]);
    o.users = users > 0 ? users : 0;
    require(ease_leave_one_out(m, x, &o, &made, &err), &err);
    printf("{\"lambda\": %.17g}\n", m->living.lambda);
    nearest = users < 0 ? by_rest(x, m, made, &o) : NULL;
    for (int64_t k = 0; k < ease_report_users(made) && (!nearest || k < -users); k++)
        print_user(x, m, made, nearest ? nearest[k].place : k, &o);
    free(nearest);
    ease_report_free(made);
    ease_model_free(m);
    ease_interactions_free(x);
    return 0;
}
