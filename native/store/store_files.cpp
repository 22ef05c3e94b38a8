#include "store/store_files.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <system_error>

#include "base/error.hpp"
#include "base/path.hpp"
#include "platform/file.hpp"

namespace sotto::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxId = 100; // bytes: leaves room for suffixes in a name of 255
constexpr std::string_view kDatabase = ".db";
constexpr std::string_view kIndex = ".index";
constexpr std::size_t kIndexDigits = 16;

// Shortens an id for an error message and replaces control characters.
std::string shown(std::string_view id) {
    std::string text(id.substr(0, kMaxId));
    for (char& c : text) {
        const auto byte = static_cast<unsigned char>(c);
        c = byte < 0x20 || byte == 0x7F ? '?' : c;
    }
    return id.size() > kMaxId ? text + "..." : text;
}

// Returns true for names that Windows reserves for devices, with or without an extension: CON, lpt1.txt.
bool is_reserved(std::string_view id) {
    std::string stem(id.substr(0, id.find('.')));
    while (!stem.empty() && stem.back() == ' ') {
        stem.pop_back();
    }
    std::transform(stem.begin(), stem.end(), stem.begin(), [](unsigned char c) { return std::toupper(c); });
    if (stem == "CON" || stem == "PRN" || stem == "AUX" || stem == "NUL") {
        return true;
    }
    return stem.size() == 4 && (stem.starts_with("COM") || stem.starts_with("LPT")) && stem[3] >= '0' &&
           stem[3] <= '9';
}

bool is_hexadecimal(std::string_view text) {
    return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

[[noreturn]] void refuse_id(std::string_view id, const char* expected) {
    throw Error(SOTTO_ERROR_ARGUMENT, invalid("store id", shown(id), expected));
}

[[noreturn]] void cannot(std::string_view id, const fs::path& path, const std::error_code& error) {
    throw Error(
        SOTTO_ERROR_STATE,
        "store '" + std::string(id) + "': the system refuses '" + shown(utf8_of(path)) +
            "': " + error.message() + "; use a folder that exists and that this user may write to"
    );
}

} // namespace

void check_id(std::string_view id) {
    if (id.empty() || id.size() > kMaxId) {
        refuse_id(id, "1 to 100 bytes of UTF-8");
    }
    for (const char c : id) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F ||
            std::string_view("/\\:*?\"<>|").find(c) != std::string_view::npos) {
            refuse_id(id, "a file name without path separators, control characters and any of :*?\"<>|");
        }
    }
    if (id.front() == '.' || id.front() == ' ' || id.back() == '.' || id.back() == ' ') {
        refuse_id(id, "a name that neither begins nor ends with a dot or a space");
    }
    if (is_reserved(id)) {
        refuse_id(id, "a name that Windows does not reserve for a device; add a letter");
    }
}

StoreFiles::StoreFiles(std::string_view folder, std::string_view id) : id_(id) {
    check_id(id);
    if (folder.empty() || folder.find('\0') != std::string_view::npos) {
        throw Error(SOTTO_ERROR_ARGUMENT, "missing folder: expected a path that is not empty, without NUL");
    }
    folder_ = native_path(folder);
}

fs::path StoreFiles::database() const {
    return folder_ / native_path(id_ + std::string(kDatabase));
}

fs::path StoreFiles::index_name(std::string_view name) const {
    return native_path(id_ + "." + std::string(name) + std::string(kIndex));
}

bool StoreFiles::exists() const {
    std::error_code error;
    const auto type = fs::symlink_status(database(), error).type();
    if (type == fs::file_type::not_found || type == fs::file_type::none) {
        return false;
    }
    if (type != fs::file_type::regular) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid store '" + id_ + "': expected a regular file, but '" + shown(utf8_of(database())) +
                "' is a folder, a link or a device; use another id"
        );
    }
    for (const char* suffix :
         {"-wal", "-journal", "-shm"}) { // SQLite opens them too; a FIFO would wait for ever
        auto beside = database();
        beside += suffix;
        const auto found = fs::symlink_status(beside, error).type();
        if (found != fs::file_type::not_found && found != fs::file_type::none &&
            found != fs::file_type::regular) {
            throw Error(
                SOTTO_ERROR_ARGUMENT,
                "invalid store '" + id_ + "': expected a regular file, but '" + shown(utf8_of(beside)) +
                    "' is a folder, a link or a device; remove it"
            );
        }
    }
    return fs::file_size(database(), error) > 0 && !error;
}

void StoreFiles::create() const {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) {
        cannot(id_, folder_, error);
    }
    if (fs::symlink_status(database(), error).type() == fs::file_type::not_found) {
        create_file({"store", utf8_of(database())});
    }
}

bool StoreFiles::has_wal() const {
    std::error_code error;
    auto wal = database();
    wal += "-wal";
    const auto size = fs::file_size(wal, error);
    return !error && size > 0;
}

std::vector<fs::path> StoreFiles::indexes() const {
    std::vector<fs::path> found;
    std::error_code error;
    const auto prefix = id_ + ".";
    for (fs::directory_iterator at(folder_, error); !error && at != fs::directory_iterator();
         at.increment(error)) {
        const auto name = utf8_of(at->path().filename());
        const bool fits = name.size() == prefix.size() + kIndexDigits + kIndex.size() &&
                          name.starts_with(prefix) && name.ends_with(kIndex);
        if (fits && is_hexadecimal(std::string_view(name).substr(prefix.size(), kIndexDigits))) {
            found.push_back(at->path());
        }
    }
    return found;
}

void StoreFiles::remove_indexes(std::string_view kept) const noexcept {
    try {
        for (const auto& path : indexes()) {
            std::error_code ignored;
            if (kept.empty() || path.filename() != index_name(kept)) {
                fs::remove(path, ignored);
            }
        }
    } catch (const std::exception&) { // no memory for the names: the next open() removes the files
        return;
    }
}

void StoreFiles::remove() const {
    auto doomed = indexes();
    for (const char* suffix : {"-wal", "-shm", "-journal", ""}) { // the database last: it names the store
        auto path = database();
        path += suffix;
        doomed.push_back(std::move(path));
    }
    for (const auto& path : doomed) {
        std::error_code error;
        fs::remove(path, error);
        if (error) {
            cannot(id_, path, error);
        }
    }
    file_system::sync_folder(folder_);
}

void refuse_open_store(const PathArgument& path) {
    std::error_code error;
    auto database = fs::weakly_canonical(native_path(path.value), error); // a link's target
    if (error) {
        return; // whatever opens the path reports it
    }
    const auto with = [&](const char* suffix) {
        auto name = database;
        return name += suffix;
    };
    constexpr std::string_view kWal = "-wal";
    const auto name = utf8_of(database);
    const bool is_wal =
        name.ends_with(kWal) && fs::exists(native_path(name.substr(0, name.size() - kWal.size())), error);
    if (is_wal || fs::exists(with("-wal"), error)) {
        throw invalid_argument(
            path.parameter,
            path.value,
            "another file: this one is a store that is open, or was not closed; use a backup of it"
        );
    }
}

std::vector<std::string> stores_in(std::string_view folder) {
    std::vector<std::string> ids;
    std::error_code error;
    const fs::directory_iterator end;
    for (fs::directory_iterator at(native_path(folder), error); !error && at != end; at.increment(error)) {
        auto name = utf8_of(at->path().filename());
        std::error_code ignored;
        if (name.size() > kDatabase.size() && name.ends_with(kDatabase) && at->is_regular_file(ignored) &&
            at->file_size(ignored) > 0) {
            ids.push_back(name.substr(0, name.size() - kDatabase.size()));
        }
    }
    std::sort(ids.begin(), ids.end());
    return ids;
}

} // namespace sotto::store
