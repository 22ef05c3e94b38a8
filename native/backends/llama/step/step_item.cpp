// The work of one stream in a step.
#include "step/step_item.hpp"

namespace sotto::llama {

void reset_item(sotto_step_item& work, const Stream& stream) {
    const auto& tokens = stream.kv.tokens;
    work.text = {nullptr, 0};
    work.evaluated = 0;
    work.generated = 0;
    work.decoded = 0;
    work.remaining = tokens.in_prompt() ? static_cast<std::uint32_t>(tokens.pending()) : 0;
    work.finish = stream.chosen.finish();
    work.logprobs = {nullptr, 0};
    work.token = 0;
    work.slot = static_cast<std::uint32_t>(stream.kv.slot + 1);
    work.truncated = 0;
    work.status = SOTTO_OK;
    work.reason = {nullptr, 0};
}

void fail_stream(sotto_step_item& work, Stream& stream, sotto_status status, const char* why) {
    work.status = fail(status, why, stream.why, &work.reason);
}

void fail_stream(sotto_step_item& work, Stream& stream, const std::exception& error) {
    const bool memory = is_out_of_memory(error);
    const auto status = memory ? SOTTO_ERROR_MEMORY : SOTTO_ERROR_INFERENCE;
    fail_stream(work, stream, status, memory ? "out of host memory" : error.what());
}

const char* reason_of(int result) {
    switch (result) {
    case kDecodeNoMemory:
        return "out of host memory";
    case 1:
        return "the model's KV cache is full";
    case -1:
        return "llama.cpp rejects the tokens";
    default:
        return "llama.cpp cannot compute; the device may be out of memory";
    }
}

} // namespace sotto::llama
