// Checks the file of a LoRA adapter against its model, before llama.cpp reads it.
#pragma once

#include "file/gguf_check.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sotto::llama {

// The model that an adapter must fit.
struct AdapterBase {
    std::string architecture;
    std::map<std::string, std::vector<std::uint64_t>, std::less<>> tensors; // their extents, 4 each
};

struct AdapterFacts {
    std::uint64_t weights = 0; // bytes of all tensors
    std::uint64_t widest = 0;  // longest output row of a B, in elements
    std::uint64_t hash = 0;    // of the whole file; 0 with AdapterCheck::Header
};

enum class AdapterCheck {
    Header,
    All // also that every number is finite
};

// Throws Error(SOTTO_ERROR_MODEL) that says what is wrong with it, or Error(SOTTO_ERROR_UNSUPPORTED).
AdapterFacts check_adapter(Source& source, const AdapterBase& base, AdapterCheck what);

} // namespace sotto::llama
