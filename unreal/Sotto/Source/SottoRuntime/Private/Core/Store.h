#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "Core/Outcome.h"

namespace SottoCore
{

class FJsonReader;

/** One memory of a store. */
struct FStoreEntry
{
    std::string Id; // empty: a random one
    std::string Space;
    std::string Key;
    std::string Value;
    std::string Metadata; // a JSON object, or empty
    std::vector<float> Embedding;
    double Priority = 1;
    double Importance = 0.5;
    int64_t CreatedMs = 0;  // 0: now
    int64_t AccessedMs = 0; // 0: CreatedMs

    /** Returns the entry as JSON. */
    std::string Write(const FApi& Api) const;
    /** Reads a field. Returns false, and reads nothing, if an entry has no such field. */
    bool ReadField(FJsonReader& Reader, const std::string& Name);
};

/** An entry that a query found. */
struct FStoreMatch
{
    FStoreEntry Entry;
    double Score = 0;     // mean of relevance, priority, recency and importance by the query's weights
    double Relevance = 0; // cosine, BM25 as a fraction of the best match's, or both fused
    double Recency = 0;   // 1 for an entry that was accessed now; halves with each half-life
};

/** Selects entries: all parts must match. */
struct FStoreFilter
{
    std::string Space;
    bool bAnySpace = false;
    std::string KeyContains; // empty: any key
    std::string Where;       // conditions on the metadata as a JSON object, or empty

    std::string Write(const FApi& Api) const;
};

/** Finds entries by words, by embedding, or by both; without either, those accessed last. */
struct FStoreQuery
{
    FStoreFilter Filter;
    std::string Text;
    std::vector<float> Embedding;
    uint32_t Limit = 10;
    double RelevanceWeight = 1;
    double PriorityWeight = 0;
    double RecencyWeight = 0;
    double ImportanceWeight = 0;
    double HalfLifeS = 86400;
    int64_t NowMs = 0; // 0: the system's clock
    bool bTouch = false;

    std::string Write(const FApi& Api) const;
};

/** A store of memories on disk. All calls wait for the disk; any thread may call. */
class FStore
{
public:
    explicit FStore(const FApi& InApi) : Api(InApi) {}
    ~FStore() { Close(); }
    FStore(const FStore&) = delete;
    FStore& operator=(const FStore&) = delete;

    /** Opens a store. `Dim`: numbers per embedding; 0: as stored. Not while another call runs. */
    FOutcome Open(std::string_view Folder, std::string_view Id, uint32_t Dim, sotto_store_flags Flags);

    /** Closes the store, before the library is freed. Later calls fail. Not while another call runs. */
    void Close();

    bool IsOpen() const { return Store != nullptr; }
    const FApi& Functions() const { return Api; }

    /** Inserts entries, all or none of them. `Ids`: out, their ids. */
    FOutcome Insert(const std::vector<FStoreEntry>& Entries, bool bReplace, std::vector<std::string>& Ids);
    /** Changes fields of an entry. `Changes`: a JSON object. */
    FOutcome Update(std::string_view Id, std::string_view Changes);
    FOutcome Remove(const std::vector<std::string>& Ids, uint64_t& Removed);
    FOutcome RemoveWhere(const FStoreFilter& Filter, uint64_t& Removed);
    FOutcome Count(const FStoreFilter& Filter, uint64_t& Found);
    /** Lists entries in the order of their insertion, without embeddings. */
    FOutcome List(const FStoreFilter& Filter, std::vector<FStoreEntry>& Entries);
    FOutcome Query(const FStoreQuery& Query, std::vector<FStoreMatch>& Matches);

private:
    FOutcome Check(sotto_status Status) const;
    FOutcome RemoveBy(const std::string& Which, uint64_t& Removed);
    FOutcome ReadPage(const std::string& Options, std::vector<FStoreEntry>& Entries, std::string& Next);

    const FApi& Api;
    sotto_store* Store = nullptr;
};

} // namespace SottoCore
