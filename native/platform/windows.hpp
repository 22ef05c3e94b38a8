// <windows.h> without its optional parts. For platform/*_windows.cpp.
#pragma once

#ifndef WIN32_LEAN_AND_MEAN
#  define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#  define NOMINMAX
#endif
#include <windows.h>

namespace sotto {

// Returns a function that only some versions of Windows have, or null.
template <typename Function>
Function system_function(const wchar_t* library, const char* name) noexcept {
    const HMODULE module = GetModuleHandleW(library);
    const FARPROC found = module != nullptr ? GetProcAddress(module, name) : nullptr;
    return reinterpret_cast<Function>(reinterpret_cast<void*>(found));
}

} // namespace sotto
