/* The arithmetic on tiles by OpenBLAS, which must not start threads itself: see
 * graph.c. */
#include <cblas.h>

#include "compute/blas.h"
#include "solve/solve.h"

#define REAL            float
#define TABLE           ease__blas_f32
#define NAME(what)      what##_f32
#define CBLAS(routine)  cblas_s##routine
#define LAPACK(routine) s##routine##_
#include "solve/kernels_real.h"

#define REAL            double
#define TABLE           ease__blas_f64
#define NAME(what)      what##_f64
#define CBLAS(routine)  cblas_d##routine
#define LAPACK(routine) d##routine##_
#include "solve/kernels_real.h"
