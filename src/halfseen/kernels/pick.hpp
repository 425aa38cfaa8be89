// HALFSEEN_FOR_EACH_ISA(declare) declares kernels once per instruction set; HALFSEEN_PICK(call) calls those of the widest
// set that this machine has.
#pragma once

namespace halfseen {

const char* instruction_set();

}  // namespace halfseen

#ifdef HALFSEEN_X86
#define HALFSEEN_FOR_EACH_ISA(declare) declare(baseline) declare(avx2) declare(avx512)
#define HALFSEEN_PICK(call)                                                                                          \
    static const char* isa = instruction_set();                                                                      \
    if (isa[3] == '5') return avx512::call;                                                                          \
    if (isa[0] == 'a') return avx2::call;                                                                            \
    return baseline::call
#else
#define HALFSEEN_FOR_EACH_ISA(declare) declare(baseline)
#define HALFSEEN_PICK(call) return baseline::call
#endif
