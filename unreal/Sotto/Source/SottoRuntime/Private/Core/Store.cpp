#include "Core/Store.h"

#include <utility>

#include "Core/Json.h"

namespace SottoCore
{

namespace
{

FOutcome NotOpen()
{
    return {SOTTO_ERROR_STATE, "the store is not open: open it first"};
}

FOutcome InvalidJson()
{
    return {SOTTO_ERROR_INTERNAL, "the library returned invalid JSON"};
}

std::string WriteFloats(const std::vector<float>& Values)
{
    std::string Written;
    for (const float Value : Values)
    {
        Written += (Written.empty() ? "" : ",") + WriteNumber(static_cast<double>(Value));
    }
    return "[" + Written + "]";
}

void WriteFilter(const FStoreFilter& Filter, FJsonObject& Json)
{
    if (!Filter.bAnySpace)
    {
        Json.Text("namespace", Filter.Space);
    }
    if (!Filter.KeyContains.empty())
    {
        Json.Text("key_contains", Filter.KeyContains);
    }
    if (!Filter.Where.empty())
    {
        Json.Raw("where", Filter.Where);
    }
}

/** Reads the matches of a query. */
void ReadMatches(FJsonReader& Reader, std::vector<FStoreMatch>& Matches)
{
    std::string Name;
    for (Reader.BeginArray(); Reader.NextItem();)
    {
        FStoreMatch& Match = Matches.emplace_back();
        for (Reader.BeginObject(); Reader.NextField(Name);)
        {
            double* Figure = Name == "score"       ? &Match.Score
                             : Name == "relevance" ? &Match.Relevance
                             : Name == "recency"   ? &Match.Recency
                                                   : nullptr;
            if (Figure != nullptr)
            {
                *Figure = Reader.Number();
            }
            else if (!Match.Entry.ReadField(Reader, Name))
            {
                Reader.Raw();
            }
        }
    }
}

} // namespace

std::string FStoreEntry::Write(const FApi& Api) const
{
    FJsonObject Json(Api);
    if (!Id.empty())
    {
        Json.Text("id", Id);
    }
    Json.Text("namespace", Space);
    if (!Key.empty())
    {
        Json.Text("key", Key);
    }
    if (!Value.empty())
    {
        Json.Text("value", Value);
    }
    Json.Number("priority", Priority).Number("importance", Importance);
    Json.Integer("created_ms", CreatedMs).Integer("accessed_ms", AccessedMs);
    if (!Metadata.empty())
    {
        Json.Raw("metadata", Metadata);
    }
    if (!Embedding.empty())
    {
        Json.Raw("embedding", WriteFloats(Embedding));
    }
    return Json.Write();
}

bool FStoreEntry::ReadField(FJsonReader& Reader, const std::string& Name)
{
    std::string* Text = Name == "id"          ? &Id
                        : Name == "namespace" ? &Space
                        : Name == "key"       ? &Key
                        : Name == "value"     ? &Value
                                              : nullptr;
    if (Text != nullptr)
    {
        *Text = Reader.Text();
    }
    else if (Name == "priority" || Name == "importance")
    {
        (Name == "priority" ? Priority : Importance) = Reader.Number();
    }
    else if (Name == "created_ms" || Name == "accessed_ms")
    {
        (Name == "created_ms" ? CreatedMs : AccessedMs) = Reader.Integer();
    }
    else if (Name == "metadata")
    {
        Metadata = Reader.Raw();
    }
    else if (Name == "embedding" && Reader.Peek() == '[')
    {
        Reader.Floats(Embedding);
    }
    else
    {
        return false;
    }
    return true;
}

std::string FStoreFilter::Write(const FApi& Api) const
{
    FJsonObject Json(Api);
    WriteFilter(*this, Json);
    return Json.Write();
}

std::string FStoreQuery::Write(const FApi& Api) const
{
    FJsonObject Weights(Api);
    Weights.Number("relevance", RelevanceWeight).Number("priority", PriorityWeight);
    Weights.Number("recency", RecencyWeight).Number("importance", ImportanceWeight);
    FJsonObject Json(Api);
    WriteFilter(Filter, Json);
    Json.Text("text", Text).Integer("limit", Limit).Integer("now_ms", NowMs).Flag("touch", bTouch);
    Json.Number("half_life_s", HalfLifeS).Raw("weights", Weights.Write());
    return Json.Write();
}

FOutcome FStore::Check(sotto_status Status) const
{
    return FOutcome::Of(Api, Status);
}

FOutcome FStore::Open(std::string_view Folder, std::string_view Id, uint32_t Dim, sotto_store_flags Flags)
{
    if (!Api.IsLoaded())
    {
        return {SOTTO_ERROR_STATE, "the library is not loaded"};
    }
    Close();
    sotto_store_desc Desc = SOTTO_INIT(sotto_store_desc);
    Desc.folder = Str(Folder);
    Desc.id = Str(Id);
    Desc.dim = Dim;
    Desc.flags = Flags;
    return Check(Api.sotto_store_open(&Desc, &Store));
}

void FStore::Close()
{
    if (sotto_store* Closed = std::exchange(Store, nullptr); Closed != nullptr && Api.IsLoaded())
    {
        Api.sotto_store_close(Closed);
    }
}

FOutcome FStore::Insert(const std::vector<FStoreEntry>& Entries, bool bReplace, std::vector<std::string>& Ids)
{
    if (Store == nullptr)
    {
        return NotOpen();
    }
    std::string List;
    for (const FStoreEntry& Entry : Entries)
    {
        List += (List.empty() ? "" : ", ") + Entry.Write(Api);
    }
    FJsonObject Json(Api);
    Json.Raw("entries", "[" + List + "]").Flag("replace", bReplace);
    sotto_str Written = {};
    const FOutcome Done = Check(Api.sotto_store_insert(Store, Str(Json.Write()), nullptr, 0, &Written));
    if (!Done)
    {
        return Done;
    }
    FJsonReader Reader(View(Written));
    for (Reader.BeginArray(); Reader.NextItem();)
    {
        Ids.push_back(Reader.Text());
    }
    return Reader.IsValid() ? Done : InvalidJson();
}

FOutcome FStore::Update(std::string_view Id, std::string_view Changes)
{
    return Store == nullptr ? NotOpen() : Check(Api.sotto_store_update(Store, Str(Id), Str(Changes)));
}

FOutcome FStore::RemoveBy(const std::string& Which, uint64_t& Removed)
{
    return Store == nullptr ? NotOpen() : Check(Api.sotto_store_remove(Store, Str(Which), &Removed));
}

FOutcome FStore::Remove(const std::vector<std::string>& Ids, uint64_t& Removed)
{
    return RemoveBy(FJsonObject(Api).Raw("ids", WriteTexts(Api, Ids)).Write(), Removed);
}

FOutcome FStore::RemoveWhere(const FStoreFilter& Filter, uint64_t& Removed)
{
    return RemoveBy(Filter.Write(Api), Removed);
}

FOutcome FStore::Count(const FStoreFilter& Filter, uint64_t& Found)
{
    return Store == nullptr ? NotOpen() : Check(Api.sotto_store_count(Store, Str(Filter.Write(Api)), &Found));
}

FOutcome FStore::ReadPage(const std::string& Options, std::vector<FStoreEntry>& Entries, std::string& Next)
{
    sotto_str Page = {};
    const FOutcome Done = Check(Api.sotto_store_list(Store, Str(Options), &Page));
    if (!Done)
    {
        return Done;
    }
    Next.clear();
    FJsonReader Reader(View(Page));
    std::string Name;
    for (Reader.BeginObject(); Reader.NextField(Name);)
    {
        if (Name != "entries")
        {
            (Name == "next" ? Next : Name) = Reader.Raw();
            continue;
        }
        for (Reader.BeginArray(); Reader.NextItem();)
        {
            FStoreEntry& Entry = Entries.emplace_back();
            for (Reader.BeginObject(); Reader.NextField(Name);)
            {
                if (!Entry.ReadField(Reader, Name))
                {
                    Reader.Raw();
                }
            }
        }
    }
    return Reader.IsValid() ? Done : InvalidJson();
}

FOutcome FStore::List(const FStoreFilter& Filter, std::vector<FStoreEntry>& Entries)
{
    if (Store == nullptr)
    {
        return NotOpen();
    }
    std::string Next;
    do
    {
        FJsonObject Options(Api);
        WriteFilter(Filter, Options);
        Options.Integer("limit", 1000);
        if (!Next.empty())
        {
            Options.Raw("after", Next);
        }
        if (const FOutcome Read = ReadPage(Options.Write(), Entries, Next); !Read)
        {
            return Read;
        }
    } while (!Next.empty());
    return {};
}

FOutcome FStore::Query(const FStoreQuery& Query, std::vector<FStoreMatch>& Matches)
{
    if (Store == nullptr)
    {
        return NotOpen();
    }
    const std::vector<float>& Vector = Query.Embedding;
    sotto_str Results = {};
    const FOutcome Done = Check(Api.sotto_store_query(
        Store, Str(Query.Write(Api)), Vector.empty() ? nullptr : Vector.data(), Vector.size(), &Results
    ));
    if (!Done)
    {
        return Done;
    }
    FJsonReader Reader(View(Results));
    ReadMatches(Reader, Matches);
    return Reader.IsValid() ? Done : InvalidJson();
}

} // namespace SottoCore
