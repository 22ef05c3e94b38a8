// Draft tokens by lookup: without a model.
#include "step/speculator.hpp"

#include <doctest/doctest.h>

using namespace sotto::llama;
using std::chrono::milliseconds;

namespace {

Options with_lookup() {
    Options options;
    options.speculative = Options::Speculative::Lookup;
    return options;
}

// A stream whose answer has one token.
Stream decoding(std::vector<llama_token> prompt, llama_token answer) {
    Prepared prepared;
    prepared.prompt = std::move(prompt);
    Stream stream(std::move(prepared), AdapterSet());
    stream.kv.tokens.advance(stream.kv.tokens.prompt_size());
    stream.kv.tokens.append(answer);
    return stream;
}

// Returns the draft tokens of a step with room for `room`, once the cost of a step was measured.
std::vector<llama_token> guessed(const Options& options, std::size_t room) {
    Contexts contexts(nullptr, options, nullptr);
    Speculator speculator(options, contexts);
    auto stream = decoding({1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, 4);
    StepItem first;
    first.stream = &stream;
    speculator.guess(first, 8, milliseconds(0));
    speculator.measure(first, milliseconds(0));
    for (int i = 0; i < 40; ++i) {
        speculator.saw(first, true);
    }
    StepItem item;
    item.stream = &stream;
    speculator.guess(item, room, milliseconds(0));
    CHECK(item.expected == 5);
    return item.guess;
}

} // namespace

TEST_CASE("a model without speculative decoding guesses nothing") {
    Contexts contexts(nullptr, Options(), nullptr);
    CHECK(!Speculator(Options(), contexts).enabled());
    CHECK(Speculator(with_lookup(), contexts).enabled());
}

TEST_CASE("nothing is checked until the cost of a step is known, but the first guess is recorded") {
    Contexts contexts(nullptr, with_lookup(), nullptr);
    Speculator speculator(with_lookup(), contexts);
    auto stream = decoding({1, 2, 3, 4, 5, 1, 2}, 3);
    StepItem item;
    item.stream = &stream;
    speculator.guess(item, 8, milliseconds(0));
    CHECK(item.guess.empty());
    CHECK(item.expected == 4);
    CHECK(!item.drafted);
}

TEST_CASE("once a step was measured, draft tokens are checked, as many as there is room for") {
    CHECK(guessed(with_lookup(), 3) == std::vector<llama_token>{5, 6, 7});
}

TEST_CASE("a step checks at most draft_max draft tokens") {
    auto options = with_lookup();
    CHECK(guessed(options, 8).size() == 7);
    options.limits.draft_max = 3;
    CHECK(guessed(options, 8) == std::vector<llama_token>{5, 6, 7});
    options.limits.draft_max = 1;
    CHECK(guessed(options, 8) == std::vector<llama_token>{5});
}
