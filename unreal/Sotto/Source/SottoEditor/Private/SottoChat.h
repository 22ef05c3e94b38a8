#pragma once

#include "Containers/Ticker.h"
#include "CoreMinimal.h"
#include "SottoEngineHost.h"

class USottoCharacterComponent;

/**
 * A conversation with a character in the editor, without playing.
 *
 * Owns an engine, which starts with the first question and ends with this object.
 */
class FSottoChat
{
public:
    ~FSottoChat();

    /** Asks the character. The transcript grows while the answer arrives. */
    void Ask(const USottoCharacterComponent& Character, const FString& Question);

    const FString& GetTranscript() const { return Transcript; }
    bool IsAnswering() const { return Request != 0; }

private:
    bool Tick(float DeltaSeconds);
    void HandlePartial(int64 Id, const FString& Text);
    void HandleEnded(const FSottoAnswer& Answer);

    FSottoEngineHost Host;
    FString Transcript;
    FString Conversation;
    FString System;
    int64 Request = 0;
    FTSTicker::FDelegateHandle Ticker;
};
