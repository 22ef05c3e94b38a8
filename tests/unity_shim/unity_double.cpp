#include "unity_double.hpp"

#include <algorithm>
#include <utility>

namespace test {
namespace {

template <typename Function>
void* slot(Function* function) {
    return reinterpret_cast<void*>(function);
}

void TEST_UNITY_CALL not_for_us() {
    ++Unity::it().misuses;
}

// A table of `size` slots, those named filled in.
template <std::size_t size>
std::array<void*, size> table(std::initializer_list<std::pair<std::size_t, void*>> filled) {
    std::array<void*, size> made;
    made.fill(slot(&not_for_us));
    for (const auto& [at, function] : filled) {
        made[at] = function;
    }
    return made;
}

// IUnityGraphics: GetRenderer, RegisterDeviceEventCallback, UnregisterDeviceEventCallback,
// ReserveEventIDRange.
int TEST_UNITY_CALL get_renderer() {
    return Unity::it().renderer;
}
void TEST_UNITY_CALL register_callback(DeviceCallback callback) {
    Unity::it().callbacks.push_back(callback);
}
void TEST_UNITY_CALL unregister_callback(DeviceCallback callback) {
    auto& all = Unity::it().callbacks;
    const auto found = std::find(all.begin(), all.end(), callback);
    if (found == all.end()) {
        ++Unity::it().misuses;
    } else {
        all.erase(found);
    }
}

void* TEST_UNITY_CALL get_device() {
    return Unity::it().d3d12_device;
}
void* TEST_UNITY_CALL get_queue() {
    return Unity::it().d3d12_queue;
}

VulkanInstance TEST_UNITY_CALL get_vulkan() {
    return Unity::it().vulkan;
}
bool TEST_UNITY_CALL add_intercept(Intercept callback, void* user, std::int32_t priority) {
    auto& unity = Unity::it();
    if (unity.vulkan_started) {
        return false;
    }
    unity.intercepts.push_back({callback, user, priority});
    return true;
}
bool TEST_UNITY_CALL remove_intercept(Intercept callback) {
    auto& all = Unity::it().intercepts;
    const auto is = [callback](const Unity::Registered& one) { return one.callback == callback; };
    const auto found = std::find_if(all.begin(), all.end(), is);
    const bool had = found != all.end();
    if (had) {
        all.erase(found);
    }
    return had;
}

void* TEST_UNITY_CALL find(unsigned long long high, unsigned long long low) {
    static auto graphics =
        table<4>({{0, slot(&get_renderer)}, {1, slot(&register_callback)}, {2, slot(&unregister_callback)}});
    static auto vulkan = table<13>({{3, slot(&get_vulkan)}});
    static auto vulkan_v2 =
        table<16>({{3, slot(&get_vulkan)}, {14, slot(&add_intercept)}, {15, slot(&remove_intercept)}});
    static auto d3d12_v4 = table<6>({{0, slot(&get_device)}, {5, slot(&get_queue)}});
    static auto d3d12_v5 = table<7>({{0, slot(&get_device)}, {5, slot(&get_queue)}});
    static auto d3d12_v6 = table<10>({{0, slot(&get_device)}, {5, slot(&get_queue)}});
    static auto d3d12_v7 = table<13>({{0, slot(&get_device)}, {8, slot(&get_queue)}});
    struct Known {
        unsigned long long high;
        unsigned long long low;
        void* table;
        int d3d12;
        bool Unity::* present;
    };
    static const Known known[] = {
        {0x7cba0a9ca4ddb544, 0x8c5ad4926eb17b11, graphics.data(), 0, &Unity::has_graphics},
        {0x95355348d4ef4e11, 0x9789313dfcffcc87, vulkan.data(), 0, &Unity::has_vulkan},
        {0x329334c09dca4787, 0xb347dd92a0097ffc, vulkan_v2.data(), 0, &Unity::has_vulkan_v2},
        {0x498ffcc13ec94006, 0xb18f8b0ff67778c8, d3d12_v4.data(), 4, nullptr},
        {0xf5c8d8a37d37bc42, 0xb02dfe93b5064a27, d3d12_v5.data(), 5, nullptr},
        {0xa396dce58cac4d78, 0xafdd9b281f20b840, d3d12_v6.data(), 6, nullptr},
        {0x4624b0da41b64aac, 0x915aabcb9bc3f0d3, d3d12_v7.data(), 7, nullptr},
    };
    auto& unity = Unity::it();
    for (const auto& one : known) {
        if (one.high != high || one.low != low) {
            continue;
        }
        if (one.present != nullptr) {
            return unity.*one.present ? one.table : nullptr;
        }
        const auto& versions = unity.d3d12_versions;
        const bool has = std::find(versions.begin(), versions.end(), one.d3d12) != versions.end();
        unity.asked_d3d12 = has ? one.d3d12 : unity.asked_d3d12;
        return has ? one.table : nullptr;
    }
    ++unity.misuses; // an interface that no documentation has
    return nullptr;
}

} // namespace

Unity& Unity::it() {
    static Unity unity;
    return unity;
}

Unity& Unity::fresh() {
    return it() = {};
}

// IUnityInterfaces: GetInterface, RegisterInterface, GetInterfaceSplit, RegisterInterfaceSplit.
const void* Unity::interfaces() {
    static auto made = table<4>({{2, slot(&find)}});
    return made.data();
}

void Unity::send(DeviceEvent event) const {
    const auto all = callbacks; // a plugin may unregister itself meanwhile
    for (const auto callback : all) {
        callback(event);
    }
}

GetProc Unity::start_vulkan(GetProc loader) {
    vulkan_started = true;
    auto ordered = intercepts;
    const auto higher = [](const Registered& a, const Registered& b) { return a.priority > b.priority; };
    std::stable_sort(ordered.begin(), ordered.end(), higher);
    GetProc get = loader;
    for (const auto& one : ordered) {
        get = one.callback(get, one.user);
    }
    return get;
}

} // namespace test
