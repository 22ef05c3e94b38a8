// How much of the time models get, and on which class of threads, without an engine.
#include "core/control/duty_policy.hpp"

#include <thread>

#include <doctest/doctest.h>

#include "support/manual_clock.hpp"

using sotto::Job;
using sotto::ThreadClass;
using test::kMillisecond;

namespace {

struct Policies {
    explicit Policies(sotto_mode mode = SOTTO_MODE_BALANCE) { settings.mode = mode; }

    // A step of 10 ms that has just ended.
    void step() {
        Job job;
        job.what = sotto::StepJob{};
        job.ended = clock.now();
        job.began = job.issued = clock.now() - 10 * kMillisecond;
        duty.ended(job);
    }

    test::ManualClock clock;
    sotto::Hooks hooks;
    sotto::Settings settings;
    sotto::Frames frames;
    sotto::Signal wake;
    sotto::Ledger ledger;
    sotto::KvStateStore parking{ledger, {}, 0, hooks};
    sotto::Recorder recorder{hooks};
    sotto::DeviceMoves moves{wake};
    sotto::Compute compute{hooks, clock, frames, parking, ledger, wake};
    sotto::ThreadClassPolicy classes{hooks, settings, frames, clock, moves, wake};
    sotto::DutyPolicy duty{settings, frames, clock, classes, compute, recorder};
};

} // namespace

TEST_CASE("models that come first run in the normal class, all of the time, in long slices") {
    Policies policies(SOTTO_MODE_PRIORITIZE_COMPUTE);
    CHECK(policies.classes.usual() == ThreadClass::normal);
    CHECK(policies.duty.share() == doctest::Approx(1));
    CHECK(policies.duty.limits().time == 1000 * kMillisecond);
    policies.step();
    CHECK_FALSE(policies.duty.rests(true));
}

TEST_CASE("threads of the idle class need no rest, and threads of the normal class get half of the time") {
    Policies policies;
    CHECK(policies.classes.usual() == ThreadClass::idle);
    CHECK(policies.duty.share() == doctest::Approx(1));
    policies.classes.stood_still(policies.clock.now());
    CHECK(policies.classes.avoids_idle());
    CHECK(policies.classes.usual() == ThreadClass::normal);
    CHECK(policies.duty.share() == doctest::Approx(0.5));
    CHECK(policies.duty.limits().time == 25 * kMillisecond);
}

TEST_CASE("models rest after a step as long as the step took, for half of the time") {
    Policies policies;
    policies.classes.stood_still(policies.clock.now());
    const auto began = policies.clock.now();
    policies.step();
    CHECK(policies.duty.rests(true));
    CHECK(policies.duty.rest_over() == began + 10 * kMillisecond);
    policies.clock.advance(10 * kMillisecond);
    CHECK_FALSE(policies.duty.rests(true));
    CHECK(policies.duty.rest_over() == sotto::kNever);
    CHECK(policies.duty.end_rest() == began);
    CHECK(policies.duty.end_rest() == 0);
}

TEST_CASE("a rest that no stream waits for is not counted") {
    Policies policies;
    policies.classes.stood_still(policies.clock.now());
    policies.step();
    CHECK(policies.duty.rests(true));
    CHECK_FALSE(policies.duty.rests(false));
    CHECK(policies.duty.end_rest() == 0);
}

TEST_CASE("jobs run in the normal class while the engine ends, or models leave their device") {
    Policies ending;
    ending.classes.hurry();
    CHECK(ending.classes.usual() == ThreadClass::normal);
    Policies leaving;
    std::thread host([&] { leaving.moves.leave(); });
    while (!leaving.moves.is_leaving()) {
        std::this_thread::yield();
    }
    CHECK(leaving.classes.usual() == ThreadClass::normal);
    leaving.moves.has_left();
    host.join();
    CHECK(leaving.classes.usual() == ThreadClass::idle);
}

TEST_CASE("models may come to a device once for each time that it is said") {
    Policies policies;
    CHECK_FALSE(policies.moves.take_come());
    policies.moves.come();
    CHECK(policies.moves.take_come());
    CHECK_FALSE(policies.moves.take_come());
    policies.moves.come_later();
    CHECK(policies.moves.take_come());
}
