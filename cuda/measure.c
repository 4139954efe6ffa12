/* Times a plugin on a made Gram matrix: cuda-measure PLUGIN ITEMS REPEATS [BYTES [f64]]
 *
 * The matrix is lambda I plus a matrix of low rank with long-tailed items, in the host's
 * tiles. For each call prints what the plugin logs, and a line with the seconds from tiles
 * to tiles, the predicted ones, bytes of the device, the residual by the host and the
 * peak of the process's memory beside the matrix. BYTES: the most memory of the device to
 * use, 0: what there is. bench/cuda.py reads the output. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "solve/backend.h"

enum { RANK = 16, EDGE = 896, THREADS = 16 };

typedef struct problem {
    ease_backend_matrix a;
    size_t bytes;             /* of the matrix */
    float *factors;           /* RANK for each item */
    double *v, *image, *back; /* v, A v, P A v */
} problem;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void print(void *user, int level, const char *text)
{
    (void)user;
    (void)level;
    printf("%s\n", text);
}

static float noise(uint64_t x)
{
    x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
    return (float)((x ^ (x >> 32)) & 0xffffff) / 0x1p24f;
}

static double get(const ease_backend_matrix *a, size_t at)
{
    return a->precision == EASE_BACKEND_F64 ? ((const double *)a->data)[at]
                                            : (double)((const float *)a->data)[at];
}

static void put(const ease_backend_matrix *a, size_t at, float value)
{
    if (a->precision == EASE_BACKEND_F64)
        ((double *)a->data)[at] = (double)value;
    else
        ((float *)a->data)[at] = value;
}

static void fill(const problem *p)
{
    const ease_backend_matrix *a = &p->a;

#pragma omp parallel for schedule(dynamic)
    for (int32_t i = 0; i < a->tiles * a->edge; i++)
        for (int32_t j = 0; j <= i; j++) {
            float sum = i == j ? (i < a->items ? 100.0f : 1.0f) : 0.0f;

            if (i < a->items)
                for (size_t k = 0; k < RANK; k++)
                    sum += p->factors[(size_t)i * RANK + k] *
                           p->factors[(size_t)j * RANK + k];
            put(a, ease_backend_offset(a, i, j), sum);
        }
}

/* y += A x for the rows of tile row b: of the tiles left of the diagonal and on it, and
 * of those below it, transposed. */
static void multiply_row(const ease_backend_matrix *a, int32_t b, const double *x,
                         double *y)
{
    int32_t top = b * a->edge, all = a->tiles * a->edge;

    for (int32_t i = top; i < all; i++)
        for (int32_t j = 0; j < a->edge; j++) {
            int32_t c = top + j;

            if (c < i)
                y[c] += get(a, ease_backend_offset(a, i, c)) * x[i];
        }
    for (int32_t i = top; i < top + a->edge; i++)
        for (int32_t j = 0; j <= i; j++)
            y[i] += get(a, ease_backend_offset(a, i, j)) * x[j];
}

static void multiply(const ease_backend_matrix *a, const double *x, double *y)
{
    memset(y, 0, (size_t)a->tiles * (size_t)a->edge * sizeof(*y));
#pragma omp parallel for schedule(dynamic)
    for (int32_t b = 0; b < a->tiles; b++)
        multiply_row(a, b, x, y);
}

static double residual_of(const problem *p)
{
    double off = 0, size = 0;

    multiply(&p->a, p->image, p->back);
    for (int32_t i = 0; i < p->a.items; i++) {
        off += (p->back[i] - p->v[i]) * (p->back[i] - p->v[i]);
        size += p->v[i] * p->v[i];
    }
    return sqrt(off / size);
}

static int make(problem *p, int32_t n, int32_t precision)
{
    int32_t tiles = (n + EDGE - 1) / EDGE;
    size_t side = (size_t)tiles * EDGE;

    p->a = (ease_backend_matrix){n, EDGE, tiles, precision, (size_t)EDGE * EDGE, NULL};
    p->bytes = (size_t)tiles * ((size_t)tiles + 1) / 2 * p->a.stride *
               (precision == EASE_BACKEND_F64 ? sizeof(double) : sizeof(float));
    p->factors = malloc(side * RANK * sizeof(float));
    p->v = calloc(3 * side, sizeof(*p->v));
    p->a.data = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p->a.data == MAP_FAILED || !p->factors || !p->v) {
        fprintf(stderr, "%zu bytes are too many\n", p->bytes);
        return 1;
    }
    p->image = p->v + side;
    p->back = p->image + side;
    for (size_t i = 0; i < side * RANK; i++)
        p->factors[i] = powf((float)(i / RANK) + 1, -0.4f) * 20 * noise((uint64_t)i);
    for (size_t i = 0; i < (size_t)n; i++)
        p->v[i] = 2 * (double)noise((uint64_t)i + 12345) - 1;
    return 0;
}

/* The largest resident size so far without the matrix, which is all resident. */
static double peak_bytes(const problem *p)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return 1024.0 * (double)usage.ru_maxrss - (double)p->bytes;
}

static int measure(const ease_backend *b, const problem *p, int repeats, size_t limit)
{
    double n = p->a.items, rate = 1;
    ease_backend_scratch scratch;

    b->scratch(&p->a, THREADS, limit, &scratch);
    for (int r = 0; r < repeats; r++) {
        ease_backend_call call = {
            .threads = THREADS, .device_memory = limit, .log = print};
        double start, seconds;
        int32_t status;

        fill(p);
        multiply(&p->a, p->v, p->image);
        (void)b->rate(&p->a, &call, &rate);
        start = now();
        status = b->invert(&p->a, &call);
        seconds = now() - start;
        if (status) {
            fprintf(stderr, "%d items: status %d, %s\n", (int)p->a.items, (int)status,
                    call.text);
            return 1;
        }
        printf("items %d seconds %.4f predicted %.4f device_bytes %zu residual %.1e "
               "host_bytes %.0f\n",
               (int)p->a.items, seconds, n * n * n / rate, scratch.device_bytes,
               residual_of(p), peak_bytes(p));
        fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv)
{
    void *object = argc > 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int wide = argc > 5 && strcmp(argv[5], "f64") == 0;
    char why[EASE_BACKEND_TEXT] = "";
    ease_backend_entry *entry;
    double start = now();
    const ease_backend *b;
    problem p;
    int code;

    if (!object) {
        fprintf(stderr, "%s\n",
                argc > 3 ? dlerror()
                         : "usage: cuda-measure PLUGIN ITEMS REPEATS [BYTES [f64]]");
        return 1;
    }
    *(void **)&entry = dlsym(object, EASE_BACKEND_ENTRY);
    b = entry(EASE_BACKEND_ABI);
    if (b->probe(why) != EASE_BACKEND_OK) {
        fprintf(stderr, "%s\n", why);
        return 77;
    }
    printf("probe %.4f\n", now() - start);
    code = make(&p, atoi(argv[2]), wide ? EASE_BACKEND_F64 : EASE_BACKEND_F32);
    if (!code)
        code = measure(b, &p, atoi(argv[3]),
                       argc > 4 ? (size_t)strtod(argv[4], NULL) : 0);
    free(p.factors);
    free(p.v);
    return code;
}
