// Arrays of numbers that may be categories: which whole numbers occur, and their codes. Formulas: plain.py.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
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

constexpr double WHOLE = 4503599627370496.0;  // 2^52: a whole number from 0 added to it stands in the low bits
constexpr std::size_t PATTERN = 1024;         // cells encoded in one go: single rows are too short for wide instructions

// Loops over neighbouring cells, each with the lowest category of its column and their number. Everything in them has
// the width of a cell, so that the compiler finds wide instructions for it.

// inside: all bits set where x is a whole number from low to low + size - 1; offset: how far above low, then.
struct Place {
    std::uint64_t offset, inside;
};

HALFSEEN_WITHIN Place place(std::int64_t x, std::int64_t low, std::int64_t size) {
    const std::uint64_t offset = std::uint64_t(x) - std::uint64_t(low);
    return {offset, offset < std::uint64_t(size) ? ~std::uint64_t(0) : 0};
}

HALFSEEN_WITHIN Place place(double x, double low, double size) {
    const double offset = x - low, shifted = offset + WHOLE, back = (shifted - WHOLE) + low;
    const std::uint64_t is_whole = back == x ? ~std::uint64_t(0) : 0, above = offset >= 0 ? ~std::uint64_t(0) : 0;
    const std::uint64_t below = offset < size ? ~std::uint64_t(0) : 0;
    return {std::bit_cast<std::uint64_t>(shifted) & 0xffffffff, is_whole & above & below};
}

HALFSEEN_WITHIN std::uint64_t missing(std::int64_t) { return 0; }
HALFSEEN_WITHIN std::uint64_t missing(double x) { return x != x ? ~std::uint64_t(0) : 0; }

template <class Cell>
HALFSEEN_WITHIN void look_near(const Cell* __restrict cells, std::size_t n_rows, std::size_t n_columns,
                               const Cell* __restrict low, std::uint64_t* __restrict seen,
                               std::uint64_t* __restrict far) {
    for (std::size_t n = 0; n < n_rows; ++n, cells += n_columns) {
        for (std::size_t d = 0; d < n_columns; ++d) {
            const Place at = place(cells[d], low[d], Cell(64));
            seen[d] |= (std::uint64_t(1) << (at.offset & 63)) & at.inside;
            far[d] |= ~(at.inside | missing(cells[d]));
        }
    }
}

HALFSEEN_WIDE void near(Matrix<const std::int64_t> cells, Span<const std::int64_t> low, Span<std::uint64_t> seen,
                        Span<std::uint64_t> far) {
    look_near(cells.data, cells.rows, cells.cols, low.data, seen.data, far.data);
}

HALFSEEN_WIDE void near(Matrix<const double> cells, Span<const double> low, Span<std::uint64_t> seen,
                        Span<std::uint64_t> far) {
    look_near(cells.data, cells.rows, cells.cols, low.data, seen.data, far.data);
}

// Codes of consecutive categories: how far above the lowest. Returns whether every cell has one or is missing.
template <class Cell>
HALFSEEN_WITHIN bool subtract_low(const Cell* __restrict cells, const Cell* __restrict low,
                                  const Cell* __restrict sizes, std::size_t size, std::int8_t* __restrict out) {
    std::uint64_t unknown = 0;
    for (std::size_t i = 0; i < size; ++i) {
        const Place at = place(cells[i], low[i], sizes[i]);
        out[i] = std::int8_t(at.offset | ~at.inside);
        unknown |= ~(at.inside | missing(cells[i]));
    }
    return !unknown;
}

HALFSEEN_WIDE bool distances(const std::int64_t* cells, const std::int64_t* low, const std::int64_t* sizes,
                             std::size_t size, std::int8_t* out) {
    return subtract_low(cells, low, sizes, size, out);
}

HALFSEEN_WIDE bool distances(const double* cells, const double* low, const double* sizes, std::size_t size,
                             std::int8_t* out) {
    return subtract_low(cells, low, sizes, size, out);
}

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
        known &= distances(cells[n], lows, sizes, rows * cells.cols, out[n]);
    }
    return known;
}

}  // namespace

template <class Cell>
void survey_near(Matrix<const Cell> cells, Span<const Cell> low, Span<std::uint64_t> seen,
                 Span<std::uint64_t> far) {
    near(cells, low, seen, far);
}

HALFSEEN_WIDE bool any_infinite(Matrix<const double> cells) {
    constexpr double INF = std::numeric_limits<double>::infinity();
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < cells.rows * cells.cols; ++i) found |= std::fabs(cells.data[i]) == INF;
    return found;
}

void first_rows(Span<const std::int64_t> labels, std::int64_t low, Span<std::int64_t> first) {
    for (std::size_t n = 0; n < labels.size; ++n) {
        std::int64_t& row = first[labels[n] - low];
        row = std::min(row, std::int64_t(n));
    }
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
            const Place at = place(x, Cell(low[d]), Cell(size[d]));
            const std::int32_t code = at.inside ? lookup[starts[d] + at.offset] : -1;
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
    template void survey_near(Matrix<const Cell>, Span<const Cell>, Span<std::uint64_t>,                             \
                              Span<std::uint64_t>);                                                                  \
    HALFSEEN_ENCODE(Cell, std::int8_t)                                                                               \
    HALFSEEN_ENCODE(Cell, std::int16_t)                                                                              \
    HALFSEEN_ENCODE(Cell, std::int32_t)
HALFSEEN_CELLS(std::int64_t)
HALFSEEN_CELLS(double)
#undef HALFSEEN_CELLS
#undef HALFSEEN_ENCODE

}  // namespace halfseen
