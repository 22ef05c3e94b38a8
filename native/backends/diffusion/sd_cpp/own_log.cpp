// Replaces the log and the progress bar of stable-diffusion.cpp, which write to the terminal.
#include <cstdarg>
#include <cstdio>
#include <string_view>

#include <stable-diffusion.h>

#include "backends/diffusion/load_run.hpp"
#include "backends/diffusion/memory_meter.hpp"
#include "runtime/guard.hpp"

namespace {

sotto_log_level level_of(sd_log_level_t level) noexcept {
    return level == SD_LOG_ERROR ? SOTTO_LOG_ERROR : level == SD_LOG_WARN ? SOTTO_LOG_WARN : SOTTO_LOG_TRACE;
}

} // namespace

void log_printf(sd_log_level_t level, const char*, int, const char* format, ...) {
    char line[1'024];
    va_list values;
    va_start(values, format);
    const int size = std::vsnprintf(line, sizeof line, format, values);
    va_end(values);
    if (size > 0) {
        sotto::llama::write_log(level_of(level), line);
    }
    if (level == SD_LOG_ERROR) {
        sotto::diffusion::throw_if_refused();
    }
}

// Of tiles.
void pretty_progress(int, int, float) {}

void pretty_bytes_progress(int tensor, int tensors, std::uint64_t, float) {
    const auto* load = dynamic_cast<const sotto::diffusion::LoadRun*>(sotto::diffusion::Run::current());
    if (load != nullptr && tensors > 0) {
        load->report(static_cast<float>(tensor) / static_cast<float>(tensors));
    }
}
