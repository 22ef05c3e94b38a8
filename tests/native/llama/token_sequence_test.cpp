// The tokens of a stream, alone.
#include "kv/token_sequence.hpp"

#include <doctest/doctest.h>
#include <numeric>

using namespace sotto::llama;

namespace {

std::vector<llama_token> tokens(std::size_t count) {
    std::vector<llama_token> made(count);
    std::iota(made.begin(), made.end(), 0);
    return made;
}

// An image of `count` tokens at `begin` that takes `positions` positions.
Stretch image(std::size_t begin, std::size_t count, llama_pos positions) {
    Stretch stretch;
    stretch.begin = begin;
    stretch.tokens = count;
    stretch.positions = positions;
    return stretch;
}

} // namespace

TEST_CASE("common_prefix counts the tokens that both begin with") {
    const std::vector<llama_token> a = {1, 2, 3};
    const std::vector<llama_token> b = {1, 2, 4, 5};
    CHECK(common_prefix(a, b) == 2);
    CHECK(common_prefix(a, {}) == 0);
    CHECK(common_prefix(a, a) == 3);
}

TEST_CASE("a prompt is prefilled until all its tokens are held, an answer leaves one token pending") {
    TokenSequence sequence(tokens(4), {});
    CHECK(sequence.in_prompt());
    CHECK(sequence.pending() == 4);
    sequence.advance(4);
    CHECK(!sequence.in_prompt());
    sequence.append(9);
    CHECK(sequence.pending() == 1);
    CHECK(!sequence.in_prompt());
    sequence.hold(0); // the KV cache was lost
    CHECK(sequence.in_prompt());
    CHECK(sequence.pending() == 5);
    CHECK(sequence.prompt_size() == 4);
}

TEST_CASE("positions after an image count its positions, not its tokens") {
    TokenSequence sequence(tokens(10), {image(2, 4, 2)});
    CHECK(sequence.has_media());
    CHECK(sequence.position(0) == 0);
    CHECK(sequence.position(2) == 2);
    CHECK(sequence.position(6) == 4);
    CHECK(sequence.last_position(2) == 1);
    CHECK(sequence.last_position(6) == 2); // all cells of the image have its first position
    CHECK(sequence.last_position(7) == 4);
}

TEST_CASE("floor and ceiling leave the inside of an image") {
    TokenSequence sequence(tokens(10), {image(2, 4, 4)});
    CHECK(sequence.floor(2) == 2);
    CHECK(sequence.floor(5) == 2);
    CHECK(sequence.floor(6) == 6);
    CHECK(sequence.ceiling(3) == 6);
    CHECK(sequence.ceiling(6) == 6);
    CHECK(sequence.stretch_at(1) == nullptr);
    CHECK(sequence.stretch_at(2) != nullptr);
    CHECK(sequence.stretch_at(6) == nullptr);
}

TEST_CASE("text_ahead ends where the next image begins") {
    TokenSequence sequence(tokens(10), {image(2, 4, 4)});
    CHECK(sequence.text_ahead() == 2);
    sequence.advance(2);
    CHECK(sequence.text_ahead() == 0);
    sequence.advance(4);
    CHECK(sequence.text_ahead() == 4);
}

TEST_CASE("drop removes tokens and images, and moves later images") {
    TokenSequence sequence(tokens(20), {image(2, 2, 2), image(10, 2, 2)});
    sequence.advance(20);
    sequence.append(20);
    sequence.drop(2, 6);
    CHECK(sequence.tokens().size() == 17);
    CHECK(sequence.tokens()[2] == 6);
    CHECK(sequence.stretch_at(2) == nullptr);
    CHECK(sequence.stretch_at(6) != nullptr);
    CHECK(sequence.prompt_size() == 16);
    sequence.hold_shifted(2, 4);
    CHECK(sequence.held() == 16);
    CHECK(sequence.exact() == 2);
}

TEST_CASE("a cut that removes every token after a drop makes the rest exact again") {
    TokenSequence sequence(tokens(8), {});
    sequence.advance(8);
    sequence.set_exact(3);
    sequence.hold(5);
    CHECK(sequence.exact() == 3);
    sequence.hold(3);
    CHECK(sequence.exact() == SIZE_MAX);
}
