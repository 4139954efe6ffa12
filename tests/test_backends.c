/* Backends: the conformance suite with each of them, plugins, and how the library uses
 * their results. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend_suite.h"
#include "data.h"
#include "model/footprint.h"
#include "solve/solve.h"
#include "test.h"

static const ease_backend *toy(test *t)
{
    static const ease_backend *loaded;
    ease_error err = {0};

    if (!loaded && ease__backend_load(TOY_BACKEND, &loaded, &err)) {
        check_text(t, err.text, "");
        exit(1);
    }
    return loaded;
}

/* ---- the suite ------------------------------------------------------------------- */

static void every_built_in_backend_passes_the_suite(test *t)
{
    for (int i = 0; ease__backends[i]; i++) {
        int failed = i == 0 ? backend_suite_larger(ease__backends[i], 0, stdout)
                            : backend_suite(ease__backends[i], stdout);

        check(t, failed == 0 || (i > 0 && failed == BACKEND_SUITE_UNAVAILABLE));
    }
}

static void a_plugin_passes_the_suite(test *t)
{
    check_int(t, backend_suite(toy(t), stdout), 0);
}

/* ---- what the suite finds -------------------------------------------------------- */

static const ease_backend *right; /* what the broken ones below are made from */

static int32_t off_in_one_entry(const ease_backend_matrix *a, ease_backend_call *call)
{
    int32_t status = right->invert(a, call);

    if (a->precision == EASE_BACKEND_F64 && a->items > 100)
        ((double *)a->data)[ease_backend_offset(a, 99, 3)] += 1e-8;
    return status;
}

static int32_t nan_in_one_entry(const ease_backend_matrix *a, ease_backend_call *call)
{
    int32_t status = right->invert(a, call);

    if (a->precision == EASE_BACKEND_F32 && a->items > 100)
        ((float *)a->data)[ease_backend_offset(a, 99, 3)] = NAN;
    return status;
}

static int32_t other_bits_with_threads(const ease_backend_matrix *a,
                                       ease_backend_call *call)
{
    int32_t status = right->invert(a, call);

    if (a->precision == EASE_BACKEND_F32)
        ((float *)a->data)[0] *= 1 + 1e-6F * (float)call->threads;
    return status;
}

static int32_t names_the_next_item(const ease_backend_matrix *a,
                                   ease_backend_call *call)
{
    int32_t status = right->invert(a, call);

    call->item++;
    return status;
}

static int32_t is_silent(const ease_backend_matrix *a, ease_backend_call *call)
{
    int32_t status = right->invert(a, call);

    call->text[0] = '\0';
    return status;
}

static int32_t ignores_progress(const ease_backend_matrix *a, ease_backend_call *call)
{
    ease_backend_call silent = *call;
    int32_t status;

    silent.progress = NULL;
    status = right->invert(a, &silent);
    call->item = silent.item;
    memcpy(call->text, silent.text, sizeof(call->text));
    return status;
}

static int obeys_nobody(void *user, double fraction)
{
    ease_backend_call *call = user;

    (void)call->progress(call->user, fraction);
    return 0;
}

static int32_t cannot_be_cancelled(const ease_backend_matrix *a,
                                   ease_backend_call *call)
{
    ease_backend_call deaf = *call;
    int32_t status;

    deaf.progress = call->progress ? obeys_nobody : NULL;
    deaf.user = call;
    status = right->invert(a, &deaf);
    call->item = deaf.item;
    memcpy(call->text, deaf.text, sizeof(call->text));
    return status;
}

static int counts_down(void *user, double fraction)
{
    ease_backend_call *call = user;

    return call->progress(call->user, 1 - fraction);
}

static int32_t goes_backwards(const ease_backend_matrix *a, ease_backend_call *call)
{
    ease_backend_call reverse = *call;
    int32_t status;

    reverse.progress = call->progress ? counts_down : NULL;
    reverse.user = call;
    status = right->invert(a, &reverse);
    call->item = reverse.item;
    memcpy(call->text, reverse.text, sizeof(call->text));
    return status;
}

static int32_t needs_callbacks(const ease_backend_matrix *a, ease_backend_call *call)
{
    return call->progress ? right->invert(a, call) : EASE_BACKEND_FAILED;
}

static int32_t writes_between_tiles(const ease_backend_matrix *a,
                                    ease_backend_call *call)
{
    size_t tile = (size_t)a->edge * (size_t)a->edge;

    if (a->stride > tile && a->precision == EASE_BACKEND_F32)
        ((float *)a->data)[tile] = 0;
    return right->invert(a, call);
}

#ifndef SANITIZED /* the suite does not measure memory then */
static void no_scratch(const ease_backend_matrix *shape, int32_t threads,
                       size_t device_memory, ease_backend_scratch *out)
{
    (void)shape;
    (void)threads;
    (void)device_memory;
    *out = (ease_backend_scratch){0};
}
#endif

static int32_t no_rate(const ease_backend_matrix *shape, ease_backend_call *call,
                       double *flops_a_second)
{
    (void)shape;
    (void)call;
    *flops_a_second = 0;
    return EASE_BACKEND_OK;
}

static int32_t not_here(char why[EASE_BACKEND_TEXT])
{
    snprintf(why, EASE_BACKEND_TEXT, "no such device");
    return EASE_BACKEND_FAILED;
}

/* What the suite prints about a backend; *failed is its result. */
static char *findings(const ease_backend *b, int *failed)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    *failed = backend_suite(b, out);
    fclose(out);
    return text;
}

static void check_found(test *t, ease_backend broken, const char *what)
{
    int failed;
    char *text = findings(&broken, &failed);

    check(t, failed > 0);
    check_contains(t, text, what);
    free(text);
}

static void the_suite_finds_broken_inversions(test *t)
{
    const struct {
        int32_t (*invert)(const ease_backend_matrix *a, ease_backend_call *call);
        const char *found;
    } broken[] = {
        {off_in_one_entry, "off by"},
        {nan_in_one_entry, "off by nan"},
        {other_bits_with_threads, "other bits with 3 threads"},
        {names_the_next_item, "item 65, not 64"},
        {is_silent, "does not say why"},
        {ignores_progress, "progress is never called"},
        {cannot_be_cancelled, "progress is called after it has cancelled"},
        {goes_backwards, "progress falls"},
        {needs_callbacks, "fails without callbacks"},
        {writes_between_tiles, "writes between tiles"},
    };

    right = toy(t);
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        ease_backend b = *right;

        b.invert = broken[i].invert;
        check_found(t, b, broken[i].found);
    }
}

/* As if one product of a later block were left out. */
static int32_t forgets_a_block(const ease_backend_matrix *a, ease_backend_call *call)
{
    int32_t status = ease__cpu.invert(a, call);

    for (int32_t i = 1030; i < 1090 && i < a->items; i++)
        for (int32_t j = 10; j < 70; j++)
            ((float *)a->data)[ease_backend_offset(a, i, j)] = 0;
    return status;
}

static void the_suite_finds_what_is_wrong_in_later_blocks(test *t)
{
    ease_backend b = ease__cpu;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    b.precisions = 1u << EASE_BACKEND_F32;
    b.invert = forgets_a_block;
    b.file_scratch = NULL;
    b.invert_file = NULL;
    check(t, backend_suite_larger(&b, 0, out) > 0);
    fclose(out);
    check_contains(t, text, "1100 items, f32, 0 bytes of a device: off by");
    check_contains(t, text, "3000 items, f32, 0 bytes of a device: residual");
    check(t, strncmp(text, "backend cpu: 1100", 17) == 0); /* no smaller one */
    free(text);
}

static void the_suite_finds_broken_tables(test *t)
{
    ease_backend b = *toy(t);
    char *text;
    int failed;

    b.name = "Toy";
    check_found(t, b, "the name has other characters");
    b = *toy(t);
    b.rate = NULL;
    check_found(t, b, "a function is missing");
    b = *toy(t);
    b.invert_file = ease__cpu.invert_file;
    check_found(t, b, "both or none");
    b = *toy(t);
    b.rate = no_rate;
    check_found(t, b, "rate: returns 0, 0 flops a second");
#ifndef SANITIZED
    b = *toy(t);
    b.scratch = no_scratch;
    check_found(t, b, "bytes are used, 0 stated");
#endif
    b = *toy(t);
    b.probe = not_here;
    text = findings(&b, &failed);
    check_int(t, failed, BACKEND_SUITE_UNAVAILABLE);
    check_contains(t, text, "no such device");
    free(text);
}

/* ---- plugins --------------------------------------------------------------------- */

static void what_is_no_plugin_is_refused(test *t)
{
    const struct {
        const char *path, *why;
    } refused[] = {
        {"libtoy_backend.so", "needs an absolute path"},
        {"/nowhere/plugin.so", "cannot load a plugin"},
        {REFUSED_NO_ENTRY, "it has no ease_backend_v1"},
        {REFUSED_OTHER_ABI, "it does not have ABI 1"},
        {REFUSED_INCOMPLETE, "incomplete"},
    };

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        const ease_backend *b = NULL;
        ease_error err = {0};

        check_status(t, ease__backend_load(refused[i].path, &b, &err), EASE_E_BACKEND);
        check_contains(t, err.text, refused[i].why);
        check(t, !b);
    }
}

/* ---- solving by any backend ------------------------------------------------------ */

enum { ITEMS = 150 };

static ease_status solve_by(const ease_backend *b, ease__tiled *a, double *residual,
                            const ease_hooks *hooks, ease_error *err)
{
    double diagonal[ITEMS];

    for (int32_t i = 0; i < ITEMS; i++)
        diagonal[i] = 1 + i % 3;
    return ease__solve(a, diagonal, b, 2, 0, hooks, residual, err);
}

static ease__tiled matrix(void)
{
    double largest;

    return random_definite(ITEMS, 16, EASE__F64, 4, &largest);
}

static void backends_agree(test *t)
{
    double residual = 1;
    ease__tiled a = matrix(), b = matrix();

    check_status(t, solve_by(toy(t), &a, &residual, NULL, NULL), EASE_OK);
    check(t, residual < 1e-10);
    check_status(t, solve_by(&ease__cpu, &b, &residual, NULL, NULL), EASE_OK);
    for (int32_t i = 0; i < ITEMS; i++)
        for (int32_t j = 0; j <= i; j++)
            check_near(t, ease__tiled_at(&a, i, j), ease__tiled_at(&b, i, j), 1e-11);
    ease__tiled_free(&a);
    ease__tiled_free(&b);
}

/* The solve adds what it is told to each item, and no less to one than to another. */
static void the_diagonal_is_added_item_by_item(test *t)
{
    double diagonal[ITEMS], residual, *before;
    ease__tiled a = matrix(), b = matrix();

    for (int32_t i = 0; i < ITEMS; i++) {
        diagonal[i] = 0.25 * (i % 7);
        set_entry(&b, i, i, ease__tiled_at(&b, i, i) + diagonal[i]);
    }
    check_status(t, ease__solve(&a, diagonal, &ease__cpu, 2, 0, NULL, &residual, NULL),
                 EASE_OK);
    memset(diagonal, 0, sizeof(diagonal));
    check_status(t, ease__solve(&b, diagonal, &ease__cpu, 2, 0, NULL, &residual, NULL),
                 EASE_OK);
    before = dense_matrix(&a);
    for (int32_t i = 0; i < ITEMS; i++)
        for (int32_t j = 0; j <= i; j++)
            check(t, ease__tiled_at(&b, i, j) == before[i * ITEMS + j]);
    free(before);
    ease__tiled_free(&a);
    ease__tiled_free(&b);
}

static int32_t loses_its_device(const ease_backend_matrix *a, ease_backend_call *call)
{
    (void)a;
    memset(call->text, 'x', sizeof(call->text)); /* not even terminated */
    memcpy(call->text, "the device was lost", 19);
    return EASE_BACKEND_FAILED;
}

static int32_t runs_out_of_memory(const ease_backend_matrix *a, ease_backend_call *call)
{
    (void)a;
    snprintf(call->text, sizeof(call->text), "3 GB on the device");
    return EASE_BACKEND_NO_MEMORY;
}

static int32_t invents_a_status(const ease_backend_matrix *a, ease_backend_call *call)
{
    (void)a;
    (void)call;
    return 99;
}

static void check_solve_fails(test *t, const ease_backend *b, ease_status want,
                              const char *text)
{
    ease__tiled a = matrix();
    ease_error err = {0};
    double residual;

    check_status(t, solve_by(b, &a, &residual, NULL, &err), want);
    check_contains(t, err.text, text);
    ease__tiled_free(&a);
}

static void failures_of_backends_keep_their_reason(test *t)
{
    ease_backend b = *toy(t);

    b.invert = loses_its_device;
    check_solve_fails(t, &b, EASE_E_BACKEND, "backend toy failed: the device was lost");
    b.invert = runs_out_of_memory;
    check_solve_fails(t, &b, EASE_E_NOMEM, "3 GB on the device");
    b.invert = invents_a_status;
    check_solve_fails(t, &b, EASE_E_BACKEND, "backend toy failed");
}

static void failed_pivots_say_what_to_do(test *t)
{
    const ease_backend *const both[] = {&ease__cpu, toy(t)};

    for (int i = 0; i < 2; i++) {
        ease__tiled a = matrix();
        ease_error err = {0};
        double residual;

        set_entry(&a, 33, 33, -1000);
        check_status(t, solve_by(both[i], &a, &residual, NULL, &err),
                     EASE_E_NOT_POSDEF);
        check_int(t, err.where, 33);
        check_text(t, err.text,
                   "the matrix is not positive definite at item 33: raise lambda");
        ease__tiled_free(&a);
    }
}

static int cancel_solving(void *user, const char *stage, double fraction)
{
    (void)user;
    (void)fraction;
    return strcmp(stage, "solving") == 0;
}

static void any_backend_can_be_cancelled(test *t)
{
    const ease_backend *const both[] = {&ease__cpu, toy(t)};
    const ease_hooks hooks = {.progress = cancel_solving};

    for (int i = 0; i < 2; i++) {
        ease__tiled a = matrix();
        double residual;

        check_status(t, solve_by(both[i], &a, &residual, &hooks, NULL),
                     EASE_E_CANCELLED);
        ease__tiled_free(&a);
    }
}

/* ---- refused beforehand ---------------------------------------------------------- */

static int32_t never_called(const ease_backend_matrix *a, ease_backend_call *call)
{
    (void)a;
    (void)call;
    abort();
}

static void small_device(const ease_backend_matrix *shape, int32_t threads,
                         size_t device_memory, ease_backend_scratch *out)
{
    (void)shape;
    (void)threads;
    (void)device_memory;
    *out = (ease_backend_scratch){.host_bytes = 2000000000,
                                  .device_bytes = 80000000000,
                                  .device_available = 24000000000};
}

static void a_device_that_is_too_small_is_refused_beforehand(test *t)
{
    ease_backend b = *toy(t);

    b.scratch = small_device;
    b.invert = never_called;
    check_solve_fails(
        t, &b, EASE_E_MEMORY_LIMIT,
        "backend toy needs 80.00 GB of its device's memory for 150 items, "
        "24.00 GB are available");
}

static void a_precision_that_is_missing_is_refused(test *t)
{
    ease_backend b = *toy(t);

    b.precisions = 1u << EASE_BACKEND_F32;
    b.invert = never_called;
    check_solve_fails(t, &b, EASE_E_BACKEND, "backend toy does not solve in float64");
}

static void a_backend_without_files_is_refused_by_name(test *t)
{
    double diagonal[ITEMS] = {0}, residual;
    ease__tilefile f = EASE__TILEFILE_NONE;
    ease_error err = {0};

    check_status(t, ease__solve_file(&f, diagonal, toy(t), 1, 1, NULL, &residual, &err),
                 EASE_E_BACKEND);
    check_text(t, err.text, "backend toy solves in memory only: it takes no workdir");
    check_status(t, ease__backend_check_file(&ease__cpu, NULL), EASE_OK);
}

static void the_plan_asks_the_backend_for_memory(test *t)
{
    ease_gram_info sizes = {.items = 3000};
    ease_train_options o;
    ease_backend b = *toy(t);
    ease__footprint plain, more;

    ease_train_options_init(&o);
    o.memory_limit = 1000000000;
    plain = ease__train_footprint(NULL, &sizes, EASE__F32, &o, &b, &(ease__family){0});
    b.scratch = small_device;
    more = ease__train_footprint(NULL, &sizes, EASE__F32, &o, &b, &(ease__family){0});
    check_int(t, (int64_t)(more.peak - plain.peak), 2000000000 - 3000 * 3000 * 8);
    /* Without files nothing less will do. */
    check(t, more.least == more.peak && more.work == 0);
    more = ease__train_footprint(NULL, &sizes, EASE__F32, &o, &ease__cpu,
                                 &(ease__family){0});
    check(t, more.least < more.peak && more.work > 0);
}

static void a_failed_probe_tells_its_reason(test *t)
{
    ease_backend b = *toy(t);
    ease_error err = {0};

    check_status(t, ease__backend_probe(&b, &err), EASE_OK);
    b.probe = not_here;
    check_status(t, ease__backend_probe(&b, &err), EASE_E_BACKEND);
    check_text(t, err.text, "backend toy cannot be used here: no such device");
}

/* ---- names ----------------------------------------------------------------------- */

static void backends_are_known_by_name(test *t)
{
    const ease_backend *b = NULL;
    ease_error err = {0};

    check_text(t, ease_backend_at(0)->name, "cpu");
    check_text(t, ease_backend_at(0)->about, ease__cpu.about);
    check(t, !ease_backend_at(-1) && !ease_backend_at(1000));
    check_status(t, ease_backend_check(NULL, &err), EASE_OK);
    check_status(t, ease_backend_check("cpu", &err), EASE_OK);
    check_status(t, ease_backend_check("abacus", &err), EASE_E_ARG);
    check_contains(t, err.text, "no backend 'abacus', only cpu");
    check_status(t, ease__backend_find(NULL, &b, NULL), EASE_OK);
    check(t, b == ease__backends[0]);
}

static const test_case cases[] = {
    TEST(every_built_in_backend_passes_the_suite),
    TEST(a_plugin_passes_the_suite),
    TEST(the_suite_finds_broken_inversions),
    TEST(the_suite_finds_what_is_wrong_in_later_blocks),
    TEST(the_suite_finds_broken_tables),
    TEST(what_is_no_plugin_is_refused),
    TEST(backends_agree),
    TEST(the_diagonal_is_added_item_by_item),
    TEST(failures_of_backends_keep_their_reason),
    TEST(failed_pivots_say_what_to_do),
    TEST(any_backend_can_be_cancelled),
    TEST(a_device_that_is_too_small_is_refused_beforehand),
    TEST(a_precision_that_is_missing_is_refused),
    TEST(a_backend_without_files_is_refused_by_name),
    TEST(the_plan_asks_the_backend_for_memory),
    TEST(a_failed_probe_tells_its_reason),
    TEST(backends_are_known_by_name),
};

TEST_MAIN(cases)
