// What is done aside with what is parked: packed, moved to files, removed.
#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/parking.hpp"

using namespace test;
using sotto::Use;

TEST_CASE("of states that begin alike one is kept whole, and of others what is different") {
    constexpr std::size_t kLarge = 400'000;
    Place place(100 * kLarge / kSize);
    std::uint32_t chance = 1;
    const auto noise = [&](std::size_t size) {
        std::string bytes(size, '\0');
        for (auto& byte : bytes) {
            chance = chance * 1664525 + 1013904223;
            byte = static_cast<char>(chance >> 24);
        }
        return bytes;
    };
    const auto shared = noise(kLarge);
    std::vector<std::string> whole;
    std::vector<Parking::Kept> kept;
    for (int number = 0; number < 5; ++number) {
        whole.push_back(std::to_string(number) + shared + noise(kLarge / 100));
        kept.push_back(place.park(whole.back(), 1));
    }
    CHECK(place.parking->figures().memory > 5 * kLarge); // for now
    CHECK(!place.parking->is_untidy());                  // there is room
    place.parking->pack();
    CHECK(place.ledger.used(Use::spilled_kv) == place.parking->figures().memory);
    const auto figures = place.parking->figures();
    CHECK(figures.count == 5);
    CHECK(figures.memory > kLarge);
    CHECK(figures.memory < kLarge / 10 * 11);
    const auto other = place.park(whole.front(), 1, "ogre"); // another model's is none of its own
    place.parking->pack();
    CHECK(place.parking->figures().memory > 2 * kLarge);
    kept.front().reset(); // the others need it still, but nobody comes back to it
    CHECK(place.parking->figures().count == 5);
    for (std::size_t i = 1; i < kept.size(); ++i) {
        CHECK(place.read(kept[i]) == whole[i]);
    }
    place.parking->spill();
    CHECK(place.parking->figures().memory == 0);
    CHECK(place.read(kept.back()) == whole.back());
    kept.clear();
    CHECK(place.read(other) == whole.front());
    CHECK(place.parking->figures().count == 1);
}

TEST_CASE("what states have in common is kept once, for as long as one of them needs it") {
    Place place(std::uint64_t{1} << 20, {}, 0);
    const auto common = noise(1, 20'000);
    const auto mara = common + noise(2, 1000);
    const auto tobin = common + noise(3, 1000);
    auto first = place.park(mara, 0);
    auto second = place.park(tobin, 0);
    place.parking->pack();
    CHECK(place.parking->figures().memory < mara.size() + 2000);
    CHECK(place.ledger.used() == place.parking->figures().memory);
    CHECK(place.read(first) == mara);
    CHECK(place.read(second) == tobin);
    const auto other = place.park(mara, 0, "another model"); // nothing of it fits that one
    const auto apart = place.park(mara);
    place.parking->pack();
    CHECK(place.parking->figures().memory > 3 * mara.size());
    first.reset();
    CHECK(place.read(second) == tobin);
    place.parking->spill();
    CHECK(place.parking->figures().memory == 0);
    CHECK(place.ledger.used() == 0);
    CHECK(place.read(second) == tobin);
    CHECK(place.read(other) == mara);
    CHECK(place.read(apart) == mara);
    second.reset();
    CHECK(place.parking->figures().count == 2);
}

TEST_CASE("where what states have in common is gone, so are they") {
    Place place(std::uint64_t{1} << 20, {}, 0);
    const auto common = noise(1, 20'000);
    const auto first = place.park(common + noise(2, 100), 0);
    const auto second = place.park(common + noise(3, 100), 0);
    place.parking->pack();
    place.parking->spill();
    place.cut_file(4096); // the whole one is larger
    CHECK(place.failure(first) == "the spilled KV cache is no longer available");
    CHECK(place.failure(second) == "the spilled KV cache is no longer available");
}

TEST_CASE("what takes its time is done when more is taken than is left, and leaves room for what comes") {
    constexpr std::size_t kLarge = 20'000;
    Place place(10 * kLarge, {}, 0);
    const auto common = noise(1, kLarge);
    std::vector<Parking::Kept> all;
    std::vector<std::string> states;
    const auto put = [&](const std::string& bytes) {
        states.push_back(bytes);
        all.push_back(place.park(bytes, 0));
    };
    for (unsigned i = 0; i < 5; ++i) {
        put(common.substr(0, kLarge - 100) + noise(10 + i, 100));
        CHECK(!place.parking->is_untidy());
    }
    put(common.substr(0, kLarge - 100) + noise(20, 100));
    CHECK(place.parking->is_untidy());
    CHECK(place.parking->figures().memory == 6 * kLarge);
    place.parking->tidy(); // packed, they take little
    CHECK(!place.parking->is_untidy());
    CHECK(place.parking->figures().memory < 2 * kLarge);
    CHECK(place.parking->figures().disk == 0);
    for (unsigned i = 0; i < 6; ++i) {
        put(noise(30 + i, kLarge)); // of these nothing can be packed
    }
    CHECK(place.parking->is_untidy());
    place.parking->tidy();
    CHECK(!place.parking->is_untidy());
    CHECK(place.parking->figures().memory <= 5 * kLarge);
    CHECK(place.parking->figures().disk > kLarge);
    CHECK(place.ledger.used() == place.parking->figures().memory);
    for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK(place.read(all[i]) == states[i]);
    }
    all.clear();
    CHECK(place.parking->is_untidy()); // there is room in the file that was theirs
    place.parking->tidy();
    for (int i = 0; i < 1000 && place.cut_file() > 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    CHECK(place.cut_file() == 0);
    CHECK(place.folder.files().empty());
    CHECK(place.ledger.used() == 0);
}

TEST_CASE("tidying up moves nothing that is pinned, and forgets nothing where no file can be written") {
    const Folder elsewhere;
    for (const bool pinned : {true, false}) {
        Place place(4 * kSize, pinned ? fs::path() : elsewhere.path() / "there is no such folder", 0);
        std::vector<Parking::Kept> all;
        for (int i = 1; i <= 4; ++i) {
            all.push_back(place.put(i));
            all.back()->pin(pinned);
        }
        place.parking->tidy();
        CHECK(place.parking->figures().memory == 4 * kSize);
        CHECK(!place.parking->is_untidy()); // there is no more to be done
        for (int i = 1; i <= 4; ++i) {
            CHECK(place.read(all[static_cast<std::size_t>(i - 1)]) == state(i));
        }
    }
}

TEST_CASE("so much is moved to files as there is need of, and no more") {
    Place place(10);
    std::vector<Parking::Kept> all;
    for (int i = 1; i <= 5; ++i) {
        all.push_back(place.put(i));
    }
    place.parking->spill(kSize + 1);
    CHECK(place.parking->figures().memory == 3 * kSize);
    place.parking->spill(0);
    CHECK(place.parking->figures().memory == 3 * kSize);
    place.parking->spill();
    CHECK(place.parking->figures().memory == 0);
}

TEST_CASE("states are packed, moved and let go of on one thread while others come and go on another") {
    constexpr std::size_t kLarge = 10'000;
    Place place(20 * kLarge, {}, 0);
    const auto common = noise(1, kLarge);
    std::atomic<bool> over{false};
    std::thread tidies([&] {
        while (!over) {
            if (place.parking->is_untidy()) {
                place.parking->tidy();
            }
            place.parking->spill(kLarge / 4);
        }
    });
    std::vector<std::pair<Parking::Kept, std::string>> all;
    std::mt19937 random(7);
    for (unsigned i = 0; i < 400; ++i) {
        auto bytes = common.substr(0, kLarge - 200) + noise(100 + i, 200);
        all.emplace_back(place.park(bytes, 0), bytes);
        REQUIRE(all.back().first != nullptr);
        all.back().first->pin(i % 7 == 0);
        const auto at = random() % all.size();
        CHECK(place.read(all[at].first) == all[at].second);
        if (all.size() > 30) {
            all.erase(all.begin() + static_cast<std::ptrdiff_t>(random() % all.size()));
        }
        CHECK(place.parking->figures().memory <= 20 * kLarge);
    }
    over = true;
    tidies.join();
    CHECK(place.parking->figures().count == all.size());
    for (const auto& [kept, bytes] : all) {
        CHECK(place.read(kept) == bytes);
    }
    all.clear();
    CHECK(place.parking->figures().count == 0);
    CHECK(place.parking->figures().memory == 0);
    CHECK(place.parking->figures().disk == 0);
    CHECK(place.ledger.used() == 0);
}
