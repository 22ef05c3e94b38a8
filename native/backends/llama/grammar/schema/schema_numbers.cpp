// Creates grammar rules for the numbers that a JSON schema's bounds allow.
#include "grammar/schema/schema_parts.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <json-schema-to-grammar.h>

namespace sotto::llama {
namespace {

// Generated numbers have at most this many digits, so that a double holds them exactly.
constexpr int kDigits = 15;
constexpr std::size_t kMaxMultiples = 1024;
constexpr std::int64_t kMax = 999'999'999'999'999;

// Magnitude of a bound: its integer digits, and its fraction digits without trailing zeros.
struct Decimal {
    std::int64_t whole = 0;
    std::string fraction;
    bool is_in = true; // the bound is inclusive
};

// Maximum number of fraction digits that are generated after the fraction digits of a bound.
constexpr int kMoreDigits = 6;
const auto& kAnyDigits = *new std::string("[0-9]{0," + std::to_string(kMoreDigits) + "}");
const auto& kAboveZero = *new std::string("\"0\"{0," + std::to_string(kMoreDigits) + "} [1-9] " + kAnyDigits);

std::string digits(char from, char to) {
    return from == to ? "\"" + std::string(1, from) + "\""
                      : "[" + std::string(1, from) + "-" + std::string(1, to) + "]";
}

void add(std::string& rule, const std::string& alternative) {
    rule += (rule.empty() ? "" : " | ") + alternative;
}

std::string trimmed(std::string fraction) {
    fraction.erase(fraction.find_last_not_of('0') + 1);
    return fraction;
}

// Returns a rule for fraction digits that are at least `least`. `is_in`: `least` itself is allowed.
std::string no_less(const std::string& least, bool is_in) {
    if (least.empty()) {
        return is_in ? kAnyDigits : kAboveZero;
    }
    std::string rule;
    if (least[0] < '9') {
        add(rule, digits(static_cast<char>(least[0] + 1), '9') + " " + kAnyDigits);
    }
    add(rule, digits(least[0], least[0]) + " (" + no_less(least.substr(1), is_in) + ")");
    return rule;
}

// Returns a rule for one or more fraction digits that are at most `most`, which must not be 0.
std::string no_more(const std::string& most, bool is_in) {
    std::string rule;
    if (most[0] > '0') {
        add(rule, digits('0', static_cast<char>(most[0] - 1)) + " " + kAnyDigits);
    }
    if (most.size() > 1) {
        add(rule, digits(most[0], most[0]) + " (" + no_more(most.substr(1), is_in) + ")?");
    } else if (is_in) {
        add(rule, digits(most[0], most[0]));
    }
    return rule;
}

// Returns a rule for fraction digits from `least` to `most`; empty if no digits are allowed.
std::string between(std::string least, std::string most, bool least_in, bool most_in) {
    const auto size = std::max(least.size(), most.size());
    least.resize(size, '0');
    most.resize(size, '0');
    std::size_t same = 0;
    while (same < size && least[same] == most[same]) {
        ++same;
    }
    if (same == size || least[same] > most[same]) {
        return same == size && size > 0 && least_in && most_in ? "\"" + least + "\"" : "";
    }
    std::string rule;
    if (least[same] + 1 < most[same]) {
        add(rule,
            digits(static_cast<char>(least[same] + 1), static_cast<char>(most[same] - 1)) + " " + kAnyDigits);
    }
    add(rule,
        digits(least[same], least[same]) + " (" + no_less(trimmed(least.substr(same + 1)), least_in) + ")");
    const auto rest = trimmed(most.substr(same + 1));
    if (!rest.empty()) {
        add(rule, digits(most[same], most[same]) + " (" + no_more(rest, most_in) + ")?");
    } else if (most_in) {
        add(rule, digits(most[same], most[same]));
    }
    const auto begin = least.substr(0, same);
    return begin.empty() ? rule : "\"" + begin + "\" (" + rule + ")";
}

// Returns llama.cpp's rule for integers from `least` to `most`.
std::string whole(std::int64_t least, std::int64_t most) {
    const Schema schema = {{"type", "integer"}, {"minimum", least}, {"maximum", most}};
    const auto grammar = json_schema_to_grammar(common_json::parse(text_of(schema)));
    const std::string name = "root ::= ";
    const auto from = grammar.find(name) + name.size();
    return grammar.substr(from, grammar.find('\n', from) - from);
}

// Returns a rule for magnitudes from `least` to `most`; empty if there are none.
std::string magnitude(const Decimal& least, const Decimal& most) {
    std::string rule;
    const auto first = std::to_string(least.whole);
    if (least.whole == most.whole) {
        if (least.fraction.empty() && least.is_in && (most.is_in || !most.fraction.empty())) {
            add(rule, "\"" + first + "\"");
        }
        if (const auto fraction = between(least.fraction, most.fraction, least.is_in, most.is_in);
            !fraction.empty()) {
            add(rule, "\"" + first + ".\" (" + fraction + ")");
        }
        return rule;
    }
    const bool all_of_first = least.fraction.empty() && least.is_in;
    const auto from = least.whole + (all_of_first ? 0 : 1);
    if (!all_of_first) {
        add(rule, "\"" + first + ".\" (" + no_less(least.fraction, least.is_in) + ")");
    }
    if (from < most.whole) {
        add(rule, whole(from, most.whole - 1) + " (\".\" [0-9] " + kAnyDigits + ")?");
    }
    if (most.is_in || !most.fraction.empty()) {
        add(rule, "\"" + std::to_string(most.whole) + "\"");
    }
    if (!most.fraction.empty()) {
        add(rule, "\"" + std::to_string(most.whole) + ".\" (" + no_more(most.fraction, most.is_in) + ")");
    }
    return rule;
}

// Returns the magnitude of a bound, rounded to the number of digits that rules generate. `up`: rounds up,
// otherwise down.
Decimal decimal(const Schema& value, bool is_in, bool up) {
    const auto number = std::abs(value.get<double>());
    if (number > static_cast<double>(kMax)) {
        return {kMax, "", is_in && value.is_number_integer()};
    }
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, number, std::chars_format::fixed).ptr;
    const std::string all(text, end);
    const auto point = all.find('.');
    Decimal made{
        std::stoll(all.substr(0, point)), point == std::string::npos ? "" : all.substr(point + 1), is_in
    };
    constexpr std::size_t kLongest = kDigits - kMoreDigits;
    if (made.fraction.size() > kLongest) {
        made.fraction.resize(kLongest);
        if (up) { // rounds up by increasing the last digit
            auto at = made.fraction.find_last_not_of('9');
            if (at == std::string::npos) {
                return {made.whole + 1, "", true};
            }
            made.fraction.resize(at + 1);
            ++made.fraction[at];
        }
        made.is_in = true;
    }
    made.fraction = trimmed(made.fraction);
    return made;
}

} // namespace

Bounds bounds_of(const Schema& schema) {
    Bounds bounds;
    if (const auto least = schema.find("minimum"); least != schema.end()) {
        bounds.least = *least;
    }
    if (const auto least = schema.find("exclusiveMinimum"); least != schema.end()) {
        bounds.above_least = !bounds.least || *least >= *bounds.least;
        bounds.least = bounds.above_least ? *least : *bounds.least;
    }
    if (const auto most = schema.find("maximum"); most != schema.end()) {
        bounds.most = *most;
    }
    if (const auto most = schema.find("exclusiveMaximum"); most != schema.end()) {
        bounds.below_most = !bounds.most || *most <= *bounds.most;
        bounds.most = bounds.below_most ? *most : *bounds.most;
    }
    return bounds;
}

std::optional<WholeBounds> whole_bounds(const Bounds& bounds) {
    const auto inward = [](const Schema& bound, bool is_out, bool up) {
        const auto real = std::clamp(bound.get<double>(), -2.0 * kMax, 2.0 * kMax);
        const auto rounded = static_cast<std::int64_t>(up ? std::ceil(real) : std::floor(real));
        const bool on_it = static_cast<double>(rounded) == real;
        return rounded + (is_out && on_it ? (up ? 1 : -1) : 0);
    };
    WholeBounds found{-kMax, kMax};
    if (bounds.least) {
        found.least = std::max(found.least, inward(*bounds.least, bounds.above_least, true));
    }
    if (bounds.most) {
        found.most = std::min(found.most, inward(*bounds.most, bounds.below_most, false));
    }
    if (found.least > found.most) {
        return std::nullopt;
    }
    return found;
}

Schema multiples(const Schema& step, const WholeBounds& bounds, const std::string& path) {
    const auto every = step.get<double>();
    const bool few = every >= 1 && every == static_cast<double>(static_cast<std::int64_t>(every)) &&
                     static_cast<double>(bounds.most - bounds.least) / every < kMaxMultiples;
    if (!few) {
        unsupported_schema(
            below(path, "multipleOf"),
            "supported in an \"integer\" only, whose \"minimum\" and \"maximum\" leave at most " +
                std::to_string(kMaxMultiples) + " values; add these bounds"
        );
    }
    const auto whole = static_cast<std::int64_t>(every);
    auto all = Schema::array();
    for (auto value = bounds.least; value <= bounds.most; ++value) {
        if (value % whole == 0) {
            all.push_back(value);
            value += whole - 1;
        }
    }
    return all;
}

void check_far(const Bounds& bounds, const std::string& path) {
    const auto far = [&](const std::optional<Schema>& bound, int sign) {
        return bound && sign * bound->get<double>() > static_cast<double>(kMax);
    };
    if (far(bounds.least, 1) || far(bounds.most, -1)) {
        unsupported_schema(
            path, "the bounds leave numbers beyond " + std::to_string(kMax) + " only; lower these bounds"
        );
    }
}

std::string number_rule(const Bounds& bounds) {
    const Decimal zero;
    const Decimal none{kMax, "", true};
    const auto least = bounds.least ? bounds.least->get<double>() : -1e300;
    const auto most = bounds.most ? bounds.most->get<double>() : 1e300;
    std::string rule;
    if (most > 0 || (most == 0 && !bounds.below_most)) {
        const auto from = least >= 0 ? decimal(*bounds.least, !bounds.above_least, true) : zero;
        const auto to = bounds.most ? decimal(*bounds.most, !bounds.below_most, false) : none;
        add(rule, magnitude(from, to));
    }
    if (least < 0) {
        const auto from = most <= 0 ? decimal(*bounds.most, !bounds.below_most, true) : zero;
        const auto to = bounds.least ? decimal(*bounds.least, !bounds.above_least, false) : none;
        if (const auto negative = magnitude(from, to); !negative.empty()) {
            add(rule, "\"-\" (" + negative + ")");
        }
    }
    return rule;
}

} // namespace sotto::llama
