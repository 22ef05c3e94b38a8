// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "Misc/Build.h"

using int8 = std::int8_t;
using int16 = std::int16_t;
using int32 = std::int32_t;
using int64 = long long; // also where std::int64_t is long
using uint8 = std::uint8_t;
using uint16 = std::uint16_t;
using uint32 = std::uint32_t;
using uint64 = unsigned long long;
using ANSICHAR = char;
using SIZE_T = std::size_t;

#if defined(_WIN32)
using TCHAR = wchar_t;
#  define TEXT_PASTE(x) L##x
#else
using TCHAR = char16_t;
#  define TEXT_PASTE(x) u##x
#endif
#ifndef PLATFORM_WINDOWS // tests/unreal/header_check also reads the code of Windows
#  if defined(_WIN32)
#    define PLATFORM_WINDOWS 1
#    define PLATFORM_LINUX 0
#  else
#    define PLATFORM_WINDOWS 0
#    define PLATFORM_LINUX 1
#  endif
#endif
#define PLATFORM_ANDROID 0
#define PLATFORM_MAC 0
#define TEXT(x) TEXT_PASTE(x)
#define FORCEINLINE inline

// The plugin is linked into one program.
#ifndef SOTTORUNTIME_API
#  define SOTTORUNTIME_API
#endif
