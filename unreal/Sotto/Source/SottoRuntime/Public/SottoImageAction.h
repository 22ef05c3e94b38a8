#pragma once

#include "CoreMinimal.h"
#include "Engine/CancellableAsyncAction.h"
#include "SottoImage.h"

#include "SottoImageAction.generated.h"

class USottoSubsystem;

/** Output pins of the nodes that make an image. */
DECLARE_DYNAMIC_MULTICAST_DELEGATE_TwoParams(FSottoImagePin, float, Fraction, const FSottoImage&, Image);

/** Async nodes that generate an image, or remove the background of one, and yield a texture. */
UCLASS()
class SOTTORUNTIME_API USottoImageAction : public UCancellableAsyncAction
{
    GENERATED_BODY()

public:
    /** A step was computed: `Fraction` from 0 to 1. */
    UPROPERTY(BlueprintAssignable)
    FSottoImagePin Progress;

    /** A preview: its texture shows what the image becomes. */
    UPROPERTY(BlueprintAssignable)
    FSottoImagePin Preview;

    UPROPERTY(BlueprintAssignable)
    FSottoImagePin Done;

    UPROPERTY(BlueprintAssignable)
    FSottoImagePin Failed;

    /** Generates an image. Loads the model if it is not loaded. */
    UFUNCTION(
        BlueprintCallable,
        Category = "Sotto|Images",
        meta =
            (BlueprintInternalUseOnly = "true",
             WorldContext = "WorldContextObject",
             DisplayName = "Generate Image")
    )
    static USottoImageAction*
    GenerateImage(UObject* WorldContextObject, const FSottoImageRequest& ImageRequest);

    /**
     * Removes the background of an image: same size, with alpha.
     *
     * @param Model  A model that segments images.
     * @param File   A PNG, JPEG or WebP file, such as the File of an image.
     */
    UFUNCTION(
        BlueprintCallable,
        Category = "Sotto|Images",
        meta =
            (BlueprintInternalUseOnly = "true",
             WorldContext = "WorldContextObject",
             DisplayName = "Remove Background")
    )
    static USottoImageAction*
    RemoveBackground(UObject* WorldContextObject, const FString& Model, const TArray<uint8>& File);

    virtual void Activate() override;
    virtual void Cancel() override;

private:
    void HandleProgress(int64 Id, float Fraction);
    void HandlePreview(const FSottoImage& Image);
    void HandleEnded(const FSottoImage& Image);

    TWeakObjectPtr<USottoSubsystem> Subsystem;
    FSottoImageRequest Wanted;
    FString Matte; // the model that removes the background
    TArray<uint8> Source;
    int64 Request = 0;
    bool bGenerates = true;
};
