// Sums over the unobserved variables of networks. Formulas and layout: network.py.
#pragma once

#include "spans.hpp"

namespace halfseen {

void network_soft(Span<const double> table, Matrix<const std::int64_t> schemes, Matrix<const std::int64_t> buckets,
                  Matrix<const std::int64_t> factors, Span<const std::int32_t> local, Span<const std::int32_t> base,
                  Span<const double> weight, Span<double> room, Span<double> counts, Span<double> log_evidence);

}  // namespace halfseen
