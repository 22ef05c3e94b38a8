#include "core/schedule/frame_history.hpp"

#include <algorithm>

namespace sotto {

void FrameHistory::add(const Frame& frame) noexcept {
    if (frame.end < frame.begin) {
        return;
    }
    missed_.fetch_add(frame.missed ? 1 : 0, std::memory_order_relaxed);
    const auto count = written_.fetch_add(1, std::memory_order_relaxed);
    auto& kept = kept_[count % kKept];
    if (kept.count.exchange(kWriting, std::memory_order_seq_cst) == kWriting) {
        return; // a thread suspended for hundreds of frames still writes this entry
    }
    kept.begin.store(frame.begin, std::memory_order_seq_cst);
    kept.end.store(frame.end, std::memory_order_seq_cst);
    kept.period.store(frame.period, std::memory_order_seq_cst);
    kept.missed.store(frame.missed, std::memory_order_seq_cst);
    kept.count.store(count + 1, std::memory_order_release);
}

bool FrameHistory::Reader::next(const FrameHistory& history, Frame& frame) noexcept {
    const auto written = history.written_.load(std::memory_order_acquire);
    read_ =
        // Older frames may be overwritten during the read
        std::max(read_, written - std::min(written, kKept / 2));
    while (read_ < written) {
        const auto& kept = history.kept_[read_ % kKept];
        const auto count = kept.count.load(std::memory_order_seq_cst);
        if (count == kWriting || count <= read_) {
            return false; // the frame is counted in written_, but its entry is not complete yet
        }
        frame = {kept.begin.load(), kept.end.load(), kept.period.load(), kept.missed.load()};
        ++read_;
        if (count == read_ && kept.count.load(std::memory_order_seq_cst) == read_) {
            return true;
        }
    }
    return false;
}

} // namespace sotto
