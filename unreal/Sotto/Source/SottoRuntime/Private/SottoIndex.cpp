#include "SottoIndex.h"

#include "Core/Index.h"
#include "SottoConvert.h"
#include "SottoLibrary.h"
#include "SottoPaths.h"
#include "UObject/UObjectGlobals.h"

/** Returns true on success; else sets the reason. */
static bool SottoSucceeded(const SottoCore::FOutcome& Outcome, FString& Error)
{
    Error = SottoToString(Outcome.Error);
    return static_cast<bool>(Outcome);
}

static const SottoCore::FOutcome& SottoNoIndex()
{
    static const SottoCore::FOutcome None = {
        SOTTO_ERROR_STATE, "the index was not created by Create Index or Load Index"
    };
    return None;
}

static std::vector<float> SottoToFloats(const TArray<float>& Values)
{
    return std::vector<float>(Values.GetData(), Values.GetData() + Values.Num());
}

USottoIndex* USottoIndex::Make(const TSharedPtr<SottoCore::FIndex>& Made)
{
    USottoIndex* Object = NewObject<USottoIndex>();
    Object->Index = Made;
    FSottoLibrary::Get().OnUnload().AddUObject(Object, &USottoIndex::Close);
    return Object;
}

USottoIndex* USottoIndex::CreateIndex(int32 Dim, ESottoIndexStorage Storage, FString& Error)
{
    const TSharedPtr<SottoCore::FIndex> Made =
        MakeShared<SottoCore::FIndex>(FSottoLibrary::Get().Functions());
    const uint32_t Numbers = Dim > 0 ? static_cast<uint32_t>(Dim) : 0;
    const bool bCreated =
        SottoSucceeded(Made->Create(Numbers, static_cast<sotto_index_storage>(Storage)), Error);
    return bCreated ? Make(Made) : nullptr;
}

USottoIndex* USottoIndex::LoadIndex(const FString& Path, FString& Error)
{
    const TSharedPtr<SottoCore::FIndex> Made =
        MakeShared<SottoCore::FIndex>(FSottoLibrary::Get().Functions());
    const std::string File = SottoToUtf8(FSottoPaths::ResolveSaved(Path));
    return SottoSucceeded(Made->Load(File), Error) ? Make(Made) : nullptr;
}

bool USottoIndex::Insert(const TArray<int64>& Labels, const TArray<float>& Vectors, FString& Error)
{
    std::vector<uint64_t> Numbers;
    for (const int64 Label : Labels)
    {
        Numbers.push_back(static_cast<uint64_t>(Label));
    }
    return SottoSucceeded(
        Index.IsValid() ? Index->Insert(Numbers, SottoToFloats(Vectors)) : SottoNoIndex(), Error
    );
}

bool USottoIndex::Remove(int64 Label, FString& Error)
{
    return SottoSucceeded(
        Index.IsValid() ? Index->Remove(static_cast<uint64_t>(Label)) : SottoNoIndex(), Error
    );
}

bool USottoIndex::Build(FString& Error)
{
    return SottoSucceeded(Index.IsValid() ? Index->Build() : SottoNoIndex(), Error);
}

bool USottoIndex::Save(const FString& Path, FString& Error)
{
    const FString File = FSottoPaths::ResolveSaved(Path);
    FSottoPaths::MakeFolderOf(File);
    return SottoSucceeded(Index.IsValid() ? Index->Save(SottoToUtf8(File)) : SottoNoIndex(), Error);
}

bool USottoIndex::Search(
    const TArray<float>& Query, int32 Most, TArray<FSottoIndexMatch>& Matches, FString& Error
) const
{
    std::vector<uint64_t> Labels;
    std::vector<float> Distances;
    const uint32_t Wanted = Most > 0 ? static_cast<uint32_t>(Most) : 0;
    const SottoCore::FOutcome Searched =
        Index.IsValid() ? Index->Search(SottoToFloats(Query), Wanted, Labels, Distances) : SottoNoIndex();
    Matches.Empty();
    for (size_t i = 0; i < Labels.size(); ++i)
    {
        FSottoIndexMatch Match;
        Match.Label = static_cast<int64>(Labels[i]);
        Match.Distance = Distances[i];
        Matches.Add(Match);
    }
    return SottoSucceeded(Searched, Error);
}

int64 USottoIndex::GetCount() const
{
    return Index.IsValid() ? static_cast<int64>(Index->Info().size) : 0;
}

int32 USottoIndex::GetDim() const
{
    return Index.IsValid() ? static_cast<int32>(Index->Info().dim) : 0;
}

void USottoIndex::Close()
{
    if (Index.IsValid())
    {
        Index->Close();
    }
}

void USottoIndex::BeginDestroy()
{
    Close();
    Super::BeginDestroy();
}
