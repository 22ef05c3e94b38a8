#include "Core/Memories.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "Core/Json.h"
#include "Core/Sha256.h"

namespace SottoCore
{

namespace
{

constexpr double kRecencyWeight = 0.1;
constexpr double kImportanceWeight = 0.1;
constexpr const char* kKinds[] = {"fact", "said", "heard", "summary"};

/** Returns the bytes of the white space at a position, or 0. */
size_t SpaceAt(std::string_view Text, size_t At)
{
    const auto First = static_cast<unsigned char>(Text[At]);
    if (First <= ' ')
    {
        return First == ' ' || (First >= '\t' && First <= '\r') || First >= 0x1C ? 1 : 0;
    }
    const std::string_view Rest = Text.substr(At);
    for (const char* Wide :
         {"\xC2\x85",
          "\xC2\xA0",
          "\xE1\x9A\x80",
          "\xE2\x80\xA8",
          "\xE2\x80\xA9",
          "\xE2\x80\xAF",
          "\xE2\x81\x9F",
          "\xE3\x80\x80"})
    {
        if (Rest.starts_with(Wide))
        {
            return std::string_view(Wide).size();
        }
    }
    const bool bEmToHair = Rest.size() >= 3 && Rest.starts_with("\xE2\x80") &&
                           static_cast<unsigned char>(Rest[2]) >= 0x80 &&
                           static_cast<unsigned char>(Rest[2]) <= 0x8A; // U+2000 to U+200A
    return bEmToHair ? 3 : 0;
}

EMemoryKind KindOf(const std::string& Metadata)
{
    FJsonReader Reader(Metadata);
    std::string Name;
    std::string Kind;
    for (Reader.BeginObject(); Reader.NextField(Name);)
    {
        if (Name == "kind" && Reader.Peek() == '"')
        {
            Kind = Reader.Text();
        }
        else
        {
            Reader.Raw();
        }
    }
    const auto* Found = std::find(std::begin(kKinds), std::end(kKinds), Kind);
    return Found == std::end(kKinds) ? EMemoryKind::Fact
                                     : static_cast<EMemoryKind>(Found - std::begin(kKinds));
}

FMemory ToMemory(const FStoreEntry& Entry)
{
    return {
        Entry.Id,
        Entry.Value,
        KindOf(Entry.Metadata),
        Entry.Importance,
        static_cast<double>(Entry.AccessedMs) / 1000
    };
}

} // namespace

std::string MemoryLine(std::string_view Text)
{
    std::string Line;
    for (size_t At = 0; At < Text.size();)
    {
        const size_t Space = SpaceAt(Text, At);
        if (Space == 0)
        {
            Line += Text[At++];
            continue;
        }
        At += Space;
        if (!Line.empty() && Line.back() != ' ')
        {
            Line += ' ';
        }
    }
    Line.resize(Line.empty() || Line.back() != ' ' ? Line.size() : Line.size() - 1);
    return Line;
}

std::string ExchangeOf(const std::string& By, const std::string& Text, const std::string& Answer)
{
    return MemoryLine((By.empty() ? "The visitor" : By) + " said: " + Text + " You said: " + Answer);
}

std::string MemoryId(const std::string& Character, const std::string& Line)
{
    return Character + "/" + Sha256(Line).substr(0, 32);
}

double FForgetting::Strength(const FMemory& Memory, double Now) const
{
    return Memory.Importance >= 1
               ? 1
               : Memory.Importance * std::pow(0.5, std::max(0.0, Now - Memory.Used) / HalfLifeS);
}

FMemories::FMemories(
    FStore& InStore, std::string InCharacter, FEmbed InEmbed, std::function<double()> InClock
)
    : Store(InStore), Character(std::move(InCharacter)), Embed(std::move(InEmbed)), Clock(std::move(InClock))
{
}

FOutcome FMemories::Tell(const std::string& Fact, double Importance)
{
    return Add(Fact, EMemoryKind::Fact, Importance);
}

FOutcome FMemories::Overhear(const std::string& Text, const std::string& By, double Importance)
{
    return Add(By + " said: " + Text, EMemoryKind::Heard, Importance);
}

FOutcome FMemories::Remember(const std::string& Exchange)
{
    return Add(Exchange, EMemoryKind::Said, kTalkImportance);
}

FOutcome FMemories::Add(const std::string& Text, EMemoryKind Kind, double Importance)
{
    const FApi& Api = Store.Functions();
    FStoreEntry Entry;
    Entry.Value = MemoryLine(Text);
    if (Entry.Value.empty())
    {
        return {};
    }
    Entry.Id = MemoryId(Character, Entry.Value);
    FJsonObject Changes(Api);
    Changes.Integer("accessed_ms", NowMs()).Number("importance", Importance);
    FOutcome Done = Store.Update(Entry.Id, Changes.Write());
    if (Done.Status != SOTTO_ERROR_NOT_FOUND)
    {
        return Done;
    }
    std::vector<std::vector<float>> Vectors;
    if (Done = Embed({Entry.Value}, Vectors); !Done)
    {
        return Done;
    }
    Entry.Space = Character;
    Entry.Importance = Importance;
    Entry.CreatedMs = NowMs();
    Entry.Metadata = FJsonObject(Api).Text("kind", kKinds[static_cast<size_t>(Kind)]).Write();
    Entry.Embedding = std::move(Vectors.front());
    std::vector<std::string> Ids;
    Done = Store.Insert({Entry}, false, Ids);
    return Done ? Forget() : Done;
}

FOutcome FMemories::Recall(
    const std::string& About,
    size_t Limit,
    const std::vector<std::string>& Without,
    std::vector<FMemory>& Found
)
{
    if (Limit == 0 || MemoryLine(About).empty())
    {
        return {};
    }
    std::vector<std::vector<float>> Vectors;
    if (const FOutcome Embedded = Embed({About}, Vectors); !Embedded)
    {
        return Embedded;
    }
    FStoreQuery Query;
    Query.Filter.Space = Character;
    Query.Text = About;
    Query.Embedding = std::move(Vectors.front());
    Query.Limit = static_cast<uint32_t>(Limit + Without.size());
    Query.RecencyWeight = kRecencyWeight;
    Query.ImportanceWeight = kImportanceWeight;
    Query.HalfLifeS = Forgetting.HalfLifeS;
    Query.NowMs = NowMs();
    std::vector<FStoreMatch> Matches;
    if (const FOutcome Queried = Store.Query(Query, Matches); !Queried)
    {
        return Queried;
    }
    for (const FStoreMatch& Match : Matches)
    {
        const bool bLeftOut = std::find(Without.begin(), Without.end(), Match.Entry.Value) != Without.end();
        if (Found.size() < Limit && !bLeftOut)
        {
            Found.push_back(ToMemory(Match.Entry));
        }
    }
    return {};
}

FOutcome FMemories::Use(const std::vector<FMemory>& Memories)
{
    for (const FMemory& Memory : Memories)
    {
        const std::string Changes = FJsonObject(Store.Functions()).Integer("accessed_ms", NowMs()).Write();
        const FOutcome Done = Store.Update(Memory.Id, Changes);
        if (!Done && Done.Status != SOTTO_ERROR_NOT_FOUND) // forgotten meanwhile
        {
            return Done;
        }
    }
    return {};
}

FOutcome FMemories::List(std::vector<FMemory>& Memories)
{
    FStoreFilter Own;
    Own.Space = Character;
    std::vector<FStoreEntry> Entries;
    const FOutcome Done = Store.List(Own, Entries);
    for (const FStoreEntry& Entry : Entries)
    {
        Memories.push_back(ToMemory(Entry));
    }
    return Done;
}

FOutcome FMemories::Forget()
{
    FStoreFilter Own;
    Own.Space = Character;
    uint64_t Count = 0;
    FOutcome Done = Store.Count(Own, Count);
    if (!Done || Count <= Forgetting.Most)
    {
        return Done;
    }
    std::vector<FMemory> All;
    if (Done = List(All); !Done)
    {
        return Done;
    }
    const double Now = Clock();
    std::vector<size_t> Order(All.size());
    std::iota(Order.begin(), Order.end(), size_t{0});
    std::stable_sort(
        Order.begin(),
        Order.end(),
        [&](size_t Left, size_t Right)
        { return Forgetting.Strength(All[Left], Now) < Forgetting.Strength(All[Right], Now); }
    );
    Order.resize(std::min<size_t>(Order.size(), Count - uint64_t{Forgetting.Most} * 9 / 10));
    std::vector<std::string> Ids;
    for (const size_t At : Order)
    {
        Ids.push_back(All[At].Id);
    }
    uint64_t Removed = 0;
    return Store.Remove(Ids, Removed);
}

} // namespace SottoCore
