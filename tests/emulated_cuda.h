/* A GPU that is emulated on the host, for the plugin of the backend cuda: CUDA's runtime,
 * cuBLAS and kernel launches. tests/emulate.py puts this header before the sources of
 * cuda/ and replaces launches by emulated_launch().
 *
 * Work in a stream is done when somebody waits for it, in the order of the stream and
 * otherwise in a random one, so that a missing dependency between streams shows as a
 * wrong result. */
#ifndef EASE_EMULATED_CUDA_H
#define EASE_EMULATED_CUDA_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <functional>

using std::max;
using std::min;

#define __launch_bounds__(...)
#define __shared__ static

/* Of the thread that runs. */
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

/* What tests set and read. */
typedef struct emulated_state {
    bool idle;         /* nothing is computed or copied, but for counting */
    size_t all, taken; /* bytes of the device; those of other programs */
    size_t used, most_used;
    int allocations; /* of memory and handles */
    double flops[3]; /* of products in halves, float32 and float64, without those
                             that factor diagonal blocks */
    bool slow_clock; /* a tenth of a second passes whenever somebody looks */
} emulated_state;
extern emulated_state emulated;

void emulated_barrier(void);
uint32_t emulated_exchange(uint32_t mine, int lanes);
void emulated_submit(cudaStream_t stream, std::function<void()> work);
void emulated_grid(bool barriers, dim3 grid, dim3 block,
                   const std::function<void()> &thread);

/* Threads of the kernels without barriers run one after the other. */
static inline bool emulated_has_barriers(const char *kernel)
{
    static const char *const names[] = {"find_largest", "factor_square", "times_lower",
                                        "times_upper"};

    for (const char *name : names)
        if (strcmp(kernel, name) == 0)
            return true;
    return false;
}

template <typename Kernel, typename... Arguments>
void emulated_launch(const char *name, Kernel kernel, dim3 grid, dim3 block, size_t,
                     cudaStream_t stream, Arguments... arguments)
{
    bool barriers = emulated_has_barriers(name);

    emulated_submit(stream, [=] {
        emulated_grid(barriers, grid, block, [&] { kernel(arguments...); });
    });
}

/* ---- device functions ------------------------------------------------------------ */

static inline void __syncthreads()
{
    emulated_barrier();
}

static inline uint32_t __shfl_xor_sync(unsigned, uint32_t mine, int lanes)
{
    return emulated_exchange(mine, lanes);
}

template <typename T> static inline T atomicMax(T *at, T value)
{
    T before = *at;

    *at = before > value ? before : value;
    return before;
}

template <typename T> static inline T atomicMin(T *at, T value)
{
    T before = *at;

    *at = before < value ? before : value;
    return before;
}

static inline uint32_t __float_as_uint(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline float __int_as_float(int bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

#endif
