// Double of Unreal: strings, conversions and log lines.
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "CoreMinimal.h"

namespace {

constexpr char32_t kReplacement = 0xFFFD;

void append_utf8(std::string& text, char32_t code) {
    if (code < 0x80) {
        text += static_cast<char>(code);
    } else if (code < 0x800) {
        text += static_cast<char>(0xC0 | code >> 6);
        text += static_cast<char>(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        text += static_cast<char>(0xE0 | code >> 12);
        text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
        text += static_cast<char>(0x80 | (code & 0x3F));
    } else {
        text += static_cast<char>(0xF0 | code >> 18);
        text += static_cast<char>(0x80 | (code >> 12 & 0x3F));
        text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
        text += static_cast<char>(0x80 | (code & 0x3F));
    }
}

char32_t read_utf8(const char* source, std::size_t size, std::size_t& at) {
    const auto first = static_cast<unsigned char>(source[at++]);
    const int more = first < 0x80   ? 0
                     : first < 0xC2 ? -1
                     : first < 0xE0 ? 1
                     : first < 0xF0 ? 2
                     : first < 0xF5 ? 3
                                    : -1;
    if (more <= 0) {
        return more == 0 ? first : kReplacement;
    }
    char32_t code = first & (0x3FU >> more);
    for (int i = 0; i < more; ++i) {
        if (at >= size || (static_cast<unsigned char>(source[at]) & 0xC0) != 0x80) {
            return kReplacement;
        }
        code = code << 6 | (static_cast<unsigned char>(source[at++]) & 0x3F);
    }
    return code;
}

struct Lines {
    std::mutex mutex;
    std::vector<std::pair<ELogVerbosity::Type, FString>> kept;
};

Lines& lines() {
    static Lines& all = *new Lines;
    return all;
}

} // namespace

FTCHARToUTF8::FTCHARToUTF8(const TCHAR* Source) {
    for (; *Source != 0; ++Source) {
        char32_t Code = static_cast<char32_t>(*Source);
        if (Code >= 0xD800 && Code < 0xE000) {
            const char32_t Next = static_cast<char32_t>(Source[1]);
            const bool bPair = Code < 0xDC00 && Next >= 0xDC00 && Next < 0xE000;
            Code = bPair ? 0x10000 + ((Code - 0xD800) << 10) + (Next - 0xDC00) : kReplacement;
            Source += bPair ? 1 : 0;
        }
        append_utf8(Held, Code);
    }
}

FUTF8ToTCHAR::FUTF8ToTCHAR(const ANSICHAR* Source, int32 Size) {
    const auto Bytes = static_cast<std::size_t>(Size);
    for (std::size_t At = 0; At < Bytes;) {
        const char32_t Code = read_utf8(Source, Bytes, At);
        if (Code < 0x10000) {
            Held += static_cast<TCHAR>(Code);
        } else {
            Held += static_cast<TCHAR>(0xD800 + ((Code - 0x10000) >> 10));
            Held += static_cast<TCHAR>(0xDC00 + ((Code - 0x10000) & 0x3FF));
        }
    }
}

FString FString::DoubleFormat(const TCHAR* Format, const std::vector<FDoubleFormatArgument>& Arguments) {
    FString Made;
    std::size_t Next = 0;
    for (const TCHAR* At = Format; *At != 0; ++At) {
        if (*At != '%') {
            Made.Held += *At;
            continue;
        }
        std::string Spec = "%";
        for (++At;
             *At != 0 && std::string_view("diufsxg%").find(static_cast<char>(*At)) == std::string_view::npos;
             ++At) {
            Spec += *At == 'l' ? std::string() : std::string(1, static_cast<char>(*At));
        }
        const char Kind = static_cast<char>(*At);
        if (Kind == '%') {
            Made.Held += '%';
            continue;
        }
        const FDoubleFormatArgument& Argument = Arguments.at(Next++);
        const bool bFloat = Kind == 'f' || Kind == 'g';
        const auto Wanted = Kind == 's' ? FDoubleFormatArgument::EKind::String
                            : bFloat    ? FDoubleFormatArgument::EKind::Float
                                        : FDoubleFormatArgument::EKind::Integer;
        if (Argument.Kind != Wanted) {
            std::abort(); // the format and its arguments disagree, which Unreal refuses to compile
        }
        char Written[64] = {};
        if (Kind == 's') {
            Made += FString(Argument.String);
        } else if (bFloat) {
            std::snprintf(Written, sizeof(Written), (Spec + Kind).c_str(), Argument.Float);
        } else {
            std::snprintf(Written, sizeof(Written), (Spec + "ll" + Kind).c_str(), Argument.Integer);
        }
        Made += FString(Written);
    }
    if (Next != Arguments.size()) {
        std::abort();
    }
    return Made;
}

void DoubleLog(const FLogCategoryBase& Category, ELogVerbosity::Type Verbosity, const FString& Line) {
    const std::lock_guard<std::mutex> Lock(lines().mutex);
    if (std::getenv("SOTTO_DOUBLE_LOG") != nullptr || Verbosity == ELogVerbosity::Fatal) {
        std::fprintf(
            stderr,
            "%s: %d: %s\n",
            TCHAR_TO_UTF8(Category.Name),
            static_cast<int>(Verbosity),
            TCHAR_TO_UTF8(*Line)
        );
    }
    if (Verbosity == ELogVerbosity::Fatal) {
        std::abort();
    }
    lines().kept.emplace_back(Verbosity, Line);
}

TArray<FString> DoubleTakeLog(ELogVerbosity::Type Verbosity) {
    const std::lock_guard<std::mutex> Lock(lines().mutex);
    TArray<FString> Taken;
    for (const auto& [Of, Line] : std::exchange(lines().kept, {})) {
        if (Of == Verbosity) {
            Taken.Add(Line);
        }
    }
    return Taken;
}
