/* cuSOLVER by itself: Cholesky factor and inverse (potrf, potri) in float32 of the matrix
 * I + small random numbers. Prints the seconds of each run. cusolver ITEMS REPEATS */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <cusolverDn.h>

__global__ static void fill(float *a, size_t n)
{
    size_t i = blockIdx.x;

    for (size_t j = threadIdx.x; j <= i; j += blockDim.x) {
        unsigned x = (unsigned)(i * 2654435761u + j * 40503u);
        float value = (float)((x ^ x >> 13) % 1000) / 1e3f / (float)n;

        a[i * n + j] = a[j * n + i] = i == j ? 2.0f : value;
    }
}

int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[1]) : 0, repeats = argc > 2 ? atoi(argv[2]) : 0;
    int factor = 0, inverse = 0, info, *device_info;
    cusolverDnHandle_t handle;
    cudaEvent_t from, to;
    float *a, *work, ms;

    cusolverDnCreate(&handle);
    cudaEventCreate(&from);
    cudaEventCreate(&to);
    if (cudaMalloc(&a, (size_t)n * (size_t)n * sizeof(float)) != cudaSuccess)
        return 1;
    cudaMalloc(&device_info, sizeof(int));
    cusolverDnSpotrf_bufferSize(handle, CUBLAS_FILL_MODE_LOWER, n, a, n, &factor);
    cusolverDnSpotri_bufferSize(handle, CUBLAS_FILL_MODE_LOWER, n, a, n, &inverse);
    cudaMalloc(&work, (size_t)(factor > inverse ? factor : inverse) * sizeof(float));
    for (int r = 0; r < repeats; r++) {
        fill<<<(unsigned)n, 256>>>(a, (size_t)n);
        cudaEventRecord(from);
        cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_LOWER, n, a, n, work, factor,
                         device_info);
        cusolverDnSpotri(handle, CUBLAS_FILL_MODE_LOWER, n, a, n, work, inverse,
                         device_info);
        cudaEventRecord(to);
        cudaEventSynchronize(to);
        cudaEventElapsedTime(&ms, from, to);
        cudaMemcpy(&info, device_info, sizeof(info), cudaMemcpyDeviceToHost);
        printf("seconds %.4f info %d\n", ms / 1e3, info);
    }
    return 0;
}
