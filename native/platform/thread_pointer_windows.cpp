#include "platform/thread_pointer.hpp"
#include "platform/windows.hpp"

namespace sotto {

const int ThreadPointer::kRounds = 1;

// Pins the DLL, because Windows calls the destructor when a thread ends. On Linux the library is linked with
// -z nodelete.
ThreadPointer::ThreadPointer(Destructor destructor) noexcept {
    constexpr DWORD kHow = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN;
    HMODULE library = nullptr;
    usable_ =
        GetModuleHandleExW(kHow, reinterpret_cast<LPCWSTR>(&system_function<Destructor>), &library) != 0;
    key_ = usable_ ? FlsAlloc(destructor) : FLS_OUT_OF_INDEXES;
    usable_ = usable_ && key_ != FLS_OUT_OF_INDEXES;
}

void* ThreadPointer::get() const noexcept {
    return usable_ ? FlsGetValue(key_) : nullptr;
}

bool ThreadPointer::set(void* value) noexcept {
    return usable_ && FlsSetValue(key_, value) != 0;
}

} // namespace sotto
