// Sparse counts: documents of words. Formulas: text.py.
#pragma once

#include "spans.hpp"

namespace halfseen {

// Row n holds entries ends[n] to ends[n + 1] of words and values; the arrays may hold others before and behind.
template <class Value>
struct Documents {
    Span<const std::int64_t> ends;      // (N + 1,)
    Span<const std::int32_t> words;     // (M,)
    Span<const Value> values;           // (M,)

    std::size_t n_rows() const { return ends.size - 1; }
};

template <class Value>
void counts_score(
    const Documents<Value>& rows,
    Matrix<const double> table,         // (V, K)  in
    Matrix<double> scores);             // (N, K)  added to

template <class Value>
void counts_expect(
    const Documents<Value>& rows,
    Matrix<const double> usage,         // (N, K)  in
    Matrix<double> sums);               // (V, K)  added to

template <class Value>
void counts_count(
    const Documents<Value>& rows,
    Span<const std::int64_t> component, // (N,)    in
    Span<const double> weight,          // (N,)    in
    Matrix<double> counts);             // (K, V)  added to

// The sum of counts times logs of shares, 0 log 0 = 0.
double log_inner(
    Matrix<const double> counts,        // (K, V)  in
    Matrix<const double> shares);       // (K, V)  in

void log_turned(
    Matrix<const double> shares,        // (K, V)  in
    Matrix<double> table);              // (V, W)  out, -1e300 for log 0 and in the padding

// W is a multiple of the widest register, 8, and at most 64. Returns the log-likelihood.
template <class Value>
double counts_soft(
    const Documents<Value>& rows,
    Span<const double> weight,          // (N,)    in
    Span<const double> log_mix,         // (W,)    in, -1e300 for log 0 and in the padding
    Matrix<const double> table,         // (V, W)  in, -1e300 for log 0
    Span<double> mix_usage,             // (W,)    added to
    Matrix<double> sums);               // (V, W)  added to

template <class Value>
void counts_best(
    const Documents<Value>& rows,
    Span<const double> log_mix,         // (W,)    in
    Matrix<const double> table,         // (V, W)  in
    Span<std::int64_t> best);           // (N,)    out, -1 in impossible rows

}  // namespace halfseen
