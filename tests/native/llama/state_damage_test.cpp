// States whose bytes are intact but whose numbers are NaN.
#include "module_under_test.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace under_test;

namespace {

constexpr std::uint32_t kTokens = 12;
const char* const kQuestion = "who is the king of the river and what is the song of the moon";
const char* const kOne = R"({"parallel": 1, "batch": 32})";

// Returns the state of a prefilled stream, with its last numbers replaced by NaNs.
std::string without_numbers(const std::string& file) {
    Model model({.path = tiny(file.c_str()), .options = kOne});
    REQUIRE_MESSAGE(model, model.why);
    Stream stream(model, chat(kQuestion));
    stream.run(2);
    std::uint32_t tokens = 0;
    auto state = stream.save(tokens);
    REQUIRE(tokens > 0);
    std::fill(state.end() - static_cast<std::ptrdiff_t>(state.size() / 8), state.end(), '\xFF');
    return state;
}

std::string fresh(const std::string& file) {
    Model model({.path = tiny(file.c_str()), .options = kOne});
    return Stream(model, chat(kQuestion)).run(kTokens).text;
}

} // namespace

TEST_CASE("a restored state that contains NaN is dropped, and its text prefilled again") {
    for (const char* file : {"tiny.gguf", "tiny-window.gguf", "tiny-recurrent.gguf", "tiny-hybrid.gguf"}) {
        CAPTURE(file);
        const auto state = without_numbers(file);
        Model model({.path = tiny(file), .options = kOne});
        std::uint32_t tokens = 0;
        REQUIRE_MESSAGE(model.restore(state, tokens) == SOTTO_OK, model.why);
        for (int i = 0; i < 2; ++i) { // the second time, it has been dropped
            Stream stream(model, chat(kQuestion));
            auto& answer = stream.run(kTokens);
            CHECK_MESSAGE(answer.status == SOTTO_OK, answer.why);
            CHECK(answer.text == fresh(file));
        }
    }
}

TEST_CASE("a stream that follows one with a damaged state that ended early is answered") {
    const auto state = without_numbers("tiny.gguf");
    Model model({.path = tiny(), .options = kOne});
    std::uint32_t tokens = 0;
    REQUIRE(model.restore(state, tokens) == SOTTO_OK);
    Stream early(model, chat(kQuestion));
    early.close();
    Stream late(model, chat(kQuestion));
    auto& answer = late.run(kTokens);
    CHECK_MESSAGE(answer.status == SOTTO_OK, answer.why);
    CHECK(answer.text == fresh("tiny.gguf"));
}
