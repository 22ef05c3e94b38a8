// Memory of slots that are removed and added again. Not under a sanitizer, which keeps freed memory.
#include "guest.hpp"

#include <cstdio>
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace under_test;

namespace {

const char* const kOptions = R"({"parallel": 16, "context": 2048})";
const std::string kBody = chat("who is the king of the river", R"("temperature": 0, "ignore_eos": true)");

// Memory of the process, in bytes.
struct Taken {
    std::size_t addresses = 0;
    std::size_t resident = 0;
    std::size_t shared = 0;

    Taken() {
        std::FILE* file = std::fopen("/proc/self/statm", "r");
        REQUIRE(file != nullptr);
        REQUIRE(std::fscanf(file, "%zu %zu %zu", &addresses, &resident, &shared) == 3);
        std::fclose(file);
        for (auto* pages : {&addresses, &resident, &shared}) {
            *pages *= static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        }
    }
    std::size_t own() const { return resident - shared; }
};

} // namespace

TEST_CASE("memory freed by a resize returns to the system") {
    Model model({.path = house(), .options = kOptions});
    REQUIRE_MESSAGE(model, model.why);
    Guest guest{std::make_unique<Stream>(model, kBody), {}};
    guest.stream->run(4);
    guest.park();
    const auto whole = model.info.kv; // most of it was never written, and takes addresses alone
    REQUIRE(whole > std::size_t{64} << 20);
    const Taken before;
    REQUIRE(model.resize(0) == SOTTO_OK);
    CHECK(Taken().addresses + whole * 9 / 10 < before.addresses);
    CHECK(Taken().own() < before.own());
    std::size_t first = 0;
    for (std::uint32_t i = 0; i < 100; ++i) {
        REQUIRE_MESSAGE(model.resize(i % 4 * 5) == SOTTO_OK, model.why);
        if (model.info.streams > 0) {
            guest.come_back();
            REQUIRE(guest.stream->step() == SOTTO_OK);
            guest.park();
        } else {
            first = first == 0 ? Taken().own() : first;
        }
    }
    REQUIRE(model.resize(0) == SOTTO_OK);
    CHECK(Taken().own() < first + (std::size_t{8} << 20)); // malloc keeps some small blocks
}

TEST_CASE("if memory for the slots is short the model has none, and gets them in a later resize") {
    Model plain({.path = house(), .options = kOptions});
    const auto expected = Stream(plain, kBody).run(20, 8).text;
    Model model({.path = house(), .options = kOptions});
    REQUIRE_MESSAGE(model, model.why);
    const auto whole = model.info;
    Guest guest{std::make_unique<Stream>(model, kBody), {}};
    guest.stream->run(3, 8);
    guest.park();
    REQUIRE(model.resize(1) == SOTTO_OK);
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
    rlimit low = before;
    low.rlim_cur = Taken().addresses + (std::size_t{48} << 20);
    REQUIRE(setrlimit(RLIMIT_AS, &low) == 0);
    const auto status = model.resize(16);
    const auto why = model.why;
    const auto info = model.info;
    const auto one = model.resize(1);
    REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
    CHECK(status == SOTTO_ERROR_MEMORY);
    CHECK_MESSAGE(why.find("alloc") != std::string::npos, why);
    CHECK(info.streams == 0);
    CHECK(info.kv == 0);
    CHECK(info.compute == 0);
    CHECK(info.weights == whole.weights);
    CHECK(one == SOTTO_OK);
    REQUIRE_MESSAGE(model.resize(16) == SOTTO_OK, model.why);
    CHECK(model.info.kv == whole.kv);
    CHECK(guest.come_back() == 0);
    CHECK(guest.stream->run(20, 8).text == expected);
}
