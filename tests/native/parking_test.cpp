// What models remember of those who have no place: in memory, in files, or forgotten.
#include "core/budget/parking.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "support/folder.hpp"
#include "support/game.hpp"

using namespace test;
using sotto::Ledger;
using sotto::Parking;
using sotto::Use;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kSize = 100;

// A state that tells its number.
std::string state(int number, std::size_t size = kSize) {
    std::string bytes = std::to_string(number) + " ";
    bytes.resize(size, static_cast<char>(number));
    return bytes;
}

// Bytes that cannot be packed.
std::string noise(unsigned seed, std::size_t size) {
    std::mt19937 random(seed);
    std::string bytes(size, '\0');
    for (auto& byte : bytes) {
        byte = static_cast<char>(random());
    }
    return bytes;
}

// A parking place with room for so many states of kSize bytes in memory, and what it warned of.
struct Place {
    explicit Place(std::size_t states, fs::path files = {}) : Place(states * kSize, std::move(files), 0) {}
    Place(std::uint64_t most, fs::path files, std::uint64_t ceiling) : log(sink()) {
        ledger.set_ceiling(ceiling);
        parking.emplace(ledger, files.empty() ? folder.path() : std::move(files), most, log);
    }

    sotto_log_sink sink() {
        auto made = SOTTO_INIT(sotto_log_sink);
        made.self = this;
        made.write = [](void* self, sotto_log_level, sotto_str line) {
            static_cast<Place*>(self)->warnings.push_back(text_of(line));
        };
        return made;
    }
    Parking::Kept put(int number, std::size_t size = kSize) {
        return parking->put("npc", state(number, size));
    }
    std::string read(const Parking::Kept& kept) { return parking->read(*kept); }
    std::string failure(const Parking::Kept& kept) {
        try {
            read(kept);
        } catch (const sotto::Error& error) {
            CHECK(error.status() == SOTTO_ERROR_STATE);
            return error.what();
        }
        return {};
    }

    const Folder folder;
    std::vector<std::string> warnings;
    const sotto::Log log;
    Ledger ledger;
    std::optional<Parking> parking;
};

} // namespace

TEST_CASE("what is parked comes back as it was, any number of times, until it is let go of") {
    Place place(3);
    auto mara = place.put(1);
    auto tobin = place.put(2);
    for (int i = 0; i < 2; ++i) {
        CHECK(place.read(mara) == state(1));
        CHECK(place.read(tobin) == state(2));
    }
    CHECK(place.parking->figures().count == 2);
    CHECK(place.parking->figures().memory == 2 * kSize);
    CHECK(place.ledger.used(Use::staging) == 2 * kSize);
    mara.reset();
    CHECK(place.parking->figures().count == 1);
    CHECK(place.ledger.used() == kSize);
    tobin.reset();
    CHECK(place.ledger.used() == 0);
    CHECK(place.folder.files().empty());
}

TEST_CASE("where memory is full, the oldest go to files, each byte of them") {
    Place place(2);
    std::vector<Parking::Kept> all;
    for (int i = 1; i <= 5; ++i) {
        all.push_back(place.put(i));
    }
    const auto figures = place.parking->figures();
    CHECK(figures.count == 5);
    CHECK(figures.memory == 2 * kSize);
    CHECK(figures.disk == 3 * kSize);
    CHECK(place.folder.files().size() == 3);
    CHECK(place.ledger.used() == 2 * kSize);
    for (int i = 1; i <= 5; ++i) {
        CHECK(place.read(all[static_cast<std::size_t>(i - 1)]) == state(i));
    }
    all.clear();
    CHECK(place.parking->figures().count == 0);
    CHECK(place.parking->figures().disk == 0);
    place.parking.reset();
    CHECK(place.folder.files().empty()); // files go with the parking place at the latest
    CHECK(place.ledger.used() == 0);
}

TEST_CASE("who is pinned is the last to leave memory, whatever comes, for as long as it is") {
    Place place(2);
    const auto mara = place.put(1);
    mara->pin(true);
    std::vector<Parking::Kept> all;
    for (int i = 2; i <= 5; ++i) {
        all.push_back(place.put(i));
    }
    for (const auto& file : place.folder.files()) {
        std::ifstream in(file, std::ios::binary);
        char first = 0;
        in >> first;
        CHECK(first != '1');
    }
    CHECK(place.parking->figures().disk == 3 * kSize);
    mara->pin(false);
    const auto last = place.put(6);
    CHECK(place.parking->figures().disk == 4 * kSize);
    for (const auto& file : place.folder.files()) {
        fs::remove(file);
    }
    CHECK(place.failure(mara) == "what was parked is gone"); // it was the oldest
    CHECK(place.read(last) == state(6));
    last->pin(true);
    place.parking->spill(); // nothing else will do
    CHECK(place.parking->figures().memory == 0);
    CHECK(place.read(last) == state(6));
}

TEST_CASE("what is larger than all of the memory goes to a file at once, and moves nobody") {
    Place place(2);
    const auto small = place.put(1);
    const auto large = place.put(2, 10 * kSize);
    CHECK(place.parking->figures().memory == kSize);
    CHECK(place.parking->figures().disk == 10 * kSize);
    CHECK(place.read(large) == state(2, 10 * kSize));
}

TEST_CASE("what is parked in memory keeps to the budget, and gives way to what is newer") {
    Place place(1'000'000, {}, 2 * kSize);
    std::vector<Parking::Kept> all;
    for (int i = 1; i <= 4; ++i) {
        all.push_back(place.put(i));
        CHECK(place.ledger.used() <= 2 * kSize);
    }
    CHECK(place.parking->figures().memory == 2 * kSize);
    CHECK(place.parking->figures().disk == 2 * kSize);
    place.ledger.set_ceiling(1); // all of it is taken by others, or more
    const auto last = place.put(5);
    REQUIRE(last != nullptr);
    CHECK(place.read(last) == state(5));
    CHECK(place.read(all[3]) == state(4));
}

TEST_CASE("a file that is gone or cut short is an error, not what others said") {
    Place place(0);
    const auto gone = place.put(1);
    const auto whole = place.put(2);
    REQUIRE(gone != nullptr);
    for (const auto& file : place.folder.files()) {
        std::ifstream in(file, std::ios::binary);
        char first = 0;
        in >> first;
        if (first == '1') {
            fs::remove(file);
        }
    }
    CHECK(place.failure(gone) == "what was parked is gone");
    CHECK(place.read(whole) == state(2));
}

TEST_CASE("where no file can be written, what memory has no room for is forgotten, and that is said once") {
    const Folder elsewhere;
    Place place(1, elsewhere.path() / "there is no such folder");
    const auto first = place.put(1);
    CHECK(place.read(first) == state(1));
    const auto large = place.put(2, 2 * kSize);
    CHECK(large == nullptr);
    CHECK(place.put(3, 2 * kSize) == nullptr);
    REQUIRE(place.warnings.size() == 1);
    CHECK(place.warnings[0].find("park_dir") != std::string::npos);
    CHECK(place.read(first) == state(1)); // nobody made room for what could not be kept
    const auto second = place.put(4);     // what is newer goes before
    CHECK(place.read(second) == state(4));
    CHECK(place.failure(first) == "what was parked is gone");
    CHECK(place.parking->figures().count == 1);
    CHECK(place.ledger.used() == kSize);
}

TEST_CASE("two engines park in one folder and never meet") {
    const Folder folder;
    Place one(0, folder.path());
    Place other(0, folder.path());
    const auto ones = one.put(1);
    auto others = other.put(2);
    CHECK(folder.files().size() == 2);
    CHECK(one.read(ones) == state(1));
    CHECK(other.read(others) == state(2));
    others.reset();
    other.parking.reset();
    CHECK(folder.files().size() == 1);
    CHECK(one.read(ones) == state(1));
}

TEST_CASE("states are let go of on one thread while others are parked on another") {
    Place place(2);
    std::vector<Parking::Kept> all;
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
        kept.push_back(place.parking->put("npc", whole.back(), 1));
    }
    const auto figures = place.parking->figures();
    CHECK(figures.count == 5);
    CHECK(figures.memory > kLarge);
    CHECK(figures.memory < kLarge / 10 * 11);
    const auto other = place.parking->put("ogre", whole.front(), 1); // another model's is none of its own
    CHECK(place.parking->figures().memory > 2 * kLarge);
    kept.front().reset(); // the others need it still
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
    auto first = place.parking->put("npc", mara, 0);
    auto second = place.parking->put("npc", tobin, 0);
    CHECK(place.parking->figures().memory < mara.size() + 2000);
    CHECK(place.ledger.used() == place.parking->figures().memory);
    CHECK(place.read(first) == mara);
    CHECK(place.read(second) == tobin);
    const auto other = place.parking->put("another model", mara, 0); // nothing of it fits that one
    const auto apart = place.parking->put("npc", mara);
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
    Place place(std::uint64_t{0}, {}, 0);
    const auto common = noise(1, 20'000);
    const auto first = place.parking->put("npc", common + noise(2, 100), 0);
    const auto second = place.parking->put("npc", common + noise(3, 100), 0);
    for (const auto& file : place.folder.files()) {
        if (fs::file_size(file) > common.size()) {
            fs::remove(file);
        }
    }
    CHECK(place.failure(first) == "what was parked is gone");
    CHECK(place.failure(second) == "what was parked is gone");
}
