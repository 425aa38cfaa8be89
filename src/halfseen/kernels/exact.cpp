// Moments of rows of known components as sums without rounding, whatever the order of the rows. Formulas: exact.py.
//
// Compiled once per instruction set (HALFSEEN_ISA names it); `dispatch.cpp` picks one at run time. No product may be
// fused with a sum here (-ffp-contract=off): a slice would no longer be what is taken off the number it is cut from.
#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <vector>

#include "kernels.hpp"
#include "lanes.hpp"

#ifndef HALFSEEN_ISA
#define HALFSEEN_ISA baseline
#endif

namespace halfseen {
namespace HALFSEEN_ISA {

namespace {

constexpr int BITS = 26;                    // of a slice: 2^27 of them add up without rounding
constexpr int FOLDS = 3;                    // slices kept of each number
constexpr int LOWEST = -39, HIGHEST = 35;   // bins within the range of floats
constexpr std::size_t SOON = 512;           // numbers: prefetch distance
constexpr std::size_t BLOCK = 1024;         // rows that are done again if a number is larger than all before
constexpr double ROUNDER = 6755399441055744.0;  // 1.5 * 2^52: added to a number below 2^51 and taken off, it rounds it

// Numbers that begin with a cache line: a register that lies in two is read and written twice.
template <class T>
struct InLines {
    using value_type = T;
    InLines() = default;
    template <class U>
    InLines(const InLines<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(64))); }
    void deallocate(T* at, std::size_t) { ::operator delete(at, std::align_val_t(64)); }
    template <class U>
    bool operator==(const InLines<U>&) const { return true; }
};
using Numbers = std::vector<double, InLines<double>>;

// The bin of the first slice: |x| < 2^(BITS (bin + 1)).
inline std::int64_t bin_of(double x) {
    if (!(x > 0)) return LOWEST;
    int exponent;
    std::frexp(x, &exponent);
    const int bin = (exponent + BITS - 1 + BITS * 64) / BITS - 64 - 1;  // ceil(exponent / BITS) - 1
    return std::clamp(bin, LOWEST, HIGHEST + 1);
}

inline double rounder(std::int64_t bin) {
    return bin > HIGHEST ? std::numeric_limits<double>::infinity() : std::ldexp(ROUNDER, int(BITS * bin));
}

// All sums of one moment, (K, D padded): where their slices begin, what cuts them, and the slices.
struct Moment {
    std::size_t size;
    std::vector<std::int64_t> tops;
    Numbers limits;            // the largest number that may be cut so
    Numbers rounders, sums;    // FOLDS each

    explicit Moment(std::size_t size)
        : size(size), tops(size), limits(size), rounders(FOLDS * size), sums(FOLDS * size) {
        for (std::size_t i = 0; i < size; ++i) set(i, LOWEST);
    }
    void set(std::size_t i, std::int64_t top) {
        tops[i] = top;
        limits[i] = std::nextafter(std::ldexp(1.0, int(BITS * (std::min<std::int64_t>(top, HIGHEST) + 1))), 0.0);
        for (int f = 0; f < FOLDS; ++f) rounders[f * size + i] = rounder(top - f);
    }
    // Begin at a higher bin: what lies below the last fold then is dropped.
    void raise(std::size_t i, double largest) {
        const std::int64_t top = bin_of(largest), by = top - tops[i];
        if (by <= 0) return;
        for (int f = FOLDS - 1; f >= 0; --f) sums[f * size + i] = f >= by ? sums[(f - by) * size + i] : 0.0;
        set(i, top);
    }
    void copy(std::size_t from, std::size_t to) {
        set(to, tops[from]);
        for (int f = 0; f < FOLDS; ++f) sums[f * size + to] = sums[f * size + from];
    }
};

// The same for the innermost loop: pointers that no store can change.
struct Target {
    std::size_t size;
    const double* rounders;
    double* sums;

    explicit Target(Moment& m)
        : size(m.size), rounders(m.rounders.data()), sums(m.sums.data()) {}

    // Cut v into slices and add them up.
    void add(std::size_t at, Lanes v) const {
        for (int f = 0; f < FOLDS; ++f) {
            const Lanes rounder = load(rounders + f * size + at), slice = (v + rounder) - rounder;
            double* sum = sums + f * size + at;
            store(sum, load(sum) + slice);
            v = v - slice;
        }
    }
    // The same for one number.
    void add_one(std::size_t at, double v) const {
        for (int f = 0; f < FOLDS; ++f) {
            const double rounder = rounders[f * size + at], slice = (v + rounder) - rounder;
            sums[f * size + at] += slice;
            v -= slice;
        }
    }
};

// The sums of one chunk. Columns are padded to whole registers.
struct Chunk {
    Matrix<const double> values;
    Span<const std::int64_t> component;
    Span<const double> weight;
    std::size_t n_components, n_columns, width;
    Numbers centre, reach;
    Bits tail;  // the columns of the last register that there are
    Moment mass, first, second;  // mass: while no cell was missing, in column 0 only
    bool squares, holes = false;

    Chunk(Matrix<const double> values, Span<const double> mean, Span<const std::int64_t> component,
          Span<const double> weight, std::size_t n_components, bool squares)
        : values(values), component(component), weight(weight), n_components(n_components), n_columns(values.cols),
          width((values.cols + WIDTH - 1) / WIDTH * WIDTH), centre(width), reach(n_components * width),
          mass(n_components * width), first(n_components * width), second(squares ? n_components * width : 0), squares(squares) {
        std::copy(mean.data, mean.data + n_columns, centre.begin());
        double there[WIDTH];
        for (int i = 0; i < WIDTH; ++i) there[i] = n_columns % WIDTH > std::size_t(i) ? 0 : std::nan("");
        tail = seen(load(there));
    }

    // How far from the centre cells may lie with the weights of some rows; then no number is too large for its bins.
    void bound(std::size_t from, std::size_t to) {
        const double most = *std::max_element(weight.data + from, weight.data + to);
        for (std::size_t i = 0; i < reach.size(); ++i) {
            reach[i] = first.limits[i] / most;
            if (squares) reach[i] = std::min(reach[i], std::sqrt(second.limits[i] / most));
            reach[i] *= 1 - 1e-12;  // products are rounded
            if (most > mass.limits[holes ? i : i / width * width]) reach[i] = -1;
        }
    }

    // Some columns of a row; `inside`: those that there are.
    template <bool SQUARES, bool HOLES>
    struct Columns {
        const Target mass, first, second;
        const double *centre, *reach;

        void add(const double* x, std::size_t d, std::size_t at, double w, Bits inside, Bits& whole,
                 Bits& beyond) const {
            const Lanes cell = load(x);
            if (HOLES) inside = inside & seen(cell);
            if (!HOLES) whole = whole & seen(only(inside, cell));
            const Lanes off = only(inside, cell - load(centre + d));
            beyond = beyond | (load(reach + at + d) < larger(off, all(0.0) - off));
            const Lanes weighted = all(w) * off;
            if (HOLES) mass.add(at + d, only(inside, all(w)));
            first.add(at + d, weighted);
            if (SQUARES) second.add(at + d, weighted * off);
        }
    };

    // Add rows [from, to). Returns whether that was right: no number too large, no cell missing without HOLES.
    template <bool SQUARES, bool HOLES>
    bool run(std::size_t from, std::size_t to) {
        const Columns<SQUARES, HOLES> columns{Target(mass), Target(first), Target(second), centre.data(), reach.data()};
        const std::size_t step = width, used = n_columns, full = n_columns / WIDTH * WIDTH;
        const Matrix<const double> cells = values;
        const Span<const std::int64_t> owner = component;
        const Span<const double> weights = weight;
        const Bits every = seen(all(0.0)), rest = tail;
        double last[WIDTH] = {};
        Bits whole = every, beyond = as_bits(all(0.0));
        for (std::size_t n = from; n < to; ++n) {
            const std::size_t at = owner[n] * step;
            const double w = weights[n], *x = cells[n];
            ask(x + SOON, used);
            if (!HOLES) columns.mass.add_one(at, w);
            std::size_t d = 0;
            for (; d < full; d += WIDTH) columns.add(x + d, d, at, w, every, whole, beyond);
            if (d == used) continue;
            const bool ends = n + 1 == cells.rows;  // a register would reach beyond the last cell of all
            if (ends) std::copy(x + d, x + used, last);
            columns.add(ends ? last : x + d, d, at, w, rest, whole, beyond);
        }
        bool right = true;
        for (int i = 0; i < WIDTH; ++i) right &= whole[i] && !beyond[i];
        return right;
    }

    bool run(std::size_t from, std::size_t to) {
        bound(from, to);
        if (squares) return holes ? run<true, true>(from, to) : run<true, false>(from, to);
        return holes ? run<false, true>(from, to) : run<false, false>(from, to);
    }

    // From now on every column has a mass of its own.
    void part() {
        for (std::size_t k = 0; k < n_components; ++k) {
            for (std::size_t d = 1; d < width; ++d) mass.copy(k * width, k * width + d);
        }
        holes = true;
    }

    // Begin at bins that are high enough for all numbers of some rows.
    void raise(std::size_t from, std::size_t to) {
        for (std::size_t n = from; n < to && !holes; ++n) {
            for (std::size_t d = 0; d < n_columns && !holes; ++d) {
                if (values[n][d] != values[n][d]) part();
            }
        }
        for (std::size_t n = from; n < to; ++n) {
            const std::size_t at = component[n] * width;
            if (!holes) mass.raise(at, weight[n]);
            for (std::size_t d = 0; d < n_columns; ++d) {
                if (values[n][d] != values[n][d]) continue;
                const double off = values[n][d] - centre[d], weighted = weight[n] * off;
                if (holes) mass.raise(at + d, weight[n]);
                first.raise(at + d, std::fabs(weighted));
                if (squares) second.raise(at + d, std::fabs(weighted * off));
            }
            for (std::size_t d = n_columns; d < width; ++d) mass.raise(at + d, weight[n]);  // so that none is too large
        }
    }

    void add_all() {
        Numbers kept[3];
        Moment* const moments[3] = {&mass, &first, &second};
        for (std::size_t from = 0; from < values.rows; from += BLOCK) {
            const std::size_t to = std::min(from + BLOCK, values.rows);
            for (int p = 0; p < 3; ++p) kept[p] = moments[p]->sums;
            if (run(from, to)) continue;
            for (int p = 0; p < 3; ++p) moments[p]->sums.swap(kept[p]);
            raise(from, to);
            run(from, to);
        }
        if (!holes) part();
    }
};

}  // namespace

void exact_moments(Matrix<const double> values, Span<const double> mean, Span<const std::int64_t> component,
                   Span<const double> weight, Stack<std::int64_t> tops, Stack<double> folds) {
    Chunk chunk(values, mean, component, weight, tops.rows, tops.layers == 3);
    chunk.add_all();
    const Moment* const moments[3] = {&chunk.mass, &chunk.first, &chunk.second};
    for (std::size_t p = 0; p < tops.layers; ++p) {
        for (std::size_t k = 0; k < tops.rows; ++k) {
            const std::size_t at = k * chunk.width;
            std::copy_n(moments[p]->tops.data() + at, tops.cols, tops[p][k]);
            for (int f = 0; f < FOLDS; ++f) {
                std::copy_n(moments[p]->sums.data() + f * moments[p]->size + at, tops.cols, folds[p * FOLDS + f][k]);
            }
        }
    }
}

}  // namespace HALFSEEN_ISA
}  // namespace halfseen
