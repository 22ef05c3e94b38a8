// Checks, rewriting steps and grammar rules of which held_schema() is composed.
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

// Formats a value as one short line; strings without quotes.
std::string shown(const Schema& value);

// Returns the path of the member `key` below `path`, for errors.
std::string below(const std::string& path, const std::string& key);
std::string below(const std::string& path, std::size_t index);

// Throws if a keyword's value is malformed anywhere in the schema, or if a grammar cannot enforce a keyword.
void check_schema(const Schema& root, const std::string& path);

// Throws if a "$ref" leads back to itself without consuming a value. `all`: the document's schemas and their
// paths.
void check_circles(const Schema& root, const std::map<const Schema*, std::string>& all);

// Returns the members of a document of rewritten schemas whose values can never be finite.
std::set<std::string> endless_of(const Schema& document);

// Throws if an object with these members, of which `required` are always present, may violate
// "minProperties", "maxProperties" or a dependency between members. `open`: the object may have other members
// too.
void check_counts(
    const Schema& schema, const Schema& members, const Schema& required, bool open, const std::string& path
);

// Returns the target of the reference "#/..." in `root`, or nullptr.
const Schema* find_ref(const Schema& root, const std::string& ref);

// Returns the path of the target of reference `ref`, for errors.
std::string place_of_ref(const std::string& path, const std::string& ref);

// Returns true if two values are equal in JSON's sense.
bool same(const Schema& one, const Schema& other);

// Returns true if the schema allows `value`.
bool allows(const Schema& root, const Schema& schema, const Schema& value, const std::string& path);

// Splits schemas into alternatives without allOf, anyOf, oneOf or type lists.
class Flattener {
public:
    explicit Flattener(const Schema& root) : root_(root) {}

    // Each alternative is {}, {"enum": ...}, {"$ref": ...} or has one "type" and keywords of that type only.
    // Empty: the schema allows nothing.
    std::vector<Schema> alternatives(const Schema& schema, const std::string& path);

    // Like alternatives(), but returns only the alternatives that are objects, with references resolved.
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

// Returns the conjunction of two schemas of the same type.
Schema merge_keywords(const Schema& one, const Schema& other, const std::string& path);

// Length of a string in code points, as JSON Schema counts it.
struct Length {
    std::uint64_t least = 0;
    std::uint64_t most = UINT64_MAX;
};

// Returns a pattern in the dialect of llama.cpp's converter. It matches the encoded content (between the
// quotes) of JSON strings whose value matches `pattern` and has this length.
std::string json_pattern(const std::string& pattern, Length length, const std::string& path);

// Throws if the schema has a format that a grammar cannot enforce.
void check_format(const Schema& schema, const std::string& path);
// Returns a pattern for all strings that rules generate for a format that check_format() accepts.
std::string format_pattern(const std::string& format);
// Returns the schema of a string with this format and length; nothing if no such string exists.
std::optional<Schema> formatted_string(const std::string& format, Length length, const std::string& path);

// Bounds of a number. Absent: unbounded.
struct Bounds {
    std::optional<Schema> least;
    std::optional<Schema> most;
    bool above_least = false; // exclusive minimum
    bool below_most = false;
};

// Reads the bounds from a schema's keywords.
Bounds bounds_of(const Schema& schema);

// Bounds for integers of at most 15 digits. Nothing if no integer is within the bounds.
struct WholeBounds {
    std::int64_t least;
    std::int64_t most;
};
std::optional<WholeBounds> whole_bounds(const Bounds& bounds);

// Returns all integer multiples of `step` within bounds. Throws if there are too many.
Schema multiples(const Schema& step, const WholeBounds& bounds, const std::string& path);

// Returns a rule for decimal numbers within bounds; empty if there are none.
std::string number_rule(const Bounds& bounds);

// Throws if no number that a rule can generate is within the bounds.
void check_far(const Bounds& bounds, const std::string& path);

// Returns a rule for any of these JSON texts, with shared prefixes factored out.
std::string one_of_rule(const std::vector<std::string>& texts);

// Returns a rule for a JSON string that equals none of `names`.
std::string other_key_rule(const std::vector<std::string>& names);

} // namespace sotto::llama
