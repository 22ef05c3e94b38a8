#include "platform/thread.hpp"

#include <algorithm>
#include <bit>

#include "base/path.hpp"
#include "platform/windows.hpp"

namespace sotto {
namespace {

DWORD_PTR cores_of_process() noexcept {
    DWORD_PTR ours = 0;
    DWORD_PTR machines = 0;
    return GetProcessAffinityMask(GetCurrentProcess(), &ours, &machines) ? ours : 0;
}

// Turns "EcoQoS" on or off for the calling thread: efficient cores at low clock rates. Older versions of
// Windows ignore it.
void set_frugal(bool frugal) noexcept {
    using Set = BOOL(WINAPI*)(HANDLE, THREAD_INFORMATION_CLASS, LPVOID, DWORD);
    static const auto set = system_function<Set>(L"kernel32.dll", "SetThreadInformation");
    if (set != nullptr) {
        THREAD_POWER_THROTTLING_STATE state{};
        state.Version = THREAD_POWER_THROTTLING_CURRENT_VERSION;
        state.ControlMask = THREAD_POWER_THROTTLING_EXECUTION_SPEED;
        state.StateMask = frugal ? THREAD_POWER_THROTTLING_EXECUTION_SPEED : 0;
        set(GetCurrentThread(), ThreadPowerThrottling, &state, sizeof state);
    }
}

} // namespace

void set_thread_name(const std::string& name) noexcept {
    using Set = HRESULT(WINAPI*)(HANDLE, PCWSTR);
    static const auto set = system_function<Set>(L"kernelbase.dll", "SetThreadDescription");
    try {
        if (set != nullptr) { // the function exists since Windows 10, version 1607
            set(GetCurrentThread(), native_path(name).c_str());
        }
    } catch (const std::exception&) { // no memory for the name: the thread stays unnamed
    }
}

bool set_thread_class(ThreadClass thread_class) noexcept {
    const bool idle = thread_class == ThreadClass::idle;
    set_frugal(idle);
    return SetThreadPriority(GetCurrentThread(), idle ? THREAD_PRIORITY_IDLE : THREAD_PRIORITY_NORMAL) != 0;
}

std::uint64_t thread_number() noexcept {
    return GetCurrentThreadId();
}

bool raise_thread_class(std::uint64_t number) noexcept {
    const HANDLE thread = OpenThread(THREAD_SET_INFORMATION, FALSE, static_cast<DWORD>(number));
    if (thread == nullptr) {
        return false;
    }
    const bool raised = SetThreadPriority(thread, THREAD_PRIORITY_NORMAL) != 0;
    CloseHandle(thread);
    return raised;
}

bool lower_thread_priority() noexcept {
    return SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_BELOW_NORMAL) != 0;
}

bool set_thread_affinity(const CoreSet& cores) noexcept {
    const auto found =
        std::find_if(cores.words.begin(), cores.words.end(), [](std::uint64_t word) { return word != 0; });
    if (found == cores.words.end()) {
        return true;
    }
    GROUP_AFFINITY affinity{};
    affinity.Group = static_cast<WORD>(found - cores.words.begin());
    affinity.Mask = static_cast<KAFFINITY>(*found);
    if (affinity.Group == 0) {
        affinity.Mask &= cores_of_process(); // Windows refuses cores outside of this mask
    }
    return affinity.Mask != 0 && SetThreadGroupAffinity(GetCurrentThread(), &affinity, nullptr) != 0;
}

CoreSet thread_affinity() noexcept {
    CoreSet cores;
    GROUP_AFFINITY affinity{};
    if (GetThreadGroupAffinity(GetCurrentThread(), &affinity) != 0 && affinity.Group < cores.words.size()) {
        cores.words[affinity.Group] = affinity.Mask;
    }
    return cores;
}

unsigned usable_cores() noexcept {
    const int count = std::popcount(cores_of_process());
    return count > 0 ? static_cast<unsigned>(count) : 1;
}

} // namespace sotto
