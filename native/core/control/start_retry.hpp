// Runs work that may fail, for example for lack of memory, and says when to try again.
#pragma once

#include <cstdint>
#include <utility>

#include "base/attempt.hpp"
#include "base/log.hpp"
#include "platform/clock.hpp"

namespace sotto {

// Control thread only.
class StartRetry {
public:
    StartRetry(const Log& log, const Clock& clock) : log_(log), clock_(clock) {}

    // Runs `body`. If `body` throws, logs the error, unless the previous call of run() failed too.
    template <typename Body>
    void run(const Body& body) noexcept {
        const bool had_failed = std::exchange(failed_, false);
        attempt(body, [&](sotto_status, const char* why) {
            if (!had_failed) {
                log_.error(why);
            }
            failed_ = true;
        });
    }
    // Returns when run() must be called again; kNever: the last call of run() did not fail.
    std::int64_t next() const noexcept { return failed_ ? clock_.now() + kPause : kNever; }

private:
    static constexpr std::int64_t kPause = 10'000'000;

    const Log& log_;
    const Clock& clock_;
    bool failed_ = false;
};

} // namespace sotto
