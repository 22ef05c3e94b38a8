// Reducing the duty cycle of models if they cause missed frames.
#include "core/schedule/duty_controller.hpp"

#include <functional>
#include <random>

#include <doctest/doctest.h>

#include "core/schedule/activity.hpp"

using sotto::Activity;
using sotto::Beside;
using sotto::DutyController;
using sotto::Frame;

namespace {

constexpr std::int64_t kPeriod = 16'666'667;
constexpr DutyController::Terms kInTheWay = {0.05, false, {.usable = 1}};
constexpr DutyController::Terms kYielding = {0.5, true, {.usable = 1}};

// A simulated game beside models that always have work.
class Game {
public:
    struct Seen {
        double missed = 0; // fraction of all frames
        double duty = 0;   // mean, including pauses
    };

    explicit Game(const DutyController::Terms& terms, unsigned seed = 7) : terms_(terms), random_(seed) {}

    // Simulates frames; `odds` gives the probability of a missed frame for the current duty cycle.
    Seen play(int frames, const std::function<double(double)>& odds) {
        Seen seen;
        for (int i = 0; i < frames; ++i) {
            const bool rests = duty.rests();
            const auto part = rests ? 0.0 : duty.duty();
            const bool misses = static_cast<double>(random_() % 10'000) < 10'000 * odds(part);
            at_ += kPeriod;
            duty.frame({at_, at_ + 1, kPeriod, misses}, rests ? Beside::rested : Beside::ran, terms_);
            seen.missed += misses ? 1.0 / frames : 0;
            seen.duty += part / frames;
        }
        return seen;
    }

    DutyController duty;

private:
    DutyController::Terms terms_;
    std::mt19937 random_;
    std::int64_t at_ = 0;
};

double always(double odds, double /*duty*/) {
    return odds;
}

} // namespace

TEST_CASE("a game that misses no frames leaves models all their time") {
    Game game(kYielding);
    CHECK(game.play(1000, [](double) { return 0.0; }).duty == doctest::Approx(1));
}

TEST_CASE("a single late frame does not cut the duty cycle") {
    Game game(kYielding);
    CHECK(
        game.play(1000, [i = 0](double) mutable { return i++ % 200 == 0 ? 1.0 : 0.0; }).duty ==
        doctest::Approx(1)
    );
}

TEST_CASE("models that cause missed frames are cut within a second, until frames are on time") {
    Game game(kInTheWay);
    const auto odds = [](double duty) { return duty > 0.5 ? 0.5 : 0.0; };
    game.play(120, odds);
    CHECK(game.duty.duty() < 0.7);
    const auto seen = game.play(10'000, odds);
    CHECK(seen.missed < 0.03);
    CHECK(seen.duty > 0.3);
}

TEST_CASE("models that yield are cut too if they are the cause, down to the minimum") {
    Game game(kYielding);
    const auto odds = [](double duty) { return duty > 0.8 ? 0.3 : 0.0; };
    CHECK(game.play(5'000, odds).missed < 0.05);
    Game worse(kYielding);
    worse.play(2'000, [](double duty) { return duty > 0 ? 0.5 : 0.0; });
    CHECK(worse.duty.duty() >= kYielding.min);
    CHECK(worse.duty.duty() < 0.8);
}

TEST_CASE("threads are cut before time, and return once they do no harm") {
    constexpr sotto::Cores kCores = {.usable = 8, .busy = 4};
    Game game({0.5, true, kCores});
    CHECK(game.duty.threads(kCores) == 8);
    const auto harmful = [&](double duty) { return duty > 0 && game.duty.threads(kCores) > 6 ? 0.5 : 0.0; };
    const auto seen = game.play(3'000, harmful);
    CHECK(seen.missed < 0.03);
    CHECK(seen.duty > 0.9);
    CHECK(game.duty.threads(kCores) == 6);
    game.play(300, [](double) { return 0.0; });
    CHECK(game.duty.threads(kCores) == 8);
}

TEST_CASE("missed frames that the game causes cost models at most a twentieth of their time") {
    for (const double own : {0.02, 0.05, 0.2, 0.6, 1.0}) {
        for (unsigned seed = 1; seed < 6; ++seed) {
            CAPTURE(own);
            CAPTURE(seed);
            Game game(kYielding, seed);
            CHECK(game.play(3'600, [&](double duty) { return always(own, duty); }).duty > 0.93);
        }
    }
}

TEST_CASE("models that cause missed frames at the minimum are not stopped for experiments") {
    Game game({1, true, {.usable = 1}});
    CHECK(game.play(6'000, [](double duty) { return duty > 0 ? 0.5 : 0.0; }).duty > 0.97);
}

TEST_CASE("models are never stopped completely, and have all their time back within four seconds") {
    Game game(kInTheWay);
    game.play(600, [](double duty) { return duty > 0 ? 1.0 : 0.0; });
    CHECK(game.duty.duty() > 0);
    CHECK(game.duty.duty() <= 0.1);
    game.play(260, [](double) { return 0.0; });
    CHECK(game.duty.duty() == 1);
}

TEST_CASE("an experiment ends if models have no work or a step does not return") {
    DutyController duty;
    for (int i = 0; i < 2'000; ++i) {
        duty.frame({i * kPeriod, i * kPeriod + 1, kPeriod, true}, Beside::both, kYielding);
        CHECK(duty.duty() == 1);
    }
    int rested = 0;
    for (int i = 2'000; i < 4'000; ++i) {
        duty.frame({i * kPeriod, i * kPeriod + 1, kPeriod, true}, Beside::both, kYielding);
        rested += duty.rests() ? 1 : 0;
    }
    CHECK(rested < 200);
}

TEST_CASE("the compute time of models in a frame is derived from their jobs") {
    Activity activity;
    activity.ran(100, 200);
    activity.ran(205, 300);
    const auto during = [&](std::int64_t begin, std::int64_t end, std::int64_t since) {
        return activity.during({begin, end, 0, false}, since);
    };
    CHECK(during(120, 280, INT64_MAX) == Beside::ran);
    CHECK(during(310, 400, INT64_MAX) == Beside::rested);
    CHECK(during(310, 400, 320) == Beside::ran);
    CHECK(during(250, 400, INT64_MAX) == Beside::both);
}
