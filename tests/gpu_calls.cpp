/* Calls of the plugin of the backend cuda with an emulated GPU that is idle: it counts what
 * it is asked for, and computes nothing. What is checked: progress, the flops that are
 * announced, memory, the choice between matrices on the device and on the host,
 * cancelling, and the arithmetic that follows one that was not accurate enough.
 * tests/test_cuda.py compiles it together with cuda/. */
#include <cstdio>
#include <cstdlib>

#include "cuda/cost.h"
#include "cuda/outofcore.h"
#include "emulated_cuda.h"

static const size_t CONTEXT = (size_t)500 << 20; /* of the emulated device */

/* ---- tests ----------------------------------------------------------------------- */

extern "C" const ease_backend *ease_backend_v1(uint32_t abi);

static int failures;

#define CHECK(what)                                            \
    do {                                                       \
        if (!(what)) {                                         \
            printf("failed: %s (line %d)\n", #what, __LINE__); \
            failures++;                                        \
        }                                                      \
    } while (0)

typedef struct listener {
    double last, before_end;
    int count, cancel_at;
    bool wrong;
    char text[2000];
} listener;

static int on_progress(void *user, double fraction)
{
    listener *l = (listener *)user;

    l->wrong |= !(fraction >= l->last && fraction <= 1);
    l->before_end = fraction < 1 ? fraction : l->before_end;
    l->last = fraction;
    return ++l->count == l->cancel_at;
}

static void on_log(void *user, int, const char *text)
{
    listener *l = (listener *)user;

    snprintf(l->text + strlen(l->text), sizeof(l->text) - strlen(l->text), "%s\n",
             text);
}

static double all_flops()
{
    return emulated.flops[FAST] + emulated.flops[PLAIN32] + emulated.flops[PLAIN64];
}

enum { EDGE = 256 };

static ease_backend_matrix shape_of(int32_t items, int32_t precision)
{
    ease_backend_matrix a = {
        items, EDGE, (items + EDGE - 1) / EDGE, precision, (size_t)EDGE * EDGE, NULL};

    return a;
}

/* Forgets what was counted, inverts, and checks what always holds. */
static int32_t invert(const ease_backend *b, int32_t items, int32_t precision,
                      size_t limit, listener *l, char text[EASE_BACKEND_TEXT])
{
    ease_backend_matrix a = shape_of(items, precision);
    size_t tiles = (size_t)a.tiles * ((size_t)a.tiles + 1) / 2;
    ease_backend_call call = {};
    ease_backend_scratch stated;

    a.data = calloc(tiles * a.stride, sizeof(double));
    call.threads = 2;
    call.device_memory = limit;
    call.progress = on_progress;
    call.log = on_log;
    call.user = l;
    emulated.most_used = 0;
    memset(emulated.flops, 0, sizeof(emulated.flops));
    b->scratch(&a, 2, limit, &stated);
    int32_t status = b->invert(&a, &call);
    free(a.data);
    strcpy(text, call.text);
    CHECK(!l->wrong);
    CHECK(emulated.most_used <= stated.device_bytes);
    CHECK(emulated.used == 0 && emulated.allocations == 0);
    return status;
}

/* On the device the fake result fails the check, so that float32 follows. */
static void announced_flops_are_those_that_are_submitted(const ease_backend *b)
{
    static const int32_t items[] = {300, 1100, 2500, 5000};
    char text[EASE_BACKEND_TEXT];

    for (int32_t n : items) {
        listener narrow = {}, wide = {};
        double want = cost_sweep(layout_of(n));

        CHECK(invert(b, n, EASE_BACKEND_F32, 0, &narrow, text) == EASE_BACKEND_OK);
        CHECK(emulated.flops[FAST] == want && emulated.flops[PLAIN32] == want);
        CHECK(strstr(narrow.text, "again in float32"));
        CHECK(narrow.last == 1 && narrow.before_end < 0.995);
        CHECK(invert(b, n, EASE_BACKEND_F64, 0, &wide, text) == EASE_BACKEND_OK);
        CHECK(emulated.flops[PLAIN64] == want && all_flops() == want);
        CHECK(wide.last == 1);
    }
}

static void the_same_out_of_core(const ease_backend *b)
{
    char text[EASE_BACKEND_TEXT];
    int32_t seen = 0;

    for (size_t limit = 150 << 20; limit < (size_t)300 << 20; limit += 20 << 20)
        for (int wide = 0; wide < 2; wide++) {
            int32_t precision = wide ? EASE_BACKEND_F64 : EASE_BACKEND_F32;
            ease_backend_matrix a = shape_of(3000, precision);
            arithmetic how = wide ? PLAIN64 : FAST;
            int32_t columns = outofcore_columns(&a, how, limit);
            listener l = {};

            if (device_bytes(&a, how) <= limit)
                continue;
            seen |= 1 << columns;
            CHECK(invert(b, 3000, precision, limit, &l, text) == EASE_BACKEND_OK);
            CHECK(all_flops() == cost_outofcore(a.tiles, EDGE, columns ? columns : 1));
            CHECK(all_flops() == emulated.flops[how]);
            CHECK(l.last == 1 && l.before_end < 0.995 && l.before_end > 0.5);
        }
    CHECK(seen & ~3); /* several columns at a time */
}

static void all_work_can_be_cancelled(const ease_backend *b)
{
    char text[EASE_BACKEND_TEXT];

    for (int at = 1; at <= 3; at++)
        for (size_t limit = 0; limit <= 1; limit++) {
            listener l = {};

            l.cancel_at = at;
            int32_t status = invert(b, 3000, EASE_BACKEND_F32, limit, &l, text);
            CHECK(l.count < at || (status == EASE_BACKEND_CANCELLED && l.count == at));
        }
}

/* What other programs leave decides whether, not how. */
static void the_way_does_not_depend_on_free_memory(const ease_backend *b)
{
    ease_backend_matrix a = shape_of(20000, EASE_BACKEND_F32);
    ease_backend_scratch before, after;
    char text[EASE_BACKEND_TEXT];
    listener l = {};

    emulated.taken = 0;
    b->scratch(&a, 2, 0, &before);
    CHECK(before.device_bytes == device_bytes(&a, FAST));
    CHECK(before.device_bytes <= before.device_available);
    CHECK(before.device_available + ((size_t)1 << 30) <= emulated.all);
    emulated.taken = emulated.all - CONTEXT - ((size_t)1 << 30);
    b->scratch(&a, 2, 0, &after);
    CHECK(after.device_bytes == before.device_bytes);
    CHECK(after.device_available < after.device_bytes);
    CHECK(invert(b, 20000, EASE_BACKEND_F32, 0, &l, text) == EASE_BACKEND_NO_MEMORY);
    CHECK(strstr(text, " GB of the GPU's memory, of which 0.81 GB are free"));
    CHECK(all_flops() == 0);
    emulated.taken = 0;
}

static void what_is_not_checked_can_be_repeated_in_float32(const ease_backend *b)
{
    ease_backend_matrix a = shape_of(3000, EASE_BACKEND_F32);
    ease_backend_matrix w = shape_of(3000, EASE_BACKEND_F64);
    const ease_backend *careful = b->careful(&a, 2, 1);
    char text[EASE_BACKEND_TEXT];
    listener l = {}, in_core = {};

    CHECK(!b->careful(&a, 2, 0) && !b->careful(&w, 2, 1));
    CHECK(careful && !careful->careful);
    CHECK(invert(careful, 3000, EASE_BACKEND_F32, 1, &l, text) == EASE_BACKEND_OK);
    CHECK(all_flops() == emulated.flops[PLAIN32] && all_flops() > 0 && l.last == 1);
    CHECK(invert(careful, 3000, EASE_BACKEND_F32, 0, &in_core, text) ==
          EASE_BACKEND_OK);
    CHECK(all_flops() == emulated.flops[PLAIN32] &&
          all_flops() == cost_sweep(layout_of(3000)));
}

/* The rate that is predicted is that of a GPU of this kind, below its peak. */
static void the_prediction_is_below_the_peak(const ease_backend *b)
{
    ease_backend_matrix a = shape_of(40000, EASE_BACKEND_F32);
    ease_backend_call call = {};
    double rate = 0;

    call.threads = 2;
    CHECK(b->rate(&a, &call, &rate) == EASE_BACKEND_OK);
    CHECK(rate > 10e12 && rate < 165e12 / 3);
}

int main()
{
    const ease_backend *b = ease_backend_v1(EASE_BACKEND_ABI);
    char why[EASE_BACKEND_TEXT];

    emulated.idle = emulated.slow_clock = true;
    CHECK(b->probe(why) == EASE_BACKEND_OK);
    announced_flops_are_those_that_are_submitted(b);
    the_same_out_of_core(b);
    all_work_can_be_cancelled(b);
    the_way_does_not_depend_on_free_memory(b);
    what_is_not_checked_can_be_repeated_in_float32(b);
    the_prediction_is_below_the_peak(b);
    printf("%d failed\n", failures);
    return failures != 0;
}
