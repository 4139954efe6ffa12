/* Very many threads, and children by fork(). */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compute/blas.h"
#include "test.h"

enum { USERS = 300, ITEMS = 700, K = 10 };
enum { PATIENCE = 2000 }; /* seconds: nothing that works takes so long */

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

/* ---- everything that calls BLAS ----------------------------------------------- */

/* The lists of all users by a model of each kind, one after the other. */
typedef struct lists {
    ease_rec *recs;
    int32_t *counts;
} lists;

static const struct {
    const char *name, *settings;
} methods[] = {
    {"ease", NULL},
    {"wmf", "rank=8,iterations=2"},
    {"ii-svd", "rank=8"},
    {"mult-vae", "epochs=1,hidden=16,latent=8"},
    {"cdae", "epochs=1,hidden=8"},
    {"slim", "l1=1,l2=50"},
};

static ease_interactions *small_data(void)
{
    ease_synth_options o;
    ease_interactions *x = NULL;

    ease_synth_options_init(&o);
    o.users = USERS;
    o.items = ITEMS;
    o.interactions = 10000;
    if (ease_interactions_synth(&o, &x, NULL))
        abort();
    return x;
}

static ease_row *rows_of(const ease_interactions *x)
{
    ease_row *rows = malloc(USERS * sizeof(*rows));

    for (int64_t u = 0; u < USERS; u++)
        rows[u] = ease_interactions_row(x, u);
    return rows;
}

static ease_status train_and_recommend(const ease_interactions *x, const char *method,
                                       const char *settings, int threads,
                                       const ease_hooks *hooks, ease_rec *recs,
                                       int32_t *counts, ease_error *err)
{
    ease_row *rows = rows_of(x);
    ease_train_options o;
    ease_recommend_options r;
    ease_model *m = NULL;
    ease_status status;

    ease_train_options_init(&o);
    o.threads = threads;
    o.settings = settings;
    o.lambda = settings ? 0 : 10;
    o.hooks = hooks;
    ease_recommend_options_init(&r);
    r.k = K;
    r.threads = threads;
    r.hooks = hooks;
    status = train_method(x, method, &o, &m, err);
    if (!status)
        status = ease_recommend_many(m, rows, USERS, &r, recs, counts, err);
    ease_model_free(m);
    free(rows);
    return status;
}

static lists lists_new(void)
{
    return (lists){.recs = calloc((size_t)COUNT(methods) * USERS * K, sizeof(ease_rec)),
                   .counts = calloc((size_t)COUNT(methods) * USERS, sizeof(int32_t))};
}

static void lists_free(lists *l)
{
    free(l->recs);
    free(l->counts);
}

static bool same_lists(const lists *a, const lists *b)
{
    return memcmp(a->counts, b->counts,
                  (size_t)COUNT(methods) * USERS * sizeof(int32_t)) == 0 &&
           memcmp(a->recs, b->recs,
                  (size_t)COUNT(methods) * USERS * K * sizeof(ease_rec)) == 0;
}

/* All methods; the first failure is given, with its words. */
static ease_status run_methods(const ease_interactions *x, int threads,
                               const ease_hooks *hooks, lists *out, ease_error *err)
{
    ease_status status = EASE_OK;

    for (int i = 0; !status && i < COUNT(methods); i++)
        status = train_and_recommend(x, methods[i].name, methods[i].settings, threads,
                                     hooks, out->recs + (size_t)i * USERS * K,
                                     out->counts + (size_t)i * USERS, err);
    return status;
}

/* ---- threads ------------------------------------------------------------------ */

typedef struct said {
    int times;
    char text[480];
} said;

static void hear(void *user, int level, const char *text)
{
    said *s = user;

    if (level == 1 && strstr(text, "buffers for")) {
        s->times++;
        snprintf(s->text, sizeof(s->text), "%s", text);
    }
}

static const int many[] = {64, 128, 192, 256, 1024};

/* All threads call BLAS at the same time here. */
static void products_run_on_any_number_of_threads(test *t)
{
    for (int i = 0; i < COUNT(many); i++) {
        double flops = 0;
        ease_error err = {0};

        check_status(t, ease_measure_product(192, EASE_F64, many[i], 0.1, &flops, &err),
                     EASE_OK);
        check(t, flops > 0);
    }
}

static void any_number_of_threads_gives_the_same_lists(test *t)
{
    ease_interactions *x = small_data();
    lists want = lists_new(), got = lists_new();
    said heard = {0};
    ease_hooks hooks = {.log = hear, .user = &heard};
    ease_error err = {0};

    check_status(t, run_methods(x, 1, &hooks, &want, &err), EASE_OK);
    check_int(t, heard.times, 0);
    for (int i = 0; i < COUNT(many); i++) {
        if (!check_status(t, run_methods(x, many[i], &hooks, &got, &err), EASE_OK))
            printf("  %d threads: %s\n", many[i], err.text);
        check(t, same_lists(&want, &got));
    }
    check_int(t, heard.times, 1);
    check_contains(t, heard.text, "OpenBLAS has buffers for");
    check_int(t, ease__blas_threads(1024, NULL) < 1024, 1);
    check_int(t, ease__blas_threads(8, NULL), 8);
    lists_free(&want);
    lists_free(&got);
    ease_interactions_free(x);
}

static void tuning_runs_on_very_many_threads(test *t)
{
    ease_interactions *x = small_data();
    const double lambdas[] = {10, 100};
    ease_train_options train;
    ease_tune_options o;
    ease_tuning *tuning[2] = {0};

    for (int i = 0; i < 2; i++) {
        ease_error err = {0};

        ease_tune_options_init(&o);
        o.lambdas = lambdas;
        o.count = 2;
        ease_train_options_init(&train);
        train.threads = i ? 1024 : 1;
        o.train = &train;
        check_status(t, ease_tune(x, x, x, &o, &tuning[i], &err), EASE_OK);
    }
    for (int i = 0; i < 2; i++)
        check(t, tuning_trial(tuning[0], i).mean == tuning_trial(tuning[1], i).mean);
    ease_tuning_free(tuning[0]);
    ease_tuning_free(tuning[1]);
    ease_interactions_free(x);
}

/* Threads of the caller, each with a region of the library of its own. */
typedef struct crowd {
    atomic_int inside, most;
    atomic_bool over;
} crowd;

static void *pass_the_gate(void *user)
{
    crowd *c = user;
    int inside, most;

    ease__blas_begin();
    inside = atomic_fetch_add(&c->inside, 1) + 1;
    most = atomic_load(&c->most);
    while (inside > most && !atomic_compare_exchange_weak(&c->most, &most, inside))
        ;
    usleep(20000);
    atomic_fetch_sub(&c->inside, 1);
    ease__blas_end();
    return NULL;
}

static void no_more_calls_are_in_blas_than_it_has_buffers(test *t)
{
    enum { THREADS = 300 };
    pthread_t threads[THREADS];
    crowd c = {0};
    int started = 0;

    while (started < THREADS &&
           pthread_create(&threads[started], NULL, pass_the_gate, &c) == 0)
        started++;
    check_int(t, started, THREADS);
    while (started > 0)
        pthread_join(threads[--started], NULL);
    check(t, c.most > 1);
    check(t, c.most <= ease__blas_threads(1024, NULL));
}

/* ---- fork --------------------------------------------------------------------- */

/* In a child: 0 if all lists are as expected. A child that hangs is ended by
 * SIGALRM. */
static int child_result(const ease_interactions *x, const lists *want)
{
    lists got = lists_new();
    ease_hooks none = {0};

    if (run_methods(x, 2, &none, &got, NULL))
        return 1;
    return same_lists(want, &got) ? 0 : 2;
}

typedef struct errand {
    const ease_interactions *x;
    const lists *want;
    int result;
} errand;

static void *run_errand(void *user)
{
    errand *e = user;

    e->result = child_result(e->x, e->want);
    return NULL;
}

/* On the thread that forked, then on a new one; in a grandchild too. */
static int child_main(const ease_interactions *x, const lists *want, int depth)
{
    errand e = {.x = x, .want = want, .result = 3};
    pthread_t thread;
    int result;

    alarm(PATIENCE);
    result = child_result(x, want);
    if (result)
        return result;
    if (pthread_create(&thread, NULL, run_errand, &e) || pthread_join(thread, NULL) ||
        e.result)
        return 10 + e.result;
    if (depth > 0) {
        pid_t child = fork();
        int status = 0;

        if (child == 0)
            _exit(child_main(x, want, depth - 1));
        if (waitpid(child, &status, 0) != child || status)
            return 20;
    }
    return 0;
}

static void a_forked_child_can_call_everything(test *t)
{
    ease_interactions *x = small_data();
    lists want = lists_new();
    ease_hooks none = {0};
    pid_t child;
    int status = -1;

    check_status(t, run_methods(x, 2, &none, &want, NULL), EASE_OK);
    check_int(t, ease__threads(2), 2);
    fflush(stdout);
    child = fork();
    if (child == 0)
        _exit(child_main(x, &want, 1));
    check_int(t, waitpid(child, &status, 0), child);
    check(t, !WIFSIGNALED(status)); /* SIGALRM: it hung */
    check_int(t, WEXITSTATUS(status), 0);
    lists_free(&want);
    ease_interactions_free(x);
}

static void *come_and_go(void *user)
{
    crowd *c = user;

    while (!atomic_load(&c->over))
        pass_the_gate(c);
    return NULL;
}

/* Buffers and locks of BLAS that other threads hold would be lost in the child. */
static void no_call_is_in_blas_while_a_child_is_forked(test *t)
{
    enum { THREADS = 8, FORKS = 5 };
    pthread_t threads[THREADS];
    crowd c = {0};

    for (int i = 0; i < THREADS; i++)
        check_int(t, pthread_create(&threads[i], NULL, come_and_go, &c), 0);
    for (int i = 0; i < FORKS; i++) {
        int status = -1;
        pid_t child;

        while (atomic_load(&c.inside) == 0)
            usleep(100);
        child = fork();
        if (child == 0) {
            int inside = atomic_load(&c.inside);

            alarm(PATIENCE);
            pass_the_gate(&c);
            _exit(inside);
        }
        check_int(t, waitpid(child, &status, 0), child);
        check_int(t, status, 0);
    }
    atomic_store(&c.over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static const test_case cases[] = {
    TEST(products_run_on_any_number_of_threads),
    TEST(any_number_of_threads_gives_the_same_lists),
    TEST(tuning_runs_on_very_many_threads),
    TEST(no_more_calls_are_in_blas_than_it_has_buffers),
    TEST(a_forked_child_can_call_everything),
    TEST(no_call_is_in_blas_while_a_child_is_forked),
};

TEST_MAIN(cases)
