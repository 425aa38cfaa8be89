// Many fits of one small table in one call: EM of mixtures of categories, normal and Poisson columns. Formulas: batch.py.
#pragma once

#include "spans.hpp"

namespace halfseen {

struct SmallTable {
    Matrix<const std::int32_t> codes;   // (N, D)      -1 = missing
    Span<const std::int64_t> starts;    // (D + 1,)    first cell of each column; the last is the number of cells, S
    Matrix<const double> values;        // (N, G)      NaN = missing
    Matrix<const double> counts;        // (N, P)      NaN = missing
    Span<const double> constants;       // (N,)        what counts add to the log-likelihood whatever the rates
};

void batch_em(
    const SmallTable& table,
    Matrix<const double> weights,       // (W, N)  in
    Span<const std::int64_t> which,     // (B,)    in, the weighting of each run
    Span<const double> units,           // (V,)    in, the unit of each parameter, in which steps are measured
    Span<const double> lowest,          // (G,)    in, smallest variances
    double tol,                         //         in, estimated remaining gain at which a run stops
    std::int64_t max_iter,              //         in
    Matrix<double> params,              // (B, V)  in: starts, out: where runs ended
    Matrix<double> found);              // (B, 3)  out: log-likelihood, number of passes, how it ended

}  // namespace halfseen
