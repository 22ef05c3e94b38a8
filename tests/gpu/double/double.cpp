// A double of the CUDA driver: its contract where our code meets it, and nothing that computes. See
// README.md.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "state.hpp"

using namespace sotto_double;

namespace {

Result make(Context* context, Device card, bool cig, void* queue) {
    auto& d = it();
    if (!d.is_card(card)) {
        return kInvalidDevice;
    }
    *context = d.fresh<Context>();
    d.contexts[*context] = {card, cig, queue, false, {}};
    enter(*context);
    return kSuccess;
}

#define SOTTO_BEGIN(name)                                                                                    \
    auto& d = it();                                                                                          \
    const std::lock_guard lock(d.mutex);                                                                     \
    if (const Result failed = d.begin(name); failed != kSuccess) {                                           \
        return failed;                                                                                       \
    }

} // namespace

extern "C" {

Result cuInit(unsigned) {
    SOTTO_BEGIN("cuInit")
    d.initialized = true;
    return kSuccess;
}

Result cuDriverGetVersion(int* version) {
    SOTTO_BEGIN("cuDriverGetVersion")
    *version = static_cast<int>(d.settings["version"]);
    return kSuccess;
}

Result cuGetErrorName(Result result, const char** name) {
    static const std::map<Result, const char*> kNames = {
        {kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
        {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
        {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED"},
        {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE"},
        {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
        {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
        {kNotSupported, "CUDA_ERROR_NOT_SUPPORTED"},
        {kUnsupportedLimit, "CUDA_ERROR_UNSUPPORTED_LIMIT"},
        {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"},
        {999, "CUDA_ERROR_UNKNOWN"},
    };
    const auto found = kNames.find(result);
    *name = found == kNames.end() ? nullptr : found->second;
    return found == kNames.end() ? kInvalidValue : kSuccess;
}

Result cuGetErrorString(Result result, const char** text) {
    *text = result == kOutOfMemory ? "out of memory" : nullptr;
    return *text == nullptr ? kInvalidValue : kSuccess;
}

Result cuDeviceGetCount(int* count) {
    SOTTO_BEGIN("cuDeviceGetCount")
    *count = static_cast<int>(d.settings["cards"]);
    return kSuccess;
}

Result cuDeviceGet(Device* card, int index) {
    SOTTO_BEGIN("cuDeviceGet")
    *card = index;
    return d.is_card(index) ? kSuccess : kInvalidDevice;
}

Result cuDeviceGetName(char* name, int room, Device card) {
    SOTTO_BEGIN("cuDeviceGetName")
    std::snprintf(name, static_cast<std::size_t>(room), "Double %d", card);
    return d.is_card(card) ? kSuccess : kInvalidDevice;
}

Result cuDeviceGetUuid_v2(Uuid* uuid, Device card) {
    SOTTO_BEGIN("cuDeviceGetUuid")
    for (int i = 0; i < 16; ++i) {
        uuid->bytes[i] = static_cast<unsigned char>(0x10 * card + i);
    }
    return d.is_card(card) ? kSuccess : kInvalidDevice;
}

Result cuDeviceGetLuid(char* luid, unsigned* node_mask, Device card) {
    SOTTO_BEGIN("cuDeviceGetLuid")
    if (d.settings["luids"] == 0) {
        return kInvalidDevice;
    }
    const std::uint64_t value = 0x100000000ULL + 0xd0 + static_cast<unsigned>(card);
    std::memcpy(luid, &value, sizeof value);
    *node_mask = 1;
    return kSuccess;
}

Result cuDeviceTotalMem_v2(std::size_t* bytes, Device card) {
    SOTTO_BEGIN("cuDeviceTotalMem")
    *bytes = std::size_t{8} << 30;
    return d.is_card(card) ? kSuccess : kInvalidDevice;
}

Result cuDeviceGetAttribute(int* value, int attribute, Device card) {
    SOTTO_BEGIN("cuDeviceGetAttribute")
    const auto cig = [&](const char* setting) {
        const auto says = d.settings[setting];
        *value = card != 0 && says == 1 ? 1 : 0;
        return says == 2 ? kInvalidValue : kSuccess;
    };
    switch (attribute) {
    case kCapabilityMajor:
        *value = static_cast<int>(d.settings["capability"] / 10);
        return kSuccess;
    case kCapabilityMinor:
        *value = static_cast<int>(d.settings["capability"] % 10);
        return kSuccess;
    case kIntegrated:
        *value = 0;
        return kSuccess;
    case kReservedMemory:
        *value = 1024;
        return kSuccess;
    case kCigD3d12:
        return cig("d3d12");
    case kCigVulkan:
        return cig("vulkan");
    default:
        return kInvalidValue;
    }
}

Result cuCtxCreate_v2(Context* context, unsigned, Device card) {
    SOTTO_BEGIN("cuCtxCreate_v2")
    return make(context, card, false, nullptr);
}

#ifndef SOTTO_DOUBLE_IS_OLD
Result cuCtxCreate_v4(Context* context, CreateParams* params, unsigned, Device card) {
    SOTTO_BEGIN("cuCtxCreate_v4")
    const auto* cig = params != nullptr ? params->cig : nullptr;
    if (cig == nullptr || params->affinities != nullptr || cig->data == nullptr) {
        return kInvalidValue;
    }
    const bool d3d12 = cig->type == kD3d12CommandQueue;
    if ((!d3d12 && cig->type != kNvBlob) || !d.is_card(card)) {
        return kInvalidValue;
    }
    if (card == 0 || d.settings[d3d12 ? "d3d12" : "vulkan"] != 1) {
        return kNotSupported;
    }
    if (!d3d12 && std::memcmp(cig->data, "blob", 4) != 0) { // that the fake Vulkan of the tests writes
        return kInvalidValue;
    }
    const auto same = std::count_if(d.contexts.begin(), d.contexts.end(), [&](const auto& one) {
        return d3d12 && one.second.cig && one.second.queue == cig->data;
    });
    if (same >= d.settings["per_queue"]) {
        return kInvalidValue;
    }
    return make(context, card, true, cig->data);
}
#endif

Result cuCtxDestroy_v2(Context context) {
    SOTTO_BEGIN("cuCtxDestroy_v2")
    const auto found = d.contexts.find(context);
    if (found == d.contexts.end()) {
        d.misuse("a context that isn't there was destroyed");
        return kInvalidContext;
    }
    if (d.current[context] != 0) {
        d.misuse("a context was destroyed while it was current");
    }
    if (found->second.hosts) {
        d.misuse("a context of the host's was destroyed");
    }
    for (const auto stream : found->second.streams) {
        d.streams.erase(stream);
    }
    d.contexts.erase(found);
    return kSuccess;
}

#ifndef SOTTO_DOUBLE_IS_HALF
Result cuCtxPushCurrent_v2(Context context) {
    SOTTO_BEGIN("cuCtxPushCurrent_v2")
    if (d.contexts.find(context) == d.contexts.end()) {
        return kInvalidContext;
    }
    enter(context);
    return kSuccess;
}
#endif

Result cuCtxPopCurrent_v2(Context* context) {
    SOTTO_BEGIN("cuCtxPopCurrent_v2")
    if (depth() == 0) {
        d.misuse("a thread popped what it had not pushed");
        return kInvalidContext;
    }
    *context = top();
    leave();
    return kSuccess;
}

Result cuCtxGetCurrent(Context* context) {
    SOTTO_BEGIN("cuCtxGetCurrent")
    *context = top();
    return kSuccess;
}

Result cuCtxSetCurrent(Context context) {
    SOTTO_BEGIN("cuCtxSetCurrent")
    if (context != nullptr && d.contexts.find(context) == d.contexts.end()) {
        return kInvalidContext;
    }
    if (!depth() == 0) {
        leave();
    }
    if (context != nullptr) {
        enter(context);
    }
    return kSuccess;
}

Result cuCtxGetDevice(Device* card) {
    SOTTO_BEGIN("cuCtxGetDevice")
    const auto found = d.contexts.find(top());
    if (found == d.contexts.end()) {
        return kInvalidContext;
    }
    *card = found->second.card;
    return kSuccess;
}

Result cuCtxGetId(Context context, unsigned long long* id) {
    SOTTO_BEGIN("cuCtxGetId")
    *id = reinterpret_cast<std::uintptr_t>(context); // none is given twice here
    return d.contexts.find(context) != d.contexts.end() ? kSuccess : kInvalidContext;
}

Result cuCtxGetLimit(std::size_t* value, int limit) {
    SOTTO_BEGIN("cuCtxGetLimit")
    const auto found = d.contexts.find(top());
    if (found == d.contexts.end()) {
        return kInvalidContext;
    }
    if (d.settings["limits"] == 0 || (limit != kSharedMemory && limit != kCigEnabled)) {
        return kUnsupportedLimit;
    }
    const bool cig = found->second.cig && d.settings["enabled"] != 0;
    *value = limit == kCigEnabled ? cig : 49152;
    return kSuccess;
}

Result cuCtxSynchronize() {
    SOTTO_BEGIN("cuCtxSynchronize")
    return top() != nullptr ? kSuccess : kInvalidContext;
}

Result cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    SOTTO_BEGIN("cuCtxGetStreamPriorityRange")
    *least = 0;
    *greatest = -5;
    return top() != nullptr ? kSuccess : kInvalidContext;
}

Result cuStreamCreateWithPriority(Stream* stream, unsigned, int priority) {
    SOTTO_BEGIN("cuStreamCreateWithPriority")
    const auto found = d.contexts.find(top());
    if (found == d.contexts.end()) {
        return kInvalidContext;
    }
    *stream = d.fresh<Stream>();
    d.streams[*stream] = std::clamp(priority, -5, 0);
    found->second.streams.insert(*stream);
    return kSuccess;
}

Result cuStreamGetPriority(Stream stream, int* priority) {
    SOTTO_BEGIN("cuStreamGetPriority")
    const auto found = d.streams.find(stream);
    if (found == d.streams.end()) {
        d.misuse("a stream that isn't there was asked for its priority");
        return kInvalidHandle;
    }
    *priority = found->second + static_cast<int>(d.settings["off_by"]);
    return kSuccess;
}

Result cuStreamDestroy_v2(Stream stream) {
    SOTTO_BEGIN("cuStreamDestroy_v2")
    if (d.streams.erase(stream) == 0) {
        d.misuse("a stream that isn't there was destroyed");
        return kInvalidHandle;
    }
    for (auto& [context, made] : d.contexts) {
        made.streams.erase(stream);
    }
    return kSuccess;
}

} // extern "C"
