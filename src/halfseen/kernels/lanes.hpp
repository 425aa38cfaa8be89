// As many doubles side by side as one register of the target holds, and the few functions of them the kernels need.
//
// GCC and Clang have vector types (never wider than the target's own: wider ones are spilled); other compilers get a
// plain array. No fast-math anywhere: the rounding trick in `exp` and the meaning of -inf and NaN depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <algorithm>
#include <cmath>
#include <cstring>

#include "spans.hpp"

namespace {  // each instruction set compiles its own copy

#if defined(__AVX512F__)
constexpr int WIDTH = 8;
#elif defined(__AVX__)
constexpr int WIDTH = 4;
#else
constexpr int WIDTH = 2;
#endif

#if defined(__GNUC__) || defined(__clang__)

typedef double Lanes __attribute__((vector_size(WIDTH * sizeof(double))));
typedef std::int64_t Bits __attribute__((vector_size(WIDTH * sizeof(std::int64_t))));

inline Lanes as_lanes(Bits bits) { return (Lanes)bits; }
inline Bits as_bits(Lanes x) { return (Bits)x; }
inline Lanes choose(Bits mask, Lanes yes, Lanes no) { return as_lanes((mask & as_bits(yes)) | (~mask & as_bits(no))); }
inline Lanes only(Bits mask, Lanes x) { return as_lanes(mask & as_bits(x)); }
inline Bits seen(Lanes x) { return x == x; }

#else

template <class T>
struct Several {
    T v[WIDTH];
    T operator[](int i) const { return v[i]; }
};
using Lanes = Several<double>;
using Bits = Several<std::int64_t>;

template <class T, class F>
inline Several<T> each(const Several<T>& a, const Several<T>& b, F f) {
    Several<T> out;
    for (int i = 0; i < WIDTH; ++i) out.v[i] = f(a.v[i], b.v[i]);
    return out;
}
#define HALFSEEN_OPERATOR(op)                                                                                        \
    template <class T>                                                                                               \
    inline Several<T> operator op(const Several<T>& a, const Several<T>& b) {                                              \
        return each(a, b, [](T x, T y) { return T(x op y); });                                                       \
    }                                                                                                                \
    template <class T>                                                                                               \
    inline Several<T> operator op(const Several<T>& a, T b) {                                                            \
        Several<T> whole;                                                                                              \
        for (int i = 0; i < WIDTH; ++i) whole.v[i] = b;                                                              \
        return a op whole;                                                                                           \
    }                                                                                                                \
    template <class T>                                                                                               \
    inline Several<T> operator op(T a, const Several<T>& b) {                                                            \
        Several<T> whole;                                                                                              \
        for (int i = 0; i < WIDTH; ++i) whole.v[i] = a;                                                              \
        return whole op b;                                                                                           \
    }
HALFSEEN_OPERATOR(+)
HALFSEEN_OPERATOR(-)
HALFSEEN_OPERATOR(*)
HALFSEEN_OPERATOR(/)
#undef HALFSEEN_OPERATOR
template <class T> inline Several<T>& operator+=(Several<T>& a, const Several<T>& b) { return a = a + b; }
template <class T> inline Several<T>& operator-=(Several<T>& a, const Several<T>& b) { return a = a - b; }
template <class T> inline Several<T>& operator*=(Several<T>& a, const Several<T>& b) { return a = a * b; }
inline Bits operator<(const Lanes& a, const Lanes& b) {
    Bits out;
    for (int i = 0; i < WIDTH; ++i) out.v[i] = a.v[i] < b.v[i] ? -1 : 0;
    return out;
}
inline Bits operator<<(const Bits& a, int n) {
    Bits out;
    for (int i = 0; i < WIDTH; ++i) out.v[i] = std::int64_t(std::uint64_t(a.v[i]) << n);
    return out;
}
inline Bits operator>>(const Bits& a, int n) {
    Bits out;
    for (int i = 0; i < WIDTH; ++i) out.v[i] = a.v[i] >> n;
    return out;
}
inline Bits operator&(const Bits& a, const Bits& b) {
    Bits out;
    for (int i = 0; i < WIDTH; ++i) out.v[i] = a.v[i] & b.v[i];
    return out;
}
inline Bits operator|(const Bits& a, const Bits& b) {
    Bits out;
    for (int i = 0; i < WIDTH; ++i) out.v[i] = a.v[i] | b.v[i];
    return out;
}
inline Bits operator&(const Bits& a, std::int64_t b) {
    Bits out;
    for (int i = 0; i < WIDTH; ++i) out.v[i] = a.v[i] & b;
    return out;
}
inline Lanes as_lanes(const Bits& bits) {
    Lanes out;
    std::memcpy(&out, &bits, sizeof out);
    return out;
}
inline Bits as_bits(const Lanes& x) {
    Bits out;
    std::memcpy(&out, &x, sizeof out);
    return out;
}
inline Bits seen(const Lanes& x) {
    Bits out;
    for (int i = 0; i < WIDTH; ++i) out.v[i] = x.v[i] == x.v[i] ? -1 : 0;
    return out;
}
inline Lanes only(const Bits& mask, const Lanes& x) {
    Lanes out;
    for (int i = 0; i < WIDTH; ++i) out.v[i] = mask.v[i] ? x.v[i] : 0.0;
    return out;
}
inline Lanes choose(const Bits& mask, const Lanes& yes, const Lanes& no) {
    Lanes out;
    for (int i = 0; i < WIDTH; ++i) out.v[i] = mask.v[i] ? yes.v[i] : no.v[i];
    return out;
}

#endif

inline Lanes load(const double* from) {
    Lanes x;
    std::memcpy(&x, from, sizeof x);
    return x;
}
inline void store(double* to, Lanes x) { std::memcpy(to, &x, sizeof x); }
inline Lanes all(double x) {
#if defined(__GNUC__) || defined(__clang__)
    return x - Lanes{};  // not 0 + x, which would turn -0 into 0 and so costs an addition
#else
    Lanes out;
    for (int i = 0; i < WIDTH; ++i) out.v[i] = x;
    return out;
#endif
}
// Keep x in a register: GCC would rather read it again from memory in every multiplication, and wait for that.
inline Lanes kept(Lanes x) {
#if defined(__GNUC__) && defined(__AVX__)
    asm("" : "+v"(x));
#endif
    return x;
}
// The numbers at these places, put together in registers: to write and then read them would wait for the writing.
inline Lanes gather(const double* from, const unsigned char* at) {
#if defined(__AVX__) && !defined(__AVX512F__) && defined(__GNUC__)
    return Lanes{from[at[0]], from[at[1]], from[at[2]], from[at[3]]};
#else
    double x[WIDTH];
    for (int i = 0; i < WIDTH; ++i) x[i] = from[at[i]];
    return load(x);
#endif
}
inline double sum(Lanes x) {
    double total = x[0];
    for (int i = 1; i < WIDTH; ++i) total += x[i];
    return total;
}
// The sums of WIDTH registers that lie one after the other.
inline Lanes sums_of(const double* from) {
#if defined(__AVX__) && !defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
    const Lanes a = load(from), b = load(from + 4), c = load(from + 8), d = load(from + 12);
    const Lanes ab = __builtin_shuffle(a, b, Bits{0, 4, 2, 6}) + __builtin_shuffle(a, b, Bits{1, 5, 3, 7});
    const Lanes cd = __builtin_shuffle(c, d, Bits{0, 4, 2, 6}) + __builtin_shuffle(c, d, Bits{1, 5, 3, 7});
    return __builtin_shuffle(ab, cd, Bits{0, 1, 4, 5}) + __builtin_shuffle(ab, cd, Bits{2, 3, 6, 7});
#else
    double sums[WIDTH];
    for (int i = 0; i < WIDTH; ++i) sums[i] = sum(load(from + i * WIDTH));
    return load(sums);
#endif
}
// to[j, i] = from[i, j] for a square of WIDTH by WIDTH; their rows are so far apart.
inline void turn_square(const double* from, std::size_t stride, double* to, std::size_t to_stride) {
#if defined(__AVX__) && !defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
    const Lanes a = load(from), b = load(from + stride), c = load(from + 2 * stride), d = load(from + 3 * stride);
    const Lanes ab0 = __builtin_shuffle(a, b, Bits{0, 4, 2, 6}), ab1 = __builtin_shuffle(a, b, Bits{1, 5, 3, 7});
    const Lanes cd0 = __builtin_shuffle(c, d, Bits{0, 4, 2, 6}), cd1 = __builtin_shuffle(c, d, Bits{1, 5, 3, 7});
    store(to, __builtin_shuffle(ab0, cd0, Bits{0, 1, 4, 5}));
    store(to + to_stride, __builtin_shuffle(ab1, cd1, Bits{0, 1, 4, 5}));
    store(to + 2 * to_stride, __builtin_shuffle(ab0, cd0, Bits{2, 3, 6, 7}));
    store(to + 3 * to_stride, __builtin_shuffle(ab1, cd1, Bits{2, 3, 6, 7}));
#else
    for (int i = 0; i < WIDTH; ++i) {
        for (int j = 0; j < WIDTH; ++j) to[j * to_stride + i] = from[i * stride + j];
    }
#endif
}
// to[d, t] = from[t, d] for `size` rows, which are `stride` numbers apart; 0 in the rows up to ROWS.
template <std::size_t ROWS>
inline void turn_rows(const double* from, std::size_t stride, std::size_t size, std::size_t n_columns, double* to) {
    std::size_t t = 0;
    for (; t + WIDTH <= size; t += WIDTH, from += WIDTH * stride) {
        std::size_t d = 0;
        for (; d + WIDTH <= n_columns; d += WIDTH) turn_square(from + d, stride, to + d * ROWS + t, ROWS);
        for (; d < n_columns; ++d) {
            for (int i = 0; i < WIDTH; ++i) to[d * ROWS + t + i] = from[i * stride + d];
        }
    }
    for (; t < size; ++t, from += stride) {
        for (std::size_t d = 0; d < n_columns; ++d) to[d * ROWS + t] = from[d];
    }
    for (; t < ROWS; ++t) {
        for (std::size_t d = 0; d < n_columns; ++d) to[d * ROWS + t] = 0;
    }
}
// The larger of the two; a where either is NaN.
inline Lanes larger(Lanes a, Lanes b) {
#if defined(__AVX__) && !defined(__AVX512F__) && defined(__GNUC__)
    return __builtin_ia32_maxpd256(b, a);
#else
    return choose(a < b, b, a);
#endif
}
inline Lanes square_root(Lanes x) {
#if defined(__AVX__) && !defined(__AVX512F__) && defined(__GNUC__)
    return __builtin_ia32_sqrtpd256(x);
#else
    double roots[WIDTH];
    for (int i = 0; i < WIDTH; ++i) roots[i] = std::sqrt(x[i]);
    return load(roots);
#endif
}
// The lanes of a mask that are set, as the low bits of a number.
inline unsigned lanes_set(Bits mask) {
#if defined(__AVX__) && !defined(__AVX512F__) && defined(__GNUC__)
    return unsigned(__builtin_ia32_movmskpd256(as_lanes(mask)));
#else
    unsigned set = 0;
    for (int i = 0; i < WIDTH; ++i) set |= unsigned(mask[i] != 0) << i;
    return set;
#endif
}
inline double largest(Lanes x) {
    double best = x[0];
    for (int i = 1; i < WIDTH; ++i) best = best < x[i] ? x[i] : best;
    return best;
}

// Ask for numbers that will be read soon.
inline void ask(const double* from, std::size_t size = 1) {
#if defined(__GNUC__) || defined(__clang__)
    for (std::size_t i = 0; i < size; i += 8) __builtin_prefetch(from + i);
#endif
}

// Prefetch the rows of the next tile, part by part, while this tile is computed.
struct Ahead {
    const double* from;
    std::size_t size;

    Ahead(halfseen::Matrix<const double> rows, std::size_t next, std::size_t n_rows)
        : from(rows.data + std::min(next, rows.rows) * rows.cols),
          size((std::min(next + n_rows, rows.rows) - std::min(next, rows.rows)) * rows.cols) {}

    void part(std::size_t which, std::size_t n_parts) const {
        const std::size_t start = size * which / n_parts;
        ask(from + start, size * (which + 1) / n_parts - start);
    }
};

// A sum of squares about a component's mean may be computed about the middle of all means, which spares a subtraction for
// each component, where the mean is no more standard deviations away than this: twelve digits are left.
constexpr double FAR = 1e3;

// exp for x <= 0, to about one unit in the last place; below -708 it is 0, of NaN it is NaN.
// x = n ln 2 + r with |r| <= ln 2 / 2; adding and subtracting 1.5 * 2^52 rounds to a whole n, whose bits then stand
// in the low end of the sum. e^r = 1 + (r + r^2 q) with the q of degree 9 that meets (e^r - 1 - r) / r^2 at the Chebyshev
// points (relative error below 2e-17), its terms in pairs, so that they do not wait for each other.
inline Lanes exp_below_zero(Lanes x) {
    const Lanes magic = all(6755399441055744.0), lowest = all(-708.0);
    const Bits gone = x < lowest;
    const Lanes safe = larger(x, lowest);
    const Lanes shifted = safe * all(1.4426950408889634074) + magic;
    const Lanes n = shifted - magic;
    const Lanes r = (safe - n * all(6.93147180369123816490e-01)) - n * all(1.90821492927058770002e-10);
    const Lanes r2 = r * r, r4 = r2 * r2;
    const Lanes q01 = all(0.16666666666666669) * r + all(0.5000000000000001);
    const Lanes q23 = all(0.00833333333333006) * r + all(0.041666666666624094);
    const Lanes q45 = all(0.00019841269863065598) * r + all(0.0013888888917229297);
    const Lanes q67 = all(2.755726844138139e-06) * r + all(2.4801521271747154e-05);
    const Lanes q89 = all(2.5100394349357246e-08) * r + all(2.762009995870314e-07);
    const Lanes q = (q23 * r2 + q01) + r4 * ((q67 * r2 + q45) + r4 * q89);
    const Lanes p = all(1.0) + (r + r2 * q);
    const Bits power = as_bits(shifted) << 52;
    return choose(gone, all(0.0), as_lanes(as_bits(p) + power));  // p 2^n: n is added to the exponent
}

// Natural logarithm of normal x > 0, to about one unit in the last place (the series of atanh, as in fdlibm); of NaN it is
// NaN.
inline Lanes log_positive(Lanes x) {
    const Bits bits = as_bits(x) - as_bits(all(0.70710678118654752440));  // so that the mantissa lies in [sqrt 1/2, sqrt 2)
    const Bits exponent = bits >> 52;
    const Lanes m = as_lanes(as_bits(x) - (exponent << 52));
    const Lanes magic = all(6755399441055744.0);
    const Lanes n = as_lanes(exponent + as_bits(magic)) - magic;
    const Lanes f = m - all(1.0);
    const Lanes s = f / (all(2.0) + f);
    const Lanes z = s * s;
    Lanes p = all(1.479819860511658591e-01);
    p = p * z + all(1.531383769920937332e-01);
    p = p * z + all(1.818357216161805012e-01);
    p = p * z + all(2.222219843214978396e-01);
    p = p * z + all(2.857142874366239149e-01);
    p = p * z + all(3.999999999940941908e-01);
    p = p * z + all(6.666666666666735130e-01);
    const Lanes half = all(0.5) * f * f;
    const Lanes tail = s * (half + z * p) + n * all(1.90821492927058770002e-10);
    return n * all(6.93147180369123816490e-01) - ((half - tail) - f) + (x - x);
}

}  // namespace
