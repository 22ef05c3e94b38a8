// Keeps llama.cpp quiet and civil: its log goes to the host, and what it would abort over is thrown
// where that is safe.
#pragma once

#include "devices/lost.hpp"
#include "runtime/fence.hpp"

namespace sotto::llama {

// Installs our callbacks in llama.cpp and ggml, once per process.
void take_over_llama_cpp();

// Lasts as long as one call into this module: says whose log lines are meant, keeps the last error,
// and whether a failed check inside ggml may unwind.
class Call {
public:
    enum class Abort {
        Throws, // nothing computes: an assert of ggml's becomes an Error
        Dies    // workers may wait at a barrier for this thread: only the log hears of it
    };

    // `loss`: of what the model is on that it is about. Not given: of the call around it, if there is one.
    Call(const sotto_backend_host& host, Abort abort);
    Call(const sotto_backend_host& host, Abort abort, Loss loss);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    // What llama.cpp last called an error on this thread, or `otherwise`.
    std::string last_error(std::string_view otherwise) const;
    // Throws it: of SOTTO_ERROR_MEMORY or SOTTO_ERROR_DEVICE where that is what was wanting, of what
    // fail_on_card() threw where llama.cpp kept that to itself, else of SOTTO_ERROR_MODEL.
    [[noreturn]] void refuse(std::string_view otherwise) const;
    // Throws what is to be thrown where ggml's CUDA code would end the process.
    [[noreturn]] void fail_on_card(std::string_view otherwise);
    // From now on what matters less than `level` is expected, and only detail. 0: errors too.
    void expect_below(sotto_log_level level) noexcept { expected_below_ = level; }
    sotto_log_level expected_below() const noexcept { return expected_below_; }

    void log(sotto_log_level level, std::string_view line) noexcept;
    bool throws() const noexcept { return abort_ == Abort::Throws; }
    const sotto_backend_host& host() const noexcept { return host_; }
    const Loss& loss() const noexcept { return loss_; }

    // Has throw_if_cancelled() ask `cancelled` from now on.
    void ask(sotto_gate_fn cancelled, void* context) noexcept {
        cancelled_ = cancelled;
        cancelled_context_ = context;
    }
    bool is_cancelled() const { return cancelled_ != nullptr && cancelled_(cancelled_context_) != 0; }

    // The innermost of the calling thread, or null.
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
    std::string card_error_;         // what CUDA said last
    sotto_status thrown_ = SOTTO_OK; // by fail_on_card()
    Call* outer_;
    Call* next_ = nullptr; // of those that compute; see guard.cpp
    Loss loss_;
    sotto_gate_fn cancelled_ = nullptr; // null: it goes on to its end
    void* cancelled_context_ = nullptr;
};

// In a child process, which lacks the threads of those calls.
void forget_computing_calls() noexcept;
// Throws Error(SOTTO_ERROR_CANCELLED) if nobody wants the result of the call under way on this thread.
void throw_if_cancelled();

// In a catch clause, and where llama.cpp failed and threw nothing: throws Error(SOTTO_ERROR_DEVICE) if what
// the call under way is about was lost.
void throw_if_lost(const std::exception& error);
void throw_if_lost();

} // namespace sotto::llama
