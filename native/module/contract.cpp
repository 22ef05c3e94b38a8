#include "module/contract.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "text/json_reader.hpp"
#include "text/utf8_stream.hpp"

namespace sotto {
namespace {

constexpr std::uint64_t kMaxCount = 1 << 16;
constexpr std::uint64_t kMaxToken = INT32_MAX; // an id, plus 1
constexpr std::uint64_t kMaxWait = 1'000;      // ms

// Error text for a value of the backend that exceeds its maximum.
std::string over(const char* field, std::uint64_t value, std::uint64_t max) {
    return invalid(field, std::to_string(value), "at most " + std::to_string(max));
}

// Returns true if `text` is a JSON object. Builds no value: the response of an embedding has a million
// numbers.
bool is_json_object(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && text[first] == '{' && is_json(text);
}

} // namespace

void refuse_backend(const Backend& backend, sotto_status status, const std::string& what) {
    throw Error(status, "backend '" + backend.name() + "' broke its contract: " + what);
}

void check_info(const Backend& backend, const ModelInfo& info, bool loaded) {
    const auto check = [&](const char* field, std::uint64_t value, std::uint64_t max) {
        if (value > max) {
            refuse_backend(backend, SOTTO_ERROR_MODEL, over(field, value, max));
        }
    };
    check("sotto_model_info.streams", info.streams, kMaxCount);
    check("sotto_model_info.layers", info.layers, kMaxCount);
    if (loaded) {
        check("the sum of weights, kv and compute in sotto_model_info", info.bytes(), kMaxBytes);
        check("sotto_model_info.host", info.host, kMaxBytes);
    }
}

void check_status(const Backend& backend, sotto_status status, const char* function) {
    if (status < SOTTO_ERROR_DEVICE) {
        const auto name = std::string("status of ") + function;
        const auto what = invalid(name, std::to_string(status), "one of the SOTTO_ERROR_ values");
        refuse_backend(backend, SOTTO_ERROR_INFERENCE, what);
    }
}

void check_work(const Backend& backend, const sotto_step_item& work, std::uint32_t remaining) {
    const auto check = [&](const char* field, std::uint64_t value, std::uint64_t max) {
        if (value > max) {
            refuse_backend(backend, SOTTO_ERROR_INFERENCE, over(field, value, max));
        }
    };
    check("sotto_step_item.evaluated", work.evaluated, std::max(work.tokens, remaining));
    check("sotto_step_item.generated", work.generated, 1);
    check("sotto_step_item.decoded", work.decoded, kMaxCount);
    check("sotto_step_item.slot", work.slot, kMaxCount);
    check("sotto_step_item.token", work.token, kMaxToken);
    check("sotto_step_item.wait_ms", work.wait_ms, kMaxWait);
    if (work.wait_ms != 0 &&
        (work.evaluated != 0 || work.generated != 0 || work.finish != SOTTO_FINISH_NONE)) {
        refuse_backend(
            backend, SOTTO_ERROR_INFERENCE, "sotto_step_item.wait_ms is set in a step that made progress"
        );
    }
    const bool ends = work.finish >= SOTTO_FINISH_NONE && work.finish <= SOTTO_FINISH_LENGTH;
    if (!ends && work.finish != SOTTO_FINISH_CONTENT_FILTER) {
        constexpr const char* kExpected = "one of the SOTTO_FINISH_ values";
        const auto what = invalid("sotto_step_item.finish", std::to_string(work.finish), kExpected);
        refuse_backend(backend, SOTTO_ERROR_INFERENCE, what);
    }
    check_status(backend, work.status, "the step of a stream");
}

void check_data(const Backend& backend, const sotto_step_item& work) {
    const auto check = [&](sotto_str text, const char* field) {
        if (!is_json_object(view_of(text))) {
            refuse_backend(
                backend, SOTTO_ERROR_INFERENCE, "invalid " + std::string(field) + ": expected a JSON object"
            );
        }
    };
    if (!view_of(work.data_info).empty()) {
        check(work.data_info, "sotto_step_item.data_info");
    }
    if (work.finish != SOTTO_FINISH_NONE) {
        check(work.result, "sotto_step_item.result");
    }
}

void check_object(const Backend& backend, std::string_view text, const char* field) {
    if (!text.empty() && !is_json_object(text)) {
        refuse_backend(
            backend, SOTTO_ERROR_INFERENCE, "invalid " + std::string(field) + ": expected a JSON object"
        );
    }
}

void check_count(const Backend& backend, std::uint32_t slot, const char* field) {
    if (slot > kMaxCount) {
        refuse_backend(backend, SOTTO_ERROR_INFERENCE, over(field, slot, kMaxCount));
    }
}

void check_text(const Backend& backend, std::string_view text, const char* field) {
    if (!is_utf8(text)) {
        refuse_backend(backend, SOTTO_ERROR_INFERENCE, "invalid " + std::string(field) + ": expected UTF-8");
    }
}

} // namespace sotto
