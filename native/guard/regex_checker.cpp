#include "guard/regex_checker.hpp"

#include <algorithm>

#include <re2/re2.h>
#include <re2/regexp.h>

#include "guard/regex_prefix.hpp"

namespace sotto::guard {

struct RegexChecker::Expression {
    RE2 finds;
    RE2 begins; // matches at the end of a text if what follows can complete a match
    bool allowed;

    Expression(const std::string& pattern, const std::string& prefix, const RE2::Options& options, bool allow)
        : finds(pattern, options), begins(prefix, options), allowed(allow) {}
};

namespace {

constexpr std::int64_t kMemory = 2 << 20; // of each expression, in bytes

RE2::Options options_of(bool ignore_case) {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_case_sensitive(!ignore_case);
    options.set_max_mem(kMemory);
    return options;
}

// Collects all matches of an expression. An empty match is none.
void find_all(const RE2& expression, std::string_view text, std::size_t from, std::vector<Finding>& found) {
    re2::StringPiece match;
    const re2::StringPiece whole(text.data(), text.size());
    while (from < text.size() && expression.Match(whole, from, text.size(), RE2::UNANCHORED, &match, 1)) {
        const auto begin = static_cast<std::size_t>(match.data() - text.data());
        const auto end = begin + match.size();
        if (match.empty()) {
            from = std::max(begin, from) + 1;
            while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) {
                ++from;
            }
            continue;
        }
        found.push_back({begin, end});
        from = end;
    }
}

} // namespace

RegexChecker::RegexChecker() = default;
RegexChecker::~RegexChecker() = default;

std::string RegexChecker::add(std::string_view pattern, bool ignore_case, bool allowed, std::size_t& left) {
    const auto options = options_of(ignore_case);
    const RE2 given(re2::StringPiece(pattern.data(), pattern.size()), options);
    if (!given.ok()) {
        return given.error();
    }
    const auto prefix = "(?:" + prefix_expression(*given.Regexp()) + ")\\z";
    auto made = std::make_unique<Expression>(std::string(pattern), prefix, options, allowed);
    if (!made->begins.ok()) {
        return "too large to check streamed text";
    }
    re2::StringPiece match;
    if (made->finds.Match("", 0, 0, RE2::ANCHOR_BOTH, &match, 1)) {
        return "matches the empty text";
    }
    const auto size = static_cast<std::size_t>(made->finds.ProgramSize()) +
                      static_cast<std::size_t>(made->begins.ProgramSize());
    if (size > left) {
        return "too large together with the expressions before it";
    }
    left -= size;
    expressions_.push_back(std::move(made));
    return {};
}

Scan RegexChecker::scan(std::string_view text, std::size_t from, bool whole) const {
    std::vector<Finding> findings;
    std::vector<Finding> allowed;
    auto open = text.size();
    const re2::StringPiece all(text.data(), text.size());
    for (const auto& expression : expressions_) {
        find_all(expression->finds, text, from, expression->allowed ? allowed : findings);
        re2::StringPiece match;
        if (!whole && expression->begins.Match(all, from, text.size(), RE2::UNANCHORED, &match, 1)) {
            open = std::min(open, static_cast<std::size_t>(match.data() - text.data()));
        }
    }
    std::erase_if(findings, [&](const Finding& found) {
        return found.begin >= open || std::any_of(allowed.begin(), allowed.end(), [&](const Finding& one) {
                   return one.begin <= found.begin && found.end <= one.end;
               });
    });
    remove_overlaps(findings);
    return {std::move(findings), open};
}

} // namespace sotto::guard
