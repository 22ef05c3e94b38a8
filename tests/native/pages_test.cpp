// Large memory returns to the system when it is freed, in buffers and from operator new.
#include "platform/pages.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <doctest/doctest.h>
#include <memory>
#include <new>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <vector>

using sotto::PageBuffer;
using sotto::PageString;

namespace {

constexpr std::size_t kLarge = 1 << 20;
constexpr std::uintptr_t kPage = 4096;

std::uintptr_t place_in_page(const void* memory) {
    return reinterpret_cast<std::uintptr_t>(memory) % kPage;
}

// Returns true if the page of `memory` is mapped.
bool is_mapped(const void* memory) {
    const auto* page = static_cast<const char*>(memory) - place_in_page(memory);
    return msync(const_cast<char*>(page), kPage, MS_ASYNC) == 0 || errno != ENOMEM;
}

} // namespace

TEST_CASE("R7: a freed large buffer returns to the system") {
    const void* memory = nullptr;
    {
        const PageBuffer bytes(std::string(kLarge, 'x'));
        memory = bytes.view().data();
        CHECK(is_mapped(memory));
    }
    CHECK_FALSE(is_mapped(memory));
    {
        const PageString text(kLarge, 'x');
        memory = text.data();
        CHECK(text.back() == 'x');
    }
    CHECK_FALSE(is_mapped(memory));
}

TEST_CASE("a buffer keeps its contents while it grows from one byte to many") {
    PageBuffer bytes;
    std::string expected;
    while (expected.size() < kLarge) {
        const auto more = std::to_string(expected.size()) + ',';
        bytes.append(more);
        expected += more;
    }
    CHECK(bytes.view() == expected);
    bytes.fit();
    CHECK(bytes.view() == expected);
}

TEST_CASE("a buffer larger than the address space is refused") {
    CHECK_THROWS_AS(PageBuffer(SIZE_MAX), std::bad_alloc);
    CHECK_THROWS_AS(PageBuffer(SIZE_MAX / 4), std::bad_alloc);
    CHECK_THROWS_AS(sotto::PageAllocator<std::uint64_t>().allocate(SIZE_MAX / 4), std::bad_alloc);
}

#ifdef SOTTO_OWN_NEW

TEST_CASE("R7: large memory from operator new returns to the system when deleted") {
    const void* memory = nullptr;
    {
        const std::vector<std::uint64_t> numbers(kLarge, 7);
        memory = numbers.data();
        CHECK(place_in_page(memory) == 0);
        CHECK(numbers.back() == 7);
    }
    CHECK_FALSE(is_mapped(memory));
}

TEST_CASE("page-aligned memory from operator new is freed correctly, wherever it came from") {
    std::vector<std::unique_ptr<char[]>> taken;
    std::size_t begins = 0;
    for (std::size_t i = 0; i < 100'000; ++i) {
        taken.push_back(std::make_unique<char[]>(1 + i % 3000));
        begins += place_in_page(taken.back().get()) == 0;
        if (i % 3 == 0) {
            taken[i / 2].reset();
        }
    }
    CHECK(begins > 100); // blocks of malloc that begin a page
}

TEST_CASE("the number of large blocks from operator new is limited only by memory") {
    constexpr std::size_t kSize = 64 * 1024;
    std::vector<char*> taken;
    for (std::size_t i = 0; i < 10'000; ++i) {
        taken.push_back(static_cast<char*>(::operator new(kSize)));
        taken.back()[0] = taken.back()[kSize - 1] = static_cast<char>(i);
    }
    for (std::size_t i = 0; i < taken.size(); ++i) {
        CHECK(taken[i][0] == static_cast<char>(i));
        CHECK(taken[i][kSize - 1] == static_cast<char>(i));
    }
    for (char* memory : taken) {
        ::operator delete(memory);
    }
    ::operator delete(nullptr);
}

TEST_CASE("threads that allocate and free large blocks, also each other's, do not interfere") {
    constexpr std::size_t kThreads = 4;
    std::array<std::atomic<std::uint64_t*>, 64> shared{};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            for (std::size_t i = 0; i < 5000; ++i) {
                const auto count = (64 + (i * 7 + t) % 64) * 128; // 64 to 127 KiB
                auto* fresh = static_cast<std::uint64_t*>(::operator new(count * sizeof(std::uint64_t)));
                fresh[0] = fresh[count - 1] = count;
                if (auto* old = shared[(i * 13 + t) % shared.size()].exchange(fresh)) {
                    wrong += old[0] == old[old[0] - 1] ? 0 : 1;
                    ::operator delete(old);
                }
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    for (auto& one : shared) {
        ::operator delete(one.load());
    }
    CHECK(wrong.load() == 0);
}

TEST_CASE(
    "operator new refuses sizes beyond the address space, and returns distinct pointers for size zero"
) {
    CHECK_THROWS_AS(static_cast<void>(::operator new(SIZE_MAX)), std::bad_alloc);
    CHECK_THROWS_AS(static_cast<void>(::operator new(SIZE_MAX / 4)), std::bad_alloc);
    CHECK(::operator new(SIZE_MAX / 4, std::nothrow) == nullptr);
    void* first = ::operator new(0);
    void* second = ::operator new(0);
    CHECK(first != second);
    ::operator delete(first);
    ::operator delete(second);
}

#endif
