// The host says paths in UTF-8, and Windows keeps them in UTF-16: every script, whatever the code page.
#include <filesystem>
#include <fstream>
#include <string>

#include <process.h>
#include <windows.h>

#include <doctest/doctest.h>

#include "engine.hpp"

namespace fs = std::filesystem;
using namespace test;

namespace {

const std::string kOdd = "Spaß mit 物語 и 🐉";

fs::path path_of(const std::string& utf8) {
    return {std::u8string(utf8.begin(), utf8.end())};
}

// A folder with such a name, gone with the test; libraries in it are open, so they stay.
class Folder {
public:
    Folder()
        : path_(
              fs::temp_directory_path() /
              path_of(kOdd + " " + std::to_string(_getpid()) + " " + std::to_string(++made))
          ) {
        fs::create_directories(path_);
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    fs::path operator/(const std::string& name) const { return path_ / path_of(name); }
    const fs::path& path() const { return path_; }

private:
    static inline int made = 0;
    fs::path path_;
};

} // namespace

TEST_CASE("modules and models are found in folders of any name, and decisions are recorded there") {
    const Folder folder;
    fs::copy_file(SOTTO_SCRIPTED, folder / "sotto_scripted.dll");
    std::ofstream(folder / "Mära.json") << R"({"tokens": ["a"]})";
    const auto modules = utf8(folder.path());
    const auto record = utf8(folder / "Größe.jsonl");
    auto desc = SOTTO_INIT(sotto_engine_desc);
    desc.module_dir = str(modules);
    desc.record_path = str(record);
    {
        const Engine engine(desc);
        CHECK(engine.load(folder / "Mära.json").status == SOTTO_OK);
    }
    CHECK(fs::file_size(folder / "Größe.jsonl") > 0);
}

TEST_CASE("a file that is not there is named as the host named it") {
    const Engine engine(SOTTO_INIT(sotto_engine_desc));
    const Folder folder;
    const auto missing = folder / "Ø.gguf";
    const auto [status, why, said] = engine.load(missing);
    CHECK(status < 0);
    CAPTURE(why);
    CHECK(
        why.find(status == SOTTO_ERROR_NOT_FOUND ? utf8(missing) : "no backend was found") !=
        std::string::npos
    );
}

TEST_CASE("a library in such a folder finds its modules beside it") {
    const Folder folder;
    const auto copy = folder / "sotto_elsewhere.dll";
    fs::copy_file(SOTTO_LIBRARY, copy);
    fs::copy_file(SOTTO_SCRIPTED, folder / "sotto_scripted.dll");
    const HMODULE library = LoadLibraryW(copy.c_str());
    REQUIRE(library != nullptr);
    const auto function = [&](const char* name) {
        return reinterpret_cast<void*>(GetProcAddress(library, name));
    };
    const auto create = reinterpret_cast<decltype(&sotto_engine_create)>(function("sotto_engine_create"));
    const auto destroy = reinterpret_cast<decltype(&sotto_engine_destroy)>(function("sotto_engine_destroy"));
    const auto describe =
        reinterpret_cast<decltype(&sotto_engine_describe)>(function("sotto_engine_describe"));
    auto desc = SOTTO_INIT(sotto_engine_desc);
    sotto_engine* engine = nullptr;
    REQUIRE(create(&desc, &engine) == SOTTO_OK);
    sotto_str told{};
    REQUIRE(describe(engine, &told) == SOTTO_OK);
    CHECK(text_of(told).find(R"("name":"scripted")") != std::string::npos);
    destroy(engine);
}

#ifdef SOTTO_HOUSE
TEST_CASE("a character speaks with a model in such a folder, and what it remembers is kept there") {
    const Folder folder;
    const auto model = folder / "Märchen.gguf";
    fs::copy_file(SOTTO_HOUSE, model);
    {
        const Engine engine(SOTTO_INIT(sotto_engine_desc));
        const auto loaded = engine.load(model);
        REQUIRE_MESSAGE(loaded.status == SOTTO_OK, loaded.why);
        const std::string sheet =
            R"("model": "npc", "messages": [{"role": "system", "content": "Name: Mara\nRole: ferrywoman"})";
        const auto answered = engine.ask(
            SOTTO_OP_CHAT,
            "{" + sheet + R"(, {"role": "user", "content": "Who are you?"}], "max_tokens": 24})"
        );
        CHECK_MESSAGE(answered.status == SOTTO_OK, answered.why);
        CHECK(!answered.said.empty());
        auto state = (folder / "Größe.state").generic_u8string();
        const auto kept = engine.ask(
            SOTTO_OP_SAVE_STATE,
            "{" + sheet + R"(], "add_generation_prompt": false, "path": ")" +
                std::string(state.begin(), state.end()) + "\"}"
        );
        CHECK_MESSAGE(kept.status == SOTTO_OK, kept.why);
    }
    CHECK(fs::file_size(folder / "Größe.state") > 0);
    CHECK(fs::remove(model)); // nobody has it open
}
#endif
