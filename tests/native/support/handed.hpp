// A card as a host hands it over, and as an engine shows it.
#pragma once

#include <doctest/doctest.h>

#include "support/card.hpp"
#include "support/game.hpp"
#include "text/json_reader.hpp"

namespace test {

// A renderer on Direct3D 12, as a host hands it over.
struct Handed {
    explicit Handed(unsigned card = 1) {
        d3d12.device = VulkanDouble::handle(41);
        d3d12.queue = VulkanDouble::handle(40);
        d3d12.luid = luid(card);
        gpu.d3d12 = &d3d12;
    }
    Handed(const Handed&) = delete;
    Handed& operator=(const Handed&) = delete;

    sotto_gpu_d3d12 d3d12 = SOTTO_INIT(sotto_gpu_d3d12);
    sotto_gpu_desc gpu = SOTTO_INIT(sotto_gpu_desc);
};

// What an engine tells of its card.
inline sotto::Json shown(const Game& game) {
    sotto_str json{};
    REQUIRE(sotto_engine_describe(game.engine(), &json) == SOTTO_OK);
    return sotto::Json::parse(text_of(json))["gpu"];
}

} // namespace test
