#pragma once

#include "CoreMinimal.h"
#include "Engine/CancellableAsyncAction.h"
#include "SottoTypes.h"

#include "SottoGameAction.generated.h"

class USottoSubsystem;

/** What a save game holds, or why it was not written or read. */
USTRUCT(BlueprintType)
struct SOTTORUNTIME_API FSottoSavedGame
{
    GENERATED_BODY()

    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    int32 Conversations = 0;

    /** Messages of all conversations. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    int32 Messages = 0;

    /** Conversations whose KV cache was saved, or kept by a restore: their next answer starts sooner. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    int32 KvStates = 0;

    /** Size of the file. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    int64 Bytes = 0;

    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    ESottoStatus Status = ESottoStatus::Ok;

    /** Why the call failed. Empty: it succeeded. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    FString Error;
};

/** Output pins of the nodes that save and restore a game. */
DECLARE_DYNAMIC_MULTICAST_DELEGATE_TwoParams(
    FSottoGamePin, float, Fraction, const FSottoSavedGame&, SavedGame
);

/** Async nodes that save all conversations of the game instance to a file, and restore them. */
UCLASS()
class SOTTORUNTIME_API USottoGameAction : public UCancellableAsyncAction
{
    GENERATED_BODY()

public:
    /** The work advanced: `Fraction` from 0 to 1. */
    UPROPERTY(BlueprintAssignable)
    FSottoGamePin Progress;

    UPROPERTY(BlueprintAssignable)
    FSottoGamePin Done;

    /** The call failed. A save leaves the earlier file whole; a restore leaves all conversations as they
     * were.
     */
    UPROPERTY(BlueprintAssignable)
    FSottoGamePin Failed;

    /**
     * Saves all conversations to a file. Replaces the file atomically.
     *
     * @param Path  The file, such as SaveGames/Slot1.sotto below the project's Saved folder.
     */
    UFUNCTION(
        BlueprintCallable,
        Category = "Sotto|Saving",
        meta =
            (BlueprintInternalUseOnly = "true",
             WorldContext = "WorldContextObject",
             DisplayName = "Save Conversations to File")
    )
    static USottoGameAction* SaveGame(UObject* WorldContextObject, const FString& Path);

    /**
     * Restores the conversations of a file. Load the models before; what is said meanwhile waits.
     *
     * @param Path  A file of Save Conversations to File.
     */
    UFUNCTION(
        BlueprintCallable,
        Category = "Sotto|Saving",
        meta =
            (BlueprintInternalUseOnly = "true",
             WorldContext = "WorldContextObject",
             DisplayName = "Restore Conversations from File")
    )
    static USottoGameAction* RestoreGame(UObject* WorldContextObject, const FString& Path);

    virtual void Activate() override;

private:
    void HandleProgress(int64 Id, float Fraction);
    void HandleEnded(const FSottoAnswer& Answer);

    TWeakObjectPtr<USottoSubsystem> Subsystem;
    FString File;
    bool bRestores = false;
};
