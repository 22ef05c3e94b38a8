// A persistent store of a character's memories: entries with text, metadata and embeddings, in SQLite.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/entry.hpp"
#include "store/entry_table.hpp"
#include "store/schema.hpp"
#include "store/sqlite.hpp"
#include "store/store_files.hpp"
#include "store/store_vectors.hpp"
#include "store/text_search.hpp"

namespace sotto::store {

struct Candidate;

struct StoreOptions {
    std::string folder;
    std::string id;
    std::uint32_t dim = 0;  // of the embeddings; 0: of the existing store, else a new one has no embeddings
    bool create = false;    // creates the store if it does not exist
    bool read_only = false; // changes nothing; several processes may read one store
};

struct StoreInfo {
    std::uint32_t dim = 0;
    std::int64_t entries = 0;
    std::int64_t embeddings = 0;
    std::int64_t generation = 0;
    std::uint64_t file_bytes = 0; // of the database, without its WAL
    bool read_only = false;
};

// An open store. Every function may be called from any thread; calls on one store wait for each other and
// for the disk. What a call has written survives the end of the process and of the system's power from its
// return on (WAL, synchronous=FULL). A call that throws has changed nothing.
//
// A store that is open for writing is open once: its connection locks the file until it closes. With one
// connection, no other process can change what is in memory, and SQLite's WAL needs no shared memory.
class Store {
public:
    // Throws Error(SOTTO_ERROR_NOT_FOUND) if the store does not exist, (SOTTO_ERROR_BUSY) if it is open
    // elsewhere, (SOTTO_ERROR_STATE) if it has other dimensions, is damaged or cannot be written,
    // (SOTTO_ERROR_UNSUPPORTED) if a newer version wrote it.
    explicit Store(const StoreOptions& options);
    ~Store();
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    // Removes the files of a store. Throws Error(SOTTO_ERROR_NOT_FOUND) or Error(SOTTO_ERROR_BUSY).
    static void destroy(std::string_view folder, std::string_view id);

    // Inserts all entries in one transaction and returns their ids. `replace`: an entry with the id of an
    // existing one takes its place; else Error(SOTTO_ERROR_STATE).
    std::vector<std::string> insert(std::vector<Entry> entries, bool replace);
    // Changes an entry. Returns false if there is no such id.
    bool update(std::string_view id, const EntryChange& change);
    // Both return the number of entries removed.
    std::int64_t remove(const std::vector<std::string>& ids);
    std::int64_t remove(const Filter& filter);

    std::optional<Entry> get(std::string_view id, bool with_embedding);
    Page list(const ListOptions& options);
    std::int64_t count(const Filter& filter);
    std::vector<StoreResult> query(const StoreQuery& query);

    StoreInfo info();
    // Gives the disk space of removed entries back to the system.
    void compact();
    // Writes all entries to a file, from which restore() reads them, or replaces such a file.
    void backup(const std::string& path);
    // Replaces all entries by those of a backup of a store of this dim. Throws Error, and changes nothing, if
    // the file is not a whole backup that fits.
    void restore(const std::string& path);
    // Reads the whole database and throws Error(SOTTO_ERROR_STATE) if it is damaged.
    void check();

private:
    void read_tables();
    void require_writable() const;
    void require_dim(std::size_t size) const;
    void write(Entry& entry, bool replace, std::vector<std::int64_t>& changed);
    std::int64_t remove_rows(const std::vector<std::int64_t>& rows);
    void next_generation();
    std::vector<Candidate> candidates(const StoreQuery& query);
    std::optional<StoreResult>
    result(const Candidate& candidate, const StoreQuery& query, std::int64_t now_ms);
    void touch(const std::vector<StoreResult>& results, std::int64_t now_ms);

    std::mutex mutex_; // guards everything below
    StoreFiles files_;
    bool read_only_;
    std::unique_ptr<Database> database_;
    Facts facts_;
    std::unique_ptr<EntryTable> entries_;
    std::unique_ptr<TextSearch> text_;
    std::unique_ptr<StoreVectors> vectors_;
};

} // namespace sotto::store
