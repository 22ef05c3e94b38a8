// What a store holds, and what is asked of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sotto::store {

// One memory. `key` and `value` are searched as text; `key` counts twice.
struct Entry {
    std::string id;    // unique in the store; empty: a random one
    std::string space; // the namespace, such as a character's id; empty: the common one
    std::string key;
    std::string value;
    std::vector<float> embedding; // as given, not normalised; empty: none
    double priority = 1.0;
    double importance = 0.5;      // 0 to 1
    std::int64_t created_ms = 0;  // since 1970; 0: now
    std::int64_t accessed_ms = 0; // 0: created_ms
    std::string metadata = "{}";  // a JSON object
};

// Changes of one entry. What is not set stays. `embedding`: an empty vector removes the embedding.
struct EntryChange {
    std::optional<std::string> space;
    std::optional<std::string> key;
    std::optional<std::string> value;
    std::optional<std::vector<float>> embedding;
    std::optional<double> priority;
    std::optional<double> importance;
    std::optional<std::int64_t> accessed_ms;
    std::optional<std::string> metadata;
};

using Scalar = std::variant<std::nullptr_t, bool, double, std::string>;

enum class Comparison : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal, in };

// A comparison of one value of the metadata. A value of another type than the operand's does not match.
struct Condition {
    std::string path; // JSON path of SQLite: $."place"."room"
    Comparison comparison = Comparison::equal;
    std::vector<Scalar> operands; // one, unless the comparison is `in`
};

// Which entries a call concerns. All parts must match.
struct Filter {
    std::optional<std::string> space; // not set: all namespaces
    std::string key_contains;         // compared without regard to case; empty: any key
    std::vector<Condition> where;

    bool is_empty() const noexcept { return !space && key_contains.empty() && where.empty(); }
};

// Weights of the combined score. Each is 0 or more, and their sum is not 0.
struct Weights {
    double relevance = 1.0;
    double priority = 0.0;
    double recency = 0.0;
    double importance = 0.0;
};

struct StoreQuery {
    std::vector<float> embedding; // empty: no vector search
    std::string text;             // empty: no full-text search
    Filter filter;
    std::size_t limit = 10;
    std::size_t candidates = 0; // of each search; 0: four times `limit`, at least 64
    bool prefilter = true;      // false: filters what the searches have found
    Weights weights;
    double half_life_s = 86400.0; // of recency
    std::int64_t now_ms = 0;      // 0: the system's clock
    bool touch = false;           // sets accessed_ms of the results to `now_ms`
    bool with_embedding = false;  // results hold their embedding
};

struct StoreResult {
    Entry entry;
    std::optional<double> similarity; // cosine, -1 to 1; not set: the query or the entry has no embedding
    std::optional<double> text_score; // BM25, larger is better; not set: the entry does not match the text
    double relevance = 0.0;
    double recency = 0.0;
    double score = 0.0;
};

struct ListOptions {
    Filter filter;
    std::size_t limit = 100;
    std::int64_t after = 0; // lists entries after this position
    bool with_embedding = false;
};

struct Page {
    std::vector<Entry> entries; // in the order of their insertion
    std::int64_t next = 0;      // position of the next page; 0: this was the last
};

} // namespace sotto::store
