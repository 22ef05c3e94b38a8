// The system's own header, without what is not asked for. For platform/*_windows.cpp.
#pragma once

#ifndef WIN32_LEAN_AND_MEAN
#  define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#  define NOMINMAX
#endif
#include <windows.h>

namespace sotto {

// A function that not every Windows has, or null.
template <typename Function>
Function system_function(const wchar_t* library, const char* name) noexcept {
    const HMODULE module = GetModuleHandleW(library);
    const FARPROC found = module != nullptr ? GetProcAddress(module, name) : nullptr;
    return reinterpret_cast<Function>(reinterpret_cast<void*>(found));
}

} // namespace sotto
