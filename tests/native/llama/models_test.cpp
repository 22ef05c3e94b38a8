// The generated test models: each opens, answers, and is small.
#include "module_under_test.hpp"

#include <doctest/doctest.h>
#include <filesystem>

using namespace under_test;

TEST_CASE("every generated model opens, answers and is small") {
    int models = 0;
    for (const auto& entry : std::filesystem::directory_iterator(tiny(""))) {
        CAPTURE(entry.path().string());
        CHECK(entry.file_size() < 2'000'000);
        Model model({.path = entry.path().string()});
        REQUIRE_MESSAGE(model, model.why);
        Stream stream(model, completion("who is the king"), SOTTO_OP_COMPLETION);
        CHECK_MESSAGE(stream.run(8).status == SOTTO_OK, stream.answer.why);
        CHECK(stream.answer.tokens > 0);
        ++models;
    }
    CHECK(models == 9);
}

TEST_CASE("two models of one shape have different answers") {
    Model one;
    Model twin({.path = tiny("tiny-twin.gguf")});
    REQUIRE_MESSAGE(twin, twin.why);
    CHECK(one.info.weights == twin.info.weights);
    CHECK(one.description == twin.description);
    const auto asked = chat("who is the king");
    CHECK(Stream(one, asked).run(8).text != Stream(twin, asked).run(8).text);
}
