#pragma once

#include "CoreMinimal.h"
#include "GameFramework/SaveGame.h"

#include "SottoSaveGame.generated.h"

/** Conversations of a saved game. Derive from it, or keep one beside the game's own save object. */
UCLASS(BlueprintType)
class SOTTORUNTIME_API USottoSaveGame : public USaveGame
{
    GENERATED_BODY()

public:
    /** Messages of each conversation: a JSON array in OpenAI's schema. */
    UPROPERTY(SaveGame, BlueprintReadOnly, Category = "Sotto")
    TMap<FString, FString> Conversations;
};
