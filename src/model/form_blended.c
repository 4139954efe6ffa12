/* Models of two inverses, in memory only: the weights are
 *
 *     W = (1 - share) W1 + share W2
 *
 * where W1 and W2 are those of two models of the packed form. Such a model is saved as
 * rows of weights. */
#include "model/model.h"

enum { ROWS = EASE__TILED_GRAIN, COLUMNS = 256 };

static int32_t end_of(int32_t from, int32_t most, int32_t end)
{
    return end - from > most ? from + most : end;
}

/* The window is at most ROWS x COLUMNS. */
static void blend_block(const ease_model *m, ease__window w, float *out, size_t ld)
{
    float second[ROWS * COLUMNS], share = m->share, rest = 1 - share;

    ease__form_packed.store->read(m->second, w, second, COLUMNS);
    for (int32_t i = 0; i < w.bottom - w.top; i++, out += ld)
        for (int32_t j = 0; j < w.right - w.left; j++)
            out[j] = rest * out[j] + share * second[i * COLUMNS + j];
}

static void read_blended(const ease_model *m, ease__window w, float *out, size_t ld)
{
    ease__form_packed.store->read(m, w, out, ld);
    for (int32_t top = w.top, bottom; top < w.bottom; top = bottom) {
        bottom = end_of(top, ROWS, w.bottom);
        for (int32_t left = w.left, right; left < w.right; left = right) {
            ease__window block = {.top = top, .bottom = bottom, .left = left};

            block.right = right = end_of(left, COLUMNS, w.right);
            blend_block(m, block,
                        out + (size_t)(top - w.top) * ld + (size_t)(left - w.left), ld);
        }
    }
}

static void take_blended(const ease_model *m, ease__window w, void *out, size_t ld)
{
    read_blended(m, w, out, ld);
}

static ease_status need_blended(const ease_model *m, ease__window w, ease__share share,
                                ease_error *err)
{
    (void)m, (void)w, (void)share, (void)err; /* both are in memory */
    return EASE_OK;
}

static void expect_blended(const ease_model *m, int32_t top, int32_t bottom)
{
    (void)m, (void)top, (void)bottom;
}

static size_t held_blended(const ease_model *m)
{
    return ease__form_packed.held(m) + ease__model_held(m->second);
}

static void free_blended(ease_model *m)
{
    ease_model_free(m->second);
    m->second = NULL;
    ease__form_packed.free(m);
}

static const ease__store store_blended = {.read = read_blended,
                                          .take = take_blended,
                                          .need = need_blended,
                                          .expect = expect_blended,
                                          .grain = EASE__TILED_GRAIN};

const ease__form ease__form_blended = {
    .name = "packed",
    .number = EASE_STORE_PACKED,
    .trained = &ease__form_packed,
    .on_request = true,
    .store = &store_blended,
    .scoring = &ease__scoring_rows,
    .held = held_blended,
    .free = free_blended,
};

/* ---- making one ------------------------------------------------------------------ */

void ease__model_blend(ease_model *m, ease_model *second, float share)
{
    float *norm = (float *)(uintptr_t)m->norm, *to = (float *)(uintptr_t)m->norm_to;

    if (m->second != second)
        ease_model_free(m->second);
    m->second = second;
    m->share = share;
    m->form = second ? &ease__form_blended : &ease__form_packed;
    for (int32_t i = 0; second && i < m->info.items; i++) {
        norm[i] = 1;
        if (to)
            to[i] = 1;
    }
}
