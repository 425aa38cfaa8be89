// Short loops over neighbouring numbers that the compiler turns into wide instructions by itself. Formulas: plain.py.
//
// Compiled once per instruction set (HALFSEEN_ISA names it); `dispatch.cpp` picks one at run time.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels.hpp"
#include "lanes.hpp"

#ifndef HALFSEEN_ISA
#define HALFSEEN_ISA baseline
#endif

namespace halfseen {
namespace HALFSEEN_ISA {

namespace {

constexpr double WHOLE = 4503599627370496.0;  // 2^52: a whole number from 0 added to it stands in the low bits

// Everything about a cell has the width of a cell.
// inside: all bits set where x is a whole number from low to low + size - 1; offset: how far above low, then.
struct Place {
    std::uint64_t offset, inside;
};

inline std::uint64_t mask(bool condition) { return condition ? ~std::uint64_t(0) : 0; }

inline Place place(std::int64_t x, std::int64_t low, std::int64_t size) {
    const std::uint64_t offset = std::uint64_t(x) - std::uint64_t(low);
    return {offset, mask(offset < std::uint64_t(size))};
}

inline Place place(double x, double low, double size) {
    const double offset = x - low, shifted = offset + WHOLE, back = (shifted - WHOLE) + low;
    return {std::bit_cast<std::uint64_t>(shifted) & 0xffffffff, mask(back == x) & mask(offset >= 0) & mask(offset < size)};
}

inline std::uint64_t missing(std::int64_t) { return 0; }
inline std::uint64_t missing(double x) { return mask(x != x); }

}  // namespace

template <class Cell>
void survey_near(Matrix<const Cell> cells, Span<const Cell> low, Span<std::uint64_t> seen, Span<std::uint64_t> far) {
    for (std::size_t n = 0; n < cells.rows; ++n) {
        const Cell* row = cells[n];
        for (std::size_t d = 0; d < cells.cols; ++d) {
            const Place at = place(row[d], low[d], Cell(64));
            seen[d] |= (std::uint64_t(1) << (at.offset & 63)) & at.inside;
            far[d] |= ~(at.inside | missing(row[d]));
        }
    }
}

template <class Cell>
bool encode_distances(const Cell* cells, const Cell* low, const Cell* sizes, std::size_t size, std::int8_t* out) {
    std::uint64_t unknown = 0;
    for (std::size_t i = 0; i < size; ++i) {
        const Place at = place(cells[i], low[i], sizes[i]);
        out[i] = std::int8_t(at.offset | ~at.inside);
        unknown |= ~(at.inside | missing(cells[i]));
    }
    return !unknown;
}

#define HALFSEEN_CELLS(Cell)                                                                                         \
    template void survey_near(Matrix<const Cell>, Span<const Cell>, Span<std::uint64_t>, Span<std::uint64_t>);       \
    template bool encode_distances(const Cell*, const Cell*, const Cell*, std::size_t, std::int8_t*);
HALFSEEN_CELLS(std::int64_t)
HALFSEEN_CELLS(double)
#undef HALFSEEN_CELLS

namespace {

inline std::uint64_t bits_of(std::int64_t x) { return std::uint64_t(x); }
inline std::uint64_t bits_of(double x) {
    constexpr std::uint64_t NOT_A_NUMBER = 0x7ff8000000000000;
    return x != x ? NOT_A_NUMBER : std::bit_cast<std::uint64_t>(x + 0.0);
}

}  // namespace

template <class Cell>
void hash_cells(Span<const Cell> cells, Span<std::uint64_t> hashes) {
    using Wide = std::conditional_t<std::is_floating_point_v<Cell>, double, std::int64_t>;
    for (std::size_t n = 0; n < cells.size; ++n) {
        std::uint64_t h = hashes[n] ^ bits_of(Wide(cells[n]));
        h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9;
        h = (h ^ (h >> 27)) * 0x94D049BB133111EB;
        hashes[n] = h ^ (h >> 31);
    }
}

#define HALFSEEN_HASH(Cell) template void hash_cells(Span<const Cell>, Span<std::uint64_t>);
HALFSEEN_FOR_EACH_CELL(HALFSEEN_HASH)
#undef HALFSEEN_HASH

bool any_infinite(Matrix<const double> cells) {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < cells.rows * cells.cols; ++i) {
        found |= mask(std::fabs(cells.data[i]) == std::numeric_limits<double>::infinity());
    }
    return found;
}

namespace {

// Rows [from, to), some of which have holes: moments[:, component[n]] += weight[n] (1, deviation, deviation^2).
void count_seen(Matrix<const double> values, Matrix<const double> mean, Span<const std::int64_t> component,
                Span<const double> weight, std::size_t from, std::size_t to, Stack<double> moments) {
    for (std::size_t n = from; n < to; ++n) {
        const std::size_t k = component[n];
        const double *row = values[n], *centre = mean[k], w = weight[n];
        double *mass = moments[0][k], *first = moments[1][k], *second = moments[2][k];
        std::size_t d = 0;
        for (; d + WIDTH <= values.cols; d += WIDTH) {
            const Lanes x = load(row + d);
            const Lanes used = only(seen(x), all(w)), deviation = only(seen(x), x - load(centre + d));
            const Lanes weighted = used * deviation;
            store(mass + d, load(mass + d) + used);
            store(first + d, load(first + d) + weighted);
            store(second + d, load(second + d) + weighted * deviation);
        }
        for (; d < values.cols; ++d) {
            if (row[d] != row[d]) continue;
            const double deviation = row[d] - centre[d];
            mass[d] += w;
            first[d] += w * deviation;
            second[d] += w * deviation * deviation;
        }
    }
}

// Sums of rows without holes, which need no look at each cell. They begin with a cache line: a register that lies in
// two is read and written twice.
struct Whole {
    static constexpr std::size_t ROOM = 1024;     // numbers of each kind: all of them stay in L1
    static constexpr std::size_t SOON = 512;      // numbers: prefetch distance
    alignas(64) double centre[ROOM];              // (K, D padded) means
    alignas(64) double first[ROOM], second[ROOM]; // (K, D padded) sums of deviations and of their squares
    double mass[ROOM];                            // (K,)
    std::size_t n_components, n_columns, width;

    explicit Whole(Matrix<const double> mean) : n_components(mean.rows), n_columns(mean.cols) {
        width = (n_columns + WIDTH - 1) / WIDTH * WIDTH;
        for (std::size_t k = 0; fits() && k < n_components; ++k) {
            std::copy(mean[k], mean[k] + n_columns, centre + k * width);
        }
    }
    bool fits() const { return n_components * width <= ROOM; }

    // Add up rows [from, to); returns whether none had a hole.
    bool add(Matrix<const double> values, Span<const std::int64_t> component, Span<const double> weight,
             std::size_t from, std::size_t to) {
        std::fill(first, first + n_components * width, 0.0);
        std::fill(second, second + n_components * width, 0.0);
        std::fill(mass, mass + n_components, 0.0);
        for (std::size_t n = from; n < to; ++n) {
            const std::size_t k = component[n], at = k * width;
            const double *row = values[n], w = weight[n];
            ask(row + SOON, n_columns);
            mass[k] += w;
            std::size_t d = 0;
            for (; d + WIDTH <= n_columns; d += WIDTH) {
                const Lanes deviation = load(row + d) - load(centre + at + d), weighted = all(w) * deviation;
                store(first + at + d, load(first + at + d) + weighted);
                store(second + at + d, load(second + at + d) + weighted * deviation);
            }
            for (; d < n_columns; ++d) {
                const double deviation = row[d] - centre[at + d], weighted = w * deviation;
                first[at + d] += weighted;
                second[at + d] += weighted * deviation;
            }
        }
        double gone = 0;  // x - x is 0, or NaN: which stays
        for (std::size_t i = 0; i < n_components * width; ++i) gone += second[i] - second[i];
        return gone == gone;
    }

    void put(Stack<double> moments) const {
        for (std::size_t k = 0; k < n_components; ++k) {
            for (std::size_t d = 0; d < n_columns; ++d) {
                moments[0][k][d] += mass[k];
                moments[1][k][d] += first[k * width + d];
                moments[2][k][d] += second[k * width + d];
            }
        }
    }
};

}  // namespace

void gaussian_count(Matrix<const double> values, Matrix<const double> mean, Span<const std::int64_t> component,
                    Span<const double> weight, Stack<double> moments) {
    constexpr std::size_t BLOCK = 1024;  // rows that are done again if one has a hole
    Whole whole(mean);
    bool holes = !whole.fits();
    for (std::size_t from = 0; from < values.rows; from += BLOCK) {
        const std::size_t to = std::min(from + BLOCK, values.rows);
        holes = holes || !whole.add(values, component, weight, from, to);  // where there is one hole, there are others
        if (holes) {
            count_seen(values, mean, component, weight, from, to, moments);
        } else {
            whole.put(moments);
        }
    }
}

}  // namespace HALFSEEN_ISA
}  // namespace halfseen
