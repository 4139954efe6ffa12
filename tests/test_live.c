/* Live updates: the rows that are served equal those of a model that is trained on the
 * data with all events, and no event is applied twice. */
#include "live.h"

#include <glob.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/random.h"
#include "journal.h"
#include "test.h"

enum { USERS = 60, ITEMS = 25, NEW_ITEMS = 3, MOST = USERS * (ITEMS + NEW_ITEMS) };

/* ---- helpers --------------------------------------------------------------------- */

/* The data of the users; the same at each call. */
static ease_interactions *make_data(uint64_t seed)
{
    static int64_t user[MOST], item[MOST];
    ease_interactions *x = NULL;
    int64_t count = 0;
    ease__random r;

    ease__random_seed(&r, seed, 0);
    for (int u = 0; u < USERS; u++)
        for (int i = 0; i < ITEMS; i++)
            if (i == u % ITEMS || ease__random_below(&r, 4) == 0) {
                user[count] = u;
                item[count++] = i;
            }
    if (ease_interactions_from_table(count, &(ease_id_column){.numbers = user},
                                     &(ease_id_column){.numbers = item}, NULL, NULL, &x,
                                     NULL))
        abort();
    return x;
}

static ease_model *train(const ease_interactions *x)
{
    ease_train_options o;
    ease_model *m = NULL;

    ease_train_options_init(&o);
    o.lambda = 5;
    o.updatable = 1;
    if (ease_train(x, &o, &m, NULL))
        abort();
    return m;
}

/* What was served last. */
typedef struct served {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    ease_model *rows;
    live_update update;
    int swaps, failures, for_good, saves;
    int refused; /* updates that will not be served */
    uint64_t saved_to;
    ease_status save_status;
} served;

static ease_status take_rows(void *user, ease_model *rows, const live_update *u,
                             ease_error *err)
{
    served *s = user;

    if (s->refused && s->refused--)
        return journal_fail(err, EASE_E_NOMEM, 0, "serving the rows");
    pthread_mutex_lock(&s->lock);
    ease_model_free(s->rows);
    s->rows = rows;
    s->update = *u;
    s->swaps++;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return EASE_OK;
}

static void note_failure(void *user, const ease_error *err, int for_good)
{
    served *s = user;

    (void)err;
    pthread_mutex_lock(&s->lock);
    s->failures++;
    s->for_good += for_good;
    pthread_mutex_unlock(&s->lock);
}

/* A server without HTTP. */
typedef struct server {
    users *u;
    journal *j;
    journal_info info;
    uint64_t included;
    live *l;
    served served;
} server;

static live_options options_of(server *s, double every)
{
    return (live_options){.every = every,
                          .journal = s->info.id,
                          .serve = take_rows,
                          .failed = note_failure,
                          .user = &s->served};
}

/* Starts a server of a model, which is taken over. Returns the status of live_start. */
static ease_status start(test *t, server *s, ease_model *m, uint64_t data,
                         const char *path, double every, ease_error *err)
{
    users_options o = {0};
    journal_options jo = {.apply = users_apply};
    live_options lo;
    ease_status status;

    memset(s, 0, sizeof(*s));
    pthread_mutex_init(&s->served.lock, NULL);
    pthread_cond_init(&s->served.changed, NULL);
    (void)ease_model_position(m, &o.included);
    check_status(t, users_new(make_data(data), &o, &s->u, NULL), EASE_OK);
    jo.user = s->u;
    check_status(t, journal_open(path, &jo, &s->j, &s->info, NULL), EASE_OK);
    lo = options_of(s, every);
    status = live_position(m, &s->info, &s->included, err);
    if (!status)
        status = live_start(m, s->u, &lo, &s->l, err);
    if (status)
        ease_model_free(m);
    return status;
}

static void stop(server *s)
{
    live_stop(s->l);
    journal_close(s->j);
    users_free(s->u);
    ease_model_free(s->served.rows);
}

/* Appends random events at once, a few of which have new users and items. */
static void append_events(test *t, server *s, uint64_t seed, int64_t count)
{
    enum { CHARS = 16 };
    journal_event *e = calloc((size_t)count, sizeof(*e));
    char(*names)[2][CHARS] = calloc((size_t)count, sizeof(*names));
    ease__random r;

    ease__random_seed(&r, seed, 0);
    for (int64_t n = 0; n < count; n++) {
        snprintf(names[n][0], CHARS, "%d", (int)ease__random_below(&r, USERS + 5));
        snprintf(names[n][1], CHARS, "%d",
                 (int)ease__random_below(&r, ITEMS + NEW_ITEMS));
        e[n] = (journal_event){.kind = ease__random_below(&r, 3) ? JOURNAL_SET
                                                                 : JOURNAL_REMOVE,
                               .weight = 1,
                               .user = names[n][0],
                               .item = names[n][1]};
    }
    check_status(t, journal_append(s->j, e, count, NULL, NULL), EASE_OK);
    free(e);
    free(names);
}

/* Compares rows with those of a model trained on the current data. P has an error of
 * about n eps |P|, and float16 rounds at 2^-11 of the value and 2^-24 of the largest
 * one. */
static void check_rows(test *t, const server *s)
{
    const ease_model *rows = s->served.rows;
    ease_interactions *x = NULL;
    ease_model *m;
    int32_t n = ease_model_items(rows);
    float *got = malloc((size_t)n * sizeof(*got)), *want;
    double worst = 0;

    check_status(t, users_interactions(s->u, USERS_NOW, &x, NULL), EASE_OK);
    m = train(x);
    want = malloc((size_t)ease_model_items(m) * sizeof(*want));
    check_int(t, n, ease_model_items(m)); /* all items still have a user */
    for (int32_t i = 0; i < n; i++) {
        int32_t twin = ease_model_find(m, ease_model_item_id(rows, i));

        if (!check(t, twin != EASE_NO_ITEM))
            break;
        check_near(t, ease_model_popularity(rows, i), ease_model_popularity(m, twin),
                   0);
        check_status(t, ease_model_row(rows, i, got, NULL), EASE_OK);
        check_status(t, ease_model_row(m, twin, want, NULL), EASE_OK);
        for (int32_t k = 0; k < n; k++) {
            int32_t other = ease_model_find(m, ease_model_item_id(rows, k));
            double difference = fabs((double)got[k] - (double)want[other]);

            difference -= fabs((double)want[other]) / 2048;
            worst = difference > worst ? difference : worst;
        }
    }
    check_near(t, worst, 0, 1e-5);
    free(got);
    free(want);
    ease_model_free(m);
    ease_interactions_free(x);
}

/* ---- tests ----------------------------------------------------------------------- */

static void rows_equal_training_on_the_data_with_the_events(test *t)
{
    ease_interactions *x = make_data(1);
    server s;

    check_status(t, start(t, &s, train(x), 1, test_path(__func__), 3600, NULL),
                 EASE_OK);
    check_int(t, s.served.swaps, 1);
    check_int(t, s.served.update.generation, 0);
    check_rows(t, &s);
    append_events(t, &s, 5, 40);
    check_status(t, live_now(s.l, NULL), EASE_OK);
    check_int(t, s.served.swaps, 2);
    check_int(t, s.served.update.sequence, 40);
    check(t, s.served.update.new_items > 0);
    check(t, s.served.update.residual < 1e-5);
    check_rows(t, &s);
    check_status(t, live_now(s.l, NULL), EASE_OK); /* nothing has changed */
    check_int(t, s.served.swaps, 2);
    append_events(t, &s, 6, 10);
    check_status(t, live_now(s.l, NULL), EASE_OK);
    check_int(t, s.served.update.generation, 2);
    check_rows(t, &s);
    stop(&s);
    ease_interactions_free(x);
}

/* The thread makes updates by itself. */
static void updates_come_by_themselves(test *t)
{
    ease_interactions *x = make_data(1);
    struct timespec until;
    server s;

    check_status(t, start(t, &s, train(x), 1, test_path(__func__), 0.02, NULL),
                 EASE_OK);
    append_events(t, &s, 5, 20);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(&s.served.lock);
    while (s.served.update.sequence < 20 &&
           pthread_cond_timedwait(&s.served.changed, &s.served.lock, &until) == 0)
        continue;
    pthread_mutex_unlock(&s.served.lock);
    check_int(t, s.served.update.sequence, 20);
    check_rows(t, &s);
    stop(&s);
    ease_interactions_free(x);
}

static void no_event_is_applied_twice(test *t)
{
    ease_interactions *x = make_data(1), *after = NULL;
    const char *saved = test_path("saved.ease");
    uint64_t position = 0;
    ease_model *m = NULL;
    ease_error err = {0};
    char id[JOURNAL_ID_CHARS];
    server s;

    check_status(t, start(t, &s, train(x), 1, test_path(__func__), 3600, NULL),
                 EASE_OK);
    append_events(t, &s, 5, 30);
    check_status(t, live_now(s.l, NULL), EASE_OK);
    append_events(t, &s, 6, 10); /* after the last update */
    check_status(t, live_save(s.l, saved, NULL, NULL), EASE_OK);
    snprintf(id, sizeof(id), "%s", s.info.id);
    stop(&s);

    /* The saved model with the old data: goes on behind its position. */
    check_status(t, ease_model_open(saved, NULL, &m, NULL), EASE_OK);
    check_text(t, ease_model_position(m, &position), id);
    check_int(t, position, 30);
    check_status(t, start(t, &s, m, 1, test_path(__func__), 3600, &err), EASE_OK);
    check_int(t, s.included, 30);
    check_int(t, s.served.update.sequence, 30);
    check_status(t, live_now(s.l, NULL), EASE_OK);
    check_int(t, s.served.update.sequence, 40);
    check_rows(t, &s);
    check_status(t, users_interactions(s.u, USERS_NOW, &after, NULL), EASE_OK);
    stop(&s);

    /* The old model with the old data: all events are changes. */
    check_status(t, start(t, &s, train(x), 1, test_path(__func__), 3600, &err),
                 EASE_OK);
    check_status(t, live_now(s.l, NULL), EASE_OK);
    check_rows(t, &s);
    stop(&s);

    /* A new model of the data with the events, and the old data: refused. */
    check_status(t, start(t, &s, train(after), 1, test_path(__func__), 3600, &err),
                 EASE_E_DATA);
    check_contains(t, err.text, "not the data of the model");
    stop(&s);
    ease_interactions_free(after);
    ease_interactions_free(x);
}

static int cancel(void *user, const char *stage, double fraction)
{
    (void)user;
    (void)stage;
    (void)fraction;
    return 1;
}

static void note_saved(void *user, uint64_t sequence, double seconds,
                       const ease_error *err)
{
    served *s = user;

    s->saves++;
    s->saved_to = err ? 0 : sequence;
    s->save_status = err ? err->status : EASE_OK;
    (void)seconds;
}

/* A server that saves to `path`, where the model is, and has made an update. */
static void start_saving(test *t, server *s, const ease_interactions *x,
                         const char *path, const char *events)
{
    ease_model *m = train(x);
    live_options o;

    check_status(t, ease_model_save(m, path, EASE_STORE_PACKED, NULL, NULL), EASE_OK);
    check_status(t, start(t, s, train(x), 1, events, 3600, NULL), EASE_OK);
    live_stop(s->l);
    o = options_of(s, 3600);
    o.path = path;
    o.opened = identity_of(path);
    o.saved = note_saved;
    check_status(t, live_start(m, s->u, &o, &s->l, NULL), EASE_OK);
    append_events(t, s, 5, 30);
    check_status(t, live_now(s->l, NULL), EASE_OK);
}

/* A server ends within its grace period, and the old file is good enough. */
static void saving_at_the_end_can_be_cancelled(test *t)
{
    const char *path = test_path("served.ease");
    const ease_hooks hooks = {.progress = cancel};
    ease_interactions *x = make_data(1);
    ease_model *m = NULL;
    uint64_t position = 0;
    server s;

    start_saving(t, &s, x, path, test_path(__func__));
    live_finish(s.l, &hooks);
    check_int(t, s.served.saves, 1);
    check_status(t, s.served.save_status, EASE_E_CANCELLED);
    check_status(t, ease_model_open(path, NULL, &m, NULL), EASE_OK);
    check(t, ease_model_position(m, &position) == NULL);
    ease_model_free(m);
    live_finish(s.l, NULL);
    check_int(t, s.served.saves, 2);
    check_int(t, s.served.saved_to, 30);
    check_status(t, ease_model_open(path, NULL, &m, NULL), EASE_OK);
    check_text(t, ease_model_position(m, &position), s.info.id);
    check_int(t, position, 30);
    ease_model_free(m);
    live_finish(s.l, NULL); /* the file has it */
    check_int(t, s.served.saves, 2);
    stop(&s);
    ease_interactions_free(x);
}

typedef struct move {
    const char *from, *to;
} move;

static int put_another_file(void *user, const char *stage, double fraction)
{
    const move *m = user;

    (void)stage;
    (void)fraction;
    (void)!rename(m->from, m->to); /* succeeds once */
    return 0;
}

/* Nightly training may end while the updated model is being written. */
static void a_file_that_is_put_there_during_a_save_stays(test *t)
{
    const char *path = test_path("replaced.ease"), *other = test_path("nightly.ease");
    move nightly = {other, path};
    const ease_hooks hooks = {.progress = put_another_file, .user = &nightly};
    ease_interactions *x = make_data(1);
    ease_model *m = train(x);
    identity theirs, found;
    glob_t left;
    server s;

    start_saving(t, &s, x, path, test_path(__func__));
    check_status(t, ease_model_save(m, other, EASE_STORE_PACKED, NULL, NULL), EASE_OK);
    theirs = identity_of(other);
    live_finish(s.l, &hooks);
    check_int(t, s.served.saves, 1);
    check_status(t, s.served.save_status, EASE_E_IO);
    found = identity_of(path);
    check(t, identity_same(&theirs, &found));
    check_int(t, glob(test_path(".ease.*.part"), 0, NULL, &left), GLOB_NOMATCH);
    live_finish(s.l, NULL); /* for good */
    check_int(t, s.served.saves, 1);
    stop(&s);
    ease_model_free(m);
    ease_interactions_free(x);
}

static void a_file_that_was_gone_is_replaced_when_it_is_there_again(test *t)
{
    const char *path = test_path("gone.ease"), *aside = test_path("aside.ease");
    ease_interactions *x = make_data(1);
    struct stat st = {0};
    ease_model *m = NULL;
    uint64_t position = 0;
    server s;

    start_saving(t, &s, x, path, test_path(__func__));
    check_int(t, chmod(path, 0640) | rename(path, aside), 0);
    live_finish(s.l, NULL);
    check_status(t, s.served.save_status, EASE_E_IO);
    check(t, !identity_of(path).exists);
    check_int(t, rename(aside, path), 0);
    live_finish(s.l, NULL);
    check_int(t, s.served.saves, 2);
    check_int(t, s.served.saved_to, 30);
    check_status(t, ease_model_open(path, NULL, &m, NULL), EASE_OK);
    check_text(t, ease_model_position(m, &position), s.info.id);
    check_int(t, stat(path, &st), 0);
    check_int(t, st.st_mode & 0777, 0640);
    ease_model_free(m);
    stop(&s);
    ease_interactions_free(x);
}

static void a_link_to_the_model_stays(test *t)
{
    const char *path = test_path("linked.ease"), *link = test_path("link.ease");
    ease_interactions *x = make_data(1);
    struct stat st = {0};
    ease_model *m = train(x);
    uint64_t position = 0;
    server s;

    check_status(t, ease_model_save(m, path, EASE_STORE_PACKED, NULL, NULL), EASE_OK);
    (void)unlink(link);
    check_int(t, symlink(path, link), 0);
    start_saving(t, &s, x, link, test_path(__func__));
    live_finish(s.l, NULL);
    check_int(t, s.served.saved_to, 30);
    check_int(t, lstat(link, &st), 0);
    check(t, S_ISLNK(st.st_mode));
    ease_model_free(m);
    check_status(t, ease_model_open(path, NULL, &m, NULL), EASE_OK);
    check_text(t, ease_model_position(m, &position), s.info.id);
    ease_model_free(m);
    stop(&s);
    ease_interactions_free(x);
}

/* As after nightly training: the data have events of the journal already. */
static void data_with_events_of_the_journal_may_be_given_again(test *t)
{
    ease_interactions *x = make_data(1), *after = NULL;
    live_options o;
    users *u = NULL;
    journal *j = NULL;
    ease_model *m;
    server s;

    check_status(t, start(t, &s, train(x), 1, test_path(__func__), 3600, NULL),
                 EASE_OK);
    append_events(t, &s, 5, 30);
    check_status(t, users_interactions(s.u, USERS_NOW, &after, NULL), EASE_OK);
    append_events(t, &s, 6, 10);
    live_stop(s.l);
    s.l = NULL;
    journal_close(s.j);
    users_free(s.u);
    s.u = NULL;
    s.j = NULL;

    m = train(after);
    check_status(t, users_new(after, NULL, &u, NULL), EASE_OK);
    s.u = u;
    check_status(t,
                 journal_open(test_path(__func__),
                              &(journal_options){.apply = users_apply, .user = u}, &j,
                              &s.info, NULL),
                 EASE_OK);
    s.j = j;
    o = options_of(&s, 3600);
    check_status(t, live_start(m, u, &o, &s.l, NULL), EASE_OK);
    check_status(t, live_now(s.l, NULL), EASE_OK);
    check_rows(t, &s);
    stop(&s);
    ease_interactions_free(x);
}

static void what_cannot_be_updated_is_refused(test *t)
{
    ease_interactions *x = make_data(1);
    ease_model *m = train(x), *rows = NULL;
    const journal_info info = {
        .id = "00112233445566778899aabbccddeeff", .first = 5, .last = 10};
    uint64_t included = 0;
    ease_error err = {0};
    server s;

    check_status(t, start(t, &s, train(x), 2, test_path(__func__), 1, &err),
                 EASE_E_DATA);
    live_options o = options_of(&s, 1);
    check_status(t, ease_model_convert(m, EASE_STORE_F16, NULL, &rows, NULL), EASE_OK);
    check_status(t, live_start(rows, s.u, &o, &s.l, &err), EASE_E_ARG);
    check_contains(t, err.text, "updatable");
    o.memory_limit = 8 * ITEMS * ITEMS - 1;
    check_status(t, live_start(m, s.u, &o, &s.l, &err), EASE_E_MEMORY_LIMIT);
    check_contains(t, err.text, "8 n^2");
    check_int(t, live_bytes(ITEMS), 8 * ITEMS * ITEMS);

    check_status(t, live_position(m, &info, &included, &err), EASE_OK);
    check_int(t, included, 0);
    check_status(t, ease_model_set_position(m, info.id, 7, NULL), EASE_OK);
    check_status(t, live_position(m, &info, &included, &err), EASE_OK);
    check_int(t, included, 7);
    check_status(t, ease_model_set_position(m, info.id, 11, NULL), EASE_OK);
    check_status(t, live_position(m, &info, &included, &err), EASE_E_DATA);
    check_status(t, ease_model_set_position(m, info.id, 3, NULL), EASE_OK);
    check_status(t, live_position(m, &info, &included, &err), EASE_E_DATA);
    check_contains(t, err.text, "segments are missing");
    check_status(t, ease_model_set_position(m, "other", 7, NULL), EASE_OK);
    check_status(t, live_position(m, &info, &included, &err), EASE_E_DATA);
    check_contains(t, err.text, "another journal");
    stop(&s);
    ease_model_free(rows);
    ease_model_free(m);
    ease_interactions_free(x);
}

static void changes_of_a_failed_update_come_with_the_next(test *t)
{
    ease_interactions *x = make_data(1);
    ease_status status;
    int fails = 0;
    server s;

    check_status(t, start(t, &s, train(x), 1, test_path(__func__), 3600, NULL),
                 EASE_OK);
    append_events(t, &s, 5, 30);
    do {
        alloc_fail_after(fails++);
        status = live_now(s.l, NULL);
        alloc_fail_after(-1);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, fails > 20);
    check_int(t, s.served.failures, fails - 1);
    check_int(t, s.served.for_good, 0);
    check_int(t, s.served.swaps, 2);
    check_rows(t, &s);
    stop(&s);
    ease_interactions_free(x);
}

static void changes_that_could_not_be_served_come_with_the_next(test *t)
{
    ease_interactions *x = make_data(1);
    server s;

    check_status(t, start(t, &s, train(x), 1, test_path(__func__), 3600, NULL),
                 EASE_OK);
    append_events(t, &s, 5, 30);
    s.served.refused = 2;
    for (int i = 0; i < 2; i++)
        check_status(t, live_now(s.l, NULL), EASE_E_NOMEM);
    check_int(t, s.served.failures, 2);
    check_int(t, s.served.for_good, 0);
    check_int(t, s.served.swaps, 1);
    check_status(t, live_now(s.l, NULL), EASE_OK);
    check_int(t, s.served.swaps, 2);
    check_int(t, s.served.update.generation, 1);
    check_rows(t, &s);
    stop(&s);
    ease_interactions_free(x);
}

static void rows_that_cannot_be_served_end_the_start(test *t)
{
    ease_interactions *x = make_data(1), *data = make_data(1);
    const journal_info info = {.id = "00112233445566778899aabbccddeeff", .first = 1};
    users_options o = {0};
    ease_model *m = train(x);
    server s = {.info = info, .served = {.refused = 1}};
    live_options lo = options_of(&s, 3600);

    check_status(t, users_new(data, &o, &s.u, NULL), EASE_OK);
    check_status(t, live_start(m, s.u, &lo, &s.l, NULL), EASE_E_NOMEM);
    ease_model_free(m);
    users_free(s.u);
    ease_interactions_free(x);
}

static const test_case cases[] = {
    TEST(changes_that_could_not_be_served_come_with_the_next),
    TEST(rows_that_cannot_be_served_end_the_start),
    TEST(rows_equal_training_on_the_data_with_the_events),
    TEST(updates_come_by_themselves),
    TEST(no_event_is_applied_twice),
    TEST(saving_at_the_end_can_be_cancelled),
    TEST(a_file_that_is_put_there_during_a_save_stays),
    TEST(a_file_that_was_gone_is_replaced_when_it_is_there_again),
    TEST(a_link_to_the_model_stays),
    TEST(data_with_events_of_the_journal_may_be_given_again),
    TEST(what_cannot_be_updated_is_refused),
    TEST(changes_of_a_failed_update_come_with_the_next),
};

TEST_MAIN(cases)
