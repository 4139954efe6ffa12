/* The forms of dense models with rows of weights, in float32 or float16. */
#include <math.h>
#include <string.h>

#include "model/row_writer.h"

static void read_f32(const ease_model *m, ease__window w, float *out, size_t ld)
{
    size_t bytes = (size_t)(w.right - w.left) * sizeof(float);

    for (int32_t i = w.top; i < w.bottom; i++, out += ld)
        memcpy(out, (const float *)ease__row_at(m, i) + w.left, bytes);
}

static void read_f16(const ease_model *m, ease__window w, float *out, size_t ld)
{
    size_t count = (size_t)(w.right - w.left);

    for (int32_t i = w.top; i < w.bottom; i++, out += ld)
        m->kernels->from_half((const uint16_t *)ease__row_at(m, i) + w.left, m->unit,
                              out, count);
}

static void take_f32(const ease_model *m, ease__window w, void *out, size_t ld)
{
    read_f32(m, w, out, ld);
}

static void take_f16(const ease_model *m, ease__window w, void *out, size_t ld)
{
    size_t bytes = (size_t)(w.right - w.left) * sizeof(uint16_t);
    uint16_t *to = out;

    for (int32_t i = w.top; i < w.bottom; i++, to += ld)
        memcpy(to, (const uint16_t *)ease__row_at(m, i) + w.left, bytes);
}

/* Whole rows are contiguous in the file. */
static ease_status need_rows(const ease_model *m, ease__window w, ease__share share,
                             ease_error *err)
{
    size_t size = m->form->store->halves ? sizeof(uint16_t) : sizeof(float);
    size_t left = (size_t)w.left * size, right = (size_t)w.right * size;
    ease_status status = EASE_OK;

    if (w.left == 0 && w.right == m->info.items)
        return ease__container_need(&m->file, ease__row_at(m, w.top),
                                    (size_t)(w.bottom - w.top) * m->stride, share, err);
    for (int32_t i = w.top; !status && i < w.bottom; i++)
        status = ease__container_need(&m->file, (const char *)ease__row_at(m, i) + left,
                                      right - left, share, err);
    return status;
}

static void expect_rows(const ease_model *m, int32_t top, int32_t bottom)
{
    ease__container_expect(&m->file, ease__row_at(m, top),
                           (size_t)(bottom - top) * m->stride);
}

static const ease__store store_f32 = {.read = read_f32,
                                      .take = take_f32,
                                      .need = need_rows,
                                      .expect = expect_rows,
                                      .in_place = true,
                                      .grain = 1};
static const ease__store store_f16 = {.read = read_f16,
                                      .take = take_f16,
                                      .need = need_rows,
                                      .expect = expect_rows,
                                      .halves = true,
                                      .grain = 1};

/* ---- sizes ----------------------------------------------------------------------- */

enum { ROW_GRAIN = 64 }; /* bytes: rows begin at multiples of it */

static size_t row_bytes(const ease__form *form, int32_t n)
{
    size_t bytes = (size_t)n * (form->store->halves ? sizeof(uint16_t) : sizeof(float));

    return (bytes + ROW_GRAIN - 1) / ROW_GRAIN * ROW_GRAIN;
}

static size_t bytes_f32(int32_t n)
{
    return ease__size_mul((size_t)n, row_bytes(&ease__form_f32, n));
}

static size_t bytes_f16(int32_t n)
{
    return ease__size_mul((size_t)n, row_bytes(&ease__form_f16, n));
}

/* Rows are mapped from a file, whose pages the kernel may drop at any time. */
static size_t nothing_held(const ease_model *m)
{
    (void)m;
    return 0;
}

/* ---- saving ---------------------------------------------------------------------- */

static ease_status prepare_rows(ease__saving *s, const char *path, ease_error *err)
{
    (void)path, (void)err;
    s->params.stride = row_bytes(s->form, s->params.items);
    return EASE_OK;
}

/* True if weights are rounded to float16; those of a float16 model are copied. */
static bool is_rounded(const ease__saving *s)
{
    return s->form->store->halves && !s->model->form->store->halves;
}

/* The share of progress before rows are written, that of measure_halves. */
static double measuring_share(const ease__saving *s)
{
    return is_rounded(s) ? 0.5 : 0;
}

static ease__rows_job rows_job(const ease__saving *s, double from, double to)
{
    return (ease__rows_job){.model = s->model,
                            .halves = s->form->store->halves,
                            .stride = (size_t)s->params.stride,
                            .unit = s->params.unit,
                            .writer = s->writer,
                            .hooks = s->hooks,
                            .from = from,
                            .to = to};
}

/* Chooses the power of two that scales the largest weight to 2^14 .. 2^15: nothing
 * overflows, and weights down to 2^-28 of the largest keep all 11 bits. */
float ease__half_unit(float largest)
{
    int exponent = largest > 0 ? ilogbf(largest) - 14 : 0;

    if (exponent < -126) /* of a normal float */
        exponent = -126;
    return ldexpf(1.0f, exponent);
}

static ease_status measure_halves(ease__saving *s, ease_error *err)
{
    ease__rows_job rows = rows_job(s, 0, measuring_share(s));
    float largest = 0;
    ease_status status;

    if (!is_rounded(s)) {
        s->params.unit = s->model->unit;
        return EASE_OK;
    }
    status = ease__rows_largest(&rows, &largest, err);
    s->params.unit = ease__half_unit(largest);
    return status;
}

/* Warns if more than one weight in a thousand was lost. */
static void tell_loss(const ease__saving *s, const ease__underflow *loss)
{
    double share = loss->weights ? (double)loss->lost / (double)loss->weights : 0;

    if (share > 0.001)
        ease__log(s->hooks, 1,
                  "the values of items are of so different sizes that %.2g %% of the "
                  "weights become 0 in float16: storage f32 keeps them",
                  100 * share);
}

static ease_status write_rows(const ease__saving *s, ease_error *err)
{
    ease__rows_job rows = rows_job(s, measuring_share(s), 1);
    ease__underflow loss = {0};
    ease_status status = ease__save_norm(s, err);

    if (is_rounded(s) && ease__rows_may_lose(s->model, s->params.unit))
        rows.loss = &loss;
    if (!status)
        status = ease__rows_write(&rows, err);
    if (!status)
        tell_loss(s, &loss);
    return status;
}

/* ---- opening --------------------------------------------------------------------- */

static bool params_valid(const ease_model *m, const ease__model_params *p)
{
    int exponent;

    if (p->edge != 0 || p->stride != row_bytes(m->form, p->items))
        return false;
    if (!m->form->store->halves)
        return p->unit == 1.0f;
    return isnormal(p->unit) && frexpf(p->unit, &exponent) == 0.5f;
}

static ease_status open_rows(ease_model *m, const ease__model_params *p,
                             ease_error *err)
{
    ease_status status;

    if (!params_valid(m, p))
        return ease__model_damaged(m, "its parameters", err);
    status = ease__take_norm(m, err);
    if (status)
        return status;
    m->rows = ease__take_section(&m->file, "weights", m->form->weight_bytes(p->items));
    if (!m->rows)
        return ease__model_damaged(m, "its weights have another size than they should",
                                   err);
    m->stride = (size_t)p->stride;
    m->unit = p->unit;
    return EASE_OK;
}

/* ---- the forms ------------------------------------------------------------------- */

static const ease__section_rule sections[] = {
    EASE__COMMON_SECTIONS, {"norm", false}, {"norm_to", false}, {"weights", true}, {0}};

const ease__form ease__form_f32 = {
    .name = "f32",
    .number = EASE_STORE_F32,
    .trained = &ease__form_packed,
    .on_request = true,
    .store = &store_f32,
    .scoring = &ease__scoring_rows,
    .sections = sections,
    .weight_bytes = bytes_f32,
    .held = nothing_held,
    .prepare = prepare_rows,
    .write_small = ease__save_norm,
    .write = write_rows,
    .open = open_rows,
};

const ease__form ease__form_f16 = {
    .name = "f16",
    .number = EASE_STORE_F16,
    .trained = &ease__form_packed,
    .on_request = true,
    .store = &store_f16,
    .scoring = &ease__scoring_rows,
    .sections = sections,
    .weight_bytes = bytes_f16,
    .held = nothing_held,
    .prepare = prepare_rows,
    .measure = measure_halves,
    .write_small = ease__save_norm,
    .write = write_rows,
    .open = open_rows,
};
