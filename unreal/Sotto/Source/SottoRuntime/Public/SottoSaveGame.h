#pragma once

#include "CoreMinimal.h"
#include "GameFramework/SaveGame.h"
#include "SottoTypes.h"

#include "SottoSaveGame.generated.h"

/** Conversations of a saved game. Derive from it, or keep one beside the game's own save object. */
UCLASS(BlueprintType)
class SOTTORUNTIME_API USottoSaveGame : public USaveGame
{
    GENERATED_BODY()

public:
    /** An array: the keys of a TMap of strings would be equal if they differ only in case. */
    UPROPERTY(SaveGame, BlueprintReadOnly, Category = "Sotto")
    TArray<FSottoConversation> Conversations;
};
