// The slots that pinned sessions keep, and the table of streams, without an engine.
#include "core/control/slot_pins.hpp"

#include <memory>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/reply.hpp"

using sotto::ModelEntry;
using sotto::Session;
using sotto::Stream;

namespace {

// A model with three slots, of which the streams of turns have some.
class Slots {
public:
    Slots() : entry(add_model()) {}

    // A stream of the session's next turn, which has a slot.
    Stream& turn(ModelEntry& model, const std::shared_ptr<Session>& session) {
        auto& slot = *table_.add({}, 1);
        slot.done->events = std::make_unique<sotto::RequestEvents>(1, 0.F, test::g_everybodys_tps);
        auto turn = session == nullptr ? sotto::Turn() : sotto::Turn(session, 1, "m", {});
        const auto reply = std::make_shared<sotto::Reply>(slot, sotto::ParsedRequest(), std::move(turn));
        streams.reserve(1);
        auto stream = std::make_unique<Stream>(reply, 0, model, streams.next_number(), 1);
        stream->handle = this;
        ++model.open_streams;
        return streams.add(std::move(stream));
    }
    ModelEntry& add_model() {
        auto model = std::make_unique<ModelEntry>(sotto::Submission{});
        model->state = ModelEntry::State::ready;
        model->traits.streams = 3;
        model->traits.parks = true;
        model->slots.pinned.reserve(3);
        model->slots.closing.reserve(8);
        registry_.reserve();
        registry_.add(std::move(model));
        return *registry_.entries().back();
    }

private:
    sotto::RequestTable table_;
    sotto::Settings settings_;
    sotto::Registry registry_;
    sotto::Scheduler scheduler_;

public:
    sotto::StreamTable streams;
    sotto::SlotPins pins{settings_, registry_, streams, scheduler_};
    ModelEntry& entry;
};

std::shared_ptr<Session> pinned() {
    auto session = std::make_shared<Session>();
    session->pinned = true;
    return session;
}

} // namespace

TEST_CASE("pinned sessions keep their slots, but for the last slot of a model") {
    Slots slots;
    const auto session = pinned();
    CHECK(slots.pins.keep(slots.turn(slots.entry, session)));
    CHECK_FALSE(slots.pins.keep(slots.turn(slots.entry, session))); // it has one
    CHECK_FALSE(slots.pins.keep(slots.turn(slots.entry, std::make_shared<Session>())));
    CHECK(slots.pins.keep(slots.turn(slots.entry, pinned())));
    CHECK_FALSE(slots.pins.keep(slots.turn(slots.entry, pinned())));
    CHECK(slots.entry.slots.pinned.size() == 2);
}

TEST_CASE("the next turn of a session gets the slot, and closes the stream that kept it") {
    Slots slots;
    const auto session = pinned();
    slots.pins.keep(slots.turn(slots.entry, session));
    std::vector<sotto::Closing> closing;
    slots.pins.hand_over(slots.entry, pinned().get(), closing);
    CHECK(closing.empty());
    slots.pins.hand_over(slots.entry, session.get(), closing);
    REQUIRE(closing.size() == 1);
    CHECK(closing[0].handle == &slots);
    CHECK(slots.entry.slots.pinned.empty());
}

TEST_CASE("a session that turns to another model gives up its slot, and that model forgets it") {
    Slots slots;
    auto& other = slots.add_model();
    const auto session = pinned();
    slots.pins.keep(slots.turn(slots.entry, session));
    auto& waits = slots.turn(slots.entry, session);
    slots.pins.begin_turn(slots.entry, *session);
    CHECK(waits.expected);
    CHECK(slots.entry.slots.pinned.size() == 1);
    slots.pins.begin_turn(other, *session);
    CHECK_FALSE(waits.expected);
    REQUIRE(slots.entry.slots.closing.size() == 1);
    CHECK(slots.entry.slots.closing[0].session == nullptr);
}

TEST_CASE("a session that is unpinned gives up its slot, and keeps its KV cache unless it was closed") {
    Slots slots;
    const auto session = pinned();
    auto closed = pinned();
    slots.pins.keep(slots.turn(slots.entry, session));
    slots.entry.slots.pinned.push_back({closed, &slots});
    session->pinned = closed->pinned = false;
    closed.reset();
    slots.pins.release_unpinned();
    REQUIRE(slots.entry.slots.closing.size() == 2);
    CHECK(slots.entry.slots.closing[0].session == nullptr);
    CHECK(slots.entry.slots.closing[1].session == session);
}

TEST_CASE("a model with fewer slots keeps the slots used last, and parked sessions keep theirs") {
    Slots slots;
    const auto first = pinned();
    const auto second = pinned();
    slots.pins.keep(slots.turn(slots.entry, first));
    slots.pins.keep(slots.turn(slots.entry, second));
    slots.entry.traits.streams = 2;
    slots.pins.trim(slots.entry);
    REQUIRE(slots.entry.slots.pinned.size() == 1);
    CHECK(slots.entry.slots.pinned[0].session == second);
    std::vector<sotto::Closing> closing;
    const auto open = slots.entry.open_streams;
    sotto::SlotPins::park(slots.entry, closing);
    CHECK(closing.size() == 1);
    CHECK(slots.entry.open_streams == open + 1);
    CHECK(slots.entry.slots.pinned[0].handle == nullptr);
    slots.pins.release_all(slots.entry, true);
    CHECK(slots.entry.open_streams == open);
}

TEST_CASE("streams that ended are freed once no job has them, and others stay") {
    Slots slots;
    auto& first = slots.turn(slots.entry, nullptr);
    auto& second = slots.turn(slots.entry, nullptr);
    CHECK(slots.streams.find(first.reply->slot) == nullptr); // its slot does not name it yet
    first.busy = true;
    slots.streams.end(first);
    slots.streams.sweep([](const Stream&) { FAIL("a job has it"); });
    CHECK(slots.streams.has_ended());
    first.busy = false;
    slots.streams.sweep([&](const Stream& freed) { CHECK(&freed == &first); });
    CHECK_FALSE(slots.streams.has_ended());
    REQUIRE(slots.streams.all().size() == 1);
    CHECK(slots.streams.all()[0].get() == &second);
    CHECK(second.place == 0);
}
