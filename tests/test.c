#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compute/kernels.h"

struct test {
    int failures;
    const char *skipped;
};

static char scratch[64];

static int remove_entry(const char *path, const struct stat *st, int kind,
                        struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

const char *test_path(const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", scratch, name);
    return path;
}

void test_write(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");

    if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

void test_write_text(const char *path, const char *text)
{
    test_write(path, text, strlen(text));
}

char *test_read(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    char *data = NULL;

    if (f && fseek(f, 0, SEEK_END) == 0) {
        *bytes = (size_t)ftell(f);
        rewind(f);
        data = malloc(*bytes + 1);
    }
    if (!data || fread(data, 1, *bytes, f) != *bytes) {
        printf("cannot read %s\n", path);
        abort();
    }
    fclose(f);
    data[*bytes] = '\0';
    return data;
}

static void append_file(FILE *to, const char *dir, const char *name)
{
    char path[1024], text[4096];
    size_t bytes;
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    fprintf(to, "[%s]\n", name);
    f = fopen(path, "rbe");
    while (f && (bytes = fread(text, 1, sizeof(text), f)) > 0)
        fwrite(text, 1, bytes, to);
    if (f)
        fclose(f);
}

char *test_snapshot(const char *dir)
{
    struct dirent **names = NULL;
    int count = scandir(dir, &names, NULL, alphasort);
    char *all = NULL;
    size_t bytes = 0;
    FILE *to;

    if (count < 0)
        return NULL;
    to = open_memstream(&all, &bytes);
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i]->d_name, ".") != 0 && strcmp(names[i]->d_name, "..") != 0)
            append_file(to, dir, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    fclose(to);
    return all;
}

/* ---- checks --------------------------------------------------------------------- */

static void failed(test *t, const char *file, int line)
{
    t->failures++;
    printf("  %s:%d: ", file, line);
}

bool check_at(test *t, bool passed, const char *what, const char *file, int line)
{
    if (passed)
        return true;
    failed(t, file, line);
    printf("%s is false\n", what);
    return false;
}

bool check_int_at(test *t, int64_t got, int64_t want, const char *what,
                  const char *file, int line)
{
    if (got == want)
        return true;
    failed(t, file, line);
    printf("%s is %lld, not %lld\n", what, (long long)got, (long long)want);
    return false;
}

bool check_near_at(test *t, double got, double want, double tolerance, const char *what,
                   const char *file, int line)
{
    if (fabs(got - want) <= tolerance)
        return true;
    failed(t, file, line);
    printf("%s is %.17g, not %.17g within %g\n", what, got, want, tolerance);
    return false;
}

bool check_text_at(test *t, const char *got, const char *want, const char *what,
                   const char *file, int line)
{
    if (got && strcmp(got, want) == 0)
        return true;
    failed(t, file, line);
    printf("%s is \"%s\", not \"%s\"\n", what, got ? got : "(null)", want);
    return false;
}

bool check_contains_at(test *t, const char *text, const char *part, const char *what,
                       const char *file, int line)
{
    if (text && strstr(text, part))
        return true;
    failed(t, file, line);
    printf("%s is \"%s\", without \"%s\"\n", what, text ? text : "(null)", part);
    return false;
}

void test_skip(test *t, const char *why)
{
    t->skipped = why;
}

/* ---- failing allocations: the linker sends the library's calls here ----------- */

static atomic_int allocations_left = -1;

void alloc_fail_after(int n)
{
    atomic_store(&allocations_left, n);
}

static bool allocation_fails(void)
{
    int left = atomic_load(&allocations_left);

    while (left > 0 &&
           !atomic_compare_exchange_weak(&allocations_left, &left, left - 1))
        ;
    return left == 0;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
void *__real_mmap(void *at, size_t bytes, int rights, int flags, int fd, off_t offset);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);
void *__wrap_mmap(void *at, size_t bytes, int rights, int flags, int fd, off_t offset);

void *__wrap_malloc(size_t bytes)
{
    return allocation_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return allocation_fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *p, size_t bytes)
{
    return allocation_fails() ? NULL : __real_realloc(p, bytes);
}

void *__wrap_mmap(void *at, size_t bytes, int rights, int flags, int fd, off_t offset)
{
    if ((flags & MAP_ANONYMOUS) && allocation_fails())
        return MAP_FAILED;
    return __real_mmap(at, bytes, rights, flags, fd, offset);
}

/* ---- a file system without O_TMPFILE ------------------------------------------ */

static atomic_bool tmpfile_fails;

void without_tmpfile(bool missing)
{
    atomic_store(&tmpfile_fails, missing);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
    bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
    mode_t mode = 0;

    if (nameless && atomic_load(&tmpfile_fails)) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (nameless || (flags & O_CREAT)) {
        va_list args;

        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
    }
    return __real_open(path, flags, mode);
}

/* ---- running ------------------------------------------------------------------ */

static bool wanted(const char *name, int argc, char **argv)
{
    if (argc < 2)
        return true;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return false;
}

/* Where the environment says which kernels are to be tested (see kernels.sh), the tests
 * run with these or not at all. */
static bool kernels_are_those_wanted(void)
{
    const char *own = getenv("EASE_TEST_KERNELS"), *core = getenv("OPENBLAS_CORETYPE");
    ease_blas_info blas = {.size = sizeof(blas)};

    if (!own)
        return true;
    ease_blas_describe(&blas);
    if (!ease__kernels_force(own)) {
        printf("there are no %s kernels for this processor\n", own);
        return false;
    }
    if (core && strcmp(core, blas.core) != 0) {
        printf("OpenBLAS uses its kernels for %s, not for %s\n", blas.core, core);
        return false;
    }
    return true;
}

/* A mistyped name must not pass as a run without failures. */
static bool names_are_known(const test_case *cases, size_t count, int argc, char **argv)
{
    for (int a = 1; a < argc; a++) {
        size_t i = 0;

        while (i < count && strcmp(cases[i].name, argv[a]) != 0)
            i++;
        if (i == count) {
            fprintf(stderr, "%s: no test '%s'; there are\n", argv[0], argv[a]);
            for (i = 0; i < count; i++)
                fprintf(stderr, "  %s\n", cases[i].name);
            return false;
        }
    }
    return true;
}

int test_main(const test_case *cases, size_t count, int argc, char **argv)
{
    int passed = 0, failures = 0, skipped = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!names_are_known(cases, count, argc, argv))
        return 2;
    if (!kernels_are_those_wanted())
        return 1;
    strcpy(scratch, "/tmp/ease-test-XXXXXX");
    if (!mkdtemp(scratch)) {
        perror(scratch);
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        test t = {0};

        if (!wanted(cases[i].name, argc, argv))
            continue;
        cases[i].run(&t);
        alloc_fail_after(-1);
        if (t.failures) {
            printf("FAILED   %s\n", cases[i].name);
            failures++;
        } else if (t.skipped) {
            printf("skipped  %s: %s\n", cases[i].name, t.skipped);
            skipped++;
        } else {
            printf("passed   %s\n", cases[i].name);
            passed++;
        }
    }
    nftw(scratch, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    printf("%d passed, %d failed, %d skipped\n", passed, failures, skipped);
    if (failures)
        return 1;
    return passed == 0 && skipped > 0 ? 77 : 0;
}
