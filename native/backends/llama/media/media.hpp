// What a request shows and plays to a model beside its text.
#pragma once

#include "runtime/fence.hpp"

#include <cstddef>
#include <llama.h>
#include <memory>
#include <mtmd.h>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace sotto::llama {

class Projector;

struct FreeChunk {
    void operator()(mtmd_input_chunk* chunk) const noexcept { mtmd_input_chunk_free(chunk); }
};
using Chunk = std::shared_ptr<const mtmd_input_chunk>;

// A stretch of a prompt that is no text. Its tokens are no model's: they are below zero and say which bytes
// it was made from, so that stretches with the same tokens are the same.
struct Stretch {
    Chunk chunk;                   // what the encoder reads
    std::size_t begin = 0;         // where in the prompt
    std::size_t tokens = 0;        // places that it takes in the model's memory
    llama_pos positions = 0;       // fewer where the model counts an image's rows and columns
    bool whole = false;            // cannot be worked through in parts
    bool together = false;         // must be worked through in one batch
    std::vector<float> embeddings; // what the encoder made of it, while it is worked through

    std::size_t end() const noexcept { return begin + tokens; }
};

// What stands for one image or sound in a prompt: the model's own tokens around it, and stretches.
struct Medium {
    std::vector<llama_token> tokens;
    std::vector<Stretch> stretches; // `begin` counts from the medium's first token
};

// Whether any message has parts that are no text.
bool has_media(const nlohmann::ordered_json& body);

// Takes images and sounds out of the messages: in place of each is {"type": "media_marker", "medium": N},
// which only we can write. Throws Error that names the part that cannot be read.
std::vector<Medium> take_media(nlohmann::ordered_json& body, const Projector& projector);

} // namespace sotto::llama
