#include "renewing.h"

#include <stdlib.h>

#include "idcolumns.h"
#include "planning.h"
#include "updating.h"

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* The settings of the model, from which strings are borrowed: the model that is solved
 * is the one that an update would make. */
static ease_train_options options_of(console *c, const common_args *common,
                                     const renewing_args *a, const ease_model *m,
                                     const renewal *r)
{
    ease_model_info info = model_info_of(m);
    ease_train_options o;

    ease_train_options_init(&o);
    o.method = info.method;
    o.lambda = info.lambda;
    o.settings = info.settings;
    o.kind = info.kind;
    o.precision = r->gram.wide ? EASE_F64 : info.precision;
    o.threads = (int)common->threads;
    o.memory_limit = a->memory_limit;
    o.workdir = a->workdir;
    o.backend = a->backend;
    o.device_memory = a->device_memory;
    o.updatable = 1;
    o.like = m;
    o.hooks = console_hooks(c);
    return o;
}

/* Says that a Gram file is not used, if one was given. */
static bool refuse_gram(console *c, const renewing_args *a, const char *why)
{
    if (a->gram)
        note(c, "%s is not used: %s", a->gram, why);
    return false;
}

/* True if the model can be solved from the Gram file, or if none was given from a Gram
 * file of its data. */
static bool serves(console *c, const common_args *common, const renewing_args *a,
                   const ease_model *m, const renewal *r)
{
    ease_train_options o = options_of(c, common, a, m, r);
    ease_error err;

    o.backend = o.workdir = NULL; /* which are checked for every solve */
    if (ease_train_options_check(&o, 1, &err))
        return refuse_gram(c, a, err.text);
    if (has_weights(m) || r->gram.weighted)
        return refuse_gram(c, a,
                           "an updatable model needs the number of users of each item, "
                           "which a Gram matrix of weighted data does not tell");
    if (a->gram && o.kind != EASE_GRAM_COUNTS &&
        (!r->gram.has_sums || r->gram.users < 1))
        return refuse_gram(c, a,
                           "covariance needs the number of users and the column sums, "
                           "which this Gram matrix does not tell");
    return true;
}

/* Fails if a Gram file surely is of other data than the model's. */
static int check_gram(console *c, const renewing_args *a, const ease_model *m,
                      const renewal *r)
{
    if (!a->gram || r->gram.weighted || !has_weights(m))
        return EXIT_DONE;
    return fail(c, EXIT_DATA,
                "%s: it has no weights, and the model's data have weights", a->gram);
}

int renewal_plan(console *c, const common_args *common, const reading_args *reading,
                 const renewing_args *a, const ease_model *m, renewal *r)
{
    ease_train_options o;
    ease_error err;
    ease_status status;
    int code;

    r->gram.size = sizeof(r->gram);
    r->plan.size = sizeof(r->plan);
    if (a->data) {
        code = read_data(c, common, reading, a->data, a->memory_limit, &r->data);
        if (!code)
            code = check_guess(c, r->data);
        if (code)
            return code;
    } else if (a->gram && ease_gram_peek(a->gram, &r->gram, &err)) {
        return fail_with(c, &err);
    }
    code = check_gram(c, a, m, r);
    if (code)
        return code;
    r->gram_serves = serves(c, common, a, m, r);
    r->possible = a->data || (a->gram && r->gram_serves);
    if (!r->possible)
        return EXIT_DONE;
    o = options_of(c, common, a, m, r);
    status = a->data ? ease_plan_data(r->data, &o, EASE_STORE_PACKED, &r->plan, &err)
                     : ease_plan_sizes(0, larger(r->gram.items, ease_model_items(m)), 0,
                                       &o, EASE_STORE_PACKED, &r->plan, &err);
    return status ? fail_with(c, &err) : EXIT_DONE;
}

const char *renewal_sources(const renewal *r)
{
    return r->gram_serves ? "--data or --gram" : "--data";
}

double renewal_seconds(const renewal *r)
{
    return r->plan.gram_seconds + r->plan.solve_seconds;
}

/* ---- titles and tags ------------------------------------------------------------- */

static int copy_titles(console *c, const ease_model *from, ease_model *to)
{
    int32_t items = ease_model_items(to);
    const char **titles;
    ease_error err;
    int code = EXIT_DONE;

    if (!model_info_of(from).has_titles)
        return EXIT_DONE;
    titles = calloc((size_t)items, sizeof(*titles));
    if (!titles)
        return fail_no_memory(c);
    for (int32_t i = 0; i < items; i++)
        titles[i] = ease_model_title(from,
                                     ease_model_find(from, ease_model_item_id(to, i)));
    if (ease_model_set_titles(to, titles, &err))
        code = fail_with(c, &err);
    free((void *)titles);
    return code;
}

/* The pairs of an item of `to` and a tag that it has in `from`. */
typedef struct tag_rows {
    id_column items, tags;
    double *weights;
} tag_rows;

static bool add_tags(const ease_model *from, const char *id, tag_rows *rows)
{
    ease_row row = ease_model_item_tags(from, ease_model_find(from, id));

    for (int32_t k = 0; k < row.count; k++) {
        rows->weights[rows->tags.rows] = row.weights ? (double)row.weights[k] : 1;
        if (!id_column_add(&rows->items, id) ||
            !id_column_add(&rows->tags, ease_model_tag(from, row.items[k])))
            return false;
    }
    return true;
}

static bool find_tags(const ease_model *from, const ease_model *to, tag_rows *rows)
{
    size_t most = 0;
    bool found;

    for (int32_t i = 0; i < ease_model_items(from); i++)
        most += (size_t)ease_model_item_tags(from, i).count;
    rows->weights = calloc(most + 1, sizeof(double));
    found = rows->weights != NULL;
    for (int32_t i = 0; found && i < ease_model_items(to); i++)
        found = add_tags(from, ease_model_item_id(to, i), rows);
    return found;
}

static int set_tags(console *c, const tag_rows *rows, ease_model *to)
{
    ease_id_column items = id_column_view(&rows->items);
    ease_id_column tags = id_column_view(&rows->tags);
    ease_tags *table = NULL;
    ease_error err;
    int code = EXIT_DONE;

    if (ease_tags_from_table((int64_t)rows->tags.rows, &items, &tags, rows->weights,
                             NULL, &table, &err) ||
        ease_model_set_tags(to, table, NULL, &err))
        code = fail_with(c, &err);
    ease_tags_free(table);
    return code;
}

static int copy_tags(console *c, const ease_model *from, ease_model *to)
{
    tag_rows rows = {.weights = NULL};
    int code = EXIT_DONE;

    if (!ease_model_tags(from))
        return EXIT_DONE;
    if (!find_tags(from, to, &rows))
        code = fail_no_memory(c);
    else if (rows.tags.rows)
        code = set_tags(c, &rows, to);
    id_column_free(&rows.items);
    id_column_free(&rows.tags);
    free(rows.weights);
    return code;
}

/* ---- solving --------------------------------------------------------------------- */

int renewal_solve(console *c, const common_args *common, const renewing_args *a,
                  const ease_model *m, const renewal *r, ease_model **out)
{
    ease_train_options o = options_of(c, common, a, m, r);
    ease_model *made = NULL;
    ease_error err;
    int code;

    if (!r->plan.fits)
        return refuse_plan(c, &r->plan, a->workdir != NULL, NULL);
    if (a->data ? ease_train(r->data, &o, &made, &err)
                : ease_train_gram_file(a->gram, &o, &made, &err))
        return fail_with(c, &err);
    code = check_solved(c, common, made);
    if (!code)
        code = copy_titles(c, m, made);
    if (!code)
        code = copy_tags(c, m, made);
    if (code)
        ease_model_free(made);
    else
        *out = made;
    return code;
}

void renewal_free(renewal *r)
{
    ease_interactions_free(r->data);
    r->data = NULL;
}
