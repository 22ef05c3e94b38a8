#include "core/check/guarded_texts.hpp"

#include <utility>

#include "base/error.hpp"

namespace sotto {

void check_size(const GuardedText& text) {
    if (text.text.size() > kMaxModelText) {
        throw invalid_argument(
            text.path,
            std::to_string(text.text.size()) + " bytes",
            "at most " + std::to_string(kMaxModelText) +
                " bytes for guardrails of the types \"topics\" and \"judge\"; check it in parts"
        );
    }
}

void add_verdict(guard::Verdict& verdict, guard::Verdict later) {
    using guard::Action;
    if (verdict.action == Action::rewrite && later.action != Action::block) {
        if (later.action == Action::rewrite) {
            verdict.rewritten = std::move(later.rewritten);
        }
        return; // the first checker that rewrote the text is named
    }
    verdict = std::move(later);
}

} // namespace sotto
