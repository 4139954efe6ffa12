/* Golden model files of every version of the format: they can be opened, and give the
 * same results, to the bit, as when they were written. */
#include <zlib.h>

#include "golden.h"
#include "test.h"

enum { PATH = 128, MOST_BYTES = 1 << 21 };

static const int versions[] = {1, 2};

/* The unpacked contents of a file of tests/golden, with a NUL behind them. */
static char *unpack(const char *name, size_t *bytes)
{
    char path[PATH], *data = malloc(MOST_BYTES);
    gzFile from;
    int got;

    snprintf(path, sizeof(path), "tests/golden/%s", name);
    from = gzopen(path, "rb"); /* also reads what is not compressed */
    got = from && data ? gzread(from, data, MOST_BYTES - 1) : -1;
    if (got < 0 || gzclose(from) != Z_OK) {
        printf("  cannot read %s\n", path);
        abort();
    }
    data[got] = '\0';
    *bytes = (size_t)got;
    return data;
}

static const char *unpack_file(const char *name)
{
    const char *path = test_path("golden.ease");
    size_t bytes;
    char *data = unpack(name, &bytes);

    test_write(path, data, bytes);
    free(data);
    return path;
}

static void check_answers(test *t, const ease_model *m, const struct golden_file *f)
{
    char name[PATH], *want, *got = golden_answers(m);
    size_t bytes;

    snprintf(name, sizeof(name), "%s.txt", f->name);
    want = unpack(name, &bytes);
    if (!check(t, strcmp(got, want) == 0)) {
        size_t at = 0;

        while (got[at] == want[at])
            at++;
        printf("  %s, from byte %zu on: %.60s\n  instead of: %.60s\n", f->name, at,
               got + at, want + at);
    }
    free(got);
    free(want);
}

static void files_of_every_version_answer_as_they_did(test *t)
{
    for (size_t v = 0; v < sizeof(versions) / sizeof(versions[0]); v++)
        for (size_t i = 0; i < GOLDEN_FILES; i++) {
            ease_error err = {0};
            ease_model *m = NULL;
            char name[PATH];
            const char *path;

            if (versions[v] < golden_files[i].since)
                continue;
            snprintf(name, sizeof(name), "v%d-%s.ease.gz", versions[v],
                     golden_files[i].name);
            path = unpack_file(name);
            if (!check_status(t, ease_model_open(path, NULL, &m, &err), EASE_OK)) {
                printf("  %s\n", err.text);
                continue;
            }
            check_answers(t, m, &golden_files[i]);
            check_status(t, ease_file_verify(path, NULL, NULL), EASE_OK);
            ease_model_free(m);
        }
}

/* All of them are f32 with something new. */
static void files_of_later_versions_open_or_say_so(test *t)
{
    static const struct {
        const char *name, *says; /* NULL: it opens, and answers as f32 does */
    } plants[] = {
        {"section", NULL},
        {"large-section", NULL},
        {"params", NULL},
        {"critical-section", "made by a newer ease: it needs section 'future'"},
        {"method", "made by a newer ease: method edlae"},
        {"form", "made by a newer ease: form blocks"},
        {"version", "version 3, written by a newer ease"},
    };

    for (size_t i = 0; i < sizeof(plants) / sizeof(plants[0]); i++) {
        ease_error err = {0};
        ease_model *m = NULL;
        char name[PATH];
        ease_status status;

        snprintf(name, sizeof(name), "newer-%s.ease.gz", plants[i].name);
        status = ease_model_open(unpack_file(name), NULL, &m, &err);
        if (!check_status(t, status, plants[i].says ? EASE_E_VERSION : EASE_OK))
            printf("  %s: %s\n", name, err.text);
        if (plants[i].says)
            check_contains(t, err.text, plants[i].says);
        if (!status)
            check_answers(t, m, &golden_files[0]);
        ease_model_free(m);
    }
}

static const test_case cases[] = {
    TEST(files_of_every_version_answer_as_they_did),
    TEST(files_of_later_versions_open_or_say_so),
};

TEST_MAIN(cases)
