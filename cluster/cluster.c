/* The program ease-cluster: one process of a run that mpirun or srun starts. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pulse.h"
#include "reading.h"
#include "training.h"

enum { EXIT_USAGE = 2, EXIT_DATA = 3, EXIT_MEMORY = 4, EXIT_NUMERICAL = 5 };
enum { CHECKPOINT_MINUTES = 10 };

static const char help[] =
    "Usage: mpirun -np P ease-cluster train DATA... -o MODEL --lambda L [options]\n"
    "       mpirun -np P ease-cluster train --gram FILE.gram -o MODEL --lambda L "
    "[options]\n"
    "\n"
    "Trains the model that `ease train` trains, on P processes of several machines.\n"
    "Each has a share of the matrix, and of the users of DATA. The directory of the\n"
    "model and a Gram file must be shared by all machines; DATA is read by process 0\n"
    "alone. The model is the same file, byte for byte.\n"
    "\n"
    "  DATA...               interactions, as for ease train; - is standard input\n"
    "  --gram FILE           X'X, made by ease gram, in place of DATA\n"
    "  -o, --output MODEL    the model; an existing file is replaced by a complete "
    "one\n"
    "  --lambda L            regularization, above 0\n"
    "  --kind KIND           counts (default), covariance or correlation\n"
    "  --storage FORM        f16 (default), f32 or packed\n"
    "  --precision f32|f64   of the solve; float32 that is not enough is repeated in\n"
    "                        float64\n"
    "  --threads N           of each process; by default the processors of a machine\n"
    "                        are shared by its processes\n"
    "  --memory-limit SIZE   of each process, as in 500M or 2G\n"
    "  --workdir DIR         keeps checkpoints of the solve there, which all machines\n"
    "                        must share: a run that was ended goes on if it is "
    "started\n"
    "                        again, with any number of processes\n"
    "  --checkpoint-minutes M  from one checkpoint to the next; 10 by default, 0: one\n"
    "                        after each step\n"
    "  -q, --quiet           only errors\n"
    "  --verbose             also the bytes that are sent\n"
    "  -h, --help\n"
    "\n"
    "Reading DATA:\n"
    "\n" READING_HELP;

/* ---- failing --------------------------------------------------------------------- */

static int exit_code_of(ease_status status)
{
    switch (status) {
    case EASE_OK:
        return 0;
    case EASE_E_ARG:
        return EXIT_USAGE;
    case EASE_E_PARSE:
    case EASE_E_DATA:
    case EASE_E_FORMAT:
    case EASE_E_VERSION:
        return EXIT_DATA;
    case EASE_E_NOMEM:
    case EASE_E_MEMORY_LIMIT:
    case EASE_E_TOO_LARGE:
        return EXIT_MEMORY;
    case EASE_E_NOT_POSDEF:
    case EASE_E_ACCURACY:
        return EXIT_NUMERICAL;
    default:
        return 1;
    }
}

/* One line, from process 0 alone. */
static int fail(const group *g, int code, const char *text)
{
    if (g->rank == 0)
        fprintf(stderr, "ease-cluster: %s\n", text);
    return code;
}

static int usage(const group *g, const char *what, const char *value)
{
    if (g->rank == 0)
        fprintf(stderr, "ease-cluster: %s%s%s%s\nTry 'ease-cluster --help'.\n", what,
                value ? " '" : "", value ? value : "", value ? "'" : "");
    return EXIT_USAGE;
}

/* ---- arguments ------------------------------------------------------------------- */

/* The index of a word in a list that ends with NULL; -1: it is not there. */
static int find(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}

static bool take_real(const char *text, double *to)
{
    char *end;

    *to = strtod(text, &end);
    return end != text && !*end && isfinite(*to) && *to > 0;
}

static bool take_minutes(const char *text, double *to)
{
    char *end;

    *to = strtod(text, &end);
    return end != text && !*end && isfinite(*to) && *to >= 0;
}

static bool take_threads(const char *text, int *to)
{
    char *end;
    long value = strtol(text, &end, 10);

    *to = (int)value;
    return end != text && !*end && value >= 1 && value <= 1024;
}

static bool take_size(const char *text, size_t *to)
{
    static const char units[] = "kMGT";
    char *end;
    double value = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;

    if (unit) {
        value *= pow(1000, (double)(unit - units + 1));
        end++;
    }
    *to = (size_t)value;
    return end != text && !*end && value >= 1 && value < 1e18;
}

enum {
    LAMBDA = 256,
    GRAM,
    KIND,
    STORAGE,
    PRECISION,
    THREADS,
    MEMORY,
    WORKDIR,
    MINUTES,
    VERBOSE
};

static const struct option options[] = {
    {"gram", required_argument, NULL, GRAM},
    {"output", required_argument, NULL, 'o'},
    {"lambda", required_argument, NULL, LAMBDA},
    {"kind", required_argument, NULL, KIND},
    {"storage", required_argument, NULL, STORAGE},
    {"precision", required_argument, NULL, PRECISION},
    {"threads", required_argument, NULL, THREADS},
    {"memory-limit", required_argument, NULL, MEMORY},
    {"workdir", required_argument, NULL, WORKDIR},
    {"checkpoint-minutes", required_argument, NULL, MINUTES},
    {"quiet", no_argument, NULL, 'q'},
    {"verbose", no_argument, NULL, VERBOSE},
    {"help", no_argument, NULL, 'h'},
    READING_OPTIONS,
    {NULL, 0, NULL, 0}};

static bool take_word(const char *const *words, const char *word, int *to)
{
    *to = find(words, word);
    return *to >= 0;
}

/* False if the option does not take this value. */
static bool take_option(int letter, const char *value, train_order *o)
{
    static const char *const kinds[] = {"counts", "covariance", "correlation", NULL};
    static const char *const storages[] = {"f16", "f32", "packed", NULL};
    static const ease_storage numbers[] = {EASE_STORE_F16, EASE_STORE_F32,
                                           EASE_STORE_PACKED};
    static const char *const precisions[] = {"f32", "f64", NULL};
    int at = 0;

    if (reading_is(letter)) {
        o->reads = true;
        return reading_take(letter, value, &o->reading);
    }
    switch (letter) {
    case GRAM:
        o->gram = value;
        return true;
    case 'o':
        o->output = value;
        return true;
    case LAMBDA:
        return take_real(value, &o->options.lambda);
    case KIND:
        if (!take_word(kinds, value, &at))
            return false;
        o->options.kind = (ease_gram_kind)at;
        return true;
    case STORAGE:
        if (!take_word(storages, value, &at))
            return false;
        o->storage = numbers[at];
        return true;
    case PRECISION:
        if (!take_word(precisions, value, &at))
            return false;
        o->options.precision = at ? EASE_F64 : EASE_F32;
        return true;
    case THREADS:
        return take_threads(value, &o->threads);
    case MEMORY:
        return take_size(value, &o->memory_limit);
    case WORKDIR:
        o->workdir = value;
        return true;
    case MINUTES:
        return take_minutes(value, &o->checkpoint_minutes);
    case VERBOSE:
        o->verbose = true;
        return true;
    default:
        o->quiet = true;
        return true;
    }
}

static void take_data(char **paths, train_order *o)
{
    o->data = paths[0];
    if (paths[0] && paths[1])
        o->reading.more = (const char *const *)(paths + 1);
}

/* Returns 0, or the exit code after a message; -1 after the help. */
static int parse(const group *g, int argc, char **argv, train_order *o)
{
    int letter, index = 0;

    opterr = 0;
    while ((letter = getopt_long(argc, argv, "o:qh", options, &index)) != -1) {
        if (letter == '?')
            return usage(g,
                         "unknown option, or one without its value:", argv[optind - 1]);
        if (letter == 'h') {
            if (g->rank == 0)
                fputs(help, stdout);
            return -1;
        }
        if (!take_option(letter, optarg, o))
            return usage(g, "an option does not take", optarg);
    }
    if (optind >= argc || strcmp(argv[optind], "train") != 0)
        return usage(g, "the verb 'train' is required", NULL);
    take_data(argv + optind + 1, o);
    if (!o->gram && !o->data)
        return usage(g, "either DATA or --gram FILE is required", NULL);
    if (o->gram && o->data)
        return usage(g, "either DATA or --gram FILE, not both", NULL);
    if (o->gram && o->reads)
        return usage(g, "options for reading DATA do not apply to a Gram file", NULL);
    if (!o->output)
        return usage(g, "--output MODEL is required", NULL);
    if (isnan(o->options.lambda))
        return usage(g, "--lambda L is required", NULL);
    if (o->checkpoint_minutes >= 0 && !o->workdir)
        return usage(g, "--checkpoint-minutes goes with --workdir", NULL);
    if (o->checkpoint_minutes < 0)
        o->checkpoint_minutes = CHECKPOINT_MINUTES;
    return 0;
}

static int run(const group *g, train_order *o)
{
    ease_error err = {0};
    ease_status status;

    if (!o->threads) {
        o->threads = ease__threads(0) / g->neighbours;
        o->threads = o->threads < 1 ? 1 : o->threads;
    }
    o->options.threads = o->reading.threads = o->threads;
    o->reading.memory_limit = o->memory_limit;
    o->reading.columns_option = "--columns ";
    pulse_start(g, o->quiet);
    status = train_cluster(g, o, &err);
    pulse_end();
    return status ? fail(g, exit_code_of(status), err.text) : 0;
}

int main(int argc, char **argv)
{
    train_order order = {.storage = EASE_STORE_F16,
                         .checkpoint_minutes = -1}; /* not given */
    group g;
    int code;

    group_begin(&argc, &argv, &g);
    ease_train_options_init(&order.options);
    ease_read_options_init(&order.reading);
    order.options.lambda = (double)NAN; /* not given */
    code = parse(&g, argc, argv, &order);
    if (code == 0)
        code = run(&g, &order);
    group_end(&g);
    return code < 0 ? 0 : code;
}
