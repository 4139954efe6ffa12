#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nearest.h"
#include "results.h"
#include "verbs.h"

const verb *const all_verbs[] = {
#define X(name) &verb_##name,
    VERBS(X)
#undef X
        NULL};

void print_overview(FILE *to)
{
    fputs("ease: recommendations in closed form\n\nUsage: ease VERB ...\n\n", to);
    for (size_t i = 0; all_verbs[i]; i++)
        if (!all_verbs[i]->hidden)
            fprintf(to, "  %-12s %s\n", all_verbs[i]->name, all_verbs[i]->summary);
    fputs("\n"
          "First steps:\n"
          "  ease train ratings.csv -o model.ease --lambda 500\n"
          "  ease recommend model.ease --history ID,ID,ID -k 10\n\n"
          "'ease VERB --help' explains a verb, 'ease --version' prints the version.\n",
          to);
}

const verb *find_verb(console *c, const char *name)
{
    nearest near = {.word = name};
    char phrase[120];

    for (size_t i = 0; all_verbs[i]; i++) {
        if (strcmp(all_verbs[i]->name, name) == 0)
            return all_verbs[i];
        if (!all_verbs[i]->hidden)
            nearest_offer(&near, all_verbs[i]->name);
    }
    if (near.count > 1)
        near.count = 1;
    usage_error(c, NULL, "unknown verb '%s'%s", name,
                nearest_phrase(&near, "", phrase, sizeof(phrase)));
    return NULL;
}

static int run_verb(console *c, const verb *v, int argc, char **argv)
{
    void *args = NULL;
    common_args *common;
    int code = options_parse(c, v, argc, argv, &args);

    if (code)
        return code;
    common = args;
    if (common->help) {
        options_help(stdout, v);
    } else {
        console_configure(c, common->quiet, common->no_progress);
        code = v->run(c, args);
        console_clear(c);
        if (common->verbose)
            phases_note(c);
    }
    options_free(v, args);
    return code;
}

static int run(console *c, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    const verb *v;

    if (!word) {
        print_overview(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        print_overview(stdout);
        return EXIT_DONE;
    }
    if (strcmp(word, "--version") == 0) {
        printf("ease %s\n", ease_version());
        return EXIT_DONE;
    }
    if (word[0] == '-')
        return usage_error(c, NULL, "a verb comes first, not '%s'", word);
    v = find_verb(c, word);
    return v ? run_verb(c, v, argc - 2, argv + 2) : EXIT_USAGE;
}

/* Opens /dev/null for each of the descriptors 0, 1 and 2 that is closed: otherwise a
 * file opened later would get our messages. It is read-only, so that writing fails
 * and is noticed. */
static bool occupy_standard_files(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    return fd < 0 || close(fd) == 0;
}

/* Starts the program again with OPENBLAS_CORETYPE set, if OpenBLAS has chosen
 * kernels that do not suit the processor: it reads its environment only when it is
 * loaded. This happens at most once, since the variable is then set. If it fails,
 * the program continues. */
static void choose_kernels(char **argv)
{
    ease_blas_info blas = {.size = sizeof(blas)};

    ease_blas_describe(&blas);
    if (blas.better && setenv("OPENBLAS_CORETYPE", blas.better, 0) == 0)
        execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
    console c = CONSOLE_START;
    int code, closed = EXIT_DONE;

    if (!getenv("OPENBLAS_CORETYPE"))
        choose_kernels(argv);
    if (!occupy_standard_files())
        return EXIT_FAILED;
    signals_install();
    code = run(&c, argc, argv);
    if (code && signals_caught())
        output_drop();
    else
        closed = output_close(&c);
    return code ? code : closed;
}
