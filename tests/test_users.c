/* Histories of known users: a data set with events on top equals a plain table. */
#include "users.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "people.h"
#include "test.h"

/* The plain table: the weight of each user and item, 0 if there is none. The data set
 * has the first users and items only. */
enum { USERS = 70, ITEMS = 40, BASE_USERS = 50, BASE_ITEMS = 30, EVENTS = 3000 };

typedef struct table {
    float at[USERS][ITEMS];
} table;

static void user_name(int u, char to[16])
{
    snprintf(to, 16, "user%d", u);
}

static void item_name(int i, char to[16])
{
    snprintf(to, 16, "%d item", i);
}

static table random_table(uint64_t seed, bool weighted)
{
    table t = {0};
    ease__random r;

    ease__random_seed(&r, seed, 0);
    for (int u = 0; u < BASE_USERS; u++)
        for (int i = 0; i < BASE_ITEMS; i++)
            if (i % BASE_USERS == u || ease__random_below(&r, 5) == 0)
                t.at[u][i] = weighted ? 0.5f * (float)(1 + ease__random_below(&r, 9))
                                      : 1;
    return t;
}

/* The table as interactions. */
static ease_interactions *interactions_of(const table *t, bool weighted)
{
    static char bytes[2][USERS * ITEMS * 16];
    static int64_t offsets[2][USERS * ITEMS + 1];
    static double values[USERS * ITEMS];
    ease_id_column column[2];
    ease_read_options o;
    ease_interactions *x = NULL;
    int64_t count = 0;

    for (int u = 0; u < USERS; u++)
        for (int i = 0; i < ITEMS; i++) {
            char name[2][16];

            if (t->at[u][i] == 0)
                continue;
            user_name(u, name[0]);
            item_name(i, name[1]);
            values[count++] = (double)t->at[u][i];
            for (int k = 0; k < 2; k++) {
                int64_t from = offsets[k][count - 1];

                memcpy(bytes[k] + from, name[k], strlen(name[k]));
                offsets[k][count] = from + (int64_t)strlen(name[k]);
            }
        }
    for (int k = 0; k < 2; k++)
        column[k] = (ease_id_column){.bytes = bytes[k], .offsets = offsets[k]};
    ease_read_options_init(&o);
    o.weights = weighted;
    if (ease_interactions_from_table(count, &column[0], &column[1], values, &o, &x,
                                     NULL))
        abort();
    return x;
}

/* Checks interactions (NULL: none) against the table. Only users of `which` (NULL: all)
 * may be there. */
static bool equal_table(test *t, const ease_interactions *x, const table *want,
                        const bool *which)
{
    static table got;
    static bool expected[USERS];

    memset(&got, 0, sizeof(got));
    for (int64_t u = 0; u < ease_interactions_users(x); u++) {
        ease_row r = ease_interactions_row(x, u);
        int user = atoi(ease_interactions_user_id(x, u) + 4);

        if (!check(t, r.count > 0))
            return false;
        for (int32_t k = 0; k < r.count; k++)
            got.at[user][atoi(ease_interactions_item_id(x, r.items[k]))] =
                r.weights ? r.weights[k] : 1;
    }
    for (int u = 0; u < USERS; u++) {
        expected[u] = !which || which[u];
        for (int i = 0; i < ITEMS; i++) {
            float wanted = expected[u] ? want->at[u][i] : 0;

            if (!check_near(t, (double)got.at[u][i], (double)wanted, 0))
                return false;
        }
    }
    return true;
}

static users *make_users(test *t, const table *base, bool weighted, uint64_t included)
{
    const users_options o = {.weights = weighted, .included = included};
    users *u = NULL;
    ease_error err = {0};

    if (!check_status(t, users_new(interactions_of(base, weighted), &o, &u, &err),
                      EASE_OK))
        check_text(t, err.text, "");
    return u;
}

/* Applies a random event to both. */
static int random_event(test *t, ease__random *r, users *u, table *to, bool weighted,
                        uint64_t sequence)
{
    char name[2][16];
    int user = (int)ease__random_below(r, USERS);
    int item = (int)ease__random_below(r, ITEMS);
    journal_event e = {.kind = ease__random_below(r, 3) ? JOURNAL_SET : JOURNAL_REMOVE,
                       .weight = 0.5f * (float)(1 + ease__random_below(r, 4)),
                       .user = name[0],
                       .item = name[1],
                       .sequence = sequence};

    user_name(user, name[0]);
    item_name(item, name[1]);
    check_status(t, users_apply(u, &e, NULL), EASE_OK);
    to->at[user][item] = e.kind == JOURNAL_REMOVE ? 0 : weighted ? e.weight : 1;
    return user;
}

static int64_t count_users(const table *t)
{
    int64_t count = 0;

    for (int u = 0; u < USERS; u++)
        for (int i = 0; i < ITEMS; i++)
            if (t->at[u][i] != 0) {
                count++;
                break;
            }
    return count;
}

/* ---- histories ------------------------------------------------------------------- */

static void histories_equal_a_plain_table(test *t)
{
    for (int weighted = 0; weighted < 2; weighted++) {
        table base = random_table(1, weighted), now = base;
        users *u = make_users(t, &base, weighted, 0);
        ease_interactions *x = NULL;
        users_info info;
        ease__random r;

        ease__random_seed(&r, 7, 0);
        for (uint64_t n = 1; n <= EVENTS; n++)
            random_event(t, &r, u, &now, weighted, n);
        users_describe(u, &info);
        check_int(t, info.sequence, EVENTS);
        check_int(t, info.new_items, ITEMS - BASE_ITEMS);
        check_int(t, info.users, count_users(&now));
        check_status(t, users_interactions(u, USERS_NOW, &x, NULL), EASE_OK);
        equal_table(t, x, &now, NULL);
        ease_interactions_free(x);
        check_status(t, users_interactions(u, USERS_MODEL, &x, NULL), EASE_OK);
        equal_table(t, x, &base, NULL);
        ease_interactions_free(x);
        users_free(u);
    }
}

static void add_weight(void *data, const char *item, float weight)
{
    ((float *)data)[atoi(item)] = weight;
}

static void a_history_is_read_in_the_order_of_a_model(test *t)
{
    table base = random_table(2, true), now = base, other = random_table(3, true);
    users *u = make_users(t, &base, true, 0);
    ease_interactions *x;
    ease_model *m = NULL;
    ease_train_options o;
    users_view *v = NULL;
    users_history h = {0};
    ease__random r;

    /* The model has other items in another order, and some of those of events. */
    for (int i = 0; i < ITEMS; i++)
        other.at[BASE_USERS][ITEMS - 1 - i] = (float)(i % 4 != 0);
    for (int i = 0; i < BASE_ITEMS; i++)
        for (int k = 0; k < BASE_USERS && i % 4 == 3; k++)
            other.at[k][ITEMS - 1 - i] = 0;
    x = interactions_of(&other, true);
    ease_train_options_init(&o);
    o.method = "popularity";
    check_status(t, ease_train(x, &o, &m, NULL), EASE_OK);
    ease__random_seed(&r, 11, 0);
    for (uint64_t n = 1; n <= EVENTS; n++) {
        if (n == EVENTS / 2) /* some items come later */
            check_status(t, users_view_new(u, m, &v, NULL), EASE_OK);
        random_event(t, &r, u, &now, true, n);
    }
    for (int user = 0; user < USERS + 1; user++) {
        float listed[ITEMS] = {0};
        char name[16];
        int32_t unknown = 0, count = 0;
        bool found = false, listed_any;

        user_name(user, name);
        check_status(t, users_read(u, v, name, &h, &found, NULL), EASE_OK);
        listed_any = users_list(u, name, add_weight, listed);
        check_int(t, listed_any, found);
        for (int i = 0; user < USERS && i < ITEMS; i++) {
            char item[16];

            item_name(i, item);
            check_near(t, (double)listed[i], (double)now.at[user][i], 0);
            if (now.at[user][i] == 0)
                continue;
            if (ease_model_find(m, item) == EASE_NO_ITEM)
                unknown++;
            else
                count++;
        }
        check_int(t, found, count + unknown > 0);
        check_int(t, h.count, count);
        check_int(t, h.unknown, unknown);
        for (int32_t k = 0; k < h.count; k++) {
            int item = atoi(ease_model_item_id(m, h.items[k]));

            check(t, k == 0 || h.items[k - 1] < h.items[k]);
            check_near(t, (double)users_row(&h).weights[k], (double)now.at[user][item],
                       0);
        }
    }
    users_history_free(&h);
    users_view_free(v);
    users_free(u);
    ease_model_free(m);
    ease_interactions_free(x);
}

static void there_may_be_no_data_set(test *t)
{
    journal_event e = {.kind = JOURNAL_SET, .weight = 3, .user = "a", .item = "b"};
    users *u = NULL;
    ease_interactions *x = NULL;
    users_info info;

    check_status(t, users_new(NULL, NULL, &u, NULL), EASE_OK);
    check_status(t, users_interactions(u, USERS_NOW, &x, NULL), EASE_OK);
    check(t, x == NULL);
    check_status(t, users_apply(u, &e, NULL), EASE_OK);
    check_status(t, users_interactions(u, USERS_NOW, &x, NULL), EASE_OK);
    check_text(t, ease_interactions_user_id(x, 0), "a");
    check(t, ease_interactions_row(x, 0).weights == NULL);
    ease_interactions_free(x);
    e.kind = JOURNAL_REMOVE;
    check_status(t, users_apply(u, &e, NULL), EASE_OK);
    users_describe(u, &info);
    check_int(t, info.users, 0);
    users_free(u);
}

static void data_with_weights_need_weights(test *t)
{
    table base = random_table(2, true);
    ease_interactions *x = interactions_of(&base, true);
    users *u = NULL;

    check_status(t, users_new(x, NULL, &u, NULL), EASE_E_ARG);
    ease_interactions_free(x);
}

/* ---- changes --------------------------------------------------------------------- */

/* Takes changes several times, of which every other attempt fails: `was` and `now` are
 * always those of the users that differ from the model's data. */
static void changes_are_taken_once(test *t)
{
    table base = random_table(4, true), now = base, model;
    users *u = make_users(t, &base, true, 200);
    bool changed[USERS] = {0};
    ease__random r;
    uint64_t n = 1;

    ease__random_seed(&r, 13, 0);
    for (; n <= 200; n++) /* the model has these */
        random_event(t, &r, u, &now, true, n);
    model = now;
    for (int round = 0; round < 20; round++) {
        users_changes c;
        ease_interactions *x = NULL;
        table then;

        for (int k = 0; k < 7; k++, n++)
            changed[random_event(t, &r, u, &now, true, n)] = true;
        for (int user = 0; user < USERS; user++)
            if (memcmp(now.at[user], model.at[user], sizeof(now.at[user])) == 0)
                changed[user] = false; /* events that made no difference */
        check_status(t, users_take(u, &c, NULL), EASE_OK);
        check_int(t, c.sequence, n - 1);
        then = now;
        /* Users with a change that was taken back may be there, unchanged. */
        for (int user = 0; user < USERS; user++) {
            char name[16];

            user_name(user, name);
            if (ease_interactions_find_user(c.was, name) != EASE_NO_USER ||
                ease_interactions_find_user(c.now, name) != EASE_NO_USER)
                changed[user] = true;
        }
        equal_table(t, c.was, &model, changed);
        equal_table(t, c.now, &now, changed);
        for (int k = 0; k < 5; k++, n++) /* while the model is updated */
            changed[random_event(t, &r, u, &now, true, n)] = true;
        if (round % 2) {
            users_keep(u, &c);
            model = then;
            memset(changed, 0, sizeof(changed));
            for (int user = 0; user < USERS; user++)
                changed[user] = memcmp(now.at[user], model.at[user],
                                       sizeof(now.at[user])) != 0;
        } else {
            users_give_back(u, &c);
        }
        check_status(t, users_interactions(u, USERS_MODEL, &x, NULL), EASE_OK);
        equal_table(t, x, &model, NULL);
        ease_interactions_free(x);
    }
    users_free(u);
}

static void events_that_change_nothing_are_no_changes(test *t)
{
    table base = random_table(8, true);
    users *u = make_users(t, &base, true, 0);
    char name[2][16];
    journal_event e = {.user = name[0], .item = name[1]};
    users_info info;

    for (int user = 0; user < USERS; user++)
        for (int item = 0; item < BASE_ITEMS; item++) {
            user_name(user, name[0]);
            item_name(item, name[1]);
            e.weight = base.at[user][item];
            e.kind = e.weight == 0 ? JOURNAL_REMOVE : JOURNAL_SET;
            e.sequence++;
            check_status(t, users_apply(u, &e, NULL), EASE_OK);
        }
    users_describe(u, &info);
    check_int(t, info.sequence, USERS * BASE_ITEMS);
    check_int(t, info.changed, 0);
    users_free(u);
}

/* ---- memory ---------------------------------------------------------------------- */

static void every_failed_allocation_leaves_a_history_as_it_was(test *t)
{
    table base = random_table(5, true), now = base;
    users *u = make_users(t, &base, true, 0);
    ease__random r;

    ease__random_seed(&r, 17, 0);
    for (uint64_t n = 1; n <= 100; n++) {
        char name[2][16];
        int user = (int)ease__random_below(&r, USERS);
        int item = (int)ease__random_below(&r, ITEMS);
        journal_event e = {.kind = JOURNAL_SET,
                           .weight = (float)n,
                           .user = name[0],
                           .item = name[1],
                           .sequence = n};
        ease_interactions *x = NULL;
        ease_status status;
        int fails = 0;

        user_name(user, name[0]);
        item_name(item, name[1]);
        do {
            alloc_fail_after(fails++);
            status = users_apply(u, &e, NULL);
            alloc_fail_after(-1);
            if (status && n % 10 == 0) {
                check_status(t, users_interactions(u, USERS_NOW, &x, NULL), EASE_OK);
                equal_table(t, x, &now, NULL);
                ease_interactions_free(x);
            }
        } while (status == EASE_E_NOMEM);
        check_status(t, status, EASE_OK);
        now.at[user][item] = e.weight;
    }
    for (int fails = 0;; fails++) {
        users_changes c;
        ease_status status;

        alloc_fail_after(fails);
        status = users_take(u, &c, NULL);
        alloc_fail_after(-1);
        if (!status) {
            ease_interactions *x = NULL;

            check(t, fails > 5 && c.users > 0);
            users_give_back(u, &c);
            check_status(t, users_interactions(u, USERS_MODEL, &x, NULL), EASE_OK);
            equal_table(t, x, &base, NULL);
            ease_interactions_free(x);
            break;
        }
        check_status(t, status, EASE_E_NOMEM);
    }
    users_free(u);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__has_feature)
/* Of all users with events, beyond 12 bytes for each interaction: the worst case. */
static void a_user_takes_a_hundred_bytes(test *t)
{
    enum { MANY = 30000, OF_EACH = 20, PLENTY = 1000 };
    ease_synth_options s;
    ease_interactions *x = NULL;
    const users_options o = {.weights = 0};
    int64_t interactions = 0;
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd, after;
    users *u = NULL;
    users_info info;
    double each;

    ease_synth_options_init(&s);
    s.users = MANY;
    s.items = PLENTY;
    s.interactions = MANY * OF_EACH;
    s.seed = 3;
    check_status(t, ease_interactions_synth(&s, &x, NULL), EASE_OK);
    check_status(t, users_new(x, &o, &u, NULL), EASE_OK);
    for (int64_t i = 0; i < MANY; i++) {
        char name[16];
        journal_event e = {.kind = JOURNAL_SET,
                           .weight = 1,
                           .user = ease_interactions_user_id(x, i),
                           .item = name,
                           .sequence = (uint64_t)i + 1};

        snprintf(name, sizeof(name), "new%d", (int)(i % 50));
        check_status(t, users_apply(u, &e, NULL), EASE_OK);
        interactions += ease_interactions_row(x, i).count + 1;
    }
    after = mallinfo2().uordblks + mallinfo2().hblkhd;
    users_describe(u, &info);
    check_int(t, info.changed, MANY);
    each = ((double)(after - before) - 12 * (double)interactions) / MANY;
    if (!check(t, each <= 100))
        printf("%.1f bytes\n", each);
    users_free(u);
}
#define MEMORY_TEST TEST(a_user_takes_a_hundred_bytes),
#else
#define MEMORY_TEST
#endif

/* ---- threads --------------------------------------------------------------------- */

typedef struct reader {
    const users *u;
    const users_view *v;
    const atomic_bool *done;
    int64_t read, wrong;
} reader;

/* Reads the histories of all users of the data set again and again. */
static void *read_all(void *data)
{
    reader *r = data;
    users_history h = {0};

    do {
        for (int i = 0; i < BASE_USERS; i++) {
            char name[16];
            bool found = false;

            user_name(i, name);
            r->wrong += users_read(r->u, r->v, name, &h, &found, NULL) != EASE_OK;
            for (int32_t k = 1; k < h.count; k++)
                r->wrong += h.items[k - 1] >= h.items[k];
            for (int32_t k = 0; k < h.count; k++)
                r->wrong += h.weights[k] == 0;
            r->read++;
        }
    } while (!atomic_load(r->done));
    users_history_free(&h);
    return NULL;
}

static void many_threads_read_while_one_applies(test *t)
{
    enum { READERS = 3 };
    table base = random_table(6, true), now = base;
    users *u = make_users(t, &base, true, 0);
    ease_interactions *x = interactions_of(&base, true);
    ease_train_options o;
    ease_model *m = NULL;
    users_view *v = NULL;
    atomic_bool done = false;
    pthread_t thread[READERS];
    reader r[READERS];
    ease__random random;

    ease_train_options_init(&o);
    o.method = "popularity";
    check_status(t, ease_train(x, &o, &m, NULL), EASE_OK);
    check_status(t, users_view_new(u, m, &v, NULL), EASE_OK);
    for (int i = 0; i < READERS; i++) {
        r[i] = (reader){u, v, &done, 0, 0};
        pthread_create(&thread[i], NULL, read_all, &r[i]);
    }
    ease__random_seed(&random, 19, 0);
    for (uint64_t n = 1; n <= 2000; n++) {
        random_event(t, &random, u, &now, true, n);
        if (n % 200 == 0) {
            users_changes c;

            check_status(t, users_take(u, &c, NULL), EASE_OK);
            if (n % 400)
                users_keep(u, &c);
            else
                users_give_back(u, &c);
        }
    }
    atomic_store(&done, true);
    for (int i = 0; i < READERS; i++) {
        pthread_join(thread[i], NULL);
        check_int(t, r[i].wrong, 0);
        check(t, r[i].read > 0);
    }
    users_view_free(v);
    users_free(u);
    ease_model_free(m);
    ease_interactions_free(x);
}

/* ---- who waits for whom ---------------------------------------------------------- */

/* The linker sends calls of these functions here. They take long for many items, and an
 * event that waits for the lock makes all readers wait: nobody may hold it meanwhile. */
int32_t __real_ease_model_find(const ease_model *m, const char *id);
int32_t __wrap_ease_model_find(const ease_model *m, const char *id);
ease_status __real_ease_interactions_from_csr_ids(
    const ease_interactions *users_of, const ease_interactions *items_of,
    const int64_t *starts, const int32_t *cols, const float *vals,
    ease_interactions **out, ease_error *err);
ease_status __wrap_ease_interactions_from_csr_ids(
    const ease_interactions *users_of, const ease_interactions *items_of,
    const int64_t *starts, const int32_t *cols, const float *vals,
    ease_interactions **out, ease_error *err);

static struct {
    const users *u; /* NULL: nobody looks */
    int free, held;
} looks;

static void look_at_lock(void)
{
    if (!looks.u)
        return;
    if (pthread_rwlock_trywrlock(people_lock(looks.u)) == 0) {
        looks.free++;
        pthread_rwlock_unlock(people_lock(looks.u));
    } else {
        looks.held++;
    }
}

int32_t __wrap_ease_model_find(const ease_model *m, const char *id)
{
    look_at_lock();
    return __real_ease_model_find(m, id);
}

ease_status __wrap_ease_interactions_from_csr_ids(
    const ease_interactions *users_of, const ease_interactions *items_of,
    const int64_t *starts, const int32_t *cols, const float *vals,
    ease_interactions **out, ease_error *err)
{
    look_at_lock();
    return __real_ease_interactions_from_csr_ids(users_of, items_of, starts, cols, vals,
                                                 out, err);
}

static ease_model *popularity_of(test *t, const table *data)
{
    ease_interactions *x = interactions_of(data, true);
    ease_train_options o;
    ease_model *m = NULL;

    ease_train_options_init(&o);
    o.method = "popularity";
    check_status(t, ease_train(x, &o, &m, NULL), EASE_OK);
    ease_interactions_free(x);
    return m;
}

static void nobody_waits_while_a_view_or_changes_are_made(test *t)
{
    table base = random_table(6, true), now = base;
    users *u = make_users(t, &base, true, 0);
    ease_model *m = popularity_of(t, &base);
    users_view *v = NULL;
    users_changes c;
    ease__random random;

    ease__random_seed(&random, 19, 0);
    for (uint64_t n = 1; n <= 500; n++)
        random_event(t, &random, u, &now, true, n);
    looks.u = u;
    looks.free = looks.held = 0;
    check_status(t, users_view_new(u, m, &v, NULL), EASE_OK);
    check(t, looks.free >= BASE_ITEMS);
    check_int(t, looks.held, 0);
    looks.free = 0;
    check_status(t, users_take(u, &c, NULL), EASE_OK);
    check_int(t, looks.free, 2);
    check_int(t, looks.held, 0);
    looks.u = NULL;
    users_keep(u, &c);
    users_view_free(v);
    ease_model_free(m);
    users_free(u);
}

typedef struct traffic {
    users *u;
    test *t;
    table now;
} traffic;

static void *apply_some(void *data)
{
    traffic *w = data;
    ease__random random;

    ease__random_seed(&random, 23, 0);
    for (uint64_t n = 1; n <= EVENTS; n++)
        random_event(w->t, &random, w->u, &w->now, true, n);
    return NULL;
}

/* The taken rows stay while events replace them. */
static void views_and_changes_are_made_while_events_arrive(test *t)
{
    table base = random_table(6, true);
    traffic w = {.u = make_users(t, &base, true, 0), .t = t, .now = base};
    ease_model *m = popularity_of(t, &base);
    ease_interactions *got = NULL;
    users_info info;
    users_changes c;
    pthread_t thread;

    pthread_create(&thread, NULL, apply_some, &w);
    do {
        users_view *v = NULL;

        users_describe(w.u, &info);
        check_status(t, users_view_new(w.u, m, &v, NULL), EASE_OK);
        check_status(t, users_take(w.u, &c, NULL), EASE_OK);
        if (c.sequence % 2)
            users_keep(w.u, &c);
        else
            users_give_back(w.u, &c);
        users_view_free(v);
    } while (info.sequence < EVENTS);
    pthread_join(thread, NULL);
    check_status(t, users_take(w.u, &c, NULL), EASE_OK);
    users_keep(w.u, &c);
    check_status(t, users_interactions(w.u, USERS_MODEL, &got, NULL), EASE_OK);
    equal_table(t, got, &w.now, NULL);
    ease_interactions_free(got);
    ease_model_free(m);
    users_free(w.u);
}

static const test_case cases[] = {
    TEST(histories_equal_a_plain_table),
    TEST(nobody_waits_while_a_view_or_changes_are_made),
    TEST(views_and_changes_are_made_while_events_arrive),
    TEST(a_history_is_read_in_the_order_of_a_model),
    TEST(there_may_be_no_data_set),
    TEST(data_with_weights_need_weights),
    TEST(changes_are_taken_once),
    TEST(events_that_change_nothing_are_no_changes),
    TEST(every_failed_allocation_leaves_a_history_as_it_was),
    MEMORY_TEST TEST(many_threads_read_while_one_applies),
};

TEST_MAIN(cases)
