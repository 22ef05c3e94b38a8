// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "Containers/Array.h"

class FStringView {
public:
    FStringView() = default;
    FStringView(const TCHAR* First, int32 Count) : View(First, static_cast<std::size_t>(Count)) {}
    int32 Len() const { return static_cast<int32>(View.size()); }
    const TCHAR* GetData() const { return View.data(); }

private:
    std::basic_string_view<TCHAR> View;
};

/** An argument of FString::Printf(). */
struct FDoubleFormatArgument {
    enum class EKind { Integer, Float, String } Kind;
    long long Integer = 0;
    double Float = 0;
    const TCHAR* String = nullptr;

    template <typename T>
    static FDoubleFormatArgument Of(T Value) {
        FDoubleFormatArgument Made{};
        if constexpr (std::is_same_v<T, const TCHAR*> || std::is_same_v<T, TCHAR*>) {
            Made.Kind = EKind::String;
            Made.String = Value;
        } else if constexpr (std::is_floating_point_v<T>) {
            Made.Kind = EKind::Float;
            Made.Float = static_cast<double>(Value);
        } else {
            static_assert(std::is_integral_v<T>, "Printf takes numbers and const TCHAR*: use *String");
            Made.Kind = EKind::Integer;
            Made.Integer = static_cast<long long>(Value);
        }
        return Made;
    }
};

class FString {
public:
    FString() = default;
    FString(const TCHAR* Text) : Held(Text == nullptr ? std::basic_string<TCHAR>() : Text) {}
    explicit FString(FStringView View) : Held(View.GetData(), static_cast<std::size_t>(View.Len())) {}
    FString(const ANSICHAR* Text) : Held(Text, Text + std::char_traits<char>::length(Text)) {}

    const TCHAR* operator*() const { return Held.c_str(); }
    int32 Len() const { return static_cast<int32>(Held.size()); }
    bool IsEmpty() const { return Held.empty(); }
    void Empty() { Held.clear(); }
    FString& operator+=(const FString& Other) {
        Held += Other.Held;
        return *this;
    }
    bool Contains(const FString& Part) const { return Held.find(Part.Held) != Held.npos; }
    bool StartsWith(const FString& Part) const { return Held.starts_with(Part.Held); }
    bool EndsWith(const FString& Part) const { return Held.ends_with(Part.Held); }
    friend FString operator+(FString Left, const FString& Right) { return Left += Right; }
    friend bool operator==(const FString& Left, const FString& Right) { return Left.Held == Right.Held; }
    friend bool operator<(const FString& Left, const FString& Right) { return Left.Held < Right.Held; }

    template <typename... Types>
    static FString Printf(const TCHAR* Format, Types... Arguments) {
        const std::vector<FDoubleFormatArgument> Made = {FDoubleFormatArgument::Of(Arguments)...};
        return DoubleFormat(Format, Made);
    }
    static FString FromInt(int32 Number) { return Printf(TEXT("%d"), Number); }

private:
    static FString DoubleFormat(const TCHAR* Format, const std::vector<FDoubleFormatArgument>& Arguments);

    std::basic_string<TCHAR> Held;
};
