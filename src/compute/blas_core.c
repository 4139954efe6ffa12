/* OpenBLAS chooses its kernels when it is loaded, from a list of the processors
 * known at its release. Newer processors get the kernels of 2004, which take six
 * times as long. The environment variable OPENBLAS_CORETYPE overrides the choice. */
#include <cblas.h>
#include <string.h>

#include "compute/blas.h"
#include "core/sized.h"

const char *ease__better_core(const char *chosen, bool avx2, bool avx512)
{
    static const char *const good[] = {"Haswell", "Zen", "SkylakeX", "Cooperlake",
                                       "SapphireRapids"};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (strcmp(chosen, good[i]) == 0)
            return NULL;
    return avx512 ? "SkylakeX" : avx2 ? "Haswell" : NULL;
}

/* What ease_blas_info.better is. */
static const char *better_than(const char *chosen)
{
#if defined(__x86_64__)
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                  __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") &&
                  __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");

    return ease__better_core(chosen, avx2, avx512);
#else
    (void)chosen;
    return NULL;
#endif
}

void ease_blas_describe(ease_blas_info *info)
{
    const char *core = openblas_get_corename();
    ease_blas_info found = {
        .name = openblas_get_config(), .core = core, .better = better_than(core)};

    ease__info_give(info, &found, sizeof(found));
}
