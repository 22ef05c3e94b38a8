// A trial of another number of threads.
#include <doctest/doctest.h>

#include "core/schedule/thread_trial.hpp"

using sotto::StepWindow;
using sotto::ThreadTrial;
using Verdict = ThreadTrial::Verdict;

namespace {

constexpr std::int64_t kStep = 20'000'000; // as predicted on the settled number
constexpr std::uint32_t kSettled = 8;

// Steps on the number that is tried take `factor` times as long. Returns the verdict; open after 1000 steps.
Verdict verdict_for(std::uint32_t count, double factor) {
    ThreadTrial trial;
    trial.begin(count);
    for (int i = 0; i < 1000; ++i) {
        const auto took = trial.is_elsewhere() ? static_cast<std::int64_t>(kStep * factor) : kStep;
        const auto verdict = trial.add(took, kStep, kSettled);
        if (verdict == Verdict::adopt || verdict == Verdict::reject) {
            return verdict;
        }
    }
    return Verdict::open;
}

} // namespace

TEST_CASE("a window is full after 200 ms of steps, and two of them") {
    StepWindow window;
    CHECK_FALSE(window.add(300'000'000, kStep));
    CHECK(window.add(kStep, kStep));
    CHECK(window.steps() == 2);
    CHECK(window.rate() == doctest::Approx(0.125));
    StepWindow lone;
    CHECK(lone.add(1'000'000'000, kStep));
}

TEST_CASE("a number of threads that is clearly faster is adopted, and a slower one rejected") {
    CHECK(verdict_for(6, 0.7) == Verdict::adopt);
    CHECK(verdict_for(6, 1.1) == Verdict::reject);
    CHECK(verdict_for(6, 1.0) == Verdict::reject);
}

TEST_CASE("windows on the two numbers alternate") {
    ThreadTrial trial;
    CHECK(trial.count() == 0);
    trial.begin(6);
    CHECK(trial.count() == 6);
    CHECK_FALSE(trial.is_elsewhere());
    for (int window = 0; window < 2; ++window) {
        for (int i = 0; i < 9; ++i) {
            CHECK(trial.add(kStep, kStep, kSettled) == Verdict::open);
        }
        CHECK(trial.add(kStep, kStep, kSettled) == Verdict::next_window);
        CHECK(trial.is_elsewhere() == (window == 0));
    }
    CHECK(trial.elsewhere_ns() == 10 * kStep);
    trial.end();
    CHECK(trial.count() == 0);
    CHECK(trial.elsewhere_ns() == 10 * kStep);
}

TEST_CASE("a trial ends early if the other number is hopeless") {
    ThreadTrial trial;
    trial.begin(6);
    while (!trial.is_elsewhere()) {
        trial.add(kStep, kStep, kSettled);
    }
    CHECK(trial.add(2 * kStep, kStep, kSettled) == Verdict::open); // a single short step says little
    CHECK(trial.add(2 * kStep, kStep, kSettled) == Verdict::reject);
}
