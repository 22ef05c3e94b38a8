// Feeds bytes to the reader of requests, which must take or refuse them, with a reason that can be shown.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "core/codec.hpp"
#include "text/utf8_stream.hpp"

namespace {

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

void read(sotto_op op, std::string_view body) {
    try {
        const auto asked = sotto::read_request(op, body);
        require(!asked.model.empty() && asked.max_tokens > 0);
        require(sotto::is_utf8(asked.model));
        for (const auto& stop : asked.stops) {
            require(!stop.empty());
        }
    } catch (const sotto::Error& error) { // nothing else may be thrown
        const std::string_view why = error.what();
        require(error.status() == SOTTO_ERROR_ARGUMENT || error.status() == SOTTO_ERROR_UNSUPPORTED);
        require(!why.empty() && why.size() < 1000);
        require(sotto::is_utf8(why) && why.find('\n') == std::string_view::npos);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view body(reinterpret_cast<const char*>(data), size);
    read(SOTTO_OP_CHAT, body);
    read(SOTTO_OP_TEXT, body);
    return 0;
}
