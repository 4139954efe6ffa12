#include "reasons.h"

#include <math.h>
#include <stdlib.h>

#include "past.h"

bool reasons_start(reasons *r, arena *a)
{
    r->found = arena_take_array(a, (size_t)r->row.count + 1, sizeof(*r->found));
    return r->found != NULL;
}

static int compare(const void *a, const void *b)
{
    const ease_rec *x = a, *y = b;
    float p = fabsf(x->score), q = fabsf(y->score);

    if (p != q)
        return p < q ? 1 : -1;
    return (x->item > y->item) - (x->item < y->item);
}

ease_status reasons_find(const reasons *r, int32_t item, float *base, float *score,
                         ease_error *err)
{
    ease_status status = ease_explain(r->scorer, r->row, item, r->found, base, score,
                                      err);

    if (!status && r->row.count > 1)
        qsort(r->found, (size_t)r->row.count, sizeof(*r->found), compare);
    return status;
}

void reasons_write(const reasons *r, json_writer *w, int64_t most)
{
    put_open(w, "reasons", '[');
    for (int32_t i = 0; i < r->row.count && i < most; i++) {
        put_open(w, NULL, '{');
        put_item(w, r->model, r->found[i].item);
        put_float(w, "contribution", r->found[i].score);
        put_close(w, '}');
    }
    put_close(w, ']');
}

void reasons_put(const reasons *r, json_writer *w, int32_t item, int64_t most)
{
    float base = 0, score = 0;
    bool found = most > 0 && reasons_find(r, item, &base, &score, NULL) == EASE_OK;

    reasons_write(r, w, found ? most : 0);
    if (found && base != 0)
        put_float(w, "base", base);
}
