// Whether threads of the idle class get processors at all, and how many.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "core/settings.hpp"
#include "platform/signal.hpp"

namespace sotto {

// What was seen of the idle class. The control thread's alone.
//
// Where other programs take every core, a thread of the idle class stands still for seconds, and what it has
// begun cannot be taken from it: on Linux there is no way back from that class without privileges. So the
// class is used for as long as it was seen to run, by a step or a probe. Where it was not, the normal one is
// used until some probes in a row have run.
class IdleClass {
public:
    enum class Verdict : std::uint8_t { use, wait, avoid };

    Verdict ask(std::int64_t now) const noexcept;
    // When a probe that others wait for is late; kNever: nobody waits for one.
    std::int64_t wake(std::int64_t now) const noexcept;

    // Whether it is time to begin a probe.
    bool wants_probe(std::int64_t now) const noexcept;
    void probe_began(std::int64_t now) noexcept;
    // How far the probe is that began. `ran`: its thread got cores; `over`: each of them.
    void probe_is(bool ran, bool over, std::int64_t now) noexcept;
    // There is no thread for a probe: the class is believed to run.
    void cannot_probe(std::int64_t now) noexcept;
    // A step took as long as it should.
    void ran(std::int64_t now) noexcept;
    // A step, or a probe, took far longer.
    void stood_still(std::int64_t now) noexcept;

    // Whether each core was seen to run it, so that threads may wait for each other.
    bool runs_everywhere() const noexcept { return everywhere_; }

private:
    static constexpr std::int64_t kSecond = 1'000'000'000;

    void judge(bool ran_once, bool in_time, std::int64_t now) noexcept;

    std::int64_t trusted_until_ = 0;
    bool avoided_ = false;
    std::uint32_t needed_ = 1; // probes in a row that must run before the class is used again
    std::uint32_t passed_ = 0; // so far
    std::int64_t stood_at_ = 0;
    std::int64_t next_probe_ = 0;
    std::int64_t probe_began_ = 0;
    bool probing_ = false;
    bool judged_ = false; // the probe under way is late
    bool everywhere_ = true;
};

// A thread of the idle class that tries to run: a few times anywhere, then once on each core.
class IdleProbe {
public:
    // `told` is told when it has.
    IdleProbe(const Hooks& hooks, Signal& told) : hooks_(hooks), told_(told) {}
    ~IdleProbe();

    // Not while one is under way. Throws where there is no thread to be had.
    void begin();
    bool is_under_way() const noexcept { return under_way_.load(std::memory_order_acquire); }
    // It ran; and ran everywhere.
    bool has_run() const noexcept { return has_run_.load(std::memory_order_acquire); }
    bool ran_everywhere() const noexcept { return everywhere_.load(std::memory_order_acquire); }

private:
    void work();
    void run() noexcept;

    const Hooks& hooks_;
    Signal& told_;
    Signal wake_;
    std::atomic<bool> under_way_{false};
    std::atomic<bool> has_run_{false};
    std::atomic<bool> everywhere_{false};
    std::atomic<bool> stopping_{false};
    std::atomic<std::uint64_t> number_{0}; // of the thread, in the system; 0: it has not begun
    std::thread thread_;
};

} // namespace sotto
