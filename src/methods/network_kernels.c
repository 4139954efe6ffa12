/* Loops over floats for networks, written so that the compiler vectorizes them:
 * partial sums have a fixed number of lanes and a fixed order. */
#include <math.h>
#include <string.h>

#include "compute/exponential.h"
#include "methods/network.h"

enum { LANES = 16 };

static const float BETA1 = 0.9f, BETA2 = 0.999f, EPSILON = 1e-8f;

/* Moments below this are set to 0: those of rare items would otherwise become
 * subnormal numbers, which are slow, and remain so. */
static const float NOTHING = 1e-30f;

ease__adam ease__adam_at(double rate, double decay, int64_t step)
{
    return (ease__adam){
        .rate = (float)(rate / (1 - pow((double)BETA1, (double)step))),
        .scale = (float)(1 / sqrt(1 - pow((double)BETA2, (double)step))),
        .decay = (float)decay};
}

void ease__adam_update(const ease__adam *a, const float *restrict gradient,
                       float *restrict value, float *restrict first,
                       float *restrict second, size_t count)
{
    float twice = 2 * a->decay, rate = a->rate, scale = a->scale;

    for (size_t i = 0; i < count; i++) {
        float g = gradient[i] + twice * value[i];
        float m = BETA1 * first[i] + (1 - BETA1) * g;
        float v = BETA2 * second[i] + (1 - BETA2) * (g * g);

        m = fabsf(m) < NOTHING ? 0.0f : m;
        first[i] = m;
        second[i] = v;
        value[i] -= rate * m / (sqrtf(v) * scale + EPSILON);
    }
}

static float largest(const float *x, int32_t count)
{
    float lane[LANES], most;
    int32_t whole = count - count % LANES;

    for (int l = 0; l < LANES; l++)
        lane[l] = -INFINITY;
    for (int32_t i = 0; i < whole; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];
    most = lane[0];
    for (int l = 1; l < LANES; l++)
        most = lane[l] > most ? lane[l] : most;
    for (int32_t i = whole; i < count; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

static float sum_lanes(const float *lane)
{
    float sum = 0;

    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

float ease__exp_panel(float *x, int32_t count, float *max)
{
    float lane[LANES] = {0}, most = largest(x, count), sum;
    int32_t whole = count - count % LANES;

    for (int32_t i = 0; i < whole; i += LANES)
        for (int l = 0; l < LANES; l++) {
            x[i + l] = ease__exp_below(x[i + l] - most);
            lane[l] += x[i + l];
        }
    sum = sum_lanes(lane);
    for (int32_t i = whole; i < count; i++) {
        x[i] = ease__exp_below(x[i] - most);
        sum += x[i];
    }
    *max = most;
    return sum;
}

float ease__square_panel(float *x, int32_t count, float scale)
{
    float lane[LANES] = {0}, sum;
    int32_t whole = count - count % LANES;

    for (int32_t i = 0; i < whole; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += x[i + l] * x[i + l];
    sum = sum_lanes(lane);
    for (int32_t i = whole; i < count; i++)
        sum += x[i] * x[i];
    ease__scale(x, scale, (size_t)count);
    return sum;
}

void ease__scale(float *x, float scale, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] *= scale;
}

void ease__column_sums(const float *x, int32_t rows, int32_t columns, size_t ld,
                       float *restrict sums)
{
    memset(sums, 0, (size_t)columns * sizeof(*sums));
    for (int32_t r = 0; r < rows; r++) {
        const float *row = x + (size_t)r * ld;

        for (int32_t c = 0; c < columns; c++)
            sums[c] += row[c];
    }
}

void ease__batch_transpose(const ease_row *rows, int32_t count, int32_t items,
                           ease__batch_columns *out)
{
    int64_t *starts = out->starts;

    memset(starts, 0, ((size_t)items + 1) * sizeof(*starts));
    for (int32_t r = 0; r < count; r++)
        for (int32_t h = 0; h < rows[r].count; h++)
            starts[rows[r].items[h] + 1]++;
    for (int32_t i = 0; i < items; i++)
        starts[i + 1] += starts[i];
    for (int32_t r = 0; r < count; r++)
        for (int32_t h = 0; h < rows[r].count; h++) {
            int64_t at = starts[rows[r].items[h]]++;

            out->rows[at] = r;
            out->values[at] = rows[r].weights[h];
        }
    /* Each start has advanced to its end, which is the next start. */
    memmove(starts + 1, starts, (size_t)items * sizeof(*starts));
    starts[0] = 0;
}
