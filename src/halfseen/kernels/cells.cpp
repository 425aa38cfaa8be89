// Arrays of numbers that may be categories: which whole numbers occur, and their codes. Formulas: plain.py.
#include <algorithm>
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

namespace {

constexpr std::size_t PATTERN = 1024;  // cells encoded in one go: single rows are too short for wide instructions

bool consecutive(Span<const std::int64_t> size, Span<const std::int64_t> starts, Span<const std::int32_t> lookup) {
    for (std::size_t d = 0; d < size.size; ++d) {
        for (std::int64_t i = 0; i < size[d]; ++i) {
            if (lookup[starts[d] + i] != i) return false;
        }
    }
    return true;
}

template <class Cell>
bool encode_consecutive(Matrix<const Cell> cells, Span<const std::int64_t> low, Span<const std::int64_t> size,
                        Matrix<std::int8_t> out) {
    Cell lows[PATTERN], sizes[PATTERN];
    const std::size_t together = PATTERN / cells.cols;
    for (std::size_t i = 0; i < together * cells.cols; ++i) {
        lows[i] = Cell(low[i % cells.cols]);
        sizes[i] = Cell(size[i % cells.cols]);
    }
    bool known = true;
    for (std::size_t n = 0; n < cells.rows; n += together) {
        const std::size_t rows = std::min(together, cells.rows - n);
        known &= encode_distances(cells[n], lows, sizes, rows * cells.cols, out[n]);
    }
    return known;
}

}  // namespace

void first_rows(Span<const std::int64_t> labels, std::int64_t low, Span<std::int64_t> first) {
    std::size_t missing = first.size;
    for (std::size_t n = 0; n < labels.size && missing; ++n) {
        std::int64_t& row = first[labels[n] - low];
        if (row < std::int64_t(labels.size)) continue;
        row = std::int64_t(n);
        --missing;
    }
}

void components_of(Span<const std::int64_t> owner, Span<const std::int32_t> pattern, Span<std::int64_t> component) {
    for (std::size_t n = 0; n < pattern.size; ++n) component[n] = owner[pattern[n]];
}

void tally(Span<const std::int64_t> component, Span<const double> weight, Span<double> mass) {
    constexpr std::size_t MOST = 64, WAYS = 4;  // neighbouring rows are added up apart: no sum waits for the one before
    std::size_t n = 0;
    if (mass.size <= MOST) {
        double apart[WAYS][MOST] = {};
        for (; n + WAYS <= component.size; n += WAYS)
            for (std::size_t way = 0; way < WAYS; ++way) apart[way][component[n + way]] += weight[n + way];
        for (std::size_t k = 0; k < mass.size; ++k)
            for (std::size_t way = 0; way < WAYS; ++way) mass[k] += apart[way][k];
    }
    for (; n < component.size; ++n) mass[component[n]] += weight[n];
}

template <class Cell, class Code>
bool encode_cells(Matrix<const Cell> cells, Span<const std::int64_t> low, Span<const std::int64_t> size,
                  Span<const std::int64_t> starts, Span<const std::int32_t> lookup, Matrix<Code> out) {
    if constexpr (sizeof(Code) == 1) {
        if (cells.cols && cells.cols <= PATTERN && consecutive(size, starts, lookup)) {
            return encode_consecutive(cells, low, size, out);
        }
    }
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
