/* Output files: their place, their owner, and what a killed process leaves. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/output.h"
#include "test.h"

enum { NOBODY = 65534 };

static ease_status write_file(const char *path, const char *text, ease_error *err)
{
    ease__output out = EASE__OUTPUT_NONE;
    ease_status status = ease__output_open(path, 0, &out, err);

    if (!status)
        status = ease__output_write(&out, text, strlen(text), err);
    if (!status)
        status = ease__output_commit(&out, err);
    ease__output_discard(&out);
    return status;
}

static void check_file(test *t, const char *path, const char *want)
{
    char text[64] = "";
    FILE *f = fopen(path, "r");

    if (!check(t, f != NULL))
        return;
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    fclose(f);
    check_text(t, text, want);
}

static bool is_link(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* A directory of the test's own; the path is valid as long as the test. */
static char *new_directory(test *t, const char *name)
{
    char *dir = strdup(test_path(name));

    check_int(t, mkdir(dir, 0777), 0);
    check_int(t, chmod(dir, 0777), 0);
    return dir;
}

static const char *inside(const char *dir, const char *name)
{
    static char paths[4][600];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
    return path;
}

/* The number of its parts, and one of them. */
static int find_part(const char *dir, char name[300])
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    int count = 0;

    while ((entry = readdir(d))) {
        if (strncmp(entry->d_name, ".ease.", 6) != 0)
            continue;
        snprintf(name, 300, "%s", entry->d_name);
        count++;
    }
    closedir(d);
    return count;
}

/* ---- links --------------------------------------------------------------------- */

static void a_dangling_link_has_its_target_made(test *t)
{
    char *dir = new_directory(t, "dangling");

    for (int missing = 0; missing < 2; missing++) {
        without_tmpfile(missing);
        check_int(t, mkdir(inside(dir, "a"), 0777), 0);
        check_int(t, mkdir(inside(dir, "b"), 0777), 0);
        check_int(t, symlink("../b/new", inside(dir, "a/near")), 0);
        check_int(t, symlink(inside(dir, "a/near"), inside(dir, "far")), 0);
        for (int again = 0; again < 2; again++) {
            check_status(t, write_file(inside(dir, "far"), "text", NULL), EASE_OK);
            check(t, is_link(inside(dir, "far")) && is_link(inside(dir, "a/near")));
            check_file(t, inside(dir, "b/new"), "text");
        }
        unlink(inside(dir, "b/new"));
        unlink(inside(dir, "a/near"));
        unlink(inside(dir, "far"));
        rmdir(inside(dir, "a"));
        check_int(t, rmdir(inside(dir, "b")), 0); /* and no part is left */
    }
    without_tmpfile(false);
    free(dir);
}

static void links_that_lead_nowhere_are_errors(test *t)
{
    char *dir = new_directory(t, "nowhere");
    ease_error err;

    check_int(t, symlink("round", inside(dir, "and")), 0);
    check_int(t, symlink("and", inside(dir, "round")), 0);
    check_status(t, write_file(inside(dir, "and"), "text", &err), EASE_E_IO);
    check_contains(t, err.text, "and: cannot write: Too many levels");
    check(t, is_link(inside(dir, "and")) && is_link(inside(dir, "round")));
    check_int(t, symlink("no/such/file", inside(dir, "lost")), 0);
    check_status(t, write_file(inside(dir, "lost"), "text", &err), EASE_E_IO);
    check_contains(t, err.text, "lost: cannot write to the directory '");
    check_contains(t, err.text, "no/such': No such file");
    check(t, is_link(inside(dir, "lost")));
    free(dir);
}

/* ---- owner, group, mode --------------------------------------------------------- */

static void owner_group_and_mode_are_kept(test *t)
{
    const char *path = test_path("owned");
    struct stat st = {0};

    if (geteuid() != 0) {
        test_skip(t, "needs root");
        return;
    }
    for (int missing = 0; missing < 2; missing++) {
        without_tmpfile(missing);
        test_write_text(path, "old");
        check_int(t, chown(path, NOBODY, NOBODY - 1), 0);
        check_int(t, chmod(path, 0640), 0);
        check_status(t, write_file(path, "new", NULL), EASE_OK);
        check_file(t, path, "new");
        check_int(t, stat(path, &st), 0);
        check_int(t, st.st_uid, NOBODY);
        check_int(t, st.st_gid, NOBODY - 1);
        check_int(t, st.st_mode & 07777, 0640);
    }
    without_tmpfile(false);
}

/* Of a process that may neither keep the owner nor the group. */
static int write_as_nobody(const char *path)
{
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
            _exit(100);
        _exit(write_file(path, "new", NULL) ? 1 : 0);
    }
    waitpid(child, &status, 0);
    return status;
}

static void our_group_gets_no_more_than_others_had(test *t)
{
    char *dir;
    struct stat st = {0};

    if (geteuid() != 0) {
        test_skip(t, "needs root");
        return;
    }
    check_int(t, chmod(test_path(""), 0755), 0);
    dir = new_directory(t, "shared");
    test_write_text(inside(dir, "x"), "old");
    check_int(t, chmod(inside(dir, "x"), 04664), 0);
    check_int(t, write_as_nobody(inside(dir, "x")), 0);
    check_file(t, inside(dir, "x"), "new");
    check_int(t, stat(inside(dir, "x"), &st), 0);
    check_int(t, st.st_uid, NOBODY);
    check_int(t, st.st_mode & 07777, 0644);
    /* In a sticky directory it cannot be replaced: that is told before any work. */
    check_int(t, chown(inside(dir, "x"), 0, 0), 0);
    check_int(t, chmod(dir, 01777), 0);
    check_int(t, WEXITSTATUS(write_as_nobody(inside(dir, "x"))), 1);
    free(dir);
}

/* ---- parts ----------------------------------------------------------------------- */

static void parts_of_the_same_process_number_are_in_nobodys_way(test *t)
{
    char *dir = new_directory(t, "numbers"), name[300];

    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), ".ease.%ld.%d.part", (long)getpid(), i);
        test_write_text(inside(dir, name), "left");
    }
    for (int missing = 0; missing < 2; missing++) {
        without_tmpfile(missing);
        check_status(t, write_file(inside(dir, "x"), "text", NULL), EASE_OK);
        check_file(t, inside(dir, "x"), "text");
        check_int(t, find_part(dir, name), 100); /* they are young */
    }
    without_tmpfile(false);
    free(dir);
}

static void make_old(test *t, const char *path)
{
    struct timespec times[2] = {{.tv_sec = time(NULL) - 3600},
                                {.tv_sec = time(NULL) - 3600}};

    check_int(t, utimensat(AT_FDCWD, path, times, 0), 0);
}

static void sweep_stale_parts(test *t, bool missing)
{
    static const char *const names[] = {".ease.1.0.part",    ".ease.2.0.part",
                                        ".ease.3.0.1f.part", ".ease.4.part.txt",
                                        "ease.5.0.part",     ".ease.6.0.part"};
    bool kept[] = {false, true, false, true, true, true};
    char *dir = new_directory(t, missing ? "stale" : "stale-nameless");
    int held, seen;

    for (int i = 0; i < 6; i++) {
        test_write_text(inside(dir, names[i]), "left");
        make_old(t, inside(dir, names[i]));
    }
    held = open(inside(dir, names[1]), O_RDWR); /* as who writes it does */
    check_int(t, flock(held, LOCK_EX | LOCK_NB), 0);
    seen = open(inside(dir, names[0]), O_RDONLY); /* as who sweeps, too, does */
    check_int(t, flock(seen, LOCK_SH | LOCK_NB), 0);
    test_write_text(inside(dir, names[5]), "just now");
    without_tmpfile(missing);
    check_status(t, write_file(inside(dir, "x"), "text", NULL), EASE_OK);
    without_tmpfile(false);
    for (int i = 0; i < 6; i++)
        check_int(t, access(inside(dir, names[i]), F_OK) == 0, kept[i]);
    close(held);
    close(seen);
    free(dir);
}

/* Also where files are nameless until their commit: a kill between naming and renaming
 * leaves a part there, too. */
static void stale_parts_are_swept(test *t)
{
    sweep_stale_parts(t, true);
    sweep_stale_parts(t, false);
}

static void a_part_is_locked_and_as_private_as_the_file(test *t)
{
    char *dir = new_directory(t, "private"), name[300] = "";
    ease__output out;
    struct stat st = {0};
    int other;

    test_write_text(inside(dir, "x"), "old");
    check_int(t, chmod(inside(dir, "x"), 0600), 0);
    without_tmpfile(true);
    check_status(t, ease__output_open(inside(dir, "x"), 0, &out, NULL), EASE_OK);
    without_tmpfile(false);
    check_int(t, find_part(dir, name), 1);
    check_int(t, stat(inside(dir, name), &st), 0);
    check_int(t, st.st_mode & 0777, 0600);
    other = open(inside(dir, name), O_RDONLY);
    check(t, flock(other, LOCK_EX | LOCK_NB) != 0);
    close(other);
    ease__output_discard(&out);
    check_int(t, find_part(dir, name), 0);
    free(dir);
}

/* ---- checking beforehand ------------------------------------------------------ */

static void a_check_fails_as_writing_would_and_leaves_nothing(test *t)
{
    char *dir = new_directory(t, "checked"), name[300];
    ease_error err;
    struct pollfd reader = {.events = POLLIN};

    for (int missing = 0; missing < 2; missing++) {
        without_tmpfile(missing);
        check_status(t, ease_output_check(inside(dir, "x"), 0, &err), EASE_OK);
        check(t, access(inside(dir, "x"), F_OK) != 0);
        check_int(t, find_part(dir, name), 0);
        check_status(t, ease_output_check("/proc/x", 0, &err), EASE_E_IO);
        check_contains(t, err.text, "/proc/x: cannot write to the directory '/proc': ");
    }
    without_tmpfile(false);
    check_status(t, ease_output_check(inside(dir, "x"), (size_t)1 << 60, &err),
                 EASE_E_IO);
    check_contains(t, err.text, "x: needs 1.15 EB of disk, ");
    check_status(t, ease_output_check(dir, 0, &err), EASE_E_IO);
    check_contains(t, err.text, "Is a directory");
    check_status(t, ease_output_check("-", 0, &err), EASE_OK);
    check_status(t, ease_output_check(NULL, 0, &err), EASE_E_ARG);
    /* A pipe: its reader must not see a writer that has left. */
    check_int(t, mkfifo(inside(dir, "pipe"), 0600), 0);
    reader.fd = open(inside(dir, "pipe"), O_RDONLY | O_NONBLOCK);
    check_status(t, ease_output_check(inside(dir, "pipe"), 0, &err), EASE_OK);
    check_int(t, poll(&reader, 1, 0), 0);
    close(reader.fd);
    free(dir);
}

static const test_case cases[] = {
    TEST(a_dangling_link_has_its_target_made),
    TEST(links_that_lead_nowhere_are_errors),
    TEST(owner_group_and_mode_are_kept),
    TEST(our_group_gets_no_more_than_others_had),
    TEST(parts_of_the_same_process_number_are_in_nobodys_way),
    TEST(stale_parts_are_swept),
    TEST(a_part_is_locked_and_as_private_as_the_file),
    TEST(a_check_fails_as_writing_would_and_leaves_nothing),
};

TEST_MAIN(cases)
