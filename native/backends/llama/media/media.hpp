// Extracts images and sounds from requests, and describes the prompt tokens that stand for them.
#pragma once

#include "runtime/fence.hpp"

#include <cstddef>
#include <llama.h>
#include <memory>
#include <mtmd.h>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace sotto::llama {

class Projector;

struct FreeChunk {
    void operator()(mtmd_input_chunk* chunk) const noexcept { mtmd_input_chunk_free(chunk); }
};
using Chunk = std::shared_ptr<const mtmd_input_chunk>;

// A part of a prompt that is not text. Its placeholder tokens are negative, outside of the vocabulary, and
// derived from its bytes, so that prefix caching works: equal tokens mean equal content.
struct Stretch {
    Chunk chunk;                   // input of the encoder
    std::size_t begin = 0;         // index of its first token in the prompt
    std::size_t tokens = 0;        // number of its placeholder tokens and KV cells
    llama_pos positions = 0;       // at most `tokens`; fewer if the model numbers rows and columns
    bool whole = false;            // its prefill cannot be split
    bool together = false;         // must be prefilled in one batch
    std::vector<float> embeddings; // output of the encoder, kept during prefill

    std::size_t end() const noexcept { return begin + tokens; }
};

// The tokens of one image or sound: its placeholder tokens, and the model's own tokens around them.
struct Medium {
    std::vector<llama_token> tokens;
    std::vector<Stretch> stretches; // `begin` is relative to the medium's first token
};

inline constexpr const char* kMediaMarker = "media_marker";

// Returns true if a message, or the prompt, has parts that are not text.
bool has_media(const nlohmann::ordered_json& body);

// Throws Error if `part`, in the list at `path`, is an image or a sound that take_media() did not extract.
void check_reads(const nlohmann::ordered_json& part, const std::string& path);

// Extracts images and sounds from the messages and the prompt. Replaces each by {"type": kMediaMarker,
// "medium": N}, a type that requests cannot contain. Throws Error with the JSON path of a part that cannot
// be decoded.
std::vector<Medium> take_media(nlohmann::ordered_json& body, const Projector& projector);

} // namespace sotto::llama
