#pragma once

#include <string>
#include <string_view>

#include "Containers/StringConv.h"
#include "Containers/StringView.h"
#include "Core/Answer.h"
#include "CoreMinimal.h"
#include "SottoTypes.h"

// Conversions between the engine-free core (UTF-8) and Unreal's types.

inline FString SottoToString(std::string_view Text)
{
    const FUTF8ToTCHAR Converted(Text.data(), static_cast<int32>(Text.size()));
    return FString(FStringView(Converted.Get(), Converted.Length()));
}

inline std::string SottoToUtf8(const FString& Text)
{
    const FTCHARToUTF8 Converted(*Text);
    return std::string(
        reinterpret_cast<const char*>(Converted.Get()), static_cast<size_t>(Converted.Length())
    );
}

ESottoStatus SottoToStatus(sotto_status Status);
FSottoAnswer SottoToAnswer(const SottoCore::FResult& Result);
SottoCore::FTurn SottoToTurn(const FSottoTurn& Turn);
SottoCore::FHandlers SottoToHandlers(const FSottoHandlers& Handlers);
