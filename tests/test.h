/* The test harness: a program is a list of functions whose names are sentences. */
#ifndef EASE_TEST_H
#define EASE_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ease.h"
#include "infos.h"

typedef struct test test;

typedef struct test_case {
    const char *name;
    void (*run)(test *t);
} test_case;

#define TEST(function)      \
    {                       \
#function, function \
    }

/* Runs all cases, or those named on the command line; prints a line for each and
 * "N passed, N failed, N skipped". Returns main's result. */
int test_main(const test_case *cases, size_t count, int argc, char **argv);
#define TEST_MAIN(cases)                                                         \
    int main(int argc, char **argv)                                              \
    {                                                                            \
        return test_main(cases, sizeof(cases) / sizeof((cases)[0]), argc, argv); \
    }

/* Each check prints the place and the values if it fails, and the test continues.
 * Returns true if the check passed. */
#define check(t, condition) check_at((t), (condition), #condition, __FILE__, __LINE__)
#define check_int(t, got, want) \
    check_int_at((t), (int64_t)(got), (int64_t)(want), #got, __FILE__, __LINE__)
/* Checks |got - want| <= tolerance; NaN fails. */
#define check_near(t, got, want, tolerance) \
    check_near_at((t), (got), (want), (tolerance), #got, __FILE__, __LINE__)
#define check_text(t, got, want) \
    check_text_at((t), (got), (want), #got, __FILE__, __LINE__)
/* Checks that `part` occurs in `text`. */
#define check_contains(t, text, part) \
    check_contains_at((t), (text), (part), #text, __FILE__, __LINE__)
#define check_status(t, got, want)                                                    \
    check_text_at((t), ease_status_name(got), ease_status_name(want), #got, __FILE__, \
                  __LINE__)

bool check_at(test *t, bool passed, const char *what, const char *file, int line);
bool check_int_at(test *t, int64_t got, int64_t want, const char *what,
                  const char *file, int line);
bool check_near_at(test *t, double got, double want, double tolerance, const char *what,
                   const char *file, int line);
bool check_text_at(test *t, const char *got, const char *want, const char *what,
                   const char *file, int line);
bool check_contains_at(test *t, const char *text, const char *part, const char *what,
                       const char *file, int line);
void test_skip(test *t, const char *why);

/* A path in a temporary directory of this run, which is removed at its end. The string
 * is valid until the fourth call after this one. */
const char *test_path(const char *name);
void test_write(const char *path, const void *data, size_t bytes);
void test_write_text(const char *path, const char *text);
/* The contents of a file, followed by a NUL; the caller frees it. */
char *test_read(const char *path, size_t *bytes);
/* The sorted names of the files in a directory, each with the file's contents, as one
 * text that the caller frees; NULL: there is no such directory. */
char *test_snapshot(const char *dir);

/* Makes every allocation by the library (malloc, calloc, realloc, anonymous mmap) fail
 * after n more; -1: none fails. */
void alloc_fail_after(int n);

/* Makes open() with O_TMPFILE fail, as on file systems without unnamed files. */
void without_tmpfile(bool missing);

#endif
