// The logs of the engines that use this module: ONNX Runtime has one log for the whole process.
#pragma once

#include <mutex>
#include <string_view>
#include <vector>

#include <sotto/module.h>

namespace sotto::onnx {

// Any thread.
class Log {
public:
    static Log& all();

    void join(const sotto_backend_host& host);
    // Waits until no line is being written to `host`.
    void leave(const sotto_backend_host& host) noexcept;
    // Writes a line to the log of the engine that joined last; no engine: drops it.
    void write(sotto_log_level level, std::string_view line) noexcept;

private:
    std::mutex mutex_; // guards the member below
    std::vector<const sotto_backend_host*> hosts_;
};

} // namespace sotto::onnx
