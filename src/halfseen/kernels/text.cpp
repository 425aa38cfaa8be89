// Sparse counts: look-ups and sums over the words of documents. Formulas: text.py. Compiled once per instruction set.
//
// The tables are larger than the caches and words come in no order: the rows of a document are prefetched.
#include "text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lanes.hpp"

namespace halfseen::HALFSEEN_ISA {

namespace {

constexpr double IMPOSSIBLE = -1e200;
constexpr double NEVER = -1e300;  // stands for log 0
constexpr std::size_t PATCH = 64;
constexpr std::int64_t AHEAD = 6;  // entries: a row of the table is on its way while so many others are added

// Where the entries of several rows end: what lies ahead of a row belongs to the next one, and is wanted too.
template <class Value>
inline std::int64_t last_of(const Documents<Value>& rows) {
    return rows.ends[rows.ends.size - 1];
}

// The scores of one document in R registers.
template <int R, class Value>
inline void score_row(const Documents<Value>& rows, std::size_t n, std::int64_t last, const double* log_mix,
                      const Matrix<const double>& table, const double* wanted, Lanes* score) {
    for (int r = 0; r < R; ++r) score[r] = load(log_mix + r * WIDTH);
    for (std::int64_t i = rows.ends[n]; i < rows.ends[n + 1]; ++i) {
        if (i + AHEAD < last) ask(table[rows.words[i + AHEAD]], R * WIDTH);
        if (wanted != nullptr) ask(wanted + rows.words[i] * table.cols, R * WIDTH);
        const double* row = table[rows.words[i]];
        const Lanes value = all(double(rows.values[i]));
        for (int r = 0; r < R; ++r) score[r] += value * load(row + r * WIDTH);
    }
}

template <int R>
inline double best_of(const Lanes* score) {
    Lanes best = score[0];
    for (int r = 1; r < R; ++r) best = larger(best, score[r]);
    return largest(best);
}

template <int R, class Value>
double soft(const Documents<Value>& rows, Span<const double> weight, Span<const double> log_mix,
            Matrix<const double> table, Span<double> mix_usage, Matrix<double> sums) {
    double loglik = 0;
    const std::int64_t last = last_of(rows);
    Lanes score[R], mix[R];
    for (int r = 0; r < R; ++r) mix[r] = load(mix_usage.data + r * WIDTH);
    for (std::size_t n = 0; n < rows.n_rows(); ++n) {
        score_row<R>(rows, n, last, log_mix.data, table, sums.data, score);
        const double best = best_of<R>(score);
        if (!(best > IMPOSSIBLE)) {
            if (weight[n] > 0) loglik = -std::numeric_limits<double>::infinity();
            continue;
        }
        Lanes total = all(0.0);
        for (int r = 0; r < R; ++r) total += score[r] = exp_below_zero(score[r] - all(best));
        const double evidence = sum(total);
        const Lanes share = all(weight[n] / evidence);
        for (int r = 0; r < R; ++r) mix[r] += score[r] *= share;
        if (weight[n] > 0) loglik += weight[n] * (best + std::log(evidence));
        for (std::int64_t i = rows.ends[n]; i < rows.ends[n + 1]; ++i) {
            double* cell = sums[rows.words[i]];
            const Lanes value = all(double(rows.values[i]));
            for (int r = 0; r < R; ++r) store(cell + r * WIDTH, load(cell + r * WIDTH) + value * score[r]);
        }
    }
    for (int r = 0; r < R; ++r) store(mix_usage.data + r * WIDTH, mix[r]);
    return loglik;
}

template <int R, class Value>
void best(const Documents<Value>& rows, Span<const double> log_mix, Matrix<const double> table,
          Span<std::int64_t> out) {
    const std::int64_t last = last_of(rows);
    Lanes score[R];
    double each[R * WIDTH];
    for (std::size_t n = 0; n < rows.n_rows(); ++n) {
        score_row<R>(rows, n, last, log_mix.data, table, nullptr, score);
        for (int r = 0; r < R; ++r) store(each + r * WIDTH, score[r]);
        const double* first = std::max_element(each, each + R * WIDTH);  // the first among equals
        out[n] = *first > IMPOSSIBLE ? first - each : -1;
    }
}

// Logs of x >= 0, to a unit in the last place.
inline Lanes log_share(Lanes x) {
    double each[WIDTH];
    store(each, x);
    bool usual = true;
    for (std::size_t j = 0; j < WIDTH; ++j) usual &= each[j] >= std::numeric_limits<double>::min();
    if (usual) return log_positive(x);
    for (std::size_t j = 0; j < WIDTH; ++j) each[j] = std::log(each[j]);
    return load(each);
}

// What `use(first, size, logs)` makes of a row of shares, several at once; the last ones stand before ones.
template <class Use>
inline void over_logs(const double* shares, std::size_t size, Use use) {
    std::size_t v = 0;
    for (; v + WIDTH <= size; v += WIDTH) use(v, std::size_t(WIDTH), log_share(load(shares + v)));
    if (v == size) return;
    double rest[WIDTH];
    std::fill(rest, rest + WIDTH, 1.0);
    std::copy(shares + v, shares + size, rest);
    use(v, size - v, log_share(load(rest)));
}

}  // namespace

double log_inner(Matrix<const double> counts, Matrix<const double> shares) {
    double total = 0;
    for (std::size_t k = 0; k < shares.rows; ++k) {
        Lanes sums = all(0.0);
        over_logs(shares[k], shares.cols, [&](std::size_t v, std::size_t size, Lanes logs) {
            double own[WIDTH] = {};
            std::copy(counts[k] + v, counts[k] + v + size, own);
            const Lanes count = load(own);
            const Bits any = all(0.0) < larger(count, all(0.0) - count);
            sums += only(any, count * logs);  // 0 log 0 = 0
        });
        total += sum(sums);
    }
    return total;
}

void log_turned(Matrix<const double> shares, Matrix<double> table) {
    for (std::size_t v = 0; v < table.rows; ++v) std::fill(table[v] + shares.rows, table[v] + table.cols, NEVER);
    for (std::size_t start = 0; start < shares.cols; start += PATCH) {  // so many rows of the table stay in the cache
        const std::size_t n_words = std::min(PATCH, shares.cols - start);
        for (std::size_t k = 0; k < shares.rows; ++k) {
            over_logs(shares[k] + start, n_words, [&](std::size_t v, std::size_t size, Lanes logs) {
                double own[WIDTH];
                store(own, larger(logs, all(NEVER)));
                for (std::size_t j = 0; j < size; ++j) table[start + v + j][k] = own[j];
            });
        }
    }
}

#define HALFSEEN_BY_WIDTH(function, ...)                                                                             \
    switch (log_mix.size / 8) {                                                                                      \
        case 1: return function<8 / WIDTH>(__VA_ARGS__);                                                             \
        case 2: return function<16 / WIDTH>(__VA_ARGS__);                                                            \
        case 3: return function<24 / WIDTH>(__VA_ARGS__);                                                            \
        case 4: return function<32 / WIDTH>(__VA_ARGS__);                                                            \
        case 5: return function<40 / WIDTH>(__VA_ARGS__);                                                            \
        case 6: return function<48 / WIDTH>(__VA_ARGS__);                                                            \
        case 7: return function<56 / WIDTH>(__VA_ARGS__);                                                            \
        default: return function<64 / WIDTH>(__VA_ARGS__);                                                           \
    }

template <class Value>
double counts_soft(const Documents<Value>& rows, Span<const double> weight, Span<const double> log_mix,
                   Matrix<const double> table, Span<double> mix_usage, Matrix<double> sums) {
    HALFSEEN_BY_WIDTH(soft, rows, weight, log_mix, table, mix_usage, sums)
}

template <class Value>
void counts_best(const Documents<Value>& rows, Span<const double> log_mix, Matrix<const double> table,
                 Span<std::int64_t> out) {
    HALFSEEN_BY_WIDTH(best, rows, log_mix, table, out)
}

template <class Value>
void counts_score(const Documents<Value>& rows, Matrix<const double> table, Matrix<double> scores) {
    const std::int64_t last = last_of(rows);
    for (std::size_t n = 0; n < rows.n_rows(); ++n) {
        double* score = scores[n];
        for (std::int64_t i = rows.ends[n]; i < rows.ends[n + 1]; ++i) {
            if (i + AHEAD < last) ask(table[rows.words[i + AHEAD]], table.cols);
            const double* row = table[rows.words[i]];
            const double value = double(rows.values[i]);
            for (std::size_t k = 0; k < table.cols; ++k) score[k] += value * row[k];
        }
    }
}

template <class Value>
void counts_expect(const Documents<Value>& rows, Matrix<const double> usage, Matrix<double> sums) {
    const std::int64_t last = last_of(rows);
    for (std::size_t n = 0; n < rows.n_rows(); ++n) {
        const double* own = usage[n];
        for (std::int64_t i = rows.ends[n]; i < rows.ends[n + 1]; ++i) {
            if (i + AHEAD < last) ask(sums[rows.words[i + AHEAD]], sums.cols);
            double* cell = sums[rows.words[i]];
            const double value = double(rows.values[i]);
            for (std::size_t k = 0; k < sums.cols; ++k) cell[k] += value * own[k];
        }
    }
}

template <class Value>
void counts_count(const Documents<Value>& rows, Span<const std::int64_t> component, Span<const double> weight,
                  Matrix<double> counts) {
    for (std::size_t n = 0; n < rows.n_rows(); ++n) {
        double* row = counts[component[n]];
        for (std::int64_t i = rows.ends[n]; i < rows.ends[n + 1]; ++i) {
            row[rows.words[i]] += weight[n] * double(rows.values[i]);
        }
    }
}

#define HALFSEEN_VALUES(Value)                                                                                       \
    template double counts_soft(const Documents<Value>&, Span<const double>, Span<const double>,                    \
                                Matrix<const double>, Span<double>, Matrix<double>);                                 \
    template void counts_best(const Documents<Value>&, Span<const double>, Matrix<const double>,                    \
                              Span<std::int64_t>);                                                                   \
    template void counts_score(const Documents<Value>&, Matrix<const double>, Matrix<double>);                       \
    template void counts_expect(const Documents<Value>&, Matrix<const double>, Matrix<double>);                      \
    template void counts_count(const Documents<Value>&, Span<const std::int64_t>, Span<const double>,               \
                               Matrix<double>);
HALFSEEN_VALUES(double)
HALFSEEN_VALUES(std::int64_t)
#undef HALFSEEN_VALUES

}  // namespace halfseen::HALFSEEN_ISA
