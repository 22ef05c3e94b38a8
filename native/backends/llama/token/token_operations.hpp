// Operations that need a vocabulary only: tokenize and detokenize.
#pragma once

#include "token/tokenizer.hpp"

#include <functional>
#include <nlohmann/json_fwd.hpp>

namespace sotto::llama {

// Returns the response of a tokenize request. `add_special` adds the tokens that the model wants around a
// text; called if the request asks for them.
std::string tokenize(
    const nlohmann::ordered_json& body,
    const Tokenizer& tokenizer,
    const std::function<void(std::vector<llama_token>&)>& add_special
);
// Returns the response of a detokenize request. Throws Error(SOTTO_ERROR_ARGUMENT) for an unknown token.
std::string detokenize(const nlohmann::ordered_json& body, const Tokenizer& tokenizer);

} // namespace sotto::llama
