#include "support/game.hpp"

#include <algorithm>

namespace bench {

namespace {

constexpr int kMemoryBits =
    15; // 256 KiB a thread, as a game's jobs have memory that others push out of a cache

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// How long the work takes within a frame loop: the median, after a moment to warm up.
double work_ms_of(Work& work, double seconds) {
    std::vector<double> took;
    Clock::time_point began;
    play(
        work,
        seconds,
        {.begin = [&] { began = Clock::now(); },
         .end = [&] { took.push_back(milliseconds(began, Clock::now())); }}
    );
    took.erase(took.begin(), took.begin() + static_cast<std::ptrdiff_t>(took.size() / 4));
    return median(took);
}

} // namespace

Work::Work(std::uint32_t threads, std::uint64_t iterations)
    : iterations_(iterations), memories_(threads, Memory(std::size_t{1} << kMemoryBits, 1)) {
    for (std::uint32_t i = 0; threads > 1 && i < threads; ++i) {
        workers_.emplace_back([this, &memory = memories_[i]] {
            for (std::uint32_t done = 0;; ++done) {
                begun_.wait(done);
                if (ends_) {
                    return;
                }
                run(memory);
                if (--left_ == 0) {
                    left_.notify_one();
                }
            }
        });
    }
}

Work::~Work() {
    ends_ = true;
    ++begun_;
    begun_.notify_all();
    for (auto& worker : workers_) {
        worker.join();
    }
}

void Work::once() {
    if (workers_.empty()) {
        run(memories_.front());
        return;
    }
    left_ = static_cast<std::uint32_t>(workers_.size());
    ++begun_;
    begun_.notify_all();
    for (auto left = left_.load(); left != 0; left = left_.load()) {
        left_.wait(left);
    }
}

// Each value hangs on the one before, by way of memory: nothing of it can be left out or foreseen.
void Work::run(Memory& memory) {
    std::uint64_t value = memory.front();
    for (std::uint64_t i = 0; i < iterations_; ++i) {
        value = value * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
        auto& cell = memory[value >> (64 - kMemoryBits)];
        value ^= cell;
        cell = value;
    }
    memory.front() = value;
}

Played play(Work& work, double seconds, const Beside& beside) {
    Played played;
    played.began = Clock::now() + kPeriod;
    const auto last = after(played.began, seconds);
    auto start = played.began;
    while (start < last) {
        std::this_thread::sleep_until(start);
        if (beside.begin) {
            beside.begin();
        }
        work.once();
        const auto end = Clock::now();
        if (beside.end) {
            beside.end();
        }
        const auto took = end - start;
        played.frames_us.push_back(static_cast<std::uint64_t>(milliseconds(start, end) * 1000));
        start += std::max<std::int64_t>(1, (took + kPeriod - Clock::duration{1}) / kPeriod) * kPeriod;
    }
    played.ended = start;
    return played;
}

std::string told(const Played& played, std::uint64_t tokens, std::uint64_t answers) {
    return R"({"began_ns": )" + std::to_string(nanoseconds(played.began)) + R"(, "ended_ns": )" +
           std::to_string(nanoseconds(played.ended)) + R"(, "tokens": )" + std::to_string(tokens) +
           R"(, "answers": )" + std::to_string(answers) + R"(, "frames_us": )" + array(played.frames_us) +
           "}";
}

std::uint64_t calibrated(std::uint32_t threads, double work_ms) {
    constexpr int kTries = 4;
    double iterations = 100'000;
    for (int i = 0; i < kTries; ++i) {
        Work work(threads, static_cast<std::uint64_t>(iterations));
        iterations *= work_ms / work_ms_of(work, i == 0 ? 0.2 : 0.6);
    }
    return static_cast<std::uint64_t>(iterations);
}

} // namespace bench
