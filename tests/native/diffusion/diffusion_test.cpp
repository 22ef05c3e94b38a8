// Images through the shared library, for sanitizers: cancelled at any moment, and ended with their engine.
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "speaker.hpp"

using namespace test;

namespace {

constexpr const char* kModel = "painter";

Answer load(Speaker& speaker) {
    auto desc = SOTTO_INIT(sotto_model_desc);
    const auto path = std::string(test::paths::kTinyDiffusion) + "/diffusion.safetensors";
    desc.id = str(kModel);
    desc.path = str(path);
    desc.backend = str("diffusion");
    desc.options = str(R"({"llm": "llm.safetensors", "taesd": "taesd.safetensors", "size": "64x64"})");
    desc.flags = SOTTO_REQUEST_PRIVATE;
    sotto_request request = 0;
    const auto status = sotto_engine_load_model(speaker.engine(), &desc, &request);
    return status < 0 ? Answer{status, text_of(sotto_last_error())} : speaker.finish(request);
}

sotto_request paint(Speaker& speaker, int seed, int steps) {
    auto desc = SOTTO_INIT(sotto_request_desc);
    const auto body = R"({"model": "painter", "prompt": "a tavern", "partial_images": 2, "seed": )" +
                      std::to_string(seed) + R"(, "steps": )" + std::to_string(steps) + "}";
    desc.op = SOTTO_OP_IMAGE_GENERATE;
    desc.body = str(body);
    desc.flags = SOTTO_REQUEST_PRIVATE;
    sotto_request request = 0;
    REQUIRE(sotto_engine_submit(speaker.engine(), &desc, &request) == SOTTO_OK);
    return request;
}

// Waits up to `most` milliseconds.
void wait_a_moment(std::mt19937& random, int most) {
    const auto microseconds = std::uniform_int_distribution<>(0, most * 1'000)(random);
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

} // namespace

TEST_CASE("images that are cancelled at random moments leave the model as it was") {
    const int images = setting("SOTTO_TEST_IMAGES", 40);
    std::mt19937 random(29);
    for (const auto mode : {SOTTO_MODE_PRIORITIZE_COMPUTE, SOTTO_MODE_PRIORITIZE_GRAPHICS}) {
        Speaker speaker({mode, 0, 2});
        REQUIRE(speaker.created() == SOTTO_OK);
        const auto loaded = load(speaker);
        REQUIRE_MESSAGE(loaded.status == SOTTO_OK, loaded.text);
        for (int i = 0; i < images / 2; ++i) {
            const auto request = paint(speaker, i, 4);
            wait_a_moment(random, 150);
            sotto_engine_cancel(speaker.engine(), request);
            const auto end = speaker.finish(request);
            CHECK_MESSAGE((end.status == SOTTO_OK || end.status == SOTTO_ERROR_CANCELLED), end.text);
        }
        const auto whole = speaker.finish(paint(speaker, 7, 2));
        CHECK_MESSAGE(whole.status == SOTTO_OK, whole.text);
    }
}

TEST_CASE("an engine ends in the middle of an image") {
    std::mt19937 random(30);
    for (int i = 0; i < 8; ++i) {
        Speaker speaker({SOTTO_MODE_BALANCE, 0, 2});
        REQUIRE(load(speaker).status == SOTTO_OK);
        paint(speaker, i, 50);
        paint(speaker, i, 50); // waits for the first
        wait_a_moment(random, 200);
        speaker.end();
    }
}

TEST_CASE("two engines generate images at the same time") {
    const auto work = [](int seed) {
        Speaker speaker({SOTTO_MODE_PRIORITIZE_COMPUTE, 0, 1});
        auto end = load(speaker);
        for (int i = 0; i < 4 && end.status == SOTTO_OK; ++i) {
            end = speaker.finish(paint(speaker, seed, 3));
        }
        return end;
    };
    Answer other;
    std::thread thread([&] { other = work(1); });
    const auto own = work(2);
    thread.join();
    CHECK_MESSAGE(own.status == SOTTO_OK, own.text);
    CHECK_MESSAGE(other.status == SOTTO_OK, other.text);
}
