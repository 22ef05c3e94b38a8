#pragma once

#include "CoreMinimal.h"
#include "Engine/CancellableAsyncAction.h"
#include "SottoStore.h"

#include "SottoStoreAction.generated.h"

class USottoSubsystem;

/** Output pins of the nodes that read and write a store. */
DECLARE_DYNAMIC_MULTICAST_DELEGATE_OneParam(FSottoStorePin, const FSottoStoreResult&, Result);

/** Async nodes that read and write a store. */
UCLASS()
class SOTTORUNTIME_API USottoStoreAction : public UCancellableAsyncAction
{
    GENERATED_BODY()

public:
    UPROPERTY(BlueprintAssignable)
    FSottoStorePin Done;

    /** The call failed, and has changed nothing. */
    UPROPERTY(BlueprintAssignable)
    FSottoStorePin Failed;

    /**
     * Inserts entries, all or none of them.
     *
     * @param bReplace        An entry takes the place of the one with its id; otherwise an id that exists
     * fails.
     * @param EmbeddingModel  Embeds entries that have no embedding. Empty: none is embedded.
     */
    UFUNCTION(
        BlueprintCallable,
        Category = "Sotto|Store",
        meta = (BlueprintInternalUseOnly = "true", WorldContext = "WorldContextObject")
    )
    static USottoStoreAction* InsertIntoStore(
        UObject* WorldContextObject,
        USottoStore* Store,
        const TArray<FSottoStoreEntry>& Entries,
        bool bReplace,
        const FString& EmbeddingModel
    );

    /**
     * Finds entries by words, by meaning, or by both.
     *
     * @param EmbeddingModel  Embeds the query's text. Empty: searches by words, or by the query's embedding.
     */
    UFUNCTION(
        BlueprintCallable,
        Category = "Sotto|Store",
        meta = (BlueprintInternalUseOnly = "true", WorldContext = "WorldContextObject")
    )
    static USottoStoreAction* QueryStore(
        UObject* WorldContextObject,
        USottoStore* Store,
        const FSottoStoreQuery& Query,
        const FString& EmbeddingModel
    );

    /** Removes entries by id; ids that no entry has are ignored. */
    UFUNCTION(
        BlueprintCallable,
        Category = "Sotto|Store",
        meta = (BlueprintInternalUseOnly = "true", WorldContext = "WorldContextObject")
    )
    static USottoStoreAction*
    RemoveFromStore(UObject* WorldContextObject, USottoStore* Store, const TArray<FString>& Ids);

    /** Removes the entries that match a filter. */
    UFUNCTION(
        BlueprintCallable,
        Category = "Sotto|Store",
        meta = (BlueprintInternalUseOnly = "true", WorldContext = "WorldContextObject")
    )
    static USottoStoreAction*
    RemoveMatchesFromStore(UObject* WorldContextObject, USottoStore* Store, const FSottoStoreFilter& Filter);

    /** Lists the entries that match a filter, in the order of their insertion. */
    UFUNCTION(
        BlueprintCallable,
        Category = "Sotto|Store",
        meta = (BlueprintInternalUseOnly = "true", WorldContext = "WorldContextObject")
    )
    static USottoStoreAction*
    ListStore(UObject* WorldContextObject, USottoStore* Store, const FSottoStoreFilter& Filter);

    virtual void Activate() override;

private:
    using FRun = TFunction<void(USottoStore&, USottoSubsystem&, const FSottoStoreDelegate&)>;

    static USottoStoreAction* Make(UObject* WorldContextObject, USottoStore* Store, FRun Run);
    void HandleResult(const FSottoStoreResult& Result);

    UPROPERTY(Transient)
    TObjectPtr<USottoStore> Used;

    TWeakObjectPtr<USottoSubsystem> Subsystem;
    FRun Call;
};
