/* Straight-line programs over floating-point numbers of 256 bits, 77 digits: a reference for double.

A number is s * m * 2^(e - 256) with the top bit of m set; s is -1, 0 or 1, and 2 where it is no number.
Results are cut off, not rounded: each operation is right to a few units of the last of its 256 bits. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { LIMBS = 4, BITS = 256, NONE = 2 };
enum { CONST, INPUT, ADD, SUB, MUL, DIV, NEG, SQRT, SIN, COS, ABS, SIGN, MIN, MAX, WHERE };

__extension__ typedef unsigned __int128 pair;

typedef struct {
    uint64_t m[LIMBS]; /* the lowest first */
    int64_t e;
    int s;
} wide;

static const wide zero = {{0, 0, 0, 0}, 0, 0};
static const wide none = {{0, 0, 0, 0}, 0, NONE};

static wide from_double(double x)
{
    wide r = zero;
    if (!isfinite(x))
        return none;
    if (x == 0.0)
        return r;
    int e;
    double f = frexp(fabs(x), &e);
    r.m[LIMBS - 1] = (uint64_t)ldexp(f, 64);
    r.e = e;
    r.s = x > 0.0 ? 1 : -1;
    return r;
}

static double to_double(wide a)
{
    if (a.s == NONE)
        return NAN;
    /* The top 53 bits alone, so that what is left has the same sign. */
    return a.s == 0 ? 0.0 : a.s * ldexp((double)(a.m[LIMBS - 1] >> 11), (int)a.e - 53);
}

static wide negated(wide a)
{
    if (a.s != NONE)
        a.s = -a.s;
    return a;
}

static wide doubled(wide a, int64_t power)
{
    a.e += power;
    return a;
}

static void shift_left(uint64_t *m, int n)
{
    int words = n / 64, bits = n % 64;
    for (int k = LIMBS - 1; k >= 0; --k) {
        uint64_t high = k >= words ? m[k - words] : 0, low = k > words ? m[k - words - 1] : 0;
        m[k] = bits ? high << bits | low >> (64 - bits) : high;
    }
}

static void shift_right(uint64_t *m, int n)
{
    int words = n / 64, bits = n % 64;
    for (int k = 0; k < LIMBS; ++k) {
        uint64_t low = k + words < LIMBS ? m[k + words] : 0;
        uint64_t high = k + words + 1 < LIMBS ? m[k + words + 1] : 0;
        m[k] = bits ? low >> bits | high << (64 - bits) : low;
    }
}

static wide normal(wide a)
{
    int n = 0;
    for (int k = LIMBS - 1; k >= 0; --k, n += 64)
        if (a.m[k]) {
            n += __builtin_clzll(a.m[k]);
            shift_left(a.m, n);
            a.e -= n;
            return a;
        }
    return zero;
}

static int compare_size(wide a, wide b)
{
    if (a.e != b.e)
        return a.e < b.e ? -1 : 1;
    for (int k = LIMBS - 1; k >= 0; --k)
        if (a.m[k] != b.m[k])
            return a.m[k] < b.m[k] ? -1 : 1;
    return 0;
}

static wide add(wide a, wide b)
{
    if (a.s == NONE || b.s == NONE)
        return none;
    if (a.s == 0 || b.s == 0)
        return a.s == 0 ? b : a;
    if (compare_size(a, b) < 0) {
        wide t = a;
        a = b;
        b = t;
    }
    if (a.e - b.e >= BITS)
        return a;
    shift_right(b.m, (int)(a.e - b.e));
    uint64_t carry = 0;
    if (a.s == b.s) {
        for (int k = 0; k < LIMBS; ++k) {
            pair t = (pair)a.m[k] + b.m[k] + carry;
            a.m[k] = (uint64_t)t;
            carry = (uint64_t)(t >> 64);
        }
        if (carry) {
            shift_right(a.m, 1);
            a.m[LIMBS - 1] |= (uint64_t)1 << 63;
            a.e += 1;
        }
        return a;
    }
    for (int k = 0; k < LIMBS; ++k) {
        pair t = (pair)a.m[k] - b.m[k] - carry;
        a.m[k] = (uint64_t)t;
        carry = (uint64_t)(t >> 64) & 1;
    }
    return normal(a);
}

static wide sub(wide a, wide b) { return add(a, negated(b)); }

static wide mul(wide a, wide b)
{
    if (a.s == NONE || b.s == NONE)
        return none;
    if (a.s == 0 || b.s == 0)
        return zero;
    uint64_t t[2 * LIMBS] = {0};
    for (int i = 0; i < LIMBS; ++i) {
        uint64_t carry = 0;
        for (int j = 0; j < LIMBS; ++j) {
            pair p = (pair)a.m[i] * b.m[j] + t[i + j] + carry;
            t[i + j] = (uint64_t)p;
            carry = (uint64_t)(p >> 64);
        }
        t[i + LIMBS] = carry;
    }
    wide r = {{0, 0, 0, 0}, a.e + b.e, a.s * b.s};
    int top = (int)(t[2 * LIMBS - 1] >> 63);
    for (int k = 0; k < LIMBS; ++k)
        r.m[k] = top ? t[k + LIMBS] : t[k + LIMBS] << 1 | t[k + LIMBS - 1] >> 63;
    r.e -= !top;
    return r;
}

/* Newton's iterations double the 53 digits that a start in double has. */
static wide quotient(wide a, wide b)
{
    if (a.s == NONE || b.s == NONE || b.s == 0)
        return none;
    int64_t power = b.e;
    b.e = 0;
    wide one = from_double(1.0), y = from_double(1.0 / to_double(b));
    for (int k = 0; k < 3; ++k)
        y = add(y, mul(y, sub(one, mul(b, y))));
    wide q = mul(a, y);
    q = add(q, mul(y, sub(a, mul(b, q))));
    return q.s == 0 || q.s == NONE ? q : doubled(q, -power);
}

static wide root(wide a)
{
    if (a.s == 0)
        return zero;
    if (a.s != 1)
        return none;
    int64_t half = (a.e - (a.e & 1)) / 2;
    a.e &= 1;
    wide one = from_double(1.0), y = from_double(1.0 / sqrt(to_double(a)));
    for (int k = 0; k < 3; ++k)
        y = add(y, doubled(mul(y, sub(one, mul(a, mul(y, y)))), -1));
    wide r = mul(a, y);
    wide rest = mul(y, sub(a, mul(r, r)));
    r = add(r, rest.s == 0 ? rest : doubled(rest, -1));
    return doubled(r, half);
}

/* Taylor's series of a small part of the angle, then double angles; for angles of a few turns. */
static void turn(wide a, wide *sine, wide *cosine)
{
    enum { HALVINGS = 12, TERMS = 22 };
    if (a.s == 0 || a.s == NONE) {
        *sine = a;
        *cosine = a.s == 0 ? from_double(1.0) : none;
        return;
    }
    wide x = doubled(a, -HALVINGS), square = mul(x, x), s = x, term = x;
    wide less = doubled(square, -1), part = less;
    for (int k = 1; k <= TERMS; ++k) {
        term = negated(quotient(mul(term, square), from_double(2.0 * k * (2.0 * k + 1.0))));
        s = add(s, term);
        part = negated(quotient(mul(part, square), from_double((2.0 * k + 1.0) * (2.0 * k + 2.0))));
        less = add(less, part);
    }
    /* less = 1 - cos: sin 2a = 2 sin a (1 - less), 1 - cos 2a = 2 sin^2 a. */
    for (int k = 0; k < HALVINGS; ++k) {
        wide next = mul(s, s);
        s = mul(s, sub(from_double(1.0), less));
        if (s.s != 0)
            s = doubled(s, 1);
        less = next.s == 0 ? next : doubled(next, 1);
    }
    *sine = s;
    *cosine = sub(from_double(1.0), less);
}

/* The sum of doubles. */
static wide from_parts(const double *p, size_t parts)
{
    wide r = from_double(p[0]);
    for (size_t k = 1; k < parts; ++k)
        r = add(r, from_double(p[k]));
    return r;
}

static int order(wide a, wide b)
{
    wide d = sub(a, b);
    return d.s;
}

static wide apply(int op, wide a, wide b, wide c)
{
    wide s = none, t = none;
    switch (op) {
    case ADD: return add(a, b);
    case SUB: return sub(a, b);
    case MUL: return mul(a, b);
    case DIV: return quotient(a, b);
    case NEG: return negated(a);
    case SQRT: return root(a);
    case SIN: turn(a, &s, &t); return s;
    case COS: turn(a, &s, &t); return t;
    case ABS: return a.s == -1 ? negated(a) : a;
    case SIGN: return a.s == NONE ? none : from_double(a.s);
    case MIN: return a.s == NONE || b.s == NONE ? none : order(a, b) < 0 ? a : b;
    case MAX: return a.s == NONE || b.s == NONE ? none : order(a, b) > 0 ? a : b;
    case WHERE: return a.s == 1 ? b : c;
    default: return none;
    }
}

/* Run a program of `length` instructions on `states` rows of `inputs` numbers. Instruction k does code[4k] to
   the values code[4k + 1 .. 4k + 3]; a constant is the k-th number of `constants`. Numbers come and go as
   `parts` doubles whose sum they are. Returns 0, or 1 without memory. */
int wide_run(size_t length, const int32_t *code, const double *constants, size_t outputs,
             const int32_t *results, size_t states, size_t inputs, const double *x, size_t parts, double *y)
{
    wide *v = malloc((length + 1) * sizeof *v);
    if (!v)
        return 1;
    for (size_t k = 0; k < length; ++k)
        v[k] = code[4 * k] == CONST ? from_parts(constants + k * parts, parts) : zero;
    for (size_t n = 0; n < states; ++n, x += inputs * parts) {
        for (size_t k = 0; k < length; ++k) {
            const int32_t *i = code + 4 * k;
            if (i[0] == INPUT)
                v[k] = from_parts(x + (size_t)i[1] * parts, parts);
            else if (i[0] != CONST)
                v[k] = apply(i[0], v[i[1]], v[i[2]], v[i[3]]);
        }
        for (size_t k = 0; k < outputs; ++k) {
            wide r = v[results[k]];
            for (size_t part = 0; part < parts; ++part, ++y) {
                *y = to_double(r);
                r = sub(r, from_double(*y));
            }
        }
    }
    free(v);
    return 0;
}
