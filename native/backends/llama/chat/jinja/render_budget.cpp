// The budget of a render: steps, CPU time and nesting depth.
#include "chat/jinja/render_budget.hpp"

#include "devices/cpu/cores.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

constexpr std::size_t kMaxDepth = 256; // nested evaluations of template nodes
// llama.cpp's own templates take at most 18,500 steps, including the renders that probe them.
constexpr std::size_t kMaxSteps = 1'000'000;
constexpr std::size_t kStepsPerItem = 2'000;
constexpr std::chrono::nanoseconds kMaxTime = std::chrono::seconds(5); // CPU time
constexpr std::chrono::nanoseconds kTimePerItem = std::chrono::milliseconds(2);
constexpr std::chrono::nanoseconds kNone{0};
constexpr std::size_t kLookEvery = 64; // steps between polls

thread_local RequestRenders* current_request = nullptr;

} // namespace

void RenderFailure::check() const {
    if (failure_) {
        std::rethrow_exception(failure_);
    }
}

void RenderFailure::exceed(const std::string& reason) {
    if (!failure_) {
        failure_ = std::make_exception_ptr(TemplateError(SOTTO_ERROR_MODEL, reason));
    }
    std::rethrow_exception(failure_);
}

void RenderFailure::keep_current() noexcept {
    if (!failure_) {
        failure_ = std::current_exception();
    }
}

RequestRenders::RequestRenders(std::function<void()> poll) : poll_(std::move(poll)), outer_(current_request) {
    current_request = this;
}

RequestRenders::~RequestRenders() {
    current_request = outer_;
}

RequestRenders* RequestRenders::current() noexcept {
    return current_request;
}

RenderBudget::RenderBudget(std::size_t items, RenderFailure& failure, std::function<void()> poll)
    : items_(items), failure_(failure), poll_(std::move(poll)), request_(current_request),
      begun_(thread_cpu_time() - (request_ != nullptr ? request_->spent() : kNone)) {}

RenderBudget::~RenderBudget() {
    if (request_ != nullptr) {
        request_->set_spent(thread_cpu_time() - begun_);
    }
}

void RenderBudget::enter() {
    failure_.check();
    if (depth_ >= kMaxDepth) {
        failure_.exceed(
            "it is nested deeper than " + std::to_string(kMaxDepth) + " levels when it is rendered"
        );
    }
    steps(1);
    ++depth_;
}

void RenderBudget::steps(std::size_t count) {
    const auto max = kMaxSteps + kStepsPerItem * items_;
    if (count > max - std::min(max, steps_)) {
        failure_.exceed("it takes more than " + std::to_string(max) + " steps to render");
    }
    steps_ += count;
    if (steps_ >= next_look_) {
        next_look_ = steps_ + kLookEvery;
        look_up();
    }
}

void RenderBudget::look_up() {
    const auto max = kMaxTime + kTimePerItem * items_;
    if (thread_cpu_time() - begun_ > max) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(max).count();
        failure_.exceed("it takes more than " + std::to_string(seconds) + " s of CPU time to render");
    }
    const auto& poll = poll_ || request_ == nullptr ? poll_ : request_->poll();
    if (poll) {
        try {
            poll();
        } catch (...) {
            failure_.keep_current();
            throw;
        }
    }
}

} // namespace sotto::llama
