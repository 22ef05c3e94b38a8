#include "guard/verdict.hpp"

#include "text/ordered_json.hpp"

namespace sotto::guard {
namespace {

Ordered action_of(const Verdict& verdict) {
    Ordered inside;
    switch (verdict.action) {
    case Action::allow:
        return "Allow";
    case Action::block:
        inside["reason"] = verdict.reason;
        return {{"Block", inside}};
    case Action::rewrite:
        break;
    }
    inside["original"] = verdict.original;
    inside["rewritten"] = verdict.rewritten;
    inside["reason"] = verdict.reason;
    return {{"Rewrite", inside}};
}

} // namespace

std::string to_json(const Verdict& verdict) {
    Ordered json;
    json["action"] = action_of(verdict);
    json["checker_name"] = verdict.checker;
    json["score"] = verdict.score ? Ordered(*verdict.score) : Ordered(nullptr);
    json["allowed"] = verdict.action != Action::block;
    json["category"] = verdict.category.empty() ? Ordered(nullptr) : Ordered(verdict.category);
    return to_text(json);
}

} // namespace sotto::guard
