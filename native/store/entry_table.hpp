// Entries in the database: their rows, embeddings and words.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "store/entry.hpp"
#include "store/filter.hpp"
#include "store/sqlite.hpp"

namespace sotto::store {

// An entry and its row, which no later entry takes.
struct Row {
    std::int64_t number = 0;
    Entry entry;
};

// Statements on the entries of one database. Not thread-safe. Writing functions belong in a Transaction.
class EntryTable {
public:
    explicit EntryTable(Database& database);

    std::int64_t count(const Filter& filter = {});
    std::optional<std::int64_t> find(std::string_view id);
    std::optional<Row> read(std::int64_t number);
    // Returns the row of an entry if it matches the filter.
    std::optional<Row> read_matching(std::int64_t number, const Filter& filter);
    // Rows that match a filter, ascending.
    std::vector<std::int64_t> matching(const Filter& filter);
    // Rows that match a filter, last accessed first.
    std::vector<std::int64_t> recent(const Filter& filter, std::size_t limit);
    // Returns at most `limit` rows with ids above `after` that match a filter, ascending.
    std::vector<Row> page(const Filter& filter, std::int64_t after, std::size_t limit);

    std::int64_t insert(const Entry& entry);
    void replace(std::int64_t number, const Entry& entry);
    void remove(std::int64_t number);
    void touch(std::int64_t number, std::int64_t now_ms);

    // Embeddings, as values in the machine's byte order, which is little-endian on every supported one.
    std::vector<float> embedding(std::int64_t number);
    void write_embedding(std::int64_t number, std::int64_t generation, std::span<const float> values);
    void remove_embedding(std::int64_t number);
    // Calls `visit(row, values)` for each embedding that changed after `generation`, by ascending row.
    void each_embedding(
        std::int64_t generation,
        const std::function<void(std::int64_t number, std::span<const float> values)>& visit
    );
    std::vector<std::int64_t> embedded_rows();

private:
    Database& database_;
    Statement find_;
    Statement read_;
    Statement insert_;
    Statement replace_;
    Statement remove_;
    Statement touch_;
    Statement add_words_;
    Statement remove_words_;
    Statement read_embedding_;
    Statement write_embedding_;
    Statement remove_embedding_;
};

} // namespace sotto::store
