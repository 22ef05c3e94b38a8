#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

#include "threads/thread_class.hpp"

namespace sotto::threads {

ThreadNumber this_thread_number() noexcept {
    return GetCurrentThreadId();
}

void set_thread_class(ThreadNumber thread, sotto_thread_class thread_class) noexcept {
    const HANDLE handle = OpenThread(THREAD_SET_INFORMATION, FALSE, thread);
    if (handle == nullptr) {
        return;
    }
    const bool idle = thread_class == SOTTO_THREAD_IDLE;
    THREAD_POWER_THROTTLING_STATE frugal{};
    frugal.Version = THREAD_POWER_THROTTLING_CURRENT_VERSION;
    frugal.ControlMask = THREAD_POWER_THROTTLING_EXECUTION_SPEED;
    frugal.StateMask = idle ? THREAD_POWER_THROTTLING_EXECUTION_SPEED : 0;
    SetThreadInformation(handle, ThreadPowerThrottling, &frugal, sizeof frugal);
    SetThreadPriority(handle, idle ? THREAD_PRIORITY_IDLE : THREAD_PRIORITY_NORMAL);
    CloseHandle(handle);
}

} // namespace sotto::threads
