#include "platform/cpu.hpp"

#if defined(__x86_64__)
#  include <cpuid.h>
#endif

namespace sotto {

#if defined(__x86_64__)
namespace {

struct Leaf {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
};

Leaf leaf(unsigned number) noexcept {
    Leaf made;
    __get_cpuid_count(number, 0, &made.eax, &made.ebx, &made.ecx, &made.edx);
    return made;
}

constexpr bool all(unsigned bits, unsigned wanted) noexcept {
    return (bits & wanted) == wanted;
}

// Returns true if the operating system saves the register states in the mask `state` (XCR0) on context
// switches. Executes XGETBV in assembly, because the intrinsic needs a compiler flag.
bool system_keeps(unsigned state) noexcept {
    if (!all(leaf(1).ecx, bit_OSXSAVE)) {
        return false;
    }
    unsigned low = 0;
    unsigned high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return all(low, state);
}

} // namespace

// Does not use __builtin_cpu_supports(), which some compilers' runtime libraries lack.
int x86_64_level() noexcept {
    constexpr unsigned kAvxState = 0x6;
    constexpr unsigned kAvx512State = 0xe6;
    constexpr unsigned kLzcnt = 1 << 5;
    const auto basic = leaf(1);
    const auto wide = leaf(7);
    const auto extended = leaf(0x80000001);
    if (!all(basic.ecx, bit_SSE3 | bit_SSSE3 | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT)) {
        return 1;
    }
    if (!all(basic.ecx, bit_AVX | bit_FMA | bit_F16C | bit_MOVBE) ||
        !all(wide.ebx, bit_AVX2 | bit_BMI | bit_BMI2) || !all(extended.ecx, kLzcnt) ||
        !system_keeps(kAvxState)) {
        return 2;
    }
    constexpr unsigned kWidest = bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL;
    return all(wide.ebx, kWidest) && system_keeps(kAvx512State) ? 4 : 3;
}
#else
int x86_64_level() noexcept {
    return 0;
}
#endif

} // namespace sotto
