// When numbers of threads are tried.
#include <doctest/doctest.h>

#include "core/schedule/trial_schedule.hpp"

using sotto::TrialSchedule;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kStep = 20'000'000;

// Steps that take as long as predicted, until a trial is due.
std::int64_t next_trial(TrialSchedule& schedule, std::int64_t now, double elsewhere_ns = 0) {
    while (!schedule.stepped(kStep, kStep, elsewhere_ns, now)) {
        now += kStep;
    }
    return now;
}

} // namespace

TEST_CASE("the first trial comes after two seconds") {
    TrialSchedule schedule;
    schedule.restart(nullptr, kSecond);
    CHECK(next_trial(schedule, kSecond) == 3 * kSecond);
}

TEST_CASE("trials that fail become rarer, but trials of more threads not rarer than every five seconds") {
    TrialSchedule schedule;
    schedule.restart(nullptr, 0);
    std::int64_t now = 0;
    for (const int seconds : {4, 8, 16, 32, 32}) {
        schedule.rejected(0, false, now);
        CHECK(next_trial(schedule, now) - now == seconds * kSecond);
        now += 100 * kSecond;
    }
    schedule.rejected(0, true, now);
    CHECK(next_trial(schedule, now) - now == 5 * kSecond);
}

TEST_CASE("after a trial that succeeded the next one comes soon") {
    TrialSchedule schedule;
    schedule.restart(nullptr, 0);
    schedule.rejected(0, false, 0);
    schedule.adopted(0);
    CHECK(next_trial(schedule, 0) < kSecond);
}

TEST_CASE("few steps belong to trials") {
    TrialSchedule schedule;
    schedule.restart(nullptr, 0);
    schedule.rejected(static_cast<double>(kSecond), false, 0); // which took a second
    CHECK(next_trial(schedule, 0, static_cast<double>(kSecond)) >= 24 * kSecond);
}

TEST_CASE("a trial is brought forward if step times change suddenly") {
    TrialSchedule schedule;
    schedule.restart(nullptr, 0);
    for (int i = 0; i < 6; ++i) {
        schedule.rejected(0, false, 0);
    }
    std::int64_t now = kSecond;
    while (!schedule.stepped(2 * kStep, kStep, 0, now)) {
        now += 2 * kStep;
    }
    CHECK(now < 2 * kSecond);
}

TEST_CASE("a schedule is taken up where it was left") {
    TrialSchedule schedule;
    schedule.restart(nullptr, 0);
    schedule.rejected(0, false, 0);
    schedule.rejected(0, false, 0);
    const auto saved = schedule.saved();
    schedule.restart(nullptr, 0);
    CHECK(next_trial(schedule, 0) == 2 * kSecond);
    schedule.restart(&saved, 0);
    CHECK(next_trial(schedule, 0) == 8 * kSecond);
}
