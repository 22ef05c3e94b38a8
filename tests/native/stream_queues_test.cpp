// Where the scheduler keeps its streams.
#include <doctest/doctest.h>

#include "core/schedule/stream_queues.hpp"

using sotto::ScheduledModel;
using sotto::ScheduledStream;
using sotto::StreamQueues;
using State = sotto::StreamState;
using Where = ScheduledStream::Where;

namespace {

struct Streams {
    ScheduledModel model;
    ScheduledModel other;
    ScheduledStream first{model, {.number = 1}, nullptr, 100};
    ScheduledStream second{model, {.number = 2}, nullptr, 200};
    ScheduledStream third{other, {.number = 3}, nullptr, 300};
    StreamQueues queues;

    bool add(ScheduledStream& stream) {
        const bool is_first = queues.reserve(stream);
        queues.add(stream);
        return is_first;
    }
};

} // namespace

TEST_CASE("a stream waits until it enters, and waits again once it has lost its slot") {
    Streams all;
    CHECK(all.queues.empty());
    CHECK(all.add(all.second));
    CHECK_FALSE(all.add(all.first));
    CHECK(all.first.where == Where::waits);
    CHECK(all.queues.waits_for_room(all.model));
    CHECK_FALSE(all.queues.waits_for_room(all.other));

    all.queues.enter(all.second);
    all.queues.enter(all.first);
    CHECK(all.queues.inside() == std::vector{&all.first, &all.second}); // in order of arrival
    all.first.opened(4, 0);
    all.second.busy = true; // is getting its slot
    all.queues.requeue();
    CHECK(all.queues.inside().size() == 2);

    all.first.state = State::parked;
    all.second.busy = false;
    all.queues.requeue();
    CHECK(all.queues.inside().empty());
    CHECK(all.first.where == Where::waits);
}

TEST_CASE("the last stream of a model takes the queues of the model with it") {
    Streams all;
    all.add(all.first);
    all.add(all.second);
    CHECK(all.add(all.third));
    all.queues.enter(all.second);
    CHECK(all.queues.queues().size() == 2);
    CHECK_FALSE(all.queues.remove(all.first));
    CHECK(all.queues.remove(all.second));
    CHECK(all.queues.queues().size() == 1);
    CHECK(all.queues.remove(all.third));
    CHECK(all.queues.empty());
    CHECK(all.third.where == Where::nowhere);
}

TEST_CASE("streams are counted by state, those without a slot by what they were") {
    Streams all;
    for (auto* stream : {&all.first, &all.second, &all.third}) {
        all.add(*stream);
        all.queues.enter(*stream);
    }
    all.first.opened(4, 0);
    all.second.opened(4, 4);
    all.third.state = State::parked;
    all.queues.requeue();
    const auto counts = all.queues.counts(1000);
    CHECK(counts.prompting == 1);
    CHECK(counts.speaking == 1);
    CHECK(counts.parked == 1);
    CHECK(counts.waiting == 0);
    CHECK(counts.oldest == 300); // the one without a slot
}

TEST_CASE("the model that was served least is found among those that have streams") {
    Streams all;
    CHECK(all.queues.min_served_ns() == INT64_MAX);
    all.model.served_ns = 5;
    all.other.served_ns = 3;
    all.add(all.first);
    CHECK(all.queues.min_served_ns() == 5);
    all.add(all.third);
    CHECK(all.queues.min_served_ns() == 3);
}

TEST_CASE("streams that are prepared ahead of a slot are counted, and no longer once they have one") {
    Streams all;
    all.second.unprepared = true;
    all.add(all.first);
    all.add(all.second);
    const auto& queue = *all.queues.queues().front();
    const auto priority = sotto::index_of(SOTTO_PRIORITY_NORMAL);
    CHECK(all.queues.prepared_ahead(queue, priority) == 1);
    all.queues.enter(all.second); // is being prepared
    CHECK(all.queues.prepared_ahead(queue, priority) == 2);
    all.queues.enter(all.first);
    all.first.opened(4, 0);
    CHECK(all.queues.prepared_ahead(queue, priority) == 1);
}
