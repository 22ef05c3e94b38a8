#include "core/schedule/idle_class.hpp"

#include <algorithm>
#include <chrono>

#include "platform/clock.hpp"
#include "platform/thread.hpp"

namespace sotto {
namespace {

constexpr std::int64_t kPatience = 100'000'000; // ns; timeout of a probe; first tokens wait for its result

} // namespace

IdleClass::Verdict IdleClass::ask(std::int64_t now) const noexcept {
    if (avoided_) {
        return Verdict::avoid;
    }
    // A running probe that has timed out does not make steps wait if the probe or a step got a core: the
    // probe may be stuck on another, busy core for a long time.
    return now < trusted_until_ || (probing_ && judged_) ? Verdict::use : Verdict::wait;
}

std::int64_t IdleClass::wake(std::int64_t now) const noexcept {
    return ask(now) == Verdict::wait && probing_ ? probe_began_ + kPatience : kNever;
}

bool IdleClass::wants_probe(std::int64_t now) const noexcept {
    constexpr std::int64_t kEvery = 5 * kSecond; // time between probes: which cores run idle threads changes
    if (probing_) {
        return false;
    }
    return avoided_ ? now >= next_probe_ : now >= trusted_until_ || now - probe_began_ > kEvery;
}

void IdleClass::probe_began(std::int64_t now) noexcept {
    probing_ = true;
    judged_ = false;
    probe_began_ = now;
}

void IdleClass::probe_is(bool ran_once, bool over, std::int64_t now) noexcept {
    if (!probing_) {
        return;
    }
    const bool late = now - probe_began_ >= kPatience;
    if (!judged_ && (late || over)) {
        judged_ = true;
        judge(ran_once, over && !late, now);
    }
    probing_ = !over;
}

void IdleClass::judge(bool ran_once, bool in_time, std::int64_t now) noexcept {
    constexpr std::int64_t kAgain = kSecond / 4;
    everywhere_ = in_time;
    if (!avoided_) {
        if (ran_once) {
            ran(now);
        } else if (now >= trusted_until_) { // no step made progress recently either
            stood_still(now);
        }
        return;
    }
    passed_ = in_time ? passed_ + 1 : 0;
    next_probe_ = now + (in_time ? kAgain : kSecond);
    if (passed_ >= needed_) {
        avoided_ = false;
        ran(now);
    }
}

void IdleClass::cannot_probe(std::int64_t now) noexcept {
    avoided_ = false;
    ran(now);
}

void IdleClass::ran(std::int64_t now) noexcept {
    constexpr std::int64_t kForgotten = 30 * kSecond;
    trusted_until_ = now + kSecond;
    if (now - stood_at_ > kForgotten) {
        needed_ = 1;
    }
}

void IdleClass::stood_still(std::int64_t now) noexcept {
    constexpr std::uint32_t kMaxNeeded = 8;
    trusted_until_ = 0;
    avoided_ = true;
    passed_ = 0;
    needed_ = std::min(2 * needed_, kMaxNeeded);
    stood_at_ = now;
    next_probe_ = now + kSecond;
}

IdleProbe::~IdleProbe() {
    stopping_ = true;
    if (const auto number = number_.load(); number != 0) {
        raise_thread_class(number); // the join below must not wait for an idle thread that gets no core
    }
    wake_.notify();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void IdleProbe::begin() {
    if (!thread_.joinable()) {
        hooks_.outlives->has_yielding_threads = true;
        thread_ = std::thread([this] { work(); });
    }
    has_run_ = false;
    under_way_.store(true, std::memory_order_release);
    wake_.notify();
}

void IdleProbe::work() {
    hooks_.thread_started("probe");
    number_ = thread_number(); // before set_thread_class(): an idle thread may get no core for seconds
    if (!stopping_.load()) {
        set_thread_class(ThreadClass::idle);
    }
    while (!stopping_.load()) {
        const auto seen = wake_.value();
        if (!under_way_.load()) {
            wake_.wait(seen, -1);
            continue;
        }
        run();
        under_way_.store(false, std::memory_order_release);
        told_.notify();
    }
}

// Runs one probe: sleeps, to test whether the thread gets a core again; then computes,
// to test whether the thread keeps the core.
void IdleProbe::run() noexcept {
    constexpr int kTimes = 3;
    constexpr std::chrono::microseconds kNap(500);
    constexpr std::int64_t kWork = 1'000'000;
    constexpr unsigned kMaxCores = 16; // machines with more cores hardly have all of them busy
    const auto compute = [] {
        for (const auto begin = system_clock().now(); system_clock().now() - begin < kWork;) {
        }
    };
    for (int i = 0; i < kTimes && !stopping_.load(); ++i) {
        std::this_thread::sleep_for(kNap);
        compute();
    }
    has_run_.store(true, std::memory_order_release);
    if (usable_cores() <= kMaxCores) {
        const auto ours = thread_affinity();
        for (unsigned core = 0; core < CoreSet::kMax && !stopping_.load(); ++core) {
            CoreSet alone;
            alone.add(core);
            if (ours.has(core) && set_thread_affinity(alone)) {
                std::this_thread::yield();
                compute();
            }
        }
        set_thread_affinity(ours);
    }
}

} // namespace sotto
