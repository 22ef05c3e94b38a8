// Deterministic event-driven simulation of a machine, a game and models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sim {

struct Core {
    double speed = 1;
    int sibling = -1; // the other hardware thread of this core; -1: none
};

// Work of the game in each frame: `jobs` concurrent jobs of some milliseconds each on a core of speed 1,
// scaled randomly from frame to frame.
struct Game {
    std::uint32_t jobs = 1;
    double work_ms = 8;
    double varies = 0.1;    // relative standard deviation of a frame's work
    double jobs_vary = 0;   // relative standard deviation of the number of jobs
    double slowed_each = 0; // slowdown per running model thread, from shared memory bandwidth
    double period_ms = 1000.0 / 60;
};

// Step times. Measured on one core: the 110 M model with four streams on an AMD EPYC 7003, by frames.py
// --account; with two cores, decoding takes 22.5 ms, to which the barriers are fitted. The effects of memory,
// siblings and slower cores are assumed, not measured.
struct StepModel {
    double decode_ms = 38;
    double prompt_ms = 128;
    double prompts = 0.35;   // fraction of steps that include prefill
    double together = 0.85;  // fraction of the work that threads distribute dynamically
    double barrier_us = 6.7; // per barrier, growing with the number of threads
    double barriers = 260;   // per step
    double shared_us = 8;    // per barrier, if two threads share a core
    double memory = 8;       // maximum speed-up of decoding that memory bandwidth permits, in cores
    double scatter = 0.05;
};

// A temporary change of conditions.
struct Disturbance {
    std::string name;
    double from_ms = 0;
    double until_ms = 0;
    Game game = {};
    std::uint32_t cores = 0; // available cores; 0: all
    bool tells = true;       // the game reports frames
    bool late = false;       // each frame is reported as missed
};

struct Machine {
    std::string name;
    std::vector<Core> cores;
    double smt = 0.62; // speed of each of two busy siblings
    Game game;
    StepModel steps;
    std::optional<Disturbance> disturbance = {};

    const Disturbance* disturbed(double now_ms) const noexcept {
        return disturbance && now_ms >= disturbance->from_ms && now_ms < disturbance->until_ms ? &*disturbance
                                                                                               : nullptr;
    }
    const Game& game_at(double now_ms) const noexcept {
        const auto* other = disturbed(now_ms);
        return other != nullptr ? other->game : game;
    }
    std::size_t cores_at(double now_ms) const noexcept {
        const auto* other = disturbed(now_ms);
        return other != nullptr && other->cores != 0 ? other->cores : cores.size();
    }
};

// Decides `threads` and `duty` before each step.
class Policy {
public:
    virtual ~Policy() = default;
    struct Choice {
        std::uint32_t threads = 1;
        double rest_ms = 0; // pause before the step
    };
    virtual Choice next(double now_ms) = 0;
    virtual void stepped(std::uint32_t threads, bool prompt, double began_ms, double took_ms) = 0;
    virtual void frame(double begin_ms, double end_ms, bool missed) = 0;
};

struct Outcome {
    double steps_per_s = 0; // throughput in steps per second
    double missed_pct = 0;
};

// Simulates the game beside models until `for_ms`, and measures from `from_ms` on. `policy` null: the game
// alone.
Outcome run(const Machine& machine, Policy* policy, double for_ms, double from_ms, unsigned seed);

// Returns the eight machines.
std::vector<Machine> machines();

} // namespace sim
