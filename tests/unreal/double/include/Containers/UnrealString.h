// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include <string>
#include <type_traits>

#include "Containers/Array.h"
#include "Containers/StringView.h"

namespace ESearchCase {
enum Type { CaseSensitive, IgnoreCase };
}

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

/** As in Unreal, operators and searches ignore the case of ASCII letters unless told otherwise. */
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
    bool Equals(const FString& Other, ESearchCase::Type Case = ESearchCase::CaseSensitive) const {
        return DoubleFold(Case) == Other.DoubleFold(Case);
    }
    bool Contains(const FString& Part, ESearchCase::Type Case = ESearchCase::IgnoreCase) const {
        return DoubleFold(Case).find(Part.DoubleFold(Case)) != Held.npos;
    }
    bool StartsWith(const FString& Part, ESearchCase::Type Case = ESearchCase::IgnoreCase) const {
        return DoubleFold(Case).starts_with(Part.DoubleFold(Case));
    }
    bool EndsWith(const FString& Part, ESearchCase::Type Case = ESearchCase::IgnoreCase) const {
        return DoubleFold(Case).ends_with(Part.DoubleFold(Case));
    }
    FString TrimStart() const {
        const std::size_t First = std::min(Held.size(), Held.find_first_not_of(TEXT(" \t\r\n")));
        return FString(Held.c_str() + First);
    }
    friend FString operator+(FString Left, const FString& Right) { return Left += Right; }
    friend bool operator==(const FString& Left, const FString& Right) {
        return Left.Equals(Right, ESearchCase::IgnoreCase);
    }
    friend bool operator<(const FString& Left, const FString& Right) {
        return Left.DoubleFold(ESearchCase::IgnoreCase) < Right.DoubleFold(ESearchCase::IgnoreCase);
    }

    template <typename... Types>
    static FString Printf(const TCHAR* Format, Types... Arguments) {
        const std::vector<FDoubleFormatArgument> Made = {FDoubleFormatArgument::Of(Arguments)...};
        return DoubleFormat(Format, Made);
    }
    static FString FromInt(int32 Number) { return Printf(TEXT("%d"), Number); }

private:
    std::basic_string<TCHAR> DoubleFold(ESearchCase::Type Case) const {
        std::basic_string<TCHAR> Folded = Held;
        for (TCHAR& Letter : Folded) {
            const bool bUpper = Case == ESearchCase::IgnoreCase && Letter >= 'A' && Letter <= 'Z';
            Letter = static_cast<TCHAR>(bUpper ? Letter - 'A' + 'a' : Letter);
        }
        return Folded;
    }
    static FString DoubleFormat(const TCHAR* Format, const std::vector<FDoubleFormatArgument>& Arguments);

    std::basic_string<TCHAR> Held;
};
