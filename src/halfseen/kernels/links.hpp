// Links between the words of sentence pairs. Formulas and layout: links.py.
#pragma once

#include "spans.hpp"

namespace halfseen {

// One direction of a corpus with the probabilities of its links. Local is uint16_t or int32_t.
template <class Local>
struct Bitext {
    int kind;                            // of the place: 0 uniform, 1 diagonal, 2 jumps
    Matrix<const std::int64_t> pairs;    // (P, 5)
    Span<const std::int64_t> cells;      // (P,)
    Span<const std::int32_t> source;
    Span<const std::int32_t> target;
    Span<const std::int64_t> firsts;     // (V + 1,)
    Span<const Local> local;             // (M,)
    Span<const std::uint8_t> allowed;    // (n + 1, m) of every pair, or empty
    Span<const double> table;            // (S,)
    Span<const double> place;
};

template <class Local>
void links_soft(
    const Bitext<Local>& text,
    Span<const double> weight,           // (P,)  in
    Span<double> counts,                 // (S,)  added to
    Span<double> stats,                  // added to
    Span<double> log_evidence);          // (P,)  out

template <class Local>
void links_posterior(
    const Bitext<Local>& text,
    Span<double> posterior,              // out
    Span<double> log_evidence);          // (P,)  out

template <class Local, class Back>
void links_agree(
    const Bitext<Local>& text,
    const Bitext<Back>& back,
    Span<const double> weight,           // (P,)  in
    Span<double> counts,                 // added to
    Span<double> stats,                  // added to
    Span<double> back_counts,            // added to
    Span<double> back_stats,             // added to
    Span<double> log_evidence);          // (P,)  out

template <class Local>
void links_best(
    const Bitext<Local>& text,
    Span<std::int32_t> chosen,           // out
    Span<double> log_joint);             // (P,)  out

template <class Local>
void links_draw(
    const Bitext<Local>& text,
    Span<const double> uniforms,         // in
    Span<std::int32_t> chosen,           // out
    Span<double> log_evidence);          // (P,)  out

// Write the target words that stand together with each source word, ascending: row e at columns[firsts[e]]. With empty
// `columns` only count them: firsts[e + 1] is the size of row e.
void links_rows(
    Matrix<const std::int64_t> pairs,
    Span<const std::int32_t> source,
    Span<const std::int32_t> target,
    std::size_t n_target,
    Span<std::int64_t> firsts,           // (V + 1,)
    Span<std::int32_t> columns);         // (S,) or empty

template <class Local>
void links_number(
    Matrix<const std::int64_t> pairs,
    Span<const std::int32_t> source,
    Span<const std::int32_t> target,
    Span<const std::int64_t> firsts,
    Span<const std::int32_t> columns,
    std::int64_t first,
    Span<Local> local);                  // out

}  // namespace halfseen
