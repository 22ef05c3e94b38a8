#include "backends/diffusion/memory_meter.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

namespace sotto::diffusion {
namespace {

thread_local MemoryMeter* current_meter = nullptr;

// A refused buffer of the calling thread: see throw_if_refused().
enum class Refusal : std::uint8_t { none, refused, undone };
thread_local Refusal refusal = Refusal::none;

} // namespace

MemoryMeter::Scope::Scope(MemoryMeter& meter) noexcept : before_(std::exchange(current_meter, &meter)) {}

MemoryMeter::Scope::~Scope() {
    current_meter = before_;
}

MemoryMeter* MemoryMeter::current() noexcept {
    return current_meter;
}

bool MemoryMeter::set(const void* owner, std::size_t bytes) {
    {
        const std::lock_guard lock(mutex_);
        if (limit_ != 0 && held_ - owners_[owner] + bytes > limit_) {
            refused_ = true;
            return false;
        }
    }
    count(owner, bytes);
    return true;
}

void MemoryMeter::count(const void* owner, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto& owned = owners_[owner];
    held_ += bytes - owned;
    owned = bytes;
    peak_ = std::max(peak_, held_);
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
    auto* const meter = MemoryMeter::current();
    if (meter == nullptr) {
        return ggml_gallocr_reserve(allocator, graph);
    }
    std::size_t bytes = 0;
    ggml_gallocr_reserve_n_size(allocator, graph, nullptr, nullptr, &bytes);
    const bool reserved = meter->set(allocator, bytes) && ggml_gallocr_reserve(allocator, graph);
    if (!reserved) {
        refusal = Refusal::refused;
    }
    return reserved;
}

// A later graph may need more than the first one.
bool allocate_graph(ggml_gallocr_t allocator, ggml_cgraph* graph) {
    const bool allocated = ggml_gallocr_alloc_graph(allocator, graph);
    if (auto* const meter = MemoryMeter::current(); meter != nullptr) {
        meter->count(allocator, ggml_gallocr_get_buffer_size(allocator, 0));
    }
    return allocated;
}

void throw_if_refused() {
    if (refusal == Refusal::undone) {
        refusal = Refusal::none;
        throw std::bad_alloc();
    }
}

void free_allocator(ggml_gallocr_t allocator) {
    if (auto* const meter = MemoryMeter::current(); meter != nullptr) {
        meter->remove(allocator);
    }
    ggml_gallocr_free(allocator);
    if (refusal == Refusal::refused) {
        refusal = Refusal::undone;
    }
}

ggml_backend_buffer_t allocate_tensors(ggml_context* context, ggml_backend_t backend) {
    auto* const buffer = ggml_backend_alloc_ctx_tensors(context, backend);
    if (buffer == nullptr) {
        if (ggml_get_first_tensor(context) != nullptr) {
            throw std::bad_alloc();
        }
        return nullptr;
    }
    auto* const meter = MemoryMeter::current();
    if (meter != nullptr && !meter->set(buffer, ggml_backend_buffer_get_size(buffer))) {
        ggml_backend_buffer_free(buffer);
        throw std::bad_alloc();
    }
    return buffer;
}

void free_buffer(ggml_backend_buffer_t buffer) {
    if (auto* const meter = MemoryMeter::current(); meter != nullptr) {
        meter->remove(buffer);
    }
    ggml_backend_buffer_free(buffer);
}

} // namespace sotto::diffusion
