// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include <string_view>

#include "CoreTypes.h"

class FStringView {
public:
    FStringView() = default;
    FStringView(const TCHAR* First, int32 Count) : View(First, static_cast<std::size_t>(Count)) {}
    int32 Len() const { return static_cast<int32>(View.size()); }
    const TCHAR* GetData() const { return View.data(); }

private:
    std::basic_string_view<TCHAR> View;
};
