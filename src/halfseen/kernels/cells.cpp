// Arrays of numbers that may be categories: which whole numbers occur, and their codes. Formulas: plain.py.
#include <cmath>
#include <type_traits>

#include "kernels.hpp"

namespace halfseen {

namespace {

template <class Cell>
bool is_missing(Cell x) {
    if constexpr (std::is_floating_point_v<Cell>) return x != x;
    return false;
}

template <class Cell>
bool is_whole(Cell x) {
    if constexpr (std::is_floating_point_v<Cell>) return std::rint(x) == x;
    return true;
}

}  // namespace

template <class Cell>
void survey_cells(Matrix<const Cell> cells, std::int64_t close, Matrix<std::uint8_t> seen, Span<std::uint8_t> whole) {
    const Cell low = Cell(-close), high = Cell(close);
    for (std::size_t n = 0; n < cells.rows; ++n) {
        for (std::size_t d = 0; d < cells.cols; ++d) {
            const Cell x = cells[n][d];
            if (is_missing(x)) continue;
            if (!is_whole(x)) whole[d] = 0;
            const Cell inside = x < low ? low : x > high ? high : x;
            seen[d][std::int64_t(inside) + close] = 1;
        }
    }
}

template <class Cell, class Code>
bool encode_cells(Matrix<const Cell> cells, Span<const std::int64_t> low, Span<const std::int64_t> size,
                  Span<const std::int64_t> starts, Span<const std::int32_t> lookup, Matrix<Code> out) {
    bool known = true;
    for (std::size_t n = 0; n < cells.rows; ++n) {
        for (std::size_t d = 0; d < cells.cols; ++d) {
            const Cell x = cells[n][d];
            const bool inside = x >= Cell(low[d]) && x < Cell(low[d] + size[d]) && is_whole(x);  // false for NaN
            const std::int32_t code = inside ? lookup[starts[d] + std::int64_t(x) - low[d]] : -1;
            out[n][d] = Code(code);
            known &= code >= 0 || is_missing(x);
        }
    }
    return known;
}

#define HALFSEEN_ENCODE(Cell, Code)                                                                                  \
    template bool encode_cells(Matrix<const Cell>, Span<const std::int64_t>, Span<const std::int64_t>,              \
                               Span<const std::int64_t>, Span<const std::int32_t>, Matrix<Code>);
#define HALFSEEN_CELLS(Cell)                                                                                         \
    template void survey_cells(Matrix<const Cell>, std::int64_t, Matrix<std::uint8_t>, Span<std::uint8_t>);          \
    HALFSEEN_ENCODE(Cell, std::int8_t)                                                                               \
    HALFSEEN_ENCODE(Cell, std::int16_t)                                                                              \
    HALFSEEN_ENCODE(Cell, std::int32_t)
HALFSEEN_CELLS(std::int64_t)
HALFSEEN_CELLS(double)
#undef HALFSEEN_CELLS
#undef HALFSEEN_ENCODE

}  // namespace halfseen
