// Models that get more or fewer slots, and what that does to their streams and their memory.
#include "core/control/model_resizer.hpp"

#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "support/control_parts.hpp"

using sotto::Job;
using sotto::ModelEntry;
using sotto::Session;
using sotto::Stream;

namespace {

constexpr const char* kScript =
    R"({"tokens": ["a", "b"], "prompt_tokens": 1, "weights": 10, "kv_per_place": 5, "compute": 1, "streams": 2,
    "parkable": true, "fingerprint": "{}", "gives": ["places"]})";

struct Resizing : test::ControlParts {
    ModelEntry& entry = open(kScript); // 21 bytes
    // Waits for the resize under way, and takes its result.
    std::unique_ptr<Job> finish() {
        auto job = wait();
        resizer.resized(*job, std::get<sotto::ResizeJob>(job->what));
        return job;
    }
    // Gives the model `slots` slots.
    void resize(std::uint32_t slots) {
        REQUIRE(resizer.resize(entry, slots));
        finish();
    }
};

} // namespace

TEST_CASE("a model gives up slots, and their memory is free once the job is done") {
    Resizing one;
    REQUIRE(one.resizer.resize(one.entry, 1));
    CHECK(one.entry.traits.streams == 2); // not yet
    CHECK(one.entry.claims.kv.bytes() == 10);
    one.finish();
    CHECK(one.entry.traits.streams == 1);
    CHECK(one.entry.claims.kv.bytes() == 5);
    one.resize(0);
    CHECK(one.entry.traits.streams == 0);
    CHECK(one.entry.claims.bytes() == 10); // its weights
}

TEST_CASE("all streams of a model are parked for a resize, and those of another model are not") {
    Resizing one;
    auto& other = one.open(kScript, "other");
    auto& first = one.add_open(one.entry);
    auto& waits = one.add(one.entry);
    auto& beside = one.add_open(other);
    REQUIRE(one.resizer.resize(one.entry, 1));
    CHECK(first.busy);
    CHECK_FALSE(waits.busy);
    CHECK_FALSE(beside.busy);
    CHECK(one.entry.open_streams == 0);
    const auto job = one.finish();
    CHECK(job->streams.size() == 1);
    CHECK(first.state == Stream::State::parked);
    CHECK(first.kv.parked != nullptr);
    CHECK(waits.state == Stream::State::waiting);
    CHECK(beside.state == Stream::State::speaking);
    one.close(first);
    one.close(waits);
    one.close(beside);
}

TEST_CASE("a stream that ends during the resize is closed, and not parked") {
    Resizing one;
    auto& stream = one.add_open(one.entry);
    REQUIRE(one.resizer.resize(one.entry, 1));
    one.ender.fail(stream, SOTTO_ERROR_CANCELLED, "cancelled");
    CHECK(one.entry.slots.closing.empty());
    one.finish();
    CHECK(one.entry.slots.closing.size() == 1);
    CHECK(one.entry.open_streams == 1);
    one.close(stream);
    CHECK(one.entry.open_streams == 0);
}

TEST_CASE("no resize begins beside a job, or before streams are closed") {
    Resizing one;
    one.jobs.starter().begin(one.jobs.starter().make(one.entry));
    CHECK_FALSE(one.resizer.resize(one.entry, 1));
    one.wait();
    one.entry.slots.closing.emplace_back();
    CHECK_FALSE(one.resizer.resize(one.entry, 1));
    one.entry.slots.closing.clear();
    one.resize(1);
    CHECK(one.entry.traits.streams == 1);
}

TEST_CASE("slots that the budget has no room for are not requested, and nothing is charged") {
    Resizing one;
    one.resize(0);
    one.all.ledger.set_ceiling(15); // one slot needs 6 beside the weights
    CHECK_FALSE(one.resizer.resize(one.entry, 1));
    CHECK(one.all.ledger.used() == 10);
    CHECK(one.jobs.runner().is_idle());
    one.all.ledger.set_ceiling(16);
    one.resize(1);
    CHECK(one.all.ledger.used() == 16);
}

TEST_CASE("new slots are charged before the job allocates them") {
    Resizing one;
    one.resize(0);
    REQUIRE(one.resizer.resize(one.entry, 2));
    CHECK(one.all.ledger.used() == 21);
    one.finish();
    CHECK(one.all.ledger.used() == 21);
    CHECK(one.entry.traits.streams == 2);
}

TEST_CASE("a model refills as many slots as the budget has room for") {
    Resizing one;
    one.resize(0);
    one.all.ledger.set_ceiling(20);
    REQUIRE(one.resizer.refill(one.entry));
    one.finish();
    CHECK(one.entry.traits.streams == 1);
    one.all.ledger.set_ceiling(0);
    REQUIRE(one.resizer.refill(one.entry));
    one.finish();
    CHECK(one.entry.traits.streams == 2);
}

TEST_CASE("a model grows only while its slots are taken, a stream waits, and there is room") {
    Resizing one;
    one.resize(1);
    CHECK_FALSE(one.resizer.grow(one.entry)); // a slot is free
    auto& first = one.add_open(one.entry);
    CHECK_FALSE(one.resizer.grow(one.entry)); // nobody waits
    auto& second = one.add(one.entry);
    one.streams.scheduler().look();
    one.all.ledger.set_ceiling(20);
    CHECK_FALSE(one.resizer.grow(one.entry)); // another slot needs 21
    one.all.ledger.set_ceiling(21);
    CHECK(one.resizer.grow(one.entry));
    one.finish();
    CHECK(one.entry.traits.streams == 2);
    CHECK_FALSE(one.resizer.grow(one.entry)); // it has all of its slots
    one.close(first);
    one.close(second);
}

TEST_CASE("a pinned session keeps its slot over a resize, but for the last one") {
    Resizing one;
    const auto session = std::make_shared<Session>();
    session->pinned = true;
    one.entry.slots.pinned.reserve(2);
    auto& stream = one.add_open(one.entry, session);
    one.ender.fail(stream, SOTTO_ERROR_CANCELLED, "the turn ends");
    REQUIRE(one.entry.slots.pinned.size() == 1);
    REQUIRE(one.resizer.resize(one.entry, 1));
    CHECK(one.entry.slots.pinned[0].handle == nullptr); // the job closes it
    const auto job = one.finish();
    CHECK(job->closing.size() == 1);
    CHECK(one.entry.slots.pinned.empty()); // the only slot stays unpinned
    one.streams.sweep();
}

TEST_CASE("a resize that fails without a slot ends the model's requests with the error") {
    test::ControlParts one;
    auto& entry = one.open(
        R"({"tokens": ["a"], "prompt_tokens": 1, "streams": 2, "parkable": true, "gives": ["places"],
        "fail_resize": "no memory"})"
    );
    auto& stream = one.add_open(entry);
    auto& held = one.all.chat("m");
    const auto id = held.id.load();
    entry.requests.held.push_back({&held, true});
    REQUIRE(one.resizer.resize(entry, 1));
    const auto job = one.wait();
    one.resizer.resized(*job, std::get<sotto::ResizeJob>(job->what));
    CHECK(entry.traits.streams == 0);
    CHECK(stream.state == Stream::State::over);
    CHECK(one.all.done(id).error.find("no memory") != std::string::npos);
    CHECK(entry.requests.held.empty());
    one.close(stream);
}
