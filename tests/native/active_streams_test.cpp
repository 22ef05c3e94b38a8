// The streams of running requests, from their start until they are freed.
#include "core/control/active_streams.hpp"

#include <memory>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/control_world.hpp"
#include "support/reply.hpp"

using sotto::ModelEntry;
using sotto::Stream;

namespace {

struct Streams {
    // Adds a request for `answers` streams.
    std::shared_ptr<sotto::Reply> add(std::uint32_t answers = 1) {
        sotto::ParsedRequest prompted;
        prompted.answers = answers;
        const auto reply = test::reply_in(all.table, {}, all.clock.now(), std::move(prompted));
        std::vector<std::unique_ptr<Stream>> made;
        for (std::uint32_t i = 0; i < answers; ++i) {
            const auto number = streams.table().next_number();
            made.push_back(std::make_unique<Stream>(reply, i, entry, number, all.clock.now()));
        }
        streams.table().reserve(answers);
        streams.add(std::move(made));
        return reply;
    }
    sotto::Slice next() {
        streams.scheduler().look();
        return streams.scheduler().next(all.clock.now(), {});
    }
    void end(Stream& stream) {
        stream.state = Stream::State::over;
        streams.scheduler().remove(stream);
        streams.table().end(stream);
    }

    test::ControlWorld all;
    ModelEntry& entry = all.add_model();
    sotto::ActiveStreams streams{all.world, all.wake};
};

} // namespace

TEST_CASE("the stream of a request is found by its slot, and scheduled") {
    Streams one;
    const auto reply = one.add();
    CHECK(one.entry.requests.streams == 1);
    CHECK(one.streams.table().find(reply->slot) == one.streams.table().all().front().get());
    const auto slice = one.next();
    CHECK(slice.kind == sotto::Slice::Kind::open);
    REQUIRE(slice.shares.size() == 1);
    CHECK(slice.shares.front().stream == one.streams.table().all().front().get());
}

TEST_CASE("several choices of one request are found too") {
    Streams one;
    const auto reply = one.add(3);
    CHECK(one.entry.requests.streams == 3);
    CHECK(reply->slot.has_several);
    CHECK(reply->slot.stream == nullptr);
    CHECK(one.streams.table().find(reply->slot) != nullptr);
}

TEST_CASE("a stream that has ended is freed once no job uses it") {
    Streams one;
    one.add();
    auto& stream = *one.streams.table().all().front();
    one.end(stream);
    stream.busy = true;
    one.streams.sweep();
    CHECK_FALSE(one.streams.is_empty());
    stream.busy = false;
    one.streams.sweep();
    CHECK(one.streams.is_empty());
    CHECK(one.entry.requests.streams == 0);
}

TEST_CASE("a new pace of a request reaches its streams") {
    Streams one;
    const auto reply = one.add();
    reply->slot.target_tps = 7;
    one.streams.take_paces();
    CHECK(reply->events.own_tps.load() == 0);
    one.streams.retune();
    one.streams.take_paces();
    CHECK(reply->events.own_tps.load() == 7);
}
