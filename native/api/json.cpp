// Implements sotto/json.h.
#include <algorithm>

#include "api/boundary.hpp"
#include "core/session/session_body.hpp"
#include "text/json_field.hpp"
#include "text/utf8_stream.hpp"

using namespace sotto::api;
using sotto::Error;

sotto_status sotto_json_quote(sotto_str text, char* buffer, size_t capacity, size_t* size) {
    return guarded([&] {
        if (capacity > 0) {
            deref(buffer, "buffer") = '\0';
        }
        const auto bytes = view(text, "text");
        if (!sotto::is_utf8(bytes)) {
            throw Error(SOTTO_ERROR_ARGUMENT, "invalid text: expected UTF-8");
        }
        const auto quoted = sotto::quoted(bytes);
        if (size != nullptr) {
            *size = quoted.size();
        }
        if (quoted.size() >= capacity) {
            throw Error(
                SOTTO_ERROR_ARGUMENT,
                "invalid capacity '" + std::to_string(capacity) + "': expected at least " +
                    std::to_string(quoted.size() + 1)
            );
        }
        std::copy_n(quoted.c_str(), quoted.size() + 1, buffer);
        return SOTTO_OK;
    });
}

sotto_status sotto_json_field(sotto_str json, sotto_str name, sotto_str* value, int32_t* complete) {
    return guarded([&] {
        auto& out = deref(value, "value");
        out = {};
        if (complete != nullptr) {
            *complete = 0;
        }
        auto field = sotto::read_field(view(json, "json"), view(name, "name"));
        out = lend(std::move(field.text));
        if (complete != nullptr) {
            *complete = field.complete ? 1 : 0;
        }
        return SOTTO_OK;
    });
}
