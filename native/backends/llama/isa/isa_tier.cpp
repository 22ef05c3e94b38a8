// Records the instruction sets that the compiler was allowed to use. This file is compiled for these
// instruction sets and must contain no code, which this CPU might be unable to run.
#include "isa/isa_tier.hpp"

#define SOTTO_TEXT_OF(macro) #macro
#define SOTTO_TEXT(macro) SOTTO_TEXT_OF(macro)
// An undefined macro expands to its own name, which begins with an underscore.
#define SOTTO_DEFINED(macro) (SOTTO_TEXT(macro)[0] != '_')

namespace sotto::llama {
namespace {

constexpr bool kCompiledWith[] = {
#define SOTTO_ISA(macro, ...) SOTTO_DEFINED(macro),
#include "isa/isa_features.inc"
#undef SOTTO_ISA
};

constexpr unsigned long long feature_bits() {
    unsigned long long bits = 0;
    unsigned i = 0;
    for (const bool with : kCompiledWith) {
        bits |= static_cast<unsigned long long>(with) << i++;
    }
    return bits;
}

} // namespace

constinit const IsaTier kIsaTier = {SOTTO_TIER, feature_bits()};

} // namespace sotto::llama
