#include "store/entry_table.hpp"

#include <bit>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "store/case_fold.hpp"

namespace sotto::store {
namespace {

static_assert(std::endian::native == std::endian::little, "embeddings are stored in little-endian order");

constexpr const char* kColumns =
    "entry, id, space, key, value, priority, importance, created_ms, accessed_ms, metadata";

std::string select(const std::string& rest) {
    return "SELECT " + std::string(kColumns) + " FROM entries WHERE " + rest;
}

Row row_of(const Run& run) {
    Row row;
    row.number = run.integer(0);
    row.entry.id = run.text(1);
    row.entry.space = run.text(2);
    row.entry.key = run.text(3);
    row.entry.value = run.text(4);
    row.entry.priority = run.real(5);
    row.entry.importance = run.real(6);
    row.entry.created_ms = run.integer(7);
    row.entry.accessed_ms = run.integer(8);
    row.entry.metadata = run.text(9);
    return row;
}

void bind_entry(Run& run, const Entry& entry) {
    run.bind(entry.id).bind(entry.space).bind(entry.key).bind(entry.value);
    run.bind(entry.priority).bind(entry.importance).bind(entry.created_ms).bind(entry.accessed_ms);
    run.bind(entry.metadata);
}

std::vector<float> floats_of(std::span<const std::byte> bytes) {
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
}

std::vector<std::int64_t> numbers(Run& run) {
    std::vector<std::int64_t> found;
    while (run.step()) {
        found.push_back(run.integer(0));
    }
    return found;
}

} // namespace

EntryTable::EntryTable(Database& database)
    : database_(database), find_(database, "SELECT entry FROM entries WHERE id = ?"),
      read_(database, select("entry = ?")), insert_(
                                                database,
                                                "INSERT INTO entries(id, space, key, value, priority, "
                                                "importance, created_ms, accessed_ms, metadata) "
                                                "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"
                                            ),
      replace_(
          database,
          "UPDATE entries SET (id, space, key, value, priority, importance, created_ms, accessed_ms, "
          "metadata) = "
          "(?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE entry = ?"
      ),
      remove_(database, "DELETE FROM entries WHERE entry = ?"),
      touch_(database, "UPDATE entries SET accessed_ms = max(accessed_ms, ?) WHERE entry = ?"),
      add_words_(database, "INSERT INTO words(rowid, key, value) VALUES(?, ?, ?)"),
      remove_words_(database, "DELETE FROM words WHERE rowid = ?"),
      read_embedding_(database, "SELECT vector FROM embeddings WHERE entry = ?"),
      write_embedding_(database, "INSERT OR REPLACE INTO embeddings(entry, changed, vector) VALUES(?, ?, ?)"),
      remove_embedding_(database, "DELETE FROM embeddings WHERE entry = ?") {}

std::int64_t EntryTable::count(const Filter& filter) {
    Statement statement(database_, "SELECT count(*) FROM entries WHERE " + filter_sql(filter));
    const auto key = folded(filter.key_contains);
    Run run(statement);
    bind_filter(run, filter, key);
    return run.step() ? run.integer(0) : 0;
}

std::optional<std::int64_t> EntryTable::find(std::string_view id) {
    Run run(find_);
    run.bind(id);
    return run.step() ? std::optional(run.integer(0)) : std::nullopt;
}

std::optional<Row> EntryTable::read(std::int64_t number) {
    Run run(read_);
    run.bind(number);
    return run.step() ? std::optional(row_of(run)) : std::nullopt;
}

std::optional<Row> EntryTable::read_matching(std::int64_t number, const Filter& filter) {
    if (filter.is_empty()) {
        return read(number);
    }
    Statement statement(database_, select(filter_sql(filter) + " AND entry = ?"));
    const auto key = folded(filter.key_contains);
    Run run(statement);
    bind_filter(run, filter, key);
    run.bind(number);
    return run.step() ? std::optional(row_of(run)) : std::nullopt;
}

std::vector<std::int64_t> EntryTable::matching(const Filter& filter) {
    Statement statement(
        database_, "SELECT entry FROM entries WHERE " + filter_sql(filter) + " ORDER BY entry"
    );
    const auto key = folded(filter.key_contains);
    Run run(statement);
    bind_filter(run, filter, key);
    return numbers(run);
}

std::vector<std::int64_t> EntryTable::recent(const Filter& filter, std::size_t limit) {
    const std::string order = " ORDER BY accessed_ms DESC, entry DESC LIMIT ?";
    Statement statement(database_, "SELECT entry FROM entries WHERE " + filter_sql(filter) + order);
    const auto key = folded(filter.key_contains);
    Run run(statement);
    bind_filter(run, filter, key);
    run.bind(static_cast<std::int64_t>(limit));
    return numbers(run);
}

std::vector<Row> EntryTable::page(const Filter& filter, std::int64_t after, std::size_t limit) {
    Statement statement(database_, select(filter_sql(filter) + " AND entry > ? ORDER BY entry LIMIT ?"));
    const auto key = folded(filter.key_contains);
    Run run(statement);
    bind_filter(run, filter, key);
    run.bind(after).bind(static_cast<std::int64_t>(limit));
    std::vector<Row> rows;
    while (run.step()) {
        rows.push_back(row_of(run));
    }
    return rows;
}

std::int64_t EntryTable::insert(const Entry& entry) {
    std::int64_t number = 0;
    {
        Run run(insert_);
        bind_entry(run, entry);
        run.done();
        number = database_.last_row();
    }
    Run words(add_words_);
    words.bind(number).bind(entry.key).bind(entry.value).done();
    return number;
}

void EntryTable::replace(std::int64_t number, const Entry& entry) {
    {
        Run run(replace_);
        bind_entry(run, entry);
        run.bind(number).done();
    }
    {
        Run run(remove_words_);
        run.bind(number).done();
    }
    Run words(add_words_);
    words.bind(number).bind(entry.key).bind(entry.value).done();
}

void EntryTable::remove(std::int64_t number) {
    for (auto* statement : {&remove_, &remove_words_, &remove_embedding_}) {
        Run run(*statement);
        run.bind(number).done();
    }
}

void EntryTable::touch(std::int64_t number, std::int64_t now_ms) {
    Run run(touch_);
    run.bind(now_ms).bind(number).done();
}

std::vector<float> EntryTable::embedding(std::int64_t number) {
    Run run(read_embedding_);
    run.bind(number);
    return run.step() ? floats_of(run.blob(0)) : std::vector<float>();
}

void EntryTable::write_embedding(
    std::int64_t number, std::int64_t generation, std::span<const float> values
) {
    Run run(write_embedding_);
    run.bind(number).bind(generation).bind_blob(std::as_bytes(values)).done();
}

void EntryTable::remove_embedding(std::int64_t number) {
    Run run(remove_embedding_);
    run.bind(number).done();
}

void EntryTable::each_embedding(
    std::int64_t generation, const std::function<void(std::int64_t, std::span<const float>)>& visit
) {
    // From the start, the table's own order saves the sort.
    const bool all = generation <= 0;
    Statement statement(
        database_,
        std::string("SELECT entry, vector FROM embeddings WHERE ") + (all ? "+changed" : "changed") +
            " > ? ORDER BY entry"
    );
    Run run(statement);
    run.bind(generation);
    while (run.step()) {
        const auto values = floats_of(run.blob(1));
        visit(run.integer(0), values);
    }
}

std::vector<std::int64_t> EntryTable::embedded_rows() {
    Statement statement(database_, "SELECT entry FROM embeddings ORDER BY entry");
    Run run(statement);
    return numbers(run);
}

} // namespace sotto::store
