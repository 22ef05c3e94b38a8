// Checks of what backends hand over. A backend that breaks its contract fails its own requests, with a text
// that names the backend and what it broke.
#pragma once

#include <string>
#include <string_view>

#include "module/backend.hpp"

namespace sotto {

// Throws Error: "backend 'NAME' broke its contract: WHAT".
[[noreturn]] void refuse_backend(const Backend& backend, sotto_status status, const std::string& what);

// Throws Error(SOTTO_ERROR_MODEL) if a model has more streams, layers or bytes than any machine has.
// `loaded`: the bytes are of a model that was loaded; those of a model that was only measured may come from a
// broken file.
void check_info(const Backend& backend, const ModelInfo& info, bool loaded);

// Throws Error(SOTTO_ERROR_INFERENCE) if a status is not one of sotto/base.h.
void check_status(const Backend& backend, sotto_status status, const char* function);

// Throws Error(SOTTO_ERROR_INFERENCE) if a share of a step reports more than was asked of it. `remaining`:
// its prompt tokens before the step.
void check_work(const Backend& backend, const sotto_step_item& work, std::uint32_t remaining);

// Throws Error(SOTTO_ERROR_INFERENCE) if a step of an operation with data describes its data otherwise than
// by a JSON object, or ends without a response that is one.
void check_data(const Backend& backend, const sotto_step_item& work);

// Throws Error(SOTTO_ERROR_INFERENCE) if a text that is handed on as it is is not UTF-8.
void check_text(const Backend& backend, std::string_view text, const char* field);

} // namespace sotto
