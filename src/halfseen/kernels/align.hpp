// Declarations of the kernels of transcripts; the formulas stand in align.py, whose functions have the same names and
// arguments. A graph has L nodes and A arcs, sorted by the node they lead to; source -1 is the beginning, target L the
// end. One call is a block of R rows of one utterance; row r has the nodes of its band.
#pragma once

#include "spans.hpp"

namespace halfseen {

struct AlignGraph {
    Span<const std::int64_t> firsts;    // (L + 2,)  in, arcs into node j are firsts[j] .. firsts[j + 1]
    Span<const std::int64_t> source;    // (A,)      in
    Span<const double> logs;            // (A,)      in
    Matrix<const std::int64_t> band;    // (R, 2)    in, first and last + 1 of the nodes of each row
};

double align_forward(
    const AlignGraph& graph,
    Span<const std::int64_t> owner,     // (L,)      in, column of `scores` that each node reads
    Matrix<const double> scores,        // (R - 1, E)  in; (R - 2, E) if the last row is the end
    bool best,
    double level,
    Matrix<double> values);             // (R, W)    in: the first row; out: the others

void align_back(
    const AlignGraph& graph,
    Span<const std::int64_t> owner,
    Matrix<const double> values,        // (R, W)    in
    double outer,
    std::int64_t first,
    Span<double> now,                   // (W,)      in: use of the nodes of the last row; out: of the first
    Matrix<double> usage,               // (frames, E)  out, or (0, 0)
    Span<double> arc_usage,             // (A,)      added to
    Matrix<double> times,               // (2, L)    added to
    Stack<const std::int64_t> spans,    // (Q, frames, 2)  in
    Matrix<double> held);               // (Q, frames)  out

std::int64_t align_trace(
    const AlignGraph& graph,
    Matrix<const double> values,
    std::int64_t node,
    Span<std::int64_t> arcs);           // (R - 1,)  out

void align_draw(
    const AlignGraph& graph,
    Matrix<const double> values,
    Matrix<const double> uniforms,      // (N, R - 1)  in
    Span<std::int64_t> nodes,           // (N,)      in: in the last row; out: in the first
    Matrix<std::int64_t> arcs);         // (N, R - 1)  out

double align_free(                      // formulas of the coarse pass: align_coarse.py
    std::size_t n_states,
    Matrix<const double> logs,          // (E, 2)    in
    double enter,
    Matrix<const double> scores,        // (T, E)    in
    Span<std::int64_t> states);         // (T,)      out

void align_match(
    Span<const std::int64_t> units,     // (P,)      in
    Matrix<const float> scores,         // (N, U)    in
    Span<const float> extra,            // (N,)      in
    double skip,
    Span<std::int64_t> places);         // (N,)      out

}  // namespace halfseen
