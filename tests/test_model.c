/* Models: weights from the inverse, storage forms, the file, export. */
#include <errno.h>
#include <float.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include <xxhash.h>

#include "models.h"

static const ease_storage storages[] = {EASE_STORE_F32, EASE_STORE_F16,
                                        EASE_STORE_PACKED};

static unsigned char *slurp(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    unsigned char *data;

    if (!f) {
        *bytes = 0;
        return NULL;
    }
    fseek(f, 0, SEEK_END);
    *bytes = (size_t)ftell(f);
    rewind(f);
    data = malloc(*bytes + 1);
    data[*bytes] = '\0';
    if (fread(data, 1, *bytes, f) != *bytes)
        abort();
    fclose(f);
    return data;
}

/* ---- weights ------------------------------------------------------------------ */

/* Three users have {a, b}, {a} and {a, c}; lambda is 1:
 *
 *              4 1 1                      4 -2 -2
 *   G + I  =   1 2 0     P  =  1/12  *   -2  7  1      B_ij = -P_ij / P_jj
 *              1 0 2                     -2  1  7
 *
 * so that B_ab = 2/7 (what a says of b) and B_ba = 2/4 (what b says of a). */
static const double worked_inverse[] = {4 / 12.0,  -2 / 12.0, -2 / 12.0,
                                        -2 / 12.0, 7 / 12.0,  1 / 12.0,
                                        -2 / 12.0, 1 / 12.0,  7 / 12.0};
static const double worked_weights[3][3] = {
    {0, 2 / 7.0, 2 / 7.0}, {1 / 2.0, 0, -1 / 7.0}, {1 / 2.0, -1 / 7.0, 0}};

static ease_model *worked_model(bool clip)
{
    double sums[] = {3, 1, 1};
    dense_model d = {.n = 3,
                     .inverse = (double *)(uintptr_t)worked_inverse,
                     .sums = sums,
                     .diagonal = sums};

    return model_of(&d, 3, EASE_GRAM_COUNTS, clip, EASE__F32);
}

static void weights_are_those_worked_by_hand_and_not_transposed(test *t)
{
    ease_model *m = worked_model(false);
    int32_t history[] = {1};
    ease_scorer *s = NULL;
    ease_rec recs[3];
    int32_t count = 0;

    for (int32_t i = 0; i < 3; i++)
        for (int32_t j = 0; j < 3; j++)
            check_near(t, ease__model_weight(m, i, j), worked_weights[i][j],
                       3 * FLT_EPSILON);
    check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
    check_status(
        t, ease_recommend(s, (ease_row){history, NULL, 1}, NULL, recs, &count, NULL),
        EASE_OK);
    check_int(t, count, 2);
    check_int(t, recs[0].item, 0);
    check_near(t, recs[0].score, 0.5, FLT_EPSILON);
    check_int(t, recs[1].item, 2);
    check_near(t, recs[1].score, -1 / 7.0, FLT_EPSILON);
    ease_scorer_free(s);
    ease_model_free(m);
}

static void a_model_describes_itself_and_its_items(test *t)
{
    ease_model *m = worked_model(false);
    ease_model_info info = model_info(m);

    check_int(t, info.items, 3);
    check_int(t, info.users, 3);
    check_int(t, info.interactions, 77);
    check_near(t, info.lambda, 1.5, 0);
    check_near(t, info.residual, 1e-6, 0);
    check_int(t, info.storage, EASE_STORE_PACKED);
    check_int(t, info.has_titles, 0);
    check_int(t, info.has_base, 0);
    check_int(t, info.bytes, 0);
    check_int(t, ease_model_find(m, "b"), 1);
    check_int(t, ease_model_find(m, "B"), EASE_NO_ITEM);
    check_int(t, ease_model_find(m, ""), EASE_NO_ITEM);
    check_text(t, ease_model_item_id(m, 2), "c");
    check(t, ease_model_title(m, 0) == NULL);
    check_near(t, ease_model_popularity(m, 0), 3, 0);
    check_near(t, ease_model_base(m, 0), 0, 0);
    ease_model_free(m);
    ease_model_free(NULL);
}

static void the_diagonal_is_zero_in_every_storage(test *t)
{
    ease_model *m = random_model(530, 3, false, EASE_GRAM_COUNTS, false);

    for (size_t k = 0; k < 3; k++) {
        ease_model *back = reopened(t, m, storages[k]);

        for (int32_t i = 0; i < 530; i++)
            check(t, ease__model_weight(back, i, i) == 0.0f);
        ease_model_free(back);
    }
    ease_model_free(m);
}

static void nonnegative_models_have_no_weight_below_zero(test *t)
{
    ease_model *all = random_model(600, 4, false, EASE_GRAM_COUNTS, false);
    ease_model *m = random_model(600, 4, false, EASE_GRAM_COUNTS, true);
    float *a = calloc(600, sizeof(*a)), *b = calloc(600, sizeof(*b));

    check_int(t, model_info(m).nonnegative, 1);
    for (size_t k = 0; k < 3; k++) {
        ease_model *back = reopened(t, m, storages[k]);

        check_int(t, model_info(back).nonnegative, 1);
        for (int32_t i = 0; i < 600; i++) {
            check_status(t, ease_model_row(all, i, a, NULL), EASE_OK);
            check_status(t, ease_model_row(back, i, b, NULL), EASE_OK);
            for (int32_t j = 0; j < 600; j++)
                check(t, storages[k] == EASE_STORE_F16 ? b[j] >= 0
                                                       : b[j] == fmaxf(a[j], 0));
        }
        ease_model_free(back);
    }
    free(a);
    free(b);
    ease_model_free(m);
    ease_model_free(all);
}

/* P_ij and P_jj are rounded to float, two scales, and two products: at most 6 half
 * steps of float for each weight. A base adds such errors of its terms, and is rounded.
 */
static void centred_models_follow_their_formulas(test *t)
{
    enum { USERS = 40, ITEMS = 13 };
    ease_gram_kind kinds[] = {EASE_GRAM_COUNTS, EASE_GRAM_COVARIANCE,
                              EASE_GRAM_CORRELATION};

    for (int variant = 0; variant < 12; variant++) {
        ease_gram_kind kind = kinds[variant % 3];
        bool clip = variant / 3 % 2;
        ease__element e = variant < 6 ? EASE__F32 : EASE__F64;
        double *x = random_data(USERS, ITEMS, (uint64_t)variant);
        dense_model d = dense_train(x, USERS, ITEMS, kind, 2.5, clip);
        ease_model *m = model_of(&d, USERS, kind, clip, e);

        check_int(t, model_info(m).has_base, kind != EASE_GRAM_COUNTS);
        for (int32_t i = 0; i < ITEMS; i++)
            for (int32_t j = 0; j < ITEMS; j++) {
                double want = d.weights[i * ITEMS + j];

                check_near(t, ease__model_weight(m, i, j), want,
                           3 * FLT_EPSILON * fabs(want));
            }
        for (int32_t j = 0; j < ITEMS; j++) {
            double slack = FLT_EPSILON * fabs(d.base[j]);

            for (int32_t i = 0; i < ITEMS; i++)
                slack += 3 * FLT_EPSILON *
                         fabs(d.sums[i] / USERS * d.weights[i * ITEMS + j]);
            check_near(t, ease_model_base(m, j), d.base[j], slack);
            check_near(t, ease_model_popularity(m, j), d.sums[j], 0);
        }
        for (int32_t i = 0; kind != EASE_GRAM_COUNTS && i < ITEMS; i++) {
            check(t, ease__model_weight(m, ITEMS - 1, i) == 0);
            check(t, ease__model_weight(m, i, ITEMS - 1) == 0);
            check(t, ease__model_weight(m, ITEMS - 2, i) == 0);
        }
        if (kind != EASE_GRAM_COUNTS) {
            check_near(t, ease_model_base(m, ITEMS - 1), 1, 0);
            check_near(t, ease_model_base(m, ITEMS - 2), 0, 0);
        }
        ease_model_free(m);
        dense_free(&d);
        free(x);
    }
}

/* Large enough that half of its pages go back. */
static void a_float64_inverse_becomes_float32_where_it_lies(test *t)
{
    enum { N = 600 };
    dense_model d = {.n = N};
    ease_model *m;
    ease__random r;

    ease__random_seed(&r, 12, 0);
    d.inverse = calloc((size_t)N * N, sizeof(double));
    d.diagonal = calloc(N, sizeof(double));
    d.sums = calloc(N, sizeof(double));
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j <= i; j++)
            d.inverse[i * N + j] = d.inverse[j * N + i] = 1 + ease__random_unit(&r);
    m = model_of(&d, 9, EASE_GRAM_COUNTS, false, EASE__F64);
    check_int(t, model_info(m).precision, EASE_F64);
    check(t, m->inverse.bytes <= ease__tiled_bytes(N, EASE__F32) + EASE__PAGE);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            float scale = (float)(-1 / d.inverse[j * N + j]);
            float want = (float)d.inverse[i * N + j] * scale;

            check(t,
                  ease__model_weight(m, (int32_t)i, (int32_t)j) == (i == j ? 0 : want));
        }
    dense_free(&d);
    ease_model_free(m);
}

static void popularity_is_the_diagonal_where_sums_are_unknown(test *t)
{
    ease__tiled p = tile_matrix(worked_inverse, 3, EASE__F32);
    ease__ids ids = letter_ids(3);
    double diagonal[] = {7, 8, 9};
    ease__model_parts r = {.method = ease__method_find("ease"),
                           .lambda = 1,
                           .users = -1,
                           .interactions = -1};
    ease_model *m = NULL;

    r.diagonal = diagonal;
    r.ids = &ids;
    check_status(t, ease__model_from_inverse(&p, &r, &m, NULL), EASE_OK);
    check(t, !p.data && !ids.count);
    check_near(t, ease_model_popularity(m, 1), 8, 0);
    ease_model_free(m);

    p = tile_matrix(worked_inverse, 3, EASE__F32);
    ids = letter_ids(3);
    r.kind = EASE_GRAM_COVARIANCE;
    m = NULL;
    check_status(t, ease__model_from_inverse(&p, &r, &m, NULL), EASE_E_ARG);
    check(t, !m && !p.data && !ids.count);
}

/* ---- halves and kernels ------------------------------------------------------- */

static double half_by_definition(uint16_t h)
{
    int exponent = (h >> 10) & 31;
    double fraction = h & 1023, sign = h & 0x8000 ? -1 : 1;

    if (exponent == 31)
        return fraction != 0 ? NAN : sign * INFINITY;
    return sign *
           (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

static void every_half_is_read_as_its_definition_says_and_written_back(test *t)
{
    for (uint32_t h = 0; h < 65536; h++) {
        uint16_t half = (uint16_t)h, back;
        double want = half_by_definition(half);
        float got;

        ease__kernels_plain.from_half(&half, 1, &got, 1);
        if (isnan(want)) {
            check(t, isnan(got));
            continue;
        }
        check(t, (double)got == want && !signbit(got) == !signbit(want));
        ease__kernels_plain.to_half(&got, 1, &back, 1);
        check_int(t, back, half);
    }
}

/* Between two neighbours a float goes to the nearer, from the middle to the even. */
static void floats_are_rounded_to_the_nearest_half(test *t)
{
    for (uint16_t h = 0; h < 0x7bff; h++) {
        double low = half_by_definition(h),
               high = half_by_definition((uint16_t)(h + 1));
        float middle = (float)((low + high) / 2); /* exact: 12 bits */
        float in[] = {middle, nextafterf(middle, 0), nextafterf(middle, INFINITY)};
        uint16_t out[3];

        ease__kernels_plain.to_half(in, 1, out, 3);
        check_int(t, out[0], h % 2 ? h + 1 : h);
        check_int(t, out[1], h);
        check_int(t, out[2], h + 1);
    }
}

enum { KERNEL_N = 1003, PANEL_ROWS = 50, PANEL_ITEMS = 20 };

/* Entries of a row with a bit for each place that has a value, found by counting. */
static void look_up_both(test *t, const ease__kernels *plain,
                         const ease__kernels *newer, const float *values, size_t n,
                         ease__random *r)
{
    enum { BLOCKS = KERNEL_N / 32 };
    ease__bit_block row[BLOCKS];
    int32_t places[KERNEL_N];
    float want[KERNEL_N], one[KERNEL_N], two[KERNEL_N], all[BLOCKS * 32];
    uint32_t before = 0;

    for (uint32_t k = 0; k < BLOCKS; k++) {
        row[k] = (ease__bit_block){(uint32_t)ease__random_next(r), before};
        for (uint32_t bit = 0; bit < 32; bit++)
            all[k * 32 + bit] = row[k].bits >> bit & 1 ? values[before++] : 0;
    }
    for (size_t i = 0; i < n; i++) {
        places[i] = (int32_t)ease__random_below(r, BLOCKS * 32);
        want[i] = all[places[i]];
    }
    plain->look_up(row, values, places, one, n);
    newer->look_up(row, values, places, two, n);
    check(t, memcmp(want, one, n * sizeof(*want)) == 0);
    check(t, memcmp(want, two, n * sizeof(*want)) == 0);
}

static void compare_loops(test *t, const ease__kernels *newer, ease__random *r)
{
    const ease__kernels *plain = &ease__kernels_plain;
    static float a[KERNEL_N], b[KERNEL_N], c[KERNEL_N];
    static uint16_t h[KERNEL_N], g[KERNEL_N];
    size_t n = (size_t)ease__random_below(r, KERNEL_N + 1);

    for (size_t i = 0; i < KERNEL_N; i++) {
        uint32_t bits = (uint32_t)ease__random_next(r);

        a[i] = (float)ease__random_unit(r) - 0.5f;
        memcpy(&c[i], &bits, sizeof(bits)); /* any float there is */
        h[i] = (uint16_t)bits;
    }
    memcpy(b, a, sizeof(a));
    plain->add(a, a + 1, n ? n - 1 : 0);
    newer->add(b, b + 1, n ? n - 1 : 0);
    check(t, memcmp(a, b, sizeof(a)) == 0);
    plain->add_times(a, a + 1, 0.3f, n ? n - 1 : 0);
    newer->add_times(b, b + 1, 0.3f, n ? n - 1 : 0);
    check(t, memcmp(a, b, sizeof(a)) == 0);
    check(t,
          plain->dot(a, b + 1, n ? n - 1 : 0) == newer->dot(a, b + 1, n ? n - 1 : 0));
    look_up_both(t, plain, newer, a, n, r);
    plain->to_half(c, 0.25f, h, n);
    newer->to_half(c, 0.25f, g, n);
    check(t, memcmp(h, g, n * sizeof(*h)) == 0);
    for (size_t i = 0; i < KERNEL_N; i++)
        h[i] = (uint16_t)ease__random_next(r);
    plain->from_half(h, 0.125f, a, n);
    newer->from_half(h, 0.125f, b, n);
    check(t, memcmp(a, b, n * sizeof(*a)) == 0);
}

static void compare_turns(test *t, const ease__kernels *newer, ease__random *r)
{
    enum { IN = EASE__TRANSPOSE_EDGE + 3, OUT = EASE__TRANSPOSE_EDGE + 5 };
    float in[EASE__TRANSPOSE_EDGE * IN], out[2][EASE__TRANSPOSE_EDGE * OUT] = {{0}};

    for (size_t i = 0; i < EASE__TRANSPOSE_EDGE * IN; i++)
        in[i] = (float)ease__random_unit(r);
    ease__kernels_plain.transpose(in, IN, out[0], OUT);
    newer->transpose(in, IN, out[1], OUT);
    check(t, memcmp(out[0], out[1], sizeof(out[0])) == 0);
    check(t, out[0][3 * OUT + 1] == in[1 * IN + 3]);
}

/* Bits and, where there are any, sums; some sums are equal to `above`, some NaN. */
static void compare_sums(test *t, const ease__kernels *newer, ease__random *r)
{
    static _Alignas(64) float floats[PANEL_ROWS * EASE__PANEL], start[EASE__PANEL];
    static _Alignas(64) uint16_t halves[PANEL_ROWS * EASE__PANEL];
    static _Alignas(64) float out[2][EASE__PANEL];
    const float above[] = {-INFINITY, -2, 0, 1, 4, INFINITY};
    int32_t items[PANEL_ITEMS];
    float x[PANEL_ITEMS];

    for (size_t i = 0; i < PANEL_ROWS * EASE__PANEL; i++) {
        floats[i] = (float)ease__random_unit(r) - 0.5f;
        ease__kernels_plain.to_half(&floats[i], 1024, &halves[i], 1);
    }
    for (int i = 0; i < EASE__PANEL; i++)
        start[i] = i % 7 == 6 ? NAN : (float)(i % 3);
    for (int i = 0; i < PANEL_ITEMS; i++) {
        items[i] = (int32_t)ease__random_below(r, PANEL_ROWS);
        x[i] = (float)ease__random_unit(r);
    }
    for (int i = 0; i < 24; i++) {
        ease__rows rows = {items, i & 1 ? x : NULL, i & 2 ? PANEL_ITEMS : 0, start};
        const ease__kernels *pair[] = {&ease__kernels_plain, newer};
        uint32_t bits[2];

        for (int form = 0; form < 2; form++) {
            for (int k = 0; k < 2; k++)
                bits[k] = form
                              ? pair[k]->sum_halves(halves, 0x1p-10f, rows,
                                                    above[i / 4], out[k])
                              : pair[k]->sum_floats(floats, rows, above[i / 4], out[k]);
            check_int(t, bits[1], bits[0]);
            check(t, !bits[0] || memcmp(out[0], out[1], sizeof(out[0])) == 0);
            check(t, (bits[0] >> 6 & 1) == 0);
        }
    }
}

/* Rows that are added at once, and one after the other. */
static void compare_streams(test *t, const ease__kernels *kernels, ease__random *r)
{
    enum { COLUMNS = 3 * EASE__PANEL, ODD = 1 }; /* no row is aligned */
    static float floats[EASE__STREAMS][COLUMNS + ODD], row[COLUMNS];
    static uint16_t halves[EASE__STREAMS][COLUMNS + ODD];
    static float wanted[2][COLUMNS], got[2][COLUMNS];
    const void *float_rows[EASE__STREAMS], *half_rows[EASE__STREAMS];
    float x[EASE__STREAMS];
    int32_t count = 1 + (int32_t)ease__random_below(r, EASE__STREAMS);
    bool weighted = ease__random_below(r, 2);
    ease__streams s = {float_rows, weighted ? x : NULL, count};

    for (int i = 0; i < COLUMNS; i++)
        wanted[0][i] = wanted[1][i] = got[0][i] = got[1][i] = (float)ease__random_unit(
            r);
    for (int32_t h = 0; h < count; h++) {
        float_rows[h] = floats[h] + ODD;
        half_rows[h] = halves[h] + ODD;
        x[h] = (float)ease__random_unit(r) * 3;
        for (int i = 0; i < COLUMNS; i++)
            floats[h][i + ODD] = (float)ease__random_unit(r) - 0.5f;
        ease__kernels_plain.to_half(floats[h] + ODD, 1024, halves[h] + ODD, COLUMNS);
        ease__kernels_plain.from_half(halves[h] + ODD, 0x1p-10f, row, COLUMNS);
        ease__kernels_plain.add_times(wanted[0], floats[h] + ODD, weighted ? x[h] : 1,
                                      COLUMNS);
        ease__kernels_plain.add_times(wanted[1], row, weighted ? x[h] : 1, COLUMNS);
    }
    kernels->add_floats(got[0], s, COLUMNS);
    s.rows = half_rows;
    kernels->add_halves(got[1], s, 0x1p-10f, COLUMNS);
    check(t, memcmp(got, wanted, sizeof(got)) == 0);
}

static void rows_are_added_in_their_order(test *t)
{
    const ease__kernels *kernels[] = {&ease__kernels_plain, ease__kernels_avx2(),
                                      ease__kernels_avx512(), ease__kernels_neon()};
    ease__random r;

    ease__random_seed(&r, 9, 0);
    for (int k = 0; k < 4; k++)
        for (int round = 0; kernels[k] && round < 100; round++)
            compare_streams(t, kernels[k], &r);
}

static void newer_processors_give_the_same_bits(test *t)
{
    const ease__kernels *newer[] = {ease__kernels_avx2(), ease__kernels_avx512(),
                                    ease__kernels_neon()};
    ease__random r;

    if (!newer[0] && !newer[2]) {
        test_skip(t, "this processor has no AVX2 or F16C");
        return;
    }
    ease__random_seed(&r, 8, 0);
    for (int k = 0; k < 3; k++)
        for (int round = 0; newer[k] && round < 200; round++) {
            compare_loops(t, newer[k], &r);
            compare_turns(t, newer[k], &r);
            compare_sums(t, newer[k], &r);
        }
}

/* ---- files -------------------------------------------------------------------- */

static void give_titles(ease_model *m)
{
    ease__ids titles = {0};
    size_t bytes;

    for (int32_t i = 0; i < m->info.items; i++) {
        char text[32];
        int length = snprintf(text, sizeof(text), "Title %d", (int)i);

        if (ease__ids_add(&titles, text, (size_t)length) != i)
            abort();
    }
    bytes = ease__ids_bytes(&titles);
    m->title_bytes = malloc(bytes);
    ease__ids_pack(&titles, m->title_bytes);
    if (ease__ids_borrow(&m->titles, m->title_bytes, bytes, m->info.items, false, "",
                         NULL) != EASE_OK)
        abort();
    m->info.has_titles = 1;
    ease__ids_free(&titles);
}

static void check_same_beside_weights(test *t, const ease_model *a, const ease_model *b)
{
    ease_model_info x = model_info(a), y = model_info(b);

    check_int(t, y.items, x.items);
    check_int(t, y.users, x.users);
    check_int(t, y.interactions, x.interactions);
    check_near(t, y.lambda, x.lambda, 0);
    check_near(t, y.residual, x.residual, 0);
    check_int(t, y.kind, x.kind);
    check_int(t, y.precision, x.precision);
    check_int(t, y.nonnegative, x.nonnegative);
    check_int(t, y.has_titles, x.has_titles);
    check_int(t, y.has_base, x.has_base);
    for (int32_t i = 0; i < x.items; i++) {
        const char *title = ease_model_title(a, i);

        check_text(t, ease_model_item_id(b, i), ease_model_item_id(a, i));
        check_int(t, ease_model_find(b, ease_model_item_id(a, i)), i);
        if (title)
            check_text(t, ease_model_title(b, i), title);
        check(t, ease_model_popularity(b, i) == ease_model_popularity(a, i));
        check(t, ease_model_base(b, i) == ease_model_base(a, i));
        check(t, b->norm[i] == a->norm[i]);
    }
}

static bool same_weights(const ease_model *a, const ease_model *b)
{
    int32_t n = a->info.items;
    float *x = calloc((size_t)n, sizeof(*x)), *y = calloc((size_t)n, sizeof(*y));
    bool same = true;

    for (int32_t i = 0; i < n; i++) {
        same = same && ease_model_row(a, i, x, NULL) == EASE_OK &&
               ease_model_row(b, i, y, NULL) == EASE_OK &&
               memcmp(x, y, (size_t)n * sizeof(*x)) == 0;
    }
    free(x);
    free(y);
    return same;
}

/* A half has 11 bits: an error of at most 2^-11 of the weight, or, below the normal
 * range, half a step of 2^-24 in units that make the largest weight 2^14 or more. */
static void check_half_weights(test *t, const ease_model *m, const ease_model *half)
{
    int32_t n = m->info.items;
    float largest = 0;

    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < n; j++)
            largest = fmaxf(largest, fabsf(ease__model_weight(m, i, j)));
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < n; j++) {
            double want = ease__model_weight(m, i, j);

            check_near(t, ease__model_weight(half, i, j), want,
                       fabs(want) * 0x1p-11 + 0x1p-25 * (double)largest * 0x1p-14);
        }
}

static void files_give_back_what_was_saved(test *t)
{
    int32_t sizes[] = {1, 3, 16, 100, 520, 1100};
    ease_gram_kind kinds[] = {EASE_GRAM_COUNTS, EASE_GRAM_COVARIANCE,
                              EASE_GRAM_CORRELATION};

    for (size_t k = 0; k < 6; k++) {
        ease_model *m = random_model(sizes[k], k, false, kinds[k % 3], k == 4);

        if (k % 2)
            give_titles(m);
        for (size_t s = 0; s < 3; s++) {
            ease_model *back = reopened(t, m, storages[s]);

            check_int(t, model_info(back).storage, storages[s]);
            check(t, model_info(back).bytes > 0);
            check_same_beside_weights(t, m, back);
            if (storages[s] == EASE_STORE_F16)
                check_half_weights(t, m, back);
            else
                check(t, same_weights(m, back));
            ease_model_free(back);
        }
        ease_model_free(m);
    }
}

static void halves_keep_weights_of_any_magnitude(test *t)
{
    double factors[] = {1e-30, 1e-3, 1, 1e5, 1e30};

    for (size_t k = 0; k < 5; k++) {
        ease_model *m = random_model(40, 11, false, EASE_GRAM_COUNTS, false), *back;

        for (int32_t i = 0; i < 40; i++)
            ((float *)(uintptr_t)m->col_scale)[i] *= (float)factors[k];
        back = reopened(t, m, EASE_STORE_F16);
        check_half_weights(t, m, back);
        ease_model_free(back);
        ease_model_free(m);
    }
}

static void a_model_from_a_file_is_saved_in_every_storage_it_can_have(test *t)
{
    ease_model *m = random_model(530, 5, false, EASE_GRAM_COVARIANCE, false);
    ease_model *f32 = reopened(t, m, EASE_STORE_F32);
    ease_model *f16 = reopened(t, m, EASE_STORE_F16);
    ease_model *packed = reopened(t, m, EASE_STORE_PACKED);
    const ease_model *from[] = {f32, f16, packed};
    ease_error err;

    for (size_t i = 0; i < 3; i++)
        for (size_t s = 0; s < 2; s++) {
            ease_model *again = reopened(t, from[i], storages[s]);

            check_same_beside_weights(t, m, again);
            check(t, same_weights(i == 1 || s == 1 ? f16 : f32, again));
            ease_model_free(again);
        }
    for (size_t i = 0; i < 2; i++) {
        check_status(t,
                     ease_model_save(from[i], test_path("no.ease"), EASE_STORE_PACKED,
                                     NULL, &err),
                     EASE_E_ARG);
        check_contains(t, err.text, "cannot be packed");
        check(t, access(test_path("no.ease"), F_OK) != 0);
    }
    ease_model_free(f32);
    ease_model_free(f16);
    ease_model_free(packed);
    ease_model_free(m);
}

/* A file may be replaced by a model that is read from it. */
static void a_model_can_replace_the_file_it_is_mapped_from(test *t)
{
    const char *path = test_path("reopened.ease");
    ease_model *m = random_model(100, 6, false, EASE_GRAM_COUNTS, false);
    ease_model *back = reopened(t, m, EASE_STORE_F32), *again = NULL;

    check_status(t, ease_model_save(back, path, EASE_STORE_F32, NULL, NULL), EASE_OK);
    check_status(t, ease_model_open(path, NULL, &again, NULL), EASE_OK);
    check(t, same_weights(m, again) && same_weights(m, back));
    ease_model_free(again);
    ease_model_free(back);
    ease_model_free(m);
}

/* Of more rows than one thread makes at a time, and with rows across the blocks. */
static void a_file_has_the_same_bytes_at_any_number_of_threads(test *t)
{
    ease_model *m = random_model(1501, 7, false, EASE_GRAM_CORRELATION, false);
    const char *path = test_path("threads.ease");

    for (size_t s = 0; s < 3; s++) {
        unsigned char *bytes[3];
        size_t count[3];

        for (int i = 0; i < 3; i++) {
            ease_model *back = NULL;

            check_status(t, ease_model_set_threads(m, 1 + 2 * i, NULL), EASE_OK);
            check_status(t, ease_model_save(m, path, storages[s], NULL, NULL), EASE_OK);
            check_status(t, ease_file_verify(path, NULL, NULL), EASE_OK);
            check_status(t, ease_model_open(path, NULL, &back, NULL), EASE_OK);
            check(t, storages[s] == EASE_STORE_F16 || same_weights(m, back));
            ease_model_free(back);
            bytes[i] = slurp(path, &count[i]);
            check(t, count[i] == count[0] && !memcmp(bytes[i], bytes[0], count[0]));
        }
        for (int i = 0; i < 3; i++)
            free(bytes[i]);
    }
    check_status(t, ease_model_set_threads(m, -1, NULL), EASE_E_ARG);
    check_status(t, ease_model_set_threads(NULL, 1, NULL), EASE_E_ARG);
    ease_model_free(m);
}

static int stop_at_half(void *user, const char *stage, double fraction)
{
    int *calls = user;

    ++*calls;
    return strcmp(stage, "writing") != 0 || fraction > 0.4;
}

static void saving_reports_progress_and_can_be_cancelled(test *t)
{
    ease_model *m = random_model(100, 6, false, EASE_GRAM_COUNTS, false);
    int calls = 0;
    ease_hooks hooks = {.progress = stop_at_half, .user = &calls};

    for (size_t s = 0; s < 3; s++) {
        const char *path = test_path("cancelled.ease");

        check_status(t, ease_model_save(m, path, storages[s], &hooks, NULL),
                     EASE_E_CANCELLED);
        check(t, access(path, F_OK) != 0);
    }
    check(t, calls >= 3);
    check_status(t, ease_model_export(m, test_path("x.npy"), 0, &hooks, NULL),
                 EASE_E_CANCELLED);
    check_status(t, ease_model_export(m, test_path("x.csv"), 0, &hooks, NULL),
                 EASE_E_CANCELLED);
    ease_model_free(m);
}

static void a_failed_write_leaves_the_old_file(test *t)
{
    const char *path = test_path("kept.ease");
    ease_model *m = random_model(300, 6, false, EASE_GRAM_COUNTS, false), *back = NULL;
    struct rlimit old, tight;
    size_t before, after;
    unsigned char *a, *b;
    ease_error err = {0};

    check_status(t, ease_model_save(m, path, EASE_STORE_F32, NULL, NULL), EASE_OK);
    a = slurp(path, &before);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    tight = old;
    tight.rlim_cur = 100000;
    setrlimit(RLIMIT_FSIZE, &tight);
    for (size_t s = 0; s < 3; s++) {
        check_status(t, ease_model_save(m, path, storages[s], NULL, &err), EASE_E_IO);
        check_int(t, err.sys_errno, EFBIG);
    }
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    b = slurp(path, &after);
    check(t, before == after && memcmp(a, b, before) == 0);
    check_status(t, ease_model_open(path, NULL, &back, NULL), EASE_OK);
    check_status(t, ease_model_save(m, "/dev/full", EASE_STORE_F32, NULL, &err),
                 EASE_E_IO);
    check_int(t, err.sys_errno, ENOSPC);
    check_status(
        t, ease_model_save(m, test_path("no/such/dir"), EASE_STORE_F32, NULL, &err),
        EASE_E_IO);
    free(a);
    free(b);
    ease_model_free(back);
    ease_model_free(m);
}

/* Opens the bytes as a file; whatever opens must be the same model, weights included
 * if the file still verifies. */
static void check_damaged(test *t, const ease_model *m, const unsigned char *data,
                          size_t bytes)
{
    const char *path = test_path("damaged.ease");
    ease_model *back = NULL;
    ease_status status;

    test_write(path, data, bytes);
    status = ease_model_open(path, NULL, &back, NULL);
    check_int(t, back != NULL, status == EASE_OK);
    if (!back)
        return;
    check_same_beside_weights(t, m, back);
    check(t, same_weights(m, back));
    ease_model_free(back);
}

static void damaged_files_give_an_error_or_the_same_model(test *t)
{
    ease_model *m = random_model(5, 9, false, EASE_GRAM_CORRELATION, false);

    give_titles(m);
    for (size_t s = 0; s < 3; s += 2) {
        const char *path = test_path("whole.ease");
        const ease__disk_header *h;
        unsigned char *data;
        size_t bytes;

        check_status(t, ease_model_save(m, path, storages[s], NULL, NULL), EASE_OK);
        data = slurp(path, &bytes);
        for (size_t cut = 0; cut < bytes; cut += cut < EASE__PAGE ? 61 : 509)
            check_damaged(t, m, data, cut);
        for (size_t at = 0; at < EASE__PAGE; at++) {
            data[at] ^= (unsigned char)(1u << (at % 8));
            check_damaged(t, m, data, bytes);
            data[at] ^= (unsigned char)(1u << (at % 8));
        }
        h = (const ease__disk_header *)(const void *)data;
        for (uint32_t k = 0; k < h->sections; k++)
            for (size_t i = 0; i < h->section[k].bytes && i < 256; i++) {
                size_t at = h->section[k].offset + i;

                data[at] = (unsigned char)~data[at];
                check_damaged(t, m, data, bytes);
                data[at] = (unsigned char)~data[at];
            }
        free(data);
    }
    ease_model_free(m);
}

/* ---- hostile files: wrong, but with right checksums --------------------------- */

static ease__disk_section *section(unsigned char *file, const char *name)
{
    ease__disk_header *h = (ease__disk_header *)(void *)file;

    for (uint32_t i = 0; i < h->sections; i++)
        if (strcmp(h->section[i].name, name) == 0)
            return &h->section[i];
    abort();
}

static void fix_hashes(unsigned char *file)
{
    ease__disk_header *h = (ease__disk_header *)(void *)file;

    for (uint32_t i = 0; i < h->sections; i++)
        if (!ease__is_large(&h->section[i]))
            h->section[i].hash = XXH3_64bits(file + h->section[i].offset,
                                             (size_t)h->section[i].bytes);
    h->hash = 0;
    h->hash = XXH3_64bits(file, EASE__PAGE);
}

/* Writes `with` at a place in a section of a good file, makes the checksums right, and
 * opens it. */
static ease_status open_changed(test *t, ease_storage storage, const char *name,
                                size_t place, const void *with, size_t size)
{
    const char *path = test_path("hostile.ease");
    ease_model *m = random_model(20, 9, false, EASE_GRAM_CORRELATION, false);
    ease_model *back = NULL;
    unsigned char *data;
    ease_status status;
    size_t bytes;

    check_status(t, ease_model_save(m, path, storage, NULL, NULL), EASE_OK);
    data = slurp(path, &bytes);
    memcpy(data + section(data, name)->offset + place, with, size);
    fix_hashes(data);
    test_write(path, data, bytes);
    status = ease_model_open(path, NULL, &back, NULL);
    check_int(t, back != NULL, status == EASE_OK);
    ease_model_free(back);
    ease_model_free(m);
    free(data);
    return status;
}

static void hostile_parameters_are_refused(test *t)
{
    static const struct {
        size_t place;
        int32_t value;
    } changes[] = {
        {0, 0},           {0, -1},          {0, INT32_MAX},
        {0, 21},          {0, 19},          {4, -1},
        {8, -1},          {12, -1},         {16, 2},
        {16, -1},         {20, 64},         {20, -16},
        {24, 7},          {28, 1},          {36, INT32_MIN},
        {44, -9},         {52, 0x7ff00000}, {52, (int32_t)0xbff80000},
        {60, INT32_MIN},  {64, 0},          {64, 1},
        {64, 0x7fc00000}, {64, 0x3fc00000}, {64, -1},
        {68, 1},
    };

    for (size_t s = 0; s < 3; s++) {
        char filled[24];

        for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
            if (!check_status(t,
                              open_changed(t, storages[s], "params", changes[i].place,
                                           &changes[i].value, 4),
                              EASE_E_FORMAT))
                printf("  at %zu\n", changes[i].place);
        memset(filled, 'x', sizeof(filled)); /* names without an end */
        check_status(t, open_changed(t, storages[s], "params", 72, filled, 24),
                     EASE_E_FORMAT);
        check_status(t, open_changed(t, storages[s], "params", 96, filled, 16),
                     EASE_E_FORMAT);
    }
}

/* Numbers that have no meaning yet. */
static void parameters_of_the_future_are_said_to_be_newer(test *t)
{
    static const struct {
        size_t place;
        int32_t value;
    } changes[] = {{4, 3}, {8, 2}, {12, 99}, {68, 99}, {68, -1}, {12, 3}, {68, 2}};

    for (size_t s = 0; s < 3; s++)
        for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
            if (!check_status(t,
                              open_changed(t, storages[s], "params", changes[i].place,
                                           &changes[i].value, 4),
                              EASE_E_VERSION))
                printf("  at %zu\n", changes[i].place);
}

/* Files from before methods were numbered have a 0 there. */
static void a_file_that_names_no_method_is_of_ease(test *t)
{
    const char *path = test_path("old.ease");

    for (int clip = 0; clip < 2; clip++) {
        ease_model *m = random_model(20, 9, false, EASE_GRAM_COUNTS, clip);
        ease_model *back = NULL;
        unsigned char *data;
        size_t bytes;

        check_status(t, ease_model_save(m, path, EASE_STORE_F32, NULL, NULL), EASE_OK);
        data = slurp(path, &bytes);
        memset(data + section(data, "params")->offset + 68, 0, 4);
        fix_hashes(data);
        test_write(path, data, bytes);
        check_status(t, ease_model_open(path, NULL, &back, NULL), EASE_OK);
        check_text(t, model_info(back).method, clip ? "ease-nonneg" : "ease");
        ease_model_free(back);
        ease_model_free(m);
        free(data);
    }
}

static void hostile_numbers_are_refused(test *t)
{
    float nan = NAN, zero = 0;
    double infinite = INFINITY;
    uint64_t far = UINT64_MAX;

    check_status(t, open_changed(t, EASE_STORE_F32, "base", 8, &nan, 4), EASE_E_FORMAT);
    check_status(t, open_changed(t, EASE_STORE_F32, "norm", 8, &nan, 4), EASE_E_FORMAT);
    check_status(t, open_changed(t, EASE_STORE_F32, "norm", 8, &zero, 4),
                 EASE_E_FORMAT);
    check_status(t, open_changed(t, EASE_STORE_PACKED, "row_scale", 8, &nan, 4),
                 EASE_E_FORMAT);
    check_status(t, open_changed(t, EASE_STORE_PACKED, "col_scale", 8, &nan, 4),
                 EASE_E_FORMAT);
    check_status(t, open_changed(t, EASE_STORE_F32, "popularity", 8, &infinite, 8),
                 EASE_E_FORMAT);
    check_status(t, open_changed(t, EASE_STORE_F32, "ids", 8, &far, 8), EASE_E_FORMAT);
    check_status(t, open_changed(t, EASE_STORE_F32, "ids", 21 * 8, "bb", 1),
                 EASE_E_FORMAT); /* "a" becomes a second "b" */
}

static void each_section_is_needed_at_its_full_size(test *t)
{
    static const char *const names[] = {"params", "ids",       "popularity",
                                        "norm",   "col_scale", "weights"};
    ease_model *m = random_model(20, 9, false, EASE_GRAM_CORRELATION, false);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        for (int shorter = 0; shorter < 2; shorter++) {
            const char *path = test_path("lacking.ease");
            ease_model *back = NULL;
            unsigned char *data;
            size_t bytes;

            check_status(t, ease_model_save(m, path, EASE_STORE_PACKED, NULL, NULL),
                         EASE_OK);
            data = slurp(path, &bytes);
            if (shorter)
                section(data, names[i])->bytes -= 4;
            else
                section(data, names[i])->name[0] = 'X';
            if (!shorter && strcmp(names[i], "weights") == 0)
                section(data, "weights#")->name[0] = 'X';
            fix_hashes(data);
            test_write(path, data, bytes);
            check_status(t, ease_model_open(path, NULL, &back, NULL), EASE_E_FORMAT);
            free(data);
        }
    ease_model_free(m);
}

static void newer_and_foreign_files_are_told_apart(test *t)
{
    const char *path = test_path("newer.ease");
    ease_model *m = worked_model(false), *back = NULL;
    ease_error err;
    unsigned char *data;
    size_t bytes;

    check_status(t, ease_model_save(m, path, EASE_STORE_F32, NULL, NULL), EASE_OK);
    data = slurp(path, &bytes);
    ((ease__disk_header *)(void *)data)->version = 3;
    fix_hashes(data);
    test_write(path, data, bytes);
    check_status(t, ease_model_open(path, NULL, &back, &err), EASE_E_VERSION);
    check_contains(t, err.text, "version 3, written by a newer ease");
    ((ease__disk_header *)(void *)data)->version = 2;
    memcpy(((ease__disk_header *)(void *)data)->kind, "gram\0", 6);
    fix_hashes(data);
    test_write(path, data, bytes);
    check_status(t, ease_model_open(path, NULL, &back, &err), EASE_E_FORMAT);
    check_contains(t, err.text, "gram");
    test_write_text(path, "user,item\n1,2\n");
    check_status(t, ease_model_open(path, NULL, &back, &err), EASE_E_FORMAT);
    check_contains(t, err.text, "not an ease model file");
    test_write_text(path, "");
    check_status(t, ease_model_open(path, NULL, &back, NULL), EASE_E_FORMAT);
    check_status(t, ease_model_open(test_path("absent"), NULL, &back, NULL), EASE_E_IO);
    check_status(t, ease_model_open("/", NULL, &back, NULL), EASE_E_IO);
    check_status(t, ease_model_open(NULL, NULL, &back, NULL), EASE_E_ARG);
    check(t, back == NULL);
    free(data);
    ease_model_free(m);
}

/* The fuzzer's seeds were written by version 1, and stay readable. */
static void files_of_version_1_open(test *t)
{
    static const char *const names[] = {"f32", "f16", "packed", "titles"};

    for (size_t i = 0; i < 4; i++) {
        ease_model *m = NULL;
        char path[64];

        snprintf(path, sizeof(path), "tests/corpus/model/%s.ease", names[i]);
        if (!check_status(t, ease_model_open(path, NULL, &m, NULL), EASE_OK))
            continue;
        check_status(t, ease_file_verify(path, NULL, NULL), EASE_OK);
        check_int(t, model_info(m).items, 3);
        check_int(t, model_info(m).has_titles, i == 3);
        check_near(t, ease__model_weight(m, 0, 1), 2 / 7.0, 0x1p-11 * 2 / 7.0);
        check_near(t, ease__model_weight(m, 1, 0), 1 / 2.0, 0x1p-11 / 2.0);
        ease_model_free(m);
    }
}

/* ---- export ------------------------------------------------------------------- */

static void npy_files_hold_the_rows(test *t)
{
    const char *path = test_path("weights.npy");
    ease_model *m = worked_model(false);
    unsigned char *data;
    size_t bytes;

    check_status(t, ease_model_export(m, path, 0, NULL, NULL), EASE_OK);
    data = slurp(path, &bytes);
    check_int(t, bytes, 128 + 9 * sizeof(float));
    check(t, memcmp(data, "\x93NUMPY\x01\x00\x76\x00", 10) == 0);
    check_int(t, data[127], '\n');
    data[127] = '\0';
    check_contains(t, (char *)data + 10,
                   "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3), }");
    for (int i = 0; i < 9; i++) {
        float w;

        memcpy(&w, data + 128 + (size_t)i * sizeof(w), sizeof(w));
        check(t, w == ease__model_weight(m, i / 3, i % 3));
    }
    free(data);
    ease_model_free(m);
}

static ease_model *model_named(test *t, const char *first, const char *second)
{
    ease__tiled p = tile_matrix(worked_inverse, 3, EASE__F32);
    ease__ids ids = {0};
    double diagonal[] = {1, 1, 1};
    ease__model_parts r = {.method = ease__method_find("ease"),
                           .lambda = 1,
                           .users = -1,
                           .interactions = -1};
    ease_model *m = NULL;

    ease__ids_add(&ids, first, strlen(first));
    ease__ids_add(&ids, second, strlen(second));
    ease__ids_add(&ids, "plain", 5);
    r.diagonal = diagonal;
    r.ids = &ids;
    check_status(t, ease__model_from_inverse(&p, &r, &m, NULL), EASE_OK);
    return m;
}

static void ids_are_written_one_a_line(test *t)
{
    const char *path = test_path("ids.txt");
    ease_model *m = model_named(t, "a,\"b\"", "tab\tbed");
    ease_model *broken = model_named(t, "a", "line\nbreak");
    ease_error err = {0};
    unsigned char *data;
    size_t bytes;

    check_status(t, ease_model_write_ids(m, path, NULL), EASE_OK);
    check_status(t, ease_model_write_ids(broken, path, &err), EASE_E_DATA);
    check_contains(t, err.text, "ids.txt: item 2 has a line break");
    data = slurp(path, &bytes);
    check_text(t, (char *)data, "a,\"b\"\ntab\tbed\nplain\n");
    free(data);
    check_status(t, ease_model_write_ids(m, "/dev/full", NULL), EASE_E_IO);
    check_status(t, ease_model_write_ids(NULL, path, NULL), EASE_E_ARG);
    check_status(t, ease_model_write_ids(m, NULL, NULL), EASE_E_ARG);
    ease_model_free(broken);
    ease_model_free(m);
}

static void text_is_quoted_where_needed(test *t)
{
    ease_model *m = model_named(t, "a,\"b\"", "tab\tbed");
    unsigned char *data;
    size_t bytes;

    check_status(t, ease_model_export(m, test_path("w.csv"), 0, NULL, NULL), EASE_OK);
    data = slurp(test_path("w.csv"), &bytes);
    check_text(t, (char *)data,
               "\"a,\"\"b\"\"\",tab\tbed,0.285714298\n"
               "\"a,\"\"b\"\"\",plain,0.285714298\n"
               "tab\tbed,\"a,\"\"b\"\"\",0.5\n"
               "tab\tbed,plain,-0.142857149\n"
               "plain,\"a,\"\"b\"\"\",0.5\n"
               "plain,tab\tbed,-0.142857149\n");
    free(data);
    check_status(t, ease_model_export(m, "/dev/full", 0, NULL, NULL), EASE_E_IO);
    check_status(t, ease_model_export(m, test_path("w.csv"), -1, NULL, NULL),
                 EASE_E_ARG);
    ease_model_free(m);
}

/* As our reader of it has it: a quote is a byte like others. */
static void tab_separated_text_knows_no_quotes(test *t)
{
    const char *path = test_path("w.tsv");
    ease_model *m = model_named(t, "a,\"b\"", "\"c");
    ease_model *tab = model_named(t, "a", "tab\tbed");
    ease_model *broken = model_named(t, "line\nbreak", "b");
    ease_error err = {0};
    unsigned char *data;
    size_t bytes;

    check_status(t, ease_model_export(m, path, 1, NULL, NULL), EASE_OK);
    check_status(t, ease_model_export(tab, path, 1, NULL, &err), EASE_E_DATA);
    check_contains(t, err.text, "w.tsv: item 2 has a tab or line break");
    check_status(t, ease_model_export(broken, path, 1, NULL, &err), EASE_E_DATA);
    check_contains(t, err.text, "w.tsv: item 1 has a tab or line break");
    data = slurp(path, &bytes);
    check_text(t, (char *)data,
               "a,\"b\"\t\"c\t0.285714298\n"
               "\"c\ta,\"b\"\t0.5\n"
               "plain\ta,\"b\"\t0.5\n");
    free(data);
    ease_model_free(broken);
    ease_model_free(tab);
    ease_model_free(m);
}

static void what_a_model_does_not_have_is_nan_or_null(test *t)
{
    enum { N = 20 };
    static const int32_t strange[] = {-1, N, INT32_MAX, INT32_MIN};
    ease_model *m = random_model(N, 5, true, EASE_GRAM_COVARIANCE, false);

    for (size_t k = 0; k < sizeof(strange) / sizeof(strange[0]); k++) {
        float row[N] = {0};

        check_status(t, ease_model_row(m, strange[k], row, NULL), EASE_OK);
        for (int32_t j = 0; j < N; j++)
            check(t, isnan(row[j]));
        check(t, isnan(ease_model_popularity(m, strange[k])));
        check(t, isnan(ease_model_base(m, strange[k])));
        check(t, ease_model_item_id(m, strange[k]) == NULL);
        check(t, ease_model_title(m, strange[k]) == NULL);
        check_int(t, ease_model_history(m, strange[k]).count, 0);
        check(t, ease_model_user_id(m, strange[k]) == NULL);
    }
    ease_model_free(m);
}

/* Row by row: magnitudes fall, of equal ones the smaller item is first, and nothing
 * left out is larger than the last. */
static void top_weights_are_the_largest_by_magnitude(test *t)
{
    enum { N = 60, TOP = 7 };
    const char *path = test_path("top.csv");
    ease_model *m = random_model(N, 21, true, EASE_GRAM_COUNTS, false);
    FILE *f;

    check_status(t, ease_model_export(m, path, TOP, NULL, NULL), EASE_OK);
    f = fopen(path, "r");
    for (int32_t i = 0; i < N; i++) {
        float row[N];
        bool taken[N] = {false};

        check_status(t, ease_model_row(m, i, row, NULL), EASE_OK);
        for (int k = 0; k < TOP; k++) {
            int32_t best = -1;
            char line[128], want[128];

            for (int32_t j = 0; j < N; j++)
                if (!taken[j] && row[j] != 0 &&
                    (best < 0 || fabsf(row[j]) > fabsf(row[best])))
                    best = j;
            taken[best] = true;
            snprintf(want, sizeof(want), "%s,%s,%.9g\n", ease_model_item_id(m, i),
                     ease_model_item_id(m, best), (double)row[best]);
            check(t, fgets(line, sizeof(line), f) != NULL);
            check_text(t, line, want);
        }
    }
    check_int(t, fgetc(f), EOF);
    fclose(f);
    ease_model_free(m);
}

/* ---- no memory ---------------------------------------------------------------- */

static void a_model_is_made_or_not_at_every_failed_allocation(test *t)
{
    ease_status status;
    int n = 0;

    do {
        ease__tiled p = tile_matrix(worked_inverse, 3, EASE__F32);
        ease__ids ids = letter_ids(3);
        double sums[] = {1, 1, 1}, diagonal[] = {2, 2, 2}, scale[] = {1, 1, 1};
        ease__model_parts r = {.method = ease__method_find("ease"),
                               .kind = EASE_GRAM_COVARIANCE,
                               .lambda = 1,
                               .users = 3};
        ease_model *m = NULL;

        r.sums = r.centre = sums;
        r.mass = 3;
        r.mass = 3;
        r.diagonal = diagonal;
        r.scale = scale;
        r.ids = &ids;
        alloc_fail_after(n++);
        status = ease__model_from_inverse(&p, &r, &m, NULL);
        alloc_fail_after(-1);
        check_int(t, m != NULL, status == EASE_OK);
        check(t, !p.data && !ids.count);
        ease_model_free(m);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 5);
}

static void saving_survives_every_failed_allocation(test *t)
{
    ease_model *m = worked_model(false);

    give_titles(m);
    for (size_t s = 0; s < 3; s++) {
        const char *path = test_path("failing.ease");
        ease_status status;
        int n = 0;

        unlink(path);
        do {
            alloc_fail_after(n++);
            status = ease_model_save(m, path, storages[s], NULL, NULL);
            alloc_fail_after(-1);
            check_int(t, access(path, F_OK) == 0, status == EASE_OK);
        } while (status == EASE_E_NOMEM);
        check_status(t, status, EASE_OK);
        check(t, n > 3);
    }
    ease_model_free(m);
}

static void opening_and_exporting_survive_every_failed_allocation(test *t)
{
    const char *path = test_path("failing.ease"), *csv = test_path("failing.csv");
    ease_model *m = worked_model(false);
    ease_status status;
    int n = 0;

    check_status(t, ease_model_save(m, path, EASE_STORE_PACKED, NULL, NULL), EASE_OK);
    do {
        ease_model *back = NULL;

        alloc_fail_after(n++);
        status = ease_model_open(path, NULL, &back, NULL);
        alloc_fail_after(-1);
        check_int(t, back != NULL, status == EASE_OK);
        ease_model_free(back);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    n = 0;
    do {
        alloc_fail_after(n++);
        status = ease_model_export(m, csv, 2, NULL, NULL);
        alloc_fail_after(-1);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    ease_model_free(m);
}

static const test_case cases[] = {
    TEST(weights_are_those_worked_by_hand_and_not_transposed),
    TEST(a_model_describes_itself_and_its_items),
    TEST(the_diagonal_is_zero_in_every_storage),
    TEST(nonnegative_models_have_no_weight_below_zero),
    TEST(centred_models_follow_their_formulas),
    TEST(a_float64_inverse_becomes_float32_where_it_lies),
    TEST(popularity_is_the_diagonal_where_sums_are_unknown),
    TEST(every_half_is_read_as_its_definition_says_and_written_back),
    TEST(floats_are_rounded_to_the_nearest_half),
    TEST(rows_are_added_in_their_order),
    TEST(newer_processors_give_the_same_bits),
    TEST(files_give_back_what_was_saved),
    TEST(halves_keep_weights_of_any_magnitude),
    TEST(a_model_from_a_file_is_saved_in_every_storage_it_can_have),
    TEST(a_model_can_replace_the_file_it_is_mapped_from),
    TEST(a_file_has_the_same_bytes_at_any_number_of_threads),
    TEST(saving_reports_progress_and_can_be_cancelled),
    TEST(a_failed_write_leaves_the_old_file),
    TEST(damaged_files_give_an_error_or_the_same_model),
    TEST(hostile_parameters_are_refused),
    TEST(parameters_of_the_future_are_said_to_be_newer),
    TEST(a_file_that_names_no_method_is_of_ease),
    TEST(hostile_numbers_are_refused),
    TEST(each_section_is_needed_at_its_full_size),
    TEST(newer_and_foreign_files_are_told_apart),
    TEST(files_of_version_1_open),
    TEST(npy_files_hold_the_rows),
    TEST(ids_are_written_one_a_line),
    TEST(text_is_quoted_where_needed),
    TEST(tab_separated_text_knows_no_quotes),
    TEST(what_a_model_does_not_have_is_nan_or_null),
    TEST(top_weights_are_the_largest_by_magnitude),
    TEST(a_model_is_made_or_not_at_every_failed_allocation),
    TEST(saving_survives_every_failed_allocation),
    TEST(opening_and_exporting_survive_every_failed_allocation),
};

TEST_MAIN(cases)
