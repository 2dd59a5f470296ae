/*
 * Elementary functions in float by sums and products alone, in place of those of a C library: the same bits on
 * every machine that computes in IEEE 754. Good to some units of rounding for angles of a few turns.
 */
#include <math.h>

/* x less its multiple of pi/2 in three parts, and that multiple. */
static float reduced(float x, int *quadrant)
{
    const float k = floorf(x * 0.636619772F + 0.5F);
    *quadrant = (int)k & 3;
    return ((x - k * 1.5703125F) - k * 4.83751297e-4F) - k * 7.54978995e-8F;
}

static float sine(float r)
{
    const float s = r * r;
    return r + r * s * (-0.166666667F + s * (8.33332940e-3F + s * (-1.98407310e-4F + s * 2.71883e-6F)));
}

static float cosine(float r)
{
    const float s = r * r;
    return 1.0F + s * (-0.5F + s * (4.16666418e-2F + s * (-1.38883740e-3F + s * 2.44331571e-5F)));
}

static float at_quadrant(float x, int shift)
{
    int quadrant;
    const float r = reduced(x, &quadrant);
    quadrant = (quadrant + shift) & 3;
    const float value = (quadrant & 1) ? cosine(r) : sine(r);
    return (quadrant & 2) ? -value : value;
}

float sinf(float x)
{
    return at_quadrant(x, 0);
}

float cosf(float x)
{
    return at_quadrant(x, 1);
}

/* Of a tangent up to 1: below tan(pi/8) by its series, above by atan(t) = pi/4 + atan((t - 1) / (t + 1)). */
static float arc(float t)
{
    const int high = t > 0.414213562F;
    const float u = high ? (t - 1.0F) / (t + 1.0F) : t;
    const float s = u * u;
    const float series = s * (-0.333329491F + s * (0.199777107F + s * (-0.138776856F + s * 8.05374449e-2F)));
    return (high ? 0.785398163F : 0.0F) + u + u * series;
}

float atan2f(float y, float x)
{
    const float ay = fabsf(y);
    const float ax = fabsf(x);
    float angle = (ay > ax) ? 1.57079633F - arc(ax / ay) : ((ax > 0.0F) ? arc(ay / ax) : 0.0F);
    angle = (x < 0.0F) ? 3.14159265F - angle : angle;
    return (y < 0.0F) ? -angle : angle;
}

float expf(float x)
{
    const float k = floorf(x * 1.44269504F + 0.5F);
    const float r = (x - k * 0.693359375F) + k * 2.12194440e-4F;
    float value = 1.0F + r * (1.0F + r * (0.5F + r * (0.166666657F + r * (4.16657962e-2F + r * 8.33345205e-3F))));
    for (int i = 0; i < 128 && (float)i < fabsf(k); ++i) {
        value *= (k > 0.0F) ? 2.0F : 0.5F;
    }
    return value;
}

float tanhf(float x)
{
    const float u = fabsf(x);
    const float e = expf(-2.0F * u);
    const float value = (u < 0.1F) ? u - u * u * u * (0.333333333F - 0.133333333F * u * u) : (1.0F - e) / (1.0F + e);
    return (x < 0.0F) ? -value : value;
}
