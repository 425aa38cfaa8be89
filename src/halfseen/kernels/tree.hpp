// Charts over sentences. Formulas, arguments and layout: tree.py and structures/grammar.py.
#pragma once

#include "spans.hpp"

namespace halfseen {

struct TreeForms {
    Matrix<const std::int32_t> binary;             // (R, 4)  left, right, parent, cell
    Span<const std::int64_t> first;                // (M + 1,)
    Span<const std::int32_t> by_parent;            // (R,)
    Span<const std::int64_t> parent_first;         // (M + 1,)
    Matrix<const std::int32_t> unary;              // (U, 3)  parent, child, cell
    Span<const std::int64_t> unary_first;          // (M + 1,)
    Span<const std::int32_t> unary_by_parent;      // (U,)
    Matrix<const std::int64_t> stages;             // (Q, 6)
    Span<const std::int32_t> members;
    Span<const std::int64_t> sizes;                // full, symbols, start
    bool dense;                                    // whether most triples of symbols are rules

    std::size_t n_full() const { return sizes[0]; }
    std::size_t n_symbols() const { return sizes[1]; }
    std::size_t start() const { return sizes[2]; }
};

struct TreeSentences {
    Span<const std::int64_t> slot_first;
    Matrix<const std::int32_t> entries;            // (E, 2)  symbol, cell
    Span<const std::int32_t> tokens;
    Span<const std::int64_t> ends;                 // (S + 1,)
    Span<const std::uint8_t> allowed;
    Span<const std::int64_t> allowed_first;        // (S,)

    std::size_t size() const { return ends.size - 1; }
};

void tree_soft(
    Span<const double> table,                      // (C + 1,)  in
    Span<const double> closure,                    // in
    const TreeForms& forms,
    const TreeSentences& sentences,
    Span<const double> weight,                     // (S,)  in
    Span<double> counts,                           // (C + 1,)  added to
    Span<double> log_evidence);                    // (S,)  out, NaN where nothing came out

void tree_parsable(
    Span<const double> table,
    Span<const double> closure,
    const TreeForms& forms,
    const TreeSentences& sentences,
    Span<std::uint8_t> found);                     // (S,)  out

std::int64_t tree_best(
    Span<const double> log_table,
    const TreeForms& forms,
    const TreeSentences& sentences,
    Span<std::int64_t> steps,                      // out
    Span<std::int64_t> step_ends,                  // (S + 1,)  out
    Span<double> log_evidence);                    // (S,)  out

std::int64_t tree_draw(
    Span<const double> table,
    Span<const double> closure,
    const TreeForms& forms,
    const TreeSentences& sentences,
    Span<const std::int64_t> times,                // (S,)  in
    Span<const double> uniforms,                   // in
    Span<std::int64_t> steps,                      // out
    Span<std::int64_t> step_ends,                  // out
    Span<double> log_evidence);                    // (S,)  out

}  // namespace halfseen
