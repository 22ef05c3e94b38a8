// The accounts and the ceiling of a device's memory.
#include "core/memory/ledger.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"

using sotto::Ledger;
using sotto::Use;

namespace {

constexpr std::uint64_t kMegabyte = 1 << 20;

std::string refused(Ledger& ledger, std::uint64_t bytes) {
    try {
        ledger.take(Use::kv, "mara", bytes);
    } catch (const sotto::Error& error) {
        CHECK(error.status() == SOTTO_ERROR_BUDGET);
        return error.what();
    }
    FAIL("it was not refused");
    return {};
}

std::uint64_t kv_of(const Ledger& ledger, const char* whose) {
    const auto owners = ledger.snapshot().owners;
    const auto found = owners.find(whose);
    return found == owners.end() ? 0 : found->second[static_cast<std::size_t>(Use::kv)];
}

} // namespace

TEST_CASE("a claim is counted by owner and use until it is released") {
    Ledger ledger;
    {
        const auto weights = ledger.take(Use::weights, "mara", 100);
        const auto kv = ledger.take(Use::kv, "mara", 20);
        const auto other = ledger.take(Use::kv, "tobin", 3);
        CHECK(ledger.used() == 123);
        CHECK(ledger.used(Use::weights) == 100);
        CHECK(ledger.used(Use::kv) == 23);
        CHECK(kv_of(ledger, "mara") == 20);
        CHECK(kv_of(ledger, "tobin") == 3);
    }
    CHECK(ledger.used() == 0);
    CHECK(ledger.snapshot().owners.empty());
    CHECK(ledger.peak() == 123);
    CHECK(ledger.peak(Use::kv) == 23);
}

TEST_CASE("a moved claim is released once") {
    Ledger ledger;
    auto first = ledger.take(Use::kv, "mara", 100);
    auto second = ledger.take(Use::kv, "tobin", 20);
    second = std::move(first);
    CHECK(ledger.used() == 100);
    CHECK(kv_of(ledger, "mara") == 100);
    const auto third = std::move(second);
    CHECK(third.bytes() == 100);
    first.release();
    second.release();
    CHECK(ledger.used() == 100);
}

TEST_CASE("a claim over the ceiling is refused and changes nothing") {
    Ledger ledger;
    ledger.set_ceiling(100 * kMegabyte);
    auto most = ledger.take(Use::weights, "mara", 90 * kMegabyte);
    CHECK(
        refused(ledger, 11 * kMegabyte) == "mara needs 11 MB for its kv; 90 MB of the budget of 100 MB are "
                                           "taken; raise vram_budget, or unload a "
                                           "model"
    );
    CHECK(ledger.used() == 90 * kMegabyte);
    refused(ledger, UINT64_MAX);
    const auto rest = ledger.take(Use::kv, "mara", 10 * kMegabyte);
    CHECK(ledger.free() == 0);
    CHECK_THROWS_AS(most.settle(91 * kMegabyte), sotto::Error);
    CHECK(most.bytes() == 90 * kMegabyte);
    most.settle(80 * kMegabyte);
    CHECK(ledger.free() == 10 * kMegabyte);
    most.settle(90 * kMegabyte);
    CHECK(ledger.free() == 0);
}

TEST_CASE("a lowered ceiling releases nothing and admits nothing") {
    Ledger ledger;
    auto all = ledger.take(Use::weights, "mara", 100);
    CHECK(ledger.over() == 0);
    ledger.set_ceiling(60);
    CHECK(ledger.over() == 40);
    CHECK(ledger.free() == 0);
    refused(ledger, 1);
    all.settle(50);
    CHECK(ledger.over() == 0);
    CHECK(ledger.free() == 10);
    ledger.set_ceiling(0);
    CHECK(ledger.free() == UINT64_MAX);
}

TEST_CASE("a listener receives each change in order, including corrections") {
    std::vector<std::pair<std::string, std::int64_t>> heard;
    Ledger ledger([&](Use use, const std::string& whose, std::int64_t bytes) {
        heard.emplace_back(whose + " " + sotto::name_of(use), bytes);
    });
    {
        auto weights = ledger.take(Use::weights, "mara", 100);
        const auto nothing = ledger.take(Use::compute, "mara", 0);
        auto staging = ledger.take(Use::spilled_kv, "tobin", 7);
        weights.correct(120);
        staging.release();
    }
    const std::vector<std::pair<std::string, std::int64_t>> expected = {
        {"mara weights", 100},
        {"tobin spilled_kv", 7},
        {"mara weights", 20},
        {"tobin spilled_kv", -7},
        {"mara weights", -120},
    };
    CHECK(heard == expected);
}

TEST_CASE("two claims are corrected in one change, and the listener gets the decrease first") {
    std::vector<std::uint64_t> seen; // bytes in use after each reported change
    std::uint64_t taken = 0;
    Ledger ledger([&](Use, const std::string&, std::int64_t bytes) {
        taken += static_cast<std::uint64_t>(bytes);
        seen.push_back(taken);
    });
    auto kv = ledger.take(Use::kv, "mara", 600);
    auto compute = ledger.take(Use::compute, "mara", 100);
    ledger.set_ceiling(300);
    seen.clear();
    Ledger::Claim::correct(kv, 200, compute, 110);
    Ledger::Claim::correct(compute, 120, kv, 150);
    CHECK(seen == std::vector<std::uint64_t>{300, 310, 260, 270});
    CHECK(ledger.used() == 270);
    CHECK(kv.bytes() == 150);
    CHECK(compute.bytes() == 120);
}

TEST_CASE("threads that claim and release concurrently never exceed the ceiling") {
    std::int64_t sum = 0; // not atomic: the ledger reports one change at a time
    std::int64_t most = 0;
    {
        Ledger ledger([&](Use, const std::string&, std::int64_t bytes) {
            sum += bytes;
            most = std::max(most, sum);
        });
        ledger.set_ceiling(1000);
        std::atomic<int> got{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&, i] {
                for (std::uint64_t turn = 0; turn < 5000; ++turn) {
                    try {
                        const auto claim = ledger.take(Use::spilled_kv, std::to_string(i), 300 + turn % 100);
                        ++got;
                    } catch (const sotto::Error&) {
                        std::this_thread::yield();
                    }
                }
            });
        }
        for (auto& thread : threads) {
            thread.join();
        }
        CHECK(got > 0);
        CHECK(ledger.used() == 0);
        CHECK(ledger.peak() == static_cast<std::uint64_t>(most));
    }
    CHECK(sum == 0);
    CHECK(most <= 1000);
}
