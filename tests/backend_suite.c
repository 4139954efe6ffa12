#include "backend_suite.h"

#include <errno.h>
#include <float.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

typedef struct suite {
    const ease_backend *b;
    FILE *out;
    int failed;
} suite;

static size_t device_limit; /* of every call; 0: none */

__attribute__((format(printf, 3, 4))) static bool expect(suite *s, bool held,
                                                         const char *fmt, ...)
{
    va_list args;

    if (held)
        return true;
    s->failed++;
    fprintf(s->out, "backend %s: ", s->b->name);
    va_start(args, fmt);
    vfprintf(s->out, fmt, args);
    va_end(args);
    fputc('\n', s->out);
    return false;
}

static double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- matrices -------------------------------------------------------------------- */

enum { PAGE = 4096, RANK = 16, GAP = 16 };
static const double GAP_VALUE = -123; /* between tiles, where nobody may write */

static size_t number_bytes(const ease_backend_matrix *a)
{
    return a->precision == EASE_BACKEND_F64 ? sizeof(double) : sizeof(float);
}

static size_t tile_count(const ease_backend_matrix *a)
{
    return (size_t)a->tiles * ((size_t)a->tiles + 1) / 2;
}

static size_t matrix_bytes(const ease_backend_matrix *a)
{
    return tile_count(a) * a->stride * number_bytes(a);
}

static double get(const ease_backend_matrix *a, size_t at)
{
    return a->precision == EASE_BACKEND_F64 ? ((const double *)a->data)[at]
                                            : (double)((const float *)a->data)[at];
}

static void put(const ease_backend_matrix *a, size_t at, double value)
{
    if (a->precision == EASE_BACKEND_F64)
        ((double *)a->data)[at] = value;
    else
        ((float *)a->data)[at] = (float)value;
}

static ease_backend_matrix shape_of(int32_t items, int32_t edge, int32_t precision,
                                    size_t stride)
{
    return (ease_backend_matrix){.items = items,
                                 .edge = edge,
                                 .tiles = (items + edge - 1) / edge,
                                 .precision = precision,
                                 .stride = stride};
}

/* Numbers from -1 to 1 that are the same in every run (splitmix64). */
static double next_number(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return 2 * (double)((z ^ (z >> 31)) >> 11) * 0x1p-53 - 1;
}

/* V, n x 16 numbers of up to `scale`. */
static double *factors_new(size_t n, double scale)
{
    double *v = malloc(n * RANK * sizeof(*v));
    uint64_t state = n;

    for (size_t i = 0; i < n * RANK; i++)
        v[i] = scale * next_number(&state);
    return v;
}

/* I + V V': no eigenvalue is below 1. The padding is the identity; above the diagonal of
 * diagonal tiles stand NaNs. */
static void fill(ease_backend_matrix *a, double scale)
{
    size_t n = (size_t)a->items, side = (size_t)a->tiles * (size_t)a->edge;
    double *v = factors_new(n, scale);

    for (size_t at = 0; at < tile_count(a) * a->stride; at++)
        put(a, at, GAP_VALUE);
    for (size_t i = 0; i < side; i++)
        for (size_t j = 0; j < side; j++) {
            bool above = j > i && j / (size_t)a->edge == i / (size_t)a->edge;
            double sum = i == j ? 1 : 0;

            if (j > i && !above)
                continue;
            for (size_t k = 0; i < n && j < n && k < RANK; k++)
                sum += v[i * RANK + k] * v[j * RANK + k];
            if (above) /* the transposed place within the tile */
                put(a, ease_backend_offset(a, (int32_t)i, (int32_t)i) + (j - i),
                    (double)NAN);
            else
                put(a, ease_backend_offset(a, (int32_t)i, (int32_t)j), sum);
        }
    free(v);
}

static ease_backend_matrix matrix_new(int32_t items, int32_t edge, int32_t precision,
                                      size_t stride, double scale)
{
    ease_backend_matrix a = shape_of(items, edge, precision, stride);

    a.data = aligned_alloc(PAGE, (matrix_bytes(&a) / PAGE + 1) * PAGE);
    fill(&a, scale);
    return a;
}

/* The usual one: some tiles a side, the last of them partly padding. */
static ease_backend_matrix usual_matrix(int32_t precision)
{
    return matrix_new(300, 64, precision, 64 * 64, 1);
}

/* n x n, row-major, from the lower triangle. */
static double *dense_of(const ease_backend_matrix *a)
{
    size_t n = (size_t)a->items;
    double *d = malloc(n * n * sizeof(*d));

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            d[i * n + j] = d[j * n + i] = get(
                a, ease_backend_offset(a, (int32_t)i, (int32_t)j));
    return d;
}

/* Gauss-Jordan elimination in place; positive definite, so that no pivoting is
 * needed. */
static void reference_invert(double *a, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        double pivot = 1 / a[k * n + k];

        a[k * n + k] = 1;
        for (size_t j = 0; j < n; j++)
            a[k * n + j] *= pivot;
        for (size_t i = 0; i < n; i++) {
            double factor = a[i * n + k];

            if (i == k)
                continue;
            a[i * n + k] = 0;
            for (size_t j = 0; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
    }
}

/* The valid entries, without what stands above the diagonal and in the padding. */
static bool same_bits(const ease_backend_matrix *a, const ease_backend_matrix *b)
{
    for (int32_t i = 0; i < a->items; i++)
        for (int32_t j = 0; j <= i; j++) {
            double x = get(a, ease_backend_offset(a, i, j));
            double y = get(b, ease_backend_offset(b, i, j));

            if (memcmp(&x, &y, sizeof(x)) != 0)
                return false;
        }
    return true;
}

/* ---- calls ----------------------------------------------------------------------- */

/* What progress was told. */
typedef struct listener {
    pthread_t caller;
    int count, cancel_at; /* the report that is answered by "cancel"; 0: none */
    double last;
    bool fell, strange, elsewhere, again;
} listener;

static int on_progress(void *user, double fraction)
{
    listener *l = user;

    l->elsewhere |= !pthread_equal(l->caller, pthread_self());
    l->strange |= !(fraction >= 0 && fraction <= 1);
    l->fell |= fraction < l->last;
    l->again |= l->cancel_at && l->count >= l->cancel_at;
    l->last = fraction;
    return ++l->count == l->cancel_at;
}

static void on_log(void *user, int level, const char *text)
{
    listener *l = user;

    l->elsewhere |= !pthread_equal(l->caller, pthread_self());
    l->strange |= level < 1 || level > 3 || !text || !*text;
}

static listener listener_new(int cancel_at)
{
    return (listener){.caller = pthread_self(), .cancel_at = cancel_at};
}

static ease_backend_call call_new(int32_t threads, listener *l)
{
    ease_backend_call call = {
        .threads = threads, .device_memory = device_limit, .item = -1};

    if (l) {
        call.progress = on_progress;
        call.log = on_log;
        call.user = l;
    }
    return call;
}

static void check_listener(suite *s, const listener *l, bool done, const char *what)
{
    expect(s, !l->elsewhere, "%s: callbacks come from another thread", what);
    expect(s, !l->strange, "%s: callbacks get values that are not allowed", what);
    expect(s, !l->fell, "%s: progress falls", what);
    expect(s, !l->again, "%s: progress is called after it has cancelled", what);
    expect(s, l->count > 0, "%s: progress is never called", what);
    if (done)
        expect(s, l->last == 1, "%s: the last progress is %g, not 1", what, l->last);
}

/* A failure says why, in one line. */
static void check_failure(suite *s, const ease_backend_call *call, int32_t got,
                          int32_t want, const char *what)
{
    bool ended = memchr(call->text, 0, sizeof(call->text)) != NULL;

    expect(s, got == want, "%s: returns %d, not %d", what, (int)got, (int)want);
    expect(s, ended && call->text[0] && !strchr(call->text, '\n'),
           "%s: does not say why in one line", what);
}

static bool invert(suite *s, const ease_backend_matrix *a, int32_t threads,
                   const char *what)
{
    listener l = listener_new(0);
    ease_backend_call call = call_new(threads, &l);
    int32_t status = s->b->invert(a, &call);

    check_listener(s, &l, status == EASE_BACKEND_OK, what);
    return expect(s, status == EASE_BACKEND_OK, "%s: returns %d: %.400s", what,
                  (int)status, call.text);
}

static bool has(const suite *s, int32_t precision)
{
    return (s->b->precisions >> precision & 1) != 0;
}

/* ---- the table ------------------------------------------------------------------- */

static bool check_table(suite *s)
{
    const ease_backend *b = s->b;
    const char *letters = "abcdefghijklmnopqrstuvwxyz0123456789-";
    uint32_t known = 1u << EASE_BACKEND_F32 | 1u << EASE_BACKEND_F64;

    expect(s, b->abi == EASE_BACKEND_ABI, "ABI %u, not %u", b->abi, EASE_BACKEND_ABI);
    expect(s, b->name && *b->name && strspn(b->name, letters) == strlen(b->name),
           "the name has other characters than a-z, 0-9 and -");
    expect(s, b->about && *b->about && !strchr(b->about, '\n'),
           "about is not one line");
    expect(s, b->precisions && !(b->precisions & ~known), "unknown precisions: %x",
           b->precisions);
    expect(s, !b->file_scratch == !b->invert_file,
           "file_scratch and invert_file: both or none");
    return expect(s, b->probe && b->scratch && b->rate && b->invert,
                  "a function is missing that must be there") &&
           s->failed == 0;
}

/* ---- inverses -------------------------------------------------------------------- */

/* |P - A^-1| for a backward stable inverse: A has no eigenvalue below 1, so that its
 * condition is at most its Frobenius norm; errors of n roundings that do not conspire
 * grow by sqrt(n), and the reference has its share in double. */
static double tolerance_of(const ease_backend_matrix *a, const double *dense)
{
    double eps = a->precision == EASE_BACKEND_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    size_t n = (size_t)a->items;
    double squares = 0;

    for (size_t i = 0; i < n * n; i++)
        squares += dense[i] * dense[i];
    return 4 * sqrt((double)n) * sqrt(squares) * (eps + DBL_EPSILON);
}

static bool gaps_are_untouched(const ease_backend_matrix *a)
{
    size_t tile = (size_t)a->edge * (size_t)a->edge;

    for (size_t t = 0; t < tile_count(a); t++)
        for (size_t k = tile; k < a->stride; k++)
            if (get(a, t * a->stride + k) != GAP_VALUE)
                return false;
    return true;
}

static void check_inverse(suite *s, int32_t items, int32_t edge, int32_t precision,
                          double scale)
{
    ease_backend_matrix a = matrix_new(items, edge, precision,
                                       (size_t)edge * (size_t)edge + GAP, scale);
    double *want = dense_of(&a), tolerance = tolerance_of(&a, want), worst = 0;
    char what[100];

    snprintf(what, sizeof(what), "%d items in tiles of %d, f%d, scale %g", (int)items,
             (int)edge, precision == EASE_BACKEND_F64 ? 64 : 32, scale);
    if (invert(s, &a, 2, what)) {
        double *got = dense_of(&a);
        size_t count = (size_t)items * (size_t)items;

        reference_invert(want, (size_t)items);
        for (size_t i = 0; i < count; i++) {
            double off = fabs(got[i] - want[i]);

            if (off > worst || isnan(off)) /* nothing is above a NaN: it stays */
                worst = off;
        }
        expect(s, worst <= tolerance, "%s: off by %.2g, allowed %.2g", what, worst,
               tolerance);
        expect(s, gaps_are_untouched(&a), "%s: writes between tiles", what);
        free(got);
    }
    free(want);
    free(a.data);
}

static void check_inverses(suite *s, int32_t precision)
{
    static const int32_t sizes[][2] = {{1, 16},   {2, 16},   {15, 16},  {16, 16},
                                       {17, 16},  {100, 16}, {161, 48}, {192, 64},
                                       {257, 64}, {260, 256}};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        check_inverse(s, sizes[i][0], sizes[i][1], precision, 1);
        check_inverse(s, sizes[i][0], sizes[i][1], precision, 8);
    }
}

static void check_bits(suite *s, int32_t precision)
{
    ease_backend_matrix first = usual_matrix(precision);

    if (invert(s, &first, 2, "first call"))
        for (int32_t threads = 1; threads <= 5; threads++) {
            ease_backend_matrix a = usual_matrix(precision);

            if (invert(s, &a, threads, "another call"))
                expect(s, same_bits(&a, &first), "other bits with %d threads",
                       (int)threads);
            free(a.data);
        }
    free(first.data);
}

static void check_without_callbacks(suite *s, int32_t precision)
{
    ease_backend_matrix a = usual_matrix(precision), b = usual_matrix(precision);
    ease_backend_call call = call_new(2, NULL);

    expect(s, s->b->invert(&a, &call) == EASE_BACKEND_OK, "fails without callbacks");
    if (invert(s, &b, 2, "with callbacks"))
        expect(s, same_bits(&a, &b), "other bits without callbacks");
    free(a.data);
    free(b.data);
}

typedef struct at_once {
    const ease_backend *b;
    ease_backend_matrix a;
    int32_t status;
} at_once;

static void *invert_once(void *user)
{
    at_once *o = user;
    ease_backend_call call = call_new(2, NULL);

    o->status = o->b->invert(&o->a, &call);
    return NULL;
}

static void check_two_at_once(suite *s, int32_t precision)
{
    at_once two[2];
    pthread_t thread[2];

    for (int i = 0; i < 2; i++) {
        two[i] = (at_once){.b = s->b, .a = usual_matrix(precision)};
        pthread_create(&thread[i], NULL, invert_once, &two[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    if (expect(s, two[0].status == EASE_BACKEND_OK && two[1].status == EASE_BACKEND_OK,
               "two calls at once fail"))
        expect(s, same_bits(&two[0].a, &two[1].a), "two calls at once: other bits");
    free(two[0].a.data);
    free(two[1].a.data);
}

/* ---- failures -------------------------------------------------------------------- */

/* With a second item further on that must not win. */
static void check_pivots(suite *s, int32_t precision)
{
    static const int32_t items[] = {0, 1, 63, 64, 200, 299};

    for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
        ease_backend_matrix a = usual_matrix(precision);
        listener l = listener_new(0);
        ease_backend_call call = call_new(3, &l);

        put(&a, ease_backend_offset(&a, items[i], items[i]), -1);
        put(&a, ease_backend_offset(&a, 299, 299), -1);
        check_failure(s, &call, s->b->invert(&a, &call), EASE_BACKEND_NOT_POSDEF,
                      "a negative pivot");
        expect(s, call.item == items[i], "a negative pivot: item %lld, not %d",
               (long long)call.item, (int)items[i]);
        check_listener(s, &l, false, "a negative pivot");
        free(a.data);
    }
}

static void check_nan(suite *s, int32_t precision)
{
    ease_backend_matrix a = usual_matrix(precision);
    ease_backend_call call = call_new(2, NULL);
    int32_t status;

    put(&a, ease_backend_offset(&a, 150, 20), (double)NAN);
    status = s->b->invert(&a, &call);
    expect(s,
           status == EASE_BACKEND_NOT_POSDEF ||
               (status == EASE_BACKEND_OK &&
                isnan(get(&a, ease_backend_offset(&a, 150, 20)))),
           "a NaN becomes a number");
    free(a.data);
}

/* Whichever report it is that cancels, as long as there are so many. */
static void check_cancelling(suite *s, int32_t precision)
{
    for (int at = 1; at <= 3; at++) {
        ease_backend_matrix a = usual_matrix(precision);
        listener l = listener_new(at);
        ease_backend_call call = call_new(2, &l);
        double begin = seconds_now();
        int32_t status = s->b->invert(&a, &call);

        check_listener(s, &l, false, "cancelling");
        if (l.count >= at)
            check_failure(s, &call, status, EASE_BACKEND_CANCELLED, "cancelling");
        /* Ten times what the contract allows: the machine may be busy. */
        expect(s, seconds_now() - begin < 10, "cancelling takes too long");
        free(a.data);
    }
}

/* ---- larger matrices ------------------------------------------------------------- */

/* Backends divide matrices into blocks, which are larger than the matrices above. The
 * inverse of I + V V' is known, I - V (I + V'V)^-1 V', so that these cost no more than
 * n^2 numbers. */

enum { LARGE_EDGE = 256 };

/* For the scale of V: V'V is about 10 I, so that the condition is about 11, and all but
 * the diagonal entries of the inverse are of the size 1 / sqrt(n) / 16: one block that
 * were not updated would be far beyond the tolerances. */
static double large_scale(int32_t items)
{
    return sqrt(30.0 / items);
}

static ease_backend_matrix large_matrix(int32_t items, int32_t precision)
{
    return matrix_new(items, LARGE_EDGE, precision,
                      (size_t)LARGE_EDGE * LARGE_EDGE + GAP, large_scale(items));
}

static double dot(const double *a, const double *b)
{
    double sum = 0;

    for (size_t k = 0; k < RANK; k++)
        sum += a[k] * b[k];
    return sum;
}

/* V (I + V'V)^-1, n x 16. */
static double *shrunk_factors(const double *v, size_t n)
{
    double small[RANK * RANK], *made = malloc(n * RANK * sizeof(*made));

    for (size_t k = 0; k < RANK; k++)
        for (size_t l = 0; l < RANK; l++) {
            double sum = k == l ? 1 : 0;

            for (size_t i = 0; i < n; i++)
                sum += v[i * RANK + k] * v[i * RANK + l];
            small[k * RANK + l] = sum;
        }
    reference_invert(small, RANK);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < RANK; k++)
            made[i * RANK + k] = dot(v + i * RANK, small + k * RANK);
    return made;
}

/* The largest difference between P and the known inverse; NaN if there is one. */
static double off_by(const ease_backend_matrix *p)
{
    size_t n = (size_t)p->items;
    double *v = factors_new(n, large_scale(p->items)), *w = shrunk_factors(v, n);
    double worst = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double want = (i == j ? 1 : 0) - dot(w + i * RANK, v + j * RANK);
            double off = fabs(get(p, ease_backend_offset(p, (int32_t)i, (int32_t)j)) -
                              want);

            if (off > worst || isnan(off))
                worst = off;
        }
    free(v);
    free(w);
    return worst;
}

/* y = A x */
static void multiply(const ease_backend_matrix *a, const double *x, double *y)
{
    memset(y, 0, (size_t)a->items * sizeof(*y));
    for (int32_t i = 0; i < a->items; i++)
        for (int32_t j = 0; j <= i; j++) {
            double value = get(a, ease_backend_offset(a, i, j));

            y[i] += value * x[j];
            if (j < i)
                y[j] += value * x[i];
        }
}

static double norm_of(const double *x, int32_t n)
{
    double sum = 0;

    for (int32_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* In float32 what the library allows: 2e-4 for the residual, and half of it for an
 * entry. In float64 the bound of tolerance_of(), with |A| <= sqrt(n + 16 x 11^2). */
static double large_tolerance(const ease_backend_matrix *a, bool of_residual)
{
    double n = a->items;

    if (a->precision == EASE_BACKEND_F32)
        return of_residual ? 2e-4 : 1e-4;
    return 8 * sqrt(n) * sqrt(n + RANK * 11 * 11) * DBL_EPSILON;
}

static void check_large(suite *s, int32_t items, int32_t precision)
{
    ease_backend_matrix a = large_matrix(items, precision);
    double *x = calloc(3 * (size_t)items, sizeof(*x)), *ax = x + items,
           *pax = ax + items;
    uint64_t state = 3;
    char what[100];

    snprintf(what, sizeof(what), "%d items, f%d, %zu bytes of a device", (int)items,
             precision == EASE_BACKEND_F64 ? 64 : 32, device_limit);
    for (int32_t i = 0; i < items; i++)
        x[i] = next_number(&state);
    multiply(&a, x, ax);
    if (invert(s, &a, 2, what)) {
        double off = off_by(&a), size = norm_of(x, items), residual;

        multiply(&a, ax, pax);
        for (int32_t i = 0; i < items; i++)
            pax[i] -= x[i];
        residual = norm_of(pax, items) / size;
        expect(s, off <= large_tolerance(&a, false), "%s: off by %.2g, allowed %.2g",
               what, off, large_tolerance(&a, false));
        expect(s, residual <= large_tolerance(&a, true),
               "%s: residual %.2g, allowed %.2g", what, residual,
               large_tolerance(&a, true));
        expect(s, gaps_are_untouched(&a), "%s: writes between tiles", what);
    }
    free(x);
    free(a.data);
}

static void check_large_bits(suite *s, int32_t precision)
{
    ease_backend_matrix a = large_matrix(2500, precision);
    ease_backend_matrix b = large_matrix(2500, precision);

    if (invert(s, &a, 1, "2,500 items") && invert(s, &b, 3, "2,500 items again"))
        expect(s, same_bits(&a, &b), "2,500 items: other bits the second time");
    free(a.data);
    free(b.data);
}

/* In the second block, and the last item. */
static void check_large_pivots(suite *s, int32_t precision)
{
    static const int32_t items[] = {1500, 2499};

    for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
        ease_backend_matrix a = large_matrix(2500, precision);
        ease_backend_call call = call_new(2, NULL);

        put(&a, ease_backend_offset(&a, items[i], items[i]), -1);
        check_failure(s, &call, s->b->invert(&a, &call), EASE_BACKEND_NOT_POSDEF,
                      "a negative pivot of 2,500 items");
        expect(s, call.item == items[i], "a negative pivot: item %lld, not %d",
               (long long)call.item, (int)items[i]);
        free(a.data);
    }
}

static void check_large_ones(suite *s, int32_t precision)
{
    static const int32_t sizes[] = {1100, 2500, 3000};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        check_large(s, sizes[i], precision);
    check_large_bits(s, precision);
    check_large_pivots(s, precision);
}

/* With so much of the device's memory that some, more and all but a little of a matrix
 * of 3,000 items is on it at a time. */
static void check_large_parts(suite *s, int32_t precision)
{
    ease_backend_matrix shape = shape_of(3000, LARGE_EDGE, precision,
                                         (size_t)LARGE_EDGE * LARGE_EDGE);
    ease_backend_scratch all, least;
    enum { PARTS = 4 };

    s->b->scratch(&shape, 2, 0, &all);
    s->b->scratch(&shape, 2, 1, &least);
    for (size_t part = 0; part < PARTS && least.device_bytes < all.device_bytes;
         part++) {
        device_limit = least.device_bytes +
                       part * (all.device_bytes - least.device_bytes) / PARTS;
        check_large(s, 3000, precision);
        if (part == 1)
            check_large_pivots(s, precision);
    }
    device_limit = 0;
}

static bool has_device(const suite *s, int32_t precision)
{
    ease_backend_matrix shape = shape_of(3000, LARGE_EDGE, precision,
                                         (size_t)LARGE_EDGE * LARGE_EDGE);
    ease_backend_scratch all;

    s->b->scratch(&shape, 2, 0, &all);
    return all.device_bytes > 0;
}

/* What `careful` gives for a matrix that is not checked: the same, in the memory of a
 * device and through it. */
static void check_careful(suite *s, int32_t precision)
{
    ease_backend_matrix shape = shape_of(3000, LARGE_EDGE, precision,
                                         (size_t)LARGE_EDGE * LARGE_EDGE);
    const ease_backend *careful = s->b->careful ? s->b->careful(&shape, 2, 1) : NULL;
    suite other = {.b = careful, .out = s->out};

    if (!careful)
        return;
    if (expect(s, careful != s->b && !careful->careful, "careful: has one more")) {
        check_large(&other, 2500, precision);
        check_large_parts(&other, precision);
    }
    s->failed += other.failed;
}

static void check_larger(suite *s, int32_t precision)
{
    check_large_ones(s, precision);
    if (device_limit == 0 && has_device(s, precision)) {
        check_large_parts(s, precision);
        check_careful(s, precision);
    }
}

/* ---- for the plan ---------------------------------------------------------------- */

#ifdef SANITIZED /* the sanitizer uses memory of its own for every byte */
static void check_memory(suite *s, const ease_backend_matrix *a, size_t stated)
{
    (void)s;
    (void)a;
    (void)stated;
}
#else
/* A line of /proc/self/status in bytes; 0: unknown. */
static double memory_of(const char *name)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[200];
    double kilobytes = 0;

    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, name, strlen(name)) == 0)
            kilobytes = strtod(line + strlen(name) + 1, NULL);
    if (f)
        fclose(f);
    return 1024 * kilobytes;
}

/* From here on VmHWM is the peak. False: not on this system. Memory that was freed is
 * given back first, since its reuse would not be seen. */
static bool forget_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");
    bool done = f && fputs("5", f) >= 0;

#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
    if (f && fclose(f) != 0)
        done = false;
    return done;
}

/* Checks that an inversion uses no more memory than `stated` bytes beside the
 * matrix. */
static void check_memory(suite *s, const ease_backend_matrix *a, size_t stated)
{
    /* The kernel counts pages by thread, and adds up late: 64 pages for each. */
    const double unseen = 1e6;
    double before, used;

    if (!forget_peak() || (before = memory_of("VmRSS")) <= 0 ||
        !invert(s, a, 2, "scratch"))
        return;
    used = memory_of("VmHWM") - before;
    expect(s, used <= (double)stated + unseen,
           "scratch: %.0f bytes are used, %zu stated", used, stated);
}
#endif

static void check_scratch(suite *s, int32_t precision)
{
    ease_backend_matrix a = matrix_new(600, 128, precision, 128 * 128, 1);
    ease_backend_matrix larger = shape_of(2000, 128, precision, 128 * 128);
    ease_backend_scratch stated, more;

    s->b->scratch(&a, 2, device_limit, &stated);
    s->b->scratch(&larger, 2, device_limit, &more);
    expect(s,
           more.host_bytes >= stated.host_bytes &&
               more.device_bytes >= stated.device_bytes,
           "scratch: less for a larger matrix");
    expect(s, more.host_bytes < SIZE_MAX / 2 && more.device_bytes < SIZE_MAX / 2,
           "scratch: not a size");
    check_memory(s, &a, stated.host_bytes);
    free(a.data);
}

static void check_rate(suite *s, int32_t precision)
{
    ease_backend_matrix shape = shape_of(20000, 512, precision, 512 * 512);
    ease_backend_call call = call_new(2, NULL);
    double rate = 0, begin = seconds_now();
    int32_t status = s->b->rate(&shape, &call, &rate);

    expect(s, status == EASE_BACKEND_OK && rate > 1e6 && rate < 1e18,
           "rate: returns %d, %g flops a second", (int)status, rate);
    expect(s, seconds_now() - begin < 5, "rate: takes too long");
}

/* ---- in a file ------------------------------------------------------------------- */

/* 300 items in tiles that begin at pages. */
static ease_backend_matrix paged_matrix(int32_t precision)
{
    size_t number = precision == EASE_BACKEND_F64 ? sizeof(double) : sizeof(float);
    size_t tile = 48 * 48 * number;

    return matrix_new(300, 48, precision, (tile + PAGE - 1) / PAGE * PAGE / number, 1);
}

typedef struct work_file {
    FILE *stream; /* deleted when closed */
    ease_backend_file file;
} work_file;

static work_file file_new(const ease_backend_matrix *a, size_t memory)
{
    work_file w = {.stream = tmpfile(),
                   .file = {.shape = *a, .directory = "/tmp", .memory = memory}};
    size_t bytes = matrix_bytes(a);

    w.file.shape.data = NULL;
    w.file.fd = fileno(w.stream);
    for (size_t done = 0; done < bytes;) {
        ssize_t wrote = pwrite(w.file.fd, (char *)a->data + done, bytes - done,
                               (off_t)done);

        if (wrote <= 0)
            abort();
        done += (size_t)wrote;
    }
    return w;
}

static void file_read(const work_file *w, ease_backend_matrix *a)
{
    size_t bytes = matrix_bytes(a);

    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(w->file.fd, (char *)a->data + done, bytes - done,
                            (off_t)done);

        if (got <= 0)
            abort();
        done += (size_t)got;
    }
}

static void check_file_inverse(suite *s, int32_t precision, size_t memory)
{
    ease_backend_matrix a = paged_matrix(precision), want = paged_matrix(precision);
    work_file w = file_new(&a, memory);
    listener l = listener_new(0);
    ease_backend_call call = call_new(2, &l);
    int32_t status = s->b->invert_file(&w.file, &call);

    check_listener(s, &l, status == EASE_BACKEND_OK, "in a file");
    if (expect(s, status == EASE_BACKEND_OK, "in a file with %zu bytes: %d: %.400s",
               memory, (int)status, call.text) &&
        invert(s, &want, 2, "in memory")) {
        file_read(&w, &a);
        expect(s, same_bits(&a, &want), "in a file with %zu bytes: other bits", memory);
    }
    fclose(w.stream);
    free(a.data);
    free(want.data);
}

static void check_file_failures(suite *s, int32_t precision, size_t least)
{
    ease_backend_matrix a = paged_matrix(precision);
    work_file w = file_new(&a, least - 1);
    listener l = listener_new(1);
    ease_backend_call call = call_new(2, NULL);

    check_failure(s, &call, s->b->invert_file(&w.file, &call),
                  EASE_BACKEND_MEMORY_LIMIT, "in a file with too little memory");
    w.file.memory = least;
    call = call_new(2, &l);
    check_failure(s, &call, s->b->invert_file(&w.file, &call), EASE_BACKEND_CANCELLED,
                  "cancelling in a file");
    check_listener(s, &l, false, "cancelling in a file");
    fclose(w.stream);
    put(&a, ease_backend_offset(&a, 170, 170), -1);
    w = file_new(&a, least);
    call = call_new(2, NULL);
    check_failure(s, &call, s->b->invert_file(&w.file, &call), EASE_BACKEND_NOT_POSDEF,
                  "a negative pivot in a file");
    expect(s, call.item == 170, "a negative pivot in a file: item %lld, not 170",
           (long long)call.item);
    w.file.fd = -1;
    call = call_new(2, NULL);
    check_failure(s, &call, s->b->invert_file(&w.file, &call), EASE_BACKEND_IO,
                  "a bad file");
    expect(s, call.sys_errno == EBADF, "a bad file: errno %d", (int)call.sys_errno);
    fclose(w.stream);
    free(a.data);
}

static void check_file(suite *s, int32_t precision)
{
    ease_backend_matrix a = paged_matrix(precision);
    ease_backend_file_scratch none, least, much;
    size_t all = 4 * matrix_bytes(&a);

    a.data = (free(a.data), NULL);
    s->b->file_scratch(&a, 2, 0, &none);
    s->b->file_scratch(&a, 2, none.least_bytes, &least);
    s->b->file_scratch(&a, 2, all, &much);
    if (!expect(s,
                none.least_bytes > 0 && none.least_bytes == least.least_bytes &&
                    none.least_bytes == much.least_bytes,
                "file_scratch: the least depends on the memory"))
        return;
    expect(s, none.passes == 0, "file_scratch: passes without memory");
    expect(s, much.passes >= 1 && least.passes >= much.passes,
           "file_scratch: more passes with more memory");
    check_file_inverse(s, precision, none.least_bytes);
    check_file_inverse(s, precision, (none.least_bytes + all) / 3);
    check_file_inverse(s, precision, all);
    check_file_failures(s, precision, none.least_bytes);
}

/* ---- all of it ------------------------------------------------------------------- */

static void check_precision(suite *s, int32_t precision, bool larger)
{
    check_scratch(s, precision); /* first: before others have warmed the backend up */
    check_rate(s, precision);
    check_inverses(s, precision);
    check_bits(s, precision);
    check_without_callbacks(s, precision);
    check_two_at_once(s, precision);
    check_pivots(s, precision);
    check_nan(s, precision);
    check_cancelling(s, precision);
    if (s->b->invert_file)
        check_file(s, precision);
    if (larger || has_device(s, precision))
        check_larger(s, precision);
}

static int run_suite(const ease_backend *b, bool larger, FILE *out)
{
    suite s = {.b = b, .out = out};
    char why[EASE_BACKEND_TEXT] = "";

    if (!check_table(&s))
        return s.failed;
    if (b->probe(why)) {
        expect(&s, why[0] != 0, "probe: does not say why");
        fprintf(out, "backend %s cannot be used here: %s\n", b->name, why);
        return s.failed ? s.failed : BACKEND_SUITE_UNAVAILABLE;
    }
    for (int32_t p = EASE_BACKEND_F32; p <= EASE_BACKEND_F64; p++)
        if (has(&s, p))
            check_precision(&s, p, larger);
    return s.failed;
}

int backend_suite(const ease_backend *b, FILE *out)
{
    return run_suite(b, false, out);
}

int backend_suite_larger(const ease_backend *b, size_t device_memory, FILE *out)
{
    int failed;

    device_limit = device_memory;
    failed = run_suite(b, true, out);
    device_limit = 0;
    return failed;
}
