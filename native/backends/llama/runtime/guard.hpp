// Redirects ggml's log to the host, and converts its aborts into exceptions where unwinding is safe.
#pragma once

#include "devices/lost.hpp"
#include "runtime/fence.hpp"

namespace sotto::llama {

// Installs callbacks in ggml, once per process.
void take_over_ggml();

// Writes a line to the log of the calling thread's innermost call; a thread without one, to the logs of all
// calls that compute.
void write_log(sotto_log_level level, std::string_view line) noexcept;

// Lives for one call into this module: determines the host that receives log lines, keeps the first error
// that llama.cpp logs, and decides whether a failed check inside ggml may unwind.
class Call {
public:
    enum class Abort {
        Throws, // no graph is being computed: a failed ggml assertion becomes an Error
        // workers may wait at a barrier for this thread: a failed assertion is logged and terminates the
        // process
        Dies
    };

    // `loss`: the device state of the call's model. Default: that of the enclosing call, if any.
    Call(const sotto_backend_host& host, Abort abort);
    Call(const sotto_backend_host& host, Abort abort, Loss loss);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    // Returns the first error that llama.cpp logged while this call was the innermost one, or `otherwise`.
    // Later errors are consequences of the first.
    std::string last_error(std::string_view otherwise) const;
    // Throws last_error() with the first status that applies: SOTTO_ERROR_DEVICE if the device was lost; the
    // status that fail_on_card() threw, if llama.cpp swallowed the exception; SOTTO_ERROR_MEMORY if an
    // allocation failed; otherwise SOTTO_ERROR_MODEL.
    [[noreturn]] void refuse(std::string_view otherwise) const;
    // Throws Error for a failure on which ggml's CUDA code would terminate the process.
    [[noreturn]] void fail_on_card(std::string_view otherwise);
    // From now on, logs lines that are less severe than `level` with SOTTO_LOG_TRACE, because they are
    // expected. 0: errors are expected too.
    void expect_below(sotto_log_level level) noexcept { expected_below_ = level; }
    sotto_log_level expected_below() const noexcept { return expected_below_; }

    void log(sotto_log_level level, std::string_view line) noexcept;
    bool throws() const noexcept { return abort_ == Abort::Throws; }
    const sotto_backend_host& host() const noexcept { return host_; }
    const Loss& loss() const noexcept { return loss_; }

    // Makes throw_if_cancelled() poll `cancelled`.
    void ask(sotto_gate_fn cancelled, void* context) noexcept {
        cancelled_ = cancelled;
        cancelled_context_ = context;
    }
    bool is_cancelled() const { return cancelled_ != nullptr && cancelled_(cancelled_context_) != 0; }

    // Innermost call of the calling thread, or null.
    static Call* current() noexcept;

private:
    friend class Computing;

    bool computes() const noexcept;
    void keep(std::string_view error) noexcept;
    void say(sotto_log_level level, std::string_view line) const noexcept;

    const sotto_backend_host& host_;
    Abort abort_;
    sotto_log_level expected_below_ = SOTTO_LOG_TRACE;
    std::string last_error_;
    std::string card_error_;         // last CUDA error that was logged
    sotto_status thrown_ = SOTTO_OK; // status that fail_on_card() threw
    Call* outer_;
    Call* next_ = nullptr; // next in the list of calls that compute; see guard.cpp
    Loss loss_;
    sotto_gate_fn cancelled_ = nullptr; // null: the call cannot be cancelled
    void* cancelled_context_ = nullptr;
};

// Empties the list of calls that compute a graph. Call it in a child process after fork(), where the threads
// of these calls do not exist.
void forget_computing_calls() noexcept;
// Throws Error(SOTTO_ERROR_CANCELLED) if the current call of this thread was cancelled.
void throw_if_cancelled();

// Throws Error(SOTTO_ERROR_DEVICE) if the device of the current call was lost. Call it in a catch clause, or
// after llama.cpp failed without throwing.
void throw_if_lost(const std::exception& error);
void throw_if_lost();

} // namespace sotto::llama
