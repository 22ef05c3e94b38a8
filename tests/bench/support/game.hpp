// A game's double: a frame loop at 60 FPS with a known amount of work in each frame.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support/bench.hpp"

namespace bench {

constexpr std::chrono::nanoseconds kPeriod{16'666'667};

// A frame's work: computing, on one thread or on several that begin together and are waited for. It is so
// many iterations, and not so much time: a thread that is kept from its core takes longer.
class Work {
public:
    // `threads`: 1 works on the thread that calls; more are workers of their own, as in a job system.
    Work(std::uint32_t threads, std::uint64_t iterations);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    void once();

private:
    using Memory = std::vector<std::uint64_t>;

    void run(Memory& memory);

    std::uint64_t iterations_;
    std::vector<Memory> memories_;
    std::atomic<std::uint32_t> begun_{0}; // frames whose work workers may begin
    std::atomic<std::uint32_t> left_{0};  // workers that are not done
    std::atomic<bool> ends_{false};
    std::vector<std::thread> workers_;
};

// What was seen of frames.
struct Played {
    Clock::time_point began; // the first one's schedule
    Clock::time_point ended;
    std::vector<std::uint64_t> frames_us; // from when each was to begin to the end of its work
};

// What is done beside the work; any of them may be empty.
struct Beside {
    std::function<void()> begin; // counts as part of the frame
    std::function<void()> end;
};

// Plays for as long. A frame begins on its vsync; one that misses the next lets it pass, and the following
// frame begins on the first vsync after its end.
Played play(Work& work, double seconds, const Beside& beside);

// As a JSON object, with what characters said meanwhile.
std::string told(const Played& played, std::uint64_t tokens, std::uint64_t answers);

// How many iterations make frames whose work takes so long, on a machine at rest.
std::uint64_t calibrated(std::uint32_t threads, double work_ms);

} // namespace bench
