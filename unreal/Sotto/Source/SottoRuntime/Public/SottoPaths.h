#pragma once

#include "CoreMinimal.h"

/** Finds model files, and files that the game writes. */
class SOTTORUNTIME_API FSottoPaths
{
public:
    /**
     * Returns the file of a model.
     *
     * An absolute path stays as it is. A relative path is looked up in the project's Content/, then in
     * Saved/; if neither has the file, the path in Content/ is returned, which the load error then names.
     * "sotto/house", "sotto/matting" and an empty name give an empty path: the library knows these itself.
     */
    static FString ResolveModel(const FString& Model);

    /** Returns the path of a file or folder that the game writes: a relative one is below Saved/. */
    static FString ResolveSaved(const FString& Path);

    /**
     * Reads a configuration: `Config` itself if it is JSON or empty, else the file in Content/ or Saved/ that
     * it names.
     *
     * @param Json   Out: the configuration.
     * @param Error  Out: why it could not be read.
     * @return True on success.
     */
    static bool ReadConfig(const FString& Config, FString& Json, FString& Error);

    /** Creates the folder of a file, and those above it. */
    static void MakeFolderOf(const FString& File);
};
