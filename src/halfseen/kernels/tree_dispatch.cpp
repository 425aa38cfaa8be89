// Picks the charts by matrix products for the widest instruction set that this machine has.
#include "pick.hpp"
#include "tree.hpp"

namespace halfseen {

#define HALFSEEN_DECLARE(isa)                                                                                        \
    namespace isa {                                                                                                  \
    void tree_soft_dense(Span<const double>, Span<const double>, const TreeForms&, const TreeSentences&,             \
                         Span<const double>, Span<double>, Span<double>);                                            \
    }
HALFSEEN_FOR_EACH_ISA(HALFSEEN_DECLARE)
#undef HALFSEEN_DECLARE

void tree_soft_dense(Span<const double> table, Span<const double> closure, const TreeForms& forms,
                     const TreeSentences& sentences, Span<const double> weight, Span<double> counts,
                     Span<double> log_evidence) {
    HALFSEEN_PICK(tree_soft_dense(table, closure, forms, sentences, weight, counts, log_evidence));
}

}  // namespace halfseen
