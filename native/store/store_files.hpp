// The files of a store, and the rules for the id that names them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "platform/file.hpp"

namespace sotto::store {

// Throws Error(SOTTO_ERROR_ARGUMENT) for an id that is not a plain file name on every system.
void check_id(std::string_view id);

// Paths of a store's files: `<id>.db`, SQLite's files beside it, and `<id>.<16 hexadecimal digits>.index`.
class StoreFiles {
public:
    // Checks both arguments; reads nothing.
    StoreFiles(std::string_view folder, std::string_view id);

    const std::string& id() const noexcept { return id_; }
    std::filesystem::path database() const;
    std::filesystem::path index(std::string_view name) const { return folder_ / index_name(name); }

    // Returns true if the database exists and is not empty. Throws Error(SOTTO_ERROR_ARGUMENT) if anything
    // but a regular file has its name, including a link.
    bool exists() const;
    // Creates the folder and an empty database, readable by the user only. Does nothing if it exists.
    void create() const;
    // Returns true if a WAL with content lies beside the database.
    bool has_wal() const;

    // Removes index files but the one with the name `kept`. Ignores files that cannot be removed.
    void remove_indexes(std::string_view kept) const noexcept;
    // Removes all files of the store. Throws Error(SOTTO_ERROR_STATE) if one cannot be removed.
    void remove() const;

private:
    std::filesystem::path index_name(std::string_view name) const;
    std::vector<std::filesystem::path> indexes() const;

    std::filesystem::path folder_;
    std::string id_;
};

// Throws Error(SOTTO_ERROR_ARGUMENT) if `path` is the database of an open store, which has a WAL beside it.
// To open such a file a second time, and to close it, would release the store's lock where locks belong to a
// process.
void refuse_open_store(const PathArgument& path);

// Ids of the stores in a folder, sorted. A folder that does not exist has none.
std::vector<std::string> stores_in(std::string_view folder);

} // namespace sotto::store
