// One conversation at work, and the part of the model's memory that it holds.
#pragma once

#include "sampler.hpp"

#include <cstdint>
#include <llama.h>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace sotto::llama {

class Model;

struct Stream {
    Stream(const nlohmann::json& body, std::vector<llama_token> prompt, llama_seq_id into)
        : sampler(body), tokens(std::move(prompt)), prompt_size(tokens.size()), sequence(into) {}

    // Tokens that the memory does not hold yet. Of an answer that is one, the last token.
    std::size_t pending() const noexcept { return tokens.size() - held; }
    // Whether there is more to work through than an answer's last token. After a step was cut off, a memory
    // that cannot be cut is emptied, and what was answered is worked through again.
    bool in_prompt() const noexcept { return held < prompt_size || pending() > 1; }

    Sampler sampler;
    std::vector<llama_token> tokens; // the prompt, then the answer
    std::size_t prompt_size;
    std::size_t held = 0; // how many of them the memory holds
    llama_seq_id sequence;
    sotto_finish finish = SOTTO_FINISH_NONE;
    std::string text; // of the last token
    std::string why;
};

// One of the parts that a context's memory has, and what it holds while no stream does.
struct Sequence {
    std::vector<llama_token> tokens;
    Stream* stream = nullptr;
    std::uint64_t last_used = 0;
};

} // namespace sotto::llama
