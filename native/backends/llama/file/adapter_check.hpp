// Validates the file of a LoRA adapter against its model, before llama.cpp reads it.
#pragma once

#include "file/gguf_check.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sotto::llama {

// The properties of a model that its adapters must match.
struct AdapterBase {
    std::string architecture;
    std::map<std::string, std::vector<std::uint64_t>, std::less<>> tensors; // four extents for each tensor
};

struct AdapterFacts {
    std::uint64_t weights = 0; // bytes of all tensors
    std::uint64_t widest = 0;  // longest output row of a B matrix, in elements
    std::uint64_t hash = 0;    // hash of the whole file; 0 with AdapterCheck::Header
};

enum class AdapterCheck {
    Header,
    All // also checks that all numbers are finite
};

// Validates the file of an adapter. Throws Error(SOTTO_ERROR_MODEL) with the reason if the file is invalid or
// does not match `base`, Error(SOTTO_ERROR_UNSUPPORTED) if this kind of adapter is not supported.
AdapterFacts check_adapter(Source& source, const AdapterBase& base, AdapterCheck what);

} // namespace sotto::llama
