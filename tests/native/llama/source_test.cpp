// Sources of models: files of all kinds of names, and a host's file functions.
#include "module_under_test.hpp"

#include <cstring>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

#include "../support/folder.hpp"

using namespace under_test;
using test::Folder;
namespace fs = std::filesystem;

namespace {

// A host whose file functions read one file in memory.
struct Archive {
    std::string content;
    int open_files = 0;
    std::uint64_t fails_from = UINT64_MAX; // reads of this offset or beyond fail

    sotto_file_access access() {
        auto made = SOTTO_INIT(sotto_file_access);
        made.open = on_open;
        made.read = on_read;
        made.close = on_close;
        made.self = this;
        return made;
    }

    static sotto_status SOTTO_CALL on_open(void* self, sotto_str path, void** file, uint64_t* size) {
        auto& archive = *static_cast<Archive*>(self);
        if (text(path) != "pak:models/tiny") {
            return SOTTO_ERROR_NOT_FOUND;
        }
        ++archive.open_files;
        *file = &archive.content;
        *size = archive.content.size();
        return SOTTO_OK;
    }

    static sotto_status SOTTO_CALL
    on_read(void* self, void* file, uint64_t offset, void* buffer, uint64_t bytes) {
        const auto& content = *static_cast<std::string*>(file);
        if (offset + bytes > content.size() || offset + bytes > static_cast<Archive*>(self)->fails_from) {
            return SOTTO_ERROR_INTERNAL;
        }
        std::memcpy(buffer, content.data() + offset, bytes);
        return SOTTO_OK;
    }

    static void SOTTO_CALL on_close(void* self, void*) { --static_cast<Archive*>(self)->open_files; }
};

std::string said(Model& model) {
    REQUIRE_MESSAGE(model, model.why);
    return Stream(model, chat("who is the king")).run(16).text;
}

} // namespace

TEST_CASE("a file that is not a model is refused with a reason") {
    const Folder scratch;
    const auto& folder = scratch.path();
    std::ofstream(folder / "text") << "this is a text, and long enough to hold a header of a GGUF file";
    std::ofstream(folder / "empty");
    const auto refused = [](const fs::path& path, sotto_status status, const char* reason) {
        Model model({.path = path.string()});
        CAPTURE(path);
        CHECK(model.status == status);
        CHECK_MESSAGE(model.why.find(reason) != std::string::npos, model.why);
    };
    refused(folder / "text", SOTTO_ERROR_MODEL, "not a GGUF file");
    refused(folder / "empty", SOTTO_ERROR_MODEL, "not a GGUF file");
    refused(folder / "missing", SOTTO_ERROR_NOT_FOUND, "does not exist");
    refused(folder, SOTTO_ERROR_MODEL, "expected a regular file");
    refused("/dev/null", SOTTO_ERROR_MODEL, "expected a regular file");
    refused("", SOTTO_ERROR_ARGUMENT, "the path of a model file");
    refused(std::string("a\0b", 3), SOTTO_ERROR_ARGUMENT, "NUL");
}

TEST_CASE("a file truncated at any point is refused") {
    const Folder scratch;
    const auto whole = read_file(tiny());
    const auto path = scratch.path() / "cut.gguf";
    for (std::size_t size = 1; size < whole.size(); size += size < 200 ? 7 : whole.size() / 60) {
        std::ofstream(path, std::ios::binary).write(whole.data(), static_cast<std::streamsize>(size));
        CAPTURE(size);
        Model model({.path = path.string()});
        CHECK(model.status == SOTTO_ERROR_MODEL);
        CHECK(!model.why.empty());
    }
}

TEST_CASE("an unknown architecture is refused by name") {
    const Folder scratch;
    auto content = read_file(tiny());
    for (auto at = content.find("llama"); at != std::string::npos; at = content.find("llama", at + 1)) {
        content.replace(at, 5, "drama");
    }
    content.replace(content.rfind("tokenizer.ggml.model"), 0, "");
    const auto path = scratch.path() / "drama.gguf";
    std::ofstream(path, std::ios::binary) << content;
    Model model({.path = path.string()});
    CHECK(model.status == SOTTO_ERROR_MODEL);
    CHECK_MESSAGE(model.why.find("drama") != std::string::npos, model.why);
}

TEST_CASE("paths of all kinds open") {
    const Folder scratch;
    Model plain;
    const auto expected = said(plain);
    for (const char* name :
         {"with spaces in it.gguf", "Gölem-模型-модель.gguf", "quote'\"s.gguf", "no_suffix"}) {
        CAPTURE(name);
        const auto path = scratch.path() / name;
        fs::copy_file(tiny(), path, fs::copy_options::overwrite_existing);
        Model model({.path = path.string()});
        CHECK(said(model) == expected);
    }
}

TEST_CASE("a host's file functions work like files") {
    Archive archive{read_file(tiny())};
    const auto access = archive.access();
    Model plain;
    const auto expected = said(plain);
    for (const char* options : {"", R"({"mmap": true})"}) {
        Model model({.path = "pak:models/tiny", .options = options, .files = &access});
        CHECK(said(model) == expected);
        CHECK(archive.open_files == 0); // the file is closed once it was read
        CHECK(model.info.kv == plain.info.kv);
    }
    auto measured = SOTTO_INIT(sotto_model_info);
    std::string why;
    CHECK_MESSAGE(measure({.path = "pak:models/tiny", .files = &access}, measured, why) == SOTTO_OK, why);
    CHECK(measured.kv == plain.info.kv);
}

TEST_CASE("a read error of the host fails the load") {
    Archive archive{read_file(tiny())};
    const auto access = archive.access();
    for (const std::uint64_t from : {0u, 100u, 20'000u, 600'000u, 1'400'000u}) {
        archive.fails_from = from;
        CAPTURE(from);
        Model model({.path = "pak:models/tiny", .files = &access});
        CHECK(model.status == SOTTO_ERROR_MODEL);
        CHECK_MESSAGE(model.why.find("read") != std::string::npos, model.why);
        CHECK(archive.open_files == 0);
    }
    Model missing({.path = "pak:models/huge", .files = &access});
    CHECK(missing.status == SOTTO_ERROR_NOT_FOUND);
}
