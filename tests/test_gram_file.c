/* Gram files: round trips, sums, damage. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/random.h"
#include "data.h"
#include "gram/gram.h"
#include "test.h"

/* Random users of `items` items, of which this maker knows those from `first` on, so
 * that two of them overlap in part. Ids are "i0", "i1", ... */
static ease_interactions *make(int64_t users, int32_t first, int32_t items,
                               bool weighted, uint64_t seed)
{
    ease_interactions *x = calloc(1, sizeof(*x));
    ease__random r;

    x->users = users;
    x->items = items;
    x->row_ptr = calloc((size_t)users + 1, sizeof(*x->row_ptr));
    x->cols = calloc((size_t)(users * items), sizeof(*x->cols));
    x->vals = weighted ? calloc((size_t)(users * items), sizeof(*x->vals)) : NULL;
    ease__random_seed(&r, seed, 0);
    for (int64_t u = 0; u < users; u++) {
        for (int32_t i = 0; i < items; i++)
            if (ease__random_unit(&r) < 0.3) {
                if (weighted)
                    x->vals[x->nnz] = (float)ease__random_unit(&r);
                x->cols[x->nnz++] = i;
            }
        x->row_ptr[u + 1] = x->nnz;
    }
    for (int32_t i = 0; i < items; i++) {
        char id[16];
        int length = snprintf(id, sizeof(id), "i%d", (int)(first + i));

        ease__ids_add(&x->item_ids, id, (size_t)length);
    }
    return x;
}

static ease_gram *build(test *t, const ease_interactions *x)
{
    ease_gram *g = NULL;

    check_status(t, ease_gram_build(x, NULL, &g, NULL), EASE_OK);
    return g;
}

static int32_t find(const ease_gram *g, const char *id)
{
    return (int32_t)ease__ids_find(&g->ids, id, strlen(id));
}

static void a_gram_file_gives_back_the_matrix(test *t)
{
    for (int weighted = 0; weighted < 2; weighted++) {
        ease_interactions *x = make(200, 0, 530, weighted, 1);
        ease_gram *g = build(t, x), *back = NULL;
        ease_gram_info info = {.size = sizeof(info)};

        check_status(t, ease_gram_save(g, test_path("x.gram"), NULL, NULL), EASE_OK);
        check_status(t, ease_gram_peek(test_path("x.gram"), &info, NULL), EASE_OK);
        check_int(t, info.items, 530);
        check_int(t, info.users, 200);
        check_int(t, info.interactions, x->nnz);
        check_int(t, info.weighted, weighted);
        check_int(t, info.has_sums, 1);
        check_status(t, ease_gram_open(test_path("x.gram"), NULL, &back, NULL),
                     EASE_OK);
        check(t, back && back->g.bytes == g->g.bytes &&
                     memcmp(back->g.data, g->g.data, g->g.bytes) == 0);
        check(t, back && memcmp(back->sums, g->sums, 530 * sizeof(double)) == 0);
        check_text(t, ease_gram_item_id(back, 529), "i529");
        ease_gram_free(back);
        ease_gram_free(g);
        ease_interactions_free(x);
    }
}

static void reading_wide_converts_every_entry(test *t)
{
    ease_interactions *x = make(50, 0, 40, false, 2);
    ease_gram *g = build(t, x), *wide = NULL;
    int wrong = 0;

    check_status(t, ease_gram_save(g, test_path("w.gram"), NULL, NULL), EASE_OK);
    check_status(t, ease__gram_read(test_path("w.gram"), EASE__F64, NULL, &wide, NULL),
                 EASE_OK);
    for (int32_t i = 0; i < 40; i++)
        for (int32_t j = 0; j < 40; j++)
            wrong += ease_gram_at(g, i, j) != ease_gram_at(wide, i, j);
    check_int(t, wrong, 0);
    check_int(t, gram_info(wide).wide, 1);
    ease_gram_free(wide);
    ease_gram_free(g);
    ease_interactions_free(x);
}

/* Items 0 .. 39 and 25 .. 64: entries must be the sums by id. */
static void a_merge_is_the_sum_by_id(test *t)
{
    for (int weighted = 0; weighted < 2; weighted++) {
        ease_interactions *x = make(90, 0, 40, weighted, 3);
        ease_interactions *y = make(70, 25, 40, false, 4);
        ease_gram *a = build(t, x), *b = build(t, y), *sum = NULL;
        char first[512], second[512];
        const char *paths[2] = {first, second};
        int wrong = 0;

        strcpy(first, test_path("a.gram"));
        strcpy(second, test_path("b.gram"));
        check_status(t, ease_gram_save(a, first, NULL, NULL), EASE_OK);
        check_status(t, ease_gram_save(b, second, NULL, NULL), EASE_OK);
        check_status(t, ease_gram_merge(paths, 2, NULL, &sum, NULL), EASE_OK);
        check_int(t, gram_info(sum).items, 65);
        check_int(t, gram_info(sum).users, 160);
        check_int(t, gram_info(sum).interactions, x->nnz + y->nnz);
        check_int(t, gram_info(sum).weighted, weighted);
        for (int32_t i = 0; i < 65; i++)
            for (int32_t j = 0; j < 65; j++) {
                const char *p = ease_gram_item_id(sum, i),
                           *q = ease_gram_item_id(sum, j);
                int32_t ai = find(a, p), aj = find(a, q), bi = find(b, p),
                        bj = find(b, q);
                double want = (ai >= 0 && aj >= 0 ? ease_gram_at(a, ai, aj) : 0) +
                              (bi >= 0 && bj >= 0 ? ease_gram_at(b, bi, bj) : 0);

                wrong += (float)want != (float)ease_gram_at(sum, i, j);
            }
        check_int(t, wrong, 0);
        check_near(t, sum->sums[30], a->sums[30] + b->sums[5], 1e-9);
        ease_gram_free(a);
        ease_gram_free(b);
        ease_gram_free(sum);
        ease_interactions_free(x);
        ease_interactions_free(y);
    }
}

static void a_count_past_32_bits_is_an_error(test *t)
{
    ease_interactions *x = make(10, 0, 5, false, 5);
    ease_gram *g = build(t, x), *sum = NULL;
    char path[512], copy[512];
    const char *paths[2] = {path, copy};
    ease_error err;

    strcpy(path, test_path("full.gram"));
    strcpy(copy, test_path("copy.gram"));
    ((uint32_t *)g->g.data)[0] = UINT32_MAX;
    check_status(t, ease_gram_save(g, path, NULL, NULL), EASE_OK);
    check_status(t, ease_gram_save(g, copy, NULL, NULL), EASE_OK);
    check_status(t, ease_gram_merge(paths, 1, NULL, &sum, NULL), EASE_OK);
    ease_gram_free(sum);
    check_status(t, ease_gram_merge(paths, 2, NULL, &sum, &err), EASE_E_TOO_LARGE);
    check_contains(t, err.text, "exceeds 2^32");
    ease_gram_free(g);
    ease_interactions_free(x);
}

static void a_file_is_not_merged_with_itself(test *t)
{
    ease_interactions *x = make(10, 0, 5, false, 5);
    ease_gram *g = build(t, x), *sum = NULL;
    char path[512], other[512], link[512];
    const char *paths[3] = {path, other, link};
    ease_error err = {0};

    strcpy(path, test_path("one.gram"));
    strcpy(other, test_path("other.gram"));
    strcpy(link, test_path("link.gram"));
    check_status(t, ease_gram_save(g, path, NULL, NULL), EASE_OK);
    check_status(t, ease_gram_save(g, other, NULL, NULL), EASE_OK);
    check_int(t, symlink(path, link), 0);
    check_status(t, ease_gram_merge(paths, 3, NULL, &sum, &err), EASE_E_ARG);
    check_contains(t, err.text, "one.gram");
    check_contains(t, err.text, "link.gram");
    check(t, sum == NULL);
    check_status(t, ease_gram_merge(paths, 2, NULL, &sum, &err), EASE_OK);
    check_int(t, gram_info(sum).users, 20);
    ease_gram_free(sum);
    ease_gram_free(g);
    ease_interactions_free(x);
}

static void memory_is_refused_before_it_is_taken(test *t)
{
    ease_interactions *x = make(10, 0, 600, false, 6);
    ease_gram *g = build(t, x), *back = NULL;
    ease_gram_options o;
    char path[512];
    const char *paths[1] = {path};

    strcpy(path, test_path("limit.gram"));
    ease_gram_options_init(&o);
    o.memory_limit = 100000;
    check_status(t, ease_gram_save(g, path, NULL, NULL), EASE_OK);
    check_status(t, ease_gram_open(path, &o, &back, NULL), EASE_E_MEMORY_LIMIT);
    check_status(t, ease_gram_merge(paths, 1, &o, &back, NULL), EASE_E_MEMORY_LIMIT);
    ease_gram_free(g);
    ease_interactions_free(x);
}

static void damage_is_found_when_the_matrix_is_read(test *t)
{
    ease_interactions *x = make(30, 0, 50, false, 7);
    ease_gram *g = build(t, x), *back = NULL;
    char path[512];
    struct stat st = {0};
    ease_error err;

    strcpy(path, test_path("damaged.gram"));
    check_status(t, ease_gram_save(g, path, NULL, NULL), EASE_OK);
    check_int(t, stat(path, &st), 0);
    for (off_t at = 0; at < st.st_size; at += 97) {
        FILE *f = fopen(path, "r+b");
        int byte;
        ease_status status;

        fseek(f, at, SEEK_SET);
        byte = fgetc(f);
        fseek(f, at, SEEK_SET);
        fputc(byte ^ 0x10, f);
        fclose(f);
        status = ease_gram_open(path, NULL, &back, &err);
        if (!status) { /* between the sections */
            check(t, memcmp(back->g.data, g->g.data, g->g.bytes) == 0);
            ease_gram_free(back);
        } else {
            check(t, status == EASE_E_FORMAT || status == EASE_E_VERSION);
        }
        f = fopen(path, "r+b");
        fseek(f, at, SEEK_SET);
        fputc(byte, f);
        fclose(f);
    }
    check_status(t, ease_gram_open(path, NULL, &back, NULL), EASE_OK);
    ease_gram_free(back);
    ease_gram_free(g);
    ease_interactions_free(x);
}

static void only_tiles_may_be_large(test *t)
{
    static const char *const names[] = {"tiles", "params", "ids", "sums"};
    ease_interactions *x = make(30, 0, 50, false, 7);
    ease_gram *g = build(t, x), *back = NULL;
    char path[512], copy[512];
    ease_gram_info info = {.size = sizeof(info)};
    ease_error err;

    strcpy(path, test_path("small.gram"));
    strcpy(copy, test_path("as-large.gram"));
    check_status(t, ease_gram_save(g, path, NULL, NULL), EASE_OK);
    for (size_t i = 0; i < 4; i++) {
        copy_with_large(path, names[i], copy);
        if (i == 0) {
            check_status(t, ease_gram_open(copy, NULL, &back, NULL), EASE_OK);
            continue;
        }
        check_status(t, ease_gram_peek(copy, &info, &err), EASE_E_FORMAT);
        check_contains(t, err.text, names[i]);
    }
    ease_gram_free(back);
    ease_gram_free(g);
    ease_interactions_free(x);
}

static void gram_files_survive_every_failed_allocation(test *t)
{
    ease_interactions *x = make(30, 0, 20, false, 8), *y = make(30, 10, 20, false, 9);
    ease_gram *g = build(t, x), *h = build(t, y);
    char first[512], second[512];
    const char *paths[2] = {first, second};
    ease_status status;
    int n = 0;

    strcpy(first, test_path("s1.gram"));
    strcpy(second, test_path("s2.gram"));
    check_status(t, ease_gram_save(h, second, NULL, NULL), EASE_OK);
    do {
        ease_gram *sum = NULL;

        unlink(first);
        alloc_fail_after(n++);
        status = ease_gram_save(g, first, NULL, NULL);
        if (!status)
            status = ease_gram_merge(paths, 2, NULL, &sum, NULL);
        alloc_fail_after(-1);
        check_int(t, sum != NULL, status == EASE_OK);
        ease_gram_free(sum);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 10);
    ease_gram_free(g);
    ease_gram_free(h);
    ease_interactions_free(x);
    ease_interactions_free(y);
}

static const test_case cases[] = {
    TEST(a_gram_file_gives_back_the_matrix),
    TEST(reading_wide_converts_every_entry),
    TEST(a_merge_is_the_sum_by_id),
    TEST(a_count_past_32_bits_is_an_error),
    TEST(a_file_is_not_merged_with_itself),
    TEST(memory_is_refused_before_it_is_taken),
    TEST(damage_is_found_when_the_matrix_is_read),
    TEST(only_tiles_may_be_large),
    TEST(gram_files_survive_every_failed_allocation),
};

TEST_MAIN(cases)
