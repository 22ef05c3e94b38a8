// Which job is started next, and when, without an engine.
#include "core/control/job_dispatch.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/control_world.hpp"
#include "support/reply.hpp"

using sotto::Job;
using sotto::kNever;
using sotto::Stream;

namespace {

struct Dispatch {
    Stream& add() {
        const auto body = test::chat("m", "hello");
        sotto::Submission asked;
        asked.op = SOTTO_OP_CHAT;
        asked.body = sotto::PageString(body.begin(), body.end());
        const auto reply = test::reply_in(all.table, std::move(asked), all.clock.now());
        std::vector<std::unique_ptr<Stream>> made;
        made.push_back(
            std::make_unique<Stream>(reply, 0, entry, streams.table().next_number(), all.clock.now())
        );
        streams.table().reserve(1);
        streams.add(std::move(made));
        return *streams.table().all().back();
    }
    std::unique_ptr<Job> wait() {
        for (;;) {
            const auto seen = all.wake.value();
            if (auto done = jobs.take_done()) {
                return done;
            }
            all.wake.wait(seen, -1);
        }
    }
    void close(Stream& stream) { entry.model->close_stream(stream.handle); }

    test::ControlWorld all;
    sotto::ModelEntry& entry = all.open_model(R"({"tokens": ["a", "b", "c"], "prompt_tokens": 1})");
    sotto::DeviceMoves moves{all.wake};
    sotto::ActiveStreams streams{all.world, all.wake};
    std::vector<Stream*> failed;
    sotto::JobDispatch jobs{
        all.world, streams, moves, all.wake, [this](Stream& stream, sotto_status, const char*) {
            failed.push_back(&stream);
        }
    };
};

} // namespace

TEST_CASE("no job starts without streams, and none is due") {
    Dispatch one;
    CHECK_FALSE(one.jobs.start());
    CHECK(one.jobs.take_done() == nullptr);
    CHECK(one.jobs.next_probe() == kNever);
    CHECK(one.jobs.next_start() == kNever);
}

TEST_CASE("a waiting stream is opened first, and the job is given back once") {
    Dispatch one;
    auto& stream = one.add();
    REQUIRE(one.jobs.start());
    CHECK(stream.busy);
    const auto job = one.wait();
    REQUIRE(std::holds_alternative<sotto::OpenJob>(job->what));
    CHECK(job->streams.front() == &stream);
    CHECK_FALSE(job->failure);
    CHECK(one.jobs.take_done() == nullptr);
    CHECK(one.jobs.runner().is_idle());
    stream.handle = std::get<sotto::OpenJob>(job->what).opened.stream;
    one.close(stream);
    CHECK(one.failed.empty());
}

TEST_CASE("a step is followed by the next one of the same stream unless the engine is deterministic") {
    for (const bool deterministic : {false, true}) {
        Dispatch one;
        one.all.settings.flags = deterministic ? SOTTO_ENGINE_DETERMINISTIC : 0;
        auto& stream = one.add();
        REQUIRE(one.jobs.start());
        const auto job = one.wait();
        const auto& opened = std::get<sotto::OpenJob>(job->what).opened;
        stream.busy = false;
        stream.handle = opened.stream;
        stream.opened(opened, one.all.clock.now());
        stream.stepped(0, true, one.all.clock.now()); // prefilled
        REQUIRE(one.jobs.start());
        CHECK(one.jobs.runner().has_next() != deterministic);
        one.wait();
        if (!one.jobs.runner().is_idle()) {
            one.wait();
        }
        one.close(stream);
    }
}
