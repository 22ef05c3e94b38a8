#pragma once

#include "Containers/Ticker.h"
#include "CoreMinimal.h"
#include "SottoEngineHost.h"
#include "SottoTypes.h"
#include "Subsystems/GameInstanceSubsystem.h"

#include "SottoSubsystem.generated.h"

class USottoSaveGame;
class USottoStore;

/** Conversations were stored in a save-game object. */
DECLARE_DYNAMIC_MULTICAST_DELEGATE_TwoParams(
    FSottoConversationsStored, USottoSaveGame*, SaveGame, const TArray<FString>&, Missing
);

/**
 * The engine of a game instance.
 *
 * Starts and stops with the game instance, so that play-in-editor sessions are independent. Delivers events
 * once a frame on the game thread, at most those that were queued when the frame began. All functions belong
 * on the game thread; a call from another thread is logged and has no effect.
 */
UCLASS()
class SOTTORUNTIME_API USottoSubsystem : public UGameInstanceSubsystem
{
    GENERATED_BODY()

public:
    virtual void Initialize(FSubsystemCollectionBase& Collection) override;
    virtual void Deinitialize() override;

    /** Returns the subsystem of an object's game instance, or null. For C++; Blueprints have a node. */
    static USottoSubsystem* Find(const UObject* WorldContextObject);

    /** Returns true if the engine runs. */
    UFUNCTION(BlueprintPure, Category = "Sotto")
    bool IsRunning() const;

    /** Returns why the engine does not run, such as a missing library. Empty: it runs. */
    UFUNCTION(BlueprintPure, Category = "Sotto")
    FString GetInertReason() const;

    /** Returns true if a model is loaded. Empty: the model of the project settings. */
    UFUNCTION(BlueprintPure, Category = "Sotto")
    bool IsModelReady(const FString& Model) const;

    /** Cancels a request. It ends with ESottoStatus::Cancelled, unless it has ended. */
    UFUNCTION(BlueprintCallable, Category = "Sotto")
    void Cancel(int64 Request);

    UFUNCTION(BlueprintCallable, Category = "Sotto")
    void SetMode(ESottoMode Mode);

    /** Sets the memory of all models together, in bytes. 0: no limit. */
    UFUNCTION(BlueprintCallable, Category = "Sotto")
    void SetMemoryBudget(int64 Bytes);

    /** Sets the pace of all characters, in tokens per second. 0: as fast as possible. */
    UFUNCTION(BlueprintCallable, Category = "Sotto")
    void SetTargetTps(float TokensPerSecond);

    UFUNCTION(BlueprintPure, Category = "Sotto")
    FSottoFigures GetFigures() const;

    /**
     * Writes all conversations into a save-game object, those that were restored and not continued as well.
     * OnConversationsStored follows, usually in a later frame.
     */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Saving")
    void StoreConversations(USottoSaveGame* SaveGame);

    /** Continues the conversations of a save-game object. Open conversations of the same names are replaced.
     */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Saving")
    void RestoreConversations(const USottoSaveGame* SaveGame);

    /** Forgets a conversation. */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Saving")
    void CloseConversation(const FString& Conversation);

    /** All conversations were read. `Missing` names those that could not be read. */
    UPROPERTY(BlueprintAssignable, Category = "Sotto|Saving")
    FSottoConversationsStored OnConversationsStored;

    /** Saves all conversations to a file; see FSottoEngineHost::SaveGame(). Returns the id of the request. */
    int64 SaveGame(const FString& Path, const FSottoHandlers& Handlers)
    {
        return Host.SaveGame(Path, Handlers);
    }

    /** Restores conversations from a file; see FSottoEngineHost::RestoreGame(). Returns the request's id. */
    int64 RestoreGame(const FString& Path, const FSottoHandlers& Handlers)
    {
        return Host.RestoreGame(Path, Handlers);
    }

    /**
     * Returns the store of the project settings, in which characters remember. Opened by the first call;
     * closed when the game instance ends.
     */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Store")
    USottoStore* GetMemoryStore();

    /** Asks for an answer. Returns the id of the request. */
    int64 Say(const FSottoTurn& Turn, const FSottoHandlers& Handlers) { return Host.Say(Turn, Handlers); }

    /** The engine, for calls that have no function here. */
    FSottoEngineHost& GetHost() { return Host; }
    const FSottoEngineHost& GetHost() const { return Host; }

private:
    bool Tick(float DeltaSeconds);
    void BeginFrame();
    void EndFrame();
    void UpdateStats() const;
    void LogLoad(const FSottoAnswer& Answer);
    void KeepConversation(const FSottoAnswer& Answer);
    void FinishStoring();

    FSottoEngineHost Host;
    FTSTicker::FDelegateHandle Ticker;
    FDelegateHandle FrameBegan;
    FDelegateHandle FrameEnded;

    UPROPERTY(Transient)
    TObjectPtr<USottoStore> Memories;

    UPROPERTY(Transient)
    TObjectPtr<USottoSaveGame> Storing;
    TMap<int64, FString> Reading; // request -> conversation
    TArray<FString> Unread;
};
