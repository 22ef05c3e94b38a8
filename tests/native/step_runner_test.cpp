// The job under way, and reports of jobs that do not return, without an engine.
#include "core/control/stall_watch.hpp"

#include <memory>
#include <utility>

#include <doctest/doctest.h>

#include "core/control/step_runner.hpp"
#include "support/manual_clock.hpp"

using sotto::Job;
using sotto::kNever;
using sotto::ModelEntry;
using test::kSecond;

namespace {

struct Watch {
    test::ManualClock clock{100 * kSecond};
    sotto::Hooks hooks;
    sotto::Registry registry;
    sotto::StallWatch stalls{hooks.log, registry, clock};
};

struct Runner {
    // A job that has nothing to do.
    std::unique_ptr<Job> job() {
        auto job = std::make_unique<Job>();
        job->entry = &entry;
        return job;
    }
    std::unique_ptr<Job> wait() {
        for (;;) {
            const auto seen = finished.value();
            if (auto done = runner.take_done()) {
                return done;
            }
            finished.wait(seen, -1);
        }
    }

    test::ManualClock clock;
    sotto::Hooks hooks;
    sotto::Settings settings;
    sotto::Frames frames;
    sotto::Signal finished;
    sotto::Ledger ledger;
    sotto::KvStateStore parking{ledger, {}, 0, hooks};
    sotto::DeviceMoves moves{finished};
    ModelEntry entry{sotto::Submission{}};
    sotto::Compute compute{hooks, clock, frames, parking, ledger, finished};
    sotto::ThreadClassPolicy classes{hooks, settings, frames, clock, moves, finished};
    sotto::StepRunner runner{compute, classes, settings, clock};
};

} // namespace

TEST_CASE("a call that does not return is reported after ten seconds, and every ten seconds") {
    Watch watch;
    ModelEntry entry{sotto::Submission{}};
    Job job;
    job.entry = &entry;
    job.issued = watch.clock.now();
    CHECK(watch.stalls.next_report(nullptr) == kNever);
    CHECK(watch.stalls.next_report(&job) == job.issued + 10 * kSecond);
    watch.stalls.report(&job); // not due
    CHECK(watch.stalls.next_report(&job) == job.issued + 10 * kSecond);
    watch.clock.advance(11 * kSecond);
    watch.stalls.report(&job);
    CHECK(watch.stalls.next_report(&job) == job.issued + 21 * kSecond);
}

TEST_CASE(
    "while the engine ends, a report comes after two seconds, also of a model that is loaded or freed"
) {
    Watch watch;
    auto entry = std::make_unique<ModelEntry>(sotto::Submission{});
    entry->loader.owns = true;
    watch.registry.reserve();
    watch.registry.add(std::move(entry));
    CHECK(watch.stalls.next_report(nullptr) == kNever);
    watch.stalls.engine_ends();
    CHECK(watch.stalls.next_report(nullptr) == watch.clock.now() + 2 * kSecond);
}

TEST_CASE("a runner has one job under way, and gives it back once it is done") {
    Runner all;
    CHECK(all.runner.is_idle());
    CHECK(all.runner.since() == kNever);
    CHECK(all.runner.take_done() == nullptr);
    CHECK(all.runner.rescue_due() == kNever);
    all.runner.rescue();
    all.compute.prepare(sotto::ThreadClass::normal);
    auto job = all.job();
    const auto* begun = job.get();
    all.runner.begin(std::move(job));
    CHECK(all.runner.job() == begun);
    CHECK(all.runner.runs(all.entry));
    CHECK(all.runner.since() == all.clock.now());
    const auto done = all.wait();
    CHECK(done.get() == begun);
    CHECK(done->done.load());
    CHECK(all.runner.is_idle());
}

TEST_CASE("a job of the normal class is not looked after") {
    Runner all;
    all.compute.prepare(sotto::ThreadClass::normal);
    all.runner.begin(all.job());
    CHECK(all.runner.rescue_due() == kNever);
    all.wait();
}

TEST_CASE("a job that its thread of the idle class has not begun after 50 ms is given to the normal class") {
    Runner all;
    auto job = all.job();
    job->thread_class = sotto::ThreadClass::idle; // whose thread was not started
    all.runner.begin(std::move(job));
    CHECK(all.runner.rescue_due() == all.clock.now() + 50 * test::kMillisecond);
    all.runner.rescue();
    CHECK(all.runner.job()->thread_class == sotto::ThreadClass::idle);
    all.clock.advance(50 * test::kMillisecond);
    all.runner.rescue();
    CHECK(all.wait()->thread_class == sotto::ThreadClass::normal);
    CHECK(all.classes.avoids_idle());
}

TEST_CASE("a job that all streams left is told to end") {
    Runner all;
    all.compute.prepare(sotto::ThreadClass::normal);
    all.runner.begin(all.job()); // of no stream
    all.runner.abort_if_unwanted();
    CHECK(all.wait()->abort.load());
}
