// Files that the library reads and writes. Every file that it writes comes from here: readable by its user
// alone (0600; on Windows as the folder says), never opened through a link, never in place of anything but a
// regular file. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace sotto {

// An open file, closed with this object. The error codes are of std::generic_category().
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
    std::intptr_t handle() const noexcept { return handle_; } // a descriptor, or a Windows HANDLE
    std::uint64_t size() const noexcept;                      // bytes; 0 if the system does not say
    bool is_regular() const noexcept;

    // Reads `count` bytes at `offset`, all of them: io_error if the file ends before.
    std::error_code read(std::uint64_t offset, void* out, std::size_t count) const noexcept;
    // Write all of `bytes`, also where the system writes them in pieces.
    std::error_code write(std::uint64_t offset, std::string_view bytes) const noexcept;
    std::error_code append(std::string_view bytes) const noexcept; // to files of create_file()
    std::error_code resize(std::uint64_t size) const noexcept;
    // Waits until all that was written is on the disk.
    std::error_code sync() const noexcept;
    // Gives the disk space of a range back, if the file system can punch holes.
    void discard(std::uint64_t offset, std::uint64_t size) const noexcept;
    // Closes it now, and says whether something that was written is lost.
    std::error_code close() noexcept;

private:
    static constexpr std::intptr_t kClosed = -1;
    std::intptr_t handle_ = kClosed;
};

// A path in UTF-8 as the host gave it, and the parameter that it came in, which errors name.
struct PathArgument {
    std::string_view parameter;
    std::string_view value;
};

// Opens a regular file for reading; follows links. What is not a regular file (a FIFO, a device, a folder) is
// refused before it is opened, so this never waits for another process. Throws Error(SOTTO_ERROR_ARGUMENT)
// for such a path, and for one with a NUL in it; Error(SOTTO_ERROR_NOT_FOUND) if the file can't be opened.
File open_file(const PathArgument& path);

// Creates a file to append to. Throws Error(SOTTO_ERROR_ARGUMENT) if something, even a broken link, has that
// name already; Error(SOTTO_ERROR_STATE) if the file can't be created.
File create_file(const PathArgument& path);

// Writes a file as a whole, in place of the regular file of that name if there is one: to a new file in the
// same folder, synced and then renamed. Where the file system can do that, the new file has no name until all
// of it is written, so that a killed process leaves no part of it. Whoever reads that name, also after a
// power cut, finds all of the old bytes or all of the new ones; the last of several writers wins. Throws
// Error(SOTTO_ERROR_ARGUMENT) if the name belongs to something other than a regular file (a link too) or has
// a NUL in it; Error(SOTTO_ERROR_STATE) if the bytes can't be written: then nothing is changed, and no other
// file stays.
void replace_file(const PathArgument& path, std::string_view bytes);

// Creates a file for reading and writing that has no name: it is gone with this process, however the process
// ends. Not open if `error` is set.
File scratch_file(const std::filesystem::path& folder, std::error_code& error) noexcept;

// Of each system, for file.cpp.
namespace file_system {

enum class Access : std::uint8_t { write, append };

// Never waits, whatever is at `path`. Not open if `error` is set.
File open_existing(const std::filesystem::path& path, std::error_code& error) noexcept;
// Fails with file_exists if anything has that name.
File create_new(const std::filesystem::path& path, Access access, std::error_code& error) noexcept;
// Creates a file for writing that has no name: it is gone with this process unless name_file() names it. Not
// open if `error` is set: not every file system can do that.
File create_unnamed(const std::filesystem::path& folder, std::error_code& error) noexcept;
// Names such a file. Fails with file_exists if anything has that name.
std::error_code name_file(const File& file, const std::filesystem::path& path) noexcept;
// Waits until names in the folder are on the disk, where the system can say so.
void sync_folder(const std::filesystem::path& folder) noexcept;

} // namespace file_system

// A name that no other process can foresee: `stem`, 16 hexadecimal digits, `suffix`.
std::filesystem::path unique_name(std::string_view stem, std::string_view suffix);

} // namespace sotto
