// A running request without an engine.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "core/control/stream.hpp"

namespace test {

inline std::atomic<float> g_everybodys_tps{0};

// Its slot belongs to the table, which must outlive it.
inline std::shared_ptr<sotto::Reply> reply_in(
    sotto::RequestTable& table, sotto::Submission asked, std::int64_t now, sotto::ParsedRequest prompted = {}
) {
    sotto::Slot& slot = *table.add(std::move(asked), now);
    slot.done->events = std::make_unique<sotto::RequestEvents>(
        prompted.answers, slot.submission.target_tps, g_everybodys_tps
    );
    return std::make_shared<sotto::Reply>(slot, std::move(prompted));
}

} // namespace test
