// The multi-producer queue.
#include "base/mpsc_queue.hpp"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace {

struct Item : sotto::MpscNode {
    int from = 0;
    int number = 0;
};

} // namespace

TEST_CASE("items are popped in FIFO order") {
    sotto::MpscQueue<Item> queue;
    std::vector<Item> items(5);
    CHECK(queue.pop() == nullptr);
    for (auto& item : items) {
        queue.push(&item);
    }
    for (auto& item : items) {
        CHECK(queue.pop() == &item);
    }
    CHECK(queue.pop() == nullptr);
}

TEST_CASE("an item may be pushed again after it was popped") {
    sotto::MpscQueue<Item> queue;
    Item first;
    Item second;
    for (int round = 0; round < 100; ++round) {
        queue.push(&first);
        queue.push(&second);
        REQUIRE(queue.pop() == &first);
        queue.push(&first);
        REQUIRE(queue.pop() == &second);
        REQUIRE(queue.pop() == &first);
        REQUIRE(queue.pop() == nullptr);
    }
}

TEST_CASE("a queue is empty once all items were popped") {
    sotto::MpscQueue<Item> queue;
    Item item;
    CHECK(queue.empty());
    queue.push(&item);
    CHECK_FALSE(queue.empty());
    CHECK(queue.pop() == &item);
    CHECK(queue.pop() == nullptr);
    CHECK(queue.empty());
}

TEST_CASE("concurrent producers lose and duplicate nothing, and each keeps its order") {
    constexpr int kThreads = 4;
    constexpr int kEach = 20'000;
    sotto::MpscQueue<Item> queue;
    std::vector<std::unique_ptr<Item[]>> items;
    for (int i = 0; i < kThreads; ++i) {
        items.push_back(std::make_unique<Item[]>(kEach));
    }
    std::vector<std::thread> threads;
    for (int from = 0; from < kThreads; ++from) {
        threads.emplace_back([&, from] {
            for (int number = 0; number < kEach; ++number) {
                auto& item = items[static_cast<std::size_t>(from)][static_cast<std::size_t>(number)];
                item.from = from;
                item.number = number;
                queue.push(&item);
            }
        });
    }
    std::vector<int> next(kThreads, 0);
    for (int popped = 0; popped < kThreads * kEach;) {
        if (const Item* item = queue.pop()) {
            REQUIRE(item->number == next[static_cast<std::size_t>(item->from)]++);
            ++popped;
        } else {
            std::this_thread::yield();
        }
    }
    for (auto& thread : threads) {
        thread.join();
    }
    CHECK(queue.pop() == nullptr);
}
