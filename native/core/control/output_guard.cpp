#include "core/control/output_guard.hpp"

#include <string>
#include <utility>

namespace sotto {
namespace {

using guard::Action;

// Calls `visit` with each text of an answer, in a fixed order.
template <typename Visit>
void each_text(const CompleteAnswer& complete, const Visit& visit) {
    for (const auto* text : {&complete.text, &complete.reasoning}) {
        if (!text->empty()) {
            visit(*text);
        }
    }
    for (const auto& call : complete.calls) {
        visit(call.arguments);
    }
}

} // namespace

GuardedTexts texts_of(const std::vector<EndedChoice>& choices, std::shared_ptr<const guard::Guard> guard) {
    GuardedTexts texts{
        .guard = std::move(guard), .stage = guard::Stage::output, .check_all = true, .texts = {}
    };
    for (const auto& choice : choices) {
        each_text(choice.complete, [&](const std::string& text) {
            texts.texts.push_back({"choices[" + std::to_string(choice.index) + "]", text});
            check_size(texts.texts.back());
        });
    }
    return texts;
}

void apply_verdicts(std::vector<EndedChoice>& choices, const std::vector<guard::Verdict>& verdicts) {
    std::size_t next = 0;
    for (auto& choice : choices) {
        const guard::Verdict* decided = nullptr; // a verdict that blocks comes before one that rewrites
        each_text(choice.complete, [&](const std::string&) {
            const auto& verdict = verdicts.at(next++);
            if (verdict.action == Action::block ||
                (verdict.action == Action::rewrite && decided == nullptr)) {
                decided = &verdict;
            }
        });
        if (decided == nullptr) {
            continue;
        }
        choice.complete = {};
        choice.complete.finish = SOTTO_FINISH_CONTENT_FILTER;
        choice.increment.reports.clear();
        choice.replaced = true;
        if (decided->action == Action::rewrite) {
            choice.complete.text = decided->rewritten;
        }
    }
}

} // namespace sotto
