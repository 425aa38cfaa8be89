// Links between the words of sentence pairs. Formulas and layout: links.py.
#pragma once

#include "spans.hpp"

namespace halfseen {

// One direction of a corpus with the probabilities of its links.
struct Bitext {
    int kind;                            // of the place: 0 uniform, 1 diagonal, 2 jumps
    bool null;                           // whether there is NULL
    Matrix<const std::int64_t> pairs;    // (P, 5)
    Span<const std::int64_t> cells;      // (P,)
    Span<const std::int32_t> target;
    Span<const std::int32_t> slots;      // (M,)
    Span<const std::uint8_t> allowed;    // (n + 1, m) of every pair, or empty
    Span<const double> table;            // (S,)
    Span<const double> place;
};

void links_soft(
    const Bitext& text,
    Span<const double> weight,           // (P,)  in
    Span<double> counts,                 // (S,)  added to
    Span<double> stats,                  // added to
    Span<double> log_evidence);          // (P,)  out

void links_posterior(
    const Bitext& text,
    Span<double> posterior,              // out
    Span<double> log_evidence);          // (P,)  out

void links_agree(
    const Bitext& text,
    const Bitext& back,
    Span<const double> weight,           // (P,)  in
    Span<double> counts,                 // added to
    Span<double> stats,                  // added to
    Span<double> back_counts,            // added to
    Span<double> back_stats,             // added to
    Span<double> log_evidence);          // (P,)  out

void links_best(
    const Bitext& text,
    Span<std::int32_t> chosen,           // out
    Span<double> log_joint);             // (P,)  out

void links_draw(
    const Bitext& text,
    Span<const double> uniforms,         // in
    Span<std::int32_t> chosen,           // out
    Span<double> log_evidence);          // (P,)  out

void links_share(
    Span<const std::int32_t> owner,      // (S,)  in, the source word of each cell
    Span<const double> counts,           // (S,)  in
    Span<double> sums,                   // (V,)  out, counts of each source word
    Span<double> table);                 // (S,)  out, shares; 0 of a word without counts

// Write the target words that stand together with each source word, ascending: row e at columns[firsts[e]]. With empty
// `columns` only count them: firsts[e + 1] is the size of row e.
void links_rows(
    Matrix<const std::int64_t> pairs,
    Span<const std::int32_t> source,
    Span<const std::int32_t> target,
    std::size_t n_target,
    Span<std::int64_t> firsts,           // (V + 1,)
    Span<std::int32_t> columns);         // (S,) or empty

// Number the links of some pairs; cells are numbered as they are met, from `next`. Returns the next number.
std::int64_t links_number(
    Matrix<const std::int64_t> pairs,
    Span<const std::int32_t> source,
    Span<const std::int32_t> target,
    Span<const std::int64_t> firsts,
    Span<const std::int32_t> columns,
    std::int64_t next,
    Span<std::int32_t> order,            // (S,)  in, out
    Span<std::int32_t> slots);           // out

}  // namespace halfseen
