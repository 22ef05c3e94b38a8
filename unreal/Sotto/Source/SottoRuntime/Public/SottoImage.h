#pragma once

#include "CoreMinimal.h"
#include "SottoTypes.h"
#include "UObject/ObjectPtr.h"

#include "SottoImage.generated.h"

class UTexture2D;

/** An image to generate. Zero and empty fields take the model's defaults. */
USTRUCT(BlueprintType)
struct SOTTORUNTIME_API FSottoImageRequest
{
    GENERATED_BODY()

    /** What the image shows. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto", meta = (MultiLine = true))
    FString Prompt;

    /** What the image does not show. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString NegativePrompt;

    /** A model that generates images. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Model;

    /** In pixels; a model may need multiples of 8 or more. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto", meta = (ClampMin = "0"))
    int32 Width = 0;

    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto", meta = (ClampMin = "0"))
    int32 Height = 0;

    /** Denoise steps: time grows with them. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto", meta = (ClampMin = "0"))
    int32 Steps = 0;

    /** How closely the image follows the prompt. Below 0: the model's default. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    float GuidanceScale = -1.0f;

    /** The same seed gives the same image. -1: another one each time. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    int64 Seed = -1;

    /** Number of previews before the image, up to 3. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto", meta = (ClampMin = "0", ClampMax = "3"))
    int32 Previews = 0;

    /** A PNG, JPEG or WebP file to start from. Empty: noise. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    TArray<uint8> StartImage;

    /** How far to depart from the image to start from, 0 to 1. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    float Strength = 0.75f;

    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    ESottoPriority Priority = ESottoPriority::Background;
};

/** An image, or the reason why there is none. */
USTRUCT(BlueprintType)
struct SOTTORUNTIME_API FSottoImage
{
    GENERATED_BODY()

    /** Id that the call returned which asked for the image. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    int64 Id = 0;

    /** The texture, in sRGB and without mipmaps. Keep it in a variable: nothing else refers to it. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    TObjectPtr<UTexture2D> Texture;

    /** The PNG file, such as to keep it beside a save game. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    TArray<uint8> File;

    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    int32 Width = 0;

    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    int32 Height = 0;

    /** The seed that makes the image again. -1: it has none. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    int64 Seed = -1;

    /** More denoise steps follow. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    bool bPreview = false;

    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    ESottoStatus Status = ESottoStatus::Ok;

    /** Why there is no image, one line of English. Empty: there is one. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    FString Error;
};

/** Receives an image, or the reason why there is none. */
DECLARE_DELEGATE_OneParam(FSottoImageDelegate, const FSottoImage&);

/** What a C++ caller wants to learn of a request for an image. All delegates run on the game thread. */
struct FSottoImageHandlers
{
    FSottoImageDelegate Preview;
    FSottoProgressDelegate Progress;
    /** Exactly once, for success and failure, unless the request was abandoned. */
    FSottoImageDelegate Ended;
};
