// A GPU as a host passes it, and as an engine reports it.
#pragma once

#include <doctest/doctest.h>

#include "support/card.hpp"
#include "support/game.hpp"
#include "support/rung.hpp"
#include "text/json_reader.hpp"

namespace test {

using sotto::Json;

// A renderer as a host passes it: on Direct3D 12, or on the fake Vulkan device.
struct Handed {
    explicit Handed(bool on_vulkan = false) {
        d3d12.device = VulkanDouble::handle(41);
        d3d12.queue = VulkanDouble::handle(40);
        d3d12.luid = luid(1);
        gpu.d3d12 = on_vulkan ? nullptr : &d3d12;
        gpu.vulkan = on_vulkan ? &vulkan : nullptr;
    }
    Handed(const Handed&) = delete;
    Handed& operator=(const Handed&) = delete;

    sotto_gpu_d3d12 d3d12 = SOTTO_INIT(sotto_gpu_d3d12);
    sotto_gpu_vulkan vulkan = VulkanDouble::renderer();
    sotto_gpu_desc gpu = SOTTO_INIT(sotto_gpu_desc);
};

// Returns a member of an engine's description, by default its GPU.
inline Json shown(const Game& game, const char* what = "gpu") {
    sotto_str json{};
    REQUIRE(sotto_engine_describe(game.engine(), &json) == SOTTO_OK);
    return Json::parse(text_of(json))[what];
}

// Attaches a GPU, which must succeed. Returns the rung.
inline sotto_gpu_sharing attach(const Game& game, const Handed& handed) {
    sotto_gpu_sharing rung = -1;
    const auto status = sotto_engine_attach_gpu(game.engine(), &handed.gpu, &rung);
    REQUIRE_MESSAGE(status == SOTTO_OK, last_error());
    std::string why;
    const auto gpu = shown(game);
    for (const auto& one : gpu["not_taken"]) {
        why +=
            (why.empty() ? "not " : "; not ") + std::string(one["rung"]) + ": " + std::string(one["reason"]);
    }
    tell_rung(gpu["rung"], why);
    return rung;
}

} // namespace test
