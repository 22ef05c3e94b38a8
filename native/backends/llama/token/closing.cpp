// Completes a JSON answer before its token limit.
#include "token/closing.hpp"

#include <utility>

namespace sotto::llama {
namespace {

// Tokens needed in addition to one for each open bracket: an escape, a key, its colon and value, a number,
// the end of a Markdown fence.
constexpr std::uint64_t kMargin = 20;
// Logit bonus by rank. The steps are so large that no penalty can reverse the order.
constexpr float kAdded[] = {1e16f, 1e12f, 1e8f, 1e4f};

bool consists_of(std::string_view text, std::string_view characters) {
    return text.find_first_not_of(characters) == std::string_view::npos;
}

} // namespace

ClosingTokens::ClosingTokens(std::int32_t count, const Speller& spell, std::span<const std::int32_t> ends) {
    std::string text;
    for (std::int32_t token = 0; token < count; ++token) {
        spell(token, text);
        if (text == "\"") {
            ranks_[0].push_back(token);
        } else if (!text.empty() && consists_of(text, "}]")) {
            ranks_[1].push_back(token);
        } else if (text == ":" || text == ":\"" || (!text.empty() && consists_of(text, "`"))) {
            ranks_[2].push_back(token);
        } else if (text == "0") {
            ranks_[3].push_back(token);
        }
    }
    ranks_[0].insert(ranks_[0].end(), ends.begin(), ends.end());
}

void ClosingTokens::prefer(float* logits) const {
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
        for (const auto token : ranks_[rank]) {
            logits[token] += kAdded[rank]; // a banned token stays at minus infinity
        }
    }
}

Closing::Closing(const ClosingTokens& tokens, std::uint64_t limit, std::vector<std::string> lead_in_end)
    : tokens_(&tokens), left_(limit), lead_in_end_(std::move(lead_in_end)) {}

void Closing::said(std::string_view bytes) {
    left_ -= left_ > 0 ? 1 : 0;
    if (begun_) {
        scan(bytes);
    } else {
        begin(bytes);
    }
}

void Closing::press(float* logits) {
    if (begun_ && left_ <= depth_ + kMargin) {
        pressed_ = true;
        tokens_->prefer(logits);
    }
}

// Finds the start of the JSON: at once, after a Markdown fence, or after reasoning.
void Closing::begin(std::string_view bytes) {
    lead_in_ += bytes;
    auto from = lead_in_.find_first_of("{[\"");
    if (from != std::string::npos &&
        !consists_of(std::string_view(lead_in_).substr(0, from), " \t\r\n`json")) {
        from = std::string::npos;
    }
    for (const auto& end : lead_in_end_) {
        if (const auto at = end.empty() ? std::string::npos : lead_in_.find(end); at != std::string::npos) {
            from = at + end.size();
        }
    }
    if (from != std::string::npos) {
        begun_ = true;
        scan(std::string_view(lead_in_).substr(from));
        lead_in_.clear();
    }
}

void Closing::scan(std::string_view bytes) {
    for (const char byte : bytes) {
        if (escaped_) {
            escaped_ = false;
        } else if (byte == '"') {
            in_string_ = !in_string_;
        } else if (in_string_) {
            escaped_ = byte == '\\';
        } else if (byte == '{' || byte == '[') {
            ++depth_;
        } else if ((byte == '}' || byte == ']') && depth_ > 0) {
            --depth_;
        }
    }
}

} // namespace sotto::llama
