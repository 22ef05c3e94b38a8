// Keeps llama.cpp quiet and civil: its log goes to the host, and what it would abort over is thrown
// where that is safe.
#include "runtime/guard.hpp"

#include "runtime/forked.hpp"
#include "runtime/memory_watch.hpp"

#include <ggml-backend.h>
#include <ggml.h>
#include <llama.h>
#include <mutex>

namespace sotto::llama {

// The calls that compute, of all engines of the process. ggml's worker threads make no calls themselves and
// don't say whose they are: what one of them logs goes to every engine that computes at the time.
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
    std::mutex mutex_; // guards what follows, and keeps calls alive while they are written to
    Call* first_ = nullptr;
};

namespace {

constinit Computing computing;

// One thread-local of this model puts all of the module's into static TLS, which is there when the module is.
// Where memory for dynamic TLS runs out, glibc ends the process.
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
    default: // what llama.cpp holds to be information is detail to a game
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
    if (line.size() <= 1) { // the dots of a progress bar
        return;
    }
    if (current_call != nullptr) {
        current_call->log(previous, line);
    } else {
        computing.say(previous, line);
    }
}

void on_abort(const char* message) {
    if (current_call == nullptr) {
        computing.say(SOTTO_LOG_ERROR, message);
        return;
    }
    current_call->log(SOTTO_LOG_ERROR, message);
    // Of a card's errors the calling thread hears, while no other one computes.
    if (std::string_view(message).find("CUDA error") != std::string_view::npos) {
        current_call->fail_on_card(message);
    }
    if (current_call->throws()) {
        throw Error(SOTTO_ERROR_MODEL, message);
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
        survive_forks();
        note_failed_allocations();
        llama_log_set(on_log, nullptr);
        ggml_set_abort_callback(on_abort);
        llama_backend_init();
    });
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
    if (computes()) { // an inner one is not among them
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

// Whether it, or one around it, does.
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

// What llama.cpp calls in place of ggml_backend_sched_graph_compute_async(). Around it, where it prepares a
// batch and its inputs, no worker waits for this thread, and what it asserts there may unwind.
extern "C" ggml_status sotto_compute_graph(ggml_backend_sched_t schedule, ggml_cgraph* graph) {
    using namespace sotto::llama;
    auto* around = Call::current();
    if (around == nullptr) {
        return ggml_backend_sched_graph_compute_async(schedule, graph);
    }
    Call call(around->host(), Call::Abort::Dies);
    call.expect_below(around->expected_below());
    const auto status = ggml_backend_sched_graph_compute_async(schedule, graph);
    around->expect_below(call.expected_below()); // of a gate that was closed
    return status;
}
