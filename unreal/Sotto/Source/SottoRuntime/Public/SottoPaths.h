#pragma once

#include "CoreMinimal.h"

/** Finds model files. */
class SOTTORUNTIME_API FSottoPaths
{
public:
    /**
     * Returns the file of a model.
     *
     * An absolute path stays as it is. A relative path is looked up in the project's Content/, then in
     * Saved/; if neither has the file, the path in Content/ is returned, which the load error then names.
     * "sotto/house" and an empty name give an empty path: the library knows that model itself.
     */
    static FString ResolveModel(const FString& Model);
};
