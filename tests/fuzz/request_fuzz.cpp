// Fuzzes the request parser with each operation: it accepts, or refuses with a printable reason.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "core/codec/codec.hpp"
#include "text/utf8_stream.hpp"

namespace {

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

void check(const std::vector<std::string>& messages) {
    for (const auto& message : messages) {
        const auto read = sotto::parse_object(message, "a message");
        require(read["role"].is_string());
        sotto::can_be_continued(message);
    }
}

void check(const sotto::InSession& asked) {
    require(sotto::is_utf8(asked.id) && asked.id.size() <= 128);
    require(asked.id.empty() == asked.rest.empty() && (!asked.id.empty() || asked.messages.empty()));
    check(asked.messages);
    if (!asked.id.empty()) {
        const auto rest = sotto::parse_object(asked.rest, "the rest");
        require(!rest.contains("session") && !rest.contains(asked.holds_tokens ? "prompt" : "messages"));
    }
}

void check(sotto_op op, const sotto::SessionRequest& asked) {
    require(!asked.id.empty() || op == SOTTO_OP_READ_SESSION);
    require(sotto::is_utf8(asked.id) && sotto::is_utf8(asked.from) && sotto::is_utf8(asked.model));
    check(asked.messages);
}

void check(sotto_op op, const sotto::ParsedRequest& asked) {
    require(!asked.model.empty() || !asked.session.id.empty());
    require(sotto::is_utf8(asked.model));
    check(asked.session);
    require(asked.max_tokens > 0 && asked.answers > 0 && asked.answers <= 128);
    for (const auto& stop : asked.stops) {
        require(!stop.empty() && sotto::is_utf8(stop));
    }
    const bool file = op == SOTTO_OP_SAVE_STATE || op == SOTTO_OP_RESTORE_STATE;
    require(file || asked.path.empty()); // without a path: a state in memory
    require(asked.form.empty() || op == SOTTO_OP_CHAT || op == SOTTO_OP_COMPLETION || op == SOTTO_OP_INFILL);
    require(asked.echo.empty() || op == SOTTO_OP_COMPLETION);
}

void read(sotto_op op, std::string_view body) {
    try {
        if (sotto::is_about_sessions(op)) {
            check(op, sotto::read_session_request(op, body));
        } else if (op == SOTTO_OP_QUANTIZE) {
            const auto asked = sotto::read_request(op, body);
            require(!asked.path.empty());
        } else {
            check(op, sotto::read_request(op, body));
        }
    } catch (const sotto::Error& error) { // only this type may be thrown
        const std::string_view why = error.what();
        require(error.status() == SOTTO_ERROR_ARGUMENT || error.status() == SOTTO_ERROR_UNSUPPORTED);
        require(!why.empty() && why.size() < 1000);
        require(sotto::is_utf8(why) && why.find('\n') == std::string_view::npos);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view body(reinterpret_cast<const char*>(data), size);
    for (sotto_op op = SOTTO_OP_CHAT; op <= SOTTO_OP_READ_SESSION; ++op) {
        read(op, body);
    }
    for (const sotto_op op : {SOTTO_OP_CHANGE_SESSION, SOTTO_OP_EDIT_SESSION, SOTTO_OP_QUANTIZE}) {
        read(op, body);
    }
    return 0;
}
