#include "platform/file.hpp"

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

// Removes a partially written file unless it was renamed.
class Partial {
public:
    explicit Partial(std::filesystem::path path) : path_(std::move(path)) {}
    ~Partial() {
        std::error_code ignored;
        if (!path_.empty()) {
            std::filesystem::remove(path_, ignored);
        }
    }
    Partial(const Partial&) = delete;
    Partial& operator=(const Partial&) = delete;

    std::error_code rename(const std::filesystem::path& target) {
        std::error_code failed;
        std::filesystem::rename(path_, target, failed);
        if (!failed) {
            keep();
        }
        return failed;
    }
    void keep() noexcept { path_.clear(); }

private:
    std::filesystem::path path_;
};

// Writes `bytes` at the start of a file and syncs the file.
std::error_code fill(const File& file, std::string_view bytes) noexcept {
    const auto failed = file.write(0, bytes);
    return failed ? failed : file.sync();
}

// Writes a file that has no name until it is complete. Returns not_supported if the file system does not
// support unnamed files or cannot name one later.
std::error_code write_unnamed(const std::filesystem::path& path, std::string_view bytes) {
    std::error_code failed;
    const auto file = file_system::create_unnamed(path.parent_path(), failed);
    if (failed) {
        return std::make_error_code(std::errc::not_supported);
    }
    failed = fill(file, bytes);
    if (!failed && file_system::name_file(file, path)) { // may fail: naming the file needs /proc
        failed = std::make_error_code(std::errc::not_supported);
    }
    return failed;
}

// Writes a file that is visible under its name from the start.
std::error_code write_named(const std::filesystem::path& path, std::string_view bytes) {
    std::error_code failed;
    auto file = file_system::create_new(path, file_system::Access::write, failed);
    if (failed) {
        return failed;
    }
    Partial partial(path);
    failed = fill(file, bytes);
    const auto closed = file.close();
    failed = failed ? failed : closed;
    if (!failed) {
        partial.keep();
    }
    return failed;
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

void replace_file(const PathArgument& path, std::string_view bytes) {
    const auto target = checked(path);
    std::error_code failed;
    const auto type = std::filesystem::symlink_status(target, failed).type();
    if (type != file_type::regular && type != file_type::not_found && type != file_type::none) {
        not_regular(path, type);
    }
    const auto unfinished = target.parent_path() / unique_name(".sotto-", ".partial");
    failed = write_unnamed(unfinished, bytes);
    if (failed == std::errc::not_supported) {
        failed = write_named(unfinished, bytes);
    }
    if (failed) {
        not_written(path, failed);
    }
    Partial partial(unfinished);
    failed = partial.rename(target);
    if (failed) {
        not_written(path, failed);
    }
    file_system::sync_folder(target.parent_path());
}

} // namespace sotto
