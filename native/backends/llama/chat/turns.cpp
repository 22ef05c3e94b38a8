// Chooses the turns to drop from conversations that exceed the context.
#include "chat/turns.hpp"

#include "request/fields.hpp"
#include "runtime/guard.hpp"
#include "runtime/json_parts.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

namespace sotto::llama {
namespace {

// Calls `visit` with each text of a message that templates render. Skips reasoning: most templates omit the
// reasoning of earlier answers.
template <typename Visit>
void for_each_text(const Json& message, Visit&& visit) {
    const auto add = [&](const Json& object, const char* key) {
        if (const auto* text = find(object, key); text != nullptr && text->is_string()) {
            visit(std::string_view(text->get_ref<const std::string&>()));
        }
    };
    add(message, "content");
    if (const auto* parts = find(message, "content"); parts != nullptr && parts->is_array()) {
        for (const auto& part : *parts) {
            add(part, "text");
        }
    }
    if (const auto* calls = find(message, "tool_calls")) {
        for (const auto& call : *calls) {
            if (const auto* function = find(call, "function")) {
                add(*function, "name");
                add(*function, "arguments");
            }
        }
    }
}

std::size_t media_tokens(const Json& message, const std::vector<Medium>& media) {
    std::size_t tokens = 0;
    const auto* parts = media.empty() ? nullptr : find(message, "content");
    for (const auto& part : parts != nullptr && parts->is_array() ? *parts : Json::array()) {
        if (const auto* medium = find(part, "medium")) {
            tokens += media.at(medium->get<std::size_t>()).tokens.size();
        }
    }
    return tokens;
}

} // namespace

bool is_system(const Json& message) {
    const auto& role = message.at("role");
    return role == "system" || role == "developer";
}

bool begins_turn(const Json& messages, std::size_t i) {
    return i > 0 && messages[i].at("role") == "user" && !is_system(messages[i - 1]);
}

Json without_turns(const Json& body, std::size_t begin) {
    auto shorter = Json::object();
    auto kept = Json::array();
    const auto& messages = body.at(field::messages.name);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (i >= begin || is_system(messages[i])) {
            kept.push_back(messages[i]);
        }
    }
    for (const auto& [key, value] : body.items()) {
        if (key != "messages") {
            shorter[key] = value;
        }
    }
    shorter["messages"] = std::move(kept);
    return shorter;
}

std::size_t bytes_of(const Json& message) {
    std::size_t bytes = 0;
    for_each_text(message, [&](std::string_view text) { bytes += text.size(); });
    return bytes;
}

std::size_t piece_for(std::size_t context, std::size_t room) noexcept {
    auto piece = context / 2;
    while (piece > 1 && piece > room * 3 / 4) {
        piece /= 2;
    }
    return std::max<std::size_t>(piece, 1);
}

MessageTokens::MessageTokens(const Tokenizer& tokenizer, std::size_t overhead, std::size_t context)
    : tokenizer_(tokenizer), overhead_(overhead), context_(context) {}

std::size_t MessageTokens::of(const Json& message, const std::vector<Medium>& media) const {
    std::string text;
    for_each_text(message, [&](std::string_view more) {
        text += more;
        text += '\n';
    });
    return overhead_ + counted(text) + media_tokens(message, media);
}

std::size_t MessageTokens::counted(const std::string& text) const {
    if (const auto min = text.size() / tokenizer_.longest(); min > context_) {
        return min; // a lower bound suffices: the message exceeds the context
    }
    const auto hash = std::hash<std::string>()(text);
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = recent_->by_hash.find(hash); found != recent_->by_hash.end()) {
            return found->second;
        }
        if (const auto found = old_->by_hash.find(hash); found != old_->by_hash.end()) {
            return remember(hash, found->second);
        }
    }
    throw_if_cancelled();
    const auto count = tokenizer_.cut(text, false).size();
    const std::lock_guard lock(mutex_);
    return remember(hash, static_cast<std::uint32_t>(count));
}

// Caches the token count of a text by its hash, and returns the count. Requires mutex_.
std::uint32_t MessageTokens::remember(std::size_t hash, std::uint32_t count) const {
    if (recent_->by_hash.size() >= kGeneration) {
        auto fresh = std::make_unique<Counts>();
        old_ = std::exchange(recent_, std::move(fresh));
    }
    // emplace() would allocate memory even if another thread has already added the hash
    recent_->by_hash.try_emplace(hash, count);
    return count;
}

Turns::Turns(
    const Json& messages,
    const std::vector<Medium>& media,
    const MessageTokens& tokens,
    std::size_t context,
    std::size_t room
) {
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const auto count = tokens.of(messages[i], media);
        if (begins_turn(messages, i)) {
            turns_.push_back({i, all_});
        }
        (is_system(messages[i]) ? fixed_ : all_) += count;
    }
    room_ = room - std::min(room, fixed_);
    piece_ = piece_for(context, room_);
}

std::size_t Turns::first_cut() const noexcept {
    const auto surplus = all_ - std::min(all_, room_);
    return cut_after(std::max<std::size_t>(1, (surplus + piece_ - 1) / piece_));
}

std::size_t Turns::cut_after(std::size_t pieces) const noexcept {
    const auto found = std::find_if(turns_.begin(), turns_.end(), [&](const Turn& turn) {
        return turn.before >= pieces * piece_;
    });
    return found == turns_.end() ? turns_.back().begin : found->begin;
}

std::size_t Turns::next_cut(std::size_t cut) const noexcept {
    const auto turn =
        std::find_if(turns_.begin(), turns_.end(), [&](const Turn& one) { return one.begin == cut; });
    return cut_after(turn->before / piece_ + 1);
}

} // namespace sotto::llama
