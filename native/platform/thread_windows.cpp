#include "platform/thread.hpp"

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

// "EcoQoS": on the cores that take least, and no faster than need be. Older systems know nothing of it.
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
        if (set != nullptr) { // Windows 10, 1607
            set(GetCurrentThread(), native_path(name).c_str());
        }
    } catch (const std::exception&) { // no memory for a name
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

bool set_thread_affinity(std::uint64_t cores) noexcept {
    if (cores == 0) {
        return true;
    }
    const auto ours = static_cast<DWORD_PTR>(cores) & cores_of_process(); // it takes no others
    return ours != 0 && SetThreadAffinityMask(GetCurrentThread(), ours) != 0;
}

std::uint64_t thread_affinity() noexcept {
    return cores_of_process();
}

unsigned usable_cores() noexcept {
    const int count = std::popcount(cores_of_process());
    return count > 0 ? static_cast<unsigned>(count) : 1;
}

} // namespace sotto
