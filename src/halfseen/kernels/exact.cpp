// Moments of rows of known components as sums without rounding, whatever the order of the rows. Formulas: exact.py.
//
// Compiled once per instruction set (HALFSEEN_ISA names it); `dispatch.cpp` picks one at run time. No product may be
// fused with a sum here (-ffp-contract=off): a slice would no longer be what is taken off the number it is cut from.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <utility>
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
constexpr std::size_t TILE = 32768;         // numbers: of rows that are sorted by component, so many stay in L2
constexpr std::size_t BLOCK = 1024;         // rows, at most 2^11: done again if a number is larger than all before
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

#if defined(__GNUC__) || defined(__clang__)
typedef std::uint64_t Whole __attribute__((vector_size(WIDTH * sizeof(std::uint64_t))));
#else
using Whole = Several<std::uint64_t>;
#endif
using Wholes = std::vector<std::uint64_t, InLines<std::uint64_t>>;

template <class To, class From>
inline To bits_as(From x) {
    static_assert(sizeof(To) == sizeof(From));
    To out;
    std::memcpy(&out, &x, sizeof out);
    return out;
}

// The bin of the first slice: |x| < 2^(BITS (bin + 1) - 1).
inline std::int64_t bin_of(double x) {
    if (x == 0) return LOWEST;
    if (!(x <= std::numeric_limits<double>::max())) return HIGHEST + 1;
    int exponent;
    std::frexp(x, &exponent);
    const int bin = (exponent + BITS * 65) / BITS - 65;  // ceil((exponent + 1) / BITS) - 1
    return std::clamp(bin, LOWEST, HIGHEST + 1);
}

// The larger of a size and that of x; of what is not a number, infinity.
inline double larger_size(double size, double x) {
    const double its = std::fabs(x) <= std::numeric_limits<double>::max() ? std::fabs(x)
                                                                         : std::numeric_limits<double>::infinity();
    return its > size ? its : size;
}

inline double rounder(std::int64_t bin) {
    return bin > HIGHEST ? std::numeric_limits<double>::infinity() : std::ldexp(ROUNDER, int(BITS * bin));
}

// All sums of one moment, (K, D padded): where their slices begin, what cuts them, and the slices.
struct Moment {
    std::size_t size;
    std::vector<std::int64_t> tops;
    Numbers limits;    // the largest number that may be cut so
    Numbers rounders;  // FOLDS each
    Wholes sums;       // FOLDS each, in units of their bins
    Wholes tallies;    // FOLDS each, of the rows of a block: see Target

    explicit Moment(std::size_t size)
        : size(size), tops(size), limits(size), rounders(FOLDS * size), sums(FOLDS * size), tallies(FOLDS * size) {
        for (std::size_t i = 0; i < size; ++i) set(i, LOWEST);
    }
    void set(std::size_t i, std::int64_t top) {
        tops[i] = top;
        limits[i] = std::nextafter(std::ldexp(1.0, int(BITS * (std::min<std::int64_t>(top, HIGHEST) + 1) - 1)), 0.0);
        for (int f = 0; f < FOLDS; ++f) rounders[f * size + i] = rounder(top - f);
    }
    // Begin at a higher bin: what lies below the last fold then is dropped. Returns whether it is higher.
    bool raise(std::size_t i, double largest) {
        if (largest <= limits[i]) return false;
        const std::int64_t top = bin_of(largest), by = top - tops[i];
        if (by <= 0) return false;
        for (int f = FOLDS - 1; f >= 0; --f) sums[f * size + i] = f >= by ? sums[(f - by) * size + i] : 0;
        set(i, top);
        return true;
    }
    void copy(std::size_t from, std::size_t to) {
        set(to, tops[from]);
        for (int f = 0; f < FOLDS; ++f) sums[f * size + to] = sums[f * size + from];
    }
    // Add the tallies [from, to) of n_rows rows to the sums.
    void settle(std::size_t from, std::size_t to, std::uint64_t n_rows) {
        for (std::size_t i = from; i < to; ++i) {
            std::uint64_t units[FOLDS];
            for (int f = 0; f < FOLDS; ++f) {
                units[f] = tallies[f * size + i] - n_rows * bits_as<std::uint64_t>(rounders[f * size + i]);
                tallies[f * size + i] = 0;
            }
            sums[i] += units[0];
            sums[size + i] += units[1];
            sums[2 * size + i] += units[2] - (units[1] << BITS);  // the third tally has the second slice in it
        }
    }
    double sum(int f, std::size_t i) const {
        if (tops[i] > HIGHEST) return std::nan("");
        return double(std::int64_t(sums[f * size + i])) * std::ldexp(1.0, int(BITS * (tops[i] - f)));
    }
    void forget() { std::fill(tallies.begin(), tallies.end(), 0); }
};

// Tallies of some columns of a component, in registers for the innermost loop. V: Lanes, or double for one number.
//
// A number plus a rounder is a float whose last bit is the unit of the bin: as long as the exponent is that of the
// rounder, its bits are those of the rounder plus the number of units. So bits are added up as whole numbers, and what
// the rounders gave is taken off at the end, modulo 2^64. What the first slice leaves is at most 2^51 units of the
// third bin: the second and the third tally may both be taken of it, and 2^11 of them are below 2^63.
template <class V, class W>
struct Tally {
    std::uint64_t* to;
    std::size_t size;
    V rounder[FOLDS];
    W sum[FOLDS];

    Tally(Moment& m, std::size_t at) : to(m.tallies.data() + at), size(m.size) {
        for (int f = 0; f < FOLDS; ++f) {
            std::memcpy(&rounder[f], m.rounders.data() + f * size + at, sizeof(V));
            std::memcpy(&sum[f], to + f * size, sizeof(W));
        }
    }
    void add(V v) {
        const V rounded = v + rounder[0], left = v - (rounded - rounder[0]);
        sum[0] = sum[0] + bits_as<W>(rounded);
        sum[1] = sum[1] + bits_as<W>(left + rounder[1]);
        sum[2] = sum[2] + bits_as<W>(left + rounder[2]);
    }
    void keep() const {
        for (int f = 0; f < FOLDS; ++f) std::memcpy(to + f * size, &sum[f], sizeof(W));
    }
};

// Some rows in the order of their components.
struct Sorted {
    std::vector<const double*> rows;
    std::vector<double> weights;
    std::vector<std::size_t> ends;  // where the rows of a component end

    explicit Sorted(std::size_t n_components) : ends(n_components) {}

    void sort(Matrix<const double> values, Span<const std::int64_t> component, Span<const double> weight,
              std::size_t from, std::size_t to) {
        rows.resize(to - from);
        weights.resize(to - from);
        std::fill(ends.begin(), ends.end(), 0);
        for (std::size_t n = from; n < to; ++n) ++ends[component[n]];
        std::size_t before = 0;
        for (std::size_t& end : ends) before += std::exchange(end, before);
        for (std::size_t n = from; n < to; ++n) {
            const std::size_t at = ends[component[n]]++;
            rows[at] = values[n];
            weights[at] = weight[n];
        }
    }
};

// The largest of some weights, in a register: one comparison need not wait for the one before.
inline double largest_of(const double* from, const double* to) {
    Lanes most = all(0.0);
    for (; to - from >= WIDTH; from += WIDTH) most = larger(most, load(from));
    double best = largest(most);
    for (; from < to; ++from) best = std::max(best, *from);
    return best;
}

// The sums of one chunk. Columns are padded to whole registers.
struct Chunk {
    Matrix<const double> values;
    Span<const std::int64_t> component;
    Span<const double> weight;
    std::size_t n_components, n_columns, width;
    std::size_t tile;  // rows that are sorted together
    Numbers centre, reach;
    Sorted sorted;
    Bits tail;  // the columns of the last register that there are
    Moment mass, first, second;  // mass: while no cell was missing, in column 0 only
    std::vector<std::uint64_t> n_rows;  // of a block, by component
    double bounded = -1;  // the weight `reach` is for; -1: none
    bool squares, holes = false;

    Chunk(Matrix<const double> values, Span<const double> mean, Span<const std::int64_t> component,
          Span<const double> weight, std::size_t n_components, bool squares)
        : values(values), component(component), weight(weight), n_components(n_components), n_columns(values.cols),
          width((values.cols + WIDTH - 1) / WIDTH * WIDTH), tile(std::clamp<std::size_t>(TILE / width, 16, BLOCK)),
          centre(width), reach(n_components * width), sorted(n_components), mass(n_components * width),
          first(n_components * width), second(squares ? n_components * width : 0), n_rows(n_components),
          squares(squares) {
        std::copy(mean.data, mean.data + n_columns, centre.begin());
        double there[WIDTH];
        for (int i = 0; i < WIDTH; ++i) there[i] = n_columns % WIDTH > std::size_t(i) ? 0 : std::nan("");
        tail = seen(load(there));
    }

    // How far from the centre cells may lie with the weights of some rows; then no number is too large for its bins.
    void bound(std::size_t from, std::size_t to) {
        const double most = largest_of(weight.data + from, weight.data + to);
        if (most == bounded) return;
        bounded = most;
        for (std::size_t i = 0; i < reach.size(); ++i) {
            reach[i] = first.limits[i] / most;
            if (squares) reach[i] = std::min(reach[i], std::sqrt(second.limits[i] / most));
            reach[i] *= 1 - 1e-12;  // products are rounded
            if (most > mass.limits[holes ? i : i / width * width]) reach[i] = -1;  // no row can do: see `raise`
        }
    }

    // Add the columns from d on, one register of them, of sorted rows [from, to), which are of component k. `PART`: the
    // last columns, that do not fill a register. Returns the lanes in which no number is too large, nor, without HOLES,
    // missing.
    template <bool SQUARES, bool HOLES, bool PART>
    Bits add_columns(std::size_t from, std::size_t to, std::size_t k, std::size_t d) {
        const std::size_t at = k * width + d, ahead = d == 0 ? tile * n_columns : 0, used = n_columns;
        Tally<Lanes, Whole> masses(mass, at), firsts(first, at), seconds(SQUARES ? second : first, at);
        const Lanes middle = load(centre.data() + d), far = load(reach.data() + at);
        const double* const end = values[values.rows];
        const double *const *rows = sorted.rows.data(), *weights = sorted.weights.data();
        double last[WIDTH] = {};  // of the last rows of all: a register would reach beyond the last cell
        const Bits there = tail;
        Bits within = seen(all(0.0));
        for (std::size_t i = from; i < to; ++i) {
            if (ahead) ask(rows[i] + ahead, used);
            const double* x = rows[i] + d;
            if (PART && end - x < WIDTH) x = (std::copy(x, rows[i] + used, last), last);
            const Lanes cell = load(x), w = all(weights[i]);
            Lanes off = cell - middle;
            if (PART) off = only(there, off);
            Lanes size = as_lanes(as_bits(off) & INT64_MAX);
            if (HOLES) {
                const Bits inside = PART ? there & seen(cell) : seen(cell);
                off = only(inside, off);
                size = choose(inside, size, all(-2.0));  // within any reach
                masses.add(only(inside, w));
            }
            within = within & (size < far);  // false of NaN
            const Lanes weighted = w * off;
            firsts.add(weighted);
            if (SQUARES) seconds.add(weighted * off);
        }
        if (HOLES) masses.keep();
        firsts.keep();
        if (SQUARES) seconds.keep();
        return within;
    }

    void add_weights(std::size_t from, std::size_t to, std::size_t k) {
        Tally<double, std::uint64_t> masses(mass, k * width);
        for (std::size_t i = from; i < to; ++i) masses.add(sorted.weights[i]);
        masses.keep();
    }

    // Add rows [from, to). Returns whether that was right: no number too large, no cell missing without HOLES.
    template <bool SQUARES, bool HOLES>
    bool run(std::size_t from, std::size_t to) {
        const std::size_t full = n_columns / WIDTH * WIDTH;
        Bits within = seen(all(0.0));
        for (; from < to; from += tile) {
            sorted.sort(values, component, weight, from, std::min(from + tile, to));
            std::size_t start = 0;
            for (std::size_t k = 0; k < n_components; ++k) {
                const std::size_t end = sorted.ends[k];
                if (start == end) continue;
                n_rows[k] += end - start;
                if (!HOLES) add_weights(start, end, k);
                for (std::size_t d = 0; d < full; d += WIDTH) {
                    within = within & add_columns<SQUARES, HOLES, false>(start, end, k, d);
                }
                if (full < n_columns) within = within & add_columns<SQUARES, HOLES, true>(start, end, k, full);
                start = end;
            }
        }
        bool right = true;
        for (int i = 0; i < WIDTH; ++i) right &= within[i] != 0;
        return right;
    }

    bool run(std::size_t from, std::size_t to) {
        bound(from, to);
        std::fill(n_rows.begin(), n_rows.end(), 0);
        if (squares) return holes ? run<true, true>(from, to) : run<true, false>(from, to);
        return holes ? run<false, true>(from, to) : run<false, false>(from, to);
    }

    // From now on every column has a mass of its own.
    void part() {
        for (std::size_t k = 0; k < n_components; ++k) {
            for (std::size_t d = 1; d < width; ++d) mass.copy(k * width, k * width + d);
        }
        holes = true;
        bounded = -1;
    }

    // The largest numbers of some rows for each sum. Returns whether a cell is missing.
    bool find_peaks(std::size_t from, std::size_t to, Numbers (&peaks)[3]) const {
        const double* const middle = centre.data();
        bool missing = false;
        for (std::size_t n = from; n < to; ++n) {
            const double w = weight[n], *x = values[n];
            double* const peak[3] = {&peaks[0][component[n] * width], &peaks[1][component[n] * width],
                                     &peaks[2][component[n] * width]};
            for (std::size_t d = 0; d < n_columns; ++d) missing |= x[d] != x[d];
            for (std::size_t d = 0; d < n_columns; ++d) peak[0][d] = larger_size(peak[0][d], x[d] == x[d] ? w : 0);
            for (std::size_t d = 0; d < n_columns; ++d) {
                peak[1][d] = larger_size(peak[1][d], x[d] == x[d] ? w * (x[d] - middle[d]) : 0);
            }
            for (std::size_t d = 0; d < n_columns; ++d) {
                const double off = x[d] - middle[d];
                peak[2][d] = larger_size(peak[2][d], x[d] == x[d] ? w * off * off : 0);
            }
        }
        return missing;
    }

    // Begin at bins that are high enough for all numbers of some rows. Returns whether that is a change.
    bool raise(std::size_t from, std::size_t to) {
        Numbers peaks[3];
        for (Numbers& peak : peaks) peak.resize(n_components * width);
        bool changed = find_peaks(from, to, peaks) && !holes;
        if (changed) part();
        for (std::size_t i = 0; i < reach.size(); ++i) {
            changed |= mass.raise(holes ? i : i / width * width, peaks[0][i]);
            changed |= first.raise(i, peaks[1][i]);
            if (squares) changed |= second.raise(i, peaks[2][i]);
        }
        if (changed) bounded = -1;
        return changed;
    }

    // Add the tallies of a block to the sums.
    void settle() {
        for (std::size_t k = 0; k < n_components; ++k) {
            if (!n_rows[k]) continue;
            const std::size_t at = k * width;
            mass.settle(at, holes ? at + width : at + 1, n_rows[k]);
            first.settle(at, at + width, n_rows[k]);
            if (squares) second.settle(at, at + width, n_rows[k]);
        }
    }

    void add_all() {
        raise(0, std::min(BLOCK, values.rows));
        for (std::size_t from = 0; from < values.rows; from += BLOCK) {
            const std::size_t to = std::min(from + BLOCK, values.rows);
            if (!run(from, to) && raise(from, to)) {
                for (Moment* moment : {&mass, &first, &second}) moment->forget();
                run(from, to);
            }
            settle();
        }
        if (!holes) part();
    }
};

}  // namespace

void exact_moments(Matrix<const double> values, Span<const double> mean, Span<const std::int64_t> component,
                   Span<const double> weight, Stack<std::int64_t> tops, Stack<double> folds) {
    if (!tops.cols) return;
    Chunk chunk(values, mean, component, weight, tops.rows, tops.layers == 3);
    chunk.add_all();
    const Moment* const moments[3] = {&chunk.mass, &chunk.first, &chunk.second};
    for (std::size_t p = 0; p < tops.layers; ++p) {
        for (std::size_t k = 0; k < tops.rows; ++k) {
            const std::size_t at = k * chunk.width;
            std::copy_n(moments[p]->tops.data() + at, tops.cols, tops[p][k]);
            for (int f = 0; f < FOLDS; ++f) {
                for (std::size_t d = 0; d < tops.cols; ++d) folds[p * FOLDS + f][k][d] = moments[p]->sum(f, at + d);
            }
        }
    }
}

}  // namespace HALFSEEN_ISA
}  // namespace halfseen
