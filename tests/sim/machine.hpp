// A machine, a game and models on it, simulated: deterministic, in event time.
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

// What the game does in each frame: so many jobs at the same time, each of so many milliseconds on a core of
// speed 1, all of it longer or shorter from frame to frame.
struct Game {
    std::uint32_t jobs = 1;
    double work_ms = 8;
    double varies = 0.1;    // standard deviation of the work of a frame, as a part of it
    double jobs_vary = 0;   // likewise of the number of jobs
    double slowed_each = 0; // by each thread of models that runs meanwhile, for memory that both want
    double period_ms = 1000.0 / 60;
};

// What steps take. Of one core: the 110 M model with four streams on an AMD EPYC 7003, as frames.py --account
// has it; two cores there take 22.5 ms for decoding, beside nobody, which the barriers make up for. What
// memory, siblings and slower cores add is supposed, not measured.
struct StepModel {
    double decode_ms = 38;
    double prompt_ms = 128;
    double prompts = 0.35;   // part of the steps that have prompts in them
    double together = 0.85;  // part of the work that threads divide among them as they come
    double barrier_us = 6.7; // each, and more with more threads
    double barriers = 260;   // of a step
    double shared_us = 8;    // each, where two threads have one core
    double memory = 8;       // the most cores' worth of decoding that memory feeds
    double scatter = 0.05;
};

// What is otherwise for a while.
struct Disturbance {
    std::string name;
    double from_ms = 0;
    double until_ms = 0;
    Game game = {};
    std::uint32_t cores = 0; // that there are; 0: all
    bool tells = true;       // of frames
    bool late = false;       // each frame is told as missed
};

struct Machine {
    std::string name;
    std::vector<Core> cores;
    double smt = 0.62; // speed of each of two siblings that are both busy
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

// How models are run: `threads` and `duty` of the next step, asked before each.
class Policy {
public:
    virtual ~Policy() = default;
    struct Choice {
        std::uint32_t threads = 1;
        double rest_ms = 0; // before the step
    };
    virtual Choice next(double now_ms) = 0;
    virtual void stepped(std::uint32_t threads, bool prompt, double began_ms, double took_ms) = 0;
    virtual void frame(double begin_ms, double end_ms, bool missed) = 0;
};

struct Outcome {
    double steps_per_s = 0; // in steps' worth of work
    double missed_pct = 0;
};

// Runs the game beside models until `for_ms`, and counts from `from_ms` on. `policy` null: the game alone.
Outcome run(const Machine& machine, Policy* policy, double for_ms, double from_ms, unsigned seed);

// The eight machines.
std::vector<Machine> machines();

} // namespace sim
