// The byte format of saved states: without a model.
#include "kv/saved_state.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace sotto::llama;

namespace {

std::int32_t append(void* context, const void* bytes, std::size_t count) {
    static_cast<std::string*>(context)->append(static_cast<const char*>(bytes), count);
    return 0;
}

std::int32_t refuse(void*, const void*, std::size_t) {
    return 1;
}

const std::uint8_t kBytes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
const StatePieces kPieces = {Bytes(kBytes, 8), Bytes(kBytes + 8, 2), Bytes(kBytes + 10, 4)};

std::string written(const StateHeader& header) {
    std::string bytes;
    write_state(header, kPieces, append, &bytes);
    return bytes;
}

} // namespace

TEST_CASE("a state is read as it was written") {
    for (const std::uint64_t adapters : {0, 99}) {
        for (const bool own : {false, true}) {
            const StateHeader header = {{5, 6, -7}, adapters, own};
            std::string bytes;
            const auto hash = write_state(header, kPieces, append, &bytes);
            const auto read = read_state(bytes, 16, 32);
            CHECK(read.hash == hash);
            CHECK(read.header.tokens == header.tokens);
            CHECK(read.header.adapters == adapters);
            CHECK(read.header.own == own);
            CHECK(read.pieces.head.size() == 2);
            CHECK(read.pieces.tail.size() == 4);
            CHECK(read.pieces.tail[3] == 13);
        }
    }
}

TEST_CASE("a truncated state is refused, wherever it ends") {
    const auto bytes = written({{5, 6, 7}, 99, false});
    const auto fixed = bytes.size() - 4; // the tail has no length of its own
    for (std::size_t size = 0; size < fixed; ++size) {
        CAPTURE(size);
        CHECK_THROWS_AS(read_state(std::string_view(bytes).substr(0, size), 16, 32), Error);
    }
}

TEST_CASE("a state of no tokens, of too many, or of unknown ones is refused") {
    CHECK_THROWS_AS(read_state(written({{}, 0, false}), 16, 32), Error);
    const auto bytes = written({{5, 6, 31}, 0, false});
    CHECK_NOTHROW(read_state(bytes, 3, 32));
    CHECK_THROWS_AS(read_state(bytes, 2, 32), Error);
    CHECK_THROWS_AS(read_state(bytes, 3, 31), Error);
}

TEST_CASE("a state that cannot be written is out of memory") {
    CHECK_THROWS_WITH_AS(
        write_state({{5}, 0, false}, kPieces, refuse, nullptr), "no memory is left for the state", Error
    );
}
