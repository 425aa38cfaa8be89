// One sweep of k-means over a chunk: nearest centre of each row, sums of the rows of each centre, all in one pass.
//
// Compiled once per instruction set. Rows are taken BLOCK at a time, centres in panels of PANEL side by side: a block
// times a panel is a small matrix product that stays in registers, and its best column is kept, never the product.
//
// The product is the squared distance expanded, |x - c|^2 = |x|^2 - 2 (x . c - |c|^2 / 2), which loses digits where
// distances are small beside the numbers. So the second best is kept too: a row whose two best are closer than rounding
// could have moved them is looked at again, by differences in double. The nearest centre is the nearest, in float too.
//
// A row is not multiplied at all while it is surely nearest to the same centre: its distance to that one, computed in
// full for the inertia, is below the bound of its distances to all others, which fell by no more than centres moved.
//
// Of a row with holes the product has twice the columns: its cells (0 in a hole) beside the centres', and a 1 for each
// cell seen beside -c^2 / 2 of the centres.
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels.hpp"

#if defined(__AVX512F__)
#define HALFSEEN_BYTES 64
#elif defined(__AVX__)
#define HALFSEEN_BYTES 32
#else
#define HALFSEEN_BYTES 16
#endif

namespace halfseen::HALFSEEN_ISA {

namespace {

#if defined(__GNUC__) || defined(__clang__)

template <class T>
struct Vector {
    typedef T type __attribute__((vector_size(HALFSEEN_BYTES)));
    static constexpr int width = HALFSEEN_BYTES / sizeof(T);
};

#else

template <class T>
struct Vector {
    struct type {
        T v[HALFSEEN_BYTES / sizeof(T)];
        T operator[](int i) const { return v[i]; }
    };
    static constexpr int width = HALFSEEN_BYTES / sizeof(T);
};

#endif

template <class T>
using Lanes = typename Vector<T>::type;

template <class T>
constexpr int PANEL = 64 / sizeof(T);  // centres side by side: one cache line of each column

template <class T>
inline void multiply_add(Lanes<T>& sum, T x, const T* from) {
    Lanes<T> c;
    std::memcpy(&c, from, sizeof c);
#if defined(__GNUC__) || defined(__clang__)
    sum += x * c;
#else
    for (int i = 0; i < Vector<T>::width; ++i) sum.v[i] += x * c.v[i];
#endif
}

template <class T>
inline Lanes<T> all(T x) {
    Lanes<T> out;
    T copies[Vector<T>::width];
    for (T& copy : copies) copy = x;
    std::memcpy(&out, copies, sizeof out);
    return out;
}

// first, first + 1, ...
template <class T>
inline Lanes<T> counted(T first) {
    Lanes<T> out;
    T numbers[Vector<T>::width];
    for (int i = 0; i < Vector<T>::width; ++i) numbers[i] = first + T(i);
    std::memcpy(&out, numbers, sizeof out);
    return out;
}

// The larger of each pair of lanes, and the smaller; of NaN and a number the second.
#if (defined(__GNUC__) || defined(__clang__)) && HALFSEEN_BYTES == 32
inline Lanes<double> larger(Lanes<double> a, Lanes<double> b) { return __builtin_ia32_maxpd256(a, b); }
inline Lanes<float> larger(Lanes<float> a, Lanes<float> b) { return __builtin_ia32_maxps256(a, b); }
inline Lanes<double> smaller(Lanes<double> a, Lanes<double> b) { return __builtin_ia32_minpd256(a, b); }
inline Lanes<float> smaller(Lanes<float> a, Lanes<float> b) { return __builtin_ia32_minps256(a, b); }
#elif defined(__GNUC__) || defined(__clang__)
template <class V>
inline V larger(V a, V b) { return a > b ? a : b; }
template <class V>
inline V smaller(V a, V b) { return a < b ? a : b; }
#endif

// The two best scores of each lane, and the centre of the best.
template <class T>
struct Pair {
    Lanes<T> best, second, centre;
};

// Two pairs of scores become one. Among equals either may win: a tie is settled elsewhere, by differences.
template <class T>
inline void merge(Pair<T>& pair, const Pair<T>& other) {
#if defined(__GNUC__) || defined(__clang__)
    const auto better = other.best > pair.best;
    const Lanes<T> worse = smaller(other.best, pair.best);
    pair.best = larger(other.best, pair.best);
    pair.centre = better ? other.centre : pair.centre;
    pair.second = larger(worse, larger(other.second, pair.second));
#else
    for (int i = 0; i < Vector<T>::width; ++i) {
        const bool better = other.best.v[i] > pair.best.v[i];
        const T worse = better ? pair.best.v[i] : other.best.v[i];
        if (better) pair.best.v[i] = other.best.v[i], pair.centre.v[i] = other.centre.v[i];
        if (other.second.v[i] > pair.second.v[i]) pair.second.v[i] = other.second.v[i];
        if (worse > pair.second.v[i]) pair.second.v[i] = worse;
    }
#endif
}

// The same for one more score.
template <class T>
inline void merge(Pair<T>& pair, Lanes<T> score, Lanes<T> centre) {
#if defined(__GNUC__) || defined(__clang__)
    const auto better = score > pair.best;
    const Lanes<T> worse = smaller(score, pair.best);
    pair.best = larger(score, pair.best);
    pair.centre = better ? centre : pair.centre;
    pair.second = larger(worse, pair.second);
#else
    merge<T>(pair, Pair<T>{score, all<T>(-std::numeric_limits<T>::infinity()), centre});
#endif
}

// Lanes of R rows and the PANEL centres of a panel.
template <class T, int R>
struct Tile {
    static constexpr int WIDTH = Vector<T>::width, V = PANEL<T> / WIDTH;
    Lanes<T> at[R][V];
};

// scores[r, c] = rows[r] . panel[:, c] + half[c]
template <class T, int R>
inline Tile<T, R> multiply(const T* rows, std::size_t n_columns, const T* panel, const T* half) {
    constexpr int WIDTH = Tile<T, R>::WIDTH, V = Tile<T, R>::V;
    Tile<T, R> scores;
    for (int v = 0; v < V; ++v)
        for (int r = 0; r < R; ++r) std::memcpy(&scores.at[r][v], half + v * WIDTH, sizeof(Lanes<T>));
    for (std::size_t d = 0; d < n_columns; ++d)
        for (int r = 0; r < R; ++r)
            for (int v = 0; v < V; ++v)
                multiply_add<T>(scores.at[r][v], rows[r * n_columns + d], panel + d * PANEL<T> + v * WIDTH);
    return scores;
}

// Rows taken at a time: with one panel they fill 12 registers, which leaves a few for the centres.
template <class T>
constexpr int BLOCK = 12 * Vector<T>::width / PANEL<T>;

template <class T>
struct Found {
    T best, second;  // scores
    std::int32_t centre;
};

// Lane i of the result is lane i ^ STEP.
template <class T, int STEP>
inline Lanes<T> exchanged(Lanes<T> lanes) {
    constexpr int WIDTH = Vector<T>::width;
#if defined(__GNUC__) && !defined(__clang__)
    typedef std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t> Whole;
    typedef Whole Places __attribute__((vector_size(HALFSEEN_BYTES)));
    Places places;
    for (int i = 0; i < WIDTH; ++i) places[i] = Whole(i ^ STEP);
    return __builtin_shuffle(lanes, places);
#else
    T from[WIDTH], to[WIDTH];
    std::memcpy(from, &lanes, sizeof from);
    for (int i = 0; i < WIDTH; ++i) to[i] = from[i ^ STEP];
    std::memcpy(&lanes, to, sizeof to);
    return lanes;
#endif
}

// Every lane becomes the best of all.
template <class T, int STEP = Vector<T>::width / 2>
inline void merge_lanes(Pair<T>& pair) {
    merge<T>(pair, Pair<T>{exchanged<T, STEP>(pair.best), exchanged<T, STEP>(pair.second),
                           exchanged<T, STEP>(pair.centre)});
    if constexpr (STEP > 1) merge_lanes<T, STEP / 2>(pair);
}

constexpr int PARTS = 8;  // sums kept side by side: one after the other each addition would wait for the last

// Rows that wait until there are enough for a block.
template <class T>
struct Queue {
    T* rows;                // (BLOCK, n_columns)
    std::size_t n_columns;  // D, or 2 D of rows with holes
    const T* half;
    int size = 0;
    std::size_t at[BLOCK<T>] = {};
    T norm[BLOCK<T>] = {};  // squared, of what is seen
};

template <class T>
struct Sweep {
    const Lloyd<T>& in;
    const LloydSums<T>& out;
    double inertia = 0.0;
    std::size_t changed = 0;

    // The best centre of R rows by the expanded square.
    template <int R>
    void best(const T* rows, std::size_t n_columns, const T* half, Found<T>* found) const {
        constexpr int V = Tile<T, R>::V;
        const std::size_t n_panels = in.panels.layers, stride = in.panels.rows * PANEL<T>;
        Pair<T> found_in[R][V];
        for (std::size_t p = 0; p < n_panels; ++p) {
            const Tile<T, R> scores = multiply<T, R>(rows, n_columns, in.panels.data + p * stride, half + p * PANEL<T>);
            for (int v = 0; v < V; ++v) {
                const Lanes<T> centre = counted<T>(T(p * PANEL<T> + v * Vector<T>::width));
                for (int r = 0; r < R; ++r) {
                    if (p == 0)
                        found_in[r][v] = {scores.at[r][v], all<T>(-std::numeric_limits<T>::infinity()), centre};
                    else
                        merge<T>(found_in[r][v], scores.at[r][v], centre);
                }
            }
        }
        for (int r = 0; r < R; ++r) {
            for (int v = 1; v < V; ++v) merge<T>(found_in[r][0], found_in[r][v]);
            merge_lanes<T>(found_in[r][0]);
            T best, second, centre;
            std::memcpy(&best, &found_in[r][0].best, sizeof best);
            std::memcpy(&second, &found_in[r][0].second, sizeof second);
            std::memcpy(&centre, &found_in[r][0].centre, sizeof centre);
            found[r] = {best, second, std::int32_t(centre)};
        }
    }

    // Whether rounding cannot have changed which score is larger.
    //
    // A sum of n products, of factors that are rounded themselves, is off by at most (n + 4) eps / 2 times the sum of
    // their sizes, |x| |c| + |c|^2 / 2. A centre that is nearer than the best has |c| <= |x| + |x - best|, and with
    // q = |x|^2 - score of the best = (|x|^2 + |x - best|^2) / 2 all that is at most 5 q. NaN is never sure.
    bool sure(const Found<T>& found, T norm, std::size_t n_columns) const {
        const T slack = 5 * std::numeric_limits<T>::epsilon() * T(n_columns + 4);
        return found.best - found.second > slack * (norm - found.best);
    }

    // Squared distance over what is seen.
    template <bool HOLES>
    double distance(const T* row, const double* centre) const {
        const std::size_t n_columns = in.centres.cols, whole = n_columns - n_columns % PARTS;
        double parts[PARTS] = {};
        const auto gap = [&](std::size_t d) {
            const double apart = double(row[d]) - centre[d];
            return HOLES ? apart * double(row[n_columns + d]) : apart;
        };
        for (std::size_t d = 0; d < whole; d += PARTS)
            for (int i = 0; i < PARTS; ++i) parts[i] += gap(d + i) * gap(d + i);
        for (std::size_t d = whole; d < n_columns; ++d) parts[d - whole] += gap(d) * gap(d);
        double squared = 0.0;
        for (const double part : parts) squared += part;
        return squared;
    }

    // The nearest centre by differences; `next` becomes the squared distance of the second.
    template <bool HOLES>
    std::size_t nearest(const T* row, double& next) const {
        double least = std::numeric_limits<double>::infinity();
        std::size_t k = 0;
        next = least;
        for (std::size_t j = 0; j < in.centres.rows; ++j) {
            const double squared = distance<HOLES>(row, in.centres[j]);
            next = squared < least ? least : squared < next ? squared : next;
            if (squared < least) least = squared, k = j;
        }
        return k;
    }

    // A squared distance that no centre but the best is below, from the expanded squares. Their error, see `sure`, is a
    // part `off` of |x|^2 and of the squared distance itself.
    double at_least(const Found<T>& found, T norm, std::size_t n_columns) const {
        const double off = 5 * double(std::numeric_limits<T>::epsilon()) * double(n_columns + 4);
        const double squared = double(norm) - 2 * double(found.second) - off * double(norm);
        return squared > 0 ? squared / (1 + off) : 0.0;
    }

    // A row joins its centre. One with holes counts as if what is not seen of it were as far as what is.
    template <bool HOLES>
    void add(std::size_t n, const T* row, std::size_t k, double squared) {
        const std::size_t n_columns = in.centres.cols;
        double weight = in.weight[n];
        if constexpr (HOLES) {
            const T* seen = row + n_columns;
            double n_seen = 0.0;
            for (std::size_t d = 0; d < n_columns; ++d) n_seen += double(seen[d]);
            if (n_seen == 0.0) return;
            weight *= double(n_columns) / n_seen;
            double* mass = out.cell_mass[k];
            for (std::size_t d = 0; d < n_columns; ++d) mass[d] += weight * double(seen[d]);
        } else {
            out.mass[k] += weight;
        }
        double* sum = out.sums[k];
        for (std::size_t d = 0; d < n_columns; ++d) sum[d] += weight * double(row[d]);
        inertia += weight * squared;
    }

    // Whether a row surely stays where it was; then it is added there.
    template <bool HOLES>
    bool stays(std::size_t n, const T* row) {
        const std::int32_t k = out.labels[n];
        if (k < 0 || std::size_t(k) >= in.centres.rows) return false;
        const double bound = out.bounds[n] - in.drift[k];
        if (!(bound > 0)) return false;
        const double squared = distance<HOLES>(row, in.centres[k]);
        if (!(squared * (1 + 1e-12) < bound * bound)) return false;
        out.bounds[n] = bound;
        add<HOLES>(n, row, std::size_t(k), squared);
        return true;
    }

    template <bool HOLES>
    void flush(Queue<T>& queue) {
        constexpr int R = BLOCK<T>;
        Found<T> found[R];
        if (queue.size == R)
            best<R>(queue.rows, queue.n_columns, queue.half, found);
        else
            for (int r = 0; r < queue.size; ++r)
                best<1>(queue.rows + r * queue.n_columns, queue.n_columns, queue.half, found + r);
        for (int r = 0; r < queue.size; ++r) {
            const std::size_t n = queue.at[r];
            const T* row = queue.rows + r * queue.n_columns;
            std::size_t k = std::size_t(found[r].centre);
            double next;
            if (sure(found[r], queue.norm[r], queue.n_columns))
                next = at_least(found[r], queue.norm[r], queue.n_columns);
            else
                k = nearest<HOLES>(row, next);
            out.bounds[n] = std::sqrt(next) * (1 - 1e-12);
            changed += out.labels[n] != std::int32_t(k);
            out.labels[n] = std::int32_t(k);
            add<HOLES>(n, row, k, distance<HOLES>(row, in.centres[k]));
        }
        queue.size = 0;
    }

    // Copy a row less the pivot; returns its squared norm, NaN where there is a hole.
    T centred(std::size_t n, T* row) const {
        const T* from = in.values[n];
        const std::size_t n_columns = in.values.cols, whole = n_columns - n_columns % PARTS;
        T parts[PARTS] = {};
        for (std::size_t d = 0; d < whole; d += PARTS)
            for (int i = 0; i < PARTS; ++i) {
                row[d + i] = from[d + i] - in.pivot[d + i];
                parts[i] += row[d + i] * row[d + i];
            }
        for (std::size_t d = whole; d < n_columns; ++d) {
            row[d] = from[d] - in.pivot[d];
            parts[d - whole] += row[d] * row[d];
        }
        T total = 0;
        for (const T part : parts) total += part;
        return total;
    }

    // Copy a centred row with 0 in its holes, and behind it a 1 for each cell that is seen; returns its squared norm.
    T marked(const T* from, T* row) const {
        const std::size_t n_columns = in.values.cols;
        T total = 0;
        for (std::size_t d = 0; d < n_columns; ++d) {
            const bool seen = from[d] == from[d];
            row[d] = seen ? from[d] : T(0);
            row[n_columns + d] = T(seen);
            total += row[d] * row[d];
        }
        return total;
    }

    void run() {
        constexpr int R = BLOCK<T>;
        const std::size_t n_columns = in.values.cols;
        Queue<T> whole{out.workspace.data, n_columns, in.half[0]};
        Queue<T> holed{out.workspace.data + R * n_columns, 2 * n_columns, in.half[1]};
        for (std::size_t n = 0; n < in.values.rows; ++n) {
            T* row = whole.rows + whole.size * n_columns;
            const T norm = centred(n, row);
            if (norm == norm) {
                if (stays<false>(n, row)) continue;
                whole.at[whole.size] = n;
                whole.norm[whole.size++] = norm;
                if (whole.size == R) flush<false>(whole);
            } else {
                T* wide = holed.rows + holed.size * holed.n_columns;
                holed.norm[holed.size] = marked(row, wide);
                if (stays<true>(n, wide)) continue;
                holed.at[holed.size] = n;
                if (++holed.size == R) flush<true>(holed);
            }
        }
        flush<false>(whole);
        flush<true>(holed);
    }
};

template <class T>
void sweep(const Lloyd<T>& in, const LloydSums<T>& out) {
    Sweep<T> one{in, out};
    one.run();
    out.totals[0] += one.inertia;
    out.totals[1] += double(one.changed);
}

}  // namespace

void lloyd(const Lloyd<double>& in, const LloydSums<double>& out) { sweep(in, out); }
void lloyd(const Lloyd<float>& in, const LloydSums<float>& out) { sweep(in, out); }

}  // namespace halfseen::HALFSEEN_ISA
