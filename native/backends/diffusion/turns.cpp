#include "backends/diffusion/turns.hpp"

#include <new>
#include <system_error>
#include <utility>

#include "llama_cpp/thread_start.hpp"
#include "runtime/fence.hpp"
#include "runtime/forked.hpp"
#include "runtime/process_end.hpp"

namespace sotto::diffusion {

Turns::Turns(Work work) : work_(std::move(work)) {}

Turns::~Turns() {
    if (!thread_.joinable()) {
        return;
    }
    if (llama::was_forked()) { // the child has no such thread
        new std::thread(std::move(thread_));
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        closing_ = mine_ = true;
        step_ = nullptr;
    }
    changed_.notify_all();
    thread_.join();
}

Turns::End Turns::advance(const sotto_step& step) {
    {
        const std::lock_guard lock(mutex_);
        step_ = &step;
        mine_ = true;
    }
    if (!thread_.joinable()) {
        try {
            thread_ = std::thread([this] { this->work(); });
        } catch (const std::system_error& error) {
            mine_ = false;
            llama::refuse_thread(error.code());
        }
    }
    changed_.notify_all();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !mine_; });
    if (failure_) {
        std::rethrow_exception(std::exchange(failure_, nullptr));
    }
    return end_;
}

void Turns::work() noexcept {
    try {
        wait_for_turn();
        work_(*this);
    } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!closing_) {
            failure_ = std::current_exception();
        }
    }
    give_back(End::finished);
}

void Turns::wait_for_turn() {
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return mine_; });
    }
    if (on_turn) {
        on_turn();
    }
}

void Turns::give_back(End end) {
    {
        const std::lock_guard lock(mutex_);
        end_ = end;
        mine_ = false;
    }
    changed_.notify_all();
}

bool Turns::ask() {
    if (closing_) {
        return true;
    }
    if (llama::process_ends()) {
        return true;
    }
    if (step_->gate(step_->context) != 0) {
        give_back(End::cancelled);
        wait_for_turn();
    }
    return closing_;
}

bool Turns::hand_over() {
    if (!closing_) {
        give_back(End::handed_over);
        wait_for_turn();
    }
    return closing_;
}

void Turns::hand_over_or_throw() {
    if (hand_over()) {
        throw llama::Error(SOTTO_ERROR_CANCELLED, "cancelled");
    }
}

} // namespace sotto::diffusion
