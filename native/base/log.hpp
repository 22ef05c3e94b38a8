// Logging: one level for the process, one sink for each engine.
#pragma once

#include <cstdint>
#include <string_view>

#include <sotto/host.h>

#include "base/hook_gate.hpp"

namespace sotto {

// Sets the log level; SOTTO_LOG_DEFAULT restores the level read from the environment at start.
void set_log_level(sotto_log_level level) noexcept;
sotto_log_level log_level() noexcept;

class Log {
public:
    Log() = default;
    // `gate`: decides whether the sink may still be called; null: always allowed.
    explicit Log(const sotto_log_sink& sink, const HookGate* gate = nullptr) : sink_(sink), gate_(gate) {}

    void write(sotto_log_level level, std::string_view message) const noexcept;
    void error(std::string_view message) const noexcept { write(SOTTO_LOG_ERROR, message); }
    void warn(std::string_view message) const noexcept { write(SOTTO_LOG_WARN, message); }
    void info(std::string_view message) const noexcept { write(SOTTO_LOG_INFO, message); }
    void debug(std::string_view message) const noexcept { write(SOTTO_LOG_DEBUG, message); }

private:
    sotto_log_sink sink_{}; // no function set: lines go to stderr
    const HookGate* gate_ = nullptr;
};

} // namespace sotto
