// Chooses the next token.
#pragma once

#include "fence.hpp"

#include <cstdint>
#include <llama.h>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace sotto::llama {

class Sampler {
public:
    // Reads temperature, top_k, top_p, min_p and seed of a request.
    explicit Sampler(const nlohmann::json& body);

    // Chooses from `logits`, one per token, which it may change. `scratch` keeps its room for the next time.
    // Throws Error(SOTTO_ERROR_INFERENCE) where no number is the largest.
    llama_token choose(float* logits, std::int32_t count, std::vector<llama_token_data>& scratch);

private:
    struct Free {
        void operator()(llama_sampler* sampler) const noexcept { llama_sampler_free(sampler); }
    };
    std::unique_ptr<llama_sampler, Free> chain_; // none: the likeliest
};

} // namespace sotto::llama
