// Implements sotto/save_game.h.
#include <sotto/save_game.h>

#include "api/boundary.hpp"
#include "api/checks.hpp"
#include "api/session.hpp"
#include "core/session/session_body.hpp"

using namespace sotto::api;

namespace {

sotto_status submit_game(
    sotto_engine* engine, sotto_op op, sotto_str path, sotto_request_flags flags, sotto_request* request
) {
    return guarded([&] {
        clear(request);
        const Pin pinned(engine);
        auto body = R"({"path":)" + sotto::quoted(required(path, "path")) + "}";
        return submit(pinned, about(op, std::move(body), flags, request), request);
    });
}

} // namespace

sotto_status sotto_engine_save_game(
    sotto_engine* engine, sotto_str path, sotto_request_flags flags, sotto_request* request
) {
    return submit_game(engine, SOTTO_OP_SAVE_GAME, path, flags, request);
}

sotto_status sotto_engine_restore_game(
    sotto_engine* engine, sotto_str path, sotto_request_flags flags, sotto_request* request
) {
    return submit_game(engine, SOTTO_OP_RESTORE_GAME, path, flags, request);
}
