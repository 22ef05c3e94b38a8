#include "backends/diffusion/memory_meter.hpp"

#include <algorithm>
#include <utility>

#include <ggml-alloc.h>
#include <ggml-backend.h>

#include "runtime/fence.hpp"

namespace sotto::diffusion {
namespace {

thread_local MemoryMeter* current_meter = nullptr;

} // namespace

MemoryMeter::Scope::Scope(MemoryMeter& meter) noexcept : before_(std::exchange(current_meter, &meter)) {}

MemoryMeter::Scope::~Scope() {
    current_meter = before_;
}

MemoryMeter* MemoryMeter::current() noexcept {
    return current_meter;
}

bool MemoryMeter::set(const void* owner, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto& owned = owners_[owner];
    const auto held = held_ - owned + bytes;
    if (limit_ != 0 && held > limit_) {
        refused_ = true;
        return false;
    }
    owned = bytes;
    held_ = held;
    peak_ = std::max(peak_, held);
    return true;
}

void MemoryMeter::remove(const void* owner) noexcept {
    const std::lock_guard lock(mutex_);
    if (const auto found = owners_.find(owner); found != owners_.end()) {
        held_ -= found->second;
        owners_.erase(found);
    }
}

std::uint64_t MemoryMeter::held() const {
    const std::lock_guard lock(mutex_);
    return held_;
}

std::uint64_t MemoryMeter::take_peak() {
    const std::lock_guard lock(mutex_);
    return std::exchange(peak_, held_);
}

bool MemoryMeter::take_refused() {
    const std::lock_guard lock(mutex_);
    return std::exchange(refused_, false);
}

void MemoryMeter::limit_to(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    limit_ = bytes;
}

// Sources of stable-diffusion.cpp call these instead of ggml's functions: see hooks.hpp.

bool reserve(ggml_gallocr_t allocator, ggml_cgraph* graph) {
    if (!ggml_gallocr_reserve(allocator, graph)) {
        return false;
    }
    auto* const meter = MemoryMeter::current();
    return meter == nullptr || meter->set(allocator, ggml_gallocr_get_buffer_size(allocator, 0));
}

void free_allocator(ggml_gallocr_t allocator) {
    if (auto* const meter = MemoryMeter::current(); meter != nullptr) {
        meter->remove(allocator);
    }
    ggml_gallocr_free(allocator);
}

ggml_backend_buffer_t allocate_tensors(ggml_context* context, ggml_backend_t backend) {
    auto* const buffer = ggml_backend_alloc_ctx_tensors(context, backend);
    auto* const meter = MemoryMeter::current();
    if (buffer == nullptr || meter == nullptr || meter->set(buffer, ggml_backend_buffer_get_size(buffer))) {
        return buffer;
    }
    ggml_backend_buffer_free(buffer);
    return nullptr;
}

void free_buffer(ggml_backend_buffer_t buffer) {
    if (auto* const meter = MemoryMeter::current(); meter != nullptr) {
        meter->remove(buffer);
    }
    ggml_backend_buffer_free(buffer);
}

} // namespace sotto::diffusion
