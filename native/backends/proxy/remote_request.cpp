#include "backends/proxy/remote_request.hpp"

#include <string>
#include <string_view>

#include "backends/proxy/text.hpp"

namespace sotto::proxy {
namespace {

// Fields that the engine alone serves. Servers refuse unknown fields.
constexpr const char* kOwnFields[] = {
    "context_overflow",
    "deadline_ms",
    "guardrails",
    "id_slot",
    "lora",
    "n",
    "n_keep",
    "normalize",
    "on_budget",
    "pinned",
    "priority",
    "return_progress",
    "return_settings",
    "return_tokens",
    "session",
    "stream_options",
    "target_tps",
    "timings_per_token",
};

const char* path_of(sotto_op op) {
    switch (op) {
    case SOTTO_OP_CHAT:
        return "/chat/completions";
    case SOTTO_OP_COMPLETION:
        return "/completions";
    case SOTTO_OP_EMBED:
        return "/embeddings";
    case SOTTO_OP_RERANK:
        return "/rerank";
    case SOTTO_OP_IMAGE_GENERATE:
        return "/images/generations";
    default:
        throw Error(SOTTO_ERROR_UNSUPPORTED, "the backend 'proxy' does not perform this operation");
    }
}

} // namespace

Call call_for(const Options& options, sotto_op op, std::string_view body, std::uint32_t index) {
    Call call;
    call.path = path_of(op);
    auto request = Json::parse(body);
    for (const std::string_view field : kOwnFields) {
        if (op != SOTTO_OP_IMAGE_GENERATE || field != "n") { // one response has all images of a request
            request.erase(std::string(field));
        }
    }
    if (!options.model.empty()) {
        request["model"] = options.model;
    }
    if (op == SOTTO_OP_CHAT || op == SOTTO_OP_COMPLETION) {
        request["stream"] = true;
        request["stream_options"] = {{"include_usage", true}};
        if (const auto* seed = find(request, "seed");
            index > 0 && seed != nullptr && seed->is_number_unsigned()) {
            request["seed"] = seed->get<std::uint64_t>() + index; // else all choices would be the same
        }
    }
    call.body = text_of(request);
    return call;
}

} // namespace sotto::proxy
