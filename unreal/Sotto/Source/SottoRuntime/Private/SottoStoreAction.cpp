#include "SottoStoreAction.h"

#include "SottoLog.h"
#include "SottoSubsystem.h"
#include "UObject/UObjectGlobals.h"

USottoStoreAction* USottoStoreAction::Make(UObject* WorldContextObject, USottoStore* Store, FRun Run)
{
    USottoStoreAction* Action = NewObject<USottoStoreAction>();
    Action->Subsystem = USottoSubsystem::Find(WorldContextObject);
    Action->Used = Store;
    Action->Call = MoveTemp(Run);
    Action->RegisterWithGameInstance(WorldContextObject);
    return Action;
}

USottoStoreAction* USottoStoreAction::InsertIntoStore(
    UObject* WorldContextObject,
    USottoStore* Store,
    const TArray<FSottoStoreEntry>& Entries,
    bool bReplace,
    const FString& EmbeddingModel
)
{
    return Make(
        WorldContextObject,
        Store,
        [Entries, bReplace, EmbeddingModel](
            USottoStore& Opened, USottoSubsystem& Engine, const FSottoStoreDelegate& Ended
        ) { Opened.Insert(Entries, bReplace, Ended, &Engine.GetHost(), EmbeddingModel); }
    );
}

USottoStoreAction* USottoStoreAction::QueryStore(
    UObject* WorldContextObject,
    USottoStore* Store,
    const FSottoStoreQuery& Query,
    const FString& EmbeddingModel
)
{
    return Make(
        WorldContextObject,
        Store,
        [Query,
         EmbeddingModel](USottoStore& Opened, USottoSubsystem& Engine, const FSottoStoreDelegate& Ended)
        { Opened.Query(Query, Ended, &Engine.GetHost(), EmbeddingModel); }
    );
}

USottoStoreAction* USottoStoreAction::RemoveFromStore(
    UObject* WorldContextObject, USottoStore* Store, const TArray<FString>& Ids
)
{
    return Make(
        WorldContextObject,
        Store,
        [Ids](USottoStore& Opened, USottoSubsystem&, const FSottoStoreDelegate& Ended)
        { Opened.Remove(Ids, Ended); }
    );
}

USottoStoreAction* USottoStoreAction::RemoveMatchesFromStore(
    UObject* WorldContextObject, USottoStore* Store, const FSottoStoreFilter& Filter
)
{
    return Make(
        WorldContextObject,
        Store,
        [Filter](USottoStore& Opened, USottoSubsystem&, const FSottoStoreDelegate& Ended)
        { Opened.RemoveWhere(Filter, Ended); }
    );
}

USottoStoreAction*
USottoStoreAction::ListStore(UObject* WorldContextObject, USottoStore* Store, const FSottoStoreFilter& Filter)
{
    return Make(
        WorldContextObject,
        Store,
        [Filter](USottoStore& Opened, USottoSubsystem&, const FSottoStoreDelegate& Ended)
        { Opened.List(Filter, Ended); }
    );
}

void USottoStoreAction::Activate()
{
    USottoSubsystem* Engine = Subsystem.Get();
    if (Engine != nullptr && IsValid(Used))
    {
        Call(*Used, *Engine, FSottoStoreDelegate::CreateUObject(this, &USottoStoreAction::HandleResult));
        return;
    }
    FSottoStoreResult None;
    None.Status = Engine == nullptr ? ESottoStatus::State : ESottoStatus::Argument;
    None.Error = Engine == nullptr ? TEXT("invalid world context: it belongs to no running game")
                                   : TEXT("invalid Store: expected a store of Open Store");
    if (!ShouldBroadcastDelegates())
    {
        UE_LOG(LogSotto, Error, TEXT("a node has no result, and no pin is executed: %s"), *None.Error);
    }
    HandleResult(None);
}

void USottoStoreAction::HandleResult(const FSottoStoreResult& Result)
{
    if (ShouldBroadcastDelegates())
    {
        (Result.Status == ESottoStatus::Ok ? Done : Failed).Broadcast(Result);
    }
    SetReadyToDestroy();
}
