// The values in effect for a request, as llama.cpp's servers name them.
#include "chat/settings.hpp"

#include "request/fields.hpp"
#include "runtime/json_parts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

namespace sotto::llama {
namespace {

// Returns the number that the request most likely had: 0.8 for the float 0.800000012.
double shortest(float value) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size() - 1, value);
    *end.ptr = '\0';
    return std::strtod(text.data(), nullptr);
}

Json stops_of(const Json& body, const Prepared& prepared) {
    Json stops = prepared.stops;
    if (const auto* requested = find(body, field::stop)) {
        const auto more = requested->is_array() ? *requested : Json::array({*requested});
        stops.insert(stops.end(), more.begin(), more.end());
    }
    return stops;
}

Json biases_of(const common_params_sampling& how) {
    auto biases = Json::array();
    for (const auto& one : how.logit_bias) {
        constexpr float kBan = -100; // as in OpenAI's API: JSON cannot represent infinity
        biases.push_back({{"token", one.token}, {"bias", std::max(shortest(one.bias), double{kBan})}});
    }
    return biases;
}

Json samplers_of(const common_params_sampling& how) {
    auto names = Json::array();
    for (const auto type : how.samplers) {
        names.push_back(common_sampler_type_to_str(type));
    }
    return names;
}

void add_sampling(Json& json, const common_params_sampling& how) {
    json["seed"] = how.seed;
    json["temperature"] = shortest(how.temp);
    json["dynatemp_range"] = shortest(how.dynatemp_range);
    json["dynatemp_exponent"] = shortest(how.dynatemp_exponent);
    json["top_k"] = how.top_k;
    json["top_p"] = shortest(how.top_p);
    json["min_p"] = shortest(how.min_p);
    json["top_n_sigma"] = shortest(how.top_n_sigma);
    json["xtc_probability"] = shortest(how.xtc_probability);
    json["xtc_threshold"] = shortest(how.xtc_threshold);
    json["typical_p"] = shortest(how.typ_p);
    json["repeat_last_n"] = how.penalty_last_n;
    json["repeat_penalty"] = shortest(how.penalty_repeat);
    json["presence_penalty"] = shortest(how.penalty_present);
    json["frequency_penalty"] = shortest(how.penalty_freq);
    json["dry_multiplier"] = shortest(how.dry_multiplier);
    json["dry_base"] = shortest(how.dry_base);
    json["dry_allowed_length"] = how.dry_allowed_length;
    json["dry_penalty_last_n"] = how.dry_penalty_last_n;
    json["dry_sequence_breakers"] = how.dry_sequence_breakers;
    json["mirostat"] = how.mirostat;
    json["mirostat_tau"] = shortest(how.mirostat_tau);
    json["mirostat_eta"] = shortest(how.mirostat_eta);
}

} // namespace

std::string settings_of(
    const Json& body,
    const common_params_sampling& how,
    const TokenProbabilities& probabilities,
    const Prepared& prepared
) {
    constexpr int kNoLimit = -1;
    const auto limit =
        value_or(body, field::max_completion_tokens, value_or(body, field::max_tokens, kNoLimit));
    auto json = Json::object();
    add_sampling(json, how);
    json["stop"] = stops_of(body, prepared);
    json["max_tokens"] = limit;
    json["n_predict"] = limit;
    json["n_keep"] = prepared.keep;
    json["ignore_eos"] = how.ignore_eos;
    json["stream"] = flag(body, field::stream);
    json["logit_bias"] = biases_of(how);
    json["n_probs"] = std::max(probabilities.alternatives, 0);
    json["min_keep"] = how.min_keep;
    json["grammar"] = how.grammar.grammar;
    json["grammar_lazy"] = how.grammar_lazy;
    json["samplers"] = samplers_of(how);
    json["post_sampling_probs"] = probabilities.after_sampling;
    return text_of(json);
}

} // namespace sotto::llama
