#include "guard/guard.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "guard/config.hpp"
#include "guard/escapes.hpp"

namespace sotto::guard {
namespace {

constexpr std::size_t kMaxRewritten = 16 << 20; // bytes of a rewritten text

} // namespace

std::string Rule::rewritten(std::string_view finding) const {
    if (!masked) {
        return replacement;
    }
    std::string text;
    for (const char c : finding) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte == ' ' || (byte >= 9 && byte <= 13)) {
            text.push_back(c);
        } else if ((byte & 0xC0) != 0x80) { // once for each character
            text += replacement;
        }
    }
    return text;
}

void decide(Verdict& verdict, const Rule& rule) {
    if (verdict.action == Action::block || verdict.action == rule.action) {
        return;
    }
    verdict.action = rule.action;
    verdict.reason = rule.reason;
    verdict.checker = rule.name;
    verdict.category = rule.category;
    verdict.score = 1.0; // what is found is found for certain
}

Guard::Guard(std::string_view config) : stages_(read_config(config)) {}

Verdict Guard::check(Stage stage, std::string_view text) const {
    Verdict verdict;
    std::string changed;
    for (const auto& rule : chain(stage)) {
        const std::string_view now = verdict.action == Action::rewrite ? std::string_view(changed) : text;
        const auto scan = scan_escaped(*rule.checker, now, 0, true);
        if (scan.findings.empty()) {
            verdict.checker = verdict.action == Action::allow ? rule.name : verdict.checker;
            continue;
        }
        if (rule.action == Action::block) {
            decide(verdict, rule);
            break;
        }
        std::string next;
        std::size_t at = 0;
        for (const auto& finding : scan.findings) {
            next.append(now, at, finding.begin - at);
            next += rule.rewritten(now.substr(finding.begin, finding.end - finding.begin));
            at = finding.end;
            if (next.size() > std::max(text.size(), kMaxRewritten)) {
                throw Error(
                    SOTTO_ERROR_ARGUMENT,
                    "checker '" + rule.name + "' rewrites a text to more than " +
                        std::to_string(kMaxRewritten) + " bytes; use a shorter replacement"
                );
            }
        }
        next.append(now, at);
        if (next != now) {
            decide(verdict, rule);
            changed = std::move(next);
        }
    }
    if (verdict.action == Action::rewrite) {
        verdict.original = text;
        verdict.rewritten = std::move(changed);
    }
    return verdict;
}

} // namespace sotto::guard
