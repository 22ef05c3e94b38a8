#pragma once

#include "CoreMinimal.h"
#include "SottoTypes.h"
#include "UObject/Object.h"

#include "SottoIndex.generated.h"

namespace SottoCore
{
class FIndex;
}

/** How an index stores vectors. */
UENUM(BlueprintType)
enum class ESottoIndexStorage : uint8
{
    /** 4 bytes per dimension. */
    F32,
    /** 2 bytes per dimension; distances are off by at most about 0.001. */
    F16,
    /** 1 byte per dimension; distances are off by about 0.01. */
    I8
};

/** A label that a search found. */
USTRUCT(BlueprintType)
struct SOTTORUNTIME_API FSottoIndexMatch
{
    GENERATED_BODY()

    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    int64 Label = 0;

    /** Cosine distance: 0, same direction, to 2, opposite direction. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    float Distance = 0.0f;
};

/**
 * A vector index: finds the vectors nearest to a query by cosine distance. Needs no engine and no model.
 *
 * Functions that can fail return false and set `Error`. Any thread may call them while the object lives;
 * Search never waits. A search before Build fails; vectors that are inserted after it are found at once.
 */
UCLASS(BlueprintType)
class SOTTORUNTIME_API USottoIndex : public UObject
{
    GENERATED_BODY()

public:
    /**
     * Creates an empty index. Returns null on failure.
     *
     * @param Dim      Dimensions of a vector, 1 to 16,384.
     * @param Storage  How vectors are stored.
     * @param Error    Out: why there is no index.
     */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Index")
    static USottoIndex* CreateIndex(int32 Dim, ESottoIndexStorage Storage, FString& Error);

    /** Reads an index from a file of Save; a relative path is below Saved/. Waits for the disk. */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Index")
    static USottoIndex* LoadIndex(const FString& Path, FString& Error);

    /**
     * Inserts vectors; none of them if one is refused.
     *
     * @param Labels   A number for each vector, which the index does not have.
     * @param Vectors  The vectors in a row: finite, none all 0.
     * @param Error    Out: why nothing was inserted.
     */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Index")
    bool Insert(const TArray<int64>& Labels, const TArray<float>& Vectors, FString& Error);

    /** Removes a label and its vector. Fails if the index has no such label. */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Index")
    bool Remove(int64 Label, FString& Error);

    /** Links the vectors that were inserted before. Waits: about a millisecond per vector. */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Index")
    bool Build(FString& Error);

    /** Writes the index to a file, atomically; a relative path is below Saved/. Waits for the disk. */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Index")
    bool Save(const FString& Path, FString& Error);

    /** Finds at most `Most` labels, nearest first. */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Index")
    bool
    Search(const TArray<float>& Query, int32 Most, TArray<FSottoIndexMatch>& Matches, FString& Error) const;

    /** Returns the number of vectors. */
    UFUNCTION(BlueprintPure, Category = "Sotto|Index")
    int64 GetCount() const;

    /** Returns the dimensions of a vector. 0: the index is closed. */
    UFUNCTION(BlueprintPure, Category = "Sotto|Index")
    int32 GetDim() const;

    virtual void BeginDestroy() override;

private:
    static USottoIndex* Make(const TSharedPtr<SottoCore::FIndex>& Made);
    void Close();

    TSharedPtr<SottoCore::FIndex> Index;
};
