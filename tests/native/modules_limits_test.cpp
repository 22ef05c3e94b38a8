// Modules in a process that is temporarily out of a resource.
#include "module/modules.hpp"

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.hpp"
#include "support/paths.hpp"

namespace fs = std::filesystem;

namespace {

const fs::path kOddModules = test::paths::kOddModules;

// Uses up all file descriptors during its lifetime.
class NoFiles {
public:
    NoFiles() {
        getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit few{32, before_.rlim_max};
        setrlimit(RLIMIT_NOFILE, &few);
        for (int file = open("/dev/null", O_RDONLY); file >= 0; file = open("/dev/null", O_RDONLY)) {
            files_.push_back(file);
        }
    }
    ~NoFiles() {
        for (const int file : files_) {
            close(file);
        }
        setrlimit(RLIMIT_NOFILE, &before_);
    }
    NoFiles(const NoFiles&) = delete;
    NoFiles& operator=(const NoFiles&) = delete;

private:
    rlimit before_{};
    std::vector<int> files_;
};

sotto_status status_of(sotto::Modules& modules, std::string& why) {
    try {
        modules.find("counts");
        return SOTTO_OK;
    } catch (const sotto::Error& error) {
        why = error.what();
        return error.status();
    }
}

// UBSan opens a file when it meets a new type: makes it meet all types before.
void look_for_modules_in_vain(const fs::path& folder) {
    const auto broken = folder / "broken";
    fs::create_directory(broken);
    std::ofstream(broken / "sotto_counts.so") << "no library";
    const sotto::Log log;
    for (const auto& place : {broken, folder / "nowhere"}) {
        sotto::Modules modules(place, log);
        std::string why;
        CHECK(status_of(modules, why) == SOTTO_ERROR_UNSUPPORTED);
    }
}

} // namespace

TEST_CASE("running out of file descriptors fails one load, and a later one succeeds") {
    const auto folder =
        fs::temp_directory_path() / ("sotto_modules_limits_test_" + std::to_string(std::random_device{}()));
    fs::create_directory(folder);
    fs::copy_file(kOddModules / "odd_counts.so", folder / "sotto_counts.so");
    const sotto::Log log;
    sotto::Modules modules(folder, log);
    sotto::Modules other(folder, log);
    look_for_modules_in_vain(folder);
    {
        const NoFiles none;
        std::string why;
        CHECK(status_of(modules, why) == SOTTO_ERROR_MEMORY);
        CHECK(why.find("Too many open files") != std::string::npos);
        CHECK(status_of(other, why) == SOTTO_ERROR_MEMORY);
    }
    std::string why;
    CHECK_MESSAGE(status_of(modules, why) == SOTTO_OK, why); // the same engine
    CHECK_MESSAGE(status_of(other, why) == SOTTO_OK, why);
    sotto::Modules third(folder, log);
    CHECK_MESSAGE(status_of(third, why) == SOTTO_OK, why);
    fs::remove_all(folder);
}

TEST_CASE("a module that could not be opened is tried again if its folder could be read") {
    const auto folder =
        fs::temp_directory_path() / ("sotto_modules_limits_test_" + std::to_string(std::random_device{}()));
    fs::create_directory(folder);
    std::string why;
    const sotto::Log log;
    sotto::Modules modules(folder, log);
    fs::create_directory(folder / "sotto_counts.so"); // a folder, which cannot be loaded
    CHECK(status_of(modules, why) == SOTTO_ERROR_UNSUPPORTED);
    CHECK(why.find("sotto_counts.so was passed over: ") != std::string::npos);
    fs::remove(folder / "sotto_counts.so");
    fs::copy_file(kOddModules / "odd_counts.so", folder / "sotto_counts.so");
    CHECK_MESSAGE(status_of(modules, why) == SOTTO_OK, why);
    fs::remove_all(folder);
}

TEST_CASE("a relative module folder is resolved when the engine is created") {
    const auto root =
        fs::temp_directory_path() / ("sotto_modules_limits_test_" + std::to_string(std::random_device{}()));
    fs::create_directories(root / "game" / "modules");
    fs::create_directories(root / "elsewhere" / "modules");
    fs::copy_file(kOddModules / "odd_counts.so", root / "game" / "modules" / "sotto_counts.so");
    fs::copy_file(kOddModules / "odd_refuses.so", root / "elsewhere" / "modules" / "sotto_counts.so");
    const auto before = fs::current_path();
    fs::current_path(root / "game");
    const sotto::Log log;
    sotto::Modules modules("modules", log);
    fs::current_path(root / "elsewhere");
    std::string why;
    CHECK_MESSAGE(status_of(modules, why) == SOTTO_OK, why);
    fs::current_path(before);
    fs::remove_all(root);
}
