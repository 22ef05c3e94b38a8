// Files that the library reads and writes. All files that it writes are created here: readable by the user
// only (mode 0600; on Windows the folder's permissions), never opened through a link, and never replacing
// anything but a regular file. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace sotto {

// An open file, closed by the destructor. Error codes are of std::generic_category().
class File {
public:
    File() noexcept = default;
    explicit File(std::intptr_t handle) noexcept : handle_(handle) {}
    ~File() { close(); }
    File(File&& other) noexcept : handle_(std::exchange(other.handle_, kClosed)) {}
    File& operator=(File&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }

    bool is_open() const noexcept { return handle_ != kClosed; }
    std::intptr_t handle() const noexcept { return handle_; } // a file descriptor or a Windows HANDLE
    std::uint64_t size() const noexcept;                      // bytes; 0 if unknown
    bool is_regular() const noexcept;

    // Reads exactly `count` bytes at `offset`; returns io_error if the file ends earlier.
    std::error_code read(std::uint64_t offset, void* out, std::size_t count) const noexcept;
    // write() and append() write all of `bytes`, repeating partial writes.
    std::error_code write(std::uint64_t offset, std::string_view bytes) const noexcept;
    std::error_code append(std::string_view bytes) const noexcept; // for files of create_file()
    std::error_code resize(std::uint64_t size) const noexcept;
    // Waits until all writes have reached the disk.
    std::error_code sync() const noexcept;
    // Frees the disk space of a range (punches a hole), if the file system supports that.
    void discard(std::uint64_t offset, std::uint64_t size) const noexcept;
    // Closes the file now. Returns an error if written data was lost.
    std::error_code close() noexcept;

private:
    static constexpr std::intptr_t kClosed = -1;
    std::intptr_t handle_ = kClosed;
};

// A UTF-8 path from the host and the name of the parameter that held it, for error messages.
struct PathArgument {
    std::string_view parameter;
    std::string_view value;
};

// Opens a regular file for reading; follows links. Refuses anything else (FIFO, device, folder) before
// opening it, so that the call never waits for another process. Throws Error(SOTTO_ERROR_ARGUMENT) for a path
// to anything but a regular file and for a path that contains a NUL; Error(SOTTO_ERROR_NOT_FOUND) if the file
// cannot be opened.
File open_file(const PathArgument& path);

// Creates a file for appending. Throws Error(SOTTO_ERROR_ARGUMENT) if the name exists, even as a broken link;
// Error(SOTTO_ERROR_STATE) if the file cannot be created.
File create_file(const PathArgument& path);

// Atomically creates or replaces a regular file, whose bytes are appended one after the other: writes a new
// file in the same folder, syncs it and renames it. If the file system allows, the new file has no name until
// it is complete, so that a killed process leaves no partial file. Readers see either the old bytes or the
// new ones, also after a power failure; the last of several writers wins. The functions throw
// Error(SOTTO_ERROR_ARGUMENT) if the name belongs to anything but a regular file (including a link) or
// contains a NUL; Error(SOTTO_ERROR_STATE) if the bytes cannot be written: then nothing changes. A new file
// that is not committed leaves no trace.
class FileReplacement {
public:
    explicit FileReplacement(const PathArgument& path);
    ~FileReplacement();
    FileReplacement(const FileReplacement&) = delete;
    FileReplacement& operator=(const FileReplacement&) = delete;

    void append(std::string_view bytes);
    // Writes over bytes that were appended before.
    void overwrite(std::uint64_t offset, std::string_view bytes);
    // Makes the new file visible under its name. Call once, last.
    void commit();

private:
    void check(std::error_code failed) const;
    void write_named();

    const std::string parameter_;
    const std::string path_;
    std::filesystem::path target_;
    std::filesystem::path unfinished_; // name of the new file, once it has one
    File file_;
    std::uint64_t size_ = 0;
    bool is_named_ = false;
};

// Replaces a file by `bytes`, as a FileReplacement.
void replace_file(const PathArgument& path, std::string_view bytes);

// Creates an unnamed file for reading and writing, which disappears when the process ends, also by a crash.
// On failure, sets `error` and returns a file that is not open.
File scratch_file(const std::filesystem::path& folder, std::error_code& error) noexcept;

// Operations that file_linux.cpp and file_windows.cpp implement for file.cpp.
namespace file_system {

enum class Access : std::uint8_t { write, append };

// Opens a file for reading. Never blocks, whatever is at `path`. On failure, sets `error` and returns a file
// that is not open.
File open_existing(const std::filesystem::path& path, std::error_code& error) noexcept;
// Creates a file for writing or appending. Fails with file_exists if the name exists.
File create_new(const std::filesystem::path& path, Access access, std::error_code& error) noexcept;
// Creates an unnamed file for reading and writing, which disappears with the process unless name_file() names
// it. On
// failure, sets `error` and returns a file that is not open: not every file system supports unnamed files.
File create_unnamed(const std::filesystem::path& folder, std::error_code& error) noexcept;
// Gives an unnamed file its name. Fails with file_exists if the name exists.
std::error_code name_file(const File& file, const std::filesystem::path& path) noexcept;
// Waits until the folder's entries are on the disk; does nothing if the system cannot sync folders.
void sync_folder(const std::filesystem::path& folder) noexcept;

} // namespace file_system

// Returns a name that other processes cannot predict: `stem`, 16 random hexadecimal digits, `suffix`.
std::filesystem::path unique_name(std::string_view stem, std::string_view suffix);

} // namespace sotto
