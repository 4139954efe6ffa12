/* The toy backend in the place of a device, for tests of what the library does with the
 * plugin of a GPU. What it claims and where it fails, it reads from the environment:
 *
 *   TOY_RATE        flops per second that it promises
 *   TOY_RATE_LATER  the same, when it is asked again
 *   TOY_AVAILABLE   bytes of its memory
 *   TOY_NEEDS       bytes that float32 takes; float64 takes twice as many
 *   TOY_FAILS       letters: a, its fast arithmetic is wrong; b, its float32; c, its
 *                   float64 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ease_backend_v1 ease_toy_backend_v1
#include "toy_backend.c"
#undef ease_backend_v1

static double number_of(const char *name, double otherwise)
{
    const char *text = getenv(name);

    return text ? strtod(text, NULL) : otherwise;
}

static int fails(char letter)
{
    const char *text = getenv("TOY_FAILS");

    return text && strchr(text, letter) != NULL;
}

static void device_scratch(const ease_backend_matrix *shape, int32_t threads,
                           size_t device_memory, ease_backend_scratch *out)
{
    double needs = number_of("TOY_NEEDS", 1e6);

    scratch(shape, threads, device_memory, out);
    out->device_bytes = (size_t)(shape->precision == EASE_BACKEND_F64 ? 2 * needs
                                                                      : needs);
    out->device_available = (size_t)number_of("TOY_AVAILABLE", 1e9);
    if (device_memory && device_memory < out->device_available)
        out->device_available = device_memory;
}

static int32_t device_rate(const ease_backend_matrix *shape, ease_backend_call *call,
                           double *flops_a_second)
{
    static atomic_int asked;
    double first = number_of("TOY_RATE", 1e15);

    (void)shape;
    (void)call;
    *flops_a_second = atomic_fetch_add(&asked, 1) ? number_of("TOY_RATE_LATER", first)
                                                  : first;
    return EASE_BACKEND_OK;
}

/* A tenth too much in each entry of the inverse. */
static void spoil(const ease_backend_matrix *a)
{
    for (int32_t i = 0; i < a->items; i++)
        for (int32_t j = 0; j <= i; j++) {
            size_t at = ease_backend_offset(a, i, j);

            if (a->precision == EASE_BACKEND_F64)
                ((double *)a->data)[at] *= 1.1;
            else
                ((float *)a->data)[at] *= 1.1f;
        }
}

static int32_t invert_by(char narrow, const ease_backend_matrix *a,
                         ease_backend_call *call)
{
    int32_t status = invert(a, call);

    if (!status && fails(a->precision == EASE_BACKEND_F64 ? 'c' : narrow))
        spoil(a);
    return status;
}

static int32_t device_invert(const ease_backend_matrix *a, ease_backend_call *call)
{
    return invert_by('a', a, call);
}

static int32_t careful_invert(const ease_backend_matrix *a, ease_backend_call *call)
{
    return invert_by('b', a, call);
}

static const ease_backend careful_table = {
    .abi = EASE_BACKEND_ABI,
    .precisions = 1u << EASE_BACKEND_F32 | 1u << EASE_BACKEND_F64,
    .name = "toy-device",
    .about = "a device that tests set up, in its more accurate arithmetic",
    .probe = probe,
    .scratch = device_scratch,
    .rate = device_rate,
    .invert = careful_invert,
};

static const ease_backend *careful(const ease_backend_matrix *shape, int32_t threads,
                                   size_t device_memory)
{
    (void)threads;
    (void)device_memory;
    return shape->precision == EASE_BACKEND_F32 ? &careful_table : NULL;
}

static const ease_backend device_table = {
    .abi = EASE_BACKEND_ABI,
    .precisions = 1u << EASE_BACKEND_F32 | 1u << EASE_BACKEND_F64,
    .name = "toy-device",
    .about = "a device that tests set up",
    .probe = probe,
    .scratch = device_scratch,
    .rate = device_rate,
    .invert = device_invert,
    .careful = careful,
};

__attribute__((visibility("default"))) const ease_backend *
ease_backend_v1(uint32_t abi);

const ease_backend *ease_backend_v1(uint32_t abi)
{
    return abi == EASE_BACKEND_ABI ? &device_table : NULL;
}
