// An engine as in a game: the shared library, its llama module, and tiny models.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include <sotto/sotto.h>

#include "support/paths.hpp"

namespace test {

struct Answer {
    sotto_status status = SOTTO_OK;
    std::string text; // the answer, or the error
};

inline std::string text_of(sotto_str text) {
    return text.size == 0 ? std::string() : std::string(text.data, text.size);
}

inline sotto_str str(std::string_view text) {
    return {text.data(), text.size()};
}

// Returns the value of an environment variable, or `otherwise`.
inline int setting(const char* variable, int otherwise) {
    const char* value = std::getenv(variable);
    return value != nullptr ? std::atoi(value) : otherwise;
}

class Speaker {
public:
    struct Terms {
        sotto_mode mode = SOTTO_MODE_BALANCE;
        sotto_engine_flags flags = 0;
        std::uint32_t threads = 2; // so that a thread pool has a thread of its own
    };

    explicit Speaker(const Terms& terms) {
        auto threads = SOTTO_INIT(sotto_threads);
        threads.compute_threads = terms.threads;
        auto desc = SOTTO_INIT(sotto_engine_desc);
        desc.mode = terms.mode;
        desc.flags = terms.flags;
        desc.threads = &threads;
        desc.module_dir = str(test::paths::kOutput);
        created_ = sotto_engine_create(&desc, &engine_);
    }
    ~Speaker() { end(); }
    Speaker(const Speaker&) = delete;
    Speaker& operator=(const Speaker&) = delete;

    sotto_engine* engine() const noexcept { return engine_; }
    sotto_status created() const noexcept { return created_; }
    void end() {
        sotto_engine_destroy(engine_);
        engine_ = nullptr;
    }

    Answer load(const std::string& id, const std::string& file) {
        auto desc = SOTTO_INIT(sotto_model_desc);
        desc.id = str(id);
        const auto path = std::string(test::paths::kTinyModels) + "/" + file;
        desc.path = str(path);
        desc.flags = SOTTO_REQUEST_PRIVATE;
        sotto_request request = 0;
        const auto status = sotto_engine_load_model(engine_, &desc, &request);
        return status < 0 ? Answer{status, text_of(sotto_last_error())} : finish(request);
    }

    // Submits a request that depends on `question` only. 0: refused.
    sotto_request ask(const std::string& id, int question, int tokens = 8, std::string_view more = "") {
        auto desc = SOTTO_INIT(sotto_request_desc);
        desc.op = SOTTO_OP_CHAT;
        const auto body =
            R"({"model": ")" + id + R"(", "temperature": 0, "ignore_eos": true, "max_tokens": )" +
            std::to_string(tokens) + R"(, "messages": [{"role": "user", "content": "who is the king of )" +
            std::to_string(question) + R"("}])" + std::string(more) + "}";
        desc.body = str(body);
        desc.flags = SOTTO_REQUEST_PRIVATE;
        sotto_request request = 0;
        return sotto_engine_submit(engine_, &desc, &request) < 0 ? 0 : request;
    }

    // Waits for the request's last event; the timeout allows for a busy machine.
    Answer finish(sotto_request request, int patience_ms = 300'000) {
        Answer answer;
        for (;;) {
            auto event = SOTTO_INIT(sotto_event);
            const auto status = sotto_engine_wait_request_event(engine_, request, patience_ms, &event);
            if (status != SOTTO_OK) {
                return {status < 0 ? status : SOTTO_ERROR_BUSY, text_of(sotto_last_error())};
            }
            if (event.kind == SOTTO_EVENT_TEXT) {
                answer.text += text_of(event.text);
            } else if (event.kind == SOTTO_EVENT_REQUEST_DONE) {
                return event.status < 0 ? Answer{event.status, text_of(event.error)} : answer;
            }
        }
    }

    Answer say(const std::string& id, int question, int tokens = 8) {
        const auto request = ask(id, question, tokens);
        return request == 0 ? Answer{SOTTO_ERROR_ARGUMENT, text_of(sotto_last_error())} : finish(request);
    }

private:
    sotto_engine* engine_ = nullptr;
    sotto_status created_ = SOTTO_OK;
};

} // namespace test
