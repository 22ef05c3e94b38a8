// The scheduler's choice of thread count and duty cycle on simulated machines.
#include "machine.hpp"

#include <algorithm>
#include <cstdio>

#include <doctest/doctest.h>

#include "core/schedule/activity.hpp"
#include "core/schedule/duty_controller.hpp"
#include "core/schedule/scheduled.hpp"
#include "support/full.hpp"

namespace {

constexpr double kNs = 1e6;
constexpr double kKept = 0.5; // percentage points of missed frames above those of the game alone
constexpr double kForMs = 40'000;
constexpr double kFromMs = 10'000;

std::int64_t ns(double ms) {
    return static_cast<std::int64_t>(ms * kNs) + 1'000'000'000;
}

class Fixed : public sim::Policy {
public:
    explicit Fixed(std::uint32_t threads) : threads_(threads) {}
    Choice next(double) override { return {threads_, 0}; }
    void stepped(std::uint32_t, bool, double, double) override {}
    void frame(double, double, bool) override {}

private:
    std::uint32_t threads_;
};

// The policy of the control thread, built from its classes.
class Sotto : public sim::Policy {
public:
    explicit Sotto(const sim::Machine& machine) : machine_(machine), cores_{.busy = machine.game.jobs} {}

    Choice next(double now_ms) override {
        constexpr double kFrame = 4;    // ms between polls for the end of a frame
        constexpr double kStale = 1000; // ms without a frame, as in core/schedule/frame.hpp
        cores_.usable = static_cast<std::uint32_t>(machine_.cores_at(now_ms));
        const bool told = now_ms - last_frame_ms_ < kStale;
        const auto max = told ? duty_.threads(cores_) : cores_.max();
        const bool probes = told && duty_.probes();
        if (!probes) {
            model_.thread_count.set_max(max, ns(now_ms));
        }
        const auto rest = told && duty_.rests() ? kFrame
                          : told ? static_cast<double>(sotto::rest_of(duty_.duty(), took_)) / kNs
                                 : 0;
        took_ = 0;
        threads = probes ? max : model_.thread_count.now();
        model_.costs.prepare(threads);
        return {threads, rest};
    }

    void stepped(std::uint32_t used, bool prompt, double began_ms, double took_ms) override {
        sotto::StepLoad load;
        prompt ? load.add_prompt(24, 256) : load.add_answer(512);
        took_ = static_cast<std::int64_t>(took_ms * kNs);
        model_.learn({used, load, took_, ns(began_ms + took_ms), false});
        activity_.ran(ns(began_ms), ns(began_ms + took_ms));
        since_ = ns(began_ms + took_ms);
    }

    void frame(double begin_ms, double end_ms, bool missed) override {
        const auto period = machine_.game_at(end_ms).period_ms;
        const sotto::Frame frame = {ns(begin_ms), ns(end_ms), ns(period) - ns(0), missed};
        duty_.frame(frame, activity_.during(frame, since_), {0.75, true, cores_}); // as in mode `balance`
        last_frame_ms_ = end_ms;
    }

    std::uint32_t threads = 1;
    double duty() const { return duty_.duty(); }

private:
    const sim::Machine& machine_;
    sotto::Cores cores_;
    double last_frame_ms_ = 0;
    sotto::ScheduledModel model_;
    sotto::DutyController duty_;
    sotto::Activity activity_;
    std::int64_t took_ = 0;
    std::int64_t since_ = 0; // start of the running step
};

// Returns the highest throughput of a fixed thread count with at most that many missed frames, and the thread
// count.
std::pair<double, std::uint32_t> best_fixed(const sim::Machine& machine, double missed_pct, unsigned seed) {
    std::pair<double, std::uint32_t> best{0, 0};
    for (std::uint32_t threads = 1; threads <= machine.cores.size(); ++threads) {
        Fixed fixed(threads);
        const auto found = sim::run(machine, &fixed, kForMs, kFromMs, seed);
        if (found.missed_pct <= missed_pct) {
            best = std::max(best, {found.steps_per_s, threads});
        }
    }
    return best;
}

} // namespace

TEST_CASE(
    "on eight simulated machines the chosen thread count is within 5 % of the best, with frames on time"
) {
    for (const auto& machine : sim::machines()) {
        for (unsigned seed = 1; seed <= (test::is_full() ? 5U : 2U); ++seed) {
            CAPTURE(machine.name);
            CAPTURE(seed);
            const auto alone = sim::run(machine, nullptr, kForMs, kFromMs, seed);
            const auto [best, best_threads] = best_fixed(machine, alone.missed_pct + kKept, seed);
            Sotto sotto(machine);
            const auto found = sim::run(machine, &sotto, kForMs, kFromMs, seed);
            std::printf(
                "%-34s best fixed %2u threads %4.0f; chosen %2u, duty %.2f: %.3f of it, missed %.2f %% "
                "(alone %.2f)\n",
                machine.name.c_str(),
                best_threads,
                best,
                sotto.threads,
                sotto.duty(),
                found.steps_per_s / best,
                found.missed_pct,
                alone.missed_pct
            );
            CHECK(best_threads > 0);
            CHECK(found.steps_per_s >= 0.95 * best);
            CHECK(found.missed_pct <= alone.missed_pct + kKept);
        }
    }
}

TEST_CASE("2 s after a disturbance throughput is 85 % of normal, with frames on time meanwhile") {
    constexpr double kFrom = 20'000;
    constexpr double kUntil = 32'000;
    constexpr double kAgain = kUntil + 2000;
    const std::vector<sim::Disturbance> disturbances = {
        {.name = "a game that is late with every frame", .game = {1, 20}},
        {.name = "a game that says so of frames that are not", .game = {1, 8}, .late = true},
        {.name = "a game that tells of no frame any more", .game = {1, 8}, .tells = false},
        {.name = "one frame of 12 s", .game = {1, 12'000, 0}},
        {.name = "1,000 FPS", .game = {.work_ms = 0.4, .period_ms = 1}},
        {.name = "5 FPS", .game = {.work_ms = 90, .period_ms = 200}},
        {.name = "a single core is left", .game = {1, 8}, .cores = 1},
        {.name = "another process on every core", .game = {64, 14}},
    };
    for (const auto& machine : sim::machines()) {
        for (const auto& disturbance : disturbances) {
            auto disturbed = machine;
            disturbed.disturbance = disturbance;
            disturbed.disturbance->from_ms = kFrom;
            disturbed.disturbance->until_ms = kUntil;
            CAPTURE(machine.name);
            CAPTURE(disturbance.name);
            Sotto before(machine);
            const auto usual = sim::run(machine, &before, kAgain + 10'000, kAgain, 1);
            Sotto after(disturbed);
            const auto found = sim::run(disturbed, &after, kAgain + 10'000, kAgain, 1);
            const auto alone = sim::run(disturbed, nullptr, kUntil, kFrom, 1);
            Sotto beside(disturbed);
            const auto meanwhile = sim::run(disturbed, &beside, kUntil, kFrom, 1);
            std::printf(
                "%-34s %-44s then %.3f, missed %.2f %%; meanwhile %4.1f steps/s, missed %.2f %% (alone "
                "%.2f)\n",
                machine.name.c_str(),
                disturbance.name.c_str(),
                found.steps_per_s / usual.steps_per_s,
                found.missed_pct,
                meanwhile.steps_per_s,
                meanwhile.missed_pct,
                alone.missed_pct
            );
            CHECK(found.steps_per_s >= 0.85 * usual.steps_per_s); // including trials of thread counts
            CHECK((alone.missed_pct > 50 || meanwhile.missed_pct <= alone.missed_pct + 1));
        }
    }
}
