#include "SottoPaths.h"

#include "GenericPlatform/GenericPlatformFile.h"
#include "HAL/PlatformFileManager.h"
#include "Misc/FileHelper.h"
#include "Misc/Paths.h"

/** Returns true for the models that lie beside the library, which knows their ids. */
static bool SottoIsEmbedded(const FString& Model)
{
    return Model.Equals(TEXT("sotto/house"), ESearchCase::CaseSensitive) ||
           Model.Equals(TEXT("sotto/matting"), ESearchCase::CaseSensitive);
}

FString FSottoPaths::ResolveModel(const FString& Model)
{
    if (Model.IsEmpty() || SottoIsEmbedded(Model))
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

FString FSottoPaths::ResolveSaved(const FString& Path)
{
    return Path.IsEmpty() || !FPaths::IsRelative(Path)
               ? Path
               : FPaths::ConvertRelativePathToFull(FPaths::Combine(FPaths::ProjectSavedDir(), Path));
}

bool FSottoPaths::ReadConfig(const FString& Config, FString& Json, FString& Error)
{
    const FString Trimmed = Config.TrimStart();
    if (Trimmed.IsEmpty() || Trimmed.StartsWith(TEXT("{")))
    {
        Json = Trimmed;
        return true;
    }
    const FString File = ResolveModel(Config);
    if (!FFileHelper::LoadFileToString(Json, *File))
    {
        Error = FString::Printf(
            TEXT("invalid configuration '%s': expected a JSON object, or a file; there is no file '%s'"),
            *Config,
            *File
        );
        return false;
    }
    return true;
}

void FSottoPaths::MakeFolderOf(const FString& File)
{
    if (!File.IsEmpty())
    {
        FPlatformFileManager::Get().GetPlatformFile().CreateDirectoryTree(*FPaths::GetPath(File));
    }
}
