#include "core/schedule/frame.hpp"

#include <algorithm>
#include <cstdlib>

#include "platform/clock.hpp"

namespace sotto {
namespace {

constexpr std::int64_t kLongestPeriod = 10'000'000'000;

// A period as the game gave it; what no frame has counts as not known.
std::int64_t checked(std::uint64_t period_ns) noexcept {
    return period_ns > static_cast<std::uint64_t>(kLongestPeriod) ? 0 : static_cast<std::int64_t>(period_ns);
}

} // namespace

void Frames::begin(std::int64_t time, std::uint32_t busy_cores, std::uint64_t period_ns) noexcept {
    const auto period = checked(period_ns);
    const auto before = began_.exchange(time, std::memory_order_relaxed);
    const auto since = time - before;
    const bool follows = before != 0 && period > 0 && since > 0 && since < kStale;
    const bool late = follows && since > period + period / 2;
    if (const auto open = working_.exchange(time, std::memory_order_release); open != 0 && follows) {
        keep({open, time, period, late}); // the game tells no ends
    }
    late_.store(late && !counted_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    busy_cores_.store(busy_cores == 0 ? 1 : busy_cores, std::memory_order_relaxed);
    period_ns_.store(static_cast<std::uint64_t>(period), std::memory_order_relaxed);
    begun_.fetch_add(1, std::memory_order_relaxed);
    last_.store(time, std::memory_order_release);
}

void Frames::end(std::int64_t time, float busy_ms, float gpu_ms) noexcept {
    constexpr float kMost = 60'000;
    auto began = working_.exchange(0, std::memory_order_acq_rel);
    if (busy_ms > 0) {
        began = time - static_cast<std::int64_t>(std::min(busy_ms, kMost) * 1e6F);
    }
    const auto took = time - began;
    if (began != 0 && took >= 0 && took < kStale) {
        const auto period = static_cast<std::int64_t>(period_ns_.load(std::memory_order_relaxed));
        busy_ms = static_cast<float>(milliseconds(took));
        const auto usual = usual_ns_.load(std::memory_order_relaxed);
        usual_ns_.store(usual == 0 ? took : usual + (took - usual) / 8, std::memory_order_relaxed);
        const bool late = late_.exchange(false, std::memory_order_relaxed);
        const bool missed = period > 0 && (took > period || late);
        counted_.store(missed, std::memory_order_relaxed); // the next one comes late for it
        keep({began, time, period, missed});
    }
    busy_ms_.store(busy_ms, std::memory_order_relaxed);
    gpu_ms_.store(gpu_ms, std::memory_order_relaxed);
    ended_.fetch_add(1, std::memory_order_relaxed);
    last_.store(time, std::memory_order_release);
}

void Frames::keep(const Frame& frame) noexcept {
    if (frame.end < frame.begin) {
        return; // of calls from several threads
    }
    missed_.fetch_add(frame.missed ? 1 : 0, std::memory_order_relaxed);
    const auto count = written_.fetch_add(1, std::memory_order_relaxed);
    auto& kept = kept_[count % kKept];
    if (kept.count.exchange(kWriting, std::memory_order_seq_cst) == kWriting) {
        return; // a thread that was suspended for hundreds of frames still writes here
    }
    kept.begin.store(frame.begin, std::memory_order_seq_cst);
    kept.end.store(frame.end, std::memory_order_seq_cst);
    kept.period.store(frame.period, std::memory_order_seq_cst);
    kept.missed.store(frame.missed, std::memory_order_seq_cst);
    kept.count.store(count + 1, std::memory_order_release);
}

bool Frames::Reader::next(const Frames& frames, Frame& frame) noexcept {
    const auto written = frames.written_.load(std::memory_order_acquire);
    read_ =
        std::max(read_, written - std::min(written, kKept / 2)); // older ones may be overwritten meanwhile
    while (read_ < written) {
        const auto& kept = frames.kept_[read_ % kKept];
        const auto count = kept.count.load(std::memory_order_seq_cst);
        if (count == kWriting || count <= read_) {
            return false; // it is counted, and not yet there
        }
        frame = {kept.begin.load(), kept.end.load(), kept.period.load(), kept.missed.load()};
        ++read_;
        if (count == read_ && kept.count.load(std::memory_order_seq_cst) == read_) {
            return true;
        }
    }
    return false;
}

std::size_t Frames::last(std::array<float, kShown>& work) const noexcept {
    Reader reader;
    Frame frame;
    std::size_t count = 0;
    while (count < kShown && reader.next(*this, frame)) {
        work[count++] = static_cast<float>(milliseconds(frame.end - frame.begin));
    }
    return count;
}

bool Frames::are_told(std::int64_t now) const noexcept {
    const auto last = last_.load(std::memory_order_acquire);
    return last != 0 && now - last < kStale;
}

std::uint32_t Frames::busy_cores(std::int64_t now) const noexcept {
    return are_told(now) ? busy_cores_.load(std::memory_order_relaxed) : 1;
}

bool Frames::in_work(std::int64_t now) const noexcept {
    constexpr std::int64_t kLongest = 250'000'000; // then it forgot to say that it was done
    const auto since = working_.load(std::memory_order_acquire);
    return since != 0 && std::abs(now - since) < kLongest; // it may have begun since `now` was read
}

std::int64_t Frames::work_ends() const noexcept {
    return working_.load(std::memory_order_relaxed) + usual_ns_.load(std::memory_order_relaxed);
}

float Frames::phase(std::int64_t now) const noexcept {
    const auto began = began_.load(std::memory_order_relaxed);
    const auto period = static_cast<std::int64_t>(period_ns_.load(std::memory_order_relaxed));
    if (began == 0 || period == 0 || now < began || now - began >= kStale) {
        return -1;
    }
    return static_cast<float>((now - began) % period) / static_cast<float>(period);
}

Frames::Report Frames::report() const noexcept {
    return {
        .begun = begun_.load(std::memory_order_relaxed),
        .ended = ended_.load(std::memory_order_relaxed),
        .missed = missed_.load(std::memory_order_relaxed),
        .period_ns = period_ns_.load(std::memory_order_relaxed),
        .busy_ms = busy_ms_.load(std::memory_order_relaxed),
        .gpu_ms = gpu_ms_.load(std::memory_order_relaxed),
    };
}

} // namespace sotto
