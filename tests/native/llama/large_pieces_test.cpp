// The module allocates no large temporary memory by malloc(). glibc maps large blocks, but once one was freed
// it keeps blocks of that size, and twice as much, in every arena.
#include "module_under_test.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fstream>
#include <malloc.h>
#include <string>

using namespace under_test;

namespace {

constexpr std::size_t kMB = std::size_t{1} << 20;

std::atomic<std::size_t> largest{0}; // largest block requested from malloc() or calloc()

void note(std::size_t size) {
    auto before = largest.load();
    while (size > before && !largest.compare_exchange_weak(before, size)) {
    }
}

std::size_t taken_from_malloc() {
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

// Anonymous memory of the process.
std::size_t anonymous() {
    std::size_t size = 0;
    std::size_t resident = 0;
    std::size_t in_files = 0;
    std::ifstream("/proc/self/statm") >> size >> resident >> in_files;
    return (resident - in_files) * 4096;
}

} // namespace

#pragma GCC visibility push(default) // exported, so that the module links to them
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);

void* malloc(std::size_t size) {
    note(size);
    return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) {
    note(count * size);
    return __libc_calloc(count, size);
}
}
#pragma GCC visibility pop

TEST_CASE("sparsely written tables of graphs are not allocated by malloc") {
    const auto before = taken_from_malloc();
    const Model model({.path = house()});
    REQUIRE_MESSAGE(model, model.why);
    // 23 MB with the tables; the vocabulary is most of the rest
    CHECK(taken_from_malloc() < before + 8 * kMB);
}

TEST_CASE("the first request with a grammar allocates no tables for the vocabulary") {
    Model model({.path = house()});
    REQUIRE_MESSAGE(model, model.why);
    const auto ask = [&](const std::string& more) {
        Stream stream(model, chat("the king", R"("max_tokens": 8)" + more));
        REQUIRE_MESSAGE(stream.answer.status == SOTTO_OK, stream.answer.why);
        stream.run(8);
    };
    ask("");
    const auto before = taken_from_malloc();
    ask(R"(, "response_format": {"type": "json_object"})");
    MESSAGE("bytes that stay: ", taken_from_malloc() - before);
    CHECK(taken_from_malloc() < before + 64 * 1024);
}

TEST_CASE("copying the KV cache between streams allocates nothing by malloc") {
    Model model({.path = house(), .options = R"({"parallel": 2, "context": 2048})"});
    REQUIRE_MESSAGE(model, model.why);
    std::string words;
    for (int i = 0; i < 250; ++i) {
        words += " the king of the river";
    }
    const auto body = chat(words, R"("temperature": 0, "ignore_eos": true)");
    Stream first(model, body);
    first.run(4);
    REQUIRE(first.answer.prompt_tokens > 1000); // KV cache of 3 KB per token
    largest = 0;
    Stream second(model, body);
    CHECK(second.answer.cached_tokens > 1000);
    second.run(4);
    CHECK(largest.load() > 0);
    CHECK(largest.load() < 2 * kMB); // buffers of a step exceed 1 MB
}

TEST_CASE("R7: repeating a long conversation does not increase memory") {
    Model model({.path = house(), .options = R"({"parallel": 1, "context": 512})"});
    REQUIRE_MESSAGE(model, model.why);
    std::string body = R"({"messages": [)";
    for (int i = 0; i < 1000; ++i) {
        body += R"({"role": ")" + std::string(i % 2 == 0 ? "user" : "assistant");
        body += R"(", "content": "river )" + std::to_string(i) + "\"}, ";
    }
    body += R"({"role": "user", "content": "gold"}], "context_overflow": "truncate"})";
    const auto ask = [&](int times) {
        for (int i = 0; i < times; ++i) {
            const Stream stream(model, body);
            REQUIRE_MESSAGE(stream.answer.status == SOTTO_OK, stream.answer.why);
        }
    };
    ask(20);
    const auto before = anonymous();
    ask(400); // a leak of 24 bytes per message would be 9.6 MB
    CHECK(anonymous() < before + 2 * kMB);
}
