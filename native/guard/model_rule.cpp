#include "guard/model_rule.hpp"

namespace sotto::guard {

Verdict verdict_of(
    const ModelRule& rule, const std::string& text, const std::string& topic, std::optional<double> score
) {
    Verdict verdict;
    verdict.action = rule.action;
    verdict.category = rule.category.empty() ? topic : rule.category;
    verdict.reason = rule.reason;
    if (verdict.reason.empty()) {
        verdict.reason = (verdict.category.empty() ? "blocked text" : verdict.category) + " detected";
    }
    verdict.checker = rule.name;
    verdict.score = score;
    if (rule.action == Action::rewrite) {
        verdict.original = text;
        verdict.rewritten = rule.replacement;
    }
    return verdict;
}

} // namespace sotto::guard
