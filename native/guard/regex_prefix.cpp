#include "guard/regex_prefix.hpp"

#include <re2/regexp.h>

namespace sotto::guard {
namespace {

std::string group(const std::string& inside) {
    return "(?:" + inside + ")";
}

// The literal's characters from `at` on, each optional together with all that follow.
std::string literal_prefix(re2::Regexp& expression) {
    const bool folds = (expression.parse_flags() & re2::Regexp::FoldCase) != 0;
    std::string whole;
    std::string ends;
    for (int i = 0; i < expression.nrunes(); ++i) {
        auto* one = re2::Regexp::NewLiteral(
            expression.runes()[i], folds ? re2::Regexp::FoldCase : re2::Regexp::NoParseFlags
        );
        whole += "(?:" + one->ToString();
        ends += ")?";
        one->Decref();
    }
    return whole + ends;
}

std::string concat_prefix(re2::Regexp& expression) {
    std::string whole;
    std::string ends;
    for (int i = 0; i < expression.nsub(); ++i) {
        auto* sub = expression.sub()[i];
        whole += "(?:" + prefix_expression(*sub);
        if (i + 1 < expression.nsub()) {
            whole += "|" + group(sub->ToString());
            ends += ")";
        }
    }
    return whole + ")" + ends;
}

std::string alternate_prefix(re2::Regexp& expression) {
    std::string all;
    for (int i = 0; i < expression.nsub(); ++i) {
        all += (i > 0 ? "|" : "") + group(prefix_expression(*expression.sub()[i]));
    }
    return group(all);
}

} // namespace

std::string prefix_expression(re2::Regexp& expression) {
    const auto sub = [&]() -> re2::Regexp& { return *expression.sub()[0]; };
    switch (expression.op()) {
    case re2::kRegexpLiteralString:
        return literal_prefix(expression);
    case re2::kRegexpConcat:
        return concat_prefix(expression);
    case re2::kRegexpAlternate:
        return alternate_prefix(expression);
    case re2::kRegexpStar:
    case re2::kRegexpPlus:
        return group(sub().ToString()) + "*" + group(prefix_expression(sub()));
    case re2::kRegexpRepeat: {
        const auto most = expression.max() < 0 ? std::string() : std::to_string(expression.max());
        return group(sub().ToString()) + "{0," + most + "}" + group(prefix_expression(sub()));
    }
    case re2::kRegexpQuest:
    case re2::kRegexpCapture:
        return group(prefix_expression(sub()));
    case re2::kRegexpLiteral:
    case re2::kRegexpAnyChar:
    case re2::kRegexpAnyByte:
    case re2::kRegexpCharClass:
        return group(expression.ToString()) + "?";
    default: // assertions, and the empty text
        return "(?:)";
    }
}

} // namespace sotto::guard
