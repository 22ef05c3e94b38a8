// Chooses the next token.
#include "sampler.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

namespace sotto::llama {
namespace {

using Json = nlohmann::json;

// A field of the request, which the engine has checked; `otherwise` where it is absent or null.
template <typename T>
T field(const Json& body, const char* name, T otherwise) {
    const auto found = body.find(name);
    return found == body.end() || found->is_null() ? otherwise : found->get<T>();
}

std::uint32_t seed_of(const Json& body) {
    const auto found = body.find("seed");
    if (found == body.end() || found->is_null()) {
        return std::random_device{}() % LLAMA_DEFAULT_SEED; // which itself asks llama.cpp for a random one
    }
    const auto seed = found->get<std::uint64_t>();
    return static_cast<std::uint32_t>((seed ^ seed >> 32) % LLAMA_DEFAULT_SEED);
}

llama_token likeliest(const float* logits, std::int32_t count) {
    llama_token best = 0;
    for (llama_token token = 1; token < count; ++token) {
        if (logits[token] > logits[best]) {
            best = token;
        }
    }
    return best;
}

} // namespace

Sampler::Sampler(const Json& body) {
    const auto temperature = field(body, "temperature", 0.8f);
    if (temperature <= 0) {
        return;
    }
    chain_.reset(llama_sampler_chain_init(llama_sampler_chain_default_params()));
    auto* chain = chain_.get();
    if (const auto top_k = field(body, "top_k", 40); top_k > 0) {
        llama_sampler_chain_add(chain, llama_sampler_init_top_k(top_k));
    }
    if (const auto top_p = field(body, "top_p", 0.95f); top_p < 1) {
        llama_sampler_chain_add(chain, llama_sampler_init_top_p(top_p, 1));
    }
    if (const auto min_p = field(body, "min_p", 0.05f); min_p > 0) {
        llama_sampler_chain_add(chain, llama_sampler_init_min_p(min_p, 1));
    }
    llama_sampler_chain_add(chain, llama_sampler_init_temp(temperature));
    llama_sampler_chain_add(chain, llama_sampler_init_dist(seed_of(body)));
}

llama_token Sampler::choose(float* logits, std::int32_t count, std::vector<llama_token_data>& scratch) {
    for (std::int32_t i = 0; i < count; ++i) {
        if (std::isnan(logits[i])) {
            throw Error(SOTTO_ERROR_INFERENCE, "the model computes no numbers: its weights are damaged");
        }
    }
    if (!chain_) {
        return likeliest(logits, count);
    }
    scratch.resize(static_cast<std::size_t>(count));
    for (llama_token token = 0; token < count; ++token) {
        scratch[static_cast<std::size_t>(token)] = {token, logits[token], 0.0f};
    }
    llama_token_data_array candidates = {scratch.data(), scratch.size(), -1, false};
    llama_sampler_apply(chain_.get(), &candidates);
    if (candidates.selected < 0 || candidates.selected >= static_cast<std::int64_t>(candidates.size)) {
        throw Error(SOTTO_ERROR_INFERENCE, "no token is left to choose");
    }
    const auto token = candidates.data[candidates.selected].id;
    llama_sampler_accept(chain_.get(), token);
    return token;
}

} // namespace sotto::llama
