// Model files truncated while they are mapped, and paths that are not regular files.
#include "module_under_test.hpp"

#include <csignal>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/folder.hpp"

using namespace under_test;
using test::Folder;
namespace fs = std::filesystem;

namespace {

constexpr auto kCut = "the model's file was cut";

std::string copy_of_house(const Folder& folder) {
    const auto path = folder.path() / "model.gguf";
    fs::copy_file(house(), path, fs::copy_options::overwrite_existing);
    return path.string();
}

std::string said(Model& model, const char* question) {
    REQUIRE_MESSAGE(model, model.why);
    return Stream(model, chat(question)).run(8).text;
}

// Runs `body` in a child process and returns the status from wait().
template <typename Body>
int status_of_child(Body&& body) {
    const auto child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        body();
        _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return status;
}

// Reads a missing page of a truncated mapped file, which raises SIGBUS.
void read_beyond_the_end(const fs::path& path) {
    std::ofstream(path) << "x";
    auto* file = std::fopen(path.c_str(), "r+");
    fs::resize_file(path, 8192);
    auto* mapped = static_cast<volatile char*>(mmap(nullptr, 8192, PROT_READ, MAP_SHARED, fileno(file), 0));
    fs::resize_file(path, 0);
    (void)mapped[4096];
}

void leave_with_7(int) {
    _exit(7);
}

} // namespace

// Must run first: the module installs its handler with the first mapped file.
TEST_CASE("a host's SIGBUS handler still receives signals at other addresses") {
    const Folder folder;
    const auto status = status_of_child([&] {
        std::signal(SIGBUS, leave_with_7);
        Model model;
        if (model) {
            read_beyond_the_end(folder.path() / "other");
        }
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("truncating a mapped file fails its requests and nothing else") {
    const Folder folder;
    const auto path = copy_of_house(folder);
    Model model({.path = path, .options = R"({"context": 256, "parallel": 1})"});
    Model other({.path = house(), .options = R"({"context": 256, "parallel": 1})"});
    const auto before = said(other, "Who are you?");
    CHECK(said(model, "Who are you?") == before);
    Stream begun(model, chat("What do you sell?"));
    begun.step();
    fs::resize_file(path, 1000);
    CHECK(begun.step() == SOTTO_ERROR_MODEL);
    for (int i = 0; i < 2; ++i) {
        Stream later(model, chat("What do you sell?"));
        const auto& answer = later.run(4);
        CHECK(answer.status == SOTTO_ERROR_MODEL);
        CHECK_MESSAGE(answer.why.find(kCut) != std::string::npos, answer.why);
    }
    CHECK(said(other, "Who are you?") == before); // another file with the same bytes
    fs::copy_file(house(), path, fs::copy_options::overwrite_existing);
    Model again({.path = path, .options = R"({"context": 256, "parallel": 1})"});
    CHECK(said(again, "Who are you?") == before);
    take_log();
}

TEST_CASE("a file truncated during its load is refused") {
    const Folder folder;
    for (int i = 0; i < 20; ++i) {
        const auto path = copy_of_house(folder);
        int asked = 0;
        Source source{.path = path, .options = R"({"context": 256, "parallel": 1})"};
        source.progress = [&](float) {
            if (asked++ == i) {
                fs::resize_file(path, 3'000'000);
            }
            return false;
        };
        Model model(source);
        CAPTURE(i);
        if (model) { // it was truncated after the last read
            CHECK(
                Stream(model, chat("Who are you?")).run(4).status ==
                (asked > i ? SOTTO_ERROR_MODEL : SOTTO_OK)
            );
        } else {
            CHECK(model.status == SOTTO_ERROR_MODEL);
        }
    }
    take_log();
}

TEST_CASE("a file that is read instead of mapped may be truncated after its load") {
    const Folder folder;
    const auto path = copy_of_house(folder);
    Model model({.path = path, .options = R"({"context": 256, "parallel": 1, "mmap": false})"});
    const auto before = said(model, "Who are you?");
    fs::resize_file(path, 1000);
    CHECK(said(model, "Who are you?") == before);
}

TEST_CASE("a SIGBUS at another address is passed to the previous handler") {
    Model model; // maps its file, and so installs our handler
    REQUIRE_MESSAGE(model, model.why);
    const Folder folder;
    const auto raw = status_of_child([&] { read_beyond_the_end(folder.path() / "other"); });
    const bool died = WIFSIGNALED(raw) && WTERMSIG(raw) == SIGBUS;
    CHECK((died || (WIFEXITED(raw) && WEXITSTATUS(raw) != 0))); // a sanitizer's handler reports it and exits
    const auto sent = status_of_child([] { raise(SIGBUS); });
    CHECK((WIFSIGNALED(sent) || WEXITSTATUS(sent) != 0));
    const auto handled = status_of_child([&] { // a handler that the host installs later takes precedence
        std::signal(SIGBUS, leave_with_7);
        read_beyond_the_end(folder.path() / "other");
    });
    CHECK(WIFEXITED(handled));
    CHECK(WEXITSTATUS(handled) == 7);
}

TEST_CASE("anything but a regular file is refused before it is opened, for every option that names a file") {
    const Folder folder;
    const auto fifo = (folder.path() / "fifo").string();
    const auto loop = (folder.path() / "loop").string();
    const auto link = (folder.path() / "link").string();
    REQUIRE(mkfifo(fifo.c_str(), 0600) == 0); // opening a FIFO would wait for a writer
    fs::create_symlink(loop, loop);
    fs::create_symlink(fifo, link);
    for (const auto& path :
         {fifo,
          link,
          loop,
          folder.path().string(),
          std::string("/dev/zero"),
          std::string("/dev/tty"),
          std::string("/proc/self/mem"),
          std::string("/proc/kmsg")}) {
        CAPTURE(path);
        const auto refused = [](const Source& source) {
            Model model(source);
            CHECK(!model);
            CHECK(!model.why.empty());
            return model.status;
        };
        const auto status = refused({.path = path});
        CHECK((status == SOTTO_ERROR_MODEL || status == SOTTO_ERROR_NOT_FOUND));
        for (const char* option : {"draft", "projector"}) {
            const auto options = std::string(R"({")") + option + R"(": ")" + path + R"("})";
            const auto why = refused({.options = options});
            CHECK((why == SOTTO_ERROR_MODEL || why == SOTTO_ERROR_NOT_FOUND));
        }
    }
    take_log();
}
