// Views of arrays that the caller owns: what every kernel takes and fills.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__GNUC__) || defined(__clang__)
#define HALFSEEN_APART __attribute__((noinline))  // one copy, however many templates call it
#else
#define HALFSEEN_APART
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
