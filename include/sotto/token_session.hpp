/**
 * @file sotto/token_session.hpp
 * Part of sotto.hpp: token sessions.
 */
#ifndef SOTTO_TOKEN_SESSION_HPP
#define SOTTO_TOKEN_SESSION_HPP

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine.hpp"

namespace sotto {

/**
 * A session that holds tokens, see token_session.h. Closes it when destroyed. Opening and copying wait for
 * the engine's control thread and throw if that fails; of other members, the last event of the request
 * reports it.
 */
class TokenSession {
public:
    TokenSession(
        Engine& engine, std::string id, std::string_view model, const std::vector<std::int32_t>& tokens = {}
    )
        : id_(std::move(id)) {
        static constexpr std::int32_t kNone = 0;

        auto desc             = SOTTO_INIT(sotto_session_desc);
        desc.id               = str(id_);
        desc.model            = str(model);
        desc.tokens           = tokens.empty() ? &kNone : tokens.data();
        desc.token_count      = static_cast<std::uint32_t>(tokens.size());
        desc.flags            = SOTTO_REQUEST_PRIVATE;
        sotto_request request = 0;
        check(sotto_engine_open_session(engine.get(), &desc, &request));
        wait(engine.get(), request);
        engine_ = engine.get(); // from now on there is one to close
    }
    ~TokenSession() { close(); }
    TokenSession(TokenSession&& other) noexcept
        : engine_(std::exchange(other.engine_, nullptr)), id_(std::move(other.id_)) {}
    TokenSession& operator=(TokenSession&& other) noexcept {
        std::swap(engine_, other.engine_);
        id_.swap(other.id_);
        return *this;
    }

    const std::string& id() const noexcept { return id_; }
    /** Closes the session now. A second call does nothing. Never waits. */
    void close() noexcept {
        if (auto* engine = std::exchange(engine_, nullptr); engine != nullptr) {
            sotto_engine_close_session(engine, str(id_), 0, nullptr);
        }
    }

    /**
     * Submits a completion, which appends `prompt` and its answer. Never waits.
     *
     * @param fields  Further body fields: the inside of a JSON object, such as `"max_tokens": 8`. Empty:
     * none.
     */
    sotto_request complete(
        const std::vector<std::int32_t>& prompt, std::string_view fields = {}, sotto_request_flags flags = 0
    ) {
        std::string body = "{\"session\":" + quote(id_) + ",\"prompt\":[";
        for (std::size_t i = 0; i < prompt.size(); ++i) {
            body.append(i == 0 ? "" : ",").append(std::to_string(prompt[i]));
        }
        body.append(fields.empty() ? "]" : "],").append(fields).append("}");
        auto desc             = SOTTO_INIT(sotto_request_desc);
        desc.op               = SOTTO_OP_COMPLETION;
        desc.body             = str(body);
        desc.flags            = flags;
        sotto_request request = 0;
        check(sotto_engine_submit(engine_, &desc, &request));
        return request;
    }

    /** Drops the tokens from position `from` to before `to`; -1: the end. Never waits. */
    void cut(std::int32_t from, std::int32_t to = -1) {
        check(sotto_engine_cut_session(engine_, str(id_), from, to, 0, nullptr));
    }

    /** Adds `delta` to the positions from `from` to before `to`; -1: the end. Never waits. */
    void shift(std::int32_t delta, std::int32_t from = 0, std::int32_t to = -1) {
        check(sotto_engine_shift_session(engine_, str(id_), from, to, delta, 0, nullptr));
    }

    /** Opens a session as a copy of the tokens from `from` to before `to`; -1: the end. */
    TokenSession copy(std::string id, std::int32_t from = 0, std::int32_t to = -1) const {
        TokenSession  made(std::move(id));
        sotto_request request = 0;
        check(sotto_engine_copy_session(
            engine_, str(id_), str(made.id_), from, to, SOTTO_REQUEST_PRIVATE, &request
        ));
        wait(engine_, request);
        made.engine_ = engine_;
        return made;
    }

    /** Returns the tokens. Waits for the engine's control thread. */
    std::vector<std::int32_t> tokens() const {
        sotto_request request = 0;
        check(sotto_engine_read_session(engine_, str(id_), SOTTO_REQUEST_PRIVATE, &request));
        std::string json;
        wait(engine_, request, &json);
        const auto                list = field(json, "tokens");
        std::vector<std::int32_t> read;
        char*                     next = nullptr;
        for (const char* at = list.c_str() + 1; *at != '\0'; at = *next == '\0' ? next : next + 1) {
            const auto token = std::strtol(at, &next, 10);
            if (next == at) {
                break; // the list is empty
            }
            read.push_back(static_cast<std::int32_t>(token));
        }
        return read;
    }

    /** Returns the session's KV cache, see sotto_engine_read_state(). Waits; prefills what the cache lacks.
     */
    std::string state() const {
        sotto_request request = 0;
        check(sotto_engine_read_state(engine_, str(id_), SOTTO_REQUEST_PRIVATE, &request));
        return wait_data(engine_, request);
    }

private:
    explicit TokenSession(std::string id) : id_(std::move(id)) {}

    sotto_engine* engine_ = nullptr; // NULL: closed, or moved from
    std::string   id_;
};

} // namespace sotto

#endif
