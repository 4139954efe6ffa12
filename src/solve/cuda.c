/* The backend cuda: the plugin libease-cuda.so, which is loaded when it is first asked
 * for. Without the plugin the backend is in the table too, and says how to get it. */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "solve/backends.h"

#define PLUGIN "libease-cuda.so"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const ease_backend *plugin; /* NULL: none, for the reason `missing` */
static char missing[EASE_BACKEND_TEXT];

/* ---- loading --------------------------------------------------------------------- */

/* The path of the object that this code is in: the library, or a program that the
 * library is linked into. The loader knows a program by its first argument alone, which
 * may be anything. */
static bool own_path(char path[PATH_MAX])
{
    Dl_info info;
    ssize_t length;

    if (dladdr(missing, &info) && info.dli_fname && info.dli_fname[0] == '/')
        return realpath(info.dli_fname, path) != NULL;
    length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    return length > 0;
}

static bool plugin_at(const char *directory, char path[PATH_MAX])
{
    int length = snprintf(path, PATH_MAX, "%s/" PLUGIN, directory);

    return length > 0 && length < PATH_MAX && access(path, F_OK) == 0;
}

/* Beside the library, or where libraries are installed. */
static bool find_plugin(char path[PATH_MAX])
{
    char own[PATH_MAX];
    char *slash = own_path(own) ? strrchr(own, '/') : NULL;

    if (slash) {
        *slash = '\0';
        if (plugin_at(own, path))
            return true;
    }
    return plugin_at(EASE_LIBRARY_DIR, path);
}

static void load(void)
{
    char path[PATH_MAX];
    ease_error err = {0};

    if (!find_plugin(path))
        snprintf(missing, sizeof(missing),
                 "its plugin " PLUGIN " is neither beside the library nor in "
                 "%.300s: `make cuda` builds it",
                 EASE_LIBRARY_DIR);
    else if (ease__backend_load(path, &plugin, &err))
        snprintf(missing, sizeof(missing), "%s", err.text);
}

static int32_t probe(char why[EASE_BACKEND_TEXT])
{
    (void)pthread_once(&once, load);
    if (plugin)
        return plugin->probe(why);
    memcpy(why, missing, sizeof(missing));
    return EASE_BACKEND_FAILED;
}

/* ---- the table ------------------------------------------------------------------- */

/* True if float64, which takes twice the memory, does not fit on the device: the
 * processors then do what is needed only where float32 was not enough. */
static bool too_wide(const ease_backend_matrix *shape, int32_t threads,
                     size_t device_memory)
{
    ease_backend_scratch s;

    if (shape->precision != EASE_BACKEND_F64)
        return false;
    plugin->scratch(shape, threads, device_memory, &s);
    return s.device_available > 0 && s.device_bytes > s.device_available;
}

static const ease_backend *worker(const ease_backend_matrix *shape, int32_t threads,
                                  size_t device_memory)
{
    return too_wide(shape, threads, device_memory) ? &ease__cpu : plugin;
}

static void scratch(const ease_backend_matrix *shape, int32_t threads,
                    size_t device_memory, ease_backend_scratch *out)
{
    worker(shape, threads, device_memory)->scratch(shape, threads, device_memory, out);
}

static int32_t rate(const ease_backend_matrix *shape, ease_backend_call *call,
                    double *flops_a_second)
{
    return worker(shape, call->threads, call->device_memory)
        ->rate(shape, call, flops_a_second);
}

static int32_t invert(const ease_backend_matrix *a, ease_backend_call *call)
{
    const ease_backend *b = worker(a, call->threads, call->device_memory);

    if (b == &ease__cpu && call->log)
        call->log(call->user, 1,
                  "float64 does not fit into the memory of the GPU: solving on the "
                  "processors");
    return b->invert(a, call);
}

static const ease_backend *careful(const ease_backend_matrix *shape, int32_t threads,
                                   size_t device_memory)
{
    const ease_backend *b = worker(shape, threads, device_memory);

    return b->careful ? b->careful(shape, threads, device_memory) : NULL;
}

const ease_backend ease__cuda = {
    .abi = EASE_BACKEND_ABI,
    .precisions = 1u << EASE_BACKEND_F32 | 1u << EASE_BACKEND_F64,
    .name = "cuda",
    .about = "an NVIDIA GPU, by the plugin " PLUGIN,
    .probe = probe,
    .scratch = scratch,
    .rate = rate,
    .invert = invert,
    .careful = careful,
};
