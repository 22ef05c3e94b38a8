// A prepared request: the parsed and tokenized form of a request body, of a kind that its model chooses.
#pragma once

#include <string>

namespace sotto::llama {

struct PreparedRequest {
    PreparedRequest() = default;
    virtual ~PreparedRequest() = default;
    PreparedRequest(PreparedRequest&&) = default;
    PreparedRequest& operator=(PreparedRequest&&) = default;

    std::string result; // complete response of a request that needs no stream; else empty
};

} // namespace sotto::llama
