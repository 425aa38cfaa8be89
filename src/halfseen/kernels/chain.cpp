// Forward and backward through chains of hidden states, scaled; states in vector lanes, four sequences side by side.
//
// Compiled once per instruction set (HALFSEEN_ISA names it); `chain_dispatch.cpp` picks one at run time.
// Probabilities are brought back to one every few steps only: the division would be in the way of the next step.
// Sequences up to STORE steps keep their forward values; of longer ones every BLOCK-th is kept, and the others are
// computed again, block by block, on the way back.
//
// Shares too small for a float are cut to zero, though the rest of the sequence may favour their states again. Where
// all states lead to all others (`mixes`) that changes nothing. Elsewhere forward values are computed twice, the second
// time from above: what would be cut is raised to FLOOR. The truth lies between the two; where they differ the sequence
// is left to the kernel in logs.
#include <algorithm>
#include <cmath>
#include <vector>

#ifndef HALFSEEN_ISA
#define HALFSEEN_ISA baseline
#endif

#include "chain.hpp"
#include "chain_columns.hpp"
#include "lanes.hpp"

namespace halfseen {
namespace HALFSEEN_ISA {

namespace {

constexpr std::size_t STORE = 4096;  // steps whose forward values are kept
constexpr std::size_t BLOCK = 256;   // steps between forward values kept of longer sequences: with 16 states 32 KB
constexpr std::size_t SIDE = 4;      // sequences side by side: enough to hide the latency of a step
constexpr std::size_t RING = 8;      // steps whose transitions are added at a time: sums stay in registers
constexpr std::size_t LINE = 8;      // doubles of a cache line: a register that lies in two lines is read twice
constexpr double GONE = 1e-280;      // a state this improbable has probability zero: its reciprocal must not overflow
constexpr double FLOOR = 1e-200;     // or, from above, this one: FLOOR LEAST, into the next state, is a float still

inline std::size_t padded(std::size_t n) {
    const std::size_t unit = n > 4 * WIDTH ? 4 * WIDTH : WIDTH;
    return (n + unit - 1) / unit * unit;
}

inline std::size_t held(std::size_t length) { return length > STORE ? BLOCK : length; }

// The matrices of a call, padded.
struct Chain {
    std::size_t width;
    std::size_t every;               // steps between scalings: a power of two
    double* start;                   // (W,)
    bool mixes;                      // whether shares may be cut without harm
    bool lifted;                     // whether some transitions are larger in `above`
    double* trans;                   // (W, W), tile by tile
    double* above;                   // (W, W) the same, from above: LEAST at least where possible
    double* turned;                  // (W, W) transposed, tile by tile
    double* pairs;                   // (W, W) sum of filtered[t-1, i] u[t, j]
    double* values;                  // (held, SIDE, W) forward values
    double* ring;                    // (RING, SIDE, W) u of a few steps

    bool rescales(std::size_t t) const { return ((t + 1) & (every - 1)) == 0; }
};

// Registers of a row that are done at a time, for all lanes: their sums, and what is added, must fit into the registers
// there are, 32 of 8 doubles or 16 of fewer.
template <int V>
constexpr int TILE = WIDTH < 8 && V == 4 ? 2 : V;

// Rows of a matrix are stored tile by tile, so that the next row is a fixed distance away: where entry [i, j] stands.
inline std::size_t place(std::size_t i, std::size_t j, std::size_t width, std::size_t tile) {
    return j / tile * tile * width + i * tile + j % tile;
}

// acc[l] = sum_i x[l][i] matrix[i], for G tiles of S registers. Sums are split so that additions do not wait for each
// other.
template <int S, int G, int B>
inline void product(const double* const (&x)[B], const double* matrix, std::size_t width, Lanes (&acc)[B][G * S]) {
    constexpr int WANTED = 8 / (B * G * S), SPLIT = WANTED < 1 ? 1 : (WANTED > WIDTH ? WIDTH : WANTED);
    Lanes part[SPLIT][B][G * S];
    for (int s = 0; s < SPLIT; ++s)
        for (int l = 0; l < B; ++l)
            for (int v = 0; v < G * S; ++v) part[s][l][v] = all(0.0);
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC unroll 4
#endif
    for (std::size_t i = 0; i < width; i += SPLIT) {
        for (int s = 0; s < SPLIT; ++s) {
            Lanes row[G * S];
            for (int v = 0; v < G * S; ++v)
                row[v] = load(matrix + v / S * S * WIDTH * width + ((i + s) * S + v % S) * WIDTH);
            for (int l = 0; l < B; ++l) {
                const Lanes factor = all(x[l][i + s]);
                for (int v = 0; v < G * S; ++v) part[s][l][v] += factor * row[v];
            }
        }
    }
    for (int l = 0; l < B; ++l)
        for (int v = 0; v < G * S; ++v) {
            Lanes total = part[0][l][v];
            for (int s = 1; s < SPLIT; ++s) total += part[s][l][v];
            acc[l][v] = total;
        }
}

inline double row_sum(const double* row, std::size_t width) {
    Lanes total = load(row);
    for (std::size_t k = WIDTH; k < width; k += WIDTH) total += load(row + k);
    return sum(total);
}

inline void scale_row(double* row, double factor, std::size_t width) {
    for (std::size_t k = 0; k < width; k += WIDTH) store(row + k, load(row + k) * all(factor));
}

inline void rescale(Lane& lane, std::size_t t) {
    double* row = lane.row(t);
    const std::size_t width = lane.width;
    const double total = row_sum(row, width);
    const double inverse = total >= LEAST ? 1 / total : 1.0;
    scale_row(row, inverse, width);
    lane.inverse[t - lane.base] = inverse;
    lane.take(total);
}

// Forward through steps [from, to) of B lanes, G tiles of S registers at a time. LOOK: emissions are rows of the table.
// Above: a bound from above; returns whether something was raised. Pointers are copied first: a store might change what a
// reference refers to.
template <int S, int G, int B, bool LOOK>
bool forward(const Chain chain, Lane* const* lanes, std::size_t from, std::size_t to, bool above) {
    const std::size_t width = chain.width, stride = lanes[0]->stride;
    const double *past[B], *emit[B], *table = lanes[0]->table;
    const std::uint16_t* cells[B];
    double* own[B];
    for (int l = 0; l < B; ++l) {
        own[l] = lanes[l]->row(from);
        cells[l] = lanes[l]->cells;
        emit[l] = lanes[l]->emission_row(from);
    }
    Lanes lift = all(0.0);
    const auto put_share = [&](int l, std::size_t k, Lanes prior) {
        const Lanes e = load(emit[l] + k), joint = prior * e;
        if (above) {
            const Lanes share = raised(joint, FLOOR, (all(0.0) < prior) & (all(0.0) < e));
            lift = larger(lift, share - joint);
            store(own[l] + k, share);
        } else {
            store(own[l] + k, choose(joint < all(GONE), all(0.0), joint));
        }
    };
    const double* const trans = above ? chain.above : chain.trans;
    std::size_t t = from;
    const auto look = [&]() {
        for (int l = 0; LOOK && l < B; ++l) emit[l] = table + cells[l][t] * width;
    };
    const auto next = [&]() {
        ++t;
        for (int l = 0; l < B; ++l) {
            own[l] += stride;
            emit[l] += width;
        }
    };
    if (t == 0) {
        look();
        for (int l = 0; l < B; ++l) {
            for (std::size_t k = 0; k < width; k += WIDTH) put_share(l, k, load(chain.start + k));
            if (chain.every == 1) rescale(*lanes[l], 0);
        }
        next();
    }
    for (; t < to; next()) {
        look();
        for (int l = 0; l < B; ++l) past[l] = own[l] - stride;
        for (std::size_t first = 0; first < width; first += G * S * WIDTH) {
            Lanes acc[B][G * S];
            product<S, G, B>(past, trans + first * width, width, acc);
            for (int l = 0; l < B; ++l)
                for (int v = 0; v < G * S; ++v) put_share(l, first + v * WIDTH, acc[l][v]);
        }
        if (chain.rescales(t))
            for (int l = 0; l < B; ++l) rescale(*lanes[l], t);
    }
    return largest(lift) > 0;
}

// pairs[i, j] += sum_r past[r, i] u[r, j] for n rows r, I values of i and one tile of j: these sums stay in registers.
template <int S, int I>
inline void add_tile(const double* past, std::size_t stride, const double* u, std::size_t n, double* pairs,
                     std::size_t width) {
    constexpr int SPLIT = I * S < 8 ? 8 / (I * S) : 1;
    Lanes part[SPLIT][I][S];
    for (int s = 0; s < SPLIT; ++s)
        for (int i = 0; i < I; ++i)
            for (int v = 0; v < S; ++v) part[s][i][v] = s == 0 ? load(pairs + i * width + v * WIDTH) : all(0.0);
    const auto add = [&](int s) {
        Lanes use[S];
        for (int v = 0; v < S; ++v) use[v] = load(u + v * WIDTH);
        for (int i = 0; i < I; ++i) {
            const Lanes factor = all(past[i]);
            for (int v = 0; v < S; ++v) part[s][i][v] += factor * use[v];
        }
        past += stride;
        u += width;
    };
    std::size_t r = 0;
    for (; r + SPLIT <= n; r += SPLIT)
        for (int s = 0; s < SPLIT; ++s) add(s);
    for (; r < n; ++r) add(0);
    for (int i = 0; i < I; ++i)
        for (int v = 0; v < S; ++v) {
            Lanes total = part[0][i][v];
            for (int s = 1; s < SPLIT; ++s) total += part[s][i][v];
            store(pairs + i * width + v * WIDTH, total);
        }
}

// pairs += past' u, for n rows; those of `past` are `stride` apart.
template <int S>
void add_pairs(const Chain chain, const double* past, std::size_t stride, const double* u, std::size_t n) {
    constexpr int I = WIDTH < 4 ? WIDTH : 4;
    const std::size_t width = chain.width;
    for (std::size_t first = 0; first < width; first += S * WIDTH)
        for (std::size_t i = 0; i < width; i += I)
            add_tile<S, I>(past + i, stride, u + first, n, chain.pairs + i * width + first, width);
}

// ahead[i] = sum_j trans[i, j] u[j] of B lanes, whose u lie one after the other, register by register to `take`.
template <int S, int G, int B, class Take>
inline void step_back(const Chain chain, const double* u, const Take take) {
    const std::size_t width = chain.width;
    const double* used[B];
    for (int l = 0; l < B; ++l) used[l] = u + l * width;
    for (std::size_t first = 0; first < width; first += G * S * WIDTH) {
        Lanes acc[B][G * S];
        product<S, G, B>(used, chain.turned + first * width, width, acc);
        for (int l = 0; l < B; ++l)
            for (int v = 0; v < G * S; ++v) take(l, first + v * WIDTH, acc[l][v]);
    }
}

// Backward through steps [from, to) of B lanes, from `ahead` to `ahead`: usage[t] = filtered[t] ahead[t], added to
// where it belongs, and u[t] = emit[t] ahead[t] / scale[t], which the step before needs. Ahead counts as zero where the
// state is impossible. Transitions are added RING steps at a time.
template <int S, int G, int B, bool LOOK>
void backward(const Chain chain, Lane* const* lanes, std::size_t from, std::size_t to, const Sink sink) {
    const std::size_t width = chain.width, stride = lanes[0]->stride, base = lanes[0]->base;
    const double *row = lanes[0]->row(to), *table = lanes[0]->table, *inverse[B];
    const std::uint16_t* cells[B];
    double *emit[B], *ahead[B], *own = nullptr;
    std::size_t cell[B];
    for (int l = 0; l < B; ++l) {
        cells[l] = lanes[l]->cells;
        ahead[l] = lanes[l]->ahead;
        inverse[l] = lanes[l]->inverse;
        emit[l] = lanes[l]->emission_row(to);
    }
    std::size_t t = to;
    const auto go = [&](double* u) {
        own = u;
        row -= stride;
        --t;
        for (int l = 0; l < B; ++l) {
            if (LOOK) cell[l] = cells[l][t] * width;
            if (!LOOK) emit[l] -= width;
        }
    };
    const auto take = [&](int l, std::size_t k, Lanes value) {
        const Lanes p = load(row + l * width + k), b = only(all(0.0) < p, value);
        const Lanes e = load((LOOK ? table + cell[l] : emit[l]) + k);
        if constexpr (LOOK) {
            double* to = sink.table + cell[l] + k;
            store(to, load(to) + p * b);
        } else {
            put(*lanes[l], t, k, p * b, sink);
        }
        store(own + l * width + k, e * b);
    };
    const auto take_ahead = [&]() {
        for (int l = 0; l < B; ++l)
            for (std::size_t k = 0; k < width; k += WIDTH) take(l, k, load(ahead[l] + k));
    };
    const std::size_t least = from > 0 ? from : 1;
    const double* after = nullptr;
    for (std::size_t end = to; end > least; end = t) {
        const std::size_t begin = end > least + RING ? end - RING : least;
        double* const ring = chain.ring + (RING - (end - begin)) * B * width;
        while (t > begin) {
            go(ring + (t - 1 - begin) * B * width);
            if (after != nullptr) {
                step_back<S, G, B>(chain, after, take);
            } else {
                take_ahead();
            }
            if (chain.rescales(t))
                for (int l = 0; l < B; ++l) scale_row(own + l * width, inverse[l][t - base], width);
            after = own;
        }
        add_pairs<S>(chain, row - stride, B > 1 ? width : stride, ring, (end - begin) * B);
    }
    if (after != nullptr)
        step_back<S, G, B>(chain, after, [&](int l, std::size_t k, Lanes value) { store(ahead[l] + k, value); });
    if (t > from) {
        go(chain.ring);
        take_ahead();
        for (int l = 0; l < B; ++l)
            for (std::size_t k = 0; k < width; k += WIDTH) {
                const Lanes p = load(row + l * width + k);
                store(sink.start + k, load(sink.start + k) + p * only(all(0.0) < p, load(ahead[l] + k)));
            }
    }
}

// The sweeps for rows of some width, in one direction and the other, by the number of lanes less one. Who calls them is
// compiled once.
struct Sweeps {
    bool look;          // whether emissions are rows of the table
    std::size_t tile;   // states of a tile
    bool (*forward[SIDE])(const Chain, Lane* const*, std::size_t, std::size_t, bool);
    void (*backward[SIDE])(const Chain, Lane* const*, std::size_t, std::size_t, const Sink);
    void (*add_moments)(const Lane, std::size_t, std::size_t, const Sink);
};

// Of one lane alone the whole row is done at a time, or there are too few sums.
template <int V, bool LOOK>
constexpr Sweeps SWEEPS{
    LOOK,
    TILE<V> * WIDTH,
    {forward<TILE<V>, V / TILE<V>, 1, LOOK>, forward<TILE<V>, 1, 2, LOOK>, forward<TILE<V>, 1, 3, LOOK>,
     forward<TILE<V>, 1, 4, LOOK>},
    {backward<TILE<V>, V / TILE<V>, 1, LOOK>, backward<TILE<V>, 1, 2, LOOK>, backward<TILE<V>, 1, 3, LOOK>,
     backward<TILE<V>, 1, 4, LOOK>},
    add_moments<TILE<V>>};

const Sweeps& sweeps_of(std::size_t width, bool look) {
    const std::size_t registers = width / WIDTH;
    if (registers % 4 == 0) return look ? SWEEPS<4, true> : SWEEPS<4, false>;
    if (registers % 3 == 0) return look ? SWEEPS<3, true> : SWEEPS<3, false>;
    if (registers % 2 == 0) return look ? SWEEPS<2, true> : SWEEPS<2, false>;
    return look ? SWEEPS<1, true> : SWEEPS<1, false>;
}

// Close the forward pass: what is left of the scale, and the first value of the way back.
void close(Lane& lane) {
    const double total = row_sum(lane.row(lane.length - 1), lane.width);
    lane.take(total);
    for (std::size_t k = 0; k < lane.width; k += WIDTH)
        store(lane.ahead + k, all(total >= LEAST ? lane.weight / total : 0.0));
}

double log_evidence_of(Lane& lane) {
    const double found = lane.logs + lane.scale.log();
    lane.kept = lane.kept && found - found == 0;
    return lane.kept ? found : NAN_;
}

// Forward through n whole sequences by `sweep(above)`, which closes them and returns whether something was raised. If
// nothing was, the bound is the truth; else forward values are those from below, if both bounds agree.
template <class Sweep>
void enclose(const Chain chain, Lane* lanes, std::size_t n, const Sweep sweep) {
    if (chain.mixes) {
        sweep(false);
        return;
    }
    if (!sweep(true) && !chain.lifted) return;
    Scale bounds[SIDE];
    for (std::size_t l = 0; l < n; ++l) {
        bounds[l] = lanes[l].scale;
        lanes[l].scale = Scale{};
    }
    sweep(false);
    for (std::size_t l = 0; l < n; ++l) lanes[l].kept = lanes[l].kept && lanes[l].scale.agrees(bounds[l]);
}

inline std::size_t whole_lines(std::size_t n) { return (n + LINE - 1) / LINE * LINE; }

// Scratch, handed out in whole cache lines.
struct Room {
    double* next;
    explicit Room(Span<double> work) {
        const std::size_t past = reinterpret_cast<std::uintptr_t>(work.data) / sizeof(double) % LINE;
        next = work.data + (past ? LINE - past : 0);
    }
    double* take(std::size_t n) {
        double* from = next;
        next += whole_lines(n);
        return from;
    }
};

// A block of a long sequence as the second block of a shorter one, with scratch of its own but for what lies ahead.
// Scalings fall on the same steps as in the whole.
Lane block_of(const Lane& whole, std::size_t block, const Lane& scratch) {
    const std::size_t skipped = (block - 1) * BLOCK;
    Lane lane = whole;
    lane.emit = scratch.emit;
    lane.inverse = scratch.inverse;
    lane.base = BLOCK;
    lane.first += skipped;
    lane.cells += lane.cells != nullptr ? skipped : 0;
    lane.scores += lane.scores != nullptr ? skipped * lane.n_states : 0;
    return lane;
}

// Forward values of SIDE blocks of a long sequence side by side, which need not wait for each other, and back.
void back_blocks(const Sweeps& sweeps, const Chain chain, const Lane& whole, const Lane* scratch, std::size_t first, const Sink sink,
                 const double* marks) {
    const std::size_t width = chain.width;
    Lane lanes[SIDE], *side[SIDE];
    for (std::size_t l = 0; l < SIDE; ++l) {
        lanes[l] = block_of(whole, first + l, scratch[l]);
        lanes[l].filtered = chain.values + l * width;
        lanes[l].stride = SIDE * width;
        const double* mark = marks + (first + l) * width;
        std::copy(mark, mark + width, lanes[l].filtered - lanes[l].stride);
        if (!sweeps.look) fill_emissions(lanes[l], BLOCK, 2 * BLOCK);
        side[l] = lanes + l;
    }
    sweeps.forward[SIDE - 1](chain, side, BLOCK, 2 * BLOCK, false);
    for (std::size_t l = SIDE; l-- > 0;) {
        Lane* const one[1] = {lanes + l};
        sweeps.backward[0](chain, one, BLOCK, 2 * BLOCK, sink);
        sweeps.add_moments(lanes[l], BLOCK, 2 * BLOCK, sink);
    }
}

// A long sequence on its own, the first of `lanes`: every BLOCK-th forward value is kept.
double run_long(const Sweeps& sweeps, const Chain chain, Lane* lanes, const Sink sink, double* marks) {
    Lane lane = lanes[0];
    const std::size_t width = chain.width, n_blocks = (lane.length + BLOCK - 1) / BLOCK;
    Lane* const one[1] = {&lane};
    lane.filtered = chain.values;
    lane.stride = width;
    double logs;
    const auto go = [&](std::size_t block, bool above) {
        const std::size_t from = block * BLOCK, to = std::min(from + BLOCK, lane.length);
        lane.base = from;
        if (block > 0) std::copy(marks + block * width, marks + (block + 1) * width, lane.filtered - width);
        if (!sweeps.look) logs += fill_emissions(lane, from, to);
        return sweeps.forward[0](chain, one, from, to, above);
    };
    enclose(chain, &lane, 1, [&](bool above) {
        bool lifted = false;
        logs = 0;
        for (std::size_t block = 0; block < n_blocks && lane.kept; ++block) {
            lifted |= go(block, above);
            const double* last = lane.row(std::min((block + 1) * BLOCK, lane.length) - 1);
            std::copy(last, last + width, marks + (block + 1) * width);
        }
        lane.logs = logs;
        if (lane.kept) close(lane);
        return lifted;
    });
    const double found = log_evidence_of(lane);
    if (!lane.kept) return NAN_;
    for (std::size_t block = n_blocks; block > 0;) {
        if (block > SIDE && block < n_blocks) {
            block -= SIDE;
            back_blocks(sweeps, chain, lane, lanes, block, sink, marks);
            continue;
        }
        if (block-- < n_blocks) go(block, false);
        const std::size_t from = block * BLOCK, to = std::min(from + BLOCK, lane.length);
        sweeps.backward[0](chain, one, from, to, sink);
        sweeps.add_moments(lane, from, to, sink);
    }
    return found;
}

// Up to SIDE short sequences together.
void run_side(const Sweeps& sweeps, const Chain chain, Lane* lanes, std::size_t n, const Sink sink,
              double* log_evidence) {
    Lane* side[SIDE];
    std::size_t common = lanes[0].length;
    for (std::size_t l = 0; l < n; ++l) {
        Lane& lane = lanes[l];
        side[l] = &lane;
        common = std::min(common, lane.length);
        lane.filtered = chain.values + l * chain.width;
        lane.stride = n * chain.width;
        if (!sweeps.look) lane.logs += fill_emissions(lane, 0, lane.length);
    }
    enclose(chain, lanes, n, [&](bool above) {
        bool lifted = sweeps.forward[n - 1](chain, side, 0, common, above);
        for (std::size_t l = 0; l < n; ++l) {
            Lane* const one[1] = {lanes + l};
            lifted |= sweeps.forward[0](chain, one, common, lanes[l].length, above);
            close(lanes[l]);
        }
        return lifted;
    });
    bool all_kept = true;
    for (std::size_t l = 0; l < n; ++l) {
        log_evidence[l] = log_evidence_of(lanes[l]);
        all_kept &= lanes[l].kept;
    }
    if (!all_kept) common = 0;  // a lane that lost digits must not add anything
    for (std::size_t l = 0; l < n; ++l) {
        Lane* const one[1] = {lanes + l};
        if (lanes[l].kept) sweeps.backward[0](chain, one, common, lanes[l].length, sink);
    }
    sweeps.backward[n - 1](chain, side, 0, common, sink);
    for (std::size_t l = 0; l < n; ++l)
        if (lanes[l].kept) sweeps.add_moments(lanes[l], 0, lanes[l].length, sink);
}

struct Source {
    Matrix<double> scores;           // or, where these are not null:
    const ChainSteps* steps;
    const ChainEmissions* model;

    // Whether there is one group of categories and nothing else: emissions are rows of the table.
    bool looks_up() const {
        return steps != nullptr && steps->cells.cols == 1 && model->mean.rows + model->rate.rows == 0;
    }
};

// Lay out scratch for one lane.
Lane make_lane(Room& room, std::size_t steps, std::size_t width) {
    Lane lane{};
    lane.width = width;
    lane.emit = room.take(steps * width);
    lane.inverse = room.take(steps);
    lane.ahead = room.take(width);
    return lane;
}

// Whether there are numbers, and none is missing.
bool is_whole(Matrix<const double> values, std::size_t first, std::size_t length) {
    if (values.cols == 0) return false;
    const double* from = values[first];
    double gone = 0;  // x - x is 0, or NaN: which stays
    for (std::size_t i = 0; i < length * values.cols; ++i) gone += from[i] - from[i];
    return gone == gone;
}

void begin(Lane& lane, const Chain& chain, const Source source, std::size_t first, std::size_t length, double weight) {
    lane.careful = !chain.mixes;
    lane.length = length;
    lane.base = 0;
    lane.weight = weight;
    lane.logs = 0;
    lane.scale = Scale{};
    lane.kept = true;
    lane.first = first;
    lane.steps = source.steps;
    lane.model = source.model;
    if (source.steps != nullptr) {
        lane.scores = nullptr;
        lane.numeric = source.model->mean.rows + source.model->rate.rows > 0;
        lane.whole = is_whole(source.steps->values, first, length);
        lane.table = source.model->table.data;
        lane.cells = source.steps->cells[first];
        lane.n_states = lane.width;
    } else {
        lane.scores = source.scores[first];
        lane.numeric = lane.whole = false;
        lane.n_states = source.scores.cols;
    }
}

std::size_t longest_held(Span<const std::int64_t> lengths) {
    std::size_t most = 1;
    for (std::size_t b = 0; b < lengths.size; ++b) most = std::max(most, held(lengths[b]));
    return most;
}

std::size_t longest(Span<const std::int64_t> lengths) {
    std::size_t most = 1;
    for (std::size_t b = 0; b < lengths.size; ++b) most = std::max<std::size_t>(most, lengths[b]);
    return most;
}

// Whether states that can be entered can be entered from everywhere, and not by chances below LEAST. Then cuts do no
// harm: a share that is cut is at most GONE / LEAST of the whole, and where it would have led, a state with at least one
// K-th of the whole leads too, by a factor of LEAST or more. Of all that follows, whatever it is, the cut share has
// at most K GONE / LEAST^2 = K 1e-80.
bool mixes(Span<const double> start, Matrix<const double> trans) {
    const std::size_t n = start.size;
    std::vector<char> entered(n, 0);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) entered[j] |= !(trans[i][j] <= 0);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
            if ((entered[i] || start[i] > 0) && entered[j] && !(trans[i][j] >= LEAST)) return false;
    return true;
}

Chain make_chain(Room& room, Span<const double> start, Matrix<const double> trans, std::size_t width,
                 std::size_t steps, std::size_t tile) {
    Chain chain{};
    chain.width = width;
    chain.mixes = mixes(start, trans);
    chain.start = room.take(width);
    chain.trans = room.take(width * width);
    chain.above = room.take(width * width);
    chain.turned = room.take(width * width);
    chain.pairs = room.take(width * width);
    for (double* matrix : {chain.trans, chain.above, chain.turned, chain.pairs})
        std::fill(matrix, matrix + width * width, 0.0);
    std::fill(chain.start, chain.start + width, 0.0);
    for (std::size_t i = 0; i < start.size; ++i) {
        chain.start[i] = start[i];
        for (std::size_t j = 0; j < start.size; ++j) {
            const bool low = trans[i][j] > 0 && trans[i][j] < LEAST;
            chain.lifted |= low;
            chain.trans[place(i, j, width, tile)] = trans[i][j];
            chain.above[place(i, j, width, tile)] = low ? LEAST : trans[i][j];
            chain.turned[place(j, i, width, tile)] = trans[i][j];
        }
    }
    chain.ring = room.take(RING * SIDE * width);
    chain.values = room.take((steps + 1) * SIDE * width) + SIDE * width;
    return chain;
}

void run(Span<const double> start, Matrix<const double> trans, std::size_t width, Span<const std::int64_t> lengths,
         Span<const double> outer, const Source source, Span<double> work, Span<double> start_usage,
         Matrix<double> trans_usage, const ChainSums* sums, Span<double> log_evidence) {
    Room room(work);
    const std::size_t steps = longest_held(lengths);
    const Sweeps& sweeps = sweeps_of(width, source.looks_up());
    Chain chain = make_chain(room, start, trans, width, steps, sweeps.tile);
    const std::size_t groups = source.steps != nullptr ? source.steps->cells.cols : 1;
    chain.every = groups > 4 ? 1 : groups > 1 ? 2 : 8;
    double* marks = room.take((longest(lengths) / BLOCK + 2) * width);
    double* used_starts = room.take(width);
    std::fill(used_starts, used_starts + width, 0.0);
    const Sink sink{sums, sums == nullptr ? nullptr : sums->table.data, used_starts};
    Lane lanes[SIDE];
    for (auto& lane : lanes) lane = make_lane(room, steps, width);
    std::size_t waiting = 0, places[SIDE], first = 0;
    double found[SIDE];
    const auto flush = [&]() {
        run_side(sweeps, chain, lanes, waiting, sink, found);
        for (std::size_t l = 0; l < waiting; ++l) log_evidence[places[l]] = found[l];
        waiting = 0;
    };
    for (std::size_t b = 0; b < lengths.size; ++b) {
        const std::size_t length = lengths[b];
        if (length > STORE && waiting) flush();
        begin(lanes[waiting], chain, source, first, length, outer[b]);
        places[waiting++] = b;
        if (length > STORE) {
            log_evidence[b] = run_long(sweeps, chain, lanes, sink, marks);
            waiting = 0;
        } else if (waiting == SIDE) {
            flush();
        }
        first += length;
    }
    if (waiting) flush();
    for (std::size_t i = 0; i < start.size; ++i) {
        start_usage[i] += used_starts[i];
        for (std::size_t j = 0; j < start.size; ++j)
            trans_usage[i][j] += trans[i][j] * chain.pairs[i * width + j];
    }
}

// Whether both bounds agree at each of n steps; `apart` is the one from above in terms of the other so far.
bool agree(const Lane& lane, const Lane& above, std::size_t n, double& apart) {
    bool same = true;
    for (std::size_t t = 0; t < n; ++t) {
        apart *= lane.inverse[t] / above.inverse[t];
        same &= std::fabs(apart - 1) <= SAME;
    }
    return same;
}

// The best state before each of V registers of states: strictly better only, so that the lowest index wins.
template <int V>
inline void best_before(const double* best, const double* log_trans, std::size_t n, std::size_t width, Lanes (&top)[V],
                        Lanes (&from)[V]) {
    for (int v = 0; v < V; ++v) {
        top[v] = all(best[0]) + load(log_trans + v * WIDTH);
        from[v] = all(0.0);
    }
    for (std::size_t i = 1; i < n; ++i) {
        const Lanes value = all(best[i]), index = all(double(i));
        for (int v = 0; v < V; ++v) {
            const Lanes way = value + load(log_trans + i * width + v * WIDTH);
            const Bits better = top[v] < way;
            top[v] = choose(better, way, top[v]);
            from[v] = choose(better, index, from[v]);
        }
    }
}

}  // namespace

std::size_t chain_room(Span<const std::int64_t> lengths, std::size_t n_states) {
    const std::size_t width = padded(n_states);
    const std::size_t steps = longest_held(lengths);
    const std::size_t chain = 2 * whole_lines(width) + 4 * whole_lines(width * width);
    const std::size_t values = whole_lines((steps + 1) * SIDE * width) + whole_lines(RING * SIDE * width);
    const std::size_t marks = whole_lines((longest(lengths) / BLOCK + 2) * width);
    const std::size_t lane = whole_lines(steps * width) + whole_lines(steps) + whole_lines(width);
    return LINE + chain + values + marks + SIDE * lane;
}

void chain_soft(Span<const double> start, Matrix<const double> trans, Span<const std::int64_t> lengths,
                Span<const double> outer, Matrix<double> scores, Span<double> work, Span<double> start_usage,
                Matrix<double> trans_usage, Span<double> log_evidence) {
    const std::size_t width = padded(start.size);
    const Source source{scores, nullptr, nullptr};
    run(start, trans, width, lengths, outer, source, work, start_usage, trans_usage, nullptr, log_evidence);
}

void chain_fused(Span<const double> start, Matrix<const double> trans, const ChainEmissions& model,
                 Span<const std::int64_t> lengths, Span<const double> outer, const ChainSteps& steps,
                 Span<double> work, Span<double> start_usage, Matrix<double> trans_usage, const ChainSums& sums,
                 Span<double> log_evidence) {
    const Source source{{}, &steps, &model};
    run(start, trans, start.size, lengths, outer, source, work, start_usage, trans_usage, &sums, log_evidence);
}

void chain_filter(Span<const double> start, Matrix<const double> trans, Span<const std::int64_t> lengths,
                  Matrix<double> scores, Span<double> work, Span<double> log_evidence) {
    const std::size_t width = padded(start.size);
    Room room(work);
    const std::size_t steps = longest_held(lengths);
    const Sweeps& sweeps = sweeps_of(width, false);
    Chain chain = make_chain(room, start, trans, width, steps, sweeps.tile);
    chain.every = 1;
    const Source source{scores, nullptr, nullptr};
    std::size_t first = 0;
    Lane lane = make_lane(room, steps, width), bound = make_lane(room, steps, width);
    lane.filtered = chain.values;
    bound.filtered = chain.values + (steps + 1) * width;
    bound.emit = lane.emit;
    lane.stride = bound.stride = width;
    const auto go = [&](Lane& on, std::size_t from, std::size_t to, bool above) {
        Lane* const one[1] = {&on};
        on.base = from;
        sweeps.forward[0](chain, one, from, to, above);
        std::copy(on.row(to - 1), on.row(to - 1) + width, on.filtered - width);
    };
    for (std::size_t b = 0; b < lengths.size; ++b) {
        const std::size_t length = lengths[b], size = std::min(length, BLOCK);
        double apart = 1;
        for (int writing = 0; writing < 2; ++writing) {  // first see whether all goes well, then overwrite
            begin(lane, chain, source, first, length, 1.0);
            begin(bound, chain, source, first, length, 1.0);
            for (std::size_t from = 0; from < length && lane.kept; from += size) {
                const std::size_t to = std::min(from + size, length);
                lane.base = from;
                lane.logs += fill_emissions(lane, from, to);
                go(lane, from, to, false);
                if (!chain.mixes && !writing) {
                    go(bound, from, to, true);
                    lane.kept = lane.kept && agree(lane, bound, to - from, apart);
                }
                if (writing)
                    for (std::size_t t = from; t < to; ++t)
                        std::copy(lane.row(t), lane.row(t) + start.size, scores[first + t]);
            }
            log_evidence[b] = log_evidence_of(lane);
            if (!lane.kept) break;
        }
        first += length;
    }
}

void chain_best(Span<const double> start, Matrix<const double> trans, std::size_t length, double* scores,
                std::int32_t* back) {
    // scores[t, j] += max_i scores[t - 1, i] + log_trans[i, j], register by register.
    const std::size_t n = start.size;
    const std::size_t whole = n / WIDTH * WIDTH;
    for (std::size_t j = 0; j < n; ++j) scores[j] += start[j];
    for (std::size_t t = 1; t < length; ++t) {
        const double* best = scores + (t - 1) * n;
        double* own = scores + t * n;
        for (std::size_t j = 0; j < whole; j += WIDTH) {
            Lanes top[1], from[1];
            best_before<1>(best, trans.data + j, n, n, top, from);
            store(own + j, load(own + j) + top[0]);
            for (int v = 0; v < WIDTH; ++v) back[t * n + j + v] = std::int32_t(from[0][v]);
        }
        for (std::size_t j = whole; j < n; ++j) {
            double top = best[0] + trans[0][j];
            std::int32_t from = 0;
            for (std::size_t i = 1; i < n; ++i) {
                const double way = best[i] + trans[i][j];
                if (top < way) top = way, from = std::int32_t(i);
            }
            own[j] += top;
            back[t * n + j] = from;
        }
    }
}

}  // namespace HALFSEEN_ISA
}  // namespace halfseen
