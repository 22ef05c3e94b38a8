#include "store/schema.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.hpp"

namespace sotto::store {
namespace {

constexpr std::int64_t kApplication = 0x536F7474; // "Sott": tells a store from other databases
constexpr std::uint32_t kMaxDim = 16384;

struct Object {
    const char* name;
    const char* sql;
};

// Everything that version 1 has. SQLite keeps the text of each, so that a file with anything else is refused.
constexpr std::array kObjects{
    Object{"facts", "CREATE TABLE facts(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID"},
    Object{
        "entries",
        "CREATE TABLE entries(entry INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, "
        "space TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, priority REAL NOT NULL, "
        "importance REAL NOT NULL, created_ms INTEGER NOT NULL, accessed_ms INTEGER NOT NULL, "
        "metadata TEXT NOT NULL) STRICT"
    },
    Object{"entries_space", "CREATE INDEX entries_space ON entries(space, accessed_ms)"},
    Object{
        "embeddings",
        "CREATE TABLE embeddings(entry INTEGER PRIMARY KEY, changed INTEGER NOT NULL, "
        "vector BLOB NOT NULL) STRICT"
    },
    Object{"embeddings_changed", "CREATE INDEX embeddings_changed ON embeddings(changed)"},
    Object{
        "words",
        "CREATE VIRTUAL TABLE words USING fts5(key, value, content='', contentless_delete=1, "
        "tokenize='unicode61 remove_diacritics 2')"
    },
};

[[noreturn]] void refuse(sotto_status status, const std::string& name, const std::string& what) {
    throw Error(status, "store '" + name + "' " + what);
}

// Tables of SQLite, and those in which FTS5 keeps the index of `words`.
constexpr std::array<std::string_view, 6> kInternal{
    "sqlite_sequence",
    "sqlite_autoindex_entries_1",
    "words_data",
    "words_idx",
    "words_docsize",
    "words_config"
};

bool is_internal(std::string_view type, std::string_view name) {
    return (type == "table" || type == "index") &&
           std::find(kInternal.begin(), kInternal.end(), name) != kInternal.end();
}

// Throws unless the database holds exactly the objects above.
void check_objects(Database& database, const std::string& name) {
    Statement statement(database, "SELECT name, sql, type FROM sqlite_schema");
    Run run(statement);
    std::size_t found = 0;
    while (run.step()) {
        bool known = is_internal(run.text(2), run.text(0));
        for (const auto& object : kObjects) {
            if (run.text(0) == object.name && run.text(1) == object.sql) {
                known = true;
                ++found;
            }
        }
        if (!known) {
            refuse(SOTTO_ERROR_STATE, name, "has tables that Sotto did not make; use another id");
        }
    }
    if (found != kObjects.size()) {
        refuse(SOTTO_ERROR_STATE, name, "lacks tables; restore the file from a copy, or delete the store");
    }
}

void create(Database& database, std::uint32_t dim) {
    Transaction transaction(database);
    for (const auto& object : kObjects) {
        database.run(object.sql);
    }
    write_fact(database, "dim", std::to_string(dim));
    write_fact(database, "generation", "0");
    database.run(("PRAGMA application_id = " + std::to_string(kApplication)).c_str());
    database.run(("PRAGMA user_version = " + std::to_string(kSchemaVersion)).c_str());
    transaction.commit();
}

std::int64_t number(const std::string& text) {
    std::int64_t value = -1;
    const auto* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && at == end ? value : -1;
}

std::string fact(Database& database, std::string_view name) {
    Statement statement(database, "SELECT value FROM facts WHERE name = ?");
    Run run(statement);
    run.bind(name);
    return run.step() ? std::string(run.text(0)) : "";
}

} // namespace

void prepare_schema(Database& database, const std::string& name, std::uint32_t dim, bool writable) {
    const bool empty = database.integer("SELECT count(*) FROM sqlite_schema") == 0;
    const auto version = database.integer("PRAGMA user_version");
    if (empty && version == 0 && writable) {
        create(database, dim);
    } else if (database.integer("PRAGMA application_id") != kApplication) {
        refuse(SOTTO_ERROR_STATE, name, "is a database of another program; use another id");
    } else if (version > kSchemaVersion) {
        refuse(
            SOTTO_ERROR_UNSUPPORTED,
            name,
            "has version " + std::to_string(version) + " of its tables, but this library reads up to " +
                std::to_string(kSchemaVersion) + "; update Sotto, or export the store with the newer library"
        );
    } else if (version != kSchemaVersion) {
        refuse(SOTTO_ERROR_STATE, name, "has no valid version; restore the file from a copy");
    }
    check_objects(database, name);
}

Facts read_facts(Database& database, const std::string& name) {
    const auto dim = number(fact(database, "dim"));
    Facts facts;
    facts.generation = number(fact(database, "generation"));
    if (dim < 0 || dim > kMaxDim || facts.generation < 0) {
        refuse(SOTTO_ERROR_STATE, name, "is damaged; restore the file from a copy, or delete the store");
    }
    facts.dim = static_cast<std::uint32_t>(dim);
    facts.index = fact(database, "index");
    facts.index_generation = number(fact(database, "index_generation"));
    return facts;
}

void write_fact(Database& database, std::string_view name, std::string_view value) {
    Statement statement(database, "INSERT OR REPLACE INTO facts(name, value) VALUES(?, ?)");
    Run run(statement);
    run.bind(name).bind(value).done();
}

} // namespace sotto::store
