// Order and time of event delivery.
#include "core/request/paced_queue.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using sotto::Event;
using sotto::PacedQueue;
using sotto::RequestEvents;

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMillisecond;

// Requests that produce events, and a host that takes them.
class World {
public:
    explicit World(float tps) : everybodys_(tps) {}
    ~World() {
        while (Event* event = unwanted_.pop()) {
            delete event;
        }
    }

    // Creates a request, which its last event owns.
    RequestEvents& request(std::uint32_t answers = 1, float own = 0) {
        auto done = std::make_unique<Event>();
        done->kind = SOTTO_EVENT_REQUEST_DONE;
        done->events = std::make_unique<RequestEvents>(answers, own, everybodys_);
        done->of = done->events.get();
        done->text = "done";
        done_.push_back(std::move(done));
        return *done_.back()->events;
    }

    void say(RequestEvents& events, const std::string& text, std::uint32_t tokens, std::size_t answer = 0) {
        auto event = std::make_unique<Event>();
        event->kind = SOTTO_EVENT_TEXT;
        event->text = text;
        event->tokens = tokens;
        event->made_ns = now;
        event->of = &events;
        event->lane = events.answers[answer].get();
        release.admit(event.release(), unwanted_);
    }

    void end(RequestEvents& events, sotto_status status = SOTTO_OK) {
        for (auto& done : done_) {
            if (done != nullptr && done->events.get() == &events) {
                done->status = status;
                release.admit(done.release(), unwanted_);
                return;
            }
        }
    }

    // Takes all due events, in order.
    std::string take() {
        std::string all;
        while (Event* event = release.next(now)) {
            all += event->text + " ";
            delete event;
        }
        return all;
    }

private:
    std::atomic<float> everybodys_;
    sotto::MpscQueue<Event> unwanted_;
    std::vector<std::unique_ptr<Event>> done_;

public:
    std::int64_t now = kSecond;
    PacedQueue release; // destroyed first
};

} // namespace

TEST_CASE("without a pace all events are due at once, in FIFO order") {
    World world(0);
    auto& first = world.request();
    auto& second = world.request();
    world.say(first, "a", 1);
    world.say(second, "b", 1);
    world.say(first, "c", 2);
    world.end(first);
    world.say(second, "d", 2);
    world.end(second);
    CHECK(world.take() == "a b c done d done ");
    CHECK(world.release.is_idle());
}

TEST_CASE("a paced event waits until it is due, and reports that time") {
    World world(10);
    auto& events = world.request();
    world.say(events, "a", 1);
    world.say(events, "b", 2);
    world.say(events, "c", 3);
    world.end(events);
    CHECK(world.take() == "a ");
    CHECK(world.release.wake() == kSecond + 100 * kMillisecond);
    world.now += 100 * kMillisecond - 1;
    CHECK(world.take() == "");
    world.now += 1;
    CHECK(world.take() == "b ");
    world.now += 100 * kMillisecond;
    CHECK(world.take() == "c done ");
    CHECK(world.release.wake() == INT64_MAX);
}

TEST_CASE("each answer has its own pace, and answers do not block each other") {
    World world(10);
    auto& slow = world.request(1, 1);
    auto& fast = world.request();
    world.say(slow, "s", 1);
    world.say(slow, "S", 2);
    world.say(fast, "f", 1);
    world.say(fast, "F", 2);
    world.end(fast);
    CHECK(world.take().size() == 4); // one of each answer
    world.now += 100 * kMillisecond;
    CHECK(world.take() == "F done ");
    world.end(slow);
    world.now += 900 * kMillisecond;
    CHECK(world.take() == "S done ");
}

TEST_CASE("a request's last event follows all events of its answers") {
    World world(10);
    auto& events = world.request(2);
    world.say(events, "a", 1, 0);
    world.say(events, "A", 2, 0);
    world.say(events, "b", 1, 1);
    world.end(events);
    const auto first = world.take();
    CHECK(first.find("done") == std::string::npos);
    world.now += 100 * kMillisecond;
    CHECK(world.take() == "A done ");
}

TEST_CASE("a cancelled request drops its remaining text; a failed one delivers it before its last event") {
    World world(10);
    auto& cancelled = world.request();
    auto& failed = world.request();
    for (auto* events : {&cancelled, &failed}) {
        world.say(*events, "a", 1);
        world.say(*events, "b", 2);
    }
    CHECK(world.take() == "a a ");
    world.end(cancelled, SOTTO_ERROR_CANCELLED);
    CHECK(world.take() == "done ");
    world.end(failed, SOTTO_ERROR_INFERENCE);
    CHECK(world.take() == "b done ");
    CHECK(world.release.is_idle());
}

TEST_CASE("after a pause of the host, the backlog comes at twice the pace at most") {
    World world(10);
    auto& events = world.request();
    for (std::uint32_t n = 1; n <= 30; ++n) {
        world.say(events, "x", n);
    }
    std::size_t told = 0;
    const auto look = [&] { return world.take().size() / 2; };
    for (int frame = 0; frame < 60; ++frame) { // one second at 60 frames per second
        told += look();
        world.now += kSecond / 60;
    }
    CHECK(told == 10);
    world.now += 300 * kMillisecond;
    std::vector<std::size_t> tenths(10);
    for (int frame = 0; frame < 60; ++frame) {
        tenths[static_cast<std::size_t>(frame / 6)] += look();
        world.now += kSecond / 60;
    }
    std::size_t after = 0;
    for (const auto count : tenths) {
        CHECK(count <= 3); // twice the pace, plus the one that was due at its return
        after += count;
    }
    CHECK(after == 13); // the backlog is delivered
}

TEST_CASE("a new pace applies within a millisecond") {
    World world(1);
    auto& events = world.request(1, 1);
    world.say(events, "a", 1);
    world.say(events, "b", 2);
    CHECK(world.take() == "a ");
    events.own_tps = 100;
    world.now += 10 * kMillisecond;
    CHECK(world.take() == "b ");
    world.end(events);
    CHECK(world.take() == "done ");
}

TEST_CASE("events that were not taken are freed") { // checked by the leak checker
    World world(1);
    auto& events = world.request(2);
    world.say(events, "a", 1);
    world.say(events, "b", 5);
    world.say(events, "c", 5, 1);
    world.end(events);
    auto& other = world.request();
    world.say(other, "d", 5);
    CHECK(world.take() != "");
}
