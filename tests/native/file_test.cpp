// Reading and writing files: private, atomic, and regular files only.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "platform/file.hpp"
#include "support/folder.hpp"
#include "support/refusal.hpp"

using sotto::create_file;
using sotto::File;
using sotto::open_file;
using sotto::replace_file;
using sotto::scratch_file;
using test::Folder;
using test::refusal;
namespace fs = std::filesystem;

namespace {

std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

mode_t mode_of(const fs::path& path) {
    struct stat is{};
    REQUIRE(::lstat(path.c_str(), &is) == 0);
    return is.st_mode;
}

void replace(const fs::path& path, std::string_view bytes) {
    replace_file({"path", path.string()}, bytes);
}

// Paths to everything but regular files, created in a folder.
std::vector<fs::path> strange_paths(const Folder& folder) {
    std::ofstream(folder.path() / "victim") << "precious";
    fs::create_symlink(folder.path() / "victim", folder.path() / "link");
    fs::create_symlink(folder.path() / "nothing", folder.path() / "broken link");
    fs::create_directory(folder.path() / "folder");
    REQUIRE(::mkfifo((folder.path() / "fifo").c_str(), 0600) == 0);
    return {
        folder.path() / "link",
        folder.path() / "broken link",
        folder.path() / "folder",
        folder.path() / "fifo",
        "/dev/null"
    };
}

// Limits the size of files, to simulate a full disk.
class FullDisk {
public:
    explicit FullDisk(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        rlimit now = before_;
        now.rlim_cur = bytes;
        ::setrlimit(RLIMIT_FSIZE, &now);
        handler_ = std::signal(SIGXFSZ, SIG_IGN);
    }
    ~FullDisk() {
        std::signal(SIGXFSZ, handler_);
        ::setrlimit(RLIMIT_FSIZE, &before_);
    }

private:
    rlimit before_{};
    void (*handler_)(int) = nullptr;
};

} // namespace

TEST_CASE("a file is replaced atomically, is private, and no temporary file remains") {
    const Folder folder;
    const auto path = folder.path() / "a.state";
    replace(path, "first");
    CHECK(content(path) == "first");
    ::chmod(path.c_str(), 0644);
    replace(path, std::string(3'000'000, 'x'));
    CHECK(content(path) == std::string(3'000'000, 'x'));
    CHECK((mode_of(path) & 0777) == 0600);
    CHECK(folder.files().size() == 1);
}

TEST_CASE("only a regular file is ever replaced") {
    const Folder folder;
    for (const auto& path : strange_paths(folder)) {
        const auto before = mode_of(path);
        const auto why = refusal(SOTTO_ERROR_ARGUMENT, [&] { replace(path, "new"); });
        CAPTURE(why);
        CHECK(why.starts_with("invalid path '" + path.string() + "': expected a regular file, but it is a "));
        CHECK(mode_of(path) == before);
    }
    CHECK(content(folder.path() / "victim") == "precious");
    CHECK(folder.files().size() == 5);
}

TEST_CASE("a path with a NUL is refused, not truncated") {
    const Folder folder;
    const auto path = (folder.path() / "a").string() + '\0' + "b";
    const auto why = refusal(SOTTO_ERROR_ARGUMENT, [&] { replace_file({"path", path}, "new"); });
    CHECK(why.find("a?b': expected a path without NUL characters") != std::string::npos);
    CHECK_FALSE(refusal(SOTTO_ERROR_ARGUMENT, [&] { create_file({"record", path}); }).empty());
    CHECK_FALSE(refusal(SOTTO_ERROR_ARGUMENT, [&] { open_file({"path", path}); }).empty());
    CHECK_FALSE(refusal(SOTTO_ERROR_ARGUMENT, [&] { open_file({"path", ""}); }).empty());
    CHECK(folder.files().size() == 0);
}

TEST_CASE("a failed write leaves the existing file unchanged and no temporary file") {
    const Folder folder;
    const auto path = folder.path() / "a.state";
    replace(path, "first");
    {
        const FullDisk full(100'000);
        const auto why = refusal(SOTTO_ERROR_STATE, [&] { replace(path, std::string(300'000, 'x')); });
        CHECK(why.starts_with("invalid path '" + path.string() + "': expected a file that can be written"));
    }
    CHECK(content(path) == "first");
    CHECK(folder.files().size() == 1);
    const auto nowhere = refusal(SOTTO_ERROR_STATE, [&] { replace(folder.path() / "no/such", "x"); });
    CHECK(nowhere.find("use a folder that exists") != std::string::npos);
}

TEST_CASE("concurrent writers of one path do not corrupt each other's file") {
    const Folder folder;
    const auto path = folder.path() / "a.state";
    std::vector<std::thread> writers;
    for (const char letter : {'a', 'b', 'c'}) {
        writers.emplace_back([&, letter] {
            for (int i = 0; i < 40; ++i) {
                replace(path, std::string(100'000, letter));
                const auto now = content(path);
                CHECK(now == std::string(100'000, now.front()));
            }
        });
    }
    for (auto& writer : writers) {
        writer.join();
    }
    CHECK(folder.files().size() == 1);
}

TEST_CASE("a file for appending is private and new") {
    const Folder folder;
    const auto path = folder.path() / "run.jsonl";
    {
        const auto file = create_file({"record", path.string()});
        CHECK_FALSE(file.append("one\n"));
        CHECK_FALSE(file.append("two\n"));
    }
    CHECK(content(path) == "one\ntwo\n");
    CHECK((mode_of(path) & 0777) == 0600);
    const auto why = refusal(SOTTO_ERROR_ARGUMENT, [&] { create_file({"record", path.string()}); });
    CHECK(
        why == "invalid record '" + path.string() +
                   "': expected a path without a file; use another "
                   "path, or move the existing file"
    );
    for (const auto& strange : strange_paths(folder)) {
        CHECK_FALSE(refusal(SOTTO_ERROR_ARGUMENT, [&] {
                        create_file({"record", strange.string()});
                    }).empty());
    }
    CHECK_FALSE(fs::exists(folder.path() / "nothing"));
    CHECK(content(folder.path() / "victim") == "precious");
}

TEST_CASE("a scratch file has no name, and punching holes frees disk space") {
    const Folder folder;
    std::error_code failed;
    auto file = scratch_file(folder.path(), failed);
    REQUIRE_FALSE(failed);
    CHECK(folder.files().size() == 0);
    struct stat is{};
    ::fstat(static_cast<int>(file.handle()), &is);
    CHECK((is.st_mode & 0777) == 0600);
    CHECK((::fcntl(static_cast<int>(file.handle()), F_GETFD) & FD_CLOEXEC) != 0);

    const std::string bytes(1 << 20, 'x');
    CHECK_FALSE(file.write(0, bytes));
    CHECK_FALSE(file.write(bytes.size(), bytes));
    std::string back(bytes.size(), '\0');
    CHECK_FALSE(file.read(bytes.size(), back.data(), back.size()));
    CHECK(back == bytes);
    CHECK(
        file.read(bytes.size() + 1, back.data(), back.size()) == std::errc::io_error
    ); // the file is shorter
    file.discard(0, bytes.size());
    ::fstat(static_cast<int>(file.handle()), &is);
    CHECK(is.st_blocks * 512 <= static_cast<blkcnt_t>(bytes.size() + 65'536));
    CHECK_FALSE(file.resize(0));
    CHECK(file.size() == 0);
    scratch_file(folder.path() / "nowhere", failed);
    CHECK(failed == std::errc::no_such_file_or_directory);
}

TEST_CASE("anything but a regular file is refused before it is opened") {
    const Folder folder;
    for (const auto& path : strange_paths(folder)) { // open() of a FIFO without a writer would block forever
        if (path.filename() == "link") {
            CHECK(open_file({"path", path.string()}).size() == 8); // size of its target
        } else if (path.filename() == "broken link") {
            CHECK_FALSE(refusal(SOTTO_ERROR_NOT_FOUND, [&] { open_file({"path", path.string()}); }).empty());
        } else {
            const auto why = refusal(SOTTO_ERROR_ARGUMENT, [&] { open_file({"path", path.string()}); });
            CHECK(
                why.starts_with("invalid path '" + path.string() + "': expected a regular file, but it is a ")
            );
        }
    }
    const auto why = refusal(SOTTO_ERROR_NOT_FOUND, [&] { open_file({"path", "/no\tsuch"}); });
    CHECK(why.starts_with("invalid path '/no?such': expected a file that can be read"));
}
