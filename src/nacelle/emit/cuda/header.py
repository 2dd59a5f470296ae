"""The header that all emitted CUDA begins with: arithmetic without slow paths, shared memory, tiles.

A host compiler reads it too, with `NACELLE_HOST` defined: the same statements then run one thread after the
other, number by number as on the device but for the estimates, which are rounded to as many bits there.
"""

HEADER = r"""
#ifndef NACELLE_CUDA_HEADER
#define NACELLE_CUDA_HEADER
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#pragma nv_diag_suppress 177 /* functions that are not used */
#endif
#if !defined(INFINITY) && !defined(NACELLE_HOST)
#define INFINITY __int_as_float(0x7f800000)
#endif
#if !defined(NAN) && !defined(NACELLE_HOST)
#define NAN __int_as_float(0x7fffffff)
#endif

#ifndef NACELLE_HOST
#define NC_INLINE static __device__ __forceinline__
typedef unsigned nc_address; /* of shared memory, bytes */
NC_INLINE nc_address nc_shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

/* Volatile: a value that is put aside must not be kept in a register instead. */
NC_INLINE void nc_load(nc_address p, double &a)
{
    asm volatile("ld.shared.f64 %0, [%1];" : "=d"(a) : "r"(p));
}
NC_INLINE void nc_load(nc_address p, float &a)
{
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(a) : "r"(p));
}
NC_INLINE void nc_load(nc_address p, float &a, float &b)
{
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(a), "=f"(b) : "r"(p));
}
NC_INLINE void nc_keep(nc_address p, double a) { asm volatile("st.shared.f64 [%0], %1;" : : "r"(p), "d"(a)); }
NC_INLINE void nc_keep(nc_address p, float a) { asm volatile("st.shared.f32 [%0], %1;" : : "r"(p), "f"(a)); }
NC_INLINE void nc_keep(nc_address p, float a, float b)
{
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" : : "r"(p), "f"(a), "f"(b));
}
NC_INLINE void nc_read(const double *p, double &a)
{
    asm volatile("ld.global.nc.f64 %0, [%1];" : "=d"(a) : "l"(p));
}
NC_INLINE void nc_read(const float *p, float &a)
{
    asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(a) : "l"(p));
}
NC_INLINE void nc_read(const float *p, float &a, float &b) { nc_read(p, a); nc_read(p + 1, b); }
NC_INLINE void nc_fetch(const double *p, double &a)
{
    asm volatile("ld.global.f64 %0, [%1];" : "=d"(a) : "l"(p));
}
NC_INLINE void nc_fetch(const float *p, float &a)
{
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(a) : "l"(p));
}
NC_INLINE void nc_write(double *p, double a, unsigned long long i, unsigned long long n)
{
    if (i < n)
        *p = a;
}
NC_INLINE void nc_write(float *p, float a, unsigned long long i, unsigned long long n)
{
    if (i < n)
        *p = a;
}
NC_INLINE void nc_write(float *p, float a, float b, unsigned long long i, unsigned long long n)
{
    if (i + 1 < n)
        asm volatile("st.global.v2.f32 [%0], {%1, %2};" : : "l"(p), "f"(a), "f"(b) : "memory");
    else if (i < n)
        *p = a;
}

NC_INLINE double nc_add(double a, double b) { return __dadd_rn(a, b); }
NC_INLINE float nc_add(float a, float b) { return __fadd_rn(a, b); }
NC_INLINE double nc_sub(double a, double b) { return __dadd_rn(a, -b); }
NC_INLINE float nc_sub(float a, float b) { return __fadd_rn(a, -b); }
NC_INLINE double nc_mul(double a, double b) { return __dmul_rn(a, b); }
NC_INLINE float nc_mul(float a, float b) { return __fmul_rn(a, b); }
NC_INLINE double nc_fma(double a, double b, double c) { return __fma_rn(a, b, c); }
NC_INLINE float nc_fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
NC_INLINE double nc_div(double a, double b) { return __ddiv_rn(a, b); }
NC_INLINE float nc_div(float a, float b) { return __fdiv_rn(a, b); }
NC_INLINE double nc_sqrt(double a) { return __dsqrt_rn(a); }
NC_INLINE float nc_sqrt(float a) { return __fsqrt_rn(a); }

/* Estimates: 1 / x and 1 / sqrt(x) to about 20 bits in double, to all but one bit in float. */
NC_INLINE double nc_near_rcp(double x)
{
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    return y;
}
NC_INLINE double nc_near_rsqrt(double x)
{
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    return y;
}
NC_INLINE float nc_rcp(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
NC_INLINE float nc_rsqrt(float x)
{
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
NC_INLINE int nc_high(double a) { return __double2hiint(a); }
NC_INLINE int nc_low(double a) { return __double2loint(a); }
NC_INLINE double nc_pair(int high, int low) { return __hiloint2double(high, low); }
#endif

/* One cubic step each: the error e of the estimate is about 2^-20, e^3 below a unit in the last place. */
NC_INLINE double nc_rcp(double x)
{
    const double y = nc_near_rcp(x);
    const double e = nc_fma(-x, y, 1.0);
    return nc_fma(y, nc_fma(e, e, e), y);
}
NC_INLINE double nc_rsqrt(double x)
{
    const double y = nc_near_rsqrt(x);
    const double e = nc_fma(-nc_mul(x, y), y, 1.0);
    return nc_fma(nc_mul(y, e), nc_fma(e, 0.375, 0.5), y);
}

/* The root of x from y = 1 / sqrt(x). */
template <typename real> NC_INLINE real nc_root(real x, real y) { return (x == 0) ? x : nc_mul(x, y); }

/* By whole numbers on the bits: -1 or 1; zeros and NaN stay. */
NC_INLINE double nc_sign(double a)
{
    const unsigned high = (unsigned)nc_high(a), low = (unsigned)nc_low(a);
    const unsigned size = (high & 0x7fffffffu) | (low != 0u);
    const bool plain = size - 1u < 0x7ff00000u;
    return nc_pair(plain ? (int)((high & 0x80000000u) | 0x3ff00000u) : (int)high, plain ? 0 : (int)low);
}
NC_INLINE float nc_sign(float a) { return (a > 0.0f) ? 1.0f : ((a < 0.0f) ? -1.0f : a); }

NC_INLINE double nc_abs(double a) { return fabs(a); }
NC_INLINE float nc_abs(float a) { return fabsf(a); }
NC_INLINE double nc_floor(double a) { return floor(a); }
NC_INLINE float nc_floor(float a) { return floorf(a); }
#ifdef NACELLE_IEEE
NC_INLINE double nc_sin(double a) { return sin(a); }
NC_INLINE float nc_sin(float a) { return sinf(a); }
NC_INLINE double nc_cos(double a) { return cos(a); }
NC_INLINE float nc_cos(float a) { return cosf(a); }
#else
/* Sine and cosine without the slow path for large angles, where they are NaN: a = k pi / 2 + r with pi / 2 in
 * parts, and polynomials of r (fdlibm; Cephes in float). */
NC_INLINE double nc_turned(double a, int &quarter)
{
    const double k = nc_sub(nc_fma(a, 0.63661977236758138, 6755399441055744.0), 6755399441055744.0);
    double r = nc_fma(-k, 1.5707963267948966, a);
    r = nc_fma(-k, 6.1232339957367660e-17, r);
    quarter = (int)k;
    return (fabs(a) < 105615.0) ? r : NAN;
}
NC_INLINE double nc_sin_near(double r)
{
    const double z = nc_mul(r, r);
    double s = nc_fma(z, 1.58969099521155010221e-10, -2.50507602534068634195e-08);
    s = nc_fma(z, s, 2.75573137070700676789e-06);
    s = nc_fma(z, s, -1.98412698298579493134e-04);
    s = nc_fma(z, s, 8.33333333332248946124e-03);
    s = nc_fma(z, s, -1.66666666666666324348e-01);
    return nc_fma(nc_mul(z, r), s, r);
}
NC_INLINE double nc_cos_near(double r)
{
    const double z = nc_mul(r, r);
    double c = nc_fma(z, -1.13596475577881948265e-11, 2.08757232129817482790e-09);
    c = nc_fma(z, c, -2.75573143513906633035e-07);
    c = nc_fma(z, c, 2.48015872894767294178e-05);
    c = nc_fma(z, c, -1.38888888888741095749e-03);
    c = nc_fma(z, c, 4.16666666666666019037e-02);
    c = nc_fma(z, c, -0.5);
    return nc_fma(z, c, 1.0);
}
NC_INLINE float nc_turned(float a, int &quarter)
{
    const float k = nc_sub(nc_fma(a, 0.636619747f, 12582912.0f), 12582912.0f);
    float r = nc_fma(-k, 1.57079637f, a);
    r = nc_fma(-k, -4.37113883e-8f, r);
    r = nc_fma(-k, -1.71512489e-15f, r);
    quarter = (int)k;
    return (fabsf(a) < 105615.0f) ? r : NAN;
}
NC_INLINE float nc_sin_near(float r)
{
    const float z = nc_mul(r, r);
    float s = nc_fma(z, -1.9515295891e-4f, 8.3321608736e-3f);
    s = nc_fma(z, s, -1.6666654611e-1f);
    return nc_fma(nc_mul(z, r), s, r);
}
NC_INLINE float nc_cos_near(float r)
{
    const float z = nc_mul(r, r);
    float c = nc_fma(z, 2.443315711809948e-5f, -1.388731625493765e-3f);
    c = nc_fma(z, c, 4.166664568298827e-2f);
    c = nc_fma(z, c, -0.5f);
    return nc_fma(z, c, 1.0f);
}
template <typename real> NC_INLINE real nc_sin(real a)
{
    int quarter;
    const real r = nc_turned(a, quarter);
    const real s = nc_sin_near(r), c = nc_cos_near(r);
    const real value = (quarter & 1) ? c : s;
    return (quarter & 2) ? -value : value;
}
template <typename real> NC_INLINE real nc_cos(real a)
{
    int quarter;
    const real r = nc_turned(a, quarter);
    const real s = nc_sin_near(r), c = nc_cos_near(r);
    const real value = (quarter & 1) ? s : c;
    return ((quarter + 1) & 2) ? -value : value;
}
#endif
NC_INLINE double nc_tanh(double a) { return tanh(a); }
NC_INLINE float nc_tanh(float a) { return tanhf(a); }
NC_INLINE double nc_exp(double a) { return exp(a); }
NC_INLINE float nc_exp(float a) { return expf(a); }
NC_INLINE double nc_atan2(double a, double b) { return atan2(a, b); }
NC_INLINE float nc_atan2(float a, float b) { return atan2f(a, b); }
NC_INLINE double nc_min(double a, double b) { return (a < b || a != a) ? a : b; }
NC_INLINE float nc_min(float a, float b) { return (a < b || a != a) ? a : b; }
NC_INLINE double nc_max(double a, double b) { return (a > b || a != a) ? a : b; }
NC_INLINE float nc_max(float a, float b) { return (a > b || a != a) ? a : b; }
NC_INLINE double nc_where(double c, double a, double b) { return (c > 0.0) ? a : b; }
NC_INLINE float nc_where(float c, float a, float b) { return (c > 0.0f) ? a : b; }
template <typename real> NC_INLINE real nc_got(nc_address p) { real a; nc_load(p, a); return a; }
NC_INLINE bool nc_finite(double a) { return fabs(a) < INFINITY; }
NC_INLINE bool nc_finite(float a) { return fabsf(a) < INFINITY; }

#ifndef NACELLE_HOST
/* A tensor map (CUtensorMap of the driver): where the rows of an array are. */
struct __align__(64) nc_map { unsigned long long words[16]; };
#endif
#if !defined(NACELLE_HOST) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
/* Tiles by the copy engine, which counts the bytes that have arrived at a barrier. */
NC_INLINE void nc_barrier(nc_address bar)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(bar) : "memory");
}
NC_INLINE void nc_barriers_ready()
{
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
}
NC_INLINE void nc_expect(nc_address bar, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 : : "r"(bar), "r"(bytes) : "memory");
}
NC_INLINE void nc_copy(nc_address to, const nc_map *map, unsigned first, nc_address bar)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];"
                 : : "r"(to), "l"(map), "r"(first), "r"(0), "r"(bar) : "memory");
}
NC_INLINE void nc_wait(nc_address bar, unsigned phase)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra.uni over;\n"
                 "bra.uni again;\n"
                 "over:\n"
                 "}" : : "r"(bar), "r"(phase) : "memory");
}
#endif
#endif
"""

HOST = r"""
#define NACELLE_HOST
#include <cmath>
#include <cstring>
#include <cstdint>
using namespace std;
#define __global__
#define __device__
#define __noinline__
#define __launch_bounds__(...)
#define __shared__
#define __align__(n)
#define __grid_constant__
#define __syncthreads() ((void)0)
struct nc_index { unsigned x; };
static nc_index threadIdx, blockIdx, gridDim;
struct nc_map { uint64_t words[16]; };
alignas(128) unsigned char memory[1 << 18];
#define NC_INLINE static inline
typedef unsigned char *nc_address;
NC_INLINE nc_address nc_shared(void *p) { return (nc_address)p; }
template <class R> NC_INLINE void nc_load(nc_address p, R &a) { std::memcpy(&a, p, sizeof a); }
template <class R> NC_INLINE void nc_load(nc_address p, R &a, R &b)
{
    nc_load(p, a);
    nc_load(p + sizeof a, b);
}
template <class R> NC_INLINE void nc_keep(nc_address p, R a) { std::memcpy(p, &a, sizeof a); }
template <class R> NC_INLINE void nc_keep(nc_address p, R a, R b) { nc_keep(p, a); nc_keep(p + sizeof a, b); }
template <class R> NC_INLINE void nc_read(const R *p, R &a) { a = *p; }
template <class R> NC_INLINE void nc_fetch(const R *p, R &a) { a = *p; }
template <class R> NC_INLINE void nc_write(R *p, R a, uint64_t i, uint64_t n) { if (i < n) *p = a; }
template <class R> NC_INLINE R nc_add(R a, R b) { return a + b; }
template <class R> NC_INLINE R nc_sub(R a, R b) { return a - b; }
template <class R> NC_INLINE R nc_mul(R a, R b) { return a * b; }
template <class R> NC_INLINE R nc_fma(R a, R b, R c) { return std::fma(a, b, c); }
template <class R> NC_INLINE R nc_div(R a, R b) { return a / b; }
template <class R> NC_INLINE R nc_sqrt(R a) { return std::sqrt(a); }
NC_INLINE uint64_t nc_bits(double a) { uint64_t b; std::memcpy(&b, &a, 8); return b; }
NC_INLINE double nc_of(uint64_t b) { double a; std::memcpy(&a, &b, 8); return a; }
NC_INLINE double nc_flushed(double a) { return fabs(a) < 2.2250738585072014e-308 ? 0.0 * a : a; }
NC_INLINE double nc_high_word(double a)
{
    return std::isfinite(a) ? nc_of(nc_bits(a) & 0xffffffff00000000ull) : a;
}
NC_INLINE double nc_near_rcp(double x) { return nc_high_word(nc_flushed(1.0 / nc_flushed(x))); }
NC_INLINE double nc_near_rsqrt(double x) { return nc_high_word(1.0 / std::sqrt(nc_flushed(x))); }
NC_INLINE float nc_rcp(float x) { return 1.0f / x; }
NC_INLINE float nc_rsqrt(float x) { return 1.0f / std::sqrt(x); }
NC_INLINE int nc_high(double a) { return (int)(nc_bits(a) >> 32); }
NC_INLINE int nc_low(double a) { return (int)nc_bits(a); }
NC_INLINE double nc_pair(int h, int l) { return nc_of(((uint64_t)(unsigned)h << 32) | (unsigned)l); }
"""
"""What a compiler of C++ reads before `HEADER`, in place of the device: shared memory is an array, loads and
stores are plain, and the estimates of 1 / x and 1 / sqrt(x) have the 20 bits that the device gives."""
