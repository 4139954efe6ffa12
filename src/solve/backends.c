#include "solve/backends.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* The structures that plugins share with the library, as they are where sizes have 64
 * bits. Once a version with this ABI is released, another size needs another ABI. */
_Static_assert(sizeof(size_t) != 8 || (sizeof(ease_backend_matrix) == 32 &&
                                       sizeof(ease_backend_file) == 56 &&
                                       sizeof(ease_backend_call) == 536 &&
                                       sizeof(ease_backend_scratch) == 24 &&
                                       sizeof(ease_backend_file_scratch) == 16 &&
                                       sizeof(ease_backend) == 80),
               "what compiled plugins notice needs another EASE_BACKEND_ABI");

#define ENTRY(backend) &backend,
const ease_backend *const ease__backends[] = {EASE__BACKENDS(ENTRY) NULL};

/* ---- finding --------------------------------------------------------------------- */

/* The public descriptions of the table, ended by one without a name. */
static ease_backend_info infos[sizeof(ease__backends) / sizeof(ease__backends[0])];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void describe(void)
{
    for (int i = 0; ease__backends[i]; i++)
        infos[i] = (ease_backend_info){ease__backends[i]->name,
                                       ease__backends[i]->about};
}

static const ease_backend *named(const char *name)
{
    for (int i = 0; ease__backends[i]; i++)
        if (!name || strcmp(name, ease__backends[i]->name) == 0)
            return ease__backends[i];
    return NULL;
}

const ease_backend_info *ease_backend_at(int index)
{
    (void)pthread_once(&once, describe);
    for (int i = 0; index >= 0 && infos[i].name; i++)
        if (i == index)
            return &infos[i];
    return NULL;
}

static const char *name_at(int index)
{
    const ease_backend_info *info = ease_backend_at(index);

    return info ? info->name : NULL;
}

static ease_status no_backend(const char *name, ease_error *err)
{
    char names[200];

    ease__list_names(name_at, names, sizeof(names));
    return ease__fail(err, EASE_E_ARG, "no backend '%.40s', only %s", name, names);
}

ease_status ease__backend_probe(const ease_backend *b, ease_error *err)
{
    char why[EASE_BACKEND_TEXT] = "";

    if (b->probe(why) == EASE_BACKEND_OK)
        return EASE_OK;
    why[EASE_BACKEND_TEXT - 1] = '\0';
    return ease__fail(err, EASE_E_BACKEND, "backend %s cannot be used here: %.400s",
                      b->name, why);
}

ease_status ease__backend_find(const char *name, const ease_backend **out,
                               ease_error *err)
{
    const ease_backend *b = named(name);
    ease_status status;

    if (!b)
        return no_backend(name, err);
    status = ease__backend_probe(b, err);
    if (!status)
        *out = b;
    return status;
}

ease_status ease_backend_check(const char *name, ease_error *err)
{
    const ease_backend *b;

    return ease__backend_find(name, &b, err);
}

/* ---- loading --------------------------------------------------------------------- */

static bool complete(const ease_backend *b)
{
    return b->name && b->name[0] && b->about && b->precisions && b->probe &&
           b->scratch && b->rate && b->invert && !b->file_scratch == !b->invert_file;
}

ease_status ease__backend_load(const char *path, const ease_backend **out,
                               ease_error *err)
{
    const ease_backend *b = NULL;
    ease_backend_entry *entry;
    void *object;

    if (path[0] != '/') /* anything else would be searched for in the environment */
        return ease__fail(err, EASE_E_BACKEND,
                          "%.300s: a plugin needs an absolute path", path);
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!object)
        return ease__fail(err, EASE_E_BACKEND, "cannot load a plugin: %.400s",
                          dlerror());
    *(void **)&entry = dlsym(object, EASE_BACKEND_ENTRY);
    if (!entry)
        return ease__fail(err, EASE_E_BACKEND,
                          "%.300s: not a plugin: it has no " EASE_BACKEND_ENTRY, path);
    b = entry(EASE_BACKEND_ABI);
    if (!b || b->abi != EASE_BACKEND_ABI)
        return ease__fail(
            err, EASE_E_BACKEND,
            "%.300s: a plugin of another version: it does not have ABI %u", path,
            EASE_BACKEND_ABI);
    if (!complete(b))
        return ease__fail(err, EASE_E_BACKEND,
                          "%.300s: the table of the plugin is incomplete", path);
    *out = b;
    return EASE_OK;
}

/* ---- checking -------------------------------------------------------------------- */

static int32_t precision_of(ease__element element)
{
    return element == EASE__F64 ? EASE_BACKEND_F64 : EASE_BACKEND_F32;
}

ease_status ease__backend_check_precision(const ease_backend *b, ease__element element,
                                          ease_error *err)
{
    if (b->precisions >> precision_of(element) & 1)
        return EASE_OK;
    return ease__fail(err, EASE_E_BACKEND, "backend %s does not solve in %s", b->name,
                      element == EASE__F64 ? "float64" : "float32");
}

ease_status ease__backend_check(const ease_backend *b, const ease__tiled *shape,
                                int threads, size_t device_memory, ease_error *err)
{
    ease_status status = ease__backend_check_precision(b, shape->element, err);
    ease_backend_scratch s;

    if (status)
        return status;
    s = ease__backend_scratch(b, shape, threads, device_memory);
    if (s.device_available && s.device_bytes > s.device_available)
        return ease__fail(
            err, EASE_E_MEMORY_LIMIT,
            "backend %s needs %.2f GB of its device's memory for %d items, "
            "%.2f GB are available",
            b->name, (double)s.device_bytes / 1e9, (int)shape->n,
            (double)s.device_available / 1e9);
    return EASE_OK;
}

ease_status ease__backend_check_file(const ease_backend *b, ease_error *err)
{
    if (b->invert_file)
        return EASE_OK;
    return ease__fail(err, EASE_E_BACKEND,
                      "backend %s solves in memory only: it takes no workdir", b->name);
}

/* ---- calling --------------------------------------------------------------------- */

static const struct {
    ease_status library;
    ease_backend_status contract;
} statuses[] = {
    {EASE_OK, EASE_BACKEND_OK},
    {EASE_E_NOT_POSDEF, EASE_BACKEND_NOT_POSDEF},
    {EASE_E_CANCELLED, EASE_BACKEND_CANCELLED},
    {EASE_E_NOMEM, EASE_BACKEND_NO_MEMORY},
    {EASE_E_MEMORY_LIMIT, EASE_BACKEND_MEMORY_LIMIT},
    {EASE_E_IO, EASE_BACKEND_IO},
};

enum { STATUSES = sizeof(statuses) / sizeof(statuses[0]) };

int32_t ease__backend_status_from(ease_status status)
{
    for (int i = 0; i < STATUSES; i++)
        if (statuses[i].library == status)
            return (int32_t)statuses[i].contract;
    return EASE_BACKEND_FAILED;
}

ease_status ease__backend_status_to(int32_t status)
{
    for (int i = 0; i < STATUSES; i++)
        if ((int32_t)statuses[i].contract == status)
            return statuses[i].library;
    return EASE_E_BACKEND;
}

static ease_backend_matrix matrix_of(const ease__tiled *t)
{
    return (ease_backend_matrix){.items = t->n,
                                 .edge = t->edge,
                                 .tiles = t->tiles,
                                 .precision = precision_of(t->element),
                                 .stride = t->stride,
                                 .data = t->data};
}

static int on_progress(void *user, double fraction)
{
    return ease__progress(user, "solving", fraction);
}

static void on_log(void *user, int level, const char *text)
{
    ease__log(user, level, "%s", text);
}

static ease_backend_call call_of(int threads, const ease_hooks *hooks)
{
    return (ease_backend_call){
        .threads = ease__threads(threads),
        .progress = hooks && hooks->progress ? on_progress : NULL,
        .log = hooks && hooks->log ? on_log : NULL,
        .user = (void *)hooks,
        .item = -1,
    };
}

/* The error of a call, with what users can do about it. */
static ease_status result_of(const ease_backend *b, int32_t returned,
                             const ease_backend_matrix *a, ease_backend_call *call,
                             ease_error *err)
{
    ease_status status = ease__backend_status_to(returned);

    call->text[EASE_BACKEND_TEXT - 1] = '\0';
    if (status == EASE_OK)
        return EASE_OK;
    if (status == EASE_E_CANCELLED)
        return ease__cancelled(err);
    if (status == EASE_E_NOT_POSDEF)
        return ease__fail_at(
            err, status, call->item,
            "the matrix is not positive definite at item %lld: raise lambda%s",
            (long long)call->item,
            a->precision == EASE_BACKEND_F32 ? " or use float64" : "");
    if (status == EASE_E_BACKEND)
        return ease__fail(err, status, "backend %s failed: %s", b->name, call->text);
    ease__note_error(err, status, -1, "%s", call->text);
    if (err)
        err->sys_errno = call->sys_errno;
    return status;
}

ease_backend_scratch ease__backend_scratch(const ease_backend *b,
                                           const ease__tiled *shape, int threads,
                                           size_t device_memory)
{
    ease_backend_matrix a = matrix_of(shape);
    ease_backend_scratch s = {0};

    b->scratch(&a, ease__threads(threads), device_memory, &s);
    return s;
}

ease_backend_file_scratch ease__backend_file_scratch(const ease_backend *b,
                                                     const ease__tiled *shape,
                                                     int threads, size_t memory)
{
    ease__tiled padded = ease__tiled_padded(shape);
    ease_backend_matrix a = matrix_of(&padded);
    ease_backend_file_scratch s = {0};

    b->file_scratch(&a, ease__threads(threads), memory, &s);
    return s;
}

const ease_backend *ease__backend_careful(const ease_backend *b,
                                          const ease__tiled *shape, int threads,
                                          size_t device_memory)
{
    ease_backend_matrix a = matrix_of(shape);

    return b->careful ? b->careful(&a, ease__threads(threads), device_memory) : NULL;
}

ease_status ease__backend_rate(const ease_backend *b, const ease__tiled *shape,
                               int threads, size_t device_memory,
                               double *flops_a_second, ease_error *err)
{
    ease_backend_matrix a = matrix_of(shape);
    ease_backend_call call = call_of(threads, NULL);
    int32_t returned;

    call.device_memory = device_memory;
    returned = b->rate(&a, &call, flops_a_second);

    return result_of(b, returned, &a, &call, err);
}

ease_status ease__backend_invert(const ease_backend *b, const ease__tiled *a,
                                 int threads, size_t device_memory,
                                 const ease_hooks *hooks, ease_error *err)
{
    ease_backend_matrix matrix = matrix_of(a);
    ease_backend_call call = call_of(threads, hooks);
    int32_t returned;

    call.device_memory = device_memory;
    returned = b->invert(&matrix, &call);

    return result_of(b, returned, &matrix, &call, err);
}

ease_status ease__backend_invert_file(const ease_backend *b, const ease__tilefile *f,
                                      size_t memory, int threads,
                                      const ease_hooks *hooks, ease_error *err)
{
    ease_backend_file file = {.shape = matrix_of(&f->shape),
                              .fd = f->fd,
                              .direct = f->direct,
                              .directory = f->dir,
                              .memory = memory};
    ease_backend_call call = call_of(threads, hooks);
    int32_t returned = b->invert_file(&file, &call);

    return result_of(b, returned, &file.shape, &call, err);
}
