#include "platform/file.hpp"

#include <algorithm>

#include "platform/windows.hpp"

#include <winioctl.h>

namespace sotto {
namespace {

constexpr std::size_t kMaxPiece = 1 << 30; // maximum bytes of one system call

HANDLE handle_of(std::intptr_t handle) noexcept {
    return reinterpret_cast<HANDLE>(handle);
}

std::error_code last_error() noexcept {
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
        return std::make_error_code(std::errc::no_such_file_or_directory);
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
        return std::make_error_code(std::errc::file_exists);
    case ERROR_ACCESS_DENIED:
    case ERROR_WRITE_PROTECT:
        return std::make_error_code(std::errc::permission_denied);
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
        return std::make_error_code(std::errc::device_or_resource_busy);
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
        return std::make_error_code(std::errc::no_space_on_device);
    case ERROR_TOO_MANY_OPEN_FILES:
        return std::make_error_code(std::errc::too_many_files_open);
    default:
        return std::make_error_code(std::errc::io_error);
    }
}

std::error_code result_of(BOOL done) noexcept {
    return done ? std::error_code() : last_error();
}

File opened(
    const std::filesystem::path& path,
    DWORD access,
    DWORD share,
    DWORD how,
    DWORD flags,
    std::error_code& error
) noexcept {
    const HANDLE file = CreateFileW(path.c_str(), access, share, nullptr, how, flags, nullptr);
    error = file == INVALID_HANDLE_VALUE ? last_error() : std::error_code();
    return error ? File() : File(reinterpret_cast<std::intptr_t>(file));
}

OVERLAPPED at(std::uint64_t offset) noexcept {
    OVERLAPPED where{};
    where.Offset = static_cast<DWORD>(offset);
    where.OffsetHigh = static_cast<DWORD>(offset >> 32);
    return where;
}

// Calls `transfer(done, left, now)`, which sets `now` to the bytes transferred, until all bytes are
// transferred.
template <typename Transfer>
std::error_code all(std::size_t count, const Transfer& transfer) noexcept {
    for (std::size_t done = 0; done < count;) {
        DWORD now = 0;
        if (!transfer(done, static_cast<DWORD>(std::min<std::size_t>(count - done, kMaxPiece)), now) ||
            now == 0) {
            return last_error();
        }
        done += now;
    }
    return {};
}

constexpr std::uint64_t kAtEnd = UINT64_MAX; // offset that means "append" to WriteFile()

} // namespace

std::uint64_t File::size() const noexcept {
    LARGE_INTEGER size{};
    return GetFileSizeEx(handle_of(handle_), &size) ? static_cast<std::uint64_t>(size.QuadPart) : 0;
}

bool File::is_regular() const noexcept {
    return GetFileType(handle_of(handle_)) == FILE_TYPE_DISK;
}

std::error_code File::read(std::uint64_t offset, void* out, std::size_t count) const noexcept {
    return all(count, [&](std::size_t done, DWORD left, DWORD& now) {
        auto where = at(offset + done);
        return ReadFile(handle_of(handle_), static_cast<char*>(out) + done, left, &now, &where);
    });
}

std::error_code File::write(std::uint64_t offset, std::string_view bytes) const noexcept {
    return all(bytes.size(), [&](std::size_t done, DWORD left, DWORD& now) {
        auto where = at(offset == kAtEnd ? kAtEnd : offset + done);
        return WriteFile(handle_of(handle_), bytes.data() + done, left, &now, &where);
    });
}

std::error_code File::append(std::string_view bytes) const noexcept {
    return write(kAtEnd, bytes);
}

std::error_code File::resize(std::uint64_t size) const noexcept {
    FILE_END_OF_FILE_INFO end{};
    end.EndOfFile.QuadPart = static_cast<LONGLONG>(size);
    return result_of(SetFileInformationByHandle(handle_of(handle_), FileEndOfFileInfo, &end, sizeof end));
}

std::error_code File::sync() const noexcept {
    return result_of(FlushFileBuffers(handle_of(handle_)));
}

void File::discard(std::uint64_t offset, std::uint64_t size) const noexcept {
    FILE_ZERO_DATA_INFORMATION range{};
    range.FileOffset.QuadPart = static_cast<LONGLONG>(offset);
    range.BeyondFinalZero.QuadPart = static_cast<LONGLONG>(offset + size);
    DWORD ignored = 0;
    DeviceIoControl(
        handle_of(handle_), FSCTL_SET_ZERO_DATA, &range, sizeof range, nullptr, 0, &ignored, nullptr
    );
}

std::error_code File::close() noexcept {
    const auto handle = std::exchange(handle_, kClosed);
    return handle == kClosed ? std::error_code() : result_of(CloseHandle(handle_of(handle)));
}

File scratch_file(const std::filesystem::path& folder, std::error_code& error) noexcept {
    File file;
    try {
        file = opened(
            folder / unique_name(".sotto-", ".scratch"),
            GENERIC_READ | GENERIC_WRITE | DELETE,
            0,
            CREATE_NEW,
            FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE,
            error
        );
    } catch (const std::exception&) { // no memory for the name, or no random numbers
        error = std::make_error_code(std::errc::not_enough_memory);
    }
    if (file.is_open()) { // sparse, so that discard() can punch holes
        DWORD ignored = 0;
        DeviceIoControl(
            handle_of(file.handle()), FSCTL_SET_SPARSE, nullptr, 0, nullptr, 0, &ignored, nullptr
        );
    }
    return file;
}

namespace file_system {

File open_existing(const std::filesystem::path& path, std::error_code& error) noexcept {
    constexpr DWORD kShare = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    return opened(path, GENERIC_READ, kShare, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, error);
}

File create_new(const std::filesystem::path& path, Access access, std::error_code& error) noexcept {
    const DWORD rights = access == Access::append ? FILE_APPEND_DATA | SYNCHRONIZE : GENERIC_WRITE;
    return opened(path, rights, FILE_SHARE_READ, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, error);
}

File create_unnamed(const std::filesystem::path&, std::error_code& error) noexcept {
    error = std::make_error_code(std::errc::not_supported);
    return {};
}

std::error_code name_file(const File&, const std::filesystem::path&) noexcept {
    return std::make_error_code(std::errc::not_supported);
}

void sync_folder(const std::filesystem::path&) noexcept {
} // nothing to do: the file system's journal keeps renames in order

} // namespace file_system
} // namespace sotto
