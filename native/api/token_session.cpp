// Implements sotto/token_session.h.
#include <sotto/token_session.h>

#include "api/boundary.hpp"
#include "api/checks.hpp"
#include "api/session.hpp"
#include "core/session/session_body.hpp"

using namespace sotto::api;

namespace {

sotto_status submit_edit(
    const Pin& pinned,
    sotto::SessionEdit edit,
    sotto_str id,
    sotto_request_flags flags,
    sotto_request* request
) {
    edit.session = required(id, "id");
    return submit(pinned, about(SOTTO_OP_EDIT_SESSION, edit_body(edit), flags, request), request);
}

} // namespace

sotto_status sotto_engine_cut_session(
    sotto_engine* engine,
    sotto_str id,
    int32_t from,
    int32_t to,
    sotto_request_flags flags,
    sotto_request* request
) {
    return guarded([&] {
        clear(request);
        const Pin pinned(engine);
        return submit_edit(pinned, {.action = "cut", .from = from, .to = to}, id, flags, request);
    });
}

sotto_status sotto_engine_copy_session(
    sotto_engine* engine,
    sotto_str id,
    sotto_str to_session,
    int32_t from,
    int32_t to,
    sotto_request_flags flags,
    sotto_request* request
) {
    return guarded([&] {
        clear(request);
        const Pin pinned(engine);
        const auto into = required(to_session, "to_session");
        return submit_edit(
            pinned, {.action = "copy", .from = from, .to = to, .to_session = into}, id, flags, request
        );
    });
}

sotto_status sotto_engine_shift_session(
    sotto_engine* engine,
    sotto_str id,
    int32_t from,
    int32_t to,
    int32_t delta,
    sotto_request_flags flags,
    sotto_request* request
) {
    return guarded([&] {
        clear(request);
        const Pin pinned(engine);
        return submit_edit(
            pinned, {.action = "shift", .from = from, .to = to, .delta = delta}, id, flags, request
        );
    });
}
