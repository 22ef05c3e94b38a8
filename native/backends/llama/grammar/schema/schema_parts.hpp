// What held_schema() is made of.
#pragma once

#include "grammar/schema/schema.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sotto::llama {

using Schema = Json;

inline bool has(const Schema& schema, const char* key) {
    return schema.contains(key);
}

// Throws SOTTO_ERROR_ARGUMENT: "invalid PATH 'VALUE': expected EXPECTED", or "invalid PATH: REASON".
[[noreturn]] void refuse_schema(const std::string& path, const Schema& value, const std::string& expected);
[[noreturn]] void refuse_schema(const std::string& path, const std::string& reason);

// Throws SOTTO_ERROR_UNSUPPORTED: "invalid PATH 'VALUE': expected EXPECTED", or "PATH: REASON".
[[noreturn]] void
unsupported_schema(const std::string& path, const Schema& value, const std::string& expected);
[[noreturn]] void unsupported_schema(const std::string& path, const std::string& reason);

// A value as one short line, without the quotes of a string.
std::string shown(const Schema& value);

// `key` below `path`, as errors name it.
std::string below(const std::string& path, const std::string& key);
std::string below(const std::string& path, std::size_t index);

// Throws where a keyword's value is malformed, anywhere in the schema, or where a keyword is one that no
// grammar can hold an answer to.
void check_schema(const Schema& root, const std::string& path);

// Throws where a "$ref" leads back to itself with no value between. `all` are the schemas in the document,
// and where they stand.
void check_circles(const Schema& root, const std::map<const Schema*, std::string>& all);

// Those members of a document of written schemas whose values never come to an end.
std::set<std::string> endless_of(const Schema& document);

// Throws where an object that has these members, and these of them always, may have too few or too many, or
// one without another that it needs. `open`: it may have others too.
void check_counts(
    const Schema& schema, const Schema& members, const Schema& required, bool open, const std::string& path
);

// What "#/..." names in `root`, or nullptr.
const Schema* find_ref(const Schema& root, const std::string& ref);

// `ref`, which find_ref() found, as errors name it.
std::string place_of_ref(const std::string& path, const std::string& ref);

// Whether two values are one to JSON.
bool same(const Schema& one, const Schema& other);

// Whether the schema allows this very value.
bool allows(const Schema& root, const Schema& schema, const Schema& value, const std::string& path);

// Takes schemas apart into alternatives without allOf, anyOf, oneOf or type lists.
class Flattener {
public:
    explicit Flattener(const Schema& root) : root_(root) {}

    // Each is {}, {"enum": ...}, {"$ref": ...} or has one "type" with keywords of that type alone. None:
    // the schema allows nothing.
    std::vector<Schema> alternatives(const Schema& schema, const std::string& path);

    // The same, of the objects that it allows, none of them a "$ref".
    std::vector<Schema> objects(const Schema& schema, const std::string& path);

private:
    using Alternatives = std::vector<Schema>;

    Alternatives of_own_keywords(const Schema& schema, const std::string& path);
    Alternatives of_one_of(const Schema& branches, const Alternatives& own, const std::string& path);
    Alternatives both(const Alternatives& some, const Alternatives& others, const std::string& path);
    Alternatives merged(const Schema& one, const Schema& other, const std::string& path);
    Alternatives expanded(const Schema& alternative, const std::string& path);
    bool apart(const Schema& made, const Schema& other, const std::string& path, int depth);

    const Schema& root_;
    int depth_ = 0;
    std::size_t compared_ = 0;
};

// Both schemas at once, each with one and the same type.
Schema merge_keywords(const Schema& one, const Schema& other, const std::string& path);

// A length of text: characters, as JSON Schema counts them.
struct Length {
    std::uint64_t least = 0;
    std::uint64_t most = UINT64_MAX;
};

// A pattern in the dialect that llama.cpp converts, whose matches are what stands between the quotes of a
// JSON string whose value matches `pattern` and is of this length.
std::string json_pattern(const std::string& pattern, Length length, const std::string& path);

// Throws where the schema has a format that a string cannot be held to.
void check_format(const Schema& schema, const std::string& path);
// A pattern for all that we write in a format that check_format() took.
std::string format_pattern(const std::string& format);
// A string in that format, of this length. None: there is no such string.
std::optional<Schema> formatted_string(const std::string& format, Length length, const std::string& path);

// Bounds of a number. An absent one is none.
struct Bounds {
    std::optional<Schema> least;
    std::optional<Schema> most;
    bool above_least = false; // least itself is out
    bool below_most = false;
};

// The bounds that a schema states.
Bounds bounds_of(const Schema& schema);

// The same for whole numbers, at most 15 digits long. Empty where there is none.
struct WholeBounds {
    std::int64_t least;
    std::int64_t most;
};
std::optional<WholeBounds> whole_bounds(const Bounds& bounds);

// All whole multiples of `step` within bounds. Throws where they are too many.
Schema multiples(const Schema& step, const WholeBounds& bounds, const std::string& path);

// A rule for decimal numbers within bounds. Empty where there is none.
std::string number_rule(const Bounds& bounds);

// Throws where they leave no number that we would write.
void check_far(const Bounds& bounds, const std::string& path);

// A rule for any of these JSON texts, which shares what they begin with.
std::string one_of_rule(const std::vector<std::string>& texts);

// A rule for a JSON string that is none of these.
std::string other_key_rule(const std::vector<std::string>& names);

} // namespace sotto::llama
