// Columns of counts, Poisson given the component. Formulas: plain.py.
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels.hpp"

namespace halfseen {

namespace {

constexpr double SMALL = 4096;  // below, x log rate - rate - log x! has its digits; beyond, they cancel
constexpr double NEAR = 0.1;    // below, d - log(1 + d) comes from its series
constexpr double HALF_LOG_2PI = 0.91893853320467274178;

const std::array<double, std::size_t(SMALL)>& log_factorials() {
    static const auto table = [] {
        std::array<double, std::size_t(SMALL)> logs;
        for (std::size_t x = 0; x < logs.size(); ++x) logs[x] = std::lgamma(double(x) + 1);
        return logs;
    }();
    return table;
}

double log_factorial(double x) { return x == std::floor(x) ? log_factorials()[std::size_t(x)] : std::lgamma(x + 1); }

// log Poisson(x; x) for large x, by Stirling's series.
double log_peak(double x) {
    const double w = 1 / (x * x);
    const double error = (1.0 / 12 - w * (1.0 / 360 - w * (1.0 / 1260 - w / 1680))) / x;
    return -error - 0.5 * std::log(x) - HALF_LOG_2PI;
}

// x e((rate - x) / x), e(d) = d - log(1 + d): how far log Poisson(x; rate) lies below its peak.
double deviance(double x, double rate) {
    const double d = (rate - x) / x;
    if (std::fabs(d) >= NEAR) return (rate - x) - x * std::log(rate / x);
    double series = 0;
    for (int n = 18; n >= 2; --n) series = series * d + (n % 2 ? -1.0 : 1.0) / n;
    return x * d * d * series;
}

double log_poisson(double x, double rate, double log_rate) {
    if (x >= SMALL) return log_peak(x) - deviance(x, rate);
    return (x > 0 ? x * log_rate : 0.0) - rate - log_factorial(x);  // 0 log 0 = 0
}

}  // namespace

void poisson_score(Matrix<const double> counts, Matrix<const double> rate, Matrix<double> scores) {
    std::vector<double> log_rate(rate.rows * rate.cols);
    for (std::size_t i = 0; i < log_rate.size(); ++i) log_rate[i] = std::log(rate.data[i]);
    for (std::size_t n = 0; n < counts.rows; ++n) {
        for (std::size_t d = 0; d < counts.cols; ++d) {
            const double count = counts[n][d];
            if (std::isnan(count)) continue;
            const bool large = count >= SMALL;
            const double own = large ? log_peak(count) : -log_factorial(count);
            for (std::size_t k = 0; k < rate.rows; ++k) {
                if (large) {
                    scores[n][k] += own - deviance(count, rate[k][d]);
                } else {
                    const double events = count > 0 ? count * log_rate[k * rate.cols + d] : 0.0;  // 0 log 0 = 0
                    scores[n][k] += events - rate[k][d] + own;
                }
            }
        }
    }
}

void poisson_constants(Matrix<const double> counts, Span<const double> unit, Matrix<double> constants) {
    for (std::size_t n = 0; n < counts.rows; ++n) {
        for (std::size_t d = 0; d < counts.cols; ++d) {
            const double count = counts[n][d];
            constants[n][d] = std::isnan(count) ? 0.0 : log_poisson(count, unit[d], std::log(unit[d]));
        }
    }
}

void poisson_expect(Matrix<const double> counts, Span<const double> unit, Matrix<const double> usage,
                    Stack<double> sums) {
    std::vector<double> log_unit(unit.size);
    for (std::size_t d = 0; d < unit.size; ++d) log_unit[d] = std::log(unit[d]);
    for (std::size_t n = 0; n < counts.rows; ++n) {
        for (std::size_t d = 0; d < counts.cols; ++d) {
            const double count = counts[n][d];
            if (std::isnan(count)) continue;
            const double constant = log_poisson(count, unit[d], log_unit[d]);
            for (std::size_t k = 0; k < usage.cols; ++k) {
                sums[0][k][d] += usage[n][k];
                sums[1][k][d] += usage[n][k] * count;
                sums[2][k][d] += usage[n][k] * constant;
            }
        }
    }
}

}  // namespace halfseen
