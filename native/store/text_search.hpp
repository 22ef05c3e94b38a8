// Full-text search of the entries' keys and values: FTS5, ranked by BM25.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "store/sqlite.hpp"

namespace sotto::store {

struct TextMatch {
    std::int64_t number = 0; // row of the entry
    double score = 0.0;      // BM25: larger is better
};

// Not thread-safe.
class TextSearch {
public:
    explicit TextSearch(Database& database);

    // Returns the best `limit` entries that have any word of `text`, best first. `allowed`: ascending rows
    // that may be returned; null: all. Ranks at most kMaxRanked entries, the newest that have one of the
    // rarest words: a word that most entries have would take long and tell little.
    std::vector<TextMatch>
    find(std::string_view text, std::size_t limit, const std::vector<std::int64_t>* allowed);

    static constexpr std::int64_t kMaxRanked = 2500;

private:
    std::string expression(std::string_view text, std::int64_t most);

    Database& database_;
    Statement find_;
    Statement count_;
};

} // namespace sotto::store
