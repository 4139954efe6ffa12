/* The backend auto: for each matrix the one of the others that is predicted to be the
 * fastest. */
#include <pthread.h>
#include <stdio.h>

#include "solve/backends.h"

/* True if b can invert a matrix of this shape here; then also its predicted rate. */
static bool usable(const ease_backend *b, const ease_backend_matrix *shape,
                   int32_t threads, size_t device_memory, double *flops_a_second)
{
    ease_backend_call call = {
        .threads = threads, .device_memory = device_memory, .item = -1};
    char why[EASE_BACKEND_TEXT] = "";
    ease_backend_scratch s;

    if (b->probe(why) != EASE_BACKEND_OK || !(b->precisions >> shape->precision & 1))
        return false;
    b->scratch(shape, threads, device_memory, &s);
    if (s.device_available > 0 && s.device_bytes > s.device_available)
        return false;
    return b->rate(shape, &call, flops_a_second) == EASE_BACKEND_OK;
}

/* The fastest; the processors, which are there everywhere, if nothing else is. */
static const ease_backend *fastest(const ease_backend_matrix *shape, int32_t threads,
                                   size_t device_memory)
{
    const ease_backend *best = &ease__cpu;
    double most = 0, rate;
    char why[EASE_BACKEND_TEXT];
    bool choice = false;

    for (int i = 1; ease__backends[i]; i++)
        choice |= ease__backends[i] != &ease__auto &&
                  ease__backends[i]->probe(why) == EASE_BACKEND_OK;
    for (int i = 0; choice && ease__backends[i]; i++) {
        const ease_backend *b = ease__backends[i];

        if (b != &ease__auto && usable(b, shape, threads, device_memory, &rate) &&
            rate > most) {
            most = rate;
            best = b;
        }
    }
    return best;
}

/* ---- decisions ------------------------------------------------------------------- */

/* What was chosen: a choice is kept, so that the inversion is done by the backend that
 * the plan has named, however fast the processors seem the next time. In a process that
 * lives long, other work may have filled a device meanwhile, or left it. */
typedef struct decision {
    ease_backend_matrix shape;
    int32_t threads;
    size_t device_memory;
    const ease_backend *choice;
    double made; /* when, in seconds */
} decision;

enum { DECISIONS = 32 }; /* the oldest one is forgotten */
static const double VALID_SECONDS = 600;

static decision decisions[DECISIONS];
static int decided;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static bool is_about(const decision *d, const ease_backend_matrix *shape,
                     int32_t threads, size_t device_memory)
{
    return d->choice && d->shape.items == shape->items &&
           d->shape.edge == shape->edge && d->shape.precision == shape->precision &&
           d->threads == threads && d->device_memory == device_memory;
}

static bool still_holds(const decision *d)
{
    double rate;

    return ease__seconds() - d->made < VALID_SECONDS &&
           (d->choice == &ease__cpu ||
            usable(d->choice, &d->shape, d->threads, d->device_memory, &rate));
}

static const ease_backend *chosen(const ease_backend_matrix *shape, int32_t threads,
                                  size_t device_memory)
{
    const ease_backend *b = NULL;

    (void)pthread_mutex_lock(&mutex);
    for (int i = 0; !b && i < DECISIONS; i++)
        if (is_about(&decisions[i], shape, threads, device_memory))
            b = decisions[i].choice = still_holds(&decisions[i]) ? decisions[i].choice
                                                                 : NULL;
    if (!b) {
        b = fastest(shape, threads, device_memory);
        decisions[decided] = (decision){*shape, threads, device_memory, b,
                                        ease__seconds()};
        decided = (decided + 1) % DECISIONS;
    }
    (void)pthread_mutex_unlock(&mutex);
    return b;
}

/* ---- the table ------------------------------------------------------------------- */

static int32_t probe(char why[EASE_BACKEND_TEXT])
{
    return ease__cpu.probe(why);
}

static void scratch(const ease_backend_matrix *shape, int32_t threads,
                    size_t device_memory, ease_backend_scratch *out)
{
    chosen(shape, threads, device_memory)->scratch(shape, threads, device_memory, out);
}

static int32_t rate(const ease_backend_matrix *shape, ease_backend_call *call,
                    double *flops_a_second)
{
    return chosen(shape, call->threads, call->device_memory)
        ->rate(shape, call, flops_a_second);
}

static int32_t invert(const ease_backend_matrix *a, ease_backend_call *call)
{
    const ease_backend *b = chosen(a, call->threads, call->device_memory);
    char text[EASE_BACKEND_TEXT];

    if (b != &ease__cpu && call->log) {
        snprintf(text, sizeof(text), "backend %.40s", b->name);
        call->log(call->user, 2, text);
    }
    return b->invert(a, call);
}

static const ease_backend *careful(const ease_backend_matrix *shape, int32_t threads,
                                   size_t device_memory)
{
    const ease_backend *b = chosen(shape, threads, device_memory);

    return b->careful ? b->careful(shape, threads, device_memory) : NULL;
}

static void file_scratch(const ease_backend_matrix *shape, int32_t threads,
                         size_t memory, ease_backend_file_scratch *out)
{
    ease__cpu.file_scratch(shape, threads, memory, out);
}

static int32_t invert_file(const ease_backend_file *file, ease_backend_call *call)
{
    return ease__cpu.invert_file(file, call);
}

const ease_backend ease__auto = {
    .abi = EASE_BACKEND_ABI,
    .precisions = 1u << EASE_BACKEND_F32 | 1u << EASE_BACKEND_F64,
    .name = "auto",
    .about = "the fastest of the others, by their predictions for the matrix",
    .probe = probe,
    .scratch = scratch,
    .rate = rate,
    .invert = invert,
    .file_scratch = file_scratch,
    .invert_file = invert_file,
    .careful = careful,
};
