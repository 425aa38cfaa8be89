// Columns of counts, Poisson given the component. Formulas: plain.py.
#include <cmath>
#include <limits>

#include "kernels.hpp"

namespace halfseen {

void poisson_score(Matrix<const double> counts, Matrix<const double> rate, Matrix<double> scores) {
    for (std::size_t n = 0; n < counts.rows; ++n) {
        for (std::size_t d = 0; d < counts.cols; ++d) {
            const double count = counts[n][d];
            if (std::isnan(count)) continue;
            const double log_factorial = std::lgamma(count + 1);
            for (std::size_t k = 0; k < rate.rows; ++k) {
                const double events = count > 0 ? count * std::log(rate[k][d]) : 0.0;  // 0 log 0 = 0
                scores[n][k] += events - rate[k][d] - log_factorial;
            }
        }
    }
}

void poisson_expect(Matrix<const double> counts, Matrix<const double> usage, Stack<double> sums) {
    for (std::size_t n = 0; n < counts.rows; ++n) {
        for (std::size_t d = 0; d < counts.cols; ++d) {
            const double count = counts[n][d];
            if (std::isnan(count)) continue;
            const double log_factorial = std::lgamma(count + 1);
            for (std::size_t k = 0; k < usage.cols; ++k) {
                sums[0][k][d] += usage[n][k];
                sums[1][k][d] += usage[n][k] * count;
                sums[2][k][d] += usage[n][k] * log_factorial;
            }
        }
    }
}

}  // namespace halfseen
