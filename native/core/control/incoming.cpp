#include "core/control/incoming.hpp"

#include <algorithm>
#include <functional>

#include "core/control/input_guard.hpp"

namespace sotto {
namespace {

// Calls `found` with the text after each `needle`, until `found` returns false.
template <typename Found>
void for_each(std::string_view text, std::string_view needle, const Found& found) {
    const std::boyer_moore_horspool_searcher search(needle.begin(), needle.end());
    for (auto at = text.begin();;) {
        at = std::search(at, text.end(), search);
        if (at == text.end()) {
            return;
        }
        at += static_cast<std::ptrdiff_t>(needle.size());
        if (!found(text.substr(static_cast<std::size_t>(at - text.begin())))) {
            return;
        }
    }
}

// Skips white space, then `mark`, at the start of `text`. Returns
// false, and leaves `text` unchanged, if another character follows.
bool take(std::string_view& text, char mark) noexcept {
    const auto begin = text.find_first_not_of(" \t\r\n");
    if (begin == text.npos || text[begin] != mark) {
        return false;
    }
    text.remove_prefix(begin + 1);
    return true;
}

// Returns true if `text` spells an ASCII letter as \u00NN, which hides
// names from a byte search. JSON writers do not normally do this.
bool hides_letters(std::string_view text) {
    bool hides = false;
    for (const char* letters : {"\\u006", "\\u007"}) {
        for_each(text, letters, [&](std::string_view) {
            hides = true;
            return false;
        });
    }
    return hides;
}

} // namespace

bool SessionNames::touch(const SessionNames& others) const noexcept {
    const bool both = (all || !ids.empty()) && (others.all || !others.ids.empty());
    return both && (all || others.all || std::any_of(ids.begin(), ids.end(), [&](const auto& id) {
                        return std::find(others.ids.begin(), others.ids.end(), id) != others.ids.end();
                    }));
}

SessionNames names_in(std::string_view body) {
    constexpr std::size_t kMost = 64;
    SessionNames names;
    names.all = hides_letters(body);
    for (const char* key : {"\"session\"", "\"from\"", "\"to_session\""}) {
        for_each(body, key, [&](std::string_view rest) {
            if (take(rest, ':') && take(rest, '"')) {
                const auto id = rest.substr(0, rest.find('"'));
                names.all = names.all || id.find('\\') != id.npos || names.ids.size() == kMost;
                names.ids.emplace_back(names.all ? "" : id);
            }
            return !names.all;
        });
    }
    return names;
}

void Incoming::read(PageString& text) {
    if (is_about_sessions(op)) {
        session_request = read_session_request(op, text, &reading.cancelled);
    } else {
        parsed = read_request(op, text, &reading.cancelled);
        if (op == SOTTO_OP_CHECK) {
            auto checked = checked_text(guard, text, &reading.cancelled);
            verdict = std::move(checked.verdict);
            unchecked = std::move(checked.unchecked);
        } else if (guard != nullptr) {
            auto guarded = guarded_body(guard, op, text, &reading.cancelled);
            rewrite(text, guarded.rewritten);
            unchecked = std::move(guarded.unchecked);
        }
    }
}

void Incoming::take(CheckResult result) {
    const auto texts = std::exchange(unchecked, {}).texts;
    is_checking = false;
    if (result.failure) {
        throw Error(result.failure.status, result.failure.why);
    }
    if (op == SOTTO_OP_CHECK) {
        add_verdict(verdict, std::move(result.verdicts.front()));
    } else {
        rewrite(body, guarded_body(texts, result.verdicts, op, body));
    }
}

// Takes a body that guardrails have rewritten, if they have.
void Incoming::rewrite(PageString& text, const std::optional<std::string>& rewritten) {
    if (rewritten) {
        text = *rewritten;
        parsed = read_request(op, text, &reading.cancelled);
    }
}

void Incoming::take_names() {
    names.all = is_about_games(op) || (op == SOTTO_OP_READ_SESSION && session_request.id.empty());
    names.ids = {session_request.id, session_request.from, session_request.to_session, parsed.session.id};
    std::erase(names.ids, "");
    named.store(true, std::memory_order_release);
}

bool Incoming::holds(const Incoming& later) const noexcept {
    if (slot == nullptr) {
        return false;
    }
    const bool any = later.names.all || !later.names.ids.empty();
    return named.load(std::memory_order_acquire) ? names.touch(later.names) : any;
}

} // namespace sotto
