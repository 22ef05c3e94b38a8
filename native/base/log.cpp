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

// Returns the length in bytes of the terminal control or bidirectional override character at `at`; 0 if the
// character at `at` is harmless.
std::size_t control_bytes(std::string_view text, std::size_t at) noexcept {
    const auto byte = [&](std::size_t offset) {
        return at + offset < text.size() ? static_cast<unsigned char>(text[at + offset]) : 0U;
    };
    const auto first = byte(0);
    const auto second = byte(1);
    const auto third = byte(2);
    if ((first < 0x20 && first != '\t') || first == 0x7F) {
        return 1;
    }
    if ((first == 0xC2 && second >= 0x80 && second <= 0x9F) || (first == 0xD8 && second == 0x9C)) {
        return 2; // C1 controls and the Arabic letter mark
    }
    const bool marks = second == 0x80 && (third == 0x8E || third == 0x8F || (third >= 0xA8 && third <= 0xAE));
    const bool isolates = second == 0x81 && third >= 0xA6 && third <= 0xA9;
    return first == 0xE2 && (marks || isolates) ? 3 : 0;
}

// Prints one line without control characters: the message may quote untrusted text.
void print_line(std::string_view name, std::string_view message) noexcept {
    std::array<char, 4096> line{};
    std::size_t used = 0;
    for (std::size_t at = 0; at < message.size() && used < line.size(); ++used) {
        const auto skipped = control_bytes(message, at);
        line[used] = skipped == 0 ? message[at] : '?';
        at += std::max<std::size_t>(skipped, 1);
    }
    std::fprintf(
        stderr,
        "sotto: %.*s: %.*s\n",
        static_cast<int>(name.size()),
        name.data(),
        static_cast<int>(used),
        line.data()
    );
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
    level = std::max<sotto_log_level>(level, SOTTO_LOG_ERROR); // a backend may pass any value
    if (sink_.write != nullptr) {
        if (const HookGate::Use use(gate_); use) {
            sink_.write(sink_.self, level, {message.data(), message.size()});
        }
        return;
    }
    print_line(kNames[static_cast<std::size_t>(level)], message);
}

} // namespace sotto
