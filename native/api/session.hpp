// Submission of requests whose bodies the library builds.
#pragma once

#include <string>

#include "api/handle.hpp"
#include "core/request/request_table.hpp"

namespace sotto::api {

// Submits a request and stores its id in `request` unless that is null.
sotto_status submit(const Pin& pinned, Submission requested, sotto_request* request);

// Returns a submission with that body. Throws Error(SOTTO_ERROR_ARGUMENT) if the flags are invalid, or the
// request is private and `request` is null.
Submission about(sotto_op op, std::string body, sotto_request_flags flags, const sotto_request* request);

// Sets `*request` to 0 unless `request` is null.
inline void clear(sotto_request* request) noexcept {
    if (request != nullptr) {
        *request = 0;
    }
}

} // namespace sotto::api
