// Background work on parked KV caches: compression, spilling, removal.
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

TEST_CASE("of KV caches with a common prefix one is stored whole, of others only the difference") {
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
    std::vector<KvStateStore::Kept> kept;
    for (int number = 0; number < 5; ++number) {
        whole.push_back(std::to_string(number) + shared + noise(kLarge / 100));
        kept.push_back(place.park(whole.back(), 1));
    }
    CHECK(place.parking->figures().memory > 5 * kLarge); // not compressed yet
    CHECK(!place.parking->is_untidy());                  // below the watermark
    place.parking->pack();
    CHECK(place.ledger.used(Use::spilled_kv) == place.parking->figures().memory);
    const auto figures = place.parking->figures();
    CHECK(figures.count == 5);
    CHECK(figures.memory > kLarge);
    CHECK(figures.memory < kLarge / 10 * 11);
    const auto other = place.park(whole.front(), 1, "ogre"); // another model's is not combined with them
    place.parking->pack();
    CHECK(place.parking->figures().memory > 2 * kLarge);
    kept.front().reset(); // others depend on it, but no stream owns it any more
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

TEST_CASE("a shared prefix is stored once, as long as one KV cache needs it") {
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
    const auto other = place.park(mara, 0, "another model"); // shares nothing with that one
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

TEST_CASE("if a shared prefix is lost, so are the KV caches that depend on it") {
    Place place(std::uint64_t{1} << 20, {}, 0);
    const auto common = noise(1, 20'000);
    const auto first = place.park(common + noise(2, 100), 0);
    const auto second = place.park(common + noise(3, 100), 0);
    place.parking->pack();
    place.parking->spill();
    place.cut_file(4096); // the base is larger than that
    CHECK(place.failure(first) == "the spilled KV cache is no longer available");
    CHECK(place.failure(second) == "the spilled KV cache is no longer available");
}

TEST_CASE("compression starts above the watermark and frees room for new KV caches") {
    constexpr std::size_t kLarge = 20'000;
    Place place(10 * kLarge, {}, 0);
    const auto common = noise(1, kLarge);
    std::vector<KvStateStore::Kept> all;
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
    place.parking->tidy(); // compressed, they are small
    CHECK(!place.parking->is_untidy());
    CHECK(place.parking->figures().memory < 2 * kLarge);
    CHECK(place.parking->figures().disk == 0);
    for (unsigned i = 0; i < 6; ++i) {
        put(noise(30 + i, kLarge)); // random bytes cannot be compressed
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
    CHECK(place.parking->is_untidy()); // the file has free space for them
    place.parking->tidy();
    for (int i = 0; i < 1000 && place.cut_file() > 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    CHECK(place.cut_file() == 0);
    CHECK(place.folder.files().empty());
    CHECK(place.ledger.used() == 0);
}

TEST_CASE("compression moves no pinned KV cache, and drops nothing if no file can be written") {
    const Folder elsewhere;
    for (const bool pinned : {true, false}) {
        Place place(4 * kSize, pinned ? fs::path() : elsewhere.path() / "there is no such folder", 0);
        std::vector<KvStateStore::Kept> all;
        for (int i = 1; i <= 4; ++i) {
            all.push_back(place.put(i));
            all.back()->pin(pinned);
        }
        place.parking->tidy();
        CHECK(place.parking->figures().memory == 4 * kSize);
        CHECK(!place.parking->is_untidy()); // no work is left
        for (int i = 1; i <= 4; ++i) {
            CHECK(place.read(all[static_cast<std::size_t>(i - 1)]) == state(i));
        }
    }
}

TEST_CASE("only as much as needed is spilled to files") {
    Place place(10);
    std::vector<KvStateStore::Kept> all;
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

TEST_CASE("KV caches are compressed, spilled and released on one thread while others change on another") {
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
    std::vector<std::pair<KvStateStore::Kept, std::string>> all;
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
