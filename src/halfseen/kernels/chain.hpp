// Declarations of the kernels of chains; the formulas stand in chain.py, whose functions have the same names and
// arguments. W = K padded to whole registers.
#pragma once

#include "spans.hpp"

namespace halfseen {

std::size_t chain_room(Span<const std::int64_t> lengths, std::size_t n_states);

void chain_soft(
    Span<const double> start,           // (K,)    in, probabilities
    Matrix<const double> trans,         // (K, K)  in, probabilities
    Span<const std::int64_t> lengths,   // (B,)    in
    Span<const double> outer,           // (B,)    in
    Matrix<double> scores,              // (N, K)  in; out: usage
    Span<double> work,                  // (chain_room,)  scratch
    Span<double> start_usage,           // (K,)    added to
    Matrix<double> trans_usage,         // (K, K)  added to
    Span<double> log_evidence);         // (B,)    out; NaN: the sequence was left as it was

struct ChainEmissions {
    Matrix<const double> table;         // (R, W)  probabilities of groups of categories
    Matrix<const double> mean;          // (D, W)
    Matrix<const double> half_precision;// (D, W)  1 / (2 var)
    Matrix<const double> half_log;      // (D, W)  log(2 pi var) / 2
    Matrix<const double> rate;          // (P, W)
    Matrix<const double> log_rate;      // (P, W)  -1e300 for log 0
};

struct ChainSteps {
    Matrix<const std::uint16_t> cells;  // (N, G)  row of `table` for each group of columns
    Matrix<const double> values;        // (N, D)  NaN = missing
    Matrix<const double> counts;        // (N, P)  NaN = missing
    Matrix<const double> constants;     // (N, P)  log Poisson(counts; unit), 0 where missing
};

struct ChainSums {
    Matrix<double> table;               // (R, W)     added to
    Stack<double> moments;              // (3, D, W)  added to, about `mean`
    Stack<double> sums;                 // (3, P, W)  added to: mass, events, constants
};

void chain_fused(
    Span<const double> start,           // (W,)    in
    Matrix<const double> trans,         // (W, W)  in
    const ChainEmissions& model,
    Span<const std::int64_t> lengths,   // (B,)    in
    Span<const double> outer,           // (B,)    in
    const ChainSteps& steps,
    Span<double> work,                  // (chain_room,)  scratch
    Span<double> start_usage,           // (W,)    added to
    Matrix<double> trans_usage,         // (W, W)  added to
    const ChainSums& sums,
    Span<double> log_evidence);         // (B,)    out; NaN: the sequence added nothing

void chain_filter(
    Span<const double> start, Matrix<const double> trans, Span<const std::int64_t> lengths,
    Matrix<double> scores,              // (N, K)  in; out: p(state at t | observed up to t)
    Span<double> work,                  // (chain_room,)  scratch
    Span<double> log_evidence);         // (B,)    out; NaN: the sequence was left as it was

void chain_soft_log(
    Span<const double> log_start, Matrix<const double> log_trans, Span<const std::int64_t> lengths,
    Span<const double> outer,
    Matrix<double> scores,              // (N, K)  in; out: usage
    Matrix<double> work,                // (T + 2, K)  scratch, T the longest sequence
    Span<double> start_usage, Matrix<double> trans_usage, Span<double> log_evidence);

void chain_filter_log(
    Span<const double> log_start, Matrix<const double> log_trans, Span<const std::int64_t> lengths,
    Matrix<double> scores,              // (N, K)  in; out: log p(state at t | observed up to t)
    Span<double> log_evidence);

void chain_hard(
    Span<const double> log_start, Matrix<const double> log_trans, Span<const std::int64_t> lengths,
    Span<const double> outer,
    Matrix<double> scores,              // (N, K)  in; out: usage
    Matrix<std::int32_t> back,          // (N, K)  scratch
    Span<std::int64_t> path,            // (N,)    out
    Span<double> start_usage, Matrix<double> trans_usage, Span<double> log_evidence);

void chain_draw(
    Matrix<const double> log_trans, Span<const std::int64_t> lengths,
    Matrix<const double> log_filtered,  // (N, K)  in
    Span<const double> uniforms,        // (N,)    in
    Span<std::int64_t> path);           // (N,)    out

}  // namespace halfseen
