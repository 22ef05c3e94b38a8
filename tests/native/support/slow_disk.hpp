// A disk that hangs: replaces functions of the C library. For one file of a test.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "platform/signal.hpp"

namespace test {

class SlowDisk {
public:
    // From now on, writes, reads by offset and syncs block.
    void hang() noexcept { hangs_ = true; }
    void recover() noexcept {
        hangs_ = false;
        signal_.notify();
    }
    // Number of blocked calls.
    int waiting() const noexcept { return waiting_.load(); }

    // From now on, unnamed files cannot be named, as without /proc.
    void refuse_links(bool refuses) noexcept { refuses_links_ = refuses; }
    bool refuses_links() const noexcept { return refuses_links_; }

    // Number of fsync() calls, of files and of folders.
    int file_syncs() const noexcept { return file_syncs_; }
    int folder_syncs() const noexcept { return folder_syncs_; }
    // Number of files that had been synced when a file was last named.
    int syncs_before_name() const noexcept { return syncs_before_name_; }
    void synced(bool folder) noexcept { ++(folder ? folder_syncs_ : file_syncs_); }
    void named() noexcept { syncs_before_name_ = file_syncs_.load(); }

    void pass() noexcept {
        ++waiting_;
        for (;;) {
            const auto seen = signal_.value();
            if (!hangs_) {
                break;
            }
            signal_.wait(seen, -1);
        }
        --waiting_;
    }

private:
    std::atomic<bool> hangs_{false};
    std::atomic<int> waiting_{0};
    std::atomic<bool> refuses_links_{false};
    std::atomic<int> file_syncs_{0};
    std::atomic<int> folder_syncs_{0};
    std::atomic<int> syncs_before_name_{0};
    sotto::Signal signal_;
};

inline SlowDisk g_disk;

} // namespace test

extern "C" {

int sotto_test_fsync(int file) asm("fsync");
int sotto_test_linkat(int from, const char* file, int to, const char* path, int flags) asm("linkat");
ssize_t sotto_test_write(int file, const void* bytes, std::size_t count) asm("write");
ssize_t sotto_test_pwrite(int file, const void* bytes, std::size_t count, off_t offset) asm("pwrite");
ssize_t sotto_test_pread(int file, void* out, std::size_t count, off_t offset) asm("pread");

int sotto_test_fsync(int file) {
    struct stat is{};
    test::g_disk.synced(fstat(file, &is) == 0 && S_ISDIR(is.st_mode));
    test::g_disk.pass();
    return static_cast<int>(syscall(SYS_fsync, file));
}

int sotto_test_linkat(int from, const char* file, int to, const char* path, int flags) {
    if (test::g_disk.refuses_links()) {
        errno = ENOENT;
        return -1;
    }
    test::g_disk.named();
    return static_cast<int>(syscall(SYS_linkat, from, file, to, path, flags));
}

ssize_t sotto_test_write(int file, const void* bytes, std::size_t count) {
    struct stat is{};
    if (fstat(file, &is) == 0 && S_ISREG(is.st_mode) && file > STDERR_FILENO) { // not the test's own output
        test::g_disk.pass();
    }
    return syscall(SYS_write, file, bytes, count);
}

ssize_t sotto_test_pwrite(int file, const void* bytes, std::size_t count, off_t offset) {
    test::g_disk.pass();
    return syscall(SYS_pwrite64, file, bytes, count, offset);
}

ssize_t sotto_test_pread(int file, void* out, std::size_t count, off_t offset) {
    test::g_disk.pass();
    return syscall(SYS_pread64, file, out, count, offset);
}
}
