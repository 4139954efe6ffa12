/* The contract of a solver backend: code that inverts symmetric positive definite
 * matrices on some hardware. One backend is built into the library ("cpu"); others are
 * plugins, shared objects that include this header and need nothing else of the
 * library: it declares types only.
 *
 * A plugin exports one function of the name EASE_BACKEND_ENTRY:
 *
 *     const ease_backend *ease_backend_v1(uint32_t abi)
 *     {
 *         return abi == EASE_BACKEND_ABI ? &table : NULL;
 *     }
 *
 * The table is constant and lives as long as the process: a plugin is never unloaded.
 * tests/backend_suite.c tests this contract, and builds with a C library alone;
 * tests/toy/toy_backend.c is an example of a plugin.
 *
 * Rules for all functions of a table:
 *
 *  - They may be called by several threads at the same time.
 *  - They do not print, exit, or change the process (signals, locale, environment).
 *  - Those with an int32_t result return an ease_backend_status. Unless that is
 *    EASE_BACKEND_OK they say why in the text that they were given, in one line without
 *    a full stop, such as "the device was lost (error 719)".
 *  - They are called only with precisions that the table has.
 *  - NULL is allowed only where this header says so. */
#ifndef EASE_SOLVE_BACKEND_H
#define EASE_SOLVE_BACKEND_H

#include <stddef.h>
#include <stdint.h>

/* Changes with every change of this header that a compiled plugin would notice. */
#define EASE_BACKEND_ABI   1u
#define EASE_BACKEND_ENTRY "ease_backend_v1"

enum { EASE_BACKEND_TEXT = 480 }; /* bytes of an error text, with its final 0 */

typedef enum ease_backend_status {
    EASE_BACKEND_OK,
    EASE_BACKEND_NOT_POSDEF,   /* call->item is the item whose pivot failed */
    EASE_BACKEND_CANCELLED,    /* call->progress returned nonzero */
    EASE_BACKEND_NO_MEMORY,    /* an allocation failed, on the host or the device */
    EASE_BACKEND_MEMORY_LIMIT, /* file->memory is less than file_scratch demands */
    EASE_BACKEND_IO,           /* of the work file; call->sys_errno says what */
    EASE_BACKEND_FAILED        /* anything else, such as a lost device */
} ease_backend_status;

typedef enum ease_backend_precision {
    EASE_BACKEND_F32,
    EASE_BACKEND_F64
} ease_backend_precision;

/* ---- the matrix ------------------------------------------------------------------ */

/* A symmetric matrix as the lower triangle of square tiles. Tile (i, j), i >= j, is
 * edge x edge numbers, row-major; it begins (i (i + 1) / 2 + j) * stride numbers from
 * the start. Rows and columns from `items` to tiles * edge are padding: zero, and one
 * on the diagonal, so that they can be inverted with the rest or left out.
 *
 * Of a diagonal tile only the lower half, with the diagonal, is valid before and after
 * an inversion; the entries above the diagonal may have any value. */
typedef struct ease_backend_matrix {
    int32_t items;
    int32_t edge;      /* a multiple of 16 */
    int32_t tiles;     /* a side: items / edge, rounded up */
    int32_t precision; /* an ease_backend_precision */
    size_t stride;     /* numbers from tile to tile, at least edge * edge */
    void *data;        /* in host memory; NULL where only the shape is meant */
} ease_backend_matrix;

/* Numbers from the start to entry (row, column), row >= column. */
static inline size_t ease_backend_offset(const ease_backend_matrix *a, int32_t row,
                                         int32_t column)
{
    size_t i = (size_t)(row / a->edge), j = (size_t)(column / a->edge);
    size_t r = (size_t)(row % a->edge), c = (size_t)(column % a->edge);

    return (i * (i + 1) / 2 + j) * a->stride + r * (size_t)a->edge + c;
}

/* A matrix in a file. */
typedef struct ease_backend_file {
    ease_backend_matrix shape; /* stride: a multiple of 4,096 bytes; no data */
    int32_t fd;                /* readable and writable; the file has its full size */
    int32_t direct; /* 1: opened with O_DIRECT, so that memory and offsets must be
                       multiples of 4,096 bytes */
    const char *directory; /* of the file, for messages */
    size_t memory; /* bytes for tiles in host memory, beside those of `scratch` */
} ease_backend_file;

/* ---- a call ---------------------------------------------------------------------- */

/* Arguments of an inversion beside the matrix, and its results beside the status. */
typedef struct ease_backend_call {
    int32_t threads; /* of the host that may be used, at least 1 */
    /* The most bytes of a device's memory to use; 0: what is free. A backend that can
     * work with less than a matrix takes keeps the matrix on the host. */
    size_t device_memory;
    /* Receives the progress of the work, from 0 to 1, never decreasing. The backend
     * calls it in the thread that called the backend: once at the start, at least
     * twice a second, and with 1 at the end of an inversion that succeeded. If
     * progress returns nonzero, the backend ends within a second with
     * EASE_BACKEND_CANCELLED, and does not call progress again. May be NULL. */
    int (*progress)(void *user, double fraction);
    /* Receives messages, in the same thread. level: 1 warning, 2 note, 3 debug. May be
     * NULL. */
    void (*log)(void *user, int level, const char *text);
    void *user; /* argument of progress and log */

    /* Results, read only if the call fails. */
    int64_t item;                 /* of EASE_BACKEND_NOT_POSDEF, from 0 on */
    int32_t sys_errno;            /* errno, or 0 */
    char text[EASE_BACKEND_TEXT]; /* always terminated; "" when the call begins */
} ease_backend_call;

/* ---- the table ------------------------------------------------------------------- */

/* Memory that an inversion needs beside the matrix. */
typedef struct ease_backend_scratch {
    size_t host_bytes;       /* in host memory, as pages in use */
    size_t device_bytes;     /* in the memory of a device; 0: there is none */
    size_t device_available; /* free there now, or the limit; 0: unknown */
} ease_backend_scratch;

/* Memory and traffic of an inversion in a file. */
typedef struct ease_backend_file_scratch {
    size_t least_bytes; /* the least file->memory that suffices */
    int64_t passes; /* how often the file is read and written; 0: too little memory */
} ease_backend_file_scratch;

typedef struct ease_backend {
    uint32_t abi;        /* EASE_BACKEND_ABI */
    uint32_t precisions; /* bit 1 << P for each ease_backend_precision P that it has */
    const char *name;    /* as users type it: lower-case letters, digits, - */
    const char *about;   /* one line, for lists of backends */

    /* Checks that the backend can be used on this machine now, and loads the libraries
     * that it needs; takes at most a second the first time. Otherwise fails with
     * EASE_BACKEND_FAILED and the reason. The functions below are called only after
     * probe has succeeded. */
    int32_t (*probe)(char why[EASE_BACKEND_TEXT]);

    /* Sets *out to the memory that `invert` uses for a matrix of this shape, with this
     * limit of device memory (0: what is free). The caller adds host_bytes to its plan,
     * and fails before any work if device_bytes exceeds device_available. */
    void (*scratch)(const ease_backend_matrix *shape, int32_t threads,
                    size_t device_memory, ease_backend_scratch *out);

    /* Measures or estimates, in about 50 ms, the flops per second of the inversion of a
     * matrix of this shape: items^3 flops, whatever the algorithm, divided by the time
     * including transfers to and from a device. Of `call`, only threads, device_memory
     * and the results are used. */
    int32_t (*rate)(const ease_backend_matrix *shape, ease_backend_call *call,
                    double *flops_a_second);

    /* Inverts the matrix in place. The result has the same bits in every call with the
     * same matrix, at any number of threads. After a failure the matrix is undefined.
     * A matrix with NaNs gives NaNs or EASE_BACKEND_NOT_POSDEF. Of several pivots that
     * fail, the lowest item is reported. */
    int32_t (*invert)(const ease_backend_matrix *a, ease_backend_call *call);

    /* For matrices in files; both functions or neither. If they are NULL, the caller
     * refuses matrices that do not fit into memory, with the name of the backend.
     *
     * file_scratch sets *out to the needs of invert_file with `memory` bytes for tiles;
     * invert_file inverts a matrix in a file, with the same bits as `invert`. */
    void (*file_scratch)(const ease_backend_matrix *shape, int32_t threads,
                         size_t memory, ease_backend_file_scratch *out);
    int32_t (*invert_file)(const ease_backend_file *file, ease_backend_call *call);

    /* If `invert` computes a matrix of this shape, with this limit of device memory, by
     * a fast arithmetic and does not check the result itself: a table that computes it
     * more accurately in the same precision, for a caller whose check has failed. It
     * stands for the same hardware; its own `careful` is NULL. Otherwise, or if
     * `careful` is NULL: there is none. */
    const struct ease_backend *(*careful)(const ease_backend_matrix *shape,
                                          int32_t threads, size_t device_memory);
} ease_backend;

typedef const ease_backend *ease_backend_entry(uint32_t abi);

#endif
