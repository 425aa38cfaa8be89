// A sieve: for most rows most components are negligible, which float32 can decide at half the cost.
//
// The scores of a batch of rows are computed in float32 first, which is `Doubt` off at most. A component is left out of
// a row if its responsibility is then surely below FAINT times the component's share of the rows so far: all that is
// left out of a row is less than FAINT of it, and what a component loses is about that little of what it has, however
// rare it is. All others are scored again in float64, row by row, and these scores alone count. Where float32 is in too
// much doubt, or the sieve lets too much through, a batch is done as any other tile.
#pragma once

#include "tiles.hpp"

namespace halfseen {
namespace HALFSEEN_ISA {

namespace {

constexpr double FAINT = 1e-15;   // what adding up ten components may be off by
constexpr double COARSE = 3. / 8; // of rows and components: if more go through, the sieve costs more than it saves
constexpr int CLOSED = 31;        // batches that are then not sifted
constexpr float DOUBTFUL = 4;     // nats: scores that are further off are not relied upon
constexpr double STEEP = 0.01;    // nor if they may be off by that share of themselves
constexpr double SPARED = 1.2;    // times the slope: scores are rounded themselves, and so are cuts

// How far a score in float32 is off.
//
// It is s = a - L, where L = |z|^2 and z[j] = sum_i c[i] U[i, j] - h[j], with a row's deviations c from the pivot, and h
// so that z = e U for its deviations e from the mean. Let u = 2^-24 and g = (n + 4) u for n columns. Rounding moves z[j]
// by g (sum_i |c[i] U[i, j]| + |h[j]|) at most, which is below g (sum_i |e[i] U[i, j]| + 2 size[j]), where
// size[j] = sum_i |(c - e)[i] U[i, j]|. As z = e U, |e[i]| <= sqrt 2 sd[i] |z|, so that
// |dz| <= g (condition |z| + 2 |size|), where condition^2 = sum_j (sum_i sqrt 2 |U[i, j]| sd[i])^2; without correlations
// 1 will do, for each z[j] has its own e[j]. Then |dL| <= 2 |z| |dz| + |dz|^2 + g (L + |a|), and with
// 2 |z| |size| <= L + |size|^2 and a small slope, but for squares of g that SPARED covers,
// |ds| <= slope (L + |a|) + base, slope = g (2 condition + 4), base = 2 g |size|^2.
struct Doubt {
    double slope = 0, base = SMALL;  // the largest of all components

    void meet(std::size_t n_columns, double condition, double squared_size) {
        const double g = double(n_columns + 4) * 0x1p-24;
        slope = larger_or_nan(slope, g * (2 * condition + 4));
        base = larger_or_nan(base, SMALL + 2 * g * squared_size);
    }

    // Round a number of z; what float32 cannot hold is in doubt beyond all measure.
    float round(double x) {
        if (!(std::abs(x) < 1e37)) slope = INF;
        return float(x);
    }

private:
    static constexpr double SMALL = 1e-3;  // nats: more than numbers that are too small for float32 add

    static double larger_or_nan(double a, double b) { return b > a || b != b ? b : a; }
};

template <class Tile>
class Sieve {
public:
    Sieve(Tile& tile, Span<const double> log_mix)
        : tile(tile), K(tile.K), log_mix(log_mix), rounded(0), scores(0), listed(0), sizes(K), roots(0), log_shares(K) {
        for (std::size_t k = 0; k < K; ++k) {
            const double begin = std::abs(log_mix[k] + tile.offset(k));
            if (begin < -IMPOSSIBLE) largest = std::max(largest, begin);
        }
        open = K > 2 && tile.direct && SPARED * tile.doubt.slope < STEEP && slack(0) < DOUBTFUL;
        if (!open) return;
        rounded.grow(padded(tile.D, BLOCK) * BATCH);
        scores.grow(K * BATCH);
        listed.grow(K * ROOM);
        roots.grow(K * ROOM);
    }

    // Score, complete and expect a batch; whether that was done.
    bool soft(Matrix<const double> values, std::size_t first, const double* weight, Span<double> mix_usage,
              double& loglik) {
        if (!open || first + BATCH > values.rows) return false;
        if (closed) {
            --closed;
            return false;
        }
        if (!compare_masses(weight)) return false;
        if (!tile.read_batch(values, first, rounded.data())) closed = CLOSED;  // rows with holes do not come alone
        if (!tile.whole || !possible(values, first)) return false;
        for (std::size_t k = 0; k < K; ++k) weigh(k);
        loglik += complete(weight);
        for (std::size_t k = 0; k < K; ++k) mix_usage[k] += expect(k);
        return true;
    }

private:
    static constexpr std::size_t ROOM = BATCH + 2 * SPARE;

    Tile& tile;
    const std::size_t K;
    const Span<const double> log_mix;
    Array<float> rounded;         // (D, BATCH)  the rows, less the pivot, as columns
    Array<float> scores;          // (K, BATCH)
    Array<unsigned char> listed;  // (K, ROOM)  the rows that component k may have produced, and behind them none: BATCH
    Array<std::size_t> sizes;     // (K,)  how many
    Work roots;                   // (K, ROOM)  of the usage of these rows
    alignas(64) float cut[BATCH];  // scores below it, and the log of the share, are out of the question
    Array<float> log_shares;      // (K,)
    alignas(64) double above[BATCH + SPARE], total[BATCH + SPARE], share[BATCH + SPARE] = {};  // above: no score is
    double largest = 0;           // of the offsets
    bool open = false;
    int closed = 0;

    // What a score near this one may be off.
    double slack(double score) const {
        return tile.doubt.base + SPARED * tile.doubt.slope * (2 * largest + std::abs(score));
    }

    // Find the share of each component so far; whether there are rows so far, and none of these is more than they are.
    bool compare_masses(const double* weight) {
        double rows = 0, heaviest = 0;
        for (std::size_t k = 0; k < K; ++k) rows += tile.mass[k];
        for (std::size_t t = 0; t < BATCH; ++t) heaviest = std::max(heaviest, weight[t]);
        for (std::size_t k = 0; k < K; ++k) {
            const bool possible = log_mix[k] + tile.offset(k) > IMPOSSIBLE;
            log_shares[k] = possible ? float(std::log(tile.mass[k] / rows) / (1 - STEEP)) : float(INF);
        }
        return heaviest < rows;
    }

    // List the rows that each component may have produced; false if float32 cannot tell, or there are too many.
    bool possible(Matrix<const double> values, std::size_t first) {
        const Ahead next(values, first + BATCH, BATCH);
        for (std::size_t k = 0; k < K; ++k) {
            next.part(k, K);
            tile.sift(k, float(log_mix[k] + tile.offset(k)), rounded.data(), scores.data() + k * BATCH);
        }
        for (std::size_t t = 0; t < BATCH; t += FLOATS) {
            if (!find_cut(t)) return false;
        }
        std::size_t n = 0;
        for (std::size_t k = 0; k < K; ++k) n += list(k);
        if (double(n) > COARSE * double(K * BATCH)) closed = CLOSED;
        return !closed;
    }

    // A score b - gap may be b - (1 - STEEP) gap + slack in truth, and the best b - slack.
    bool find_cut(std::size_t t) {
        Floats best = all(-std::numeric_limits<float>::infinity());
        for (std::size_t k = 0; k < K; ++k) best = larger(best, load(scores.data() + k * BATCH + t));
        store(cut + t, best);
        const double faint = -std::log(FAINT);
        bool sure = true;
        for (std::size_t i = t; i < t + FLOATS; ++i) {
            const double score = cut[i], off = slack(score);
            sure &= off < DOUBTFUL;
            above[i] = score + off;
            cut[i] = float(score - (faint + 2 * off) / (1 - STEEP));
        }
        return sure;
    }

    std::size_t list(std::size_t k) {
        constexpr int TOGETHER = FLOATS < 8 ? 8 : FLOATS;
        const Floats rarer = all(log_shares[k]);
        unsigned char* rows = listed.data() + k * ROOM;
        std::size_t n = 0;
        for (std::size_t t = 0; t < BATCH; t += TOGETHER) {
            unsigned below = 0;
            for (int i = 0; i < TOGETHER; i += FLOATS) {
                below |= lanes_below(load(scores.data() + k * BATCH + t + i), load(cut + t + i) + rarer) << i;
            }
            for (int i = 0; i < TOGETHER; i += 8) n += list_eight(~below >> i, t + i, rows + n);
        }
        std::memset(rows + n, BATCH, SPARE);
        return sizes[k] = n;
    }

    // The roots of the exponentials of the scores of the rows listed.
    void weigh(std::size_t k) {
        if (k == 0) {
            std::fill_n(total, BATCH + SPARE, 0.0);
            above[BATCH] = INF;
        }
        const unsigned char* rows = listed.data() + k * ROOM;
        double* own = roots.data() + k * ROOM;
        tile.score_rows(k, log_mix[k] + tile.offset(k), rows, sizes[k], own);
        for (std::size_t a = 0; a < sizes[k]; a += WIDTH) {
            const Lanes root = exp_below_zero(all(0.5) * (load(own + a) - gather(above, rows + a)));
            store(own + a, root);
            alignas(64) double part[WIDTH];
            store(part, root * root);
            for (int r = 0; r < WIDTH; ++r) total[rows[a + r]] += part[r];
        }
    }

    // The square root of the share of each row that a usage of 1 is; returns the log-likelihood.
    double complete(const double* weight) {
        Lanes loglik = all(0.0);
        for (std::size_t t = 0; t < BATCH; t += WIDTH) {
            const Lanes w = load(weight + t), sum = load(total + t);
            loglik += w * (log_positive(sum) + load(above + t));
            store(share + t, square_root(w / sum));
        }
        return sum(loglik);
    }

    double expect(std::size_t k) {
        Used used{0, sizes[k], listed.data() + k * ROOM, roots.data() + k * ROOM};
        Lanes sums = all(0.0);
        for (std::size_t a = 0; a < used.size; a += WIDTH) {
            const Lanes root = load(used.roots + a) * gather(share, used.rows + a);
            store(used.roots + a, root);
            sums += root * root;
        }
        used.total = sum(sums);
        tile.expect(BATCH, k, nullptr, used);
        return used.total;
    }
};

}  // namespace

}  // namespace HALFSEEN_ISA
}  // namespace halfseen
