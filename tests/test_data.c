/* Interactions: the result of reading rows, at any number of threads and blocks. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/random.h"
#include "read/readers.h"
#include "read/titles.h"
#include "test.h"

/* libomp keeps some memory when teams change their size; it is not ours to free. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libomp.so";
}

/* ---- helpers --------------------------------------------------------------- */

static ease_read_options defaults(void)
{
    ease_read_options o;

    ease_read_options_init(&o);
    return o;
}

static bool same_ids(const ease__ids *a, const ease__ids *b)
{
    if (a->count != b->count)
        return false;
    for (int64_t i = 0; i < a->count; i++)
        if (strcmp(ease__ids_at(a, i), ease__ids_at(b, i)) != 0 ||
            ease__ids_find(b, ease__ids_at(a, i), ease__ids_length(a, i)) != i)
            return false;
    return true;
}

static bool same_interactions(const ease_interactions *a, const ease_interactions *b)
{
    size_t nnz = (size_t)a->nnz;

    return a->users == b->users && a->items == b->items && a->nnz == b->nnz &&
           same_ids(&a->user_ids, &b->user_ids) &&
           same_ids(&a->item_ids, &b->item_ids) &&
           memcmp(a->row_ptr, b->row_ptr, ((size_t)a->users + 1) * 8) == 0 &&
           memcmp(a->cols, b->cols, nnz * 4) == 0 && !a->vals == !b->vals &&
           (!a->vals || memcmp(a->vals, b->vals, nnz * 4) == 0);
}

/* Every row is strictly increasing, sizes agree, and rows are accounted for. */
static void check_sound(test *t, const ease_interactions *x)
{
    const ease_interactions_info *c = &x->counts;

    check_int(t, x->row_ptr[0], 0);
    check_int(t, x->row_ptr[x->users], x->nnz);
    check_int(t, x->user_ids.count, x->users);
    check_int(t, x->item_ids.count, x->items);
    check_int(t, c->rows,
              x->nnz + c->below_rating + c->zero_weight + c->repeated + c->filtered);
    for (int64_t u = 0; u < x->users; u++)
        for (int64_t i = x->row_ptr[u]; i < x->row_ptr[u + 1]; i++)
            if (x->cols[i] < 0 || x->cols[i] >= x->items ||
                (i > x->row_ptr[u] && x->cols[i] <= x->cols[i - 1])) {
                check_int(t, x->cols[i], -1); /* out of place */
                return;
            }
}

/* ---- a naive reader of rows in memory -------------------------------------- */

typedef struct row {
    int user, item;
    float value;
} row;

enum { MOST = 64 }; /* users and items of the oracle */

typedef struct oracle {
    bool there[MOST][MOST];
    double value[MOST][MOST];
    int user_order[MOST], item_order[MOST], users, items;
} oracle;

static void note(int *order, int *count, int id)
{
    for (int i = 0; i < *count; i++)
        if (order[i] == id)
            return;
    order[(*count)++] = id;
}

static void oracle_fold(oracle *m, const row *rows, int count,
                        const ease_read_options *o)
{
    memset(m, 0, sizeof(*m));
    for (int i = 0; i < count; i++) {
        const row *r = &rows[i];
        double value = o->weights ? (double)r->value : 1.0;
        double *kept = &m->value[r->user][r->item];

        if ((double)r->value < o->min_rating)
            continue;
        note(m->user_order, &m->users, r->user);
        note(m->item_order, &m->items, r->item);
        if (!m->there[r->user][r->item] || o->repeat == EASE_REPEAT_LAST)
            *kept = value;
        else if (o->repeat == EASE_REPEAT_MAX)
            *kept = fmax(*kept, value);
        else if (o->repeat == EASE_REPEAT_SUM)
            *kept += value;
        m->there[r->user][r->item] = true;
    }
    for (int u = 0; u < MOST; u++)
        for (int i = 0; i < MOST; i++)
            if (m->there[u][i] && (float)m->value[u][i] == 0.0f)
                m->there[u][i] = false;
}

static int oracle_count(const oracle *m, int index, bool user)
{
    int count = 0;

    for (int i = 0; i < MOST; i++)
        count += user ? m->there[index][i] : m->there[i][index];
    return count;
}

static void oracle_filter(oracle *m, const ease_read_options *o)
{
    bool changed = true;

    while (changed) {
        int items[MOST];

        changed = false;
        for (int i = 0; i < MOST; i++)
            items[i] = oracle_count(m, i, false);
        for (int u = 0; u < MOST; u++)
            for (int i = 0; i < MOST; i++)
                if (m->there[u][i] && items[i] < o->min_item)
                    changed = true, m->there[u][i] = false;
        for (int u = 0; u < MOST; u++) {
            if (oracle_count(m, u, true) >= o->min_user)
                continue;
            for (int i = 0; i < MOST; i++)
                if (m->there[u][i])
                    changed = true, m->there[u][i] = false;
        }
        if (o->one_pass)
            break;
    }
}

static void check_against(test *t, const ease_interactions *x, const oracle *m)
{
    int64_t users = 0, nnz = 0;
    int32_t items = 0, number[MOST];

    for (int k = 0; k < m->items; k++)
        if (oracle_count(m, m->item_order[k], false) > 0) {
            char name[16];

            snprintf(name, sizeof(name), "i%d", m->item_order[k]);
            check_text(t, ease_interactions_item_id(x, items), name);
            number[m->item_order[k]] = items++;
        }
    check_int(t, x->items, items);
    for (int k = 0; k < m->users; k++) {
        int u = m->user_order[k];
        ease_row r;

        if (oracle_count(m, u, true) == 0)
            continue;
        r = ease_interactions_row(x, users++);
        check_int(t, r.count, oracle_count(m, u, true));
        nnz += r.count;
        for (int i = 0; i < MOST; i++) {
            if (!m->there[u][i])
                continue;
            for (int32_t j = 0; j < r.count; j++)
                if (r.items[j] == number[i] && r.weights)
                    check(t, r.weights[j] == (float)m->value[u][i]);
        }
    }
    check_int(t, x->users, users);
    check_int(t, x->nnz, nnz);
}

static void write_rows(const char *path, const row *rows, int count)
{
    FILE *f = fopen(path, "w");

    if (!f)
        abort();
    fprintf(f, "user,item,rating\n");
    for (int i = 0; i < count; i++)
        fprintf(f, "u%d,i%d,%g\n", rows[i].user, rows[i].item, (double)rows[i].value);
    fclose(f);
}

static void random_tables_equal_the_naive_way(test *t)
{
    const char *path = test_path("random.csv");
    ease__random r;
    uint64_t seed = 20;
    static oracle m;

    printf("  seed %llu\n", (unsigned long long)seed);
    ease__random_seed(&r, seed, 0);
    for (int run = 0; run < 150; run++) {
        row rows[400];
        int count = 1 + (int)ease__random_below(&r, 400), left = 0;
        uint64_t wide = 2 + ease__random_below(&r, MOST - 2);
        ease_read_options o = defaults();
        ease_interactions *x = NULL;
        ease_error err = {0};
        ease_status status;

        for (int i = 0; i < count; i++)
            rows[i] = (row){(int)ease__random_below(&r, wide),
                            (int)ease__random_below(&r, wide),
                            (float)ease__random_below(&r, 9) / 2.0f - 0.5f};
        write_rows(path, rows, count);
        o.weights = (int)ease__random_below(&r, 2);
        o.repeat = (ease_repeat)ease__random_below(&r, 4);
        o.min_user = (int64_t)ease__random_below(&r, 4);
        o.min_item = (int64_t)ease__random_below(&r, 4);
        o.one_pass = (int)ease__random_below(&r, 2);
        if (ease__random_below(&r, 2))
            o.min_rating = 1.0;
        oracle_fold(&m, rows, count, &o);
        oracle_filter(&m, &o);
        for (int u = 0; u < MOST; u++)
            left += oracle_count(&m, u, true);
        status = ease__interactions_read(path, &o, 20 + ease__random_below(&r, 1000),
                                         &x, &err);
        check_status(t, status, left ? EASE_OK : EASE_E_DATA);
        if (x) {
            check_sound(t, x);
            check_against(t, x, &m);
        } else {
            check_contains(t, err.text, "no interactions left of");
        }
        ease_interactions_free(x);
    }
}

/* ---- the same bits --------------------------------------------------------- */

/* Ids of 1 to 20 bytes, some quoted; blank lines; either line end. */
static void write_wild_table(const char *path, uint64_t seed, int rows)
{
    FILE *f = fopen(path, "w");
    ease__random r;

    if (!f)
        abort();
    ease__random_seed(&r, seed, 1);
    fprintf(f, "item,user,rating\r\n");
    for (int i = 0; i < rows; i++) {
        unsigned user = (unsigned)(ease__random_unit(&r) * ease__random_unit(&r) * 500);
        unsigned item = (unsigned)ease__random_below(&r, 300);
        const char *end = ease__random_below(&r, 5) ? "\n" : "\r\n";

        if (item % 3 == 0)
            fprintf(f, "\"item, number \"\"%u\"\"\",", item);
        else
            fprintf(f, "%u,", item);
        if (user % 2)
            fprintf(f, "a-long-user-name-%u", user);
        else
            fprintf(f, "%u", user);
        fprintf(f, ",%g%s", (double)(ease__random_below(&r, 100000)) / 1000.0, end);
        if (ease__random_below(&r, 50) == 0)
            fputs(end, f);
    }
    fclose(f);
}

static void threads_and_blocks_do_not_change_a_bit(test *t)
{
    static const int threads[] = {1, 2, 7};
    static const size_t blocks[] = {0, 1, 37, 1000, 50000};
    const char *path = test_path("wild.csv");
    ease_read_options o = defaults();
    ease_interactions *first = NULL;

    write_wild_table(path, 4, 5000);
    o.weights = 1;
    o.repeat = EASE_REPEAT_SUM;
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 5; j++) {
            ease_interactions *x = NULL;
            ease_error err = {0};

            o.threads = threads[i];
            if (!check_status(t, ease__interactions_read(path, &o, blocks[j], &x, &err),
                              EASE_OK))
                printf("    %s\n", err.text);
            if (x && first)
                check(t, same_interactions(first, x));
            if (x)
                check_sound(t, x);
            if (first)
                ease_interactions_free(x);
            else
                first = x;
        }
    }
    ease_interactions_free(first);
}

/* Several bad lines in several blocks: always the first is told. */
static void the_first_bad_line_is_told(test *t)
{
    const char *path = test_path("bad.csv");
    ease_read_options o = defaults();
    FILE *f = fopen(path, "w");

    for (int i = 1; i <= 30000; i++)
        fprintf(f,
                i == 12345                  ? "%d,%d,bad\n"
                : i % 777 == 0 && i > 12345 ? "%d,%d\n"
                                            : "%d,%d,1\n",
                i % 100, i % 77);
    fclose(f);
    for (int threads = 1; threads <= 7; threads += 3) {
        for (size_t block = 10; block < 1000000; block *= 10) {
            ease_interactions *x = NULL;
            ease_error err = {0};

            o.threads = threads;
            check_status(t, ease__interactions_read(path, &o, block, &x, &err),
                         EASE_E_PARSE);
            check_contains(t, err.text, "bad.csv:12345: 'bad' is not a number");
            check_int(t, err.where, 12345);
        }
    }
}

static void a_nul_byte_is_told_with_its_line(test *t)
{
    const char *path = test_path("nul.csv");
    ease_read_options o = defaults();
    FILE *f = fopen(path, "w");

    for (int i = 1; i <= 100000; i++)
        if (i == 90000)
            fwrite("a\0b,c\n", 1, 6, f);
        else
            fprintf(f, "%d,%d\n", i, i);
    fclose(f);
    for (size_t block = 10000; block <= 1000000; block *= 10) {
        ease_interactions *x = NULL;
        ease_error err = {0};

        check_status(t, ease__interactions_read(path, &o, block, &x, &err),
                     EASE_E_PARSE);
        check_contains(t, err.text, "nul.csv:90000: a NUL byte");
    }
}

static void numbers_are_of_first_appearance_among_kept_rows(test *t)
{
    ease_read_options o = defaults();
    ease_interactions *x = NULL;
    const char *path = test_path("order.csv");

    test_write_text(path, "user,item,rating\nz,q,1\nb,y,5\na,x,5\nz,x,5\nz,q,5\n");
    o.min_rating = 4.0;
    check_status(t, ease_interactions_read(path, &o, &x, NULL), EASE_OK);
    check_text(t, ease_interactions_user_id(x, 0), "b");
    check_text(t, ease_interactions_user_id(x, 2), "z");
    check_text(t, ease_interactions_item_id(x, 0), "y");
    check_text(t, ease_interactions_item_id(x, 2), "q");
    check_int(t, interactions_info(x).below_rating, 1);
    ease_interactions_free(x);
}

static void repeats_fold_as_asked(test *t)
{
    static const float want[] = {2.0f, 1.0f, 5.0f, 8.0f};
    const char *path = test_path("repeat.csv");
    ease_read_options o = defaults();
    ease_interactions *x = NULL;

    test_write_text(path, "user,item,rating\nu,a,2\nu,b,1\nu,a,5\nu,a,1\n");
    for (int i = 0; i < 4; i++) {
        o.weights = 1;
        o.repeat = (ease_repeat)i;
        check_status(t, ease_interactions_read(path, &o, &x, NULL), EASE_OK);
        check(t, ease_interactions_row(x, 0).weights[0] == want[i]);
        check_int(t, interactions_info(x).repeated, 2);
        ease_interactions_free(x);
        o.weights = 0;
        check_status(t, ease_interactions_read(path, &o, &x, NULL), EASE_OK);
        check_int(t, interactions_info(x).weighted, i == EASE_REPEAT_SUM);
        if (i == EASE_REPEAT_SUM)
            check(t, ease_interactions_row(x, 0).weights[0] == 3.0f);
        ease_interactions_free(x);
    }
}

static void a_memory_limit_is_kept(test *t)
{
    const char *path = test_path("wild.csv");
    ease_read_options o = defaults();
    ease_interactions *x = NULL;
    ease_error err = {0};

    write_wild_table(path, 5, 20000);
    o.memory_limit = 100000;
    check_status(t, ease_interactions_read(path, &o, &x, &err), EASE_E_MEMORY_LIMIT);
    check_contains(t, err.text, "the limit is 100 kB");
    for (int i = 0; i < 3; i++) {
        o.memory_limit = i == 0 ? 0 : i == 1 ? (size_t)1 << 30 : SIZE_MAX;
        check_status(t, ease_interactions_read(path, &o, &x, &err), EASE_OK);
        ease_interactions_free(x);
    }
}

/* 8 bytes a row while they are read, and 4 more when rows are made of them. */
static void rows_that_would_not_fit_later_are_refused_at_once(test *t)
{
    enum { ROWS = 500000, LIMIT = 5000000 };
    const char *path = test_path("rows.csv");
    FILE *f = fopen(path, "w");
    ease_read_options o = defaults();
    ease_interactions *x = NULL;
    ease_error err = {0};

    for (int i = 0; i < ROWS; i++)
        fputs("u,i\n", f);
    fclose(f);
    o.threads = 2;
    o.memory_limit = LIMIT;
    check_status(t, ease_interactions_read(path, &o, &x, &err), EASE_E_MEMORY_LIMIT);
    check_contains(t, err.text, "reading needs more than 5");
    check_contains(t, err.text, " rows; the limit is 5 MB");
    o.memory_limit = (size_t)2 * LIMIT;
    check_status(t, ease_interactions_read(path, &o, &x, &err), EASE_OK);
    ease_interactions_free(x);
}

typedef struct calls {
    int count, until;
    double last;
} calls;

static int count_calls(void *user, const char *stage, double fraction)
{
    calls *c = user;

    (void)stage;
    c->count++;
    c->last = fraction;
    return c->until && c->count >= c->until;
}

static void progress_goes_up_and_cancels_anywhere(test *t)
{
    const char *path = test_path("wild.csv");
    ease_read_options o = defaults();
    ease_interactions *x = NULL;
    calls c = {0};
    int all;

    write_wild_table(path, 6, 5000);
    o.hooks = &(ease_hooks){.progress = count_calls, .user = &c};
    o.min_user = 3;
    o.threads = 2;
    check_status(t, ease__interactions_read(path, &o, 5000, &x, NULL), EASE_OK);
    ease_interactions_free(x);
    check(t, c.last <= 1.0 && c.last > 0.9);
    all = c.count;
    for (int i = 1; i <= all; i++) {
        c = (calls){.until = i};
        x = NULL;
        check_status(t, ease__interactions_read(path, &o, 5000, &x, NULL),
                     EASE_E_CANCELLED);
        check_int(t, c.count, i);
        check(t, x == NULL);
    }
}

/* ---- failing allocations --------------------------------------------------- */

static void check_every_allocation(test *t, const char *path,
                                   const ease_read_options *o)
{
    ease_status status = EASE_E_NOMEM;
    int n = 0;

    while (status == EASE_E_NOMEM && n < 100000) {
        ease_interactions *x = NULL;

        alloc_fail_after(n++);
        status = ease__interactions_read(path, o, 4096, &x, NULL);
        alloc_fail_after(-1);
        check_int(t, x != NULL, status == EASE_OK);
        ease_interactions_free(x);
    }
    check_status(t, status, EASE_OK);
    check(t, n > 10);
}

static void reading_survives_every_failed_allocation(test *t)
{
    const char *path = test_path("wild.csv");
    ease_read_options o = defaults();

    write_wild_table(path, 7, 1500);
    o.threads = 2;
    o.min_user = 2;
    o.min_item = 2;
    check_every_allocation(t, path, &o);
    o.weights = 1;
    o.repeat = EASE_REPEAT_SUM;
    check_every_allocation(t, path, &o);
    o = defaults();
    check_every_allocation(t, "tests/corpus/npz/csr_f64_deflated.npz", &o);
    o.weights = 1;
    path = test_path("x.mtx");
    test_write_text(path,
                    "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 3\n"
                    "2 2 4\n");
    check_every_allocation(t, path, &o);
    path = test_path("x.adj");
    test_write_text(path, "a b c d e\nb c d\n");
    o.weights = 0;
    check_every_allocation(t, path, &o);
}

static void titles_survive_every_failed_allocation(test *t)
{
    const char *path = test_path("titles.csv");
    ease__ids items = {0};
    ease_status status = EASE_E_NOMEM;
    int n = 0;

    ease__ids_add(&items, "1", 1);
    test_write_text(path, "id,title\n1,\"a \"\"b\"\"\"\n2,b\n");
    while (status == EASE_E_NOMEM && n < 1000) {
        void *packed = NULL;
        size_t bytes = 0;

        alloc_fail_after(n++);
        status = ease__titles_read(path, &items, &packed, &bytes, NULL, NULL);
        alloc_fail_after(-1);
        check_int(t, packed != NULL, status == EASE_OK);
        ease__free(packed);
    }
    check_status(t, status, EASE_OK);
    ease__ids_free(&items);
}

static const int64_t tiny_ptr[] = {0, 2, 2, 4};
static const int32_t tiny_cols[] = {2, 0, 1, 3};
static const float tiny_vals[] = {1.0f, 2.5f, -1.0f, 0.0f};

static void from_csr_survives_every_failed_allocation(test *t)
{
    ease_status status = EASE_E_NOMEM;

    for (int n = 0; status == EASE_E_NOMEM && n < 1000; n++) {
        ease_interactions *x = NULL;

        alloc_fail_after(n);
        status = ease_interactions_from_csr(3, 4, tiny_ptr, tiny_cols, tiny_vals, &x,
                                            NULL);
        alloc_fail_after(-1);
        check_int(t, x != NULL, status == EASE_OK);
        ease_interactions_free(x);
    }
    check_status(t, status, EASE_OK);
}

/* ---- from memory, and back ------------------------------------------------- */

static void csr_is_copied_and_sorted(test *t)
{
    ease_interactions *x = NULL;
    ease_row r;

    check_status(
        t, ease_interactions_from_csr(3, 4, tiny_ptr, tiny_cols, tiny_vals, &x, NULL),
        EASE_OK);
    check_sound(t, x);
    check_int(t, x->nnz, 3); /* a weight of zero is none */
    check_int(t, x->items, 4);
    r = ease_interactions_row(x, 0);
    check_int(t, r.count, 2);
    check_int(t, r.items[0], 0);
    check(t, r.weights[0] == 2.5f && r.weights[1] == 1.0f);
    check_int(t, ease_interactions_row(x, 1).count, 0);
    check_text(t, ease_interactions_user_id(x, 2), "2");
    check_text(t, ease_interactions_item_id(x, 3), "3");
    check_text(t, interactions_info(x).recognized, "");
    ease_interactions_free(x);
    check_status(t,
                 ease_interactions_from_csr(3, 4, tiny_ptr, tiny_cols, NULL, &x, NULL),
                 EASE_OK);
    check_int(t, interactions_info(x).weighted, 0);
    check_int(t, x->nnz, 4);
    ease_interactions_free(x);
}

static void bad_csr_is_refused(test *t)
{
    static const int64_t down[] = {0, 3, 2, 4}, late[] = {1, 2, 3, 4};
    static const int32_t outside[] = {2, 0, 1, 4}, twice[] = {2, 2, 1, 3};
    static const float nan_vals[] = {1.0f, 2.0f, 3.0f, NAN};
    ease_interactions *x = NULL;
    ease_error err = {0};

    check_status(t, ease_interactions_from_csr(3, 4, down, tiny_cols, NULL, &x, &err),
                 EASE_E_ARG);
    check_status(t, ease_interactions_from_csr(3, 4, late, tiny_cols, NULL, &x, &err),
                 EASE_E_ARG);
    check_status(t, ease_interactions_from_csr(3, 4, tiny_ptr, outside, NULL, &x, &err),
                 EASE_E_ARG);
    check_contains(t, err.text, "row 2: column 4 is not within 0 .. 3");
    check_status(t, ease_interactions_from_csr(3, 4, tiny_ptr, twice, NULL, &x, &err),
                 EASE_E_ARG);
    check_contains(t, err.text, "twice");
    check_status(
        t, ease_interactions_from_csr(3, 4, tiny_ptr, tiny_cols, nan_vals, &x, &err),
        EASE_E_ARG);
    check_status(t,
                 ease_interactions_from_csr(-1, 4, tiny_ptr, tiny_cols, NULL, &x, NULL),
                 EASE_E_ARG);
    check(t, x == NULL);
}

static void writing_and_reading_gives_the_same(test *t)
{
    const char *from = test_path("wild.csv"), *to = test_path("copy.csv");
    ease_read_options o = defaults();

    for (int weights = 0; weights < 2; weights++) {
        for (uint64_t seed = 30; seed < 40; seed++) {
            ease_interactions *x = NULL, *y = NULL, *z = NULL;

            write_wild_table(from, seed, 700);
            o.weights = weights;
            o.repeat = EASE_REPEAT_SUM;
            check_status(t, ease_interactions_read(from, &o, &x, NULL), EASE_OK);
            check_status(t, ease_interactions_write(x, to, NULL, NULL), EASE_OK);
            o.weights = 1;
            check_status(t, ease_interactions_read(to, &o, &y, NULL), EASE_OK);
            check_int(t, y->nnz, x->nnz);
            /* Items may be numbered anew; once written by itself all is the same. */
            check_status(t, ease_interactions_write(y, to, NULL, NULL), EASE_OK);
            check_status(t, ease_interactions_read(to, &o, &z, NULL), EASE_OK);
            check(t, same_ids(&x->user_ids, &y->user_ids));
            for (int64_t u = 0; u < x->users; u++) {
                ease_row a = ease_interactions_row(x, u);

                for (int32_t i = 0; i < a.count; i++) {
                    const char *id = ease_interactions_item_id(x, a.items[i]);
                    int32_t j = (int32_t)ease__ids_find(&y->item_ids, id, strlen(id));
                    ease_row b = ease_interactions_row(y, u);
                    bool found = false;

                    for (int32_t k = 0; k < b.count; k++)
                        found = found ||
                                (b.items[k] == j && b.weights[k] == a.weights[i]);
                    check(t, found);
                }
            }
            check_int(t, z->nnz, y->nnz);
            ease_interactions_free(x);
            ease_interactions_free(y);
            ease_interactions_free(z);
        }
    }
}

static void values_are_written_to_read_back_exactly(test *t)
{
    static const int64_t ptr[] = {0, 6};
    static const int32_t cols[] = {0, 1, 2, 3, 4, 5};
    static const float vals[] = {0.1f,   FLT_MAX,     FLT_MIN,
                                 1e-45f, 16777216.0f, -4.0999999f};
    ease_interactions *x = NULL, *y = NULL;
    ease_read_options o = defaults();
    const char *path = test_path("values.csv");

    check_status(t, ease_interactions_from_csr(1, 6, ptr, cols, vals, &x, NULL),
                 EASE_OK);
    check_status(t, ease_interactions_write(x, path, NULL, NULL), EASE_OK);
    o.weights = 1;
    check_status(t, ease_interactions_read(path, &o, &y, NULL), EASE_OK);
    check(t, memcmp(x->vals, y->vals, sizeof(vals)) == 0);
    ease_interactions_free(x);
    ease_interactions_free(y);
}

static void writing_can_be_cancelled_and_leaves_nothing(test *t)
{
    ease_interactions *x = NULL;
    calls c = {.until = 1};
    ease_hooks hooks = {.progress = count_calls, .user = &c};
    const char *path = test_path("cancelled.csv");

    check_status(t,
                 ease_interactions_from_csr(3, 4, tiny_ptr, tiny_cols, NULL, &x, NULL),
                 EASE_OK);
    check_status(t, ease_interactions_write(x, path, &hooks, NULL), EASE_E_CANCELLED);
    check(t, access(path, F_OK) != 0);
    check_status(t, ease_interactions_write(x, "/nonexistent/x.csv", NULL, NULL),
                 EASE_E_IO);
    ease_interactions_free(x);
}

/* ---- real files ------------------------------------------------------------ */

static void check_sizes(test *t, const char *path, int64_t users, int32_t items,
                        int64_t rows, int64_t interactions)
{
    ease_interactions *x = NULL;
    ease_error err = {0};

    if (!check_status(t, ease_interactions_read(path, NULL, &x, &err), EASE_OK)) {
        printf("    %s\n", err.text);
        return;
    }
    check_sound(t, x);
    check_int(t, x->users, users);
    check_int(t, x->items, items);
    check_int(t, x->counts.rows, rows);
    check_int(t, x->nnz, interactions);
    ease_interactions_free(x);
}

static void the_example_has_its_known_size(test *t)
{
    check_sizes(t, "examples/npm.tsv.gz", 30000, 1500, 349921, 349921);
}

/* The path of a file that is not in the repository; NULL, and the test is skipped,
 * where it is missing. */
static const char *real_file(test *t, const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "../shared/data/%s", name);
    if (access(path, R_OK) == 0)
        return path;
    test_skip(t, "real data is not in the repository");
    return NULL;
}

static void check_real(test *t, const char *name, int64_t users, int32_t items,
                       int64_t rows, int64_t interactions)
{
    const char *path = real_file(t, name);

    if (path)
        check_sizes(t, path, users, items, rows, interactions);
}

static void real_files_have_their_known_sizes(test *t)
{
    check_real(t, "gowalla/train.txt", 29858, 40981, 810128, 810128);
    check_real(t, "yelp2018/train.txt", 31668, 38048, 1237259, 1237259);
    check_real(t, "ml-1m/ratings.csv", 6040, 3706, 1000209, 1000209);
    check_real(t, "ml-100k/u.data", 943, 1682, 100000, 100000);
    check_real(t, "goodbooks/ratings.csv", 53424, 10000, 981756, 979478);
    check_real(t, "npm/dependencies.tsv.gz", 150792, 17261, 1895512, 1895512);
}

static void check_real_titles(test *t, const char *data, const char *file,
                              const char *id, const char *title, int32_t matched)
{
    const char *path = real_file(t, data);
    ease_interactions *x = NULL;
    ease__ids titles = {0};
    ease_error err = {0};
    void *packed = NULL;
    size_t bytes = 0;
    int32_t got = 0;

    if (!path)
        return;
    check_status(t, ease_interactions_read(path, NULL, &x, &err), EASE_OK);
    path = real_file(t, file);
    if (!path ||
        !check_status(
            t, ease__titles_read(path, &x->item_ids, &packed, &bytes, &got, &err),
            EASE_OK)) {
        printf("    %s\n", err.text);
    } else {
        check_status(
            t, ease__ids_borrow(&titles, packed, bytes, x->items, false, "t", &err),
            EASE_OK);
        check_int(t, got, matched);
        check_text(t,
                   ease__ids_at(&titles, ease__ids_find(&x->item_ids, id, strlen(id))),
                   title);
    }
    ease__ids_free(&titles);
    ease__free(packed);
    ease_interactions_free(x);
}

static void real_titles_are_found(test *t)
{
    check_real_titles(t, "ml-1m/ratings.csv", "ml-1m/movies.dat", "73",
                      "Mis\xc3\xa9rables, Les (1995)", 3706);
    check_real_titles(t, "ml-100k/u.data", "ml-100k/u.item", "1", "Toy Story (1995)",
                      1682);
    check_real_titles(t, "goodbooks/ratings.csv", "goodbooks/books.csv", "1",
                      "The Hunger Games (The Hunger Games, #1)", 10000);
}

static const test_case cases[] = {
    TEST(random_tables_equal_the_naive_way),
    TEST(threads_and_blocks_do_not_change_a_bit),
    TEST(the_first_bad_line_is_told),
    TEST(a_nul_byte_is_told_with_its_line),
    TEST(numbers_are_of_first_appearance_among_kept_rows),
    TEST(repeats_fold_as_asked),
    TEST(a_memory_limit_is_kept),
    TEST(rows_that_would_not_fit_later_are_refused_at_once),
    TEST(progress_goes_up_and_cancels_anywhere),
    TEST(reading_survives_every_failed_allocation),
    TEST(titles_survive_every_failed_allocation),
    TEST(from_csr_survives_every_failed_allocation),
    TEST(csr_is_copied_and_sorted),
    TEST(bad_csr_is_refused),
    TEST(writing_and_reading_gives_the_same),
    TEST(values_are_written_to_read_back_exactly),
    TEST(writing_can_be_cancelled_and_leaves_nothing),
    TEST(the_example_has_its_known_size),
    TEST(real_files_have_their_known_sizes),
    TEST(real_titles_are_found),
};
TEST_MAIN(cases)
