// Validation of backend output. A backend that breaks its contract fails its own requests, with an error that
// names the backend and the violation.
#pragma once

#include <string>
#include <string_view>

#include "module/backend.hpp"

namespace sotto {

// Throws Error: "backend 'NAME' broke its contract: WHAT".
[[noreturn]] void refuse_backend(const Backend& backend, sotto_status status, const std::string& what);

// Throws Error(SOTTO_ERROR_MODEL) if a model claims more streams, layers or bytes than any machine has.
// `loaded`: whether to check the bytes; those of a model that was only measured may come from a corrupt file.
void check_info(const Backend& backend, const ModelInfo& info, bool loaded);

// Throws Error(SOTTO_ERROR_INFERENCE) unless `status` is a status of sotto/base.h.
void check_status(const Backend& backend, sotto_status status, const char* function);

// Throws Error(SOTTO_ERROR_INFERENCE) if a step item reports more tokens than were requested, or an unknown
// finish reason or status. `remaining`: prompt tokens that were left before the step.
void check_work(const Backend& backend, const sotto_step_item& work, std::uint32_t remaining);

// Throws Error(SOTTO_ERROR_INFERENCE) if a step of a data operation does not describe its data by a JSON
// object, or ends without a response that is a JSON object.
void check_data(const Backend& backend, const sotto_step_item& work);

// Throws Error(SOTTO_ERROR_INFERENCE) if a text is neither empty nor a JSON object.
void check_object(const Backend& backend, std::string_view text, const char* field);

// Throws Error(SOTTO_ERROR_INFERENCE) if a number of a slot, plus 1, is larger than any machine has slots.
void check_count(const Backend& backend, std::uint32_t slot, const char* field);

// Throws Error(SOTTO_ERROR_INFERENCE) if a text that is passed through to the host is not UTF-8.
void check_text(const Backend& backend, std::string_view text, const char* field);

} // namespace sotto
