#include "SottoBuildCheck.h"

#include "Misc/ConfigCacheIni.h"
#include "Misc/Paths.h"
#include "SottoLibrary.h"
#include "SottoPaths.h"
#include "SottoSettings.h"

/** Returns true if the folder of a file in Content/ is staged as loose files, which the library reads. */
static bool SottoIsStaged(const FString& Model)
{
    TArray<FString> Folders;
    GConfig->GetArray(
        TEXT("/Script/UnrealEd.ProjectPackagingSettings"),
        TEXT("DirectoriesToAlwaysStageAsNonUFS"),
        Folders,
        GGameIni
    );
    const FString Staged = FString::Printf(TEXT("(Path=\"%s\")"), *FPaths::GetPath(Model));
    for (const FString& Folder : Folders)
    {
        if (Folder.Equals(Staged, ESearchCase::CaseSensitive)) // as on the file systems of Linux and Android
        {
            return true;
        }
    }
    return false;
}

TArray<FString> FSottoBuildCheck::FindProblems()
{
    TArray<FString> Problems;
    if (!FPaths::FileExists(FSottoLibrary::DefaultFile()))
    {
        Problems.Add(
            FString::Printf(
                TEXT("the library '%s' is missing; install the plugin's package with its libraries"),
                *FSottoLibrary::DefaultFile()
            )
        );
    }
    const FString Model = GetDefault<USottoSettings>()->Model;
    const FString File = FSottoPaths::ResolveModel(Model);
    if (File.IsEmpty())
    {
        return Problems; // the house model lies beside the library
    }
    if (!FPaths::FileExists(File))
    {
        Problems.Add(
            FString::Printf(
                TEXT(
                    "invalid Model '%s': expected a file in Content/; set it in Project Settings > Plugins > "
                    "Sotto"
                ),
                *Model
            )
        );
    }
    else if (!FPaths::IsRelative(Model) || !SottoIsStaged(Model))
    {
        Problems.Add(
            FString::Printf(
                TEXT(
                    "the model '%s' is not staged; move it to a folder of Content/ and add that folder to "
                    "Project Settings > Packaging > Additional Non-Asset Directories To Copy"
                ),
                *Model
            )
        );
    }
    return Problems;
}
