// Detects whether threads of the idle scheduling class get any core, and whether every core runs them.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "core/settings.hpp"
#include "platform/signal.hpp"

namespace sotto {

// Decides whether steps use the idle scheduling class. Control thread only.
//
// Where other programs keep every core busy, an idle-class thread makes no progress for seconds, and cannot
// be moved to another class: on Linux a thread cannot leave the idle class without privileges. So steps use
// the idle class only if a step or a probe recently ran in it. Otherwise steps use the normal class until
// enough consecutive probes have run.
class IdleClass {
public:
    enum class Verdict : std::uint8_t { use, wait, avoid };

    Verdict ask(std::int64_t now) const noexcept;
    // Returns when the running probe times out, if steps wait for its result; otherwise kNever.
    std::int64_t wake(std::int64_t now) const noexcept;

    // Returns true if a probe is due.
    bool wants_probe(std::int64_t now) const noexcept;
    void probe_began(std::int64_t now) noexcept;
    // Records the progress of the running probe. `ran`: the probe's thread got a core; `over`: the probe has
    // ended.
    void probe_is(bool ran, bool over, std::int64_t now) noexcept;
    // Call if no probe thread could be started: assumes that threads of the idle class get cores.
    void cannot_probe(std::int64_t now) noexcept;
    // Call when a step in the idle class made progress: the class is used for a while without a probe.
    void ran(std::int64_t now) noexcept;
    // Call when a step or a probe in the idle class got no core: avoids the class until enough probes run.
    void stood_still(std::int64_t now) noexcept;

    // Returns true if every core was seen to run idle threads, so that the threads of a step may wait for
    // each other.
    bool runs_everywhere() const noexcept { return everywhere_; }

private:
    static constexpr std::int64_t kSecond = 1'000'000'000;

    void judge(bool ran_once, bool in_time, std::int64_t now) noexcept;

    std::int64_t trusted_until_ = 0;
    bool avoided_ = false;
    std::uint32_t needed_ = 1; // consecutive probes that must run before the class is used
    std::uint32_t passed_ = 0; // consecutive probes that ran
    std::int64_t stood_at_ = 0;
    std::int64_t next_probe_ = 0;
    std::int64_t probe_began_ = 0;
    bool probing_ = false;
    bool judged_ = false; // the running probe has been judged
    bool everywhere_ = true;
};

// An idle-class thread that tries to run: a few times on any core, then once on each core.
class IdleProbe {
public:
    // Notifies `told` after each probe.
    IdleProbe(const Hooks& hooks, Signal& told) : hooks_(hooks), told_(told) {}
    ~IdleProbe();

    // Starts a probe. Must not be called while is_under_way(). Throws if no thread can be started.
    void begin();
    bool is_under_way() const noexcept { return under_way_.load(std::memory_order_acquire); }
    // Returns true if the last probe got a core.
    bool has_run() const noexcept { return has_run_.load(std::memory_order_acquire); }

private:
    void work();
    void run() noexcept;

    const Hooks& hooks_;
    Signal& told_;
    Signal wake_;
    std::atomic<bool> under_way_{false};
    std::atomic<bool> has_run_{false};
    std::atomic<bool> stopping_{false};
    std::atomic<std::uint64_t> number_{0}; // system thread id; 0: not started
    std::thread thread_;
};

} // namespace sotto
