// Columns of numbers, normal given the component. Formulas: plain.py.
#include <cmath>

#include "kernels.hpp"

namespace halfseen {

void gaussian_score(Matrix<const double> values, Matrix<const double> mean, Matrix<const double> var,
                    Matrix<double> scores) {
    constexpr double LOG_2PI = 1.83787706640934548356;
    for (std::size_t k = 0; k < mean.rows; ++k) {
        for (std::size_t d = 0; d < mean.cols; ++d) {
            const double centre = mean[k][d], half_precision = 0.5 / var[k][d];
            const double half_log = 0.5 * (LOG_2PI + std::log(var[k][d]));
            for (std::size_t n = 0; n < values.rows; ++n) {
                const double deviation = values[n][d] - centre;
                if (!std::isnan(values[n][d])) scores[n][k] -= half_log + deviation * deviation * half_precision;
            }
        }
    }
}

void gaussian_expect(Matrix<const double> values, Matrix<const double> mean, Matrix<const double> usage,
                     Stack<double> moments) {
    for (std::size_t k = 0; k < mean.rows; ++k) {
        for (std::size_t d = 0; d < mean.cols; ++d) {
            double mass = 0, first = 0, second = 0;
            for (std::size_t n = 0; n < values.rows; ++n) {
                if (std::isnan(values[n][d])) continue;
                const double deviation = values[n][d] - mean[k][d], used = usage[n][k];
                mass += used;
                first += used * deviation;
                second += used * deviation * deviation;
            }
            moments[0][k][d] += mass;
            moments[1][k][d] += first;
            moments[2][k][d] += second;
        }
    }
}

}  // namespace halfseen
