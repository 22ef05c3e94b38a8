// The host says paths in UTF-8, and Windows keeps them in UTF-16: every script, whatever the code page.
#include <filesystem>
#include <fstream>
#include <string>

#include <process.h>
#include <windows.h>

#include <doctest/doctest.h>

#include <sotto/sotto.h>

namespace fs = std::filesystem;

namespace {

const std::string kOdd = "Spaß mit 物語 и 🐉";

fs::path path_of(const std::string& utf8) {
    return {std::u8string(utf8.begin(), utf8.end())};
}

std::string utf8(const fs::path& path) {
    const auto text = path.u8string();
    return {text.begin(), text.end()};
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

sotto_str str(const std::string& text) {
    return {text.data(), text.size()};
}

std::string text_of(sotto_str text) {
    return {text.data, text.size};
}

class Engine {
public:
    explicit Engine(const sotto_engine_desc& desc) {
        REQUIRE_MESSAGE(sotto_engine_create(&desc, &engine_) == SOTTO_OK, text_of(sotto_last_error()));
    }
    ~Engine() { sotto_engine_destroy(engine_); }
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    operator sotto_engine*() const { return engine_; }

    // The status and text of a private request's last event.
    std::pair<sotto_status, std::string> end_of(sotto_request request) const {
        auto event = SOTTO_INIT(sotto_event);
        while (event.kind != SOTTO_EVENT_DONE) {
            constexpr int kPatience = 60'000;
            REQUIRE(sotto_engine_wait_event(engine_, request, kPatience, &event) == SOTTO_OK);
        }
        return {event.status, text_of(event.text)};
    }

    std::pair<sotto_status, std::string> load(const fs::path& file) const {
        auto model = SOTTO_INIT(sotto_model_desc);
        const auto path = utf8(file);
        model.id = {"npc", SOTTO_NUL};
        model.path = str(path);
        model.flags = SOTTO_REQUEST_PRIVATE;
        sotto_request request = 0;
        REQUIRE(sotto_engine_load_model(engine_, &model, &request) == SOTTO_OK);
        return end_of(request);
    }

private:
    sotto_engine* engine_ = nullptr;
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
    desc.record = str(record);
    {
        const Engine engine(desc);
        CHECK(engine.load(folder / "Mära.json").first == SOTTO_OK);
    }
    CHECK(fs::file_size(folder / "Größe.jsonl") > 0);
}

TEST_CASE("a file that is not there is named as the host named it") {
    const Engine engine(SOTTO_INIT(sotto_engine_desc));
    const Folder folder;
    const auto missing = folder / "Ø.gguf";
    const auto [status, why] = engine.load(missing);
    CHECK(status < 0);
    CAPTURE(why);
    CHECK(
        why.find(status == SOTTO_ERROR_NOT_FOUND ? utf8(missing) : "there is no backend") != std::string::npos
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
