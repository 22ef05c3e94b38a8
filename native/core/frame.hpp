// What the game says about its frames. Written by the game's threads, read by ours.
#pragma once

#include <atomic>
#include <cstdint>

namespace sotto {

class Frames {
public:
    struct Report {
        std::uint64_t begun = 0;
        std::uint64_t ended = 0;
        std::uint64_t period_ns = 0;
        float busy_ms = 0;
        float gpu_ms = 0;
    };

    void begin(std::int64_t time, std::uint32_t busy_cores, std::uint64_t period_ns) noexcept {
        busy_cores_.store(busy_cores == 0 ? 1 : busy_cores, std::memory_order_relaxed);
        period_ns_.store(period_ns, std::memory_order_relaxed);
        began_.store(time, std::memory_order_relaxed);
        begun_.fetch_add(1, std::memory_order_relaxed);
        last_.store(time, std::memory_order_release);
    }

    void end(std::int64_t time, float busy_ms, float gpu_ms) noexcept {
        constexpr float kMillisecond = 1e6F;
        const auto began = began_.load(std::memory_order_relaxed);
        if (busy_ms == 0 && began != 0 && time > began) {
            busy_ms = static_cast<float>(time - began) / kMillisecond;
        }
        busy_ms_.store(busy_ms, std::memory_order_relaxed);
        gpu_ms_.store(gpu_ms, std::memory_order_relaxed);
        ended_.fetch_add(1, std::memory_order_relaxed);
        last_.store(time, std::memory_order_release);
    }

    // How many cores the game keeps busy. A game that said nothing, or nothing for a second, has one
    // thread that matters.
    std::uint32_t busy_cores(std::int64_t now) const noexcept {
        constexpr std::int64_t kStale = 1'000'000'000;
        const auto last = last_.load(std::memory_order_acquire);
        return last != 0 && now - last < kStale ? busy_cores_.load(std::memory_order_relaxed) : 1;
    }

    Report report() const noexcept {
        return {
            .begun = begun_.load(std::memory_order_relaxed),
            .ended = ended_.load(std::memory_order_relaxed),
            .period_ns = period_ns_.load(std::memory_order_relaxed),
            .busy_ms = busy_ms_.load(std::memory_order_relaxed),
            .gpu_ms = gpu_ms_.load(std::memory_order_relaxed),
        };
    }

private:
    std::atomic<std::int64_t> last_{0};
    std::atomic<std::int64_t> began_{0};
    std::atomic<std::uint64_t> begun_{0};
    std::atomic<std::uint64_t> ended_{0};
    std::atomic<std::uint64_t> period_ns_{0};
    std::atomic<std::uint32_t> busy_cores_{1};
    std::atomic<float> busy_ms_{0};
    std::atomic<float> gpu_ms_{0};
};

} // namespace sotto
