// Implements sotto/state.h.
#include <sotto/state.h>

#include <memory>

#include "api/boundary.hpp"
#include "api/checks.hpp"
#include "api/session.hpp"
#include "core/session/session_body.hpp"

using namespace sotto::api;
using sotto::Error;

sotto_status sotto_engine_read_state(
    sotto_engine* engine, sotto_str session, sotto_request_flags flags, sotto_request* request
) {
    return guarded([&] {
        deref(request, "request") = 0;
        const Pin pinned(engine);
        // The state ends with the last message: the next turn goes on from there.
        auto body = R"({"session":)" + sotto::quoted(required(session, "session")) +
                    R"(,"add_generation_prompt":false})";
        return submit(pinned, about(SOTTO_OP_SAVE_STATE, std::move(body), flags, request), request);
    });
}

sotto_status sotto_engine_restore_state(
    sotto_engine* engine, sotto_str model, sotto_str state, sotto_request_flags flags, sotto_request* request
) {
    return guarded([&] {
        clear(request);
        const Pin pinned(engine);
        const auto bytes = view(state, "state");
        if (bytes.empty()) {
            throw Error(
                SOTTO_ERROR_ARGUMENT, "missing state: expected the bytes of sotto_engine_read_state()"
            );
        }
        auto body = R"({"model":)" + sotto::quoted(required(model, "model")) + "}";
        auto requested = about(SOTTO_OP_RESTORE_STATE, std::move(body), flags, request);
        requested.state = std::make_shared<const sotto::PageBuffer>(bytes);
        return submit(pinned, std::move(requested), request);
    });
}
