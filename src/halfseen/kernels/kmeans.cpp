// One sweep of k-means over a chunk: nearest centre of each row, sums of the rows of each centre, all in one pass.
//
// Compiled once per instruction set. Rows are taken BLOCK at a time, centres in panels of PANEL side by side: a block
// times a panel is a small matrix product that stays in registers, and its best column is kept, never the product.
#include <cstring>
#include <limits>

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

// Where `score` is above `best` it replaces it, and `panel` what stands in `where`.
template <class T>
inline void keep_larger(Lanes<T> score, Lanes<T> panel, Lanes<T>& best, Lanes<T>& where) {
#if defined(__GNUC__) || defined(__clang__)
    const auto better = score > best;
    best = better ? score : best;
    where = better ? panel : where;
#else
    for (int i = 0; i < Vector<T>::width; ++i)
        if (score.v[i] > best.v[i]) best.v[i] = score.v[i], where.v[i] = panel.v[i];
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
inline Tile<T, R> multiply(const T* rows, std::size_t stride, std::size_t n_columns, const T* panel, const T* half) {
    constexpr int WIDTH = Tile<T, R>::WIDTH, V = Tile<T, R>::V;
    Tile<T, R> scores;
    for (int v = 0; v < V; ++v)
        for (int r = 0; r < R; ++r) std::memcpy(&scores.at[r][v], half + v * WIDTH, sizeof(Lanes<T>));
    for (std::size_t d = 0; d < n_columns; ++d)
        for (int r = 0; r < R; ++r)
            for (int v = 0; v < V; ++v)
                multiply_add<T>(scores.at[r][v], rows[r * stride + d], panel + d * PANEL<T> + v * WIDTH);
    return scores;
}

// Rows taken at a time: with one panel they fill 12 registers, which leaves a few for the centres.
template <class T>
constexpr int BLOCK = 12 * Vector<T>::width / PANEL<T>;

// The centre with the largest score, the first among equals; no branches, which nobody could predict.
template <class T>
inline std::int32_t first_largest(const T* score, const T* panel) {
    T top[PANEL<T>];
    std::memcpy(top, score, sizeof top);
    for (int half = PANEL<T> / 2; half > 0; half /= 2)
        for (int c = 0; c < half; ++c) top[c] = top[c] > top[c + half] ? top[c] : top[c + half];
    std::int32_t at[PANEL<T>];
    for (int c = 0; c < PANEL<T>; ++c)
        at[c] = score[c] == top[0] ? std::int32_t(panel[c]) * PANEL<T> + c : std::numeric_limits<std::int32_t>::max();
    std::int32_t first = at[0];
    for (int c = 1; c < PANEL<T>; ++c) first = at[c] < first ? at[c] : first;
    return first;
}

constexpr int PARTS = 8;  // sums kept side by side: one after the other each addition would wait for the last

template <class T>
struct Sweep {
    const Lloyd<T>& in;
    const LloydSums<T>& out;
    double inertia = 0.0;
    std::size_t changed = 0;

    // The nearest centre of R complete rows.
    template <int R>
    void nearest(const T* rows, std::size_t stride, std::int32_t* found) const {
        constexpr int V = Tile<T, R>::V;
        const std::size_t n_columns = in.centres.cols, n_panels = in.half.size / PANEL<T>;
        Tile<T, R> best = multiply<T, R>(rows, stride, n_columns, in.panels.data, in.half.data), where;
        for (int r = 0; r < R; ++r)
            for (int v = 0; v < V; ++v) where.at[r][v] = all<T>(0);
        for (std::size_t p = 1; p < n_panels; ++p) {
            const Tile<T, R> scores = multiply<T, R>(rows, stride, n_columns, in.panels.data + p * n_columns * PANEL<T>,
                                                     in.half.data + p * PANEL<T>);
            const Lanes<T> panel = all<T>(T(p));
            for (int r = 0; r < R; ++r)
                for (int v = 0; v < V; ++v) keep_larger<T>(scores.at[r][v], panel, best.at[r][v], where.at[r][v]);
        }
        for (int r = 0; r < R; ++r) {
            T score[PANEL<T>], panel[PANEL<T>];
            std::memcpy(score, best.at[r], sizeof score);
            std::memcpy(panel, where.at[r], sizeof panel);
            found[r] = first_largest<T>(score, panel);
        }
    }

    void assign(std::size_t n, std::int32_t k) {
        changed += out.labels[n] != k;
        out.labels[n] = k;
    }

    // A complete row joins its centre.
    void add(std::size_t n, const T* row, std::int32_t k) {
        assign(n, k);
        const double weight = in.weight[n];
        const double* centre = in.centres[k];
        double* sum = out.sums[k];
        const std::size_t n_columns = in.centres.cols, whole = n_columns - n_columns % PARTS;
        double parts[PARTS] = {};
        for (std::size_t d = 0; d < whole; d += PARTS)
            for (int i = 0; i < PARTS; ++i) {
                const double x = row[d + i], gap = x - centre[d + i];
                parts[i] += gap * gap;
                sum[d + i] += weight * x;
            }
        for (std::size_t d = whole; d < n_columns; ++d) {
            const double x = row[d], gap = x - centre[d];
            parts[d - whole] += gap * gap;
            sum[d] += weight * x;
        }
        double squared = 0.0;
        for (const double part : parts) squared += part;
        inertia += weight * squared;
        out.mass[k] += weight;
    }

    // A row with holes: distances over what is seen, scaled as if the rest were as far.
    void add_holed(std::size_t n, const T* row) {
        const std::size_t n_columns = in.centres.cols;
        double nearest = std::numeric_limits<double>::infinity();
        std::size_t k = 0, n_seen = 0;
        for (std::size_t d = 0; d < n_columns; ++d) n_seen += row[d] == row[d];
        for (std::size_t j = 0; j < in.centres.rows; ++j) {
            double squared = 0.0;
            for (std::size_t d = 0; d < n_columns; ++d) {
                const double gap = row[d] - in.centres[j][d];
                squared += row[d] == row[d] ? gap * gap : 0.0;
            }
            if (squared < nearest) nearest = squared, k = j;
        }
        assign(n, std::int32_t(k));
        if (n_seen == 0) return;
        const double weight = in.weight[n] * double(n_columns) / double(n_seen);
        for (std::size_t d = 0; d < n_columns; ++d)
            if (row[d] == row[d]) out.sums[k][d] += weight * row[d], out.cell_mass[k][d] += weight;
        inertia += weight * nearest;
    }

    // Copy a row less the pivot; returns whether it is complete.
    bool centred(std::size_t n, T* row) const {
        const T* from = in.values[n];
        const std::size_t n_columns = in.values.cols, whole = n_columns - n_columns % PARTS;
        T parts[PARTS] = {};
        for (std::size_t d = 0; d < whole; d += PARTS)
            for (int i = 0; i < PARTS; ++i) {
                row[d + i] = from[d + i] - in.pivot[d + i];
                parts[i] += row[d + i];
            }
        for (std::size_t d = whole; d < n_columns; ++d) {
            row[d] = from[d] - in.pivot[d];
            parts[d - whole] += row[d];
        }
        T total = 0;
        for (const T part : parts) total += part;
        return total == total;  // no infinities here: only a hole makes it NaN
    }

    void run() {
        constexpr int R = BLOCK<T>;
        const std::size_t stride = in.values.cols;
        std::size_t waiting[R];
        std::int32_t found[R];
        int n_waiting = 0;
        for (std::size_t n = 0; n < in.values.rows; ++n) {
            T* row = out.workspace.data + n_waiting * stride;
            if (!centred(n, row)) {
                add_holed(n, row);
                continue;
            }
            waiting[n_waiting++] = n;
            if (n_waiting < R) continue;
            nearest<R>(out.workspace.data, stride, found);
            for (int r = 0; r < R; ++r) add(waiting[r], out.workspace.data + r * stride, found[r]);
            n_waiting = 0;
        }
        for (int r = 0; r < n_waiting; ++r) {
            nearest<1>(out.workspace.data + r * stride, stride, found);
            add(waiting[r], out.workspace.data + r * stride, found[0]);
        }
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
