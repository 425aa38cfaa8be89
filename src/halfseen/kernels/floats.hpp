// Twice as many floats side by side as doubles (lanes.hpp), for what float32 can tell.
#pragma once

#include <cstring>

#include "lanes.hpp"

#if defined(__AVX512DQ__)
#include <immintrin.h>
#endif

namespace {  // each instruction set compiles its own copy

constexpr int FLOATS = 2 * WIDTH;

#if defined(__GNUC__) || defined(__clang__)

typedef float Floats __attribute__((vector_size(FLOATS * sizeof(float))));

#else

struct Floats {
    float v[FLOATS];
    float operator[](int i) const { return v[i]; }
};

template <class F>
inline Floats each(const Floats& a, const Floats& b, F f) {
    Floats out;
    for (int i = 0; i < FLOATS; ++i) out.v[i] = f(a.v[i], b.v[i]);
    return out;
}
inline Floats operator+(const Floats& a, const Floats& b) { return each(a, b, [](float x, float y) { return x + y; }); }
inline Floats operator-(const Floats& a, const Floats& b) { return each(a, b, [](float x, float y) { return x - y; }); }
inline Floats operator*(const Floats& a, const Floats& b) { return each(a, b, [](float x, float y) { return x * y; }); }
inline Floats& operator+=(Floats& a, const Floats& b) { return a = a + b; }
inline Floats& operator-=(Floats& a, const Floats& b) { return a = a - b; }

#endif

inline Floats load(const float* from) {
    Floats x;
    std::memcpy(&x, from, sizeof x);
    return x;
}
inline void store(float* to, Floats x) { std::memcpy(to, &x, sizeof x); }
inline Floats all(float x) {
#if defined(__GNUC__) || defined(__clang__)
    return x - Floats{};
#else
    Floats out;
    for (int i = 0; i < FLOATS; ++i) out.v[i] = x;
    return out;
#endif
}
inline Floats kept(Floats x) {
#if defined(__GNUC__) && defined(__AVX__)
    asm("" : "+v"(x));
#endif
    return x;
}
// The larger of the two; a where b is NaN.
inline Floats larger(Floats a, Floats b) {
#if defined(__AVX__) && !defined(__AVX512F__) && defined(__GNUC__)
    return __builtin_ia32_maxps256(b, a);
#else
    float x[FLOATS], y[FLOATS];
    store(x, a);
    store(y, b);
    for (int i = 0; i < FLOATS; ++i) x[i] = x[i] < y[i] ? y[i] : x[i];
    return load(x);
#endif
}
// The lanes where a is below b, as the low bits of a number.
inline unsigned lanes_below(Floats a, Floats b) {
#if defined(__AVX512DQ__)
    return unsigned(_mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ));
#elif defined(__AVX__) && defined(__GNUC__)
    return unsigned(__builtin_ia32_movmskps256((Floats)(a < b)));
#else
    unsigned set = 0;
    for (int i = 0; i < FLOATS; ++i) set |= unsigned(a[i] < b[i]) << i;
    return set;
#endif
}

inline void round_to(float* to, Lanes x) {
#if defined(__GNUC__) || defined(__clang__)
    typedef float Half __attribute__((vector_size(WIDTH * sizeof(float))));
    const Half rounded = __builtin_convertvector(x, Half);
    std::memcpy(to, &rounded, sizeof rounded);
#else
    for (int i = 0; i < WIDTH; ++i) to[i] = float(x[i]);
#endif
}

// to[d, t] = from[t, d] for ROWS rows, which are `stride` numbers apart, rounded to float32.
template <std::size_t ROWS>
inline void turn_rounded(const double* from, std::size_t stride, std::size_t n_columns, float* to) {
    alignas(64) double square[WIDTH * WIDTH];
    for (std::size_t t = 0; t < ROWS; t += WIDTH, from += WIDTH * stride) {
        std::size_t d = 0;
        for (; d + WIDTH <= n_columns; d += WIDTH) {
            turn_square(from + d, stride, square, WIDTH);
            for (int i = 0; i < WIDTH; ++i) round_to(to + (d + i) * ROWS + t, load(square + i * WIDTH));
        }
        for (; d < n_columns; ++d) {
            for (int i = 0; i < WIDTH; ++i) to[d * ROWS + t + i] = float(from[i * stride + d]);
        }
    }
}

}  // namespace
