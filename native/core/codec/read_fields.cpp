// Checks the names and values of request fields, and detects misspelled names.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "core/codec/checks.hpp"
#include "request/fields.hpp"

namespace sotto {
namespace {

// Fields of other servers' APIs: they resemble fields of this API, but are not misspellings of them.
constexpr std::string_view kOfOthers[] = {
    "context", "format", "images", "min_tokens", "seeds", "top_a", "typical", "user"
};

bool is_of_others(std::string_view name) {
    return std::find(std::begin(kOfOthers), std::end(kOfOthers), name) != std::end(kOfOthers);
}

bool reads(sotto_op op, const RequestField& field) noexcept {
    return (field.operations >> op & 1U) != 0;
}

void check_value(const Fields& body, const RequestField& field) {
    switch (field.type) {
    case FieldType::Number:
        body.number(field);
        break;
    case FieldType::Integer:
        body.integer(field);
        break;
    case FieldType::Boolean:
        body.boolean(field);
        break;
    case FieldType::Text:
        body.text(field);
        break;
    case FieldType::Choice:
        body.choice(field);
        break;
    case FieldType::Other: // checked by a function for this field alone
        break;
    }
}

constexpr std::size_t kLongestField = 40;
constexpr std::size_t kMaxCompared = 256; // maximum number of unknown fields that are compared
constexpr std::size_t kMaxListed = 16;

// Edit distance with insertions, deletions, substitutions and transpositions (optimal string alignment,
// Damerau 1964), capped at `max` + 1.
std::size_t distance(std::string_view left, std::string_view right, std::size_t max) {
    const auto longer = std::max(left.size(), right.size());
    const auto shorter = std::min(left.size(), right.size());
    if (longer - shorter > max || longer > kLongestField) {
        return max + 1;
    }
    using Row = std::array<std::size_t, kLongestField + 1>;
    Row before{}, last{}, row{};
    for (std::size_t j = 0; j <= right.size(); ++j) {
        last[j] = j;
    }
    for (std::size_t i = 1; i <= left.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= right.size(); ++j) {
            const std::size_t differs = left[i - 1] == right[j - 1] ? 0 : 1;
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + differs});
            if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
        before = last;
        last = row;
    }
    return std::min(last[right.size()], max + 1);
}

// Returns the field with that name; nullptr: unknown.
const RequestField* known(std::string_view name) {
    const auto* found = std::find_if(std::begin(field::kAll), std::end(field::kAll), [&](const auto* one) {
        return name == one->name;
    });
    return found == std::end(field::kAll) ? nullptr : *found;
}

// Returns the known fields closest to `name` that the body lacks, each in quotes; empty if none is close.
std::string nearest(const Json& body, std::string_view name) {
    constexpr std::size_t kShort = 5; // letters: two edits turn such a short name into another word
    std::string found;
    std::size_t min = 2;
    for (const auto* field : field::kAll) {
        const std::string_view known = field->name;
        const std::size_t max = known.size() <= kShort ? 1 : 2;
        const auto edits = distance(name, known, max);
        if (edits > std::min(max, min) || body.contains(known)) {
            continue;
        }
        if (edits < min) {
            min = edits;
            found.clear();
        }
        found += (found.empty() ? "\"" : " or \"") + std::string(known) + "\"";
    }
    return found;
}

} // namespace

void check_values(sotto_op op, const Fields& body) {
    for (const auto* field : field::kAll) {
        if (reads(op, *field)) {
            check_value(body, *field);
        }
    }
}

std::vector<std::string> check_names(sotto_op op, const Json& body) {
    std::vector<std::string> unknown;
    std::size_t compared = 0;
    for (const auto& [name, value] : body.items()) {
        const auto* field = known(name);
        if (field != nullptr && reads(op, *field)) {
            continue;
        }
        if (field == nullptr && !is_of_others(name) && compared++ < kMaxCompared) {
            if (const auto meant = nearest(body, name); !meant.empty()) {
                throw Error(
                    SOTTO_ERROR_ARGUMENT, "unknown field '" + excerpt(name) + "': did you mean " + meant + "?"
                );
            }
        }
        if (unknown.size() < kMaxListed) {
            unknown.push_back(name.substr(0, kLongestField));
        }
    }
    return unknown;
}

} // namespace sotto
