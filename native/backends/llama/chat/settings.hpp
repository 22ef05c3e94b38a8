// The values in effect for a request, as llama.cpp's servers name them.
#pragma once

#include "step/stream.hpp"
#include "token/sampler.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace sotto::llama {

// Returns the settings of a request as a JSON object. `body`: the request, whose other fields `how` and
// `prepared` have been made from.
std::string settings_of(
    const nlohmann::ordered_json& body,
    const common_params_sampling& how,
    const TokenProbabilities& probabilities,
    const Prepared& prepared
);

} // namespace sotto::llama
