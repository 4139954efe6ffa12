/* The form of models without weights: every history has the base as its scores. */
#include <string.h>

#include "model/model.h"

/* ---- weights that are all 0 ------------------------------------------------------ */

static void read_none(const ease_model *m, ease__window w, float *out, size_t ld)
{
    (void)m;
    for (int32_t i = w.top; i < w.bottom; i++, out += ld)
        memset(out, 0, (size_t)(w.right - w.left) * sizeof(float));
}

static void take_none(const ease_model *m, ease__window w, void *out, size_t ld)
{
    read_none(m, w, out, ld);
}

static ease_status need_none(const ease_model *m, ease__window w, ease__share share,
                             ease_error *err)
{
    (void)m, (void)w, (void)share, (void)err;
    return EASE_OK;
}

static void expect_none(const ease_model *m, int32_t top, int32_t bottom)
{
    (void)m, (void)top, (void)bottom;
}

const ease__store ease__store_none = {.read = read_none,
                                      .take = take_none,
                                      .need = need_none,
                                      .expect = expect_none,
                                      .grain = 1,
                                      .empty = true};

/* ---- the form -------------------------------------------------------------------- */

static size_t no_bytes(int32_t n)
{
    (void)n;
    return 0;
}

static size_t nothing_held(const ease_model *m)
{
    (void)m;
    return 0;
}

static ease_status write_nothing(const ease__saving *s, ease_error *err)
{
    (void)s, (void)err;
    return EASE_OK;
}

/* The base must exist, since there are no weights. */
static ease_status open_none(ease_model *m, const ease__model_params *p,
                             ease_error *err)
{
    if (!ease__params_plain(p))
        return ease__model_damaged(m, "its parameters", err);
    return m->base ? EASE_OK : ease__model_damaged(m, "base", err);
}

static const ease__section_rule sections[] = {EASE__COMMON_SECTIONS, {0}};

const ease__form ease__form_none = {
    .name = "none",
    .number = EASE_STORE_NONE,
    .trained = &ease__form_none,
    .store = &ease__store_none,
    .scoring = &ease__scoring_base,
    .sections = sections,
    .weight_bytes = no_bytes,
    .held = nothing_held,
    .write = write_nothing,
    .open = open_none,
};
