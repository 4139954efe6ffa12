/* The emulated GPU: see emulated_cuda.h. */
#include "emulated_cuda.h"

#include <cblas.h>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

enum { HANDLES = 4, CONTEXT = 500 << 20 }; /* the last one of four factors */

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;
emulated_state emulated = {false, (size_t)8 << 30, 0, 0, 0, 0, {}, false};

static std::recursive_mutex lock;
typedef std::lock_guard<std::recursive_mutex> guard;

[[noreturn]] static void broken(const char *what)
{
    fprintf(stderr, "emulated GPU: %s\n", what);
    abort();
}

/* ---- threads of a block ---------------------------------------------------------- */

enum { MOST_THREADS = 1024, STACK = 64 << 10 };

typedef struct fiber {
    ucontext_t begin;
    jmp_buf at;
    bool begun, done;
    uint3 index;
} fiber;

static fiber fibers[MOST_THREADS];
static uint32_t exchanged[MOST_THREADS];
static int running; /* the fiber */
static jmp_buf scheduler;
static const std::function<void()> *body;

static void leave(void)
{
    if (!_setjmp(fibers[running].at))
        _longjmp(scheduler, 1);
}

static void live(void)
{
    for (;;) {
        (*body)();
        fibers[running].done = true;
        leave();
    }
}

static void enter(int i)
{
    fiber *f = &fibers[i];

    running = i;
    threadIdx = f->index;
    if (_setjmp(scheduler))
        return;
    if (f->begun)
        _longjmp(f->at, 1);
    f->begun = true;
    getcontext(&f->begin);
    f->begin.uc_stack.ss_sp = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    f->begin.uc_stack.ss_size = STACK;
    makecontext(&f->begin, live, 0);
    setcontext(&f->begin);
}

/* Every thread runs to its next barrier in turn. */
static void run_block(int threads)
{
    int alive = threads;

    for (int i = 0; i < threads; i++) {
        fibers[i].done = false;
        fibers[i].index = {(unsigned)i % blockDim.x, (unsigned)i / blockDim.x, 0};
    }
    while (alive > 0) {
        alive = 0;
        for (int i = 0; i < threads; i++)
            if (!fibers[i].done) {
                enter(i);
                alive += !fibers[i].done;
            }
    }
}

void emulated_barrier(void)
{
    leave();
}

uint32_t emulated_exchange(uint32_t mine, int lanes)
{
    uint32_t other;

    exchanged[running] = mine;
    leave();
    other = exchanged[running ^ lanes];
    leave();
    return other;
}

void emulated_grid(bool barriers, dim3 grid, dim3 block,
                   const std::function<void()> &thread)
{
    gridDim = grid;
    blockDim = block;
    body = &thread;
    for (unsigned y = 0; y < grid.y; y++)
        for (unsigned x = 0; x < grid.x; x++) {
            blockIdx = {x, y, 0};
            if (barriers)
                run_block((int)(block.x * block.y));
            for (unsigned j = 0; !barriers && j < block.y; j++)
                for (unsigned i = 0; i < block.x; i++) {
                    threadIdx = {i, j, 0};
                    thread();
                }
        }
}

/* ---- streams --------------------------------------------------------------------- */

typedef struct event {
    long recorded, done; /* how often */
} event;

typedef struct operation {
    std::function<void()> work;
    event *needs; /* not before it is done so often */
    long times;
} operation;

typedef std::deque<operation> stream;

static std::vector<stream *> streams;
static std::minstd_rand chance;

static void seed(void)
{
    static bool seeded;
    const char *text = getenv("EMULATED_SEED");

    if (!seeded && text)
        chance.seed((unsigned)atoi(text));
    seeded = true;
}

/* Does the next operation of a random stream. False: there is none. */
static bool step(void)
{
    size_t count = streams.size(), from;

    seed();
    if (count == 0)
        return false;
    from = chance() % count;
    for (size_t i = 0; i < count; i++) {
        stream *s = streams[(from + i) % count];

        if (s->empty() ||
            (s->front().needs && s->front().needs->done < s->front().times))
            continue;
        operation o = s->front();
        s->pop_front();
        o.work();
        return true;
    }
    return false;
}

static stream *stream_of(cudaStream_t s)
{
    if (!s)
        broken("work in the default stream, for which the others do not wait");
    return (stream *)s;
}

void emulated_submit(cudaStream_t s, std::function<void()> work)
{
    guard g(lock);

    if (!emulated.idle)
        stream_of(s)->push_back({std::move(work), NULL, 0});
}

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int)
{
    guard g(lock);

    if (flags != cudaStreamNonBlocking)
        broken("a stream that waits for the default one");
    streams.push_back(new stream);
    *out = (cudaStream_t)streams.back();
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    guard g(lock);

    while (!stream_of(s)->empty())
        if (!step())
            broken("a stream waits for what is not submitted");
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    guard g(lock);

    (void)cudaStreamSynchronize(s);
    streams.erase(std::find(streams.begin(), streams.end(), (stream *)s));
    delete (stream *)s;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    guard g(lock);

    while (step())
        continue;
    for (stream *s : streams)
        if (!s->empty())
            broken("a stream waits for what is not submitted");
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned)
{
    *out = (cudaEvent_t) new event{0, 0};
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    delete (event *)e;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t at, cudaStream_t s)
{
    guard g(lock);
    event *e = (event *)at;
    long times = ++e->recorded;

    stream_of(s)->push_back({[=] { e->done = times; }, NULL, 0});
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t at, unsigned)
{
    guard g(lock);
    event *e = (event *)at;

    stream_of(s)->push_back({[] {}, e, e->recorded});
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t at)
{
    guard g(lock);
    event *e = (event *)at;

    if (e->done == e->recorded)
        return cudaSuccess;
    if (!step())
        broken("an event waits for what is not submitted");
    return cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t at)
{
    guard g(lock);

    while (cudaEventQuery(at) != cudaSuccess)
        continue;
    return cudaSuccess;
}

/* ---- memory ---------------------------------------------------------------------- */

static std::map<void *, size_t> on_device, pinned;

/* New memory has no numbers, but NaNs. */
cudaError_t cudaMalloc(void **out, size_t bytes)
{
    guard g(lock);

    if (bytes > emulated.all - CONTEXT - emulated.used - emulated.taken)
        return cudaErrorMemoryAllocation;
    *out = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!emulated.idle)
        memset(*out, 0xff, bytes);
    on_device[*out] = bytes;
    emulated.used += bytes;
    emulated.allocations++;
    emulated.most_used = std::max(emulated.most_used, emulated.used);
    return cudaSuccess;
}

cudaError_t cudaFree(void *at)
{
    guard g(lock);

    if (!at)
        return cudaSuccess;
    emulated.used -= on_device[at];
    emulated.allocations--;
    munmap(at, on_device[at]);
    on_device.erase(at);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **out, size_t bytes)
{
    guard g(lock);

    *out = malloc(bytes);
    pinned[*out] = bytes;
    emulated.allocations++;
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *at)
{
    guard g(lock);

    if (at)
        emulated.allocations--;
    pinned.erase(at);
    free(at);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *all)
{
    guard g(lock);

    *available = emulated.all - CONTEXT - emulated.used - emulated.taken;
    *all = emulated.all;
    return cudaSuccess;
}

static bool is_in(const std::map<void *, size_t> &blocks, const void *at)
{
    auto next = blocks.upper_bound((void *)at);

    if (next == blocks.begin())
        return false;
    --next;
    return (const char *)at < (const char *)next->first + next->second;
}

/* It does not wait for streams that do not wait for the default one. */
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    guard g(lock);
    const int32_t none = INT32_MAX;

    if (kind != cudaMemcpyDeviceToHost)
        broken("a copy to the device that streams do not wait for");
    if (emulated.idle) /* the one word that is read: no pivot failed */
        memcpy(to, &none, std::min(bytes, sizeof(none)));
    else
        memcpy(to, from, bytes);
    return cudaSuccess;
}

/* From memory that is not pinned, CUDA may copy at once. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t s)
{
    guard g(lock);

    if (emulated.idle)
        return cudaSuccess;
    if (kind == cudaMemcpyHostToDevice && !is_in(pinned, from)) {
        std::vector<char> staged((const char *)from, (const char *)from + bytes);

        emulated_submit(s, [=] { memcpy(to, staged.data(), bytes); });
    } else {
        emulated_submit(s, [=] { memcpy(to, from, bytes); });
    }
    return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_apart, const void *from,
                              size_t from_apart, size_t width, size_t rows,
                              cudaMemcpyKind, cudaStream_t s)
{
    emulated_submit(s, [=] {
        for (size_t r = 0; r < rows; r++)
            memcpy((char *)to + r * to_apart, (const char *)from + r * from_apart,
                   width);
    });
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t s)
{
    emulated_submit(s, [=] { memset(at, value, bytes); });
    return cudaSuccess;
}

/* ---- the device ------------------------------------------------------------------ */

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *most)
{
    *least = 0;
    *most = -1;
    return cudaSuccess;
}

/* An RTX 4090. */
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr what, int)
{
    *value = what == cudaDevAttrComputeCapabilityMajor   ? 8
             : what == cudaDevAttrComputeCapabilityMinor ? 9
             : what == cudaDevAttrClockRate              ? 2520000
             : what == cudaDevAttrMultiProcessorCount    ? 128
                                                         : 0;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "out of memory" : "an error";
}

/* ---- cuBLAS ---------------------------------------------------------------------- */

typedef struct handle {
    cudaStream_t stream;
    bool factors;
} handle;

cublasStatus_t cublasCreate_v2(cublasHandle_t *out)
{
    guard g(lock);
    static int made;

    *out = (cublasHandle_t) new handle{NULL, ++made % HANDLES == 0};
    emulated.allocations++;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t h)
{
    guard g(lock);

    delete (handle *)h;
    emulated.allocations--;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t h, cudaStream_t s)
{
    ((handle *)h)->stream = s;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void *, size_t)
{
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t, cublasPointerMode_t mode)
{
    return mode == CUBLAS_POINTER_MODE_DEVICE ? CUBLAS_STATUS_SUCCESS
                                              : CUBLAS_STATUS_INVALID_VALUE;
}

const char *cublasGetStatusString(cublasStatus_t)
{
    return "an error";
}

typedef struct factor {
    const char *at;
    bool transposed;
    int ld, rows, columns; /* of what is stored, column by column */
} factor;

static CBLAS_TRANSPOSE transposed(const factor &f)
{
    return f.transposed ? CblasTrans : CblasNoTrans;
}

/* Halves as floats, without gaps. */
static std::vector<float> widened(const factor &f)
{
    std::vector<float> made((size_t)f.rows * (size_t)f.columns);
    const __half *from = (const __half *)f.at;

    for (int j = 0; j < f.columns; j++)
        for (int i = 0; i < f.rows; i++)
            made[(size_t)j * (size_t)f.rows + (size_t)i] = __half2float(
                from[(size_t)j * (size_t)f.ld + (size_t)i]);
    return made;
}

static void multiply(cudaDataType type, int m, int n, int k, const void *alpha,
                     factor a, factor b, const void *beta, char *c, int ldc)
{
    std::vector<float> wide_a, wide_b;

    if (type == CUDA_R_64F) {
        cblas_dgemm(CblasColMajor, transposed(a), transposed(b), m, n, k,
                    *(const double *)alpha, (const double *)a.at, a.ld,
                    (const double *)b.at, b.ld, *(const double *)beta, (double *)c,
                    ldc);
        return;
    }
    if (type == CUDA_R_16F) {
        wide_a = widened(a);
        wide_b = widened(b);
        a.at = (const char *)wide_a.data();
        a.ld = a.rows;
        b.at = (const char *)wide_b.data();
        b.ld = b.rows;
    }
    cblas_sgemm(CblasColMajor, transposed(a), transposed(b), m, n, k,
                *(const float *)alpha, (const float *)a.at, a.ld, (const float *)b.at,
                b.ld, *(const float *)beta, (float *)c, ldc);
}

static size_t number_bytes(cudaDataType type)
{
    return type == CUDA_R_64F ? sizeof(double) : type == CUDA_R_16F ? 2 : sizeof(float);
}

cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t at, cublasOperation_t opa, cublasOperation_t opb, int m, int n,
    int k, const void *alpha, const void *a, cudaDataType type, int lda,
    long long a_apart, const void *b, cudaDataType, int ldb, long long b_apart,
    const void *beta, void *c, cudaDataType made, int ldc, long long c_apart, int batch,
    cublasComputeType_t, cublasGemmAlgo_t)
{
    guard g(lock);
    handle *h = (handle *)at;
    bool ta = opa == CUBLAS_OP_T, tb = opb == CUBLAS_OP_T;
    factor fa = {(const char *)a, ta, lda, ta ? k : m, ta ? m : k};
    factor fb = {(const char *)b, tb, ldb, tb ? n : k, tb ? k : n};
    size_t each = number_bytes(type), each_made = number_bytes(made);

    if (!h->factors)
        emulated.flops[type == CUDA_R_16F   ? 0
                       : type == CUDA_R_32F ? 1
                                            : 2] += 2.0 * m * n * k * batch /
                                                    (type == CUDA_R_16F ? 3 : 1);
    emulated_submit(h->stream, [=] {
        for (int i = 0; i < batch; i++) {
            factor x = fa, y = fb;

            x.at += (size_t)(i * a_apart) * each;
            y.at += (size_t)(i * b_apart) * each;
            multiply(type, m, n, k, alpha, x, y, beta,
                     (char *)c + (size_t)(i * c_apart) * each_made, ldc);
        }
    });
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t opa,
                            cublasOperation_t opb, int m, int n, int k,
                            const void *alpha, const void *a, cudaDataType a_type,
                            int lda, const void *b, cudaDataType b_type, int ldb,
                            const void *beta, void *c, cudaDataType c_type, int ldc,
                            cublasComputeType_t how, cublasGemmAlgo_t algorithm)
{
    return cublasGemmStridedBatchedEx(h, opa, opb, m, n, k, alpha, a, a_type, lda, 0, b,
                                      b_type, ldb, 0, beta, c, c_type, ldc, 0, 1, how,
                                      algorithm);
}

/* ---- time ------------------------------------------------------------------------ */

/* Of the plugin only: tests/emulate.py lets it call this one. */
int emulated_clock(clockid_t clock, struct timespec *t)
{
    static int64_t looked;

    if (!emulated.slow_clock)
        return clock_gettime(clock, t);
    looked++;
    t->tv_sec = looked / 10;
    t->tv_nsec = looked % 10 * 100000000;
    return 0;
}

} /* extern "C" */
