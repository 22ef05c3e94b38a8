#include "gpu/d3d12.hpp"

#include <cstdint>

#include "base/error.hpp"
#include "gpu/com_windows.hpp"

#include <d3d12.h>

namespace sotto::gpu {
namespace {

constexpr GUID kDevice = {0x189819f1, 0x1db6, 0x4b57, {0xbe, 0x54, 0x18, 0x21, 0x33, 0x9b, 0x85, 0xf7}};
constexpr GUID kQueue = {0x0ec870a6, 0x5d7e, 0x4c22, {0x8c, 0xfc, 0x5b, 0xaa, 0xe0, 0x76, 0x16, 0xed}};
constexpr GUID kAnything = {0x00000000, 0x0000, 0x0000, {0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x46}};

[[noreturn]] void refuse_d3d12(const std::string& why) {
    throw Error(SOTTO_ERROR_ARGUMENT, why);
}

// Returns true if the memory at `place` is committed and has one of the page protections `ways`.
bool may(const void* place, DWORD ways) {
    MEMORY_BASIC_INFORMATION about{};
    return VirtualQuery(place, &about, sizeof(about)) != 0 && about.State == MEM_COMMIT &&
           (about.Protect & PAGE_GUARD) == 0 && (about.Protect & ways) != 0;
}

// Returns true if `it` looks like a COM object: it starts with a pointer to a vtable whose first entry is
// executable.
bool looks_like_object(const void* it) {
    constexpr DWORD run = PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
    constexpr DWORD read = (run & ~PAGE_EXECUTE) | PAGE_READONLY | PAGE_READWRITE | PAGE_WRITECOPY;
    const auto holds_pointer = [](const void* place) {
        return reinterpret_cast<std::uintptr_t>(place) % alignof(void*) == 0 && may(place, read);
    };
    if (!holds_pointer(it)) {
        return false;
    }
    const auto* const table = *static_cast<const void* const* const*>(it);
    return holds_pointer(table) && may(*table, run);
}

template <typename T>
Com<T> as(void* object, const GUID& kind, const char* must) {
    Com<T> made;
    if (!looks_like_object(object) ||
        FAILED(static_cast<IUnknown*>(object)->QueryInterface(kind, made.out_void()))) {
        refuse_d3d12(must);
    }
    return made;
}

// Returns the pointer that identifies a COM object: equal for all interfaces of the same object.
void* identity(IUnknown* object) {
    Com<IUnknown> made;
    return SUCCEEDED(object->QueryInterface(kAnything, made.out_void())) ? made.get() : nullptr;
}

} // namespace

std::uint64_t luid_of(const sotto_gpu_d3d12& shown) {
    const auto device =
        as<ID3D12Device>(shown.device, kDevice, "invalid d3d12->device: expected an ID3D12Device");
    const auto queue =
        as<ID3D12CommandQueue>(shown.queue, kQueue, "invalid d3d12->queue: expected an ID3D12CommandQueue");
    if (const auto kind = queue->GetDesc().Type; kind != D3D12_COMMAND_LIST_TYPE_DIRECT) {
        refuse_d3d12(invalid(
            "type of d3d12->queue",
            std::to_string(static_cast<int>(kind)),
            "type DIRECT; pass the queue that the game renders with"
        ));
    }
    Com<ID3D12Device> made_by;
    if (FAILED(queue->GetDevice(kDevice, made_by.out_void())) ||
        identity(made_by.get()) != identity(device.get())) {
        refuse_d3d12("invalid d3d12->queue: expected a queue of d3d12->device");
    }
    const auto number = number_of(device->GetAdapterLuid());
    if (shown.luid != 0 && shown.luid != number) {
        refuse_d3d12(invalid(
            "d3d12->luid",
            std::to_string(shown.luid),
            "0, or the LUID of d3d12->device, " + std::to_string(number)
        ));
    }
    return number;
}

} // namespace sotto::gpu
