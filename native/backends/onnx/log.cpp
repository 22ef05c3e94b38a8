#include "backends/onnx/log.hpp"

#include <algorithm>

namespace sotto::onnx {

Log& Log::all() {
    static auto& log = *new Log; // never destroyed: threads of ONNX Runtime may outlive static destruction
    return log;
}

void Log::join(const sotto_backend_host& host) {
    const std::lock_guard lock(mutex_);
    hosts_.push_back(&host);
}

void Log::leave(const sotto_backend_host& host) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(hosts_, &host);
}

void Log::write(sotto_log_level level, std::string_view line) noexcept {
    const std::lock_guard lock(mutex_);
    if (hosts_.empty()) {
        return;
    }
    const auto& host = *hosts_.back();
    if (host.log != nullptr && level <= host.log_level) {
        host.log(host.context, level, {line.data(), line.size()});
    }
}

} // namespace sotto::onnx
