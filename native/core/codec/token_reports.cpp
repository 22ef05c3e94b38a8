#include "core/codec/token_reports.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace sotto {
namespace {

// Returns the log probabilities of tokens, each with its alternatives, as in OpenAI's chats.
Ordered entries_of(const std::vector<TokenReport>& reports) {
    auto entries = Ordered::array();
    for (const auto& report : reports) {
        if (!report.logprobs.empty()) {
            entries.push_back(parse_ordered(report.logprobs));
        }
    }
    return entries;
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

// Returns a token's log probability, also if its entry has a probability instead.
double logprob_of(const Ordered& token) {
    constexpr double kMin = -9999; // JSON cannot represent infinity
    if (!token.contains("prob")) {
        return token.value("logprob", 0.0);
    }
    return std::max(std::log(token.value("prob", 0.0)), kMin);
}

// Completions schema of log probabilities: one list for each property.
Ordered lists_of(const Ordered& entries) {
    Ordered json = {
        {"tokens", Ordered::array()}, {"token_logprobs", Ordered::array()}, {"top_logprobs", Ordered::array()}
    };
    for (const auto& token : entries) {
        json["tokens"].push_back(token_text(token));
        json["token_logprobs"].push_back(logprob_of(token));
        auto likeliest = Ordered::object();
        const char* others = token.contains("top_probs") ? "top_probs" : "top_logprobs";
        for (const auto& other : token.value(others, Ordered::array())) {
            // Of two alternatives with the same text, emplace() keeps the first, more likely one.
            likeliest.emplace(token_text(other), logprob_of(other));
        }
        json["top_logprobs"].push_back(std::move(likeliest));
    }
    return json;
}

} // namespace

void add_reports(
    Ordered& choice, const std::vector<TokenReport>& reports, bool is_chat, const ResponseParts& parts
) {
    if (parts.tokens) {
        auto tokens = Ordered::array();
        for (const auto& report : reports) {
            tokens.push_back(report.id);
        }
        choice["tokens"] = std::move(tokens);
    }
    auto entries = parts.logprobs ? entries_of(reports) : Ordered::array();
    if (entries.empty()) {
        return;
    }
    if (is_chat) {
        choice["logprobs"] = {{"content", std::move(entries)}};
        return;
    }
    choice["logprobs"] = lists_of(entries);
    if (parts.tokens) {
        choice["completion_probabilities"] = std::move(entries);
    }
}

} // namespace sotto
