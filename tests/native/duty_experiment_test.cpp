// Whether models make the game miss frames.
#include <doctest/doctest.h>

#include "core/schedule/duty_experiment.hpp"

using sotto::Beside;
using sotto::DutyExperiment;
using Verdict = DutyExperiment::Verdict;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Frames of which one in `while_rested` is missed while models rest, and one in `while_run` while they run;
// 0: none. Returns the verdict; open after 1000 frames.
Verdict verdict_for(DutyExperiment& experiment, int while_rested, int while_run) {
    for (int i = 1; i < 1000; ++i) {
        const bool rests = experiment.rests();
        const int every = rests ? while_rested : while_run;
        const sotto::Frame frame = {.missed = every != 0 && i % every == 0};
        const auto verdict = experiment.add(frame, rests ? Beside::rested : Beside::ran, true);
        if (verdict != Verdict::open) {
            return verdict;
        }
    }
    return Verdict::open;
}

} // namespace

TEST_CASE("models are at fault if the game misses frames beside them, and none while they rest") {
    DutyExperiment experiment;
    CHECK_FALSE(experiment.is_on());
    experiment.begin(0);
    CHECK(experiment.is_on());
    CHECK(experiment.rests());
    CHECK(verdict_for(experiment, 0, 2) == Verdict::at_fault);
    CHECK_FALSE(experiment.is_on());
    CHECK(experiment.rested().rate() == 0);
    CHECK(experiment.ran().rate() > 0.3);
}

TEST_CASE("models are not at fault if the game misses as many frames without them") {
    DutyExperiment experiment;
    experiment.begin(0);
    CHECK(verdict_for(experiment, 5, 5) == Verdict::not_at_fault);
    experiment.begin(0);
    CHECK(verdict_for(experiment, 0, 0) == Verdict::not_at_fault);
}

TEST_CASE("an experiment in which models neither rest nor run ends") {
    DutyExperiment experiment;
    experiment.begin(0);
    for (int i = 1; i < 60; ++i) {
        CHECK(experiment.add({}, Beside::both, true) == Verdict::open);
    }
    CHECK(experiment.add({}, Beside::both, true) == Verdict::unclear);
    CHECK_FALSE(experiment.rests());
}

TEST_CASE("experiments that are put off become rarer, up to one a minute") {
    DutyExperiment experiment;
    std::int64_t now = 0;
    for (const int seconds : {10, 20, 40, 60, 60}) {
        experiment.put_off(now);
        now += seconds * kSecond;
        experiment.begin(now - 1);
        CHECK_FALSE(experiment.is_on());
    }
    experiment.hurry(now);
    experiment.begin(now);
    CHECK(experiment.is_on());
    experiment.put_off(now);
    DutyExperiment other;
    other.put_off(0);
    other.hurry(0);
    other.put_off(0);
    other.begin(10 * kSecond);
    CHECK(other.is_on());
}
