// Request ids and the life of requests.
#include "core/request/request_table.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using sotto::Event;
using sotto::RequestTable;
using sotto::Slot;
using sotto::Submission;

namespace {

Submission asked(std::uint64_t user, sotto_request_flags flags = 0) {
    Submission made;
    made.user = user;
    made.flags = flags;
    made.body = "a body that is too long to be kept in place";
    return made;
}

sotto_request name_of(const Slot* slot) {
    REQUIRE(slot != nullptr);
    return slot->id.load();
}

} // namespace

TEST_CASE("a request is found by its id while it is live") {
    RequestTable table;
    Slot* slot = table.add(asked(7), 1);
    const auto name = name_of(slot);
    CHECK(name != 0);
    Slot* found = table.acquire(name);
    REQUIRE(found == slot);
    CHECK(found->submission.user == 7);
    table.release(*slot); // it has ended, but a call still uses it
    CHECK(table.acquire(name) == slot);
    table.release(*slot);
    table.release(*slot);
    CHECK(table.acquire(name) == nullptr);
}

TEST_CASE("unknown ids are harmless") {
    RequestTable table;
    const auto name = name_of(table.add(asked(1), 1));
    for (const sotto_request wrong :
         {std::uint64_t{0}, std::uint64_t{1}, name + 1, name + 65536, UINT64_MAX}) {
        CHECK(table.acquire(wrong) == nullptr);
    }
    RequestTable other;
    name_of(other.add(asked(1), 1));
    CHECK(other.acquire(name) == nullptr); // another request has that slot there
}

TEST_CASE("a stale id never finds the request that reuses its slot") {
    RequestTable table;
    std::set<sotto_request> names;
    for (int round = 0; round < 1000; ++round) {
        Slot* slot = table.add(asked(1), 1);
        const auto name = name_of(slot);
        CHECK(names.insert(name).second);
        CHECK(table.acquire(*names.begin()) == (round == 0 ? slot : nullptr));
        if (round == 0) {
            table.release(*slot);
        }
        table.release(*slot);
    }
}

TEST_CASE("a private request lives until its host has released it too") {
    RequestTable table;
    Slot* slot = table.add(asked(1, SOTTO_REQUEST_PRIVATE), 1);
    const auto name = name_of(slot);
    slot->events.push(new Event);
    table.release(*slot);
    CHECK(table.acquire(name) == slot);
    table.release(*slot);
    table.release(*slot); // frees the event, checked by the leak checker
    CHECK(table.acquire(name) == nullptr);
}

TEST_CASE("a reused slot is reset") {
    RequestTable table;
    Slot* slot = table.add(asked(1, SOTTO_REQUEST_PRIVATE), 1);
    slot->cancelled = slot->cancel_noted = slot->over = slot->dropped = true;
    slot->events.push(new Event);
    slot->done->text = "left over";
    table.release(*slot);
    table.release(*slot);
    Slot* again = table.add(asked(2), 2);
    REQUIRE(again == slot);
    CHECK_FALSE(again->cancelled.load());
    CHECK_FALSE(again->cancel_noted.load());
    CHECK_FALSE(again->over.load());
    CHECK_FALSE(again->dropped.load());
    CHECK(again->events.pop() == nullptr);
    CHECK(again->done->text.empty());
    CHECK(again->submitted_ns == 2);
}

TEST_CASE("65,536 requests can be live, and one that ends makes room for one") {
    RequestTable table;
    std::vector<Slot*> slots;
    std::set<sotto_request> names;
    for (std::uint32_t i = 0; i < RequestTable::kMaxRequests; ++i) {
        slots.push_back(table.add(asked(i), 1));
        REQUIRE(slots.back() != nullptr);
        names.insert(slots.back()->id.load());
    }
    CHECK(names.size() == RequestTable::kMaxRequests);
    CHECK(table.add(asked(0), 1) == nullptr);
    CHECK(table.add(asked(0), 1) == nullptr);
    table.release(*slots[12345]);
    CHECK(table.add(asked(0), 1) == slots[12345]);
    CHECK(table.add(asked(0), 1) == nullptr);
    for (Slot* slot : slots) {
        table.release(*slot);
    }
    for (std::uint32_t i = 0; i < RequestTable::kMaxRequests; ++i) {
        REQUIRE(table.add(asked(i), 1) != nullptr);
    }
    CHECK(table.add(asked(0), 1) == nullptr);
}

TEST_CASE("threads that wait for a request's events wake when the engine ends") {
    RequestTable table;
    Slot* slot = table.add(asked(1, SOTTO_REQUEST_PRIVATE), 1);
    const auto seen = slot->arrived.value();
    std::thread waiter([&] { slot->arrived.wait(seen, -1); });
    table.wake_all();
    waiter.join();
    CHECK(slot->arrived.value() != seen);
}

TEST_CASE("threads that concurrently add, find and release never share a slot") {
    constexpr int kThreads = 4;
    constexpr int kRounds = 20'000;
    RequestTable table;
    std::array<std::atomic<sotto_request>, 64> known{}; // ids that any thread may look up, live or stale
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int me = 0; me < kThreads; ++me) {
        threads.emplace_back([&, me] {
            std::mt19937_64 random(static_cast<std::uint64_t>(me));
            std::vector<Slot*> mine;
            for (int round = 0; round < kRounds; ++round) {
                if (mine.size() < 8 && random() % 2 == 0) {
                    mine.push_back(table.add(asked(static_cast<std::uint64_t>(me)), 1));
                    known[random() % known.size()] = mine.back()->id.load();
                } else if (!mine.empty()) {
                    std::swap(mine[random() % mine.size()], mine.back());
                    wrong += mine.back()->submission.user != static_cast<std::uint64_t>(me);
                    table.release(*mine.back());
                    mine.pop_back();
                }
                const auto name = known[random() % known.size()].load();
                if (Slot* found = table.acquire(name)) {
                    wrong += found->id.load() != name;
                    table.release(*found);
                }
            }
            for (Slot* slot : mine) {
                table.release(*slot);
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    CHECK(wrong.load() == 0);
    for (const auto& name : known) {
        CHECK(table.acquire(name.load()) == nullptr);
    }
}
