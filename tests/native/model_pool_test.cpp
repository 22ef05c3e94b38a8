// Models from the request that loads them until they are freed, and requests before they have a stream.
#include "core/control/model_pool.hpp"

#include <string>

#include <doctest/doctest.h>

#include "core/control/request_intake.hpp"
#include "support/control_world.hpp"

using sotto::ModelEntry;
using sotto::Slot;
using sotto::Stream;
using sotto::Submission;

namespace {

struct Pool {
    ~Pool() {
        models.leave_all("the test ends");
        run([&] { return all.registry.entries().empty(); });
    }

    // Has the loader's work done until `over` returns true.
    template <typename Over>
    void run(const Over& over) {
        for (;;) {
            const auto seen = all.wake.value();
            models.take_loader_notes();
            intake.take_read();
            models.free_leaving();
            if (over()) {
                return;
            }
            all.wake.wait(seen, 1'000'000);
        }
    }
    ModelEntry& load() {
        models.submit(all.load("m", R"({"tokens": ["a"], "prompt_tokens": 1})"));
        auto& entry = *all.registry.entries().back();
        run([&] { return entry.state == ModelEntry::State::ready; });
        return entry;
    }
    Slot& ask(Submission::Kind what) {
        Submission asked;
        asked.kind = what;
        asked.id = "m";
        return all.slot(asked);
    }

    test::ControlWorld all;
    sotto::DeviceMoves moves{all.wake};
    sotto::EventSender teller{all.table, all.queue, all.meter, all.clock};
    sotto::ActiveStreams streams{all.world, all.wake};
    sotto::JobDispatch jobs{all.world, streams, moves, all.wake, [](Stream&, sotto_status, const char*) {}};
    sotto::RequestEnder ender{
        streams.table(), streams.scheduler(), streams.preparer(), streams.pins(), jobs.runner(), teller
    };
    sotto::ModelPool models{all.world, streams, jobs, ender, teller, moves, all.wake, [this](Slot& slot) {
                                intake.add(slot);
                            }};
    sotto::GuardChecks checks{all.world, [](Slot&) {}, [](Slot&) {}};
    sotto::RequestIntake intake{all.world, streams, models.admission(), ender, teller, checks, all.wake};
};

} // namespace

TEST_CASE("a model is loaded by the first request for it, and freed when it is unloaded") {
    Pool pool;
    const auto& entry = pool.load();
    CHECK(entry.traits.streams > 0);
    CHECK(pool.all.registry.find("m") == &entry);
    pool.models.submit(pool.ask(Submission::Kind::unload));
    CHECK(pool.all.registry.find("m") == nullptr);
    pool.run([&] { return pool.all.registry.entries().empty(); });
    CHECK_THROWS_AS(pool.models.submit(pool.ask(Submission::Kind::unload)), sotto::Error);
}

TEST_CASE("loading ends with its only request") {
    Pool pool;
    auto& slot = pool.all.load("m", "{}");
    const auto id = slot.id.load();
    pool.models.submit(slot);
    pool.models.cancel(slot);
    CHECK(pool.all.done(id).status == SOTTO_ERROR_CANCELLED);
    pool.run([&] { return pool.all.registry.entries().empty(); });
}

TEST_CASE("a job starts for streams to close, and takes them from the model") {
    Pool pool;
    auto& entry = pool.load();
    CHECK_FALSE(pool.models.start_closing());
    sotto::Closing closing;
    closing.handle = entry.model->open_stream(SOTTO_OP_CHAT, test::chat("m", "hello"), 0).stream;
    entry.slots.closing.push_back(closing);
    REQUIRE(pool.models.start_closing());
    CHECK(entry.slots.closing.empty());
    CHECK(pool.jobs.runner().job()->closing.size() == 1);
    pool.run([&] { return pool.jobs.take_done() != nullptr; });
}

TEST_CASE("the error of a job that lost its device says what to do") {
    Pool pool;
    auto& entry = pool.load();
    sotto::Job job;
    job.entry = &entry;
    job.failure.set(SOTTO_ERROR_DEVICE, "it fell off");
    CHECK_FALSE(pool.models.take(job));
    CHECK(job.failure.why == "the device was lost: submit the request again (it fell off)");
}

TEST_CASE("a request gets one stream for each choice") {
    Pool pool;
    const auto& entry = pool.load();
    auto& slot = pool.all.chat("m", R"(, "n": 2)");
    pool.intake.add(slot);
    CHECK(pool.streams.table().all().size() == 2);
    CHECK(entry.requests.streams == 2);
    CHECK(slot.has_several);
    CHECK(pool.intake.is_empty());
    CHECK_FALSE(pool.intake.drop(slot)); // it has streams
    pool.ender.fail(*pool.streams.table().find(slot), SOTTO_ERROR_CANCELLED, "cancelled");
    pool.streams.sweep();
    CHECK(pool.streams.is_empty());
}

TEST_CASE("a request without a loaded model leaves no stream") {
    Pool pool;
    CHECK_THROWS_AS(pool.intake.add(pool.all.chat("none")), sotto::Error);
    CHECK(pool.streams.is_empty());
}

TEST_CASE("a request that is being read is cancelled, and then not here any more") {
    Pool pool;
    pool.load();
    auto& slot = pool.all.slot({});
    slot.submission.op = SOTTO_OP_CHAT;
    const auto body = test::chat("m", std::string(2 * sotto::kLargeBody, 'a'));
    slot.submission.body = sotto::PageString(body.begin(), body.end());
    const auto id = slot.id.load();
    pool.intake.add(slot);
    CHECK_FALSE(pool.intake.is_empty());
    pool.intake.cancel_reading("the test cancels");
    CHECK(pool.all.done(id).error == "the test cancels");
    pool.run([&] { return pool.intake.is_empty(); });
    CHECK(pool.streams.is_empty());
}
