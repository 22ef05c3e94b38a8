// Compute time of a model, charged to priorities and to groups.
#include <doctest/doctest.h>

#include "core/schedule/compute_account.hpp"

using sotto::ComputeAccount;
using sotto::FairShare;

namespace {

constexpr std::int64_t kTurnNs = 50'000'000;
constexpr std::uint64_t kFirst = 1;
constexpr std::uint64_t kSecond = 2;

struct Charged {
    Charged() {
        for (const auto group : {kFirst, kSecond}) {
            account.reserve();
            account.enter(group);
        }
    }

    FairShare share;
    ComputeAccount account;
};

} // namespace

TEST_CASE("compute time goes to groups by the tokens that were processed for each") {
    Charged all;
    all.account.add(SOTTO_PRIORITY_NORMAL, kFirst, 30);
    all.account.add(SOTTO_PRIORITY_NORMAL, kSecond, 10);
    all.account.charge(4 * kTurnNs, all.share);
    CHECK(all.account.turns(kFirst) == 3);
    CHECK(all.account.turns(kSecond) == 1);
    all.account.charge(8 * kTurnNs, all.share); // nobody used it
    CHECK(all.account.turns(kFirst) == 3);
}

TEST_CASE("a group that had no streams is not owed the time that others had meanwhile") {
    Charged all;
    all.account.leave(kSecond, 0, all.share);
    all.account.add(SOTTO_PRIORITY_NORMAL, kFirst, 1);
    CHECK(all.account.turns(kFirst) == 0); // the only group
    all.account.charge(6 * kTurnNs, all.share);
    all.account.reserve();
    all.account.enter(kSecond);
    CHECK(all.account.turns(kSecond) == 6);
}

TEST_CASE("a group that did nothing is owed 200 ms at most") {
    Charged all;
    all.account.add(SOTTO_PRIORITY_NORMAL, kFirst, 1);
    all.account.charge(100 * kTurnNs, all.share);
    CHECK(all.account.turns(kFirst) == 100);
    CHECK(all.account.turns(kSecond) == 96);
}

TEST_CASE("time before a reset is never charged") {
    Charged all;
    all.account.add(SOTTO_PRIORITY_NORMAL, kFirst, 1);
    all.account.reset(50 * kTurnNs);
    all.account.charge(52 * kTurnNs, all.share);
    CHECK(all.account.turns(kFirst) == 0); // its tokens were forgotten too
    all.account.add(SOTTO_PRIORITY_NORMAL, kFirst, 1);
    all.account.charge(54 * kTurnNs, all.share);
    CHECK(all.account.turns(kFirst) == 2);
}

TEST_CASE("a priority that is kept from its share is owed a slice") {
    Charged all;
    all.share.arrived(SOTTO_PRIORITY_BACKGROUND);
    all.share.arrived(SOTTO_PRIORITY_FOREGROUND);
    for (std::int64_t served = 0; served <= 400'000'000; served += 100'000'000) {
        all.account.add(SOTTO_PRIORITY_FOREGROUND, kFirst, 1);
        all.account.charge(served, all.share);
        all.share.settle(served + 1);
    }
    CHECK(all.share.is_owed(SOTTO_PRIORITY_BACKGROUND));
    CHECK_FALSE(all.share.is_owed(SOTTO_PRIORITY_FOREGROUND));
}
