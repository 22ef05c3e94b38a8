#include "platform/file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <new>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sotto {
namespace {

constexpr mode_t kPrivate = 0600;
constexpr std::size_t kMaxPiece = 1 << 30; // maximum bytes of one system call

std::error_code last_error() noexcept {
    return {errno, std::generic_category()};
}

// Repeats a system call while a signal interrupts it (EINTR).
template <typename Call>
auto uninterrupted(const Call& call) noexcept {
    for (;;) {
        const auto result = call();
        if (result >= 0 || errno != EINTR) {
            return result;
        }
    }
}

int descriptor(std::intptr_t handle) noexcept {
    return static_cast<int>(handle);
}

File opened(const char* path, int flags, std::error_code& error) noexcept {
    const int file = uninterrupted([&] { return ::open(path, flags | O_CLOEXEC | O_NOCTTY, kPrivate); });
    error = file < 0 ? last_error() : std::error_code();
    return file < 0 ? File() : File(file);
}

// Calls `transfer(done, left)` until all bytes are transferred; a return value of 0 means end of file.
template <typename Transfer>
std::error_code all(std::size_t count, const Transfer& transfer) noexcept {
    for (std::size_t done = 0; done < count;) {
        const auto now =
            uninterrupted([&] { return transfer(done, std::min<std::size_t>(count - done, kMaxPiece)); });
        if (now <= 0) {
            return now < 0 ? last_error() : std::make_error_code(std::errc::io_error);
        }
        done += static_cast<std::size_t>(now);
    }
    return {};
}

} // namespace

std::uint64_t File::size() const noexcept {
    struct stat is{};
    return fstat(descriptor(handle_), &is) == 0 ? static_cast<std::uint64_t>(is.st_size) : 0;
}

bool File::is_regular() const noexcept {
    struct stat is{};
    return fstat(descriptor(handle_), &is) == 0 && S_ISREG(is.st_mode);
}

std::error_code File::read(std::uint64_t offset, void* out, std::size_t count) const noexcept {
    return all(count, [&](std::size_t done, std::size_t left) {
        return ::pread(
            descriptor(handle_), static_cast<char*>(out) + done, left, static_cast<off_t>(offset + done)
        );
    });
}

std::error_code File::write(std::uint64_t offset, std::string_view bytes) const noexcept {
    return all(bytes.size(), [&](std::size_t done, std::size_t left) {
        return ::pwrite(descriptor(handle_), bytes.data() + done, left, static_cast<off_t>(offset + done));
    });
}

std::error_code File::append(std::string_view bytes) const noexcept {
    return all(bytes.size(), [&](std::size_t done, std::size_t left) {
        return ::write(descriptor(handle_), bytes.data() + done, left);
    });
}

std::error_code File::resize(std::uint64_t size) const noexcept {
    const int result =
        uninterrupted([&] { return ::ftruncate(descriptor(handle_), static_cast<off_t>(size)); });
    return result == 0 ? std::error_code() : last_error();
}

std::error_code File::sync() const noexcept {
    const bool cannot = uninterrupted([&] { return ::fsync(descriptor(handle_)); }) != 0;
    return cannot && errno != EINVAL && errno != ENOTSUP ? last_error()
                                                         // fsync() is not supported here: not an error
                                                         : std::error_code();
}

void File::discard(std::uint64_t offset, std::uint64_t size) const noexcept {
    ::fallocate(
        descriptor(handle_),
        FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
        static_cast<off_t>(offset),
        static_cast<off_t>(size)
    );
}

std::error_code File::close() noexcept {
    const auto handle = std::exchange(handle_, kClosed);
    const bool lost =
        // close() closes the descriptor even if it fails with EINTR
        handle != kClosed && ::close(descriptor(handle)) != 0 && errno != EINTR;
    return lost ? last_error() : std::error_code();
}

// Without O_TMPFILE support, creates a named file and unlinks it before anything is written.
File scratch_file(const std::filesystem::path& folder, std::error_code& error) noexcept {
    auto file = opened(folder.c_str(), O_TMPFILE | O_RDWR | O_EXCL, error);
    if (!file.is_open()) {
        try {
            const auto path = folder / unique_name(".sotto-", ".scratch");
            file = opened(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, error);
            if (file.is_open() && ::unlink(path.c_str()) != 0) {
                error = last_error();
                file.close();
            }
        } catch (const std::exception&) { // no memory for the name, or no random numbers
            error = std::make_error_code(std::errc::not_enough_memory);
        }
    }
    return file;
}

namespace file_system {

File open_existing(const std::filesystem::path& path, std::error_code& error) noexcept {
    return opened(path.c_str(), O_RDONLY | O_NONBLOCK, error); // O_NONBLOCK has no effect on a regular file
}

File create_new(const std::filesystem::path& path, Access access, std::error_code& error) noexcept {
    return opened(
        path.c_str(),
        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | (access == Access::append ? O_APPEND : 0),
        error
    );
}

File create_unnamed(const std::filesystem::path& folder, std::error_code& error) noexcept {
    return opened(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR, error);
}

std::error_code name_file(const File& file, const std::filesystem::path& path) noexcept {
    std::array<char, 40> ours{};
    std::snprintf(ours.data(), ours.size(), "/proc/self/fd/%d", descriptor(file.handle()));
    const bool named = ::linkat(AT_FDCWD, ours.data(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
    return named ? std::error_code() : last_error();
}

void sync_folder(const std::filesystem::path& folder) noexcept {
    std::error_code ignored;
    const auto file = opened(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY, ignored);
    if (file.is_open()) {
        ::fsync(descriptor(file.handle()));
    }
}

} // namespace file_system
} // namespace sotto
