#include "SottoStore.h"

#include <vector>

#include "Async/Async.h"
#include "Core/Waiting.h"
#include "SottoConvert.h"
#include "SottoEngineHost.h"
#include "SottoLibrary.h"
#include "SottoPaths.h"
#include "SottoStoreWork.h"
#include "UObject/UObjectGlobals.h"

static SottoCore::FStoreEntry SottoToEntry(const FSottoStoreEntry& Entry)
{
    SottoCore::FStoreEntry Converted;
    Converted.Id = SottoToUtf8(Entry.Id);
    Converted.Space = SottoToUtf8(Entry.Namespace);
    Converted.Key = SottoToUtf8(Entry.Key);
    Converted.Value = SottoToUtf8(Entry.Value);
    Converted.Metadata = SottoToUtf8(Entry.Metadata);
    Converted.Embedding.assign(Entry.Embedding.GetData(), Entry.Embedding.GetData() + Entry.Embedding.Num());
    Converted.Priority = Entry.Priority;
    Converted.Importance = Entry.Importance;
    Converted.CreatedMs = Entry.CreatedMs;
    Converted.AccessedMs = Entry.AccessedMs;
    return Converted;
}

static FSottoStoreEntry SottoFromEntry(const SottoCore::FStoreEntry& Entry)
{
    FSottoStoreEntry Converted;
    Converted.Id = SottoToString(Entry.Id);
    Converted.Namespace = SottoToString(Entry.Space);
    Converted.Key = SottoToString(Entry.Key);
    Converted.Value = SottoToString(Entry.Value);
    Converted.Metadata = SottoToString(Entry.Metadata);
    Converted.Priority = static_cast<float>(Entry.Priority);
    Converted.Importance = static_cast<float>(Entry.Importance);
    Converted.CreatedMs = Entry.CreatedMs;
    Converted.AccessedMs = Entry.AccessedMs;
    return Converted;
}

static SottoCore::FStoreFilter SottoToFilter(const FSottoStoreFilter& Filter)
{
    return {
        SottoToUtf8(Filter.Namespace),
        Filter.bAnyNamespace,
        SottoToUtf8(Filter.KeyContains),
        SottoToUtf8(Filter.Where)
    };
}

static SottoCore::FStoreQuery SottoToQuery(const FSottoStoreQuery& Query)
{
    SottoCore::FStoreQuery Converted;
    Converted.Filter = SottoToFilter(Query.Filter);
    Converted.Text = SottoToUtf8(Query.Text);
    Converted.Embedding.assign(Query.Embedding.GetData(), Query.Embedding.GetData() + Query.Embedding.Num());
    Converted.Limit = Query.Limit > 0 ? static_cast<uint32_t>(Query.Limit) : 0;
    Converted.RelevanceWeight = Query.RelevanceWeight;
    Converted.PriorityWeight = Query.PriorityWeight;
    Converted.RecencyWeight = Query.RecencyWeight;
    Converted.ImportanceWeight = Query.ImportanceWeight;
    Converted.HalfLifeS = Query.HalfLifeSeconds;
    Converted.bTouch = Query.bTouch;
    return Converted;
}

static void SottoSetOutcome(FSottoStoreResult& Result, const SottoCore::FOutcome& Outcome)
{
    Result.Status = SottoToStatus(Outcome.Status);
    Result.Error = SottoToString(Outcome.Error);
}

/** Runs a function on a thread of the engine's pool. The library is not freed before its end. */
static void SottoLaunch(SottoCore::FWorkQueue::FWork Work)
{
    FSottoLibrary::Get().Keep(Async(EAsyncExecution::ThreadPool, [Moved = MoveTemp(Work)]() { Moved(); }));
}

USottoStore*
USottoStore::OpenStore(const FString& Id, int32 Dim, bool bCreate, bool bReadOnly, const FString& Folder)
{
    const SottoCore::FApi& Api = FSottoLibrary::Get().Functions();
    USottoStore* Made = NewObject<USottoStore>();
    Made->Work = std::make_shared<SottoCore::FStoreWork>(Api, &SottoLaunch);
    const sotto_store_flags Flags =
        (bCreate ? uint32_t{SOTTO_STORE_CREATE} : 0) | (bReadOnly ? uint32_t{SOTTO_STORE_READ_ONLY} : 0);
    const uint32_t Numbers = Dim > 0 ? static_cast<uint32_t>(Dim) : 0;
    Made->Work->Queue.Add([Kept = Made->Work,
                           Path = SottoToUtf8(FSottoPaths::ResolveSaved(Folder)),
                           Name = SottoToUtf8(Id),
                           Numbers,
                           Flags]() { Kept->Opened = Kept->Store.Open(Path, Name, Numbers, Flags); });
    FSottoLibrary::Get().OnUnload().AddUObject(Made, &USottoStore::Close);
    return Made;
}

void USottoStore::RunOnWorker(std::function<void(SottoCore::FStore&, const SottoCore::FOutcome&)> Call)
{
    if (Work != nullptr)
    {
        Work->Queue.Add([Kept = Work, Moved = MoveTemp(Call)]() { Moved(Kept->Store, Kept->Opened); });
    }
}

void USottoStore::Flush(int32 MostMs)
{
    if (Work != nullptr)
    {
        Work->Queue.WaitFor(std::chrono::milliseconds(MostMs));
    }
}

void USottoStore::Run(FCall Call, const FSottoStoreDelegate& Done)
{
    if (Work == nullptr)
    {
        FSottoStoreResult None;
        None.Status = ESottoStatus::State;
        None.Error = TEXT("the store was not opened by Open Store");
        AsyncTask(ENamedThreads::GameThread, [Done, None]() { Done.ExecuteIfBound(None); });
        return;
    }
    Work->Queue.Add(
        [Kept = Work, Moved = MoveTemp(Call), Done]()
        {
            FSottoStoreResult Result;
            if (Kept->Opened)
            {
                Moved(Kept->Store, Result);
            }
            else
            {
                SottoSetOutcome(Result, Kept->Opened);
            }
            AsyncTask(ENamedThreads::GameThread, [Done, Result]() { Done.ExecuteIfBound(Result); });
        }
    );
}

/** Runs a call that embeds, once the model is loaded. */
void USottoStore::RunEmbedded(
    std::function<void(SottoCore::FStore&, FSottoStoreResult&, sotto_engine*)> Call,
    const FSottoStoreDelegate& Done,
    FSottoEngineHost* Engine,
    const FString& Model
)
{
    if (Engine == nullptr || Model.IsEmpty())
    {
        Run([Call](SottoCore::FStore& Store, FSottoStoreResult& Result) { Call(Store, Result, nullptr); },
            Done);
        return;
    }
    FSottoHandlers Handlers;
    const TWeakObjectPtr<USottoStore> Self(this);
    Handlers.Ended.BindLambda(
        [Self, Call, Done, Engine](const FSottoAnswer& Load)
        {
            USottoStore* Store = Self.Get();
            if (Load.Status == ESottoStatus::Ok && Store != nullptr)
            {
                Store->Run(
                    [Call, Handle = Engine->Handle()](SottoCore::FStore& Opened, FSottoStoreResult& Result)
                    { Call(Opened, Result, Handle); },
                    Done
                );
                return;
            }
            FSottoStoreResult Failed;
            Failed.Status = Store == nullptr ? ESottoStatus::Cancelled : Load.Status;
            Failed.Error = Store == nullptr ? FString(TEXT("the store was destroyed")) : Load.Error;
            Done.ExecuteIfBound(Failed);
        }
    );
    Engine->LoadModel(Model, Handlers);
}

void USottoStore::Insert(
    const TArray<FSottoStoreEntry>& Entries,
    bool bReplace,
    const FSottoStoreDelegate& Done,
    FSottoEngineHost* Engine,
    const FString& Model
)
{
    std::vector<SottoCore::FStoreEntry> Converted;
    for (const FSottoStoreEntry& Entry : Entries)
    {
        Converted.push_back(SottoToEntry(Entry));
    }
    RunEmbedded(
        [Converted,
         bReplace,
         Id = SottoToUtf8(Model)](SottoCore::FStore& Store, FSottoStoreResult& Result, sotto_engine* Embedder)
        {
            std::vector<SottoCore::FStoreEntry> Whole = Converted;
            for (SottoCore::FStoreEntry& Entry : Whole)
            {
                std::vector<std::vector<float>> Vectors;
                if (Embedder == nullptr || !Entry.Embedding.empty())
                {
                    continue;
                }
                const std::string& Text = Entry.Value.empty() ? Entry.Key : Entry.Value;
                if (const SottoCore::FOutcome Embedded =
                        SottoCore::EmbedAndWait(Store.Functions(), Embedder, Id, {Text}, Vectors);
                    !Embedded)
                {
                    SottoSetOutcome(Result, Embedded);
                    return;
                }
                Entry.Embedding = Vectors.front();
            }
            std::vector<std::string> Ids;
            SottoSetOutcome(Result, Store.Insert(Whole, bReplace, Ids));
            for (const std::string& Inserted : Ids)
            {
                Result.Ids.Add(SottoToString(Inserted));
            }
        },
        Done,
        Engine,
        Model
    );
}

void USottoStore::Query(
    const FSottoStoreQuery& Query,
    const FSottoStoreDelegate& Done,
    FSottoEngineHost* Engine,
    const FString& Model
)
{
    RunEmbedded(
        [Converted = SottoToQuery(Query),
         Id = SottoToUtf8(Model)](SottoCore::FStore& Store, FSottoStoreResult& Result, sotto_engine* Embedder)
        {
            SottoCore::FStoreQuery Whole = Converted;
            std::vector<std::vector<float>> Vectors;
            if (Embedder != nullptr && Whole.Embedding.empty() && !Whole.Text.empty())
            {
                if (const SottoCore::FOutcome Embedded =
                        SottoCore::EmbedAndWait(Store.Functions(), Embedder, Id, {Whole.Text}, Vectors);
                    !Embedded)
                {
                    SottoSetOutcome(Result, Embedded);
                    return;
                }
                Whole.Embedding = Vectors.front();
            }
            std::vector<SottoCore::FStoreMatch> Matches;
            SottoSetOutcome(Result, Store.Query(Whole, Matches));
            for (const SottoCore::FStoreMatch& Match : Matches)
            {
                FSottoStoreMatch Found;
                Found.Entry = SottoFromEntry(Match.Entry);
                Found.Score = static_cast<float>(Match.Score);
                Found.Relevance = static_cast<float>(Match.Relevance);
                Found.Recency = static_cast<float>(Match.Recency);
                Result.Matches.Add(Found);
            }
        },
        Done,
        Engine,
        Model
    );
}

void USottoStore::Remove(const TArray<FString>& Ids, const FSottoStoreDelegate& Done)
{
    std::vector<std::string> Converted;
    for (const FString& Id : Ids)
    {
        Converted.push_back(SottoToUtf8(Id));
    }
    Run(
        [Converted](SottoCore::FStore& Store, FSottoStoreResult& Result)
        {
            uint64_t Removed = 0;
            SottoSetOutcome(Result, Store.Remove(Converted, Removed));
            Result.Count = static_cast<int64>(Removed);
        },
        Done
    );
}

void USottoStore::RemoveWhere(const FSottoStoreFilter& Filter, const FSottoStoreDelegate& Done)
{
    Run(
        [Converted = SottoToFilter(Filter)](SottoCore::FStore& Store, FSottoStoreResult& Result)
        {
            uint64_t Removed = 0;
            SottoSetOutcome(Result, Store.RemoveWhere(Converted, Removed));
            Result.Count = static_cast<int64>(Removed);
        },
        Done
    );
}

void USottoStore::List(const FSottoStoreFilter& Filter, const FSottoStoreDelegate& Done)
{
    Run(
        [Converted = SottoToFilter(Filter)](SottoCore::FStore& Store, FSottoStoreResult& Result)
        {
            std::vector<SottoCore::FStoreEntry> Entries;
            SottoSetOutcome(Result, Store.List(Converted, Entries));
            for (const SottoCore::FStoreEntry& Entry : Entries)
            {
                Result.Entries.Add(SottoFromEntry(Entry));
            }
            Result.Count = Result.Entries.Num();
        },
        Done
    );
}

void USottoStore::Close()
{
    if (Work != nullptr)
    {
        Work->Queue.Wait();
        Work->Store.Close();
    }
}

void USottoStore::BeginDestroy()
{
    if (Work != nullptr && FSottoLibrary::Get().IsLoaded())
    {
        Work->Queue.Add([Kept = Work]() { Kept->Store.Close(); }); // garbage collection does not wait
    }
    Super::BeginDestroy();
}
