// The backends that an engine finds, their order, and why modules are passed over.
#include "module/modules.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "platform/cpu.hpp"
#include "support/game.hpp"
#include "support/paths.hpp"

#define SUFFIX SOTTO_MODULE_SUFFIX

namespace fs = std::filesystem;
using sotto::Modules;
using test::paths::kScripted;

namespace {

struct Sink {
    std::mutex mutex;
    std::vector<std::string> lines;

    sotto::Log log() {
        sotto_log_sink sink{};
        sink.struct_size = sizeof sink;
        sink.self = this;
        sink.write = [](void* self, sotto_log_level, sotto_str message) {
            auto& sink = *static_cast<Sink*>(self);
            const std::lock_guard lock(sink.mutex);
            sink.lines.push_back(test::text_of(message));
        };
        return sotto::Log(sink);
    }

    bool holds(const std::string& part) const {
        return std::any_of(lines.begin(), lines.end(), [&](const auto& line) {
            return line.find(part) != std::string::npos;
        });
    }
};

// A temporary folder of modules.
class Folder {
public:
    Folder() { // on Windows, an earlier process with this id may have left files
        path_ = fs::temp_directory_path() / ("sotto_modules_test_" + std::to_string(std::random_device{}()));
        fs::create_directory(path_);
    }
    ~Folder() {
        std::error_code ignored; // Windows cannot delete loaded libraries
        fs::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    const fs::path& path() const { return path_; }
    void copy(const fs::path& module, const std::string& name) const { fs::copy_file(module, path_ / name); }
    void write(const std::string& name, const std::string& bytes) const {
        std::ofstream(path_ / name) << bytes;
    }

private:
    fs::path path_;
};

struct Found {
    std::vector<std::string> names;
    std::vector<std::string> passed_over; // "FILE: REASON"
};

Found look(Modules& modules) {
    std::vector<const sotto::Backend*> backends;
    std::vector<Modules::PassedOver> passed_over;
    modules.list(backends, passed_over);
    Found found;
    for (const auto* backend : backends) {
        found.names.push_back(backend->name());
    }
    for (const auto& one : passed_over) {
        found.passed_over.push_back(fs::path(one.path).filename().string() + ": " + one.why);
    }
    return found;
}

std::string refusal_of(Modules& modules, const char* name) {
    try {
        modules.find(name);
        return "";
    } catch (const sotto::Error& error) {
        CHECK(error.status() == SOTTO_ERROR_UNSUPPORTED);
        return error.what();
    }
}

sotto_backend named(const char* name) {
    auto backend = test::scripted();
    backend.name = test::str(name);
    return backend;
}

std::string odd(const std::string& why) {
    return std::string(test::paths::kOddModules) + "/odd_" + why + SUFFIX;
}

const bool kHasTiers = sotto::x86_64_level() > 0;

} // namespace

TEST_CASE(
    "of a backend's modules, only the best tier that this CPU supports is opened" * doctest::skip(!kHasTiers)
) {
    sotto::set_log_level(SOTTO_LOG_INFO);
    Folder folder;
    for (const char* name :
         {"sotto_scripted-x86-64-v2" SUFFIX, "sotto_scripted" SUFFIX, "sotto_scripted-x86-64-v1" SUFFIX}) {
        folder.copy(kScripted, name);
    }
    Sink sink;
    const auto log = sink.log();
    {
        Modules modules(folder.path(), log);
        CHECK(look(modules).names == std::vector<std::string>{"scripted"});
        CHECK(sink.holds("uses " + (folder.path() / "sotto_scripted-x86-64-v2" SUFFIX).string()));
        CHECK(sink.lines.size() == 1);
    }
    folder.copy(kScripted, "sotto_scripted-native" SUFFIX);
    Modules modules(folder.path(), log);
    CHECK(look(modules).passed_over.empty());
    CHECK(sink.holds("uses " + (folder.path() / "sotto_scripted-native" SUFFIX).string()));
    sotto::set_log_level(SOTTO_LOG_DEFAULT);
}

TEST_CASE("a module for a better CPU is passed over for the next best") {
    Folder folder;
    folder.copy(kScripted, "sotto_scripted-x86-64-v9" SUFFIX);
    folder.copy(kScripted, kHasTiers ? "sotto_scripted-x86-64-v1" SUFFIX : "sotto_scripted" SUFFIX);
    Sink sink;
    const auto log = sink.log();
    Modules modules(folder.path(), log);
    const auto found = look(modules);
    CHECK(found.names == std::vector<std::string>{"scripted"});
    const auto is = kHasTiers ? "x86-64-v" + std::to_string(sotto::x86_64_level()) : "no x86-64";
    CHECK(found.passed_over == std::vector{"sotto_scripted-x86-64-v9" SUFFIX ": this processor is " + is});
}

TEST_CASE("unusable modules are passed over with a reason, which errors report") {
    Folder folder;
    folder.copy(odd("refuses"), "sotto_refuses" SUFFIX);
    folder.copy(odd("silent"), "sotto_silent" SUFFIX);
    folder.copy(odd("lacks"), "sotto_lacks" SUFFIX);
    folder.copy(odd("other"), "sotto_other" SUFFIX);
    folder.write("sotto_text" SUFFIX, "this is no library");
    folder.write("sotto_notes.txt", "nobody looks at this");
    folder.write("other_backend" SUFFIX, "nor at this");
    Sink sink;
    const auto log = sink.log();
    Modules modules(folder.path(), log);
    const auto found = look(modules);
    CHECK(found.names.empty());
    REQUIRE(found.passed_over.size() == 5);
    CHECK(found.passed_over[0] == "sotto_lacks" SUFFIX ": missing backend->open: expected a function");
    CHECK(found.passed_over[1] == "sotto_other" SUFFIX ": it exports no sotto_module_v1");
    CHECK(found.passed_over[2] == "sotto_refuses" SUFFIX ": this machine has no magic");
    CHECK(found.passed_over[3] == "sotto_silent" SUFFIX ": the backend gave no reason");
    CHECK(found.passed_over[4].find("sotto_text" SUFFIX ": ") == 0);
    CHECK(found.passed_over[4].find("sotto_text" SUFFIX ": it gave no reason") == std::string::npos);
    CHECK(sink.holds("this module looks around")); // a module's own lines reach the engine's log

    const auto why = refusal_of(modules, "llama");
    CHECK(why.find("no backend 'llama' was found in " + folder.path().string()) == 0);
    CHECK(
        why.find("sotto_refuses" SUFFIX " was passed over: this machine has no magic") != std::string::npos
    );
    CHECK(refusal_of(modules, "").find("no backend was found in ") == 0);
}

TEST_CASE("a module for a device kind is opened only if that kind is requested") {
    Folder folder;
    folder.copy(kScripted, "sotto_scripted" SUFFIX);
    folder.copy(odd("refuses"), "sotto_refuses_vulkan-native" SUFFIX);
    sotto::set_log_level(SOTTO_LOG_INFO);
    // on the heap: TSan confuses locks at the same stack address
    const auto on_heap = std::make_unique<Sink>();
    auto& sink = *on_heap;
    const auto log = sink.log();
    Modules modules(folder.path(), log);
    CHECK(modules.find("", "cpu").name() == "scripted");
    CHECK_FALSE(sink.holds("sotto_refuses_vulkan"));
    for (const char* device : {"vulkan", "vulkan0", "vulkan:00112233-4455-6677-8899-aabbccddeeff"}) {
        try {
            modules.find("", device);
            FAIL("there is none");
        } catch (const sotto::Error& error) {
            const std::string why = error.what();
            const auto told = "no backend for device '" + std::string(device) + "' was found in ";
            CHECK(why.find(told) == 0);
            CHECK(why.find("was passed over: this machine has no magic") != std::string::npos);
        }
    }
    CHECK(sink.holds("passes over " + (folder.path() / "sotto_refuses_vulkan-native" SUFFIX).string()));
    sotto::set_log_level(SOTTO_LOG_DEFAULT);
    CHECK(look(modules).passed_over.size() == 1);
}

TEST_CASE("a backend by name without a module for the device computes on the CPU") {
    Folder folder;
    folder.copy(kScripted, "sotto_scripted" SUFFIX);
    folder.copy(odd("by_name"), "sotto_counts" SUFFIX);
    Sink sink;
    const auto log = sink.log();
    {
        Modules modules(folder.path(), log);
        CHECK(modules.find("counts", "vulkan0").name() == "counts");
        CHECK_THROWS_AS(modules.find("scripted", "vulkan0"), sotto::Error);
        CHECK_THROWS_AS(modules.find("", "vulkan0"), sotto::Error);
        CHECK_THROWS_AS(modules.find("counts_vulkan"), sotto::Error);
    }
    folder.copy(odd("refuses"), "sotto_counts_vulkan" SUFFIX); // a module for the device, which fails
    Modules modules(folder.path(), log);
    CHECK_THROWS_WITH_AS(
        modules.find("counts", "vulkan0"), doctest::Contains("this machine has no magic"), sotto::Error
    );
    CHECK(modules.find("counts", "cpu").name() == "counts");
}

TEST_CASE("an empty or missing folder contains no backend") {
    Sink sink;
    const auto log = sink.log();
    Folder folder;
    Modules empty(folder.path(), log);
    CHECK(look(empty).names.empty());
    const auto where = "no backend was found in " + folder.path().string();
    CHECK(refusal_of(empty, "") == where + "; copy the module files (sotto_llama*) there");
    CHECK(refusal_of(empty, "onnx").ends_with("; copy the module files (sotto_onnx*) there"));
    Modules missing(folder.path() / "not there", log);
    CHECK(look(missing).names.empty());
}

TEST_CASE("a module's file name may begin with lib, as Android requires") {
    Folder folder;
    folder.copy(kScripted, "libsotto_scripted-native" SUFFIX);
    Sink sink;
    const auto log = sink.log();
    Modules modules(folder.path(), log);
    CHECK(look(modules).names == std::vector<std::string>{"scripted"});
    CHECK(sink.lines.empty());
}

TEST_CASE("plugins of game engines next to the library are not opened as modules") {
    Sink sink;
    const auto log = sink.log();
    Folder folder;
    folder.copy(kScripted, "sotto_unity" SUFFIX);
    folder.copy(kScripted, "libsotto_godot" SUFFIX);
    Modules modules(folder.path(), log);
    CHECK(look(modules).names.empty());
    CHECK(look(modules).passed_over.empty());
}

TEST_CASE("a host's backend is found by name before a module's, and a name can be used once") {
    Folder folder;
    folder.copy(kScripted, "sotto_scripted" SUFFIX);
    Sink sink;
    const auto log = sink.log();
    Modules modules(folder.path(), log);
    modules.add(named("mine"));
    CHECK(modules.find("mine").name() == "mine");
    CHECK(modules.find("").name() == "scripted");
    CHECK(look(modules).names == std::vector<std::string>{"mine", "scripted"});
    CHECK_THROWS_WITH_AS(
        modules.add(named("mine")),
        "backend 'mine' is already registered: choose another backend->name",
        sotto::Error
    );
    const auto* of_module = &modules.find("scripted");
    modules.add(named("scripted"));
    CHECK(&modules.find("scripted") != of_module);
    CHECK(&modules.find("") == of_module);
    auto lame = named("lame");
    lame.step = nullptr;
    CHECK_THROWS_WITH_AS(modules.add(lame), "missing backend->step: expected a function", sotto::Error);
}

TEST_CASE("each engine has its own backend object of a module, and lookups are thread-safe") {
    Folder folder;
    folder.copy(odd("counts"), "sotto_counts" SUFFIX);
    // on the heap: TSan confuses locks at the same stack address
    const auto on_heap = std::make_unique<Sink>();
    auto& sink = *on_heap;
    const auto log = sink.log();
    Modules first(folder.path(), log);
    Modules second(folder.path(), log);
    std::vector<const sotto::Backend*> found(8);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < found.size(); ++i) {
        threads.emplace_back([&, i] { found[i] = &(i % 2 == 0 ? first : second).find("counts"); });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
        CHECK(found[i] == found[i % 2]);
    }
    CHECK(found[0]->table().self != found[1]->table().self);
    CHECK(sink.lines == std::vector<std::string>{"1 live", "2 live"});
}

TEST_CASE("an engine's backend object is released with the engine, and its log lines go to that engine") {
    Folder folder;
    folder.copy(odd("counts"), "sotto_counts" SUFFIX);
    for (int i = 0; i < 500; ++i) {
        Sink mine;
        Sink other;
        const auto log = mine.log();
        const auto other_log = other.log();
        {
            Modules modules(folder.path(), log);
            CHECK(modules.find("counts").name() == "counts");
            Modules second(folder.path(), other_log);
            CHECK(second.find("counts").name() == "counts");
        }
        REQUIRE(mine.lines == std::vector<std::string>{"1 live", "0 live"});
        REQUIRE(other.lines == std::vector<std::string>{"2 live", "1 live"});
    }
}

TEST_CASE("a host's backend is released once by each engine that uses it") {
    Sink sink;
    const auto log = sink.log();
    Folder folder;
    int released = 0;
    auto mine = named("mine");
    mine.self = &released;
    mine.release = [](void* self) { ++*static_cast<int*>(self); };
    {
        Modules first(folder.path(), log);
        Modules second(folder.path(), log);
        first.add(mine);
        second.add(mine);
        CHECK_THROWS_AS(second.add(mine), sotto::Error); // the name is taken by the host's first backend
        CHECK(released == 0);
    }
    CHECK(released == 2);
}

TEST_CASE("a module that failed for lack of memory is tried again, one that refuses is not") {
    Folder folder;
    folder.copy(odd("full"), "sotto_counts" SUFFIX);
    folder.copy(odd("refuses"), "sotto_refuses" SUFFIX);
    Sink sink;
    const auto log = sink.log();
    Modules modules(folder.path(), log);
    try {
        modules.find("counts");
        FAIL("there is no memory");
    } catch (const sotto::Error& error) {
        CHECK(error.status() == SOTTO_ERROR_MEMORY);
        CHECK(std::string(error.what()).find("there is no memory just now") != std::string::npos);
    }
    CHECK(modules.find("counts").name() == "counts");
    CHECK(
        look(modules).passed_over ==
        std::vector<std::string>{"sotto_refuses" SUFFIX ": this machine has no magic"}
    );
    const auto looks = std::count(sink.lines.begin(), sink.lines.end(), "this module looks around");
    CHECK(looks == 1);
}
