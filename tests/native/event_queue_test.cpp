// The queue between the control thread and the host.
#include "core/request/event_queue.hpp"

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using sotto::Event;
using sotto::EventQueue;

namespace {

std::unique_ptr<Event> event_of(std::uint64_t number) {
    auto event = std::make_unique<Event>();
    event->user = number;
    // too long for the small-string optimisation
    event->text = "the text of event " + std::to_string(number);
    return event;
}

const Event* take(EventQueue& queue) {
    const Event* taken = nullptr;
    queue.take(sotto::system_clock(), [&](const Event& event) { taken = &event; });
    return taken;
}

bool is_empty(EventQueue& queue) {
    std::int64_t wake = 0;
    return !queue.has(sotto::system_clock().now(), wake);
}

} // namespace

TEST_CASE("events are delivered in FIFO order") {
    EventQueue queue;
    CHECK(take(queue) == nullptr);
    CHECK(is_empty(queue));
    for (std::uint64_t i = 0; i < 5; ++i) {
        queue.push(event_of(i));
    }
    CHECK_FALSE(is_empty(queue));
    for (std::uint64_t i = 0; i < 5; ++i) {
        const Event* taken = take(queue);
        REQUIRE(taken != nullptr);
        CHECK(taken->user == i);
    }
    CHECK(is_empty(queue));
    CHECK(take(queue) == nullptr);
}

TEST_CASE("an event stays valid until the next one is taken, whatever is freed meanwhile") {
    EventQueue queue;
    queue.push(event_of(1));
    queue.push(event_of(2));
    const Event* first = take(queue);
    queue.recycle();
    CHECK(first->text == "the text of event 1");
    const Event* second = take(queue);
    queue.recycle();
    CHECK(second->text == "the text of event 2");
    CHECK(take(queue) == nullptr);
    queue.recycle();
    CHECK(second->user == 2); // no event follows
}

TEST_CASE("a push wakes threads that wait for events") {
    EventQueue queue;
    std::thread waiter([&] {
        for (;;) {
            const auto seen = queue.arrived().value();
            if (!is_empty(queue)) {
                return;
            }
            queue.arrived().wait(seen, -1);
        }
    });
    queue.push(event_of(1));
    waiter.join();
}

TEST_CASE("events that were not taken are freed with the queue") { // checked by the leak checker
    EventQueue queue;
    for (std::uint64_t i = 0; i < 10; ++i) {
        queue.push(event_of(i));
    }
    take(queue);
    take(queue);
}

TEST_CASE("concurrent takers are safe, and each event is taken once") {
    constexpr std::uint64_t kEvents = 20'000;
    constexpr int kThreads = 3;
    EventQueue queue;
    std::atomic<std::uint64_t> taken{0};
    std::vector<std::set<std::uint64_t>> seen(kThreads);
    std::atomic<bool> torn{false};
    std::vector<std::thread> threads;
    for (auto& mine : seen) {
        threads.emplace_back([&] {
            while (taken.load() < kEvents) {
                const bool any = queue.take(sotto::system_clock(), [&](const Event& event) {
                    mine.insert(event.user);
                    torn = torn || event.text != "the text of event " + std::to_string(event.user);
                });
                taken += any ? 1 : 0;
                if (!any) {
                    std::this_thread::yield();
                }
            }
        });
    }
    for (std::uint64_t i = 0; i < kEvents; ++i) {
        queue.push(event_of(i));
        queue.recycle();
    }
    for (auto& thread : threads) {
        thread.join();
    }
    CHECK_FALSE(torn.load());
    std::set<std::uint64_t> all;
    for (const auto& mine : seen) {
        all.insert(mine.begin(), mine.end());
    }
    CHECK(all.size() == kEvents);
    CHECK(is_empty(queue));
}
