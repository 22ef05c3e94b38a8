// Stubs for functions that parts of llama.cpp's common/ refer to but Sotto never calls. ELF linkers drop the
// referring code before they resolve these names; Windows linkers resolve first.
#include <build-info.h>
#include <fit.h>
#include <log.h>
#include <speculative.h>
#include <stdexcept>

namespace {

[[noreturn]] void absent() {
    throw std::logic_error("a part of llama.cpp was called that is left out");
}

} // namespace

common_params common_base_params_to_speculative(const common_params&) {
    absent();
}

common_params_fit_status common_fit_params(
    const char*,
    llama_model_params*,
    llama_context_params*,
    float*,
    llama_model_tensor_buft_override*,
    size_t*,
    uint32_t,
    const common_fit_extra_model*,
    ggml_log_level
) {
    absent();
}

void common_memory_breakdown_print(const llama_context*) {
    absent();
}

void common_log_default_callback(ggml_log_level, const char*, void*) {
    absent();
}

void common_log_set_prefix(common_log*, bool) {
    absent();
}

void common_log_set_timestamps(common_log*, bool) {
    absent();
}

int llama_build_number() {
    absent();
}

const char* llama_commit() {
    absent();
}

const char* llama_compiler() {
    absent();
}

const char* llama_build_target() {
    absent();
}
