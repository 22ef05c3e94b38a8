// When the engine's figures are published, and the slices that they and the trace are made of.
#include "core/control/stats_publisher.hpp"

#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include "core/control/slice_log.hpp"
#include "support/manual_clock.hpp"

using sotto::ModelEntry;

namespace {

using test::kMillisecond;

struct Figures {
    sotto_stats read() const { return meter.read(frames, clock.now()); }
    void publish(double share) { publisher.publish(scheduler, registry, share); }

    test::ManualClock clock;
    sotto::Hooks hooks;
    sotto::Frames frames;
    sotto::Meter meter;
    sotto::Recorder recorder{hooks};
    sotto::Scheduler scheduler;
    sotto::Registry registry;
    sotto::StatsPublisher publisher{clock, meter, recorder};
};

std::vector<sotto_slice> take(sotto::Trace& trace) {
    std::vector<sotto_slice> slices;
    trace.take(100, [&](std::uint32_t, const sotto_slice& slice) { slices.push_back(slice); });
    return slices;
}

} // namespace

TEST_CASE("figures are due as soon as the thread is about to sleep, and every 50 ms while it works") {
    Figures figures;
    CHECK_FALSE(figures.publisher.is_due(false)); // nothing changed
    figures.publish(1);
    CHECK_FALSE(figures.publisher.is_due(true)); // more work follows
    CHECK(figures.publisher.is_due(false));
    figures.publish(1);
    CHECK_FALSE(figures.publisher.is_due(false));
    CHECK_FALSE(figures.publisher.is_due(true));
    figures.clock.advance(50 * kMillisecond);
    CHECK(figures.publisher.is_due(true));
}

TEST_CASE("published figures count evicted models and the requests that wait for them") {
    Figures figures;
    sotto::Slot slot;
    auto entry = std::make_unique<ModelEntry>(sotto::Submission{});
    entry->state = ModelEntry::State::evicted;
    entry->requests.held.push_back({&slot, true});
    figures.registry.reserve();
    figures.registry.add(std::move(entry));
    figures.publish(0.5);
    const auto stats = figures.read();
    CHECK(stats.models_evicted == 1);
    CHECK(stats.waiting == 1);
    CHECK(stats.share == doctest::Approx(0.5));
}

TEST_CASE("a job's waits at gates are traced before the job, without its tokens") {
    sotto::Meter meter;
    sotto::Trace trace(8);
    sotto::SliceLog log(trace, meter);
    sotto::Job job;
    job.streams.push_back(nullptr);
    sotto_step_item work{};
    work.evaluated = 7;
    job.what = sotto::StepJob{{work}, {}, {}};
    job.load.prompt = 7;
    job.began = 10;
    job.ended = 20;
    job.gates.waits[0] = {12, 15};
    job.gates.waited = 1;
    log.add(job);
    const auto slices = take(trace);
    REQUIRE(slices.size() == 2);
    CHECK(slices[0].kind == SOTTO_SLICE_GATE);
    CHECK(slices[0].begin_ns == 12);
    CHECK(slices[0].prompt_tokens == 0);
    CHECK(slices[1].kind == SOTTO_SLICE_PROMPT);
    CHECK(slices[1].prompt_tokens == 7);
}

TEST_CASE("streams and draft tokens are counted") {
    sotto::Meter meter;
    sotto::Trace trace(8);
    sotto::SliceLog log(trace, meter);
    sotto::Job job;
    job.streams = {nullptr, nullptr};
    sotto_step_item checks{}; // the first token of a step that checked 3 draft tokens
    checks.decoded = 4;
    checks.generated = 1;
    sotto_step_item accepted{};
    accepted.generated = 1;
    sotto_step_item plain{};
    plain.decoded = 1;
    plain.generated = 1;
    job.what = sotto::StepJob{{checks, accepted, plain}, {}, {}};
    log.add(job);
    meter.show({}, 0);
    const sotto::Frames frames;
    const auto stats = meter.read(frames, 0);
    CHECK(stats.slice_streams == 2);
    CHECK(stats.draft_tokens == 3);
    CHECK(stats.draft_accepted == 1);
    CHECK(stats.draft_steps == 1);
}

TEST_CASE("a job that only closed streams is not traced, and rests and frames are") {
    sotto::Meter meter;
    sotto::Trace trace(8);
    sotto::SliceLog log(trace, meter);
    log.add(sotto::Job{});
    log.add_rest(1, 2, SOTTO_MODE_BALANCE, 0.25);
    log.add_frame({.begin = 3, .end = 4, .period = kMillisecond, .missed = false}, SOTTO_MODE_BALANCE, 0.25);
    const auto slices = take(trace);
    REQUIRE(slices.size() == 2);
    CHECK(slices[0].kind == SOTTO_SLICE_REST);
    CHECK(slices[0].share == doctest::Approx(0.25));
    CHECK(slices[1].kind == SOTTO_SLICE_FRAME);
    CHECK(slices[1].limit_ms == doctest::Approx(1));
}
