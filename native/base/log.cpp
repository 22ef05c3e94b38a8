#include "base/log.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace sotto {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"", "error", "warn", "info", "debug", "trace"};

sotto_log_level level_from(const char* variable) noexcept {
    const char* value = std::getenv(variable);
    for (std::size_t i = 1; value != nullptr && i < kNames.size(); ++i) {
        if (kNames[i] == value) {
            return static_cast<sotto_log_level>(i);
        }
    }
    return SOTTO_LOG_DEFAULT;
}

sotto_log_level level_at_start() noexcept {
    for (const char* variable : {"SOTTO_LOG", "RUST_LOG"}) {
        if (const auto level = level_from(variable); level != SOTTO_LOG_DEFAULT) {
            return level;
        }
    }
    return SOTTO_LOG_WARN;
}

const sotto_log_level g_level_at_start = level_at_start();
std::atomic<sotto_log_level> g_level{g_level_at_start};

} // namespace

void set_log_level(sotto_log_level level) noexcept {
    g_level = level == SOTTO_LOG_DEFAULT ? g_level_at_start : level;
}

sotto_log_level log_level() noexcept {
    return g_level.load(std::memory_order_relaxed);
}

void Log::write(sotto_log_level level, std::string_view message) const noexcept {
    if (level > log_level()) {
        return;
    }
    level = std::max<sotto_log_level>(level, SOTTO_LOG_ERROR); // a backend may say anything
    if (sink_.write != nullptr) {
        sink_.write(sink_.self, level, {message.data(), message.size()});
        return;
    }
    const auto name = kNames[static_cast<std::size_t>(level)];
    std::fprintf(
        stderr,
        "sotto: %.*s: %.*s\n",
        static_cast<int>(name.size()),
        name.data(),
        static_cast<int>(message.size()),
        message.data()
    );
}

} // namespace sotto
