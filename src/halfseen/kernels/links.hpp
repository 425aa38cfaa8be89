// Links between the words of sentence pairs. Formulas and layout: links.py.
#pragma once

#include "spans.hpp"

namespace halfseen {

// Pairs in one direction, and where their target words look.
struct Bitext {
    int kind;                            // of the place: 0 uniform, 1 diagonal, 2 jumps
    bool null;                           // whether there is NULL
    Matrix<const std::int64_t> pairs;    // (P, 5)
    Span<const std::int64_t> cells;      // (P,)
    Span<const std::uint8_t> allowed;    // (n + 1, m) of every pair, or empty
    Span<const double> place;
};

// A lexicon, and where its source words stand; of source words begin .. end.
struct Lexicon {
    Span<const std::int64_t> firsts;     // (V + 1,)
    Span<const std::int32_t> columns;    // (S,)
    Matrix<const std::int64_t> ends;     // (L, V + 1)
    Span<const std::int64_t> spans;      // (O,)
    Span<const std::int64_t> places;     // (O,), or empty: the target words themselves
    Matrix<const std::int64_t> step_ends;  // (L, V + 1)
    Span<const std::uint16_t> steps;     // one for each link of words with short rows, or empty
    Span<const std::int32_t> target;
    std::size_t n_target, begin, end;
};

void links_posterior(
    const Bitext& text,
    Span<const double> weight,           // (P,)  in
    Span<double> chance,                 // in, out: weight * posterior
    Span<double> stats,                  // added to, or empty
    Span<double> log_evidence);          // (P,)  out

void links_agree(
    const Bitext& text,
    const Bitext& back,
    Span<const double> weight,           // (P,)  in
    Span<double> chance,                 // in, out
    Span<double> stats,                  // added to
    Span<double> back_chance,            // in, out
    Span<double> back_stats,             // added to
    Span<double> log_evidence);          // (P,)  out

void links_best(
    const Bitext& text,
    Span<const double> chance,           // in
    Span<std::int32_t> chosen,           // out
    Span<double> log_joint);             // (P,)  out

void links_draw(
    const Bitext& text,
    Span<const double> chance,           // in
    Span<const double> uniforms,         // in
    Span<std::int32_t> chosen,           // out
    Span<double> log_evidence);          // (P,)  out

void links_chances(
    const Lexicon& lexicon,
    Span<const double> table,            // (S,)  in
    Span<double> chance);                // out, rows of these words

void links_counts(
    const Lexicon& lexicon,
    Span<const double> usage,            // in
    Span<double> counts);                // (S,)  added to

void links_sums(
    const Lexicon& lexicon,
    Span<const double> table,            // (S,)  in
    Span<double> sums);                  // added to, one for each target word

void links_uniform(
    bool null,
    Matrix<const std::int64_t> pairs,    // (P, 5)  in
    Span<const double> weight,           // (P,)  in
    Span<double> sums,                   // (N,)  in, out: weight / sum
    Span<double> log_evidence);          // (P,)  out

void links_shares(
    const Lexicon& lexicon,
    Span<const double> table,            // (S,)  in
    Span<const double> shares,           // in
    Span<double> counts);                // (S,)  out

void links_divide(
    Span<const std::int64_t> firsts,     // (V + 1,)  in
    std::size_t begin,
    std::size_t end,
    Span<const double> before,           // (S,)  in
    Span<const double> counts,           // (S,)  in
    Span<double> table);                 // (S,)  out; may be counts

void links_find(
    bool null,
    Matrix<const std::int64_t> pairs,    // (P, 5)  in
    Span<const std::int32_t> source,     // in
    Span<std::int64_t> ends,             // (V + 1,)  out
    Span<std::int64_t> spans,            // (O,)  out
    Span<std::int64_t> places);          // (O,)  out, or empty

void links_steps(
    const Lexicon& lexicon,
    Span<std::uint16_t> steps);          // out, those of these words

// Write the target words that stand together with each source word, ascending: row e at columns[firsts[e]]. With empty
// `columns` only count them: firsts[e + 1] is the size of row e.
void links_rows(
    Matrix<const std::int64_t> pairs,
    Span<const std::int32_t> source,
    Span<const std::int32_t> target,
    std::size_t n_target,
    Span<std::int64_t> firsts,           // (V + 1,)
    Span<std::int32_t> columns);         // (S,) or empty

// Write a lexicon whose target word f is called number[f], ascending again.
void links_turn(
    Span<const std::int64_t> firsts,     // (V + 1,)  in
    std::size_t begin,
    std::size_t end,
    Span<const std::int32_t> number,     // in
    Span<const std::int32_t> columns,    // (S,)  in
    Span<const double> table,            // (S,)  in
    Span<std::int32_t> turned_columns,   // (S,)  out
    Span<double> turned_table);          // (S,)  out

}  // namespace halfseen
