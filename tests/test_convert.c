/* Models that are converted in memory, and the position of their data in a log. */
#include <xxhash.h>

#include "models.h"

static const ease_storage dense[] = {EASE_STORE_F32, EASE_STORE_F16, EASE_STORE_PACKED};

/* Whether both models give the same file. */
static bool same_files(test *t, const ease_model *a, const ease_model *b,
                       ease_storage s)
{
    const char *path[] = {test_path("a.ease"), test_path("b.ease")};
    size_t bytes[2];
    char *file[2];
    bool same;

    check_status(t, ease_model_save(a, path[0], s, NULL, NULL), EASE_OK);
    check_status(t, ease_model_save(b, path[1], s, NULL, NULL), EASE_OK);
    for (int i = 0; i < 2; i++)
        file[i] = test_read(path[i], &bytes[i]);
    same = bytes[0] == bytes[1] && memcmp(file[0], file[1], bytes[0]) == 0;
    free(file[0]);
    free(file[1]);
    return same;
}

static void a_converted_model_is_the_one_that_would_be_saved(test *t)
{
    int32_t sizes[] = {1, 40, 2100}; /* the last is more than is read when opening */

    for (size_t k = 0; k < 3; k++) {
        ease_model *m = random_model(sizes[k], k, false, EASE_GRAM_COUNTS, false);

        check_status(t, ease_model_set_position(m, "log", 17, NULL), EASE_OK);
        for (size_t s = 0; s < 3; s++) {
            ease_model *made = NULL;

            check_status(t, ease_model_convert(m, dense[s], NULL, &made, NULL),
                         EASE_OK);
            check_int(t, model_info(made).storage, dense[s]);
            check_int(t, model_info(made).bytes, 0);
            check(t, same_files(t, m, made, dense[s]));
            ease_model_free(made);
        }
        ease_model_free(m);
    }
}

static ease_model *trained(const char *method, int updatable)
{
    ease_synth_options s;
    ease_train_options o;
    ease_interactions *x = NULL;
    ease_model *m = NULL;
    ease_error err;

    ease_synth_options_init(&s);
    s.users = 200;
    s.items = 80;
    s.interactions = 2000;
    ease_train_options_init(&o);
    o.method = method;
    o.lambda = 5;
    o.updatable = updatable;
    if (ease_interactions_synth(&s, &x, &err) || ease_train(x, &o, &m, &err)) {
        printf("%s\n", err.text);
        abort();
    }
    ease_interactions_free(x);
    return m;
}

static void other_models_are_copied_in_their_own_form(test *t)
{
    static const char *const methods[] = {"popularity", "item-item", "wmf"};

    for (size_t k = 0; k < 3; k++) {
        ease_model *m = trained(methods[k], 0), *made = NULL;

        check_status(t, ease_model_convert(m, EASE_STORE_F16, NULL, &made, NULL),
                     EASE_OK);
        check_int(t, model_info(made).storage, model_info(m).storage);
        check(t, same_files(t, m, made, EASE_STORE_F16));
        ease_model_free(made);
        ease_model_free(m);
    }
}

static void a_copy_does_not_need_the_file(test *t)
{
    ease_model *m = random_model(2100, 3, false, EASE_GRAM_COUNTS, false);
    ease_model *mapped = NULL, *copy = NULL;
    const char *path = test_path("gone.ease");
    double residual;

    check_status(t, ease_model_save(m, path, EASE_STORE_F32, NULL, NULL), EASE_OK);
    check_status(t, ease_model_open(path, NULL, &mapped, NULL), EASE_OK);
    check_status(t, ease_model_convert(mapped, EASE_STORE_F32, NULL, &copy, NULL),
                 EASE_OK);
    ease_model_free(mapped);
    test_write_text(path, "overwritten");
    check(t, same_files(t, m, copy, EASE_STORE_F32));
    ease_model_free(copy);
    ease_model_free(m);

    m = trained("ease", 1);
    check_status(t, ease_model_convert(m, EASE_STORE_PACKED, NULL, &copy, NULL),
                 EASE_OK);
    check_int(t, model_info(copy).updatable, 1);
    check_status(t, ease_model_residual(copy, 1, &residual, NULL), EASE_OK);
    check(t, residual < 1e-5);
    ease_model_free(copy);
    ease_model_free(m);
}

static int cancel(void *user, const char *stage, double fraction)
{
    (void)user, (void)stage, (void)fraction;
    return 1;
}

static void what_cannot_be_converted_is_refused(test *t)
{
    const ease_hooks hooks = {.progress = cancel};
    ease_model *m = random_model(40, 3, false, EASE_GRAM_COUNTS, false);
    ease_model *rows = NULL, *made = NULL;
    ease_status status;
    ease_error err;
    int n = 0;

    check_status(t, ease_model_convert(NULL, EASE_STORE_F16, NULL, &made, &err),
                 EASE_E_ARG);
    check_status(t, ease_model_convert(m, EASE_STORE_F16, NULL, NULL, &err),
                 EASE_E_ARG);
    check_status(t, ease_model_convert(m, EASE_STORE_SPARSE, NULL, &made, &err),
                 EASE_E_ARG);
    check_status(t, ease_model_convert(m, EASE_STORE_F16, NULL, &rows, &err), EASE_OK);
    check_status(t, ease_model_convert(rows, EASE_STORE_PACKED, NULL, &made, &err),
                 EASE_E_ARG);
    check_contains(t, err.text, "cannot be packed");
    check_status(t, ease_model_convert(m, EASE_STORE_F16, &hooks, &made, &err),
                 EASE_E_CANCELLED);
    do {
        alloc_fail_after(n++);
        status = ease_model_convert(m, EASE_STORE_F16, NULL, &made, NULL);
        alloc_fail_after(-1);
        check_int(t, made != NULL, status == EASE_OK);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 5);
    ease_model_free(made);
    ease_model_free(rows);
    ease_model_free(m);
}

/* ---- the position ---------------------------------------------------------------- */

static void a_position_is_saved_with_the_model(test *t)
{
    ease_model *m = random_model(20, 3, false, EASE_GRAM_COUNTS, false), *back = NULL;
    const char *path = test_path("m.ease");
    uint64_t position = 1;
    char name[300];

    check(t, ease_model_position(m, &position) == NULL);
    check_int(t, position, 0);
    memset(name, 'n', sizeof(name));
    name[256] = '\0';
    check_status(t, ease_model_set_position(m, name, 1, NULL), EASE_E_ARG);
    check_status(t, ease_model_set_position(m, "", 1, NULL), EASE_E_ARG);
    name[255] = '\0';
    check_status(t, ease_model_set_position(m, name, UINT64_MAX, NULL), EASE_OK);
    check_status(t, ease_model_save(m, path, EASE_STORE_F16, NULL, NULL), EASE_OK);
    check_status(t, ease_model_open(path, NULL, &back, NULL), EASE_OK);
    check_text(t, ease_model_position(back, &position), name);
    check(t, position == UINT64_MAX);
    ease_model_free(back);
    check_status(t, ease_model_set_position(m, NULL, 5, NULL), EASE_OK);
    check_status(t, ease_model_save(m, path, EASE_STORE_F16, NULL, NULL), EASE_OK);
    check_status(t, ease_model_open(path, NULL, &back, NULL), EASE_OK);
    check(t, ease_model_position(back, &position) == NULL);
    ease_model_free(back);
    ease_model_free(m);
}

/* Changes the section of the position, and opens the file. */
static ease_status open_with(test *t, const char *bytes, size_t size)
{
    ease_model *m = random_model(20, 3, false, EASE_GRAM_COUNTS, false), *back = NULL;
    const char *path = test_path("m.ease");
    ease__disk_header *h;
    size_t file_bytes;
    ease_status status;
    char *file;

    check_status(t, ease_model_set_position(m, "abcdefgh", 1, NULL), EASE_OK);
    check_status(t, ease_model_save(m, path, EASE_STORE_F16, NULL, NULL), EASE_OK);
    file = test_read(path, &file_bytes);
    h = (ease__disk_header *)(void *)file;
    for (uint32_t i = 0; i < h->sections; i++) {
        ease__disk_section *s = &h->section[i];

        if (strcmp(s->name, "position") != 0)
            continue;
        memcpy(file + s->offset, bytes, size);
        s->bytes = size;
        s->hash = XXH3_64bits(bytes, size);
    }
    h->hash = 0;
    h->hash = XXH3_64bits(h, EASE__PAGE);
    test_write(path, file, file_bytes);
    status = ease_model_open(path, NULL, &back, NULL);
    ease_model_free(back);
    ease_model_free(m);
    free(file);
    return status;
}

static void a_damaged_position_is_refused(test *t)
{
    check_status(t, open_with(t, "12345678ab", 11), EASE_OK);
    check_status(t, open_with(t, "12345678ab", 10), EASE_E_FORMAT); /* no NUL */
    check_status(t, open_with(t, "12345678a\0b", 12), EASE_E_FORMAT);
    check_status(t, open_with(t, "12345678", 9), EASE_E_FORMAT); /* no name */
    check_status(t, open_with(t, "1234567", 8), EASE_E_FORMAT);
    check_status(t, open_with(t, "", 0), EASE_E_FORMAT);
}

static const test_case cases[] = {
    TEST(a_converted_model_is_the_one_that_would_be_saved),
    TEST(other_models_are_copied_in_their_own_form),
    TEST(a_copy_does_not_need_the_file),
    TEST(what_cannot_be_converted_is_refused),
    TEST(a_position_is_saved_with_the_model),
    TEST(a_damaged_position_is_refused),
};

TEST_MAIN(cases)
