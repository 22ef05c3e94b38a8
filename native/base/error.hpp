// How C++ code below the C boundary says that it cannot go on.
#pragma once

#include <new>
#include <stdexcept>
#include <string>

#include <sotto/base.h>

namespace sotto {

// A failure, with the status the caller of the C function will see.
class Error : public std::runtime_error {
public:
    Error(sotto_status status, const std::string& what) : std::runtime_error(what), status_(status) {}
    sotto_status status() const noexcept { return status_; }

private:
    sotto_status status_;
};

// A failure that was caught, to be told by another thread.
struct Failure {
    sotto_status status = SOTTO_OK;
    std::string why;

    explicit operator bool() const noexcept { return status < 0; }
    void set(sotto_status status_seen, const char* why_seen) noexcept {
        status = status_seen;
        try {
            why = why_seen;
        } catch (const std::bad_alloc&) {
            why.clear(); // the status must do
        }
    }
};

} // namespace sotto
