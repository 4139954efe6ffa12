#include "kernels.h"

#include <math.h>

#define REAL       float
#define NAME(what) what##_f32
#define TABLE      plain_f32
#include "kernels_plain.h"

#define REAL       double
#define NAME(what) what##_f64
#define TABLE      plain_f64
#include "kernels_plain.h"
