#pragma once

#include <functional>
#include <memory>

#include "CoreMinimal.h"
#include "SottoTypes.h"
#include "UObject/Object.h"

#include "SottoStore.generated.h"

class FSottoEngineHost;
struct sotto_engine;

namespace SottoCore
{
class FStore;
struct FOutcome;
struct FStoreWork;
} // namespace SottoCore

/** One memory of a store. An entry needs a Value or a Key; the other fields have defaults. */
USTRUCT(BlueprintType)
struct SOTTORUNTIME_API FSottoStoreEntry
{
    GENERATED_BODY()

    /** Id, unique in the store, at most 256 bytes of UTF-8. Empty: a random one. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Id;

    /** Namespace, such as a character's name. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Namespace;

    /** Title or trigger. Searched as text, where it counts twice. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Key;

    /** The memory. Searched as text. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto", meta = (MultiLine = true))
    FString Value;

    /** A number of the game's. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    float Priority = 1.0f;

    /** From 0 to 1. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    float Importance = 0.5f;

    /** Milliseconds since 1970, or of the game's own clock. 0: now. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    int64 CreatedMs = 0;

    /** Time of the last access that was recorded. 0: CreatedMs. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    int64 AccessedMs = 0;

    /** A JSON object, which filters read. Empty: none. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Metadata;

    /** The embedding. Empty: none, or that of the call's embedding model. Calls return none. */
    UPROPERTY(BlueprintReadWrite, Category = "Sotto")
    TArray<float> Embedding;
};

/** An entry that a query found. */
USTRUCT(BlueprintType)
struct SOTTORUNTIME_API FSottoStoreMatch
{
    GENERATED_BODY()

    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    FSottoStoreEntry Entry;

    /** Mean of relevance, priority, recency and importance by the query's weights. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    float Score = 0.0f;

    /** Cosine, BM25 as a fraction of the best match's, or both fused, by the kind of query. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    float Relevance = 0.0f;

    /** 1 for an entry that was accessed now; halves with each half-life. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    float Recency = 0.0f;
};

/** Selects entries: all parts must match. */
USTRUCT(BlueprintType)
struct SOTTORUNTIME_API FSottoStoreFilter
{
    GENERATED_BODY()

    /** Exactly this namespace; empty is the default one. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Namespace;

    /** Selects entries of every namespace. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    bool bAnyNamespace = false;

    /** Part of the key, compared without regard to case. Empty: any key. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString KeyContains;

    /** Conditions on the metadata as JSON, such as {"room.floor": {"gte": 1}}. Empty: none. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Where;
};

/** Finds entries by words, by embedding, or by both; without either, those accessed last. */
USTRUCT(BlueprintType)
struct SOTTORUNTIME_API FSottoStoreQuery
{
    GENERATED_BODY()

    /** Words to find in keys and values; an entry needs one of them. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Text;

    /** The embedding. Empty: that of Text by the call's embedding model, if it names one. */
    UPROPERTY(BlueprintReadWrite, Category = "Sotto")
    TArray<float> Embedding;

    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FSottoStoreFilter Filter;

    /** Maximum number of matches, 1 to 10,000. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    int32 Limit = 10;

    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    float RelevanceWeight = 1.0f;

    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    float PriorityWeight = 0.0f;

    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    float RecencyWeight = 0.0f;

    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    float ImportanceWeight = 0.0f;

    /** Seconds in which the recency halves. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    float HalfLifeSeconds = 86400.0f;

    /** Records the matches as accessed now. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    bool bTouch = false;
};

/** Result of a call on a store. */
USTRUCT(BlueprintType)
struct SOTTORUNTIME_API FSottoStoreResult
{
    GENERATED_BODY()

    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    ESottoStatus Status = ESottoStatus::Ok;

    /** Why the call failed. Empty: it succeeded. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    FString Error;

    /** Ids of the entries that were inserted. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    TArray<FString> Ids;

    /** What a query found, best first. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    TArray<FSottoStoreMatch> Matches;

    /** Entries of a list, in the order of their insertion. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    TArray<FSottoStoreEntry> Entries;

    /** Number of entries that were removed or counted. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    int64 Count = 0;
};

/** Receives the result of a call on a store, on the game thread. */
DECLARE_DELEGATE_OneParam(FSottoStoreDelegate, const FSottoStoreResult&);

/**
 * A store of memories on disk, searched by meaning and by words.
 *
 * Its calls run one after the other on a worker thread and never wait; each ends with one execution of its
 * delegate on the game thread. What a call has written survives a crash and a power failure. A store is open
 * for writing once. Game thread only. Blueprints use the async nodes of USottoStoreAction.
 */
UCLASS(BlueprintType)
class SOTTORUNTIME_API USottoStore : public UObject
{
    GENERATED_BODY()

public:
    /**
     * Opens a store, on a worker thread. If that fails, every later call fails with the reason.
     *
     * @param Id         Name of the store, a plain file name of 1 to 100 bytes.
     * @param Dim        Numbers per embedding. 0: as stored; a new store has no embeddings.
     * @param bCreate    Creates the store if it does not exist.
     * @param bReadOnly  Reads only. Several processes may read one store at once.
     * @param Folder     Folder of the store's files; a relative one is below Saved/.
     */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Store", meta = (AdvancedDisplay = "bReadOnly, Folder"))
    static USottoStore* OpenStore(
        const FString& Id,
        int32 Dim = 0,
        bool bCreate = true,
        bool bReadOnly = false,
        const FString& Folder = TEXT("Sotto")
    );

    /**
     * Inserts entries, all or none of them.
     *
     * @param Entries   The entries.
     * @param bReplace  An entry takes the place of the one with its id; otherwise an id that exists fails.
     * @param Done      Receives the ids.
     * @param Engine    Engine whose model embeds the entries that have no embedding. Null: none is embedded.
     * @param Model     The embedding model, loaded if need be. Empty: none is embedded.
     */
    void Insert(
        const TArray<FSottoStoreEntry>& Entries,
        bool bReplace,
        const FSottoStoreDelegate& Done,
        FSottoEngineHost* Engine = nullptr,
        const FString& Model = FString()
    );

    /** Finds entries. `Engine` and `Model` embed the query's text, as for Insert(). */
    void Query(
        const FSottoStoreQuery& Query,
        const FSottoStoreDelegate& Done,
        FSottoEngineHost* Engine = nullptr,
        const FString& Model = FString()
    );

    /** Removes entries by id; ids that no entry has are ignored. */
    void Remove(const TArray<FString>& Ids, const FSottoStoreDelegate& Done);
    /** Removes the entries that match a filter. */
    void RemoveWhere(const FSottoStoreFilter& Filter, const FSottoStoreDelegate& Done);
    /** Lists the entries that match a filter, and counts them. */
    void List(const FSottoStoreFilter& Filter, const FSottoStoreDelegate& Done);

    /** Closes the store after the calls that were made. Waits for the disk. Later calls fail. */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Store")
    void Close();

    virtual void BeginDestroy() override;

    /**
     * Runs a function on the worker thread, after the calls that were made before. The second argument is why
     * the store is not open.
     */
    void RunOnWorker(std::function<void(SottoCore::FStore&, const SottoCore::FOutcome&)> Call);

    /** Waits until the calls that were made have run, at most some milliseconds. */
    void Flush(int32 MostMs);

private:
    using FCall = std::function<void(SottoCore::FStore&, FSottoStoreResult&)>;

    void Run(FCall Call, const FSottoStoreDelegate& Done);
    void RunEmbedded(
        std::function<void(SottoCore::FStore&, FSottoStoreResult&, sotto_engine*)> Call,
        const FSottoStoreDelegate& Done,
        FSottoEngineHost* Engine,
        const FString& Model
    );

    std::shared_ptr<SottoCore::FStoreWork> Work;
};
