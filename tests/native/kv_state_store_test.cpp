// Parked KV caches: in memory, spilled, or dropped.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include "support/parking.hpp"

using namespace test;
using sotto::Use;

TEST_CASE("a parked KV cache is returned unchanged, any number of times, until it is released") {
    Place place(3);
    auto mara = place.put(1);
    auto tobin = place.put(2);
    for (int i = 0; i < 2; ++i) {
        CHECK(place.read(mara) == state(1));
        CHECK(place.read(tobin) == state(2));
    }
    CHECK(place.parking->figures().count == 2);
    CHECK(place.parking->figures().memory == 2 * kSize);
    CHECK(place.ledger.used(Use::spilled_kv) == 2 * kSize);
    mara.reset();
    CHECK(place.parking->figures().count == 1);
    CHECK(place.ledger.used() == kSize);
    tobin.reset();
    CHECK(place.ledger.used() == 0);
    CHECK(place.folder.files().empty());
}

TEST_CASE("if memory is full, the oldest KV caches are spilled to files completely") {
    Place place(2);
    std::vector<KvStateStore::Kept> all;
    for (int i = 1; i <= 5; ++i) {
        all.push_back(place.put(i));
    }
    const auto figures = place.parking->figures();
    CHECK(figures.count == 5);
    CHECK(figures.memory == 2 * kSize);
    CHECK(figures.disk == 3 * kSize);
    CHECK(place.cut_file() >= 3 * kSize);
    CHECK(place.folder.files().empty()); // the file has no name
    CHECK(place.ledger.used() == 2 * kSize);
    for (int i = 1; i <= 5; ++i) {
        CHECK(place.read(all[static_cast<std::size_t>(i - 1)]) == state(i));
    }
    all.clear();
    CHECK(place.parking->figures().count == 0);
    CHECK(place.parking->figures().disk == 0);
    place.parking.reset();
    CHECK(place.cut_file() == 0); // the file is removed with the store
    CHECK(place.ledger.used() == 0);
}

TEST_CASE("a pinned KV cache is the last to leave memory") {
    Place place(2);
    const auto mara = place.put(1);
    mara->pin(true);
    std::vector<KvStateStore::Kept> all;
    for (int i = 2; i <= 5; ++i) {
        all.push_back(place.put(i));
    }
    CHECK(place.parking->figures().disk == 3 * kSize);
    CHECK(place.read(mara) == state(1));
    mara->pin(false);
    const auto last = place.put(6);
    CHECK(place.parking->figures().disk == 4 * kSize);
    place.cut_file(0);
    CHECK(place.failure(mara) == "the spilled KV cache is no longer available"); // it was the oldest
    CHECK(place.read(last) == state(6));
    last->pin(true);
    place.parking->spill(); // spills pinned ones too
    CHECK(place.parking->figures().memory == 0);
    CHECK(place.read(last) == state(6));
}

TEST_CASE("a KV cache larger than the whole memory limit goes to a file at once and evicts nothing") {
    Place place(2);
    const auto small = place.put(1);
    const auto large = place.put(2, 10 * kSize);
    CHECK(place.parking->figures().memory == kSize);
    CHECK(place.parking->figures().disk == 10 * kSize);
    CHECK(place.read(large) == state(2, 10 * kSize));
}

TEST_CASE("parked KV caches respect the budget, and older ones are evicted for newer ones") {
    Place place(1'000'000, {}, 2 * kSize);
    std::vector<KvStateStore::Kept> all;
    for (int i = 1; i <= 4; ++i) {
        all.push_back(place.put(i));
        CHECK(place.ledger.used() <= 2 * kSize);
    }
    CHECK(place.parking->figures().memory == 2 * kSize);
    CHECK(place.parking->figures().disk == 2 * kSize);
    place.ledger.set_ceiling(1); // others use up the whole budget
    const auto last = place.put(5);
    REQUIRE(last != nullptr);
    CHECK(place.read(last) == state(5));
    CHECK(place.read(all[3]) == state(4));
}

TEST_CASE("a missing or truncated spill file is an error and never returns another stream's KV cache") {
    Place place(0);
    const auto whole = place.put(2);
    const auto gone = place.put(1);
    REQUIRE(gone != nullptr);
    place.cut_file(4096 + kSize / 2);
    CHECK(place.failure(gone) == "the spilled KV cache is no longer available");
    CHECK(place.read(whole) == state(2));
}

TEST_CASE("if no file can be written, KV caches that exceed memory are dropped, with one log line") {
    const Folder elsewhere;
    Place place(1, elsewhere.path() / "there is no such folder");
    const auto first = place.put(1);
    CHECK(place.read(first) == state(1));
    const auto large = place.put(2, 2 * kSize);
    CHECK(large == nullptr);
    CHECK(place.put(3, 2 * kSize) == nullptr);
    REQUIRE(place.warnings.size() == 1);
    CHECK(place.warnings[0].find("kv_spill_dir") != std::string::npos);
    CHECK(place.read(first) == state(1)); // nothing was evicted for a KV cache that could not be kept
    const auto second = place.put(4);     // newer ones replace it
    CHECK(place.read(second) == state(4));
    CHECK(place.failure(first) == "the spilled KV cache is no longer available");
    CHECK(place.parking->figures().count == 1);
    CHECK(place.ledger.used() == kSize);
}

TEST_CASE("two engines can share a spill folder") {
    const Folder folder;
    Place one(0, folder.path());
    Place other(0, folder.path());
    const auto ones = one.put(1);
    auto others = other.put(2);
    CHECK(folder.files().empty());
    CHECK(one.read(ones) == state(1));
    CHECK(other.read(others) == state(2));
    others.reset();
    other.parking.reset();
    CHECK(one.read(ones) == state(1));
}

TEST_CASE("KV caches are released on one thread while others are parked on another") {
    Place place(2);
    std::vector<KvStateStore::Kept> all;
    std::thread elsewhere;
    for (int i = 0; i < 300; ++i) {
        all.push_back(place.put(i % 100));
        if (all.size() == 8) {
            if (elsewhere.joinable()) {
                elsewhere.join();
            }
            elsewhere =
                std::thread([some = std::vector(all.begin(), all.begin() + 6)]() mutable { some.clear(); });
            all.erase(all.begin(), all.begin() + 6);
        }
        CHECK(place.read(all.back()) == state(i % 100));
        CHECK(place.parking->figures().memory <= 2 * kSize);
    }
    elsewhere.join();
    all.clear();
    CHECK(place.parking->figures().count == 0);
    CHECK(place.ledger.used() == 0);
}

TEST_CASE("without a temporary folder no file is written, with one log line") {
    const auto here = fs::current_path();
    const auto before = std::distance(fs::directory_iterator(here), fs::directory_iterator());
    const char* set = std::getenv("TMPDIR");
    const std::string old = set == nullptr ? "" : set;
    Place place(1);
    setenv("TMPDIR", "/there/is/no/such/folder", 1);
    place.parking.reset();
    place.parking.emplace(place.ledger, fs::path(), kSize, place.hooks);
    set == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", old.c_str(), 1);
    const auto first = place.put(1);
    CHECK(place.put(2, 2 * kSize) == nullptr);
    const auto second = place.put(3);
    CHECK(place.failure(first) == "the spilled KV cache is no longer available");
    CHECK(place.read(second) == state(3));
    REQUIRE(place.warnings.size() == 1);
    CHECK(place.warnings[0].find("no folder for temporary files") != std::string::npos);
    CHECK(std::distance(fs::directory_iterator(here), fs::directory_iterator()) == before);
}

TEST_CASE("on a full disk no partial file is kept, and KV caches in memory stay") {
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto old = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit full{50'000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &full); // longer files cannot be written, as on a full disk
    {
        Place place(2);
        CHECK(place.put(1, 100'000) == nullptr);
        CHECK(place.cut_file() <= 50'000);
        CHECK(place.warnings.size() == 1);
        const auto small = place.put(2);
        place.parking->spill();
        CHECK(place.parking->figures().disk == kSize);
        CHECK(place.read(small) == state(2));
    }
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, old);
}
