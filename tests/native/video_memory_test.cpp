// Reports of GPU memory, on a fake NVML and without one.
#include "gpu/video_memory.hpp"

#include <string>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "support/paths.hpp"
#include "text/json_reader.hpp"

#include <sotto/budget.h>

using sotto::gpu::VideoMemoryProbe;

TEST_CASE("GPUs are listed as the driver reports them, without lost ones") {
    const VideoMemoryProbe probe(test::paths::kNvmlDouble);
    CHECK(probe.why().empty());
    for (int look = 0; look < 2; ++look) {
        const auto cards = probe.look();
        REQUIRE(cards.size() == 1);
        CHECK(cards[0].name == "A card of the double");
        CHECK(cards[0].uuid == "GPU-00112233-4455-6677-8899-aabbccddeeff");
        CHECK(cards[0].total == 8ULL << 30);
        CHECK(cards[0].available == 5ULL << 30);
    }
}

TEST_CASE("without the library no GPU is listed, with the reason") {
    const VideoMemoryProbe probe("there-is-no-such-library.so");
    CHECK(probe.look().empty());
    CHECK_MESSAGE(probe.why().find("there-is-no-such-library.so") != std::string::npos, probe.why());
}

TEST_CASE("an incomplete library counts as missing") {
    const VideoMemoryProbe probe(test::paths::kNvmlHalf);
    CHECK(probe.look().empty());
    CHECK_MESSAGE(probe.why().find("has no nvmlDeviceGetMemoryInfo") != std::string::npos, probe.why());
}

TEST_CASE("an engine lists the GPUs of this machine, none without a driver") {
    const test::Game game;
    sotto_str told{};
    REQUIRE(sotto_engine_memory(game.engine(), &told) == SOTTO_OK);
    const auto memory = sotto::Json::parse(std::string_view(told.data, told.size));
    REQUIRE(memory["cards"].is_array());
    for (const auto& card : memory["cards"]) {
        CHECK(card["available"].get<std::uint64_t>() <= card["total"].get<std::uint64_t>());
    }
}
