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

/** Adds what is wrong with a model of the settings. `Setting`: its name there. */
static void SottoCheckModel(const TCHAR* Setting, const FString& Model, TArray<FString>& Problems)
{
    const FString File = FSottoPaths::ResolveModel(Model);
    if (File.IsEmpty()) // none, or a model that lies beside the library
    {
        for (const FString& LeftOut : GetDefault<USottoSettings>()->LeaveOut)
        {
            if (Model.Equals(TEXT("sotto/") + LeftOut, ESearchCase::CaseSensitive))
            {
                Problems.Add(
                    FString::Printf(
                        TEXT(
                            "invalid %s '%s': Leave Out names that model; remove it there, or choose another"
                        ),
                        Setting,
                        *Model
                    )
                );
            }
        }
        return;
    }
    if (!FPaths::FileExists(File))
    {
        Problems.Add(
            FString::Printf(
                TEXT(
                    "invalid %s '%s': expected a file in Content/; set it in Project Settings > Plugins > "
                    "Sotto"
                ),
                Setting,
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
    const USottoSettings* Settings = GetDefault<USottoSettings>();
    SottoCheckModel(TEXT("Model"), Settings->Model, Problems);
    SottoCheckModel(TEXT("Embedding Model"), Settings->EmbeddingModel, Problems);
    FString Guardrails;
    FString Unreadable;
    if (!FSottoPaths::ReadConfig(Settings->Guardrails, Guardrails, Unreadable))
    {
        Problems.Add(TEXT("Guardrails: ") + Unreadable);
    }
    return Problems;
}
