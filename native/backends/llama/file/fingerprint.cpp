// Identifies the models for which a saved state is valid.
#include "file/fingerprint.hpp"

#include "runtime/json_parts.hpp"

#include <algorithm>
#include <llama.h>

#define XXH_INLINE_ALL
#include <hash/xxhash/xxhash.h>

namespace sotto::llama {
namespace {

std::string hex(std::uint64_t value) {
    char text[17] = "";
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
    return text;
}

} // namespace

std::string file_hash(Source& file) {
    constexpr std::uint64_t kBeginning = 1 << 20;
    constexpr std::uint64_t kPiece = 4096;
    constexpr std::uint64_t kPieces = 256;
    std::vector<char> bytes(std::min(kBeginning, file.size()));
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    const auto add = [&](std::uint64_t offset) {
        const auto count = std::min<std::uint64_t>(bytes.size(), file.size() - offset);
        file.read(offset, bytes.data(), count);
        XXH3_64bits_update(&state, bytes.data(), count);
    };
    add(0);
    bytes.resize(std::min<std::size_t>(bytes.size(), kPiece));
    const auto rest = file.size() - std::min(kBeginning, file.size());
    for (std::uint64_t i = 0; i < kPieces && rest > 0; ++i) {
        add(kBeginning + rest / kPieces * i);
    }
    const auto size = file.size();
    XXH3_64bits_update(&state, &size, sizeof size);
    return hex(XXH3_64bits_digest(&state));
}

std::string fingerprint(Source& file, const Options& options) {
    Json json = {
        {"model", file_hash(file)},
        {"library", std::string("llama.cpp ") + llama_version() + ", of " SOTTO_LLAMA_ORIGIN},
        {"kv_type", options.kv_type == Options::KvType::Q8_0 ? "q8_0" : "f16"},
        {"flash_attention", static_cast<int>(options.flash_attention)},
        {"adapters", Json::array()},
        {"form", 2}, // version of the state's format
    };
    if (options.rope.base != 0 || options.rope.scale != 0) { // cached keys are rotated
        json["rope"] = {options.rope.base, options.rope.scale};
    }
    return text_of(json);
}

} // namespace sotto::llama
