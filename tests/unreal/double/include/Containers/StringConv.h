// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include <string>

#include "HAL/Platform.h"

/** Converts Unreal's characters to UTF-8. Lone surrogates become U+FFFD. */
class FTCHARToUTF8 {
public:
    explicit FTCHARToUTF8(const TCHAR* Source);
    const ANSICHAR* Get() const { return Held.c_str(); }
    int32 Length() const { return static_cast<int32>(Held.size()); }

private:
    std::string Held;
};

/** Converts UTF-8 to Unreal's characters. Invalid bytes become U+FFFD. */
class FUTF8ToTCHAR {
public:
    FUTF8ToTCHAR(const ANSICHAR* Source, int32 Size);
    const TCHAR* Get() const { return Held.c_str(); }
    int32 Length() const { return static_cast<int32>(Held.size()); }

private:
    std::basic_string<TCHAR> Held;
};

#define ANSI_TO_TCHAR(Text) FUTF8ToTCHAR(Text, static_cast<int32>(std::char_traits<char>::length(Text))).Get()
#define TCHAR_TO_UTF8(Text) FTCHARToUTF8(Text).Get()
