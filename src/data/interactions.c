#include "data/interactions.h"

#include <math.h>
#include <string.h>

#include "core/sized.h"

ease_status ease__check_columns(const ease_interactions *x, ease_error *err)
{
    return x->doubt ? ease__fail(err, EASE_E_ARG, "%s", x->doubt) : EASE_OK;
}

/* ---- access ------------------------------------------------------------------- */

void ease_interactions_describe(const ease_interactions *x,
                                ease_interactions_info *info)
{
    ease_interactions_info found = {0};

    if (x) {
        found = x->counts;
        found.users = x->users;
        found.items = x->items;
        found.interactions = x->nnz;
        found.weighted = x->vals != NULL;
        found.recognized = x->recognized ? x->recognized : "";
        found.doubt = x->doubt;
    }
    ease__info_give(info, &found, sizeof(found));
}

int64_t ease_interactions_users(const ease_interactions *x)
{
    return x ? x->users : 0;
}

int32_t ease_interactions_items(const ease_interactions *x)
{
    return x ? x->items : 0;
}

ease_row ease_interactions_row(const ease_interactions *x, int64_t user)
{
    int64_t from;

    if (!x || user < 0 || user >= x->users)
        return (ease_row){0};
    from = x->row_ptr[user];
    return (ease_row){.items = x->cols + from,
                      .weights = x->vals ? x->vals + from : NULL,
                      .count = (int32_t)(x->row_ptr[user + 1] - from)};
}

const char *ease_interactions_user_id(const ease_interactions *x, int64_t user)
{
    return !x || user < 0 || user >= x->users ? NULL : ease__ids_at(&x->user_ids, user);
}

int64_t ease_interactions_find_user(const ease_interactions *x, const char *user_id)
{
    return x && user_id ? ease__ids_find(&x->user_ids, user_id, strlen(user_id))
                        : EASE_NO_USER;
}

const char *ease_interactions_item_id(const ease_interactions *x, int32_t item)
{
    return !x || item < 0 || item >= x->items ? NULL : ease__ids_at(&x->item_ids, item);
}

void ease_interactions_free(ease_interactions *x)
{
    if (!x)
        return;
    if (!x->borrowed) {
        ease__free(x->row_ptr);
        ease__free(x->cols);
        ease__free(x->vals);
    }
    ease__ids_free(&x->user_ids);
    ease__ids_free(&x->item_ids);
    ease__free(x->recognized);
    ease__free(x->doubt);
    ease__free(x);
}
