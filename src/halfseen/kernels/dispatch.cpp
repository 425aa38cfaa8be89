// Picks the widest instruction set that this machine has.
#include "kernels.hpp"

namespace halfseen {

#define HALFSEEN_DECLARE(isa)                                                                                        \
    namespace isa {                                                                                                  \
    double mixture_soft(const Rows&, const Mixture&, const Sums&);                                                   \
    }
HALFSEEN_DECLARE(baseline)
#ifdef HALFSEEN_X86
HALFSEEN_DECLARE(avx2)
HALFSEEN_DECLARE(avx512)
#endif
#undef HALFSEEN_DECLARE

const char* instruction_set() {
#ifdef HALFSEEN_X86
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return "avx512";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "avx2";
#endif
    return "baseline";
}

double mixture_soft(const Rows& rows, const Mixture& mixture, const Sums& out) {
#ifdef HALFSEEN_X86
    static const char* isa = instruction_set();
    if (isa[3] == '5') return avx512::mixture_soft(rows, mixture, out);
    if (isa[0] == 'a') return avx2::mixture_soft(rows, mixture, out);
#endif
    return baseline::mixture_soft(rows, mixture, out);
}

}  // namespace halfseen
