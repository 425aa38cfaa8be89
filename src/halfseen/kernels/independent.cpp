// Rows independent given their component: responsibilities, or the best component. Formulas: plain.py.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels.hpp"

namespace halfseen {

void independent_soft(Matrix<double> scores, Span<const double> outer, double beta, Span<double> log_evidence) {
    for (std::size_t n = 0; n < scores.rows; ++n) {
        double* score = scores[n];
        const double best = *std::max_element(score, score + scores.cols);
        if (!std::isfinite(best)) {  // impossible under every component (or +inf, NaN: passed on for the chain to report)
            log_evidence[n] = best;
            std::fill(score, score + scores.cols, 0.0);
            continue;
        }
        double total = 0;
        for (std::size_t k = 0; k < scores.cols; ++k) total += score[k] = std::exp(beta * (score[k] - best));
        for (std::size_t k = 0; k < scores.cols; ++k) score[k] *= outer[n] / total;
        log_evidence[n] = best + std::log(total) / beta;
    }
}

void independent_hard(Matrix<double> scores, Span<const double> outer, Span<std::int64_t> best,
                      Span<double> log_evidence) {
    for (std::size_t n = 0; n < scores.rows; ++n) {
        double* score = scores[n];
        const auto k = std::max_element(score, score + scores.cols) - score;  // the first among equals
        best[n] = k;
        log_evidence[n] = score[k];
        std::fill(score, score + scores.cols, 0.0);
        if (std::isfinite(log_evidence[n])) score[k] = outer[n];
    }
}

}  // namespace halfseen
