// Completes a JSON answer before its token limit.
#include "token/closing.hpp"

#include <algorithm>
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
        } else if (text == "0" || (text.size() > 1 && text.starts_with('<'))) {
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

Closing::Closing(const ClosingTokens& tokens, std::uint64_t limit, JsonFrame frame)
    : tokens_(&tokens), limit_(limit), left_(limit), frame_(std::move(frame)) {}

void Closing::said(std::string_view bytes) {
    left_ -= left_ > 0 ? 1 : 0;
    if (begun_) {
        ++spent_;
        scan(bytes);
        spent_ = depth_ > 0 ? spent_ : 0; // another call may follow
    } else {
        begin(bytes);
    }
}

void Closing::press(float* logits) {
    const auto unspelled = frame_.skeleton - std::min(frame_.skeleton, spent_);
    const auto for_call = std::max(limit_ / 2, 2 * kMargin + frame_.tail + unspelled);
    if (!begun_ && frame_.lead_in_end_token >= 0 && left_ <= for_call) {
        logits[frame_.lead_in_end_token] += kAdded[0];
    }
    if (begun_ && left_ <= depth_ + kMargin + frame_.tail + unspelled) {
        pressed_ = true;
        tokens_->prefer(logits);
    }
}

// Finds the start of the JSON: at once, after a Markdown fence, after reasoning, or after a call's marker.
void Closing::begin(std::string_view bytes) {
    lead_in_ += bytes;
    auto from = lead_in_.find_first_of("{[\"");
    const auto before = std::string_view(lead_in_).substr(0, from);
    const bool in_text = frame_.is_call
                             ? frame_.in_lead_in || (!frame_.lead_in_begin.empty() &&
                                                     before.find(frame_.lead_in_begin) != before.npos)
                             : !consists_of(before, " \t\r\n`json");
    if (in_text) {
        from = std::string::npos;
    }
    for (const auto& end : frame_.lead_in_end) {
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
