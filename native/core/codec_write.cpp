// The half of the codec that writes.
#include "core/codec.hpp"

#include <cmath>
#include <utility>

#include "text/json_reader.hpp"

namespace sotto {
namespace {

using Ordered = nlohmann::ordered_json; // so that people find what they look for where they expect it

double rounded(double ms) {
    constexpr double kThousandth = 1000;
    return std::round(ms * kThousandth) / kThousandth;
}

Ordered usage(const Counts& counts) {
    return {
        {"prompt_tokens", counts.prompt},
        {"completion_tokens", counts.generated},
        {"total_tokens", counts.prompt + counts.generated},
        {"prompt_tokens_details", {{"cached_tokens", counts.cached}}},
    };
}

Ordered timings(const Counts& counts) {
    return {
        {"cache_n", counts.cached},
        {"prompt_n", counts.prompt - counts.cached},
        {"prompt_ms", rounded(counts.prompt_ms)},
        {"predicted_n", counts.generated},
        {"predicted_ms", rounded(counts.generated_ms)},
        {"first_token_ms", rounded(counts.first_token_ms)},
    };
}

std::string text_of(const Ordered& value) {
    return value.dump(-1, ' ', false, Ordered::error_handler_t::replace);
}

Ordered head(const std::string& id, const char* object, std::int64_t created, const std::string& model) {
    return {{"id", id}, {"object", object}, {"created", created}, {"model", model}};
}

} // namespace

Writer::Writer(sotto_op op, sotto_request request, std::string model, std::int64_t created_s)
    : op_(op), id_((op == SOTTO_OP_CHAT ? "chatcmpl-" : "cmpl-") + std::to_string(request)),
      model_(std::move(model)), created_(created_s) {}

std::string Writer::chunk(std::string_view text) {
    Ordered choice = {{"index", 0}};
    auto whole =
        head(id_, op_ == SOTTO_OP_CHAT ? "chat.completion.chunk" : "text_completion", created_, model_);
    if (op_ == SOTTO_OP_CHAT) {
        Ordered delta = Ordered::object();
        if (!std::exchange(began_, true)) {
            delta["role"] = "assistant";
        }
        delta["content"] = text;
        choice["delta"] = std::move(delta);
    } else {
        choice["text"] = text;
    }
    choice["finish_reason"] = nullptr;
    whole["choices"] = Ordered::array({std::move(choice)});
    return text_of(whole);
}

std::string Writer::last_chunk(std::string_view reason, const Counts& counts) const {
    const bool chat = op_ == SOTTO_OP_CHAT;
    auto whole = head(id_, chat ? "chat.completion.chunk" : "text_completion", created_, model_);
    Ordered choice = {{"index", 0}};
    if (chat) {
        choice["delta"] = began_ ? Ordered::object() : Ordered{{"role", "assistant"}};
    } else {
        choice["text"] = "";
    }
    choice["finish_reason"] = reason;
    whole["choices"] = Ordered::array({std::move(choice)});
    whole["timings"] = timings(counts);
    return text_of(whole);
}

std::string Writer::usage_chunk(const Counts& counts) const {
    auto whole =
        head(id_, op_ == SOTTO_OP_CHAT ? "chat.completion.chunk" : "text_completion", created_, model_);
    whole["choices"] = Ordered::array();
    whole["usage"] = usage(counts);
    return text_of(whole);
}

std::string Writer::response(std::string_view text, std::string_view reason, const Counts& counts) const {
    const bool chat = op_ == SOTTO_OP_CHAT;
    auto whole = head(id_, chat ? "chat.completion" : "text_completion", created_, model_);
    Ordered choice = {{"index", 0}};
    if (chat) {
        choice["message"] = {{"role", "assistant"}, {"content", text}};
    } else {
        choice["text"] = text;
    }
    choice["finish_reason"] = reason;
    whole["choices"] = Ordered::array({std::move(choice)});
    whole["usage"] = usage(counts);
    whole["timings"] = timings(counts);
    return text_of(whole);
}

} // namespace sotto
