// Declarations of the kernels of transcripts; the formulas stand in align.py, whose functions have the same names and
// arguments. A graph has L nodes and A arcs, sorted by the node they lead to; source -1 is the beginning, target L the
// end. One call is one utterance of T frames.
#pragma once

#include "spans.hpp"

namespace halfseen {

struct AlignGraph {
    Span<const std::int64_t> firsts;    // (L + 2,)  in, arcs into node j are firsts[j] .. firsts[j + 1]
    Span<const std::int64_t> source;    // (A,)      in
    Span<const double> logs;            // (A,)      in
    Span<const std::int64_t> owner;     // (L,)      in, column of `scores` that each node reads
};

double align_soft(
    const AlignGraph& graph,
    double outer,
    Matrix<double> scores,              // (T, E)  in; out: usage
    Matrix<double> work,                // (blocks + rows, L)  scratch, see align_rows
    Span<double> arc_usage,             // (A,)    added to
    Matrix<double> times,               // (2, L)  added to
    Stack<const std::int64_t> spans,    // (Q, T, 2)  in
    Matrix<double> held);               // (Q, T)  out

double align_hard(
    const AlignGraph& graph,
    Matrix<const double> scores,        // (T, E)  in
    Matrix<double> work,
    Span<std::int64_t> arcs);           // (T + 1,)  out

double align_draw(
    const AlignGraph& graph,
    Matrix<const double> scores,        // (T, E)  in
    Matrix<const double> uniforms,      // (R, T + 1)  in
    Matrix<double> work,
    Matrix<std::int64_t> arcs);         // (R, T + 1)  out

}  // namespace halfseen
