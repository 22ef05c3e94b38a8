// Which instructions ggml-cpu was compiled with, and whether this CPU has them.
#pragma once

// Included by a file that is compiled with the tier's flags, so nothing in here may come with code.
namespace sotto::llama {

struct IsaTier {
    const char* name;
    unsigned long long features; // bit i: line i of isa_features.inc
};
extern const IsaTier kIsaTier;

// What the tier needs and this CPU lacks, or nullptr.
const char* missing_isa_feature();
// What the tier was compiled with: the name of feature `i`, or nullptr past the last one. Empty: without it.
const char* isa_feature(unsigned i);

} // namespace sotto::llama
