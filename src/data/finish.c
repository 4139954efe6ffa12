/* The steps after reading: filters, and numbers without gaps. */
#include <stdio.h>
#include <string.h>

#include "data/draft.h"
#include "input/input.h"

typedef struct finishing {
    ease_interactions *x;
    const ease_read_options *o;
    uint8_t *lost_users, *lost_items; /* had interactions that were dropped */
    int64_t *item_count;
} finishing;

static void count_items(const ease_interactions *x, int64_t *count)
{
    memset(count, 0, (size_t)x->items * sizeof(*count));
    for (int64_t i = 0; i < x->nnz; i++)
        count[x->cols[i]]++;
}

/* Keeps the interactions of a row whose items have enough users; returns the new
 * length. */
static int64_t filter_row(finishing *f, int64_t user, int64_t to)
{
    ease_interactions *x = f->x;
    int64_t kept = to;

    for (int64_t i = x->row_ptr[user]; i < x->row_ptr[user + 1]; i++) {
        int32_t item = x->cols[i];

        if (f->item_count[item] < f->o->min_item) {
            f->lost_users[user] = f->lost_items[item] = 1;
            continue;
        }
        x->cols[kept] = item;
        if (x->vals)
            x->vals[kept] = x->vals[i];
        kept++;
    }
    return kept - to;
}

/* One pass of the filters, items first, then users. Returns true if something was
 * dropped. */
static bool filter_once(finishing *f)
{
    ease_interactions *x = f->x;
    int64_t at = 0, before = x->nnz;

    count_items(x, f->item_count);
    for (int64_t u = 0; u < x->users; u++) {
        int64_t kept = filter_row(f, u, at);

        if (kept < f->o->min_user) {
            for (int64_t i = at; i < at + kept; i++)
                f->lost_items[x->cols[i]] = 1;
            f->lost_users[u] = 1;
            kept = 0;
        }
        x->row_ptr[u] = at;
        at += kept;
    }
    x->row_ptr[x->users] = x->nnz = at;
    x->counts.filtered += before - at;
    return at < before;
}

static ease_status filter(finishing *f, ease_error *err)
{
    const ease_read_options *o = f->o;
    bool more = o->min_user > 0 || o->min_item > 0;

    while (more) {
        if (ease__progress(o->hooks, ease__stage_reading, 1.0))
            return ease__cancelled(err);
        more = filter_once(f) && !o->one_pass;
    }
    return EASE_OK;
}

/* ---- numbers without gaps -------------------------------------------------- */

/* Keeps the ids that are not `gone`, in their order. */
static bool keep_ids(ease__ids *ids, const uint8_t *gone)
{
    ease__ids kept = {0};

    for (int64_t i = 0; i < ids->count; i++) {
        if (!gone[i] &&
            ease__ids_add(&kept, ease__ids_at(ids, i), ease__ids_length(ids, i)) < 0) {
            ease__ids_free(&kept);
            return false;
        }
    }
    ease__ids_free(ids);
    *ids = kept;
    return true;
}

/* Marks in `lost_users` the users to remove: those who lost all their interactions,
 * and the empty ones if there is a minimum. Returns their number. */
static int64_t mark_gone_users(finishing *f)
{
    const ease_interactions *x = f->x;
    int64_t gone = 0;

    for (int64_t u = 0; u < x->users; u++) {
        bool empty = x->row_ptr[u] == x->row_ptr[u + 1];

        f->lost_users[u] = empty && (f->lost_users[u] || f->o->min_user > 0);
        gone += f->lost_users[u];
    }
    return gone;
}

static int64_t mark_gone_items(finishing *f)
{
    int64_t gone = 0;

    count_items(f->x, f->item_count);
    for (int32_t i = 0; i < f->x->items; i++) {
        bool empty = f->item_count[i] == 0;

        f->lost_items[i] = empty && (f->lost_items[i] || f->o->min_item > 0);
        gone += f->lost_items[i];
    }
    return gone;
}

static bool may_have_gaps(const finishing *f)
{
    return f->o->min_user > 0 || f->o->min_item > 0 || f->x->counts.zero_weight > 0;
}

static bool drop_users(finishing *f)
{
    ease_interactions *x = f->x;
    int64_t kept = 0;

    if (!keep_ids(&x->user_ids, f->lost_users))
        return false;
    for (int64_t u = 0; u < x->users; u++)
        if (!f->lost_users[u])
            x->row_ptr[kept++] = x->row_ptr[u];
    x->row_ptr[kept] = x->nnz;
    x->users = kept;
    return true;
}

static bool drop_items(finishing *f)
{
    ease_interactions *x = f->x;
    int64_t *number = f->item_count;
    int32_t kept = 0;

    if (!keep_ids(&x->item_ids, f->lost_items))
        return false;
    for (int32_t i = 0; i < x->items; i++)
        number[i] = f->lost_items[i] ? -1 : kept++;
    for (int64_t i = 0; i < x->nnz; i++)
        x->cols[i] = (int32_t)number[x->cols[i]];
    x->items = kept;
    return true;
}

/* Shrinks the arrays after repeats and filters. A failure to shrink does not matter. */
static void trim(ease_interactions *x)
{
    void *cols = ease__realloc_array(x->cols, (size_t)x->nnz, sizeof(*x->cols));
    void *vals = NULL;

    if (cols)
        x->cols = cols;
    if (x->vals)
        vals = ease__realloc_array(x->vals, (size_t)x->nnz, sizeof(*x->vals));
    if (vals)
        x->vals = vals;
}

ease_status ease__nothing_left(const ease_interactions_info *c, const char *name,
                               ease_error *err)
{
    const struct {
        int64_t count;
        const char *what;
    } dropped[] = {{c->below_rating, "below the minimal rating"},
                   {c->outside_time, "not between the times"},
                   {c->zero_weight, "of weight zero"},
                   {c->repeated, "repeated"},
                   {c->filtered, "filtered by minimal counts"}};
    char why[200] = "";
    size_t used = 0;

    if (c->rows == 0)
        return ease__fail_empty(err, "%s: no interactions", name);
    for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
        if (dropped[i].count)
            used += (size_t)snprintf(why + used, sizeof(why) - used, "%s%lld %s",
                                     used ? ", " : "", (long long)dropped[i].count,
                                     dropped[i].what);
    return ease__fail_empty(err, "%s: no interactions left of %lld rows: %s", name,
                            (long long)c->rows, why);
}

static ease_status finish_with(finishing *f, const char *name, ease_error *err)
{
    ease_interactions *x = f->x;
    ease_error why = {0};
    ease_status status = ease__fold_rows(x, f->o->repeat, ease__threads(f->o->threads),
                                         f->lost_users, f->lost_items, &why);

    if (status)
        return ease__fail(err, status, "%s: %s", name, why.text);
    status = filter(f, err);
    if (status)
        return status;
    if (x->nnz == 0)
        return ease__nothing_left(&x->counts, name, err);
    if (may_have_gaps(f) && ((mark_gone_users(f) && !drop_users(f)) ||
                             (mark_gone_items(f) && !drop_items(f))))
        return ease__fail(err, EASE_E_NOMEM, "ids of %s", name);
    trim(x);
    return EASE_OK;
}

ease_status ease__finish(ease_interactions *x, const ease_read_options *o,
                         const char *name, ease_error *err)
{
    finishing f = {.x = x, .o = o};
    ease_status status;

    f.lost_users = ease__alloc_zero((size_t)x->users, 1);
    f.lost_items = ease__alloc_zero((size_t)x->items, 1);
    f.item_count = ease__alloc_array((size_t)x->items, sizeof(*f.item_count));
    if (!f.lost_users || !f.lost_items || !f.item_count)
        status = ease__fail(err, EASE_E_NOMEM, "filtering %s", name);
    else
        status = finish_with(&f, name, err);
    ease__free(f.lost_users);
    ease__free(f.lost_items);
    ease__free(f.item_count);
    return status;
}
