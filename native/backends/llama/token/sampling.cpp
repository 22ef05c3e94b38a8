// Converts sampling fields to llama.cpp's parameters. The engine has checked types and ranges.
#include "request/fields.hpp"
#include "runtime/json_parts.hpp"
#include "token/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace sotto::llama {
namespace {

// Reads a field, or its default if it is absent.
template <typename T>
void take(const Json& body, const RequestField& field, T& value) {
    value = value_or(body, field, static_cast<T>(field.fallback));
}

std::uint32_t seed_of(const Json& body, std::uint32_t index) {
    const auto* requested = find(body, field::seed);
    if (requested == nullptr || *requested == -1) {
        // LLAMA_DEFAULT_SEED would make llama.cpp choose a random seed itself
        return std::random_device{}() % LLAMA_DEFAULT_SEED;
    }
    const auto seed = requested->get<std::uint64_t>() + index;
    return static_cast<std::uint32_t>((seed ^ seed >> 32) % LLAMA_DEFAULT_SEED);
}

void take_numbers(const Json& body, common_params_sampling& how) {
    take(body, field::temperature, how.temp);
    take(body, field::dynatemp_range, how.dynatemp_range);
    take(body, field::dynatemp_exponent, how.dynatemp_exponent);
    take(body, field::top_k, how.top_k);
    take(body, field::top_p, how.top_p);
    take(body, field::min_p, how.min_p);
    take(body, field::min_keep, how.min_keep);
    take(body, field::typical_p, how.typ_p);
    take(body, field::top_n_sigma, how.top_n_sigma);
    take(body, field::xtc_probability, how.xtc_probability);
    take(body, field::xtc_threshold, how.xtc_threshold);
    take(body, field::repeat_last_n, how.penalty_last_n);
    take(body, field::repeat_penalty, how.penalty_repeat);
    take(body, field::frequency_penalty, how.penalty_freq);
    take(body, field::presence_penalty, how.penalty_present);
    take(body, field::dry_multiplier, how.dry_multiplier);
    take(body, field::dry_base, how.dry_base);
    take(body, field::dry_allowed_length, how.dry_allowed_length);
    take(body, field::dry_penalty_last_n, how.dry_penalty_last_n);
    how.dry_sequence_breakers =
        value_or(body, field::dry_sequence_breakers, std::move(how.dry_sequence_breakers));
    take(body, field::mirostat, how.mirostat);
    take(body, field::mirostat_tau, how.mirostat_tau);
    take(body, field::mirostat_eta, how.mirostat_eta);
    take(body, field::ignore_eos, how.ignore_eos);
}

// Returns the number of tokens that penalties look back at. `requested`: negative: the whole context. The
// number is capped, because llama.cpp allocates memory for all of these tokens.
std::int32_t window(std::int32_t requested, std::uint32_t context) {
    const auto max = static_cast<std::int32_t>(context);
    return requested < 0 ? max : std::min(requested, max);
}

// Parses samplers: a list of names or a string of letters, each known to llama.cpp.
std::vector<common_sampler_type> samplers_of(const Json& names) {
    std::vector<common_sampler_type> types;
    const auto add = [&](const std::string& name, const std::vector<common_sampler_type>& found) {
        if (found.size() != 1) {
            throw invalid_argument(
                "samplers",
                name,
                "penalties, dry, top_n_sigma, top_k, typ_p, top_p, min_p, xtc or temperature"
            );
        }
        types.push_back(found.front());
    };
    if (names.is_string()) {
        for (const char letter : names.get<std::string>()) {
            add(std::string(1, letter), common_sampler_types_from_chars(std::string(1, letter)));
        }
        return types;
    }
    for (const auto& name : names) {
        add(name.get<std::string>(), common_sampler_types_from_names({name.get<std::string>()}));
    }
    return types;
}

// Parses a token id from the key of a JSON object. Returns -1 if the key is not a number.
std::int64_t number_of(const std::string& key) {
    try {
        std::size_t read = 0;
        const auto number = std::stoll(key, &read);
        return read == key.size() ? number : -1;
    } catch (const std::exception&) {
        return -1;
    }
}

class Biases {
public:
    Biases(const Tokenizer& tokenizer, common_params_sampling& how) : tokenizer_(tokenizer), how_(how) {}

    void add(const Json& body) {
        const auto* biases = find(body, field::logit_bias);
        if (biases == nullptr) {
            return;
        }
        if (biases->is_object()) {
            for (const auto& [key, bias] : biases->items()) {
                add_token(number_of(key), key, bias);
            }
            return;
        }
        for (const auto& pair : *biases) { // a pair [token or text, bias]
            if (pair[0].is_string()) {
                for (const auto token : tokenizer_.cut(pair[0].get<std::string>(), false)) {
                    add_token(token, "", pair[1]);
                }
            } else {
                add_token(pair[0].get<std::int64_t>(), text_of(pair[0]), pair[1]);
            }
        }
    }

private:
    void add_token(std::int64_t token, const std::string& written, const Json& bias) {
        if (!tokenizer_.exists(token)) {
            throw invalid_argument(
                "logit_bias", written, "a token of the model, 0 to " + std::to_string(tokenizer_.size() - 1)
            );
        }
        const auto value = bias.is_boolean() ? -INFINITY : bias.get<float>();
        how_.logit_bias.push_back({static_cast<llama_token>(token), value});
    }

    const Tokenizer& tokenizer_;
    common_params_sampling& how_;
};

} // namespace

common_params_sampling
sampling_of(const Json& body, const Tokenizer& tokenizer, std::uint32_t context, std::uint32_t index) {
    common_params_sampling how;
    how.no_perf = true;
    how.seed = seed_of(body, index);
    take_numbers(body, how);
    how.penalty_last_n = window(how.penalty_last_n, context);
    how.dry_penalty_last_n = window(how.dry_penalty_last_n, context);
    if (const auto* names = find(body, field::samplers)) {
        how.samplers = samplers_of(*names);
    }
    Biases(tokenizer, how).add(body);
    return how;
}

} // namespace sotto::llama
