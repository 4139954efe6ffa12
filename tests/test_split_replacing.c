/* A split is replaced as a whole or not at all: killed at any moment, two at once, on
 * file systems that cannot exchange directories, in places that cannot be exchanged. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* ---- splits in a child ---------------------------------------------------------- */

/* The library runs in children alone: a process whose parent has used OpenMP threads
 * cannot use them. */
typedef struct task {
    const char *data, *protocol;
    const char *dir;
    const char *from; /* working directory; NULL: this one */
    uid_t user;       /* 0: stays who it is */
    bool no_exchange; /* as on a file system that cannot exchange */
} task;

enum { FAILED = 1, KILLED = 2, UNTRACED = 3 };

static bool forbid_exchange(void)
{
    static struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RENAME_EXCHANGE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    static struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int run_task(const task *job)
{
    ease_split_options o;
    ease_read_options r;
    ease_error err;

    ease_split_options_init(&o);
    ease_read_options_init(&r);
    o.protocol = job->protocol;
    r.threads = 1;
    if ((job->from && chdir(job->from) != 0) || (job->user && setuid(job->user) != 0) ||
        (job->no_exchange && !forbid_exchange()))
        return FAILED;
    if (!ease_split(job->data, &r, &o, job->dir, NULL, &err))
        return 0;
    printf("  %s\n", err.text);
    return FAILED;
}

static int await(pid_t child)
{
    int how = 0;

    waitpid(child, &how, 0);
    return WIFEXITED(how) ? WEXITSTATUS(how) : KILLED;
}

static pid_t start_task(const task *job)
{
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        int code = run_task(job);

        fflush(stdout);
        _exit(code);
    }
    return child;
}

static int split_in_child(const task *job)
{
    return await(start_task(job));
}

/* System calls that change which names there are. */
static bool is_naming(uint64_t call)
{
    static const long calls[] = {
#ifdef SYS_rename
        SYS_rename,   SYS_mkdir,  SYS_rmdir,    SYS_unlink,  SYS_link,
#endif
        SYS_renameat, SYS_linkat, SYS_unlinkat, SYS_mkdirat, SYS_renameat2,
    };

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (call == (uint64_t)calls[i])
            return true;
    return false;
}

/* Kills the split when it is about to change a name for the nth time, from 0. Returns
 * 0 if it ended before that. */
static int split_killed_at(const task *job, int nth)
{
    struct __ptrace_syscall_info call;
    pid_t child;
    int how = 0, deliver = 0;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(UNTRACED);
        raise(SIGSTOP);
        _exit(run_task(job));
    }
    waitpid(child, &how, 0);
    if (!WIFSTOPPED(how) || ptrace(PTRACE_SETOPTIONS, child, NULL,
                                   (void *)(intptr_t)PTRACE_O_TRACESYSGOOD) != 0)
        return UNTRACED;
    for (;;) {
        if (ptrace(PTRACE_SYSCALL, child, NULL, (void *)(intptr_t)deliver) != 0 ||
            waitpid(child, &how, 0) != child)
            return UNTRACED;
        if (!WIFSTOPPED(how))
            return WIFEXITED(how) ? WEXITSTATUS(how) : KILLED;
        deliver = WSTOPSIG(how) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(how);
        if (deliver || ptrace(PTRACE_GET_SYSCALL_INFO, child, (void *)sizeof(call),
                              (void *)&call) <= 0)
            continue;
        if (call.op == PTRACE_SYSCALL_INFO_ENTRY && is_naming(call.entry.nr) &&
            nth-- == 0) {
            kill(child, SIGKILL);
            return await(child);
        }
    }
}

/* What ease_split_open says: "" if it opens. */
static const char *opening_says(const char *dir)
{
    static char said[512];
    int ends[2];
    size_t got = 0;
    ssize_t more;
    pid_t child;

    if (pipe(ends) != 0)
        abort();
    fflush(stdout);
    child = fork();
    if (child == 0) {
        ease_split_parts parts = {.size = sizeof(parts)};
        ease_error err = {0};
        ease_status status = ease_split_open(dir, &parts, &err);
        size_t length = status ? strlen(err.text) : 0;

        _exit(write(ends[1], err.text, length) != (ssize_t)length);
    }
    close(ends[1]);
    while ((more = read(ends[0], said + got, sizeof(said) - 1 - got)) > 0)
        got += (size_t)more;
    close(ends[0]);
    said[got] = '\0';
    return await(child) ? "the child failed" : said;
}

/* ---- a place with two splits -------------------------------------------------- */

/* Two data sets whose splits have the same counts, a directory for the splits with
 * nothing else in it, and what either split looks like. */
typedef struct scene {
    char around[512], old_data[600], new_data[600], dir[600];
    task make_old, make_new;
    char *old, *new;
} scene;

static void write_data(const char *path, const char *mark)
{
    FILE *f = fopen(path, "we");

    fprintf(f, "user,item\n");
    for (int user = 0; user < 12; user++)
        for (int item = 0; item < 10; item++)
            fprintf(f, "%su%d,%si%d\n", mark, user, mark, item);
    fclose(f);
}

static bool set_scene(test *t, scene *s, const char *name, const char *new_protocol)
{
    snprintf(s->around, sizeof(s->around), "%s", test_path(name));
    snprintf(s->old_data, sizeof(s->old_data), "%s.old.csv", s->around);
    snprintf(s->new_data, sizeof(s->new_data), "%s.new.csv", s->around);
    snprintf(s->dir, sizeof(s->dir), "%s/s", s->around);
    write_data(s->old_data, "a");
    write_data(s->new_data, "b");
    mkdir(s->around, 0777);
    s->make_old = (task){.data = s->old_data, .protocol = "random", .dir = s->dir};
    s->make_new = (task){.data = s->new_data, .protocol = new_protocol, .dir = s->dir};
    check_int(t, split_in_child(&s->make_new), 0);
    s->new = test_snapshot(s->dir);
    check_int(t, split_in_child(&s->make_old), 0);
    s->old = test_snapshot(s->dir);
    return check(t, s->old && s->new);
}

static void clear_scene(scene *s)
{
    free(s->old);
    free(s->new);
}

static bool looks_like(const char *dir, const char *want)
{
    char *now = test_snapshot(dir);
    bool same = now && want && strcmp(now, want) == 0;

    free(now);
    return same;
}

/* Nothing but the split is in the directory around it. */
static bool is_alone(const scene *s)
{
    return looks_like(s->around, "[s]\n");
}

/* ---- killed ------------------------------------------------------------------- */

static void a_killed_split_leaves_the_old_or_the_new(test *t)
{
    scene s;
    int nth = 0, code, olds = 0, news = 0;

    if (!set_scene(t, &s, "killed", "leave-last"))
        return;
    for (; (code = split_killed_at(&s.make_new, nth)) == KILLED; nth++) {
        bool old = looks_like(s.dir, s.old), new = looks_like(s.dir, s.new);

        if (!check(t, old || new))
            printf("  before naming call %d\n", nth);
        check_text(t, opening_says(s.dir), "");
        olds += old;
        news += new;
        /* The next one is as ever, and removes what the killed one has left. */
        check_int(t, split_in_child(&s.make_old), 0);
        check(t, looks_like(s.dir, s.old) && is_alone(&s));
    }
    clear_scene(&s);
    if (code == UNTRACED) {
        test_skip(t, "ptrace is not permitted");
        return;
    }
    check_int(t, code, 0);
    printf("  killed at %d calls: %d times the old one, %d the new one\n", nth, olds,
           news);
    check(t, olds > 9 && news > 0);
}

static void a_killed_first_split_leaves_nothing_or_all(test *t)
{
    scene s;
    int nth = 0, code;

    if (!set_scene(t, &s, "first", "random"))
        return;
    s.make_new.dir = strcat(s.dir, "2");
    while ((code = split_killed_at(&s.make_new, nth)) == KILLED) {
        check(t, access(s.dir, F_OK) != 0 || looks_like(s.dir, s.new));
        nth++;
    }
    check(t, code == UNTRACED || looks_like(s.dir, s.new));
    clear_scene(&s);
    if (code == UNTRACED)
        test_skip(t, "ptrace is not permitted");
}

/* As looks_like, but for what a killed split has left in the directory. */
static bool looks_much_like(const char *dir, const char *want)
{
    char *now = test_snapshot(dir), *left = now ? strstr(now, "[.ease.") : NULL;
    bool same;

    if (left) {
        char *rest = strchr(left, '\n') + 1;

        memmove(left, rest, strlen(rest) + 1);
    }
    same = now && strcmp(now, want) == 0;
    free(now);
    return same;
}

/* Files are replaced one by one: what is half done says so, and the directory stays the
 * same one. */
static void check_unfinished(test *t, scene *s)
{
    struct stat before = {0}, after = {0};
    int nth = 0, code, half = 0, whole = 0;

    while ((code = split_killed_at(&s->make_new, nth++)) == KILLED) {
        const char *said = opening_says(s->dir);

        if (*said)
            check_contains(t, said, "split.json: unfinished");
        else
            check(t,
                  looks_much_like(s->dir, s->old) || looks_much_like(s->dir, s->new));
        half += *said != '\0';
        whole += *said == '\0';
        check_int(t, split_in_child(&s->make_old), 0);
        check(t, looks_like(s->dir, s->old) && is_alone(s));
        stat(s->dir, &before);
    }
    if (code == UNTRACED) {
        test_skip(t, "ptrace is not permitted");
        return;
    }
    check_int(t, code, 0);
    check(t, half > 0 && whole > 0 && looks_like(s->dir, s->new) && is_alone(s));
    stat(s->dir, &after);
    check_int(t, after.st_ino, before.st_ino);
}

static void in_the_working_directory_half_a_split_does_not_open(test *t)
{
    scene s;

    if (!set_scene(t, &s, "here", "leave-last"))
        return;
    s.make_new.from = s.dir;
    s.make_new.dir = ".";
    check_unfinished(t, &s);
    clear_scene(&s);
}

static void without_exchange_half_a_split_does_not_open(test *t)
{
    scene s;

    if (!set_scene(t, &s, "plain", "leave-last"))
        return;
    s.make_new.no_exchange = true;
    check_unfinished(t, &s);
    clear_scene(&s);
}

/* ---- at once ------------------------------------------------------------------ */

static void two_splits_at_once_do_not_mix(test *t)
{
    scene s;
    int olds = 0, news = 0;

    if (!set_scene(t, &s, "both", "leave-last"))
        return;
    for (int i = 0; i < 30; i++) {
        pid_t one = start_task(&s.make_new), other = start_task(&s.make_old);

        check_int(t, await(one), 0);
        check_int(t, await(other), 0);
        olds += looks_like(s.dir, s.old);
        news += looks_like(s.dir, s.new);
        check(t, is_alone(&s));
    }
    check_int(t, olds + news, 30);
    clear_scene(&s);
}

/* 'a' or 'b': whose ids the parts have; 0: of both. */
static char whose(const ease_split_parts *p)
{
    const ease_interactions *const parts[] = {p->train, p->validation_input,
                                              p->validation_target, p->test_input,
                                              p->test_target};
    char mark = *ease_interactions_user_id(p->train, 0);

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (*ease_interactions_user_id(parts[i], 0) != mark ||
            *ease_interactions_item_id(parts[i], 0) != mark)
            return '\0';
    return mark;
}

/* Opens the split again and again; each time it is one, or was replaced. */
static int read_often(const char *dir)
{
    int opened = 0;

    for (int i = 0; i < 60; i++) {
        ease_split_parts p = {.size = sizeof(p)};
        ease_error err = {0};
        ease_status status = ease_split_open(dir, &p, &err);
        bool mixed = !status && !whose(&p);

        ease_split_close(&p);
        opened += !status;
        if (!mixed && (!status || strstr(err.text, "was replaced while it was read")))
            continue;
        printf("  %s\n", mixed ? "parts of two splits" : err.text);
        return FAILED;
    }
    printf("  opened %d of 60 times\n", opened);
    return opened ? 0 : FAILED;
}

static void who_reads_meanwhile_sees_one_split(test *t)
{
    int how = 0;
    scene s;
    pid_t reader;

    if (!set_scene(t, &s, "reader", "random"))
        return;
    fflush(stdout);
    reader = fork();
    if (reader == 0) {
        int code = read_often(s.dir);

        fflush(stdout);
        _exit(code);
    }
    for (int i = 0; waitpid(reader, &how, WNOHANG) == 0; i++) {
        check_int(t, split_in_child(i % 2 ? &s.make_old : &s.make_new), 0);
        usleep((useconds_t)(i % 16) * 10000);
    }
    check(t, WIFEXITED(how) && WEXITSTATUS(how) == 0);
    clear_scene(&s);
}

/* ---- places ------------------------------------------------------------------- */

static const char *path_in(const char *dir, const char *name)
{
    static char path[1200];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static void leftovers_of_killed_runs_are_removed(test *t)
{
    scene s;

    if (!set_scene(t, &s, "leftovers", "leave-last"))
        return;
    mkdir(path_in(s.around, ".s.0123ab.part"), 0777);
    test_write_text(path_in(s.around, ".s.0123ab.part/train.csv"), "uid,sid\n");
    test_write_text(path_in(s.around, ".s.0123ab.part/.ease.1.2.part"), "uid");
    test_write_text(path_in(s.dir, ".ease.123.0.part"), "uid,s");
    mkdir(path_in(s.dir, ".ease.4567cd.part"), 0777);
    test_write_text(path_in(s.dir, ".ease.4567cd.part/train.csv"), "uid,sid\n");
    check_int(t, split_in_child(&s.make_new), 0);
    check(t, looks_like(s.dir, s.new) && is_alone(&s));
    clear_scene(&s);
}

/* What is not ours is never removed, whatever its name. */
static void a_foreign_file_in_a_leftover_stays(test *t)
{
    scene s;

    if (!set_scene(t, &s, "foreign", "leave-last"))
        return;
    mkdir(path_in(s.around, ".s.0123ab.part"), 0777);
    test_write_text(path_in(s.around, ".s.0123ab.part/thesis.tex"), "mine");
    test_write_text(path_in(s.around, ".s.other.part"), "mine");
    check_int(t, split_in_child(&s.make_new), 0);
    check(t, looks_like(s.dir, s.new));
    check(t, access(path_in(s.around, ".s.0123ab.part/thesis.tex"), F_OK) == 0);
    check(t, access(path_in(s.around, ".s.other.part"), F_OK) == 0);
    clear_scene(&s);
}

static void a_symbolic_link_stays_one(test *t)
{
    struct stat st;
    scene s;

    if (!set_scene(t, &s, "links", "leave-last"))
        return;
    check_int(t, symlink("s", path_in(s.around, "link")), 0);
    s.make_new.dir = path_in(s.around, "link");
    check_int(t, split_in_child(&s.make_new), 0);
    check(t, looks_like(s.dir, s.new));
    check(t, lstat(path_in(s.around, "link"), &st) == 0 && S_ISLNK(st.st_mode));
    unlink(path_in(s.around, "link"));
    check(t, is_alone(&s));
    check_int(t, symlink("nowhere", path_in(s.around, "link")), 0);
    check_int(t, split_in_child(&s.make_new), FAILED);
    check(t, access(path_in(s.around, "nowhere"), F_OK) != 0);
    clear_scene(&s);
}

static void slashes_and_long_names_are_as_good(test *t)
{
    char name[256];
    scene s;

    if (!set_scene(t, &s, "names", "leave-last"))
        return;
    strcat(s.dir, "///");
    check_int(t, split_in_child(&s.make_new), 0);
    check(t, looks_like(s.dir, s.new) && is_alone(&s));
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    s.make_new.dir = path_in(s.around, name);
    for (int i = 0; i < 2; i++) {
        check_int(t, split_in_child(&s.make_new), 0);
        check(t, looks_like(s.make_new.dir, s.new));
    }
    clear_scene(&s);
}

static int mode_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (int)(st.st_mode & 07777) : -1;
}

static void permissions_are_kept(test *t)
{
    scene s;

    if (!set_scene(t, &s, "modes", "random"))
        return;
    chmod(s.dir, 02750);
    chmod(path_in(s.dir, "train.csv"), 0640);
    check_int(t, split_in_child(&s.make_new), 0);
    check_int(t, mode_of(s.dir), 02750);
    check_int(t, mode_of(path_in(s.dir, "train.csv")), 0640);
    check_int(t, mode_of(path_in(s.dir, "test_te.csv")), 0666 & ~umask(022));
    clear_scene(&s);
}

/* A mount point cannot be renamed: its files are replaced where they are. */
static void a_mount_point_takes_a_split(test *t)
{
    scene s;
    struct stat before, after;

    if (!set_scene(t, &s, "mount", "leave-last"))
        return;
    if (mount(s.dir, s.dir, NULL, MS_BIND, NULL) != 0) {
        test_skip(t, "mounting is not permitted");
        clear_scene(&s);
        return;
    }
    stat(s.dir, &before);
    check_int(t, split_in_child(&s.make_new), 0);
    check(t, looks_like(s.dir, s.new) && is_alone(&s));
    stat(s.dir, &after);
    check_int(t, after.st_ino, before.st_ino);
    check_int(t, umount(s.dir), 0);
    clear_scene(&s);
}

/* Nothing can be made beside the directory, only in it. */
static void a_directory_in_one_that_cannot_be_written_takes_a_split(test *t)
{
    enum { NOBODY = 65534 };
    bool root = geteuid() == 0;
    scene s;

    if (!set_scene(t, &s, "closed", "leave-last"))
        return;
    chmod(s.around, 0555);
    if (root) { /* who may write everywhere */
        s.make_new.user = NOBODY;
        chmod(test_path("."), 0755);
        check_int(t, chown(s.dir, NOBODY, NOBODY), 0);
    }
    check_int(t, split_in_child(&s.make_new), 0);
    check(t, looks_like(s.dir, s.new) && is_alone(&s));
    chmod(s.around, 0755);
    clear_scene(&s);
}

static const test_case cases[] = {
    TEST(a_killed_split_leaves_the_old_or_the_new),
    TEST(a_killed_first_split_leaves_nothing_or_all),
    TEST(in_the_working_directory_half_a_split_does_not_open),
    TEST(without_exchange_half_a_split_does_not_open),
    TEST(two_splits_at_once_do_not_mix),
    TEST(who_reads_meanwhile_sees_one_split),
    TEST(leftovers_of_killed_runs_are_removed),
    TEST(a_foreign_file_in_a_leftover_stays),
    TEST(a_symbolic_link_stays_one),
    TEST(slashes_and_long_names_are_as_good),
    TEST(permissions_are_kept),
    TEST(a_mount_point_takes_a_split),
    TEST(a_directory_in_one_that_cannot_be_written_takes_a_split),
};
TEST_MAIN(cases)
