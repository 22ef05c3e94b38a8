// Writes responses and chunks.
#include "core/codec/codec.hpp"

#include <cmath>
#include <cstdio>
#include <utility>

#include "text/ordered_json.hpp"

namespace sotto {
namespace {

const char* finish_name(sotto_finish finish) noexcept {
    switch (finish) {
    case SOTTO_FINISH_LENGTH:
        return "length";
    case SOTTO_FINISH_TOOL_CALLS:
        return "tool_calls";
    default:
        return "stop";
    }
}

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
    Ordered json = {
        {"cache_n", counts.cached},
        {"prompt_n", counts.prompt - counts.cached},
        {"prompt_ms", rounded(counts.prompt_ms)},
        {"predicted_n", counts.generated},
        {"predicted_ms", rounded(counts.generated_ms)},
        {"first_token_ms", rounded(counts.first_token_ms)},
    };
    if (counts.dropped > 0) {
        json["dropped_messages"] = counts.dropped;
    }
    return json;
}

Ordered head(const std::string& id, const char* object, std::int64_t created, const std::string& model) {
    return {{"id", id}, {"object", object}, {"created", created}, {"model", model}};
}

Ordered function_call(const Call& call) {
    return {
        {"id", call.id},
        {"type", "function"},
        {"function", {{"name", call.name}, {"arguments", call.arguments}}},
    };
}

Ordered call_delta(const Delta& delta) {
    Ordered call = {{"index", delta.call}};
    Ordered function = Ordered::object();
    if (!delta.name.empty()) {
        call["id"] = delta.id;
        call["type"] = "function";
        function["name"] = delta.name;
    }
    function["arguments"] = delta.text;
    call["function"] = std::move(function);
    return Ordered::array({std::move(call)});
}

// Chat schema of log probabilities: a list of tokens, each with its alternatives.
Ordered chat_logprobs(const std::vector<std::string>& entries) {
    auto content = Ordered::array();
    for (const auto& entry : entries) {
        content.push_back(parse_ordered(entry));
    }
    return {{"content", std::move(content)}};
}

// Returns a token's text for the completions schema, or its bytes if they are not complete characters.
std::string token_text(const Ordered& token) {
    auto text = token.value("token", "");
    const auto bytes = token.value("bytes", std::vector<std::uint8_t>());
    if (bytes.empty() || text == std::string(bytes.begin(), bytes.end())) {
        return text;
    }
    text = "bytes:";
    for (const auto byte : bytes) {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned>(byte));
        text += escape;
    }
    return text;
}

// Completions schema of log probabilities: one list for each property.
Ordered text_logprobs(const std::vector<std::string>& entries) {
    Ordered json = {
        {"tokens", Ordered::array()}, {"token_logprobs", Ordered::array()}, {"top_logprobs", Ordered::array()}
    };
    for (const auto& entry : entries) {
        const auto token = parse_ordered(entry);
        json["tokens"].push_back(token_text(token));
        json["token_logprobs"].push_back(token.value("logprob", 0.0));
        auto likeliest = Ordered::object();
        for (const auto& other : token.value("top_logprobs", Ordered::array())) {
            // Of two alternatives with the same text, emplace() keeps the first, more likely one.
            likeliest.emplace(token_text(other), other.value("logprob", 0.0));
        }
        json["top_logprobs"].push_back(std::move(likeliest));
    }
    return json;
}

Ordered message_of(const CompleteAnswer& complete) {
    Ordered message = {{"role", "assistant"}, {"content", complete.text}};
    if (complete.text.empty() && !complete.calls.empty()) {
        message["content"] = nullptr;
    }
    if (!complete.reasoning.empty()) {
        message["reasoning_content"] = complete.reasoning;
    }
    if (!complete.calls.empty()) {
        message["tool_calls"] = Ordered::array();
        for (const auto& call : complete.calls) {
            message["tool_calls"].push_back(function_call(call));
        }
    }
    return message;
}

} // namespace

Writer::Writer(
    sotto_op op,
    sotto_request request,
    std::string model,
    std::int64_t created_s,
    std::vector<std::string> ignored
)
    : op_(op), id_((op == SOTTO_OP_CHAT ? "chatcmpl-" : "cmpl-") + std::to_string(request)),
      model_(std::move(model)), created_(created_s), ignored_(std::move(ignored)) {}

// Returns true on the first call with `index`: the next chunk is the first one of that answer.
bool Writer::first(std::uint32_t index) {
    if (began_.size() <= index) {
        began_.resize(index + 1);
    }
    const bool was = began_[index];
    began_[index] = true;
    return !was;
}

std::string Writer::chunk(std::uint32_t index, const Delta& delta, const std::vector<std::string>& logprobs) {
    Ordered choice = {{"index", index}};
    auto whole = head(id_, is_chat() ? "chat.completion.chunk" : "text_completion", created_, model_);
    if (is_chat()) {
        Ordered json = Ordered::object();
        if (first(index)) {
            json["role"] = "assistant";
        }
        switch (delta.kind) {
        case Delta::Kind::text:
            json["content"] = delta.text;
            break;
        case Delta::Kind::reasoning:
            json["reasoning_content"] = delta.text;
            break;
        case Delta::Kind::call:
            json["tool_calls"] = call_delta(delta);
            break;
        }
        choice["delta"] = std::move(json);
    } else {
        choice["text"] = delta.text;
    }
    if (!logprobs.empty()) {
        choice["logprobs"] = is_chat() ? chat_logprobs(logprobs) : text_logprobs(logprobs);
    }
    choice["finish_reason"] = nullptr;
    whole["choices"] = Ordered::array({std::move(choice)});
    return to_text(whole);
}

std::string Writer::last_chunk(
    std::uint32_t index, sotto_finish finish, const std::vector<std::string>& logprobs, const Counts& counts
) {
    auto whole = head(id_, is_chat() ? "chat.completion.chunk" : "text_completion", created_, model_);
    Ordered choice = {{"index", index}};
    if (is_chat()) {
        choice["delta"] = first(index) ? Ordered{{"role", "assistant"}} : Ordered::object();
    } else {
        choice["text"] = "";
    }
    if (!logprobs.empty()) {
        choice["logprobs"] = is_chat() ? chat_logprobs(logprobs) : text_logprobs(logprobs);
    }
    choice["finish_reason"] = finish_name(finish);
    whole["choices"] = Ordered::array({std::move(choice)});
    whole["timings"] = timings(counts);
    if (!ignored_.empty()) {
        whole["sotto"] = {{"ignored_fields", ignored_}};
    }
    return to_text(whole);
}

std::string Writer::usage_chunk(const Counts& counts) const {
    auto whole = head(id_, is_chat() ? "chat.completion.chunk" : "text_completion", created_, model_);
    whole["choices"] = Ordered::array();
    whole["usage"] = usage(counts);
    return to_text(whole);
}

std::string Writer::response(const std::vector<CompleteAnswer>& answers, const Counts& counts) const {
    auto whole = head(id_, is_chat() ? "chat.completion" : "text_completion", created_, model_);
    whole["choices"] = Ordered::array();
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const auto& complete = answers[i];
        Ordered choice = {{"index", i}};
        if (is_chat()) {
            choice["message"] = message_of(complete);
        } else {
            choice["text"] = complete.text;
        }
        if (!complete.logprobs.empty()) {
            choice["logprobs"] =
                is_chat() ? chat_logprobs(complete.logprobs) : text_logprobs(complete.logprobs);
        }
        choice["finish_reason"] = finish_name(complete.finish);
        whole["choices"].push_back(std::move(choice));
    }
    whole["usage"] = usage(counts);
    whole["timings"] = timings(counts);
    if (!ignored_.empty()) {
        whole["sotto"] = {{"ignored_fields", ignored_}};
    }
    return to_text(whole);
}

std::string Writer::call(const Call& call) {
    return to_text(function_call(call));
}

std::string Writer::message(const CompleteAnswer& complete) {
    auto message = message_of(complete);
    message.erase("reasoning_content");
    return to_text(message);
}

} // namespace sotto
