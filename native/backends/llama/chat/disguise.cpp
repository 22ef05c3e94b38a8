// Hides special-token spellings in user text from a chat template, and restores them after rendering.
#include "chat/disguise.hpp"

#include "runtime/json_parts.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

// A placeholder is this character followed by a character that numbers the hidden text. Each takes three
// bytes.
constexpr std::string_view kMark = "\uE0F0";
constexpr unsigned kFirst = 0xE100;
constexpr unsigned kLast = 0xF8FF;
constexpr std::size_t kLength = 6;

std::string character(unsigned code) {
    return {
        static_cast<char>(0xE0 | code >> 12),
        static_cast<char>(0x80 | (code >> 6 & 0x3F)),
        static_cast<char>(0x80 | (code & 0x3F)),
    };
}

unsigned code_of(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    return (byte(0) & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
}

} // namespace

std::string Disguise::placeholder(const PromptPart& hidden) {
    const auto [found, is_new] = places_.emplace(std::pair(hidden.text, hidden.medium), hidden_.size());
    if (is_new && hidden_.size() > kLast - kFirst) {
        throw Error(
            SOTTO_ERROR_ARGUMENT, "the messages contain too many different control tokens; use fewer"
        );
    }
    if (is_new) {
        hidden_.push_back(hidden);
    }
    return std::string(kMark) + character(kFirst + static_cast<unsigned>(found->second));
}

std::string Disguise::stand_in(int medium) {
    return placeholder({"", false, medium});
}

std::string Disguise::hide(const std::string& text, const std::vector<std::string>& allowed) {
    std::string shown;
    for (std::size_t i = 0; i < text.size();) {
        const auto rest = std::string_view(text).substr(i);
        auto length = rest.starts_with(kMark) ? kMark.size() : tokenizer_.control_token_at(rest);
        const std::string spelling(rest.substr(0, length));
        if (length > 0 && std::find(allowed.begin(), allowed.end(), spelling) != allowed.end()) {
            shown += spelling;
        } else if (length > 0) {
            shown += placeholder({spelling, false});
        } else {
            shown += text[i];
            length = 1;
        }
        i += length;
    }
    return shown;
}

void Disguise::hide(Json& value, const std::vector<std::string>& allowed) {
    if (value.is_string()) {
        value = hide(value.get_ref<const std::string&>(), allowed);
        return;
    }
    const bool object = value.is_object();
    for (auto& [key, inner] : value.items()) {
        if (inner.is_structured() || (inner.is_string() && !(object && (key == "role" || key == "type")))) {
            hide(inner, allowed);
        }
    }
}

// Returns the index of the placeholder that `text` starts with,
// or the number of placeholders if `text` starts with none.
std::size_t Disguise::hidden_at(std::string_view text) const {
    if (text.size() < kLength || !text.starts_with(kMark)) {
        return hidden_.size();
    }
    const auto code = code_of(text.substr(kMark.size()));
    return code < kFirst ? hidden_.size() : std::min<std::size_t>(code - kFirst, hidden_.size());
}

std::vector<PromptPart> Disguise::reveal(const std::string& rendered) const {
    std::vector<PromptPart> parts;
    std::string written;
    for (std::size_t i = 0; i < rendered.size();) {
        const auto which = hidden_at(std::string_view(rendered).substr(i));
        if (which == hidden_.size()) {
            written += rendered[i++];
            continue;
        }
        parts.push_back({std::move(written), true});
        parts.push_back(hidden_[which]);
        written.clear();
        i += kLength;
    }
    parts.push_back({std::move(written), true});
    return parts;
}

} // namespace sotto::llama
