#include "store/store_copy.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "base/path.hpp"
#include "platform/file.hpp"
#include "store/checks.hpp"
#include "store/entry_table.hpp"
#include "store/schema.hpp"
#include "store/store_files.hpp"

namespace sotto::store {
namespace {

constexpr std::size_t kPiece = 1 << 20; // bytes

std::string regular_file(const std::string& path) {
    std::error_code error;
    const auto type = std::filesystem::symlink_status(native_path(path), error).type();
    if (type == std::filesystem::file_type::not_found || type == std::filesystem::file_type::none) {
        throw Error(SOTTO_ERROR_NOT_FOUND, invalid("path", path, "an existing backup of a store"));
    }
    if (type != std::filesystem::file_type::regular) {
        throw invalid_argument("path", path, "a regular file, not a folder, a link or a device");
    }
    return path;
}

// Throws Error if an entry or an embedding is not one that the store would have taken.
void check_entries(Database& backup) {
    constexpr std::size_t kRows = 256;
    EntryTable table(backup);
    for (std::int64_t after = 0;;) {
        const auto rows = table.page({}, after, kRows);
        for (const auto& row : rows) {
            check_entry(row.entry);
        }
        if (rows.size() < kRows) {
            break;
        }
        after = rows.back().number;
    }
    if (backup.integer("SELECT count(*) FROM entries WHERE NOT json_valid(metadata)") > 0) {
        throw Error(SOTTO_ERROR_STATE, "metadata that is not JSON");
    }
    const auto dim = read_facts(backup, "backup").dim;
    table.each_embedding(0, [&](std::int64_t, std::span<const float> values) {
        if (values.size() != dim) {
            throw Error(SOTTO_ERROR_STATE, "an embedding of another size");
        }
        check_vector(values, "embedding");
    });
}

// Opens a backup and reads all of it. Throws Error if it is not a whole database of a store.
std::unique_ptr<Database> open_backup(const std::string& path, const std::string& name) {
    try {
        auto backup = std::make_unique<Database>(path, name, Access::immutable);
        prepare_schema(*backup, name, 0, false);
        read_facts(*backup, name);
        if (backup->text("PRAGMA integrity_check(1)") == "ok") {
            check_entries(*backup);
            return backup;
        }
    } catch (const Error& error) {
        if (error.status() == SOTTO_ERROR_UNSUPPORTED) {
            throw Error(
                error.status(), invalid("path", path, "a backup that this version reads; update Sotto")
            );
        }
    }
    throw Error(SOTTO_ERROR_STATE, invalid("path", path, "a whole, undamaged backup of a store"));
}

void check_dim(Database& backup, const std::string& path, const std::string& name, std::uint32_t dim) {
    if (const auto facts = read_facts(backup, name); facts.dim != dim) {
        const auto expected = "a backup with dim " + std::to_string(dim) + ", as store '" + name +
                              "' has, not " + std::to_string(facts.dim);
        throw Error(SOTTO_ERROR_STATE, invalid("path", path, expected));
    }
}

} // namespace

void write_backup(Database& database, const std::string& path) {
    refuse_open_store({"path", path});
    const auto size = database.file_size();
    FileReplacement backup({"path", path});
    std::string piece;
    for (std::uint64_t at = 0; at < size; at += piece.size()) {
        piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(size - at, kPiece)));
        database.read_file(at, piece);
        backup.append(piece);
    }
    backup.commit();
}

void read_backup(Database& database, const std::string& path, const std::string& name, std::uint32_t dim) {
    refuse_open_store({"path", path});
    const auto backup = open_backup(regular_file(path), name);
    check_dim(*backup, path, name, dim);
    database.replace_by(*backup);
}

} // namespace sotto::store
