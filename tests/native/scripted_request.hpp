// Preparation of requests by a scripted model: see scripted_backend.cpp.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include "scripted_script.hpp"

namespace scripted {

struct Request {
    std::string said;     // text of its last message
    std::string response; // the complete response, if no stream is needed
    bool wants_settings = false;
    std::int32_t slot = -1; // id_slot
};

// A scripted model's tokens of a text are the lengths of its words.
inline sotto_status read_request(const sotto_stream_desc& desc, Request& request, sotto_str* why) {
    const auto body = json::parse(std::string_view(desc.body.data, desc.body.size));
    if (desc.op == SOTTO_OP_CHAT || desc.op == SOTTO_OP_COMPLETION || desc.op == SOTTO_OP_SAVE_STATE) {
        request.said = last_text(body);
        request.slot = body.value("id_slot", -1);
        request.wants_settings = body.value("return_settings", false);
        return SOTTO_OK;
    }
    const bool paints = desc.op == SOTTO_OP_IMAGE_GENERATE || desc.op == SOTTO_OP_IMAGE_MATTE;
    if (paints || (desc.op >= SOTTO_OP_EMBED && desc.op <= SOTTO_OP_RERANK)) {
        return SOTTO_OK;
    }
    if (desc.op != SOTTO_OP_TOKENIZE) {
        return fail(SOTTO_ERROR_UNSUPPORTED, "the script has no such operation", why);
    }
    auto tokens = json::array();
    for (const auto& word : words(body["content"])) {
        tokens.push_back(word.size());
    }
    request.response = json{{"tokens", tokens}}.dump();
    return SOTTO_OK;
}

// Takes as long as the script states, unless it is cancelled.
inline sotto_status prepare(
    const Script& script,
    const sotto_stream_desc& desc,
    sotto_gate_fn cancelled,
    void* context,
    Request& request,
    sotto_str* why
) {
    using namespace std::chrono;
    const auto end = steady_clock::now() + milliseconds(script.count("prepare_ms"));
    while (steady_clock::now() < end) {
        if (cancelled(context) != 0) {
            return fail(SOTTO_ERROR_CANCELLED, "nobody wants it", why);
        }
        std::this_thread::sleep_for(1ms);
    }
    if (script.has("fail_prepare")) {
        return fail(SOTTO_ERROR_INFERENCE, script.text("fail_prepare"), why);
    }
    return read_request(desc, request, why);
}

} // namespace scripted
