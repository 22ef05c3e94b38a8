// Redirects ggml's log to the host, and converts its aborts into exceptions where unwinding is safe.
#include "runtime/guard.hpp"

#include "runtime/forked.hpp"
#include "runtime/memory_watch.hpp"

#include <ggml-backend.h>
#include <ggml.h>
#include <mutex>

namespace sotto::llama {

// The calls of all engines that compute at present. ggml's worker threads belong to no call and do not
// identify their engine, so their log lines go to every engine that computes at the time.
class Computing {
public:
    void enter(Call& call) noexcept {
        const std::lock_guard lock(mutex_);
        call.next_ = first_;
        first_ = &call;
    }

    void leave(const Call& call) noexcept {
        const std::lock_guard lock(mutex_);
        for (Call** at = &first_; *at != nullptr; at = &(*at)->next_) {
            if (*at == &call) {
                *at = call.next_;
                return;
            }
        }
    }

    void say(sotto_log_level level, std::string_view line) noexcept {
        const std::lock_guard lock(mutex_);
        for (const Call* call = first_; call != nullptr; call = call->next_) {
            call->say(level, line);
        }
    }

private:
    std::mutex mutex_; // guards the members below, and keeps calls alive while a line is written to them
    Call* first_ = nullptr;
};

namespace {

constinit Computing computing;

// With one thread-local of this TLS model, all of the module's thread-locals are in static TLS, allocated
// when the module is loaded. glibc terminates the process if memory for dynamic TLS runs out.
#if defined(__GLIBC__)
[[gnu::tls_model("initial-exec")]]
#endif
thread_local Call* current_call = nullptr;

sotto_log_level level_of(ggml_log_level level, sotto_log_level previous) {
    switch (level) {
    case GGML_LOG_LEVEL_ERROR:
        return SOTTO_LOG_ERROR;
    case GGML_LOG_LEVEL_WARN:
        return SOTTO_LOG_WARN;
    case GGML_LOG_LEVEL_CONT:
        return previous;
    default: // llama.cpp's info lines are details for a game
        return SOTTO_LOG_TRACE;
    }
}

void on_log(ggml_log_level level, const char* text, void*) {
    thread_local sotto_log_level previous = SOTTO_LOG_TRACE;
    previous = level_of(level, previous);
    if (text == nullptr) {
        return;
    }
    std::string_view line(text);
    while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) {
        line.remove_suffix(1);
    }
    if (line.size() > 1) { // otherwise, a dot of a progress bar
        write_log(previous, line);
    }
}

void on_abort(const char* message) {
    if (current_call == nullptr) {
        computing.say(SOTTO_LOG_ERROR, message);
        return;
    }
    current_call->log(SOTTO_LOG_ERROR, message);
    // A CUDA error on a thread that is inside a backend call always becomes an exception, also while the call
    // computes a graph.
    if (std::string_view(message).find("CUDA error") != std::string_view::npos) {
        current_call->fail_on_card(message);
    }
    if (current_call->throws()) {
        throw Error(SOTTO_ERROR_MODEL, message);
    }
}

// Removes the function name at the start of a log line.
std::string_view without_speaker(std::string_view line) {
    const auto colon = line.find(": ");
    if (colon != std::string_view::npos && line.substr(0, colon).find(' ') == std::string_view::npos) {
        line.remove_prefix(colon + 2);
    }
    return line;
}

} // namespace

void take_over_ggml() {
    static std::once_flag once;
    std::call_once(once, [] {
        survive_forks();
        note_failed_allocations();
        ggml_log_set(on_log, nullptr);
        ggml_set_abort_callback(on_abort);
        ggml_time_init();
    });
}

void write_log(sotto_log_level level, std::string_view line) noexcept {
    if (current_call != nullptr) {
        current_call->log(level, line);
    } else {
        computing.say(level, line);
    }
}

Call::Call(const sotto_backend_host& host, Abort abort)
    : Call(host, abort, current_call != nullptr ? current_call->loss_ : Loss()) {}

Call::Call(const sotto_backend_host& host, Abort abort, Loss loss)
    : host_(host), abort_(abort), outer_(current_call), loss_(std::move(loss)) {
    const bool begins = computes() && (outer_ == nullptr || !outer_->computes());
    current_call = this;
    if (begins) {
        computing.enter(*this);
    }
}

Call::~Call() {
    if (computes()) { // removes nothing for a nested call, which is not in the list
        computing.leave(*this);
    }
    current_call = outer_;
}

void throw_if_cancelled() {
    if (current_call != nullptr && current_call->is_cancelled()) {
        throw Error(SOTTO_ERROR_CANCELLED, "the request was cancelled");
    }
}

Call* Call::current() noexcept {
    return current_call;
}

// Returns true if this call or an enclosing one computes.
bool Call::computes() const noexcept {
    return !throws() || (outer_ != nullptr && outer_->computes());
}

void forget_computing_calls() noexcept {
    new (&computing) Computing;
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
        if (last_error_.empty()) { // the first error names the cause; later ones are consequences
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
    say(level, line);
}

void Call::say(sotto_log_level level, std::string_view line) const noexcept {
    if (host_.log != nullptr && level <= host_.log_level) {
        try {
            host_.log(host_.context, level, str(one_line(line)));
        } catch (const std::bad_alloc&) {
            host_.log(host_.context, level, str("out of host memory for a log line"));
        }
    }
}

} // namespace sotto::llama
