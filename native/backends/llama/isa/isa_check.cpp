// Compares the instruction sets that a tier needs with those of this CPU. Compiled for the baseline CPU.
#include "isa/isa_tier.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#if defined(__x86_64__) || defined(_M_X64)
#  include <cpuid.h>
#  define SOTTO_X86 1
#  ifdef __linux__
#    include <sys/syscall.h>
#    include <unistd.h>
#  endif
#endif

namespace sotto::llama {
namespace {

enum Register { eax, ebx, ecx, edx };

struct Feature {
    const char* name;
    std::uint32_t leaf;
    std::uint32_t subleaf;
    Register where;
    unsigned bit;
    std::uint64_t xcr0; // register states that the operating system must save
};

constexpr Feature kFeatures[] = {
#define SOTTO_ISA(macro, ...) {__VA_ARGS__},
#include "isa/isa_features.inc"
#undef SOTTO_ISA
};

#ifdef SOTTO_X86
std::uint64_t enabled_by_os() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned kOsxsave = 1u << 27;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & kOsxsave) == 0) {
        return 0;
    }
    std::uint32_t low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0)); // the intrinsic would need a compiler flag
    return (static_cast<std::uint64_t>(high) << 32) | low;
}

bool has(const Feature& feature) {
    std::array<unsigned, 4> registers{};
    auto& [a, b, c, d] = registers;
    if (feature.subleaf > 0) { // subleaf 0 returns the number of the last subleaf in eax
        if (!__get_cpuid_count(feature.leaf, 0, &a, &b, &c, &d) || a < feature.subleaf) {
            return false;
        }
    }
    if (!__get_cpuid_count(feature.leaf, feature.subleaf, &a, &b, &c, &d)) {
        return false;
    }
    const bool in_cpu = (registers[feature.where] >> feature.bit & 1) != 0;
    return in_cpu && (enabled_by_os() & feature.xcr0) == feature.xcr0;
}
#else
bool has(const Feature&) {
    return true; // other architectures have one tier, built for the building machine
}
#endif

bool wanted(std::size_t i) {
    return (kIsaTier.features >> i & 1) != 0;
}

} // namespace

const char* missing_isa_feature() {
    for (std::size_t i = 0; i < std::size(kFeatures); ++i) {
        if (wanted(i) && !has(kFeatures[i])) {
            return kFeatures[i].name;
        }
    }
    return nullptr;
}

bool cpu_supports([[maybe_unused]] const char* name) {
#ifdef SOTTO_X86
    return std::any_of(std::begin(kFeatures), std::end(kFeatures), [&](const Feature& one) {
        return std::string_view(one.name) == name && has(one);
    });
#else
    return false;
#endif
}

bool may_use_tiles() {
#if defined(SOTTO_X86) && defined(__linux__)
    constexpr long kRequestPermission = 0x1023; // ARCH_REQ_XCOMP_PERM
    constexpr long kTileData = 18;              // XFEATURE_XTILEDATA
    static const bool may =
        cpu_supports("amx-bf16") && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
    return may;
#else
    return false;
#endif
}

const char* isa_feature(unsigned i) {
    if (i >= std::size(kFeatures)) {
        return nullptr;
    }
    return wanted(i) ? kFeatures[i].name : "";
}

} // namespace sotto::llama
