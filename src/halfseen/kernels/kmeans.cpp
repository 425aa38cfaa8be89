// One sweep of k-means over a chunk: nearest centre of each row, and sums of the rows that changed theirs, in one pass.
//
// Compiled once per instruction set. Distances, squares and sums are float64, of differences. Most of them are never
// computed, for two filters say which centres cannot be the nearest:
//
// - Bounds. Centres stand in a few groups. For each row and group there is a distance below which no centre of the group
//   is, but the row's own; it falls by no more than the centres moved. The own centre's distance has a bound too, from
//   above. While the own centre is nearer than all others the row stays, and is not even read; otherwise the own distance
//   is computed, and if that is not enough the groups whose bounds are too low are looked at.
// - float32. These groups are compared by |x - c|^2 = |x|^2 - 2 (x . c - |c|^2 / 2), as a small matrix product that stays
//   in registers: BLOCK rows times a panel of PANEL centres. What rounding may have done is bounded, see `Rounding`, and
//   centres that it leaves possible are compared in float64. So the nearest is the nearest, whatever the numbers.
//
// Of a row with holes the product has twice the columns: its cells (0 in a hole) beside the centres', and a 1 for each
// cell seen beside -c^2 / 2 of the centres.
#include <algorithm>
#include <cmath>
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

constexpr float INFINITE = std::numeric_limits<float>::infinity();
constexpr int WIDTH = HALFSEEN_BYTES / sizeof(float);

#if defined(__GNUC__) || defined(__clang__)

typedef float Lanes __attribute__((vector_size(HALFSEEN_BYTES)));

inline void multiply_add(Lanes& sum, float x, Lanes c) { sum += x * c; }
#if HALFSEEN_BYTES == 32
inline Lanes larger(Lanes a, Lanes b) { return __builtin_ia32_maxps256(a, b); }
inline Lanes smaller(Lanes a, Lanes b) { return __builtin_ia32_minps256(a, b); }
#else
inline Lanes larger(Lanes a, Lanes b) { return a > b ? a : b; }
inline Lanes smaller(Lanes a, Lanes b) { return a < b ? a : b; }
#endif
inline Lanes if_equal(Lanes a, Lanes b, Lanes yes, Lanes no) { return a == b ? yes : no; }
inline Lanes if_above(Lanes a, Lanes b, Lanes yes, Lanes no) { return a > b ? yes : no; }

#else

struct Lanes {
    float v[WIDTH];
    float operator[](int i) const { return v[i]; }
};

inline void multiply_add(Lanes& sum, float x, Lanes c) {
    for (int i = 0; i < WIDTH; ++i) sum.v[i] += x * c.v[i];
}
inline Lanes larger(Lanes a, Lanes b) {
    for (int i = 0; i < WIDTH; ++i) a.v[i] = std::max(a.v[i], b.v[i]);
    return a;
}
inline Lanes smaller(Lanes a, Lanes b) {
    for (int i = 0; i < WIDTH; ++i) a.v[i] = std::min(a.v[i], b.v[i]);
    return a;
}
inline Lanes if_equal(Lanes a, Lanes b, Lanes yes, Lanes no) {
    for (int i = 0; i < WIDTH; ++i) a.v[i] = a.v[i] == b.v[i] ? yes.v[i] : no.v[i];
    return a;
}
inline Lanes if_above(Lanes a, Lanes b, Lanes yes, Lanes no) {
    for (int i = 0; i < WIDTH; ++i) a.v[i] = a.v[i] > b.v[i] ? yes.v[i] : no.v[i];
    return a;
}

#endif

inline Lanes all(float x) {
    Lanes out;
    float copies[WIDTH];
    for (float& copy : copies) copy = x;
    std::memcpy(&out, copies, sizeof out);
    return out;
}

inline Lanes load(const float* from) {
    Lanes x;
    std::memcpy(&x, from, sizeof x);
    return x;
}
inline void store(float* to, Lanes x) { std::memcpy(to, &x, sizeof x); }

constexpr int QUADS = 4;           // centres that are multiplied at once,
constexpr int VECTORS = 3;         // by so many registers of rows: 12 of sums, which leaves a few for the rest
constexpr int TILE = VECTORS * WIDTH;
constexpr int QUEUE = 96;          // rows that wait until there are enough for tiles
constexpr int BLOCK = 256;         // rows whose bounds are compared before any of them is read
constexpr int AHEAD = 12;          // rows that are asked for before they are read
constexpr std::size_t PANEL = 16;  // centres that are never apart: a group has some panels
static_assert(QUEUE % TILE == 0 && PANEL % QUADS == 0);

// A register of float64, from float32 too, and back.
#if defined(__GNUC__) || defined(__clang__)
typedef double Wide __attribute__((vector_size(HALFSEEN_BYTES)));
typedef float Narrow __attribute__((vector_size(HALFSEEN_BYTES / 2)));
constexpr int DOUBLES = HALFSEEN_BYTES / sizeof(double);

inline Wide wide(const double* from) {
    Wide x;
    std::memcpy(&x, from, sizeof x);
    return x;
}
inline Wide wide(const float* from) {
    Narrow x;
    std::memcpy(&x, from, sizeof x);
    return __builtin_convertvector(x, Wide);
}
inline void store(float* to, Wide x) {
    const Narrow narrow = __builtin_convertvector(x, Narrow);
    std::memcpy(to, &narrow, sizeof narrow);
}
inline double sum(Wide x) {
    double total = x[0] + x[1];
    for (int i = 2; i < DOUBLES; i += 2) total += x[i] + x[i + 1];
    return total;
}
#else
typedef double Wide;
constexpr int DOUBLES = 1;
inline Wide wide(const double* from) { return *from; }
inline Wide wide(const float* from) { return *from; }
inline void store(float* to, Wide x) { *to = float(x); }
inline double sum(Wide x) { return x; }
#endif

// Sums of a few squares. Functions of their own, so that rows of float32 and the same numbers in float64 have the same
// bits: inside of loops over either, the compiler would fuse some products and additions and not others.
constexpr std::size_t FEW = 16;

template <bool HOLES>
[[gnu::noinline]] double squares(const double* cells, const double* pivot, const double* centre, std::size_t size) {
    double total = 0.0;
    for (std::size_t d = 0; d < size; ++d) {
        const double gap = (cells[d] - pivot[d]) - centre[d];
        total += HOLES && cells[d] != cells[d] ? 0.0 : gap * gap;
    }
    return total;
}

[[gnu::noinline]] double squares(const float* cells, std::size_t size) {
    double total = 0.0;
    for (std::size_t d = 0; d < size; ++d) total += double(cells[d]) * double(cells[d]);
    return total;
}

// to[d, r] = rows[r, d] for WIDTH rows; columns of `to` are TILE apart.
inline void turn(const float* const* rows, std::size_t n_columns, float* to) {
    std::size_t d = 0;
#if defined(__GNUC__) && !defined(__clang__) && HALFSEEN_BYTES == 32
    typedef std::int32_t Places __attribute__((vector_size(32)));
    constexpr Places low = {0, 8, 1, 9, 4, 12, 5, 13}, high = {2, 10, 3, 11, 6, 14, 7, 15};
    constexpr Places left = {0, 1, 8, 9, 4, 5, 12, 13}, right = {2, 3, 10, 11, 6, 7, 14, 15};
    constexpr Places front = {0, 1, 2, 3, 8, 9, 10, 11}, back = {4, 5, 6, 7, 12, 13, 14, 15};
    for (; d + WIDTH <= n_columns; d += WIDTH) {
        Lanes x[8], y[8];
        for (int r = 0; r < 8; ++r) x[r] = load(rows[r] + d);
        for (int r = 0; r < 8; r += 2)
            y[r] = __builtin_shuffle(x[r], x[r + 1], low), y[r + 1] = __builtin_shuffle(x[r], x[r + 1], high);
        for (int r = 0; r < 8; r += 4)
            for (int i = 0; i < 2; ++i) {
                x[r + 2 * i] = __builtin_shuffle(y[r + i], y[r + i + 2], left);
                x[r + 2 * i + 1] = __builtin_shuffle(y[r + i], y[r + i + 2], right);
            }
        for (int i = 0; i < 4; ++i) {
            store(to + (d + i) * TILE, __builtin_shuffle(x[i], x[i + 4], front));
            store(to + (d + i + 4) * TILE, __builtin_shuffle(x[i], x[i + 4], back));
        }
    }
#endif
    for (; d < n_columns; ++d)
        for (int r = 0; r < WIDTH; ++r) to[d * TILE + r] = rows[r][d];
}

// Rows that some centre but their own may be nearest to, and some that none is.
struct Queue {
    float* rows;            // (QUEUE, n_columns), in units
    std::size_t n_columns;  // D, or 2 D of rows with holes
    const float* half;
    int size = 0;
    std::size_t at[QUEUE] = {};
    float norm[QUEUE] = {};     // squared, of what is seen
    float label[QUEUE] = {};    // the own centre, or -1
    double own[QUEUE] = {};     // its squared distance; infinite if there is none
    unsigned need[QUEUE] = {};  // a bit for each group that is to be looked at; none: the row stays
};

// What was found in a group about the rows of a queue.
struct Found {
    float best[QUEUE], next[QUEUE];  // the two best scores, but the own centre's; -inf if it was not looked at
    float first[QUEUE];              // the centre of the best
    int list[QUEUE + TILE], size;    // rows that were looked at, in the order of their scores
};

// What float32 may do to a score x . c - |c|^2 / 2 of n products.
//
// Factors are rounded, products too, and n + 1 numbers added: the error is at most e (|x| |c| + |c|^2 / 2) with
// e = (n + 5) 2^-24, and `under` / 2 for what is too small for float32. As |c| <= |x| + d for a centre at distance d, that
// is at most e (5 |x|^2 + 3 d^2) / 2 + under / 2. So, with s = |x|^2 - 2 score,
//     s - 5 e |x|^2 - under <= d^2 (1 + 3 e)      and      d^2 (1 - 3 e) <= s + 5 e |x|^2 + under.
// e is taken a little larger, for the few operations here.
struct Rounding {
    float off, under, wide, narrow;

    explicit Rounding(std::size_t n_columns)
        : off(float(5 * e(n_columns))),
          under(float(double(n_columns + 4) * 0x1p-83)),  // numbers are below 2^41, and 2^-126 is lost at most
          wide(float(1 / (1 + 4 * e(n_columns)))),
          narrow(float(1 / (1 - 4 * e(n_columns)))) {}

    static double e(std::size_t n_columns) { return double(n_columns + 16) * 1.1 * 0x1p-24; }
    // The squared distance of a centre with this score is not below `least` and not above `most`.
    float least(float norm, float score) const { return ((norm - 2 * score) - (off * norm + under)) * wide; }
    float most(float norm, float score) const { return ((norm - 2 * score) + (off * norm + under)) * narrow; }
    // Centres with lower scores than this are not nearer than the squared distance.
    float score_at(float norm, float squared) const {
        return 0.5f * ((norm - (off * norm + under)) - squared / wide) - 0x1p-20f * (norm + squared);
    }
};

constexpr float BEYOND = 1e24f;          // squared numbers, in units, that float32 is not used for
constexpr std::size_t WIDEST = 1 << 20;  // columns up to which `Rounding` holds
constexpr float LESS = 1 - 0x1p-22f;     // times this, what was rounded to float32 is not above what it was
constexpr float MORE = 1 + 0x1p-20f;     // and times this not below, and above what float64 rounds to the same

template <class T, int G>
struct Sweep {
    const Lloyd<T>& in;
    const LloydSums& out;
    const std::size_t per_group;  // centres
    const Rounding whole, holed;
    double gained = 0.0;   // squares about the anchors of the rows that came, less those of the rows that went
    double inertia = 0.0;  // of rows with holes
    std::size_t changed = 0;

    Sweep(const Lloyd<T>& in, const LloydSums& out)
        : in(in),
          out(out),
          per_group(PANEL * ((in.panels.layers * QUADS / PANEL + G - 1) / G)),
          whole(in.values.cols),
          holed(2 * in.values.cols) {}

    // ---- float64 -------------------------------------------------------------------------------------------------

    // Squared distance of a complete row to a centre.
    double distance(const T* row, const double* centre) const { return measure<false>(row, centre, nullptr).squared; }

    struct Measured {
        double squared, norm;  // distance, in full; and what is copied, in units
    };

    // If COPY, copies the row less the pivot too, in units. NaN if it has holes.
    template <bool COPY>
    Measured measure(const T* row, const double* centre, float* to) const {
        const std::size_t n_columns = in.centres.cols;
        const double *pivot = in.pivot.data, unit = in.unit;
        std::size_t d = 0;
        double rest = 0.0, norm = 0.0;
        Wide even = {}, odd = {}, even_norm = {}, odd_norm = {};  // one sum alone would wait for each addition
        for (; d + 2 * DOUBLES <= n_columns; d += 2 * DOUBLES) {
            const std::size_t e = d + DOUBLES;
            const Wide x = wide(row + d) - wide(pivot + d), y = wide(row + e) - wide(pivot + e);
            const Wide left = x - wide(centre + d), right = y - wide(centre + e);
            even += left * left, odd += right * right;
            if constexpr (COPY) {
                const Wide first = x * unit, second = y * unit;
                store(to + d, first), store(to + e, second);
                even_norm += first * first, odd_norm += second * second;
            }
        }
        double cells[FEW];
        while (d < n_columns) {
            const std::size_t size = std::min(FEW, n_columns - d);
            for (std::size_t i = 0; i < size; ++i) cells[i] = double(row[d + i]);
            rest += squares<false>(cells, pivot + d, centre + d, size);
            if constexpr (COPY) {
                for (std::size_t i = 0; i < size; ++i) to[d + i] = float((cells[i] - pivot[d + i]) * unit);
                norm += squares(to + d, size);
            }
            d += size;
        }
        return {sum(even + odd) + rest, sum(even_norm + odd_norm) + norm};
    }

    // Squared distance over what is seen.
    double holed_distance(const T* row, const double* centre) const {
        double total = 0.0, cells[FEW];
        for (std::size_t d = 0; d < in.centres.cols; d += FEW) {
            const std::size_t size = std::min(FEW, in.centres.cols - d);
            for (std::size_t i = 0; i < size; ++i) cells[i] = double(row[d + i]);
            total += squares<true>(cells, in.pivot.data + d, centre + d, size);
        }
        return total;
    }

    template <bool HOLES>
    double apart(const T* row, std::size_t k) const {
        return HOLES ? holed_distance(row, in.centres[k]) : distance(row, in.centres[k]);
    }

    // A complete row is added to the sums of a centre, or with a negative weight taken from them.
    void add(const T* row, std::size_t k, double weight, double count) {
        const double* anchor = in.anchors[k];
        double* sums = out.sums[k];
        for (std::size_t d = 0; d < in.centres.cols; ++d)
            sums[d] += weight * ((double(row[d]) - in.pivot[d]) - anchor[d]);
        out.mass[0][k] += weight;
        out.mass[1][k] += count;
        gained += weight * distance(row, anchor);
    }

    // A row with holes counts as if what is not seen of it were as far as what is.
    void add_holed(const T* row, std::size_t k, double weight, double squared) {
        const std::size_t n_columns = in.centres.cols;
        std::size_t n_seen = 0;
        for (std::size_t d = 0; d < n_columns; ++d) n_seen += row[d] == row[d];
        if (n_seen == 0) return;
        weight *= double(n_columns) / double(n_seen);
        double *sums = out.cell_sums[k], *mass = out.cell_mass[k];
        for (std::size_t d = 0; d < n_columns; ++d) {
            if (row[d] != row[d]) continue;
            mass[d] += weight;
            sums[d] += weight * ((double(row[d]) - in.pivot[d]) - in.anchors[k][d]);
        }
        inertia += weight * squared;
    }

    // A row joins its centre, at this squared distance.
    template <bool HOLES>
    void join(std::size_t n, const T* row, std::size_t k, double squared) {
        const std::int32_t old = out.labels[n];
        const double weight = in.weight[n], count = weight > 0;
        const bool moves = old != std::int32_t(k);
        changed += moves;
        out.labels[n] = std::int32_t(k);
        if constexpr (HOLES) return add_holed(row, k, weight, squared);
        if (moves && !in.fresh && old >= 0) add(row, std::size_t(old), -weight, -count);
        if (moves || in.fresh) add(row, k, weight, count);
    }

    // Compare with all centres, by differences.
    template <bool HOLES>
    void join_nearest(std::size_t n, const T* row) {
        double least = apart<HOLES>(row, 0);
        std::size_t best = 0;
        for (std::size_t k = 1; k < in.centres.rows; ++k) {
            const double squared = apart<HOLES>(row, k);
            if (squared < least) least = squared, best = k;
        }
        for (int g = 0; g < G; ++g) out.bounds[n][g] = 0;
        join<HOLES>(n, row, best, least);
    }

    // ---- float32 -------------------------------------------------------------------------------------------------

    // Compare the rows of V registers of a tile with QUADS centres from k on; keeps their scores, QUEUE apart.
    template <int V>
    static void compare(const float* tile, std::size_t n_columns, const float* panel, const float* half, std::size_t k,
                        const float* label, float* scores, float* best, float* next, float* first) {
        Lanes sums[QUADS][V];
        for (int c = 0; c < QUADS; ++c)
            for (int v = 0; v < V; ++v) sums[c][v] = all(half[c]);
        for (std::size_t d = 0; d < n_columns; ++d, tile += TILE, panel += QUADS)
            for (int c = 0; c < QUADS; ++c)
                for (int v = 0; v < V; ++v) multiply_add(sums[c][v], panel[c], load(tile + v * WIDTH));
        for (int v = 0; v < V; ++v) {
            const Lanes own = load(label + v * WIDTH);
            Lanes high = load(best + v * WIDTH), low = load(next + v * WIDTH), which = load(first + v * WIDTH);
            for (int c = 0; c < QUADS; ++c) {
                const Lanes centre = all(float(k + c)), score = if_equal(own, centre, all(-INFINITE), sums[c][v]);
                store(scores + c * QUEUE + v * WIDTH, score);
                which = if_above(score, high, centre, which);
                low = larger(low, smaller(score, high));
                high = larger(score, high);
            }
            store(best + v * WIDTH, high), store(next + v * WIDTH, low), store(first + v * WIDTH, which);
        }
    }

    // Compare the rows of a queue with the centres of the groups that they need.
    void look(const Queue& queue, float* scores, float* tiles, Found (&found)[G]) const {
        const std::size_t layer = in.panels.rows * QUADS;
        bool turned = false;  // the tiles hold all rows of the queue
        for (Found& here : found) here.size = 0;
        for (int r = 0; r < queue.size; ++r)
            for (int g = 0; g < G; ++g) {
                found[g].list[found[g].size] = r;
                found[g].size += queue.need[r] >> g & 1;
            }
        for (int g = 0; g < G; ++g) {
            Found& here = found[g];
            const bool all_rows = here.size == queue.size;
            for (int r = here.size; r < here.size + TILE; ++r) here.list[r] = 0;
            float label[QUEUE], best[QUEUE], next[QUEUE], first[QUEUE];
            for (int i = 0; i < QUEUE; ++i) best[i] = next[i] = -INFINITE, first[i] = -1;
            for (int i = 0; i < here.size; ++i) label[i] = queue.label[here.list[i]];
            for (int i = 0; i < here.size; i += TILE) {
                float* tile = tiles + i * queue.n_columns;
                const int n_vectors = std::min(VECTORS, (here.size - i + WIDTH - 1) / WIDTH);
                for (int v = 0; v < n_vectors && !(all_rows && turned); ++v) {
                    const float* rows[WIDTH];
                    for (int r = 0; r < WIDTH; ++r)
                        rows[r] = queue.rows + std::size_t(here.list[i + v * WIDTH + r]) * queue.n_columns;
                    turn(rows, queue.n_columns, tile + v * WIDTH);
                }
                const std::size_t end = std::min(in.panels.layers * QUADS, (g + 1) * per_group);
                const auto by = n_vectors == 1 ? compare<1> : n_vectors == 2 ? compare<2> : compare<VECTORS>;
                for (std::size_t k = g * per_group; k < end; k += QUADS)
                    by(tile, queue.n_columns, in.panels.data + k / QUADS * layer, queue.half + k, k, label + i,
                       scores + k * QUEUE + i, best + i, next + i, first + i);
            }
            turned = all_rows;
            for (int r = 0; r < QUEUE; ++r) here.best[r] = here.next[r] = -INFINITE, here.first[r] = -1;
            for (int i = 0; i < here.size; ++i) {
                const int r = here.list[i];
                here.best[r] = best[i], here.next[r] = next[i], here.first[r] = first[i];
            }
        }
    }

    // Find the nearest centres of the rows of a queue, and what bounds the distances of the others.
    template <bool HOLES>
    void flush(Queue& queue) {
        const Rounding& rounding = HOLES ? holed : whole;
        float* tiles = out.workspace.data + QUEUE * 3 * in.values.cols;
        float* scores = tiles + QUEUE * 2 * in.values.cols;
        Found found[G];
        look(queue, scores, tiles, found);

        float own[QUEUE], above[QUEUE], label[QUEUE];
        bool moves[QUEUE], sure[QUEUE];
        for (int r = 0; r < QUEUE; ++r) own[r] = float(queue.own[r] * in.unit * in.unit);
        for (int r = 0; r < QUEUE; ++r) {
            float best = -INFINITE, next = -INFINITE, first = -1;
            for (int g = 0; g < G; ++g) {
                const float score = found[g].best[r];
                first = score > best ? found[g].first[r] : first;
                next = std::max(next, std::max(found[g].next[r], std::min(score, best)));
                best = std::max(best, score);
            }
            const float norm = queue.norm[r], most = std::min(rounding.most(norm, best), own[r]) * MORE;
            moves[r] = (queue.need[r] != 0) & !(rounding.least(norm, best) > own[r] * MORE);
            above[r] = rounding.score_at(norm, most);
            sure[r] = (next < above[r]) & (own[r] > most * MORE);
            label[r] = moves[r] ? first : queue.label[r];
        }
        for (int r = 0; r < queue.size; ++r) {
            if (!moves[r]) continue;
            const T* row = in.values[queue.at[r]];
            const std::size_t k = std::size_t(label[r]);
            if (sure[r])
                queue.own[r] = apart<HOLES>(row, k);
            else
                label[r] = float(nearest<HOLES>(row, queue, r, found, scores, above[r]));
        }
        float bounds[G][QUEUE];
        for (int g = 0; g < G; ++g)
            for (int r = 0; r < QUEUE; ++r) {
                const float other = found[g].first[r] == label[r] ? found[g].next[r] : found[g].best[r];
                bounds[g][r] = std::sqrt(std::max(rounding.least(queue.norm[r], other), 0.0f)) * LESS;
            }
        for (int r = 0; r < queue.size; ++r) {
            const std::size_t n = queue.at[r], k = std::size_t(label[r]);
            const float* moved = in.moved[k];
            float* to = out.bounds[n];
            const bool changes = label[r] != queue.label[r];
            if (changes && queue.label[r] >= 0) leave(queue, r, bounds, k, std::sqrt(own[r]));
            for (int g = 0; g < G; ++g) to[g] = queue.need[r] >> g & 1 ? (bounds[g][r] + moved[g]) * LESS : to[g];
            if (changes && !HOLES) out.own[n] = upper(in_units(queue.own[r]), k);
            if (changes || HOLES || (in.fresh && queue.need[r])) join<HOLES>(n, in.values[n], k, queue.own[r]);
        }
        queue.size = 0;
    }

    // A row goes to another centre: its old one is in the bound of a group, others are measured from the new one.
    void leave(const Queue& queue, int r, float (&bounds)[G][QUEUE], std::size_t k, float distance) const {
        const std::size_t old = std::size_t(queue.label[r]), home = old / per_group;
        float* kept = out.bounds[queue.at[r]];
        for (std::size_t g = 0; g < G; ++g) {
            if (!(queue.need[r] >> g & 1)) bounds[g][r] = kept[g] * LESS - in.moved[old][g];
            if (g == home) bounds[g][r] = std::min(bounds[g][r], distance * LESS);
            kept[g] = (bounds[g][r] * LESS + in.moved[k][g]) * LESS;
        }
    }

    // The nearest of the own centre and of those that rounding leaves possible, by differences.
    template <bool HOLES>
    std::size_t nearest(const T* row, Queue& queue, int r, const Found (&found)[G], const float* scores,
                        float above) const {
        std::size_t best = queue.label[r] < 0 ? 0 : std::size_t(queue.label[r]);
        double& squared = queue.own[r];
        for (int g = 0; g < G; ++g) {
            if (!(queue.need[r] >> g & 1)) continue;
            const std::size_t i = std::find(found[g].list, found[g].list + found[g].size, r) - found[g].list;
            const std::size_t end = std::min(in.centres.rows, (g + 1) * per_group);
            for (std::size_t k = g * per_group; k < end; ++k) {
                if (scores[k * QUEUE + i] < above) continue;
                const double other = apart<HOLES>(row, k);
                if (other < squared || (other == squared && k < best)) squared = other, best = k;
            }
        }
        return best;
    }

    // ---- rows ----------------------------------------------------------------------------------------------------

    // The groups in which a centre may be nearer than the own, which is not farther than `own`: a bit for each.
    unsigned possible(const float* bounds, const float* moved, float own) const {
        unsigned need = 0;
#if defined(__GNUC__) && defined(__SSE2__)
        if constexpr (G >= 4) {
            typedef float Four __attribute__((vector_size(16)));
            for (int g = 0; g < G; g += 4) {
                Four bound, way;
                std::memcpy(&bound, bounds + g, sizeof bound);
                std::memcpy(&way, moved + g, sizeof way);
                need |= unsigned(__builtin_ia32_movmskps(Four(~(bound * LESS - way > own)))) << g;
            }
            return need;
        }
#endif
        for (int g = 0; g < G; ++g) need |= unsigned(!(bounds[g] * LESS - moved[g] > own)) << g;
        return need;
    }

    // A distance in units, not below what the square says.
    float in_units(double squared) const { return std::sqrt(float(squared * in.unit * in.unit) * MORE + 1e-37f) * MORE; }

    // The bound to keep of a row at this distance from its centre, and what it says later, when the centre went farther.
    float upper(float distance, std::size_t k) const {
        return (distance - in.went[k]) + (distance + in.went[k]) * 0x1p-21f;
    }
    float farthest(std::size_t n, std::size_t k) const { return (out.own[n] + in.went[k]) * MORE; }

    // Copy a row with holes less the pivot, in units, to a queue; returns its squared norm.
    double copy_holed(const T* from, float* row) const {
        const std::size_t n_columns = in.values.cols;
        for (std::size_t d = 0; d < n_columns; ++d) {
            const bool seen = from[d] == from[d];
            row[d] = seen ? float((double(from[d]) - in.pivot[d]) * in.unit) : 0.0f;
            row[n_columns + d] = float(seen);
        }
        return squares(row, n_columns);
    }

    void run() {
        const std::size_t n_columns = in.values.cols, n_rows = in.values.rows;
        const bool filtered = in.centres.rows > 1 && 2 * n_columns < WIDEST && in.half[0][0] == in.half[0][0];
        for (std::size_t n = 0; !filtered && n < n_rows; ++n) compare_all(n, in.values[n]);
        if (!filtered) return;
        Queue complete{out.workspace.data, n_columns, in.half[0]};
        Queue partial{out.workspace.data + QUEUE * n_columns, 2 * n_columns, in.half[1]};
        std::size_t list[QUEUE + BLOCK + AHEAD] = {};
        int size = 0;
        for (std::size_t n = 0; n < n_rows; n += BLOCK) {
            size = unsure(n, std::min(n + BLOCK, n_rows), list, size);
            int first = 0;
            for (; first + QUEUE <= size; first += QUEUE) take(list + first, QUEUE, complete, partial);
            size = int(std::copy(list + first, list + size, list) - list);
        }
        take(list, size, complete, partial);
        flush<true>(partial);
    }

    void compare_all(std::size_t n, const T* row) {
        const double any = distance(row, in.centres[0]);
        out.own[n] = INFINITE;
        any != any ? join_nearest<true>(n, row) : join_nearest<false>(n, row);
    }

    // Ask for a row that will be read soon.
    void ask(std::size_t n) const {
#if defined(__GNUC__) || defined(__clang__)
        for (std::size_t d = 0; d < in.values.cols; d += 64 / sizeof(T)) __builtin_prefetch(in.values[n] + d);
#endif
    }

    // Append the rows that may change their centre to a list, and ask for the first of them.
    int unsure(std::size_t first, std::size_t end, std::size_t* list, int size) const {
        for (std::size_t n = first; n < end; ++n) {
            const std::int32_t k = out.labels[n];
            const std::size_t own = k < 0 ? 0 : std::size_t(k);
            list[size] = n;
            size += (k < 0) | in.fresh | (possible(out.bounds[n], in.moved[own], farthest(n, own)) != 0);
        }
        for (int i = 0; i < std::min(size, AHEAD); ++i) ask(list[i]);
        return size;
    }

    // Measure the own distances of some rows, which may be enough for them to stay, and find the others' centres.
    void take(const std::size_t* list, int size, Queue& queue, Queue& partial) {
        double norm[QUEUE];
        float own[QUEUE];
        for (int r = 0; r < size; ++r) {
            const std::int32_t label = out.labels[list[r]];
            ask(list[r + AHEAD]);
            const auto found = measure<true>(in.values[list[r]], in.centres[label < 0 ? 0 : label],
                                             queue.rows + r * queue.n_columns);
            queue.at[r] = list[r];
            queue.label[r] = float(label);
            queue.own[r] = found.squared;
            norm[r] = found.norm;
        }
        for (int r = 0; r < size; ++r) queue.norm[r] = float(norm[r]), own[r] = in_units(queue.own[r]);
        for (int r = 0; r < size; ++r) {
            const std::size_t n = list[r], k = queue.label[r] < 0 ? 0 : std::size_t(queue.label[r]);
            queue.need[r] = possible(out.bounds[n], in.moved[k], own[r]);
            out.own[n] = upper(own[r], k);
            if (queue.label[r] < 0) queue.own[r] = std::numeric_limits<double>::infinity(), queue.need[r] = ~0u;
            if (!(norm[r] < BEYOND)) {
                queue.need[r] = 0, queue.label[r] = 0;
                norm[r] != norm[r] ? take_holed(n, in.values[n], partial) : compare_all(n, in.values[n]);
            } else if (in.fresh && queue.need[r] == 0) {
                join<false>(n, in.values[n], k, queue.own[r]);
            }
        }
        queue.size = size;
        flush<false>(queue);
    }

    void take_holed(std::size_t n, const T* row, Queue& queue) {
        const std::int32_t k = out.labels[n];
        const double squared = k < 0 ? std::numeric_limits<double>::infinity() : holed_distance(row, in.centres[k]);
        const unsigned need = k < 0 ? ~0u : possible(out.bounds[n], in.moved[k], in_units(squared));
        out.own[n] = INFINITE;  // it is read in every sweep
        if (need == 0) return join<true>(n, row, std::size_t(k), squared);
        const double norm = copy_holed(row, queue.rows + queue.size * queue.n_columns);
        if (!(norm < BEYOND)) return join_nearest<true>(n, row);
        queue.at[queue.size] = n;
        queue.norm[queue.size] = float(norm);
        queue.label[queue.size] = float(k);
        queue.own[queue.size] = squared;
        queue.need[queue.size] = need;
        if (++queue.size == QUEUE) flush<true>(queue);
    }
};

template <class T, int G>
void sweep(const Lloyd<T>& in, const LloydSums& out) {
    Sweep<T, G> one{in, out};
    one.run();
    out.totals[0] += one.gained;
    out.totals[1] += one.inertia;
    out.totals[2] += double(one.changed);
}

template <class T>
void sweep(const Lloyd<T>& in, const LloydSums& out) {
    switch (out.bounds.cols) {
        case 1: return sweep<T, 1>(in, out);
        case 2: return sweep<T, 2>(in, out);
        case 4: return sweep<T, 4>(in, out);
        default: return sweep<T, 8>(in, out);
    }
}

}  // namespace

void lloyd(const Lloyd<double>& in, const LloydSums& out) { sweep(in, out); }
void lloyd(const Lloyd<float>& in, const LloydSums& out) { sweep(in, out); }

}  // namespace halfseen::HALFSEEN_ISA
