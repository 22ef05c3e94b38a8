// Replaces the log of llama.cpp's common/, which has its own thread and writes to the console.
#include "runtime/guard.hpp"

#include <cstdarg>
#include <cstdio>
#include <log.h>

namespace {

sotto_log_level level_of(ggml_log_level level) {
    // the caller reports the error itself
    return level == GGML_LOG_LEVEL_ERROR ? SOTTO_LOG_DEBUG : SOTTO_LOG_TRACE;
}

} // namespace

int common_log_get_verbosity_thold() {
    return LOG_LEVEL_WARN;
}

bool common_log_get_jsonl() {
    return false;
}

common_log* common_log_main() {
    return nullptr;
}

void common_log_add(common_log*, ggml_log_level level, const char* format, ...) {
    auto* call = sotto::llama::Call::current();
    if (call == nullptr) {
        return;
    }
    char line[512] = "";
    va_list values;
    va_start(values, format);
    std::vsnprintf(line, sizeof line, format, values);
    va_end(values);
    call->log(level_of(level), line);
}
