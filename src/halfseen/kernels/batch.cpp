// Many fits of one small table in one call: the runs of engine/loop/run.py, without an interpreter. Formulas: batch.py.
#include "batch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace halfseen {

namespace {

using Vector = std::vector<double>;

constexpr double NO_MASS = 1e-100;     // as in leaves/leaf.py
constexpr double QUICKEST = 0.75;      // as in engine/loop/em_pair.py
constexpr double SLOWEST = 1 - 1e-6;
constexpr double NOISE = 4 * std::numeric_limits<double>::epsilon();  // as in engine/loop/stopping.py
constexpr double FALL = 1e-9;          // share of log-likelihood and mass that rounding may take: more is left to the engine
constexpr int BURN_IN = 5;             // as in engine/loop/squarem.py
constexpr double SLOW = 0.5;
constexpr double GROWTH = 4.0;
constexpr int SHRINKS = 6;
constexpr std::size_t MEMORY = 10;     // as in engine/loop/run.py
constexpr double LEAST = 1e-200;       // of a row's product of probabilities: below, it is repeated in logs
constexpr double LOG_2PI = 1.83787706640934548356;

enum Ended { CONVERGED, CAPPED, NOT_FINITE, FELL };

// Where the parameters of a mixture lie in its vector: components last.
struct Layout {
    std::size_t k, cells, numbers, counts;

    std::size_t table() const { return k; }
    std::size_t mean() const { return table() + cells * k; }
    std::size_t var() const { return mean() + numbers * k; }
    std::size_t rate() const { return var() + numbers * k; }
    std::size_t size() const { return rate() + counts * k; }
};

// The observed categories of all rows, one row after the other: where the probabilities of each lie in the parameters.
struct Cells {
    std::vector<std::uint32_t> at, first;

    Cells(const SmallTable& table, Layout layout) : first(1, 0) {
        for (std::size_t n = 0; n < table.codes.rows; ++n) {
            for (std::size_t d = 0; d < table.codes.cols; ++d) {
                const std::int32_t code = table.codes[n][d];
                if (code < 0) continue;
                const std::size_t cell = std::size_t(table.starts[d]) + std::size_t(code);
                at.push_back(std::uint32_t(layout.table() + cell * layout.k));
            }
            first.push_back(std::uint32_t(at.size()));
        }
    }
};

// E-step and M-step of one weighting. K is the number of components where it is known beforehand, else 0.
template <std::size_t K>
class Mixture {
public:
    Mixture(const SmallTable& table, const Cells& cells, const double* weight, Span<const double> lowest, Layout at)
        : table_(table), cells_(cells), weight_(weight), lowest_(lowest), at_(at), prepared_(at.size()),
          offset_(at.numbers * at.k), row_(at.k), logs_(at.k), mass_((at.numbers + at.counts) * at.k),
          sums_(at.size()) {}

    // Gathers the statistics under the parameters; returns the log-likelihood.
    double expect(const Vector& params) {
        prepare(params);
        std::fill(sums_.begin(), sums_.end(), 0.0);
        std::fill(mass_.begin(), mass_.end(), 0.0);
        double total = 0;
        for (std::size_t n = 0; n < table_.codes.rows; ++n)
            if (weight_[n] > 0) total += weight_[n] * row(n, params);
        return total;
    }

    // The parameters that maximise these statistics.
    void maximise(const Vector& params, Vector& out) const {
        shares_of_components(params, out);
        for (std::size_t d = 0; d + 1 < table_.starts.size; ++d) shares_of_cells(params, d, out);
        normals(params, out);
        for (std::size_t j = 0; j < at_.counts * k(); ++j) {
            const double mass = mass_[at_.numbers * k() + j];
            out[at_.rate() + j] = mass > NO_MASS ? sums_[at_.rate() + j] / mass : params[at_.rate() + j];
        }
    }

private:
    std::size_t k() const { return K ? K : at_.k; }
    bool only_categories() const { return at_.numbers + at_.counts == 0; }

    void prepare(const Vector& params) {
        for (std::size_t j = 0; j < at_.numbers * k(); ++j) {
            const double var = params[at_.var() + j];
            prepared_[at_.var() + j] = 0.5 / var;
            offset_[j] = 0.5 * (LOG_2PI + std::log(var));
        }
        for (std::size_t j = at_.rate(); j < at_.size(); ++j) prepared_[j] = std::log(params[j]);
    }

    // Scores, infers and expects one row; returns its log-likelihood. Probabilities of categories are multiplied; where
    // the product leaves the range of floats, the row is repeated in logs.
    double row(std::size_t n, const Vector& params) {
        double top = 0;
        for (std::size_t j = 0; j < k(); ++j) row_[j] = params[j];
        for (std::size_t i = cells_.first[n]; i < cells_.first[n + 1]; ++i) {
            const double* shares = params.data() + cells_.at[i];
            for (std::size_t j = 0; j < k(); ++j) row_[j] *= shares[j];
        }
        if (!only_categories()) {
            std::fill(logs_.begin(), logs_.end(), 0.0);
            add_numbers(n, params);
            top = *std::max_element(logs_.begin(), logs_.end());
            for (std::size_t j = 0; j < k(); ++j) row_[j] *= std::exp(logs_[j] - top);
        }
        double sum = 0;
        for (std::size_t j = 0; j < k(); ++j) sum += row_[j];
        if (!(sum > LEAST)) {
            top = in_logs(n, params);
            if (!(top > -std::numeric_limits<double>::infinity())) return top;
            sum = 0;
            for (std::size_t j = 0; j < k(); ++j) sum += row_[j] = std::exp(logs_[j] - top);
        }
        const double scale = weight_[n] / sum;
        for (std::size_t j = 0; j < k(); ++j) row_[j] *= scale;
        add(n, params);
        return top + std::log(sum) + table_.constants[n];
    }

    // The log-probabilities of a row, in logs_; returns the largest.
    double in_logs(std::size_t n, const Vector& params) {
        for (std::size_t j = 0; j < k(); ++j) logs_[j] = std::log(params[j]);
        for (std::size_t i = cells_.first[n]; i < cells_.first[n + 1]; ++i)
            for (std::size_t j = 0; j < k(); ++j) logs_[j] += std::log(params[cells_.at[i] + j]);
        add_numbers(n, params);
        return *std::max_element(logs_.begin(), logs_.end());
    }

    // Adds the log-densities of numbers and counts to logs_.
    void add_numbers(std::size_t n, const Vector& params) {
        for (std::size_t d = 0; d < at_.numbers; ++d) {
            const double x = table_.values[n][d];
            if (std::isnan(x)) continue;
            for (std::size_t j = 0; j < k(); ++j) {
                const double far = x - params[at_.mean() + d * k() + j];
                logs_[j] -= offset_[d * k() + j] + far * far * prepared_[at_.var() + d * k() + j];
            }
        }
        for (std::size_t d = 0; d < at_.counts; ++d) {
            const double x = table_.counts[n][d];
            if (std::isnan(x)) continue;
            for (std::size_t j = 0; j < k(); ++j) {
                const std::size_t rate = at_.rate() + d * k() + j;
                logs_[j] += (x > 0 ? x * prepared_[rate] : 0.0) - params[rate];  // 0 log 0 = 0
            }
        }
    }

    // Adds the statistics of a row whose responsibilities, times its weight, are in row_.
    void add(std::size_t n, const Vector& params) {
        for (std::size_t j = 0; j < k(); ++j) sums_[j] += row_[j];
        for (std::size_t i = cells_.first[n]; i < cells_.first[n + 1]; ++i) {
            double* cell = sums_.data() + cells_.at[i];
            for (std::size_t j = 0; j < k(); ++j) cell[j] += row_[j];
        }
        for (std::size_t d = 0; d < at_.numbers; ++d) {
            const double x = table_.values[n][d];
            if (std::isnan(x)) continue;
            for (std::size_t j = 0; j < k(); ++j) {
                const std::size_t at = d * k() + j;
                const double far = x - params[at_.mean() + at];
                mass_[at] += row_[j];
                sums_[at_.mean() + at] += row_[j] * far;
                sums_[at_.var() + at] += row_[j] * far * far;
            }
        }
        for (std::size_t d = 0; d < at_.counts; ++d) {
            const double x = table_.counts[n][d];
            if (std::isnan(x)) continue;
            for (std::size_t j = 0; j < k(); ++j) {
                mass_[(at_.numbers + d) * k() + j] += row_[j];
                sums_[at_.rate() + d * k() + j] += row_[j] * x;
            }
        }
    }

    void shares_of_components(const Vector& params, Vector& out) const {
        double total = 0;
        for (std::size_t j = 0; j < k(); ++j) total += sums_[j];
        for (std::size_t j = 0; j < k(); ++j) out[j] = total > NO_MASS ? sums_[j] / total : params[j];
    }

    void shares_of_cells(const Vector& params, std::size_t d, Vector& out) const {
        const std::size_t first = at_.table() + std::size_t(table_.starts[d]) * k();
        const std::size_t stop = at_.table() + std::size_t(table_.starts[d + 1]) * k();
        for (std::size_t j = 0; j < k(); ++j) {
            double total = 0;
            for (std::size_t s = first + j; s < stop; s += k()) total += sums_[s];
            for (std::size_t s = first + j; s < stop; s += k()) out[s] = total > NO_MASS ? sums_[s] / total : params[s];
        }
    }

    void normals(const Vector& params, Vector& out) const {
        for (std::size_t at = 0; at < at_.numbers * k(); ++at) {
            const double mass = mass_[at], first = sums_[at_.mean() + at], second = sums_[at_.var() + at];
            const double old = params[at_.mean() + at], mean = mass > NO_MASS ? old + first / mass : old;
            const double shift = mean - old;
            const double squares = second - 2 * shift * first + shift * shift * mass;
            const double var = mass > NO_MASS ? squares / mass : params[at_.var() + at];
            out[at_.mean() + at] = mean;
            out[at_.var() + at] = std::max(var, lowest_[at / k()]);
        }
    }

    const SmallTable& table_;
    const Cells& cells_;
    const double* weight_;
    Span<const double> lowest_;
    Layout at_;
    Vector prepared_, offset_, row_, logs_, mass_, sums_;
};

// Squared extrapolation, as engine/loop/squarem.py.
class Extrapolation {
public:
    Extrapolation(const SmallTable& table, Span<const double> units, Span<const double> lowest, Layout at)
        : table_(table), units_(units), lowest_(lowest), at_(at) {}

    // The rate of convergence of three parameters; also |r| and |d| of the extrapolation.
    double rate(const Vector& v0, const Vector& v1, const Vector& v2) {
        double first = 0, product = 0, second = 0;
        for (std::size_t i = 0; i < v0.size(); ++i) {
            const double r = (v1[i] - v0[i]) / units_[i], s = (v2[i] - v1[i]) / units_[i];
            first += r * r;
            product += s * r;
            second += (s - r) * (s - r);
        }
        r_ = std::sqrt(first);
        d_ = std::sqrt(second);
        return first > 0 ? product / first : 0.0;
    }

    // Extrapolates; false where a plain step is better.
    bool propose(const Vector& v0, const Vector& v1, const Vector& v2, double rate, std::int64_t passes, Vector& out) {
        if (passes <= BURN_IN || !(rate > SLOW) || !(d_ > 0)) return false;
        length_ = std::clamp(r_ / d_, 1.0, longest_);
        if (length_ == 1.0) {
            longest_ = std::max(longest_, GROWTH);
            return false;
        }
        double length = length_;
        for (int i = 0; i < SHRINKS; ++i) {
            for (std::size_t j = 0; j < v0.size(); ++j) {
                const double r = v1[j] - v0[j], d = (v2[j] - v1[j]) - r;
                out[j] = v0[j] + 2 * length * r + length * length * d;
            }
            if (feasible(out)) {
                normalise(out);
                return true;
            }
            length = (length + 1) / 2;
        }
        learn(false);
        return false;
    }

    void learn(bool kept) {
        if (length_ == longest_) longest_ = kept ? longest_ * GROWTH : std::max(1.0, longest_ / GROWTH);
    }

private:
    bool feasible(const Vector& v) const {
        for (std::size_t j = 0; j < at_.mean(); ++j)
            if (!(v[j] >= 0)) return false;
        for (std::size_t j = 0; j < at_.numbers * at_.k; ++j)
            if (!(v[at_.var() + j] > 0 && v[at_.var() + j] >= lowest_[j / at_.k])) return false;
        for (std::size_t j = at_.rate(); j < at_.size(); ++j)
            if (!(v[j] >= 0)) return false;
        return true;
    }

    // Rows of probabilities sum to one again: the square of the length magnifies rounding.
    void normalise(Vector& v) const {
        const std::size_t k = at_.k;
        double total = 0;
        for (std::size_t j = 0; j < k; ++j) total += v[j];
        for (std::size_t j = 0; j < k; ++j) v[j] /= total;
        for (std::size_t d = 0; d + 1 < table_.starts.size; ++d) {
            const std::size_t first = std::size_t(table_.starts[d]), stop = std::size_t(table_.starts[d + 1]);
            for (std::size_t j = 0; j < k; ++j) {
                double sum = 0;
                for (std::size_t s = first; s < stop; ++s) sum += v[at_.table() + s * k + j];
                for (std::size_t s = first; s < stop; ++s) v[at_.table() + s * k + j] /= sum;
            }
        }
    }

    const SmallTable& table_;
    Span<const double> units_, lowest_;
    Layout at_;
    double longest_ = 1.0, length_ = 1.0, r_ = 0.0, d_ = 0.0;
};

// One run, as engine/loop/run.py; leaves the best parameters in `best`.
template <std::size_t K>
struct Run {
    Mixture<K> mixture;
    Extrapolation squarem;
    double mass, tol;
    std::int64_t max_iter;
    Vector params, best, last, following, proposed;
    double objective = -std::numeric_limits<double>::infinity(), last_objective = objective;
    std::int64_t passes = 0;
    std::array<double, MEMORY> rates{};
    std::size_t n_rates = 0;

    Ended climb() {
        bool first = true, extrapolated = false, extrapolating = false;
        for (;;) {
            const double found = mixture.expect(extrapolating ? proposed : params);
            ++passes;
            if (extrapolating) {
                extrapolating = false;
                const bool kept = found >= objective;
                squarem.learn(kept);
                if (kept) {
                    objective = last_objective = found;
                    best = last = proposed;
                    mixture.maximise(last, params);
                    extrapolated = true;
                } else {
                    params = following;
                }
            } else {
                if (!std::isfinite(found)) return NOT_FINITE;
                if (!first && last_objective - found > FALL * (mass + std::fabs(found))) return FELL;
                const Vector before = std::move(last);
                const double gain = found - last_objective;
                last = params;
                last_objective = found;
                if (found >= objective) {
                    objective = found;
                    best = params;
                }
                mixture.maximise(params, following);
                if (following == params) return CONVERGED;
                if (first || extrapolated) {
                    first = extrapolated = false;
                } else {
                    const double rate = squarem.rate(before, last, following);
                    rates[n_rates++ % MEMORY] = rate;
                    const double left = remaining(gain, rate);
                    if (left < tol || (std::isfinite(left) && gain <= NOISE * std::fabs(found))) return CONVERGED;
                    extrapolating = squarem.propose(before, last, following, rate, passes, proposed);
                }
                params = following;
            }
            if (passes >= max_iter) return CAPPED;
        }
    }

    // Estimate of the remaining gain, as EMPair.left.
    double remaining(double gain, double rate) const {
        if (rate >= 1) return std::numeric_limits<double>::infinity();
        const double slowest = *std::max_element(rates.begin(), rates.begin() + std::min(n_rates, MEMORY));
        const double used = std::max(QUICKEST, slowest), squared = std::min(used * used, SLOWEST);
        return std::max(gain, 0.0) * squared / (1 - squared);
    }
};

template <std::size_t K>
void run_all(const SmallTable& table, Layout at, Matrix<const double> weights, Span<const std::int64_t> which,
             Span<const double> units, Span<const double> lowest, double tol, std::int64_t max_iter,
             Matrix<double> params, Matrix<double> found) {
    const Cells cells(table, at);
    for (std::size_t b = 0; b < which.size; ++b) {
        const Vector start(params[b], params[b] + params.cols);
        const double* weight = weights[std::size_t(which[b])];
        Run<K> run{Mixture<K>(table, cells, weight, lowest, at), Extrapolation(table, units, lowest, at),
                   std::accumulate(weight, weight + weights.cols, 0.0), tol, max_iter, start, start, {}, start, start};
        const Ended ended = run.climb();
        std::copy(run.best.begin(), run.best.end(), params[b]);
        found[b][0] = run.objective;
        found[b][1] = double(run.passes);
        found[b][2] = double(ended);
    }
}

}  // namespace

void batch_em(const SmallTable& table, Matrix<const double> weights, Span<const std::int64_t> which,
              Span<const double> units, Span<const double> lowest, double tol, std::int64_t max_iter,
              Matrix<double> params, Matrix<double> found) {
    const std::size_t cells = std::size_t(table.starts[table.starts.size - 1]);
    const std::size_t each = 1 + cells + 2 * table.values.cols + table.counts.cols;
    const Layout at{params.cols / each, cells, table.values.cols, table.counts.cols};
    using Runs = decltype(&run_all<0>);
    constexpr std::array<Runs, 9> known{run_all<0>, run_all<1>, run_all<2>, run_all<3>, run_all<4>,
                                        run_all<5>, run_all<6>, run_all<7>, run_all<8>};
    const Runs runs = at.k < known.size() ? known[at.k] : known[0];
    runs(table, at, weights, which, units, lowest, tol, max_iter, params, found);
}

}  // namespace halfseen
