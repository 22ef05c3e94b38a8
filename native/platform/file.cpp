#include "platform/file.hpp"

#include <algorithm>
#include <random>
#include <string>

#include "base/error.hpp"
#include "base/path.hpp"

namespace sotto {
namespace {

using std::filesystem::file_type;

// Shortens a path for an error message and replaces control characters, which could steer a terminal.
std::string shown(std::string_view text) {
    constexpr std::size_t kMaxShown = 200;
    std::string result(text.substr(0, kMaxShown));
    for (char& c : result) {
        const auto byte = static_cast<unsigned char>(c);
        c = byte < 0x20 || byte == 0x7F ? '?' : c;
    }
    return text.size() > kMaxShown ? result + "..." : result;
}

[[noreturn]] void refuse(
    sotto_status status, const PathArgument& path, const std::string& expected, const std::string& way_out
) {
    throw Error(
        status,
        "invalid " + std::string(path.parameter) + " '" + shown(path.value) + "': expected " + expected +
            "; " + way_out
    );
}

[[noreturn]] void not_written(const PathArgument& path, std::error_code reason) {
    refuse(
        SOTTO_ERROR_STATE,
        path,
        "a file that can be written, but the system says: " + reason.message(),
        "make room on the disk, or use a folder that exists and that this user may write to"
    );
}

std::filesystem::path checked(const PathArgument& path) {
    if (path.value.empty() || path.value.find('\0') != std::string_view::npos) {
        refuse(
            SOTTO_ERROR_ARGUMENT,
            path,
            "a path without NUL characters, not empty",
            "give the file's full path"
        );
    }
    return native_path(path.value);
}

const char* name_of(file_type type) noexcept {
    switch (type) {
    case file_type::directory:
        return "a folder";
    case file_type::symlink:
        return "a link";
    case file_type::fifo:
        return "a FIFO";
    case file_type::socket:
        return "a socket";
    default:
        return "a device";
    }
}

[[noreturn]] void not_regular(const PathArgument& path, file_type type) {
    refuse(
        SOTTO_ERROR_ARGUMENT,
        path,
        std::string("a regular file, but it is ") + name_of(type),
        "use the path of a regular file"
    );
}

} // namespace

std::filesystem::path unique_name(std::string_view stem, std::string_view suffix) {
    std::random_device random;
    constexpr const char* kDigits = "0123456789abcdef";
    std::string name(stem);
    for (int i = 0; i < 16; ++i) {
        name += kDigits[random() % 16];
    }
    return native_path(name.append(suffix));
}

File open_file(const PathArgument& path) {
    const auto where = checked(path);
    std::error_code failed;
    const auto type = std::filesystem::status(where, failed).type();
    if (type != file_type::regular && type != file_type::not_found && type != file_type::none) {
        not_regular(path, type);
    }
    auto file = file_system::open_existing(where, failed);
    if (failed) {
        refuse(
            SOTTO_ERROR_NOT_FOUND,
            path,
            "a file that can be read, but the system says: " + failed.message(),
            "check the path, and that this user may read the file"
        );
    }
    if (!file.is_regular()) { // the path was replaced between the check and the opening
        not_regular(path, file_type::unknown);
    }
    return file;
}

File create_file(const PathArgument& path) {
    std::error_code failed;
    auto file = file_system::create_new(checked(path), file_system::Access::append, failed);
    if (failed == std::errc::file_exists || failed == std::errc::too_many_symbolic_link_levels) {
        refuse(
            SOTTO_ERROR_ARGUMENT, path, "a path without a file", "use another path, or move the existing file"
        );
    }
    if (failed) {
        not_written(path, failed);
    }
    return file;
}

FileReplacement::FileReplacement(const PathArgument& path)
    : parameter_(path.parameter), path_(path.value), target_(checked(path)) {
    std::error_code failed;
    const auto type = std::filesystem::symlink_status(target_, failed).type();
    if (type != file_type::regular && type != file_type::not_found && type != file_type::none) {
        not_regular(path, type);
    }
    unfinished_ = target_.parent_path() / unique_name(".sotto-", ".partial");
    file_ = file_system::create_unnamed(target_.parent_path(), failed);
    if (failed) { // not every file system has unnamed files
        failed.clear();
        file_ = file_system::create_new(unfinished_, file_system::Access::write, failed);
        is_named_ = !failed;
    }
    check(failed);
}

FileReplacement::~FileReplacement() {
    file_.close();
    if (is_named_) {
        std::error_code ignored;
        std::filesystem::remove(unfinished_, ignored);
    }
}

void FileReplacement::check(std::error_code failed) const {
    if (failed) {
        not_written({parameter_, path_}, failed);
    }
}

void FileReplacement::append(std::string_view bytes) {
    check(file_.write(size_, bytes));
    size_ += bytes.size();
}

void FileReplacement::overwrite(std::uint64_t offset, std::string_view bytes) {
    check(file_.write(offset, bytes));
}

// Copies a complete file without a name, which the system cannot name, to a file with one.
void FileReplacement::write_named() {
    constexpr std::uint64_t kPiece = 1 << 20;
    std::error_code failed;
    auto named = file_system::create_new(unfinished_, file_system::Access::write, failed);
    check(failed);
    is_named_ = true;
    std::string piece;
    for (std::uint64_t at = 0; at < size_; at += piece.size()) {
        piece.resize(static_cast<std::size_t>(std::min(kPiece, size_ - at)));
        check(file_.read(at, piece.data(), piece.size()));
        check(named.write(at, piece));
    }
    check(named.sync());
    file_ = std::move(named);
}

void FileReplacement::commit() {
    check(file_.sync());
    if (!is_named_) {
        is_named_ = !file_system::name_file(file_, unfinished_);
    }
    if (!is_named_) { // naming a file needs /proc
        write_named();
    }
    check(file_.close());
    std::error_code failed;
    std::filesystem::rename(unfinished_, target_, failed);
    check(failed);
    is_named_ = false;
    file_system::sync_folder(target_.parent_path());
}

void replace_file(const PathArgument& path, std::string_view bytes) {
    FileReplacement file(path);
    file.append(bytes);
    file.commit();
}

} // namespace sotto
