// Keeps llama.cpp quiet and civil: its log goes to the host, and what it would abort over is thrown
// where that is safe.
#include "guard.hpp"

#include <atomic>
#include <ggml.h>
#include <llama.h>
#include <mutex>

namespace sotto::llama {
namespace {

thread_local Call* current_call = nullptr;
// The call that computes, for ggml's worker threads, which make no calls themselves.
std::atomic<Call*> computing_call = nullptr;

sotto_log_level level_of(ggml_log_level level, sotto_log_level previous) {
    switch (level) {
    case GGML_LOG_LEVEL_ERROR:
        return SOTTO_LOG_ERROR;
    case GGML_LOG_LEVEL_WARN:
        return SOTTO_LOG_WARN;
    case GGML_LOG_LEVEL_CONT:
        return previous;
    default: // what llama.cpp holds to be information is detail to a game
        return SOTTO_LOG_TRACE;
    }
}

void on_log(ggml_log_level level, const char* text, void*) {
    thread_local sotto_log_level previous = SOTTO_LOG_TRACE;
    previous = level_of(level, previous);
    Call* call = Call::current();
    if (call == nullptr || text == nullptr) {
        return;
    }
    std::string_view line(text);
    while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) {
        line.remove_suffix(1);
    }
    if (line.size() > 1) { // not the dots of a progress bar
        call->log(previous, line);
    }
}

void on_abort(const char* message) {
    if (Call* call = Call::current()) {
        call->log(SOTTO_LOG_ERROR, message);
        // Of a card's errors the calling thread hears, while no other one computes.
        const bool on_card = std::string_view(message).find("CUDA error") != std::string_view::npos;
        if (current_call != nullptr && on_card) {
            current_call->fail_on_card(message);
        }
        if (current_call != nullptr && current_call->throws()) {
            throw Error(SOTTO_ERROR_MODEL, message);
        }
    }
}

// Drops the name of the function that speaks: people need not know llama.cpp's insides.
std::string_view without_speaker(std::string_view line) {
    const auto colon = line.find(": ");
    if (colon != std::string_view::npos && line.substr(0, colon).find(' ') == std::string_view::npos) {
        line.remove_prefix(colon + 2);
    }
    return line;
}

} // namespace

void take_over_llama_cpp() {
    static std::once_flag once;
    std::call_once(once, [] {
        llama_log_set(on_log, nullptr);
        ggml_set_abort_callback(on_abort);
        llama_backend_init();
    });
}

Call::Call(const sotto_backend_host& host, Abort abort)
    : Call(host, abort, current_call != nullptr ? current_call->loss_ : Loss()) {}

Call::Call(const sotto_backend_host& host, Abort abort, Loss loss)
    : host_(host), abort_(abort), outer_(current_call), loss_(std::move(loss)) {
    current_call = this;
    if (abort == Abort::Dies) {
        computing_call.store(this);
    }
}

Call::~Call() {
    Call* self = this;
    Call* computing = outer_; // the call that goes on to compute, if any
    while (computing != nullptr && computing->throws()) {
        computing = computing->outer_;
    }
    computing_call.compare_exchange_strong(self, computing);
    current_call = outer_;
}

Call* Call::current() noexcept {
    return current_call != nullptr ? current_call : computing_call.load();
}

std::string Call::last_error(std::string_view otherwise) const {
    return last_error_.empty() ? std::string(otherwise) : last_error_;
}

void Call::refuse(std::string_view otherwise) const {
    const auto reason = last_error(otherwise);
    const bool memory = reason.find("alloc") != std::string::npos;
    const auto other = memory ? SOTTO_ERROR_MEMORY : SOTTO_ERROR_MODEL;
    const bool lost = loss_.told_by(reason) || loss_.asked();
    throw Error(lost ? SOTTO_ERROR_DEVICE : thrown_ != SOTTO_OK ? thrown_ : other, reason);
}

void Call::fail_on_card(std::string_view otherwise) {
    const auto why = card_error_.empty() ? std::string(otherwise) : card_error_;
    const auto other = wants_memory(why) ? SOTTO_ERROR_MEMORY : SOTTO_ERROR_INTERNAL;
    const auto status = loss_.asked() ? SOTTO_ERROR_DEVICE : other;
    for (auto* call = this; call != nullptr; call = call->outer_) {
        call->thrown_ = status;
    }
    throw Error(status, why);
}

void throw_if_lost(const std::exception& error) {
    const auto* call = Call::current();
    if (call != nullptr && (call->loss().told_by(error) || call->loss().told_by(call->last_error("")))) {
        throw Error(SOTTO_ERROR_DEVICE, error.what());
    }
}

void throw_if_lost() {
    const auto* call = Call::current();
    if (call != nullptr && (call->loss().asked() || call->loss().told_by(call->last_error("")))) {
        throw Error(SOTTO_ERROR_DEVICE, call->last_error("the graphics card was lost"));
    }
}

void Call::keep(std::string_view error) noexcept {
    constexpr std::string_view kOfCard = "CUDA error: ";
    try {
        if (last_error_.empty()) { // the first names the cause; the others say what could not be done
            last_error_ = without_speaker(error);
        }
        if (error.substr(0, kOfCard.size()) == kOfCard) {
            card_error_ = error;
        }
    } catch (const std::bad_alloc&) {
        card_error_.clear();
    }
}

void Call::log(sotto_log_level level, std::string_view line) noexcept {
    if (level == SOTTO_LOG_ERROR && this == current_call) {
        keep(line);
    }
    if (level > expected_below_) {
        level = std::max<sotto_log_level>(level, SOTTO_LOG_TRACE);
    }
    if (host_.log != nullptr && level <= host_.log_level) {
        try {
            host_.log(host_.context, level, str(one_line(line)));
        } catch (const std::bad_alloc&) {
            host_.log(host_.context, level, str("out of host memory for a log line"));
        }
    }
}

} // namespace sotto::llama
