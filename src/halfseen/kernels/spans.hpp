// Views of arrays that the caller owns: what every kernel takes and fills.
#pragma once

#include <cstddef>
#include <cstdint>

// A loop that the compiler turns into wide instructions by itself is compiled twice, and the machine picks one.
// (Sanitizers start too late for the picking.)
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define HALFSEEN_WIDE __attribute__((target_clones("arch=haswell", "default")))
#else
#define HALFSEEN_WIDE
#endif
#if defined(__GNUC__) || defined(__clang__)
#define HALFSEEN_WITHIN inline __attribute__((always_inline))
#else
#define HALFSEEN_WITHIN inline
#endif

namespace halfseen {

template <class T>
struct Span {
    T* data;
    std::size_t size;

    T& operator[](std::size_t i) const { return data[i]; }
};

template <class T>
struct Matrix {  // rows one after the other
    T* data;
    std::size_t rows, cols;

    T* operator[](std::size_t row) const { return data + row * cols; }
};

template <class T>
struct Stack {  // matrices one after the other
    T* data;
    std::size_t layers, rows, cols;

    Matrix<T> operator[](std::size_t layer) const { return {data + layer * rows * cols, rows, cols}; }
};

}  // namespace halfseen
