// Decides whether an adapter's file may be shown to llama.cpp: that it is of a LoRA adapter for that model.
#pragma once

#include "file/gguf_check.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sotto::llama {

// What an adapter is to fit.
struct AdapterBase {
    std::string architecture;
    std::map<std::string, std::vector<std::uint64_t>, std::less<>> tensors; // their extents, 4 each
};

struct AdapterFacts {
    std::uint64_t weights = 0; // bytes of all tensors
    std::uint64_t widest = 0;  // numbers that the longest row has of what it computes for one token
    std::uint64_t hash = 0;    // of the whole file, where that was read
};

enum class AdapterCheck {
    Header,
    All // also that every number is finite
};

// Throws Error(SOTTO_ERROR_MODEL) that says what is wrong with it, or Error(SOTTO_ERROR_UNSUPPORTED).
AdapterFacts check_adapter(Source& source, const AdapterBase& base, AdapterCheck what);

} // namespace sotto::llama
