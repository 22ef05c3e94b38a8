#include "store/text_search.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace sotto::store {
namespace {

constexpr std::size_t kMaxTokens = 64;
constexpr std::int64_t kMaxRead = 30'000; // occurrences that are read where few entries are allowed

Database& with_vocabulary(Database& database) {
    database.run("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, words, row)");
    return database;
}

// Quotes a token, so that FTS5 reads none of its characters as an operator.
std::string quoted(const std::string& token) {
    std::string text = "\"";
    for (const char c : token) {
        text.append(c == '"' ? 2 : 1, c);
    }
    return text + "\"";
}

} // namespace

TextSearch::TextSearch(Database& database)
    : database_(with_vocabulary(database)),
      find_(
          database_,
          "SELECT rowid, -bm25(words, 2.0, 1.0) FROM words WHERE words MATCH ? AND sotto_is_in(?, rowid) "
          "ORDER BY rowid DESC LIMIT ?"
      ),
      count_(database_, "SELECT doc FROM vocabulary WHERE term = ?") {}

std::string TextSearch::expression(std::string_view text, std::int64_t most) {
    auto tokens = database_.tokens(text, kMaxTokens);
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    std::vector<std::pair<std::int64_t, std::string>> counted;
    for (auto& token : tokens) {
        Run run(count_);
        run.bind(token);
        if (run.step()) { // else no entry has the word
            counted.emplace_back(run.integer(0), std::move(token));
        }
    }
    std::sort(counted.begin(), counted.end());
    std::string words;
    std::int64_t entries = 0;
    for (const auto& [count, token] : counted) {
        entries += count;
        if (!words.empty() && entries > most) {
            break;
        }
        words += (words.empty() ? "" : " OR ") + quoted(token);
    }
    return words;
}

std::vector<TextMatch>
TextSearch::find(std::string_view text, std::size_t limit, const std::vector<std::int64_t>* allowed) {
    std::vector<TextMatch> found;
    const bool few = allowed != nullptr && allowed->size() <= static_cast<std::size_t>(kMaxRanked);
    const auto words = expression(text, few ? kMaxRead : kMaxRanked);
    if (words.empty()) {
        return found;
    }
    Run run(find_);
    run.bind(words).bind_rows(allowed).bind(kMaxRanked);
    while (run.step()) {
        found.push_back({run.integer(0), run.real(1)});
    }
    const auto better = [](const TextMatch& a, const TextMatch& b) {
        return a.score != b.score ? a.score > b.score : a.number > b.number;
    };
    const auto kept = std::min(limit, found.size());
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end(), better);
    found.resize(kept);
    return found;
}

} // namespace sotto::store
