// Answers of the house model that the Vulkan module computes on Unity's device, when Unity destroys it.
#include <cstdio>

#include <doctest/doctest.h>

#include "../native/support/rung.hpp"
#include "engine.hpp"
#include "vulkan_renderer.hpp"

using namespace test;

TEST_CASE("the house model answers on Unity's device, and on the processor when that is gone") {
    const Loaded loaded;
    VulkanUnity unity;
    const Engine engine(SOTTO_MODULES);
    REQUIRE(engine.attach() == SOTTO_GPU_SHARING_VULKAN);
    engine.load("", SOTTO_MODULES "/house.gguf");
    const auto request = engine.ask(R"(, "max_tokens": 200, "ignore_eos": true, "temperature": 0)");
    engine.wait_for_text(request);
    const double took = unity.restart_device();
    const End end = engine.end_of(request);
    CHECK_MESSAGE(end.status == SOTTO_ERROR_CANCELLED, end.error);
    const End after = engine.end_of(engine.ask(R"(, "max_tokens": 8, "temperature": 0)"));
    CHECK_MESSAGE(after.status == SOTTO_OK, after.error);
    CHECK(!after.text.empty());
    tell_rung("vulkan");
    std::printf(
        "figure: under the house model in %.0f ms, then the CPU says '%s'\n", took, after.text.c_str()
    );
}
