#include "guard/guard_stream.hpp"

#include <algorithm>

#include "guard/escapes.hpp"

namespace sotto::guard {
namespace {

constexpr std::size_t kContext = 128; // bytes before the text that is not released

} // namespace

GuardStream::GuardStream(std::shared_ptr<const Guard> guard, Stage stage) : guard_(std::move(guard)) {
    for (const auto& rule : guard_->chain(stage)) {
        filters_.push_back({&rule, {}, 0, false});
        verdict_.checker = rule.name;
    }
}

void GuardStream::feed(std::string_view bytes, std::string& released) {
    std::string text;
    characters_.feed(bytes, text);
    original_ += text;
    if (!text.empty()) {
        pass(std::move(text), false, released);
    }
}

void GuardStream::finish(std::string& released) {
    std::string text;
    characters_.finish(text);
    original_ += text;
    pass(std::move(text), true, released);
}

std::size_t GuardStream::held() const noexcept {
    std::size_t bytes = 0;
    for (const auto& filter : filters_) {
        bytes += filter.window.size() - filter.from;
    }
    return bytes;
}

Verdict GuardStream::verdict() const {
    auto verdict = verdict_;
    if (verdict.action == Action::rewrite) {
        verdict.original = original_;
        verdict.rewritten = released_;
    }
    return verdict;
}

// Passes text through the rules in their order. If a rule blocks, the rules after it get the text before the
// blocked place as the end of the whole text.
void GuardStream::pass(std::string text, bool last, std::string& released) {
    for (auto& filter : filters_) {
        if (filter.blocked) {
            return;
        }
        std::string out;
        last = this->filter(filter, text, last, out) || last;
        text = std::move(out);
    }
    released += text;
    released_ += text;
}

// Returns true if the rule blocks the text.
bool GuardStream::filter(Filter& filter, std::string_view text, bool last, std::string& out) {
    auto& window = filter.window;
    window += text;
    const auto scan = scan_escaped(*filter.rule->checker, window, filter.from, last);
    for (const auto& finding : scan.findings) {
        const auto found = std::string_view(window).substr(finding.begin, finding.end - finding.begin);
        out.append(window, filter.from, finding.begin - filter.from);
        filter.from = finding.end;
        if (filter.rule->action == Action::block) {
            decide(verdict_, *filter.rule);
            filter.blocked = true;
            window.clear();
            filter.from = 0;
            return true;
        }
        const auto instead = filter.rule->rewritten(found);
        if (instead != found) {
            decide(verdict_, *filter.rule);
        }
        out += instead;
    }
    const auto open = std::max(scan.open, filter.from);
    out.append(window, filter.from, open - filter.from);
    auto keep = open - std::min(open, kContext);
    while (keep > 0 && (static_cast<unsigned char>(window[keep]) & 0xC0) == 0x80) {
        --keep;
    }
    keep -= splits_escape(window, keep) ? 1 : 0;
    window.erase(0, keep);
    filter.from = open - keep;
    return false;
}

} // namespace sotto::guard
