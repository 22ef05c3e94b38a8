// Instruction sets that ggml-cpu was compiled with, and whether this CPU supports them.
#pragma once

// Also included by a file that is compiled with the tier's flags, so this header must contain no code.
namespace sotto::llama {

struct IsaTier {
    const char* name;
    unsigned long long features; // bit i: the tier needs entry i of isa_features.inc
};
extern const IsaTier kIsaTier;

// Returns the name of an instruction set that the tier needs and this CPU lacks; nullptr if this CPU has all.
const char* missing_isa_feature();
// Returns true if this CPU supports the instruction set `name` of isa_features.inc; false on other
// architectures.
bool cpu_supports(const char* name);
// Returns true if this CPU has AMX for bfloat16 and the system lets this process use it. The first call asks
// the system, which from then on refuses sigaltstack() with a stack too small for the tile registers.
bool may_use_tiles();
// Returns the name of feature `i` if the tier needs the feature, an empty string if not, and nullptr past the
// last feature.
const char* isa_feature(unsigned i);

} // namespace sotto::llama
