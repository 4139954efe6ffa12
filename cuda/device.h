/* What an inversion holds on the device: memory, streams, handles. */
#ifndef EASE_CUDA_DEVICE_H
#define EASE_CUDA_DEVICE_H

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "layout.h"
#include "solve/backend.h"

/* How products are computed.
 *
 * FAST: a float x is scaled and split into halves, x = h + l, and a product is
 * hl + lh + hh, summed in float32 in this order by one product of three times the
 * depth. PLAIN32 and PLAIN64: in float32 and float64. */
typedef enum arithmetic { FAST, PLAIN32, PLAIN64 } arithmetic;

static inline size_t element_bytes(arithmetic a)
{
    return a == PLAIN64 ? sizeof(double) : sizeof(float);
}

/* Bytes for each number of an operand: of FAST, the parts h, l, h, h, of which the left
 * operand uses the first three and the right operand the last three. */
static inline size_t operand_bytes(arithmetic a)
{
    return a == FAST ? 4 * sizeof(uint16_t) : element_bytes(a);
}

enum {
    STREAMS = 3,           /* that share the products of a step */
    HANDLES = STREAMS + 1, /* and one for diagonal blocks */
    WORKSPACE = 32 << 20,  /* of each handle: what cuBLAS recommends for Hopper */
    RING = 8,              /* buffers in transfer */
    TICKETS = 16,          /* the most events between work that was submitted */
    BASE = 128             /* the diagonal block is factored in squares of this size */
};

/* The operands whose scales are kept on the device. */
enum { SCALE_W, SCALE_X, SCALE_Y, SCALES };

/* Numbers on the device that kernels compute and products read. */
typedef struct numbers {
    uint32_t largest[SCALES];      /* bits of the largest magnitude, a float */
    int32_t failed;                /* the lowest item whose pivot is not positive */
    double alpha[SCALES * SCALES]; /* of products: floats but for PLAIN64 */
    double zero, one, minus_one;   /* the same */
} numbers;

/* What the caller was told; it outlives an attempt that is repeated in another
 * arithmetic. */
typedef struct course {
    ease_backend_call *call;
    double reported, shown; /* when, and the largest fraction */
} course;

typedef struct device {
    layout l;
    arithmetic how;
    course *told;
    ease_backend_call *call; /* of the course */
    double done, whole;      /* flops of products: finished, and all of them */
    double most_ahead;       /* flops that may be submitted and not finished */

    char *matrix;            /* elements in the layout */
    char *operands;          /* X below the step's block, Y left of it */
    char *rows;              /* a block row, elements */
    char *w_across, *w_down; /* operands of the diagonal block */
    char *panel;             /* scratch of factoring a diagonal block */
    char *workspace;
    numbers *shared;
    float *scale;          /* powers of two, one for each item */
    double *v, *wv, *back; /* of the check */
    cudaStream_t streams[HANDLES];
    cublasHandle_t handles[HANDLES];
    cudaEvent_t forked, joined[HANDLES], factored, ready;
    cudaEvent_t tickets[TICKETS];
    double ticket_done[TICKETS]; /* flops up to each of them */
    int ticket_next, ticket_first;
    double ticketed, since_ticket; /* flops up to the last ticket, and after it */

    char *ring_host, *ring_device; /* RING buffers each */
    size_t ring_bytes;             /* of one */
    cudaEvent_t ring_events[RING];
} device;

size_t device_matrix_bytes(int32_t items, arithmetic how);
/* All bytes that an inversion allocates on the device. */
size_t device_bytes(const ease_backend_matrix *shape, arithmetic how);
size_t device_host_bytes(const ease_backend_matrix *shape);

/* The functions below return an ease_backend_status, and say why in call->text. */
int32_t device_open(const ease_backend_matrix *a, arithmetic how, course *told,
                    device *d);
/* Streams, handles and events, and the limit of work ahead; the workspace is
 * allocated. */
int32_t device_open_streams(device *d);
/* Waits for all work. */
void device_close(device *d);

int32_t failed_cuda(ease_backend_call *call, cudaError_t error, const char *doing);
int32_t failed_cublas(ease_backend_call *call, cublasStatus_t error, const char *doing);

#define TRY_CUDA(d, what, doing)                          \
    do {                                                  \
        cudaError_t error_ = (what);                      \
        if (error_ != cudaSuccess)                        \
            return failed_cuda((d)->call, error_, doing); \
    } while (0)
#define TRY(what)                       \
    do {                                \
        int32_t status_ = (what);       \
        if (status_ != EASE_BACKEND_OK) \
            return status_;             \
    } while (0)

/* The compute capability, 10 x major + minor. */
int device_capability(void);
/* The predicted flops per second of long products in this arithmetic, counted once for
 * FAST; 0: unknown. */
double device_rate(arithmetic how);

/* Reports progress, at most 20 times a second but for 0 and 1. EASE_BACKEND_CANCELLED if
 * the caller wants to end. */
int32_t course_report(course *c, double fraction);
/* Reports the share of the products that are finished. */
int32_t device_report(device *d);
/* Counts submitted flops. If the device is too far behind, waits, and reports. */
int32_t device_submitted(device *d, double flops);
/* Waits for all that was submitted, and reports. */
int32_t device_finish(device *d);
/* Events between the streams of a step: all wait for stream 0; stream 0 waits for all. */
int32_t device_fork(device *d);
int32_t device_join(device *d);

double seconds(void);
void say(ease_backend_call *call, int level, const char *format, ...);

#endif
