#include "SottoPaths.h"

#include "Misc/Paths.h"

FString FSottoPaths::ResolveModel(const FString& Model)
{
    if (Model.IsEmpty() || Model.Equals(TEXT("sotto/house"), ESearchCase::CaseSensitive))
    {
        return FString();
    }
    if (!FPaths::IsRelative(Model))
    {
        return Model;
    }
    const FString InContent =
        FPaths::ConvertRelativePathToFull(FPaths::Combine(FPaths::ProjectContentDir(), Model));
    const FString InSaved =
        FPaths::ConvertRelativePathToFull(FPaths::Combine(FPaths::ProjectSavedDir(), Model));
    return !FPaths::FileExists(InContent) && FPaths::FileExists(InSaved) ? InSaved : InContent;
}
