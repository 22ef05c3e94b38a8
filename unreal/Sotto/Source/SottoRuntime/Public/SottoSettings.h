#pragma once

#include "CoreMinimal.h"
#include "Engine/DeveloperSettings.h"
#include "SottoTypes.h"

#include "SottoSettings.generated.h"

/** Project settings, under Plugins > Sotto. They take effect when a game instance starts. */
UCLASS(Config = Game, DefaultConfig, meta = (DisplayName = "Sotto"))
class SOTTORUNTIME_API USottoSettings : public UDeveloperSettings
{
    GENERATED_BODY()

public:
    /**
     * Model of characters that name none: a GGUF file relative to Content/ or Saved/, an absolute path, or
     * sotto/house.
     */
    UPROPERTY(Config, EditAnywhere, Category = "Models")
    FString Model = TEXT("sotto/house");

    /** Loads the model when the game instance starts, instead of with the first question. */
    UPROPERTY(Config, EditAnywhere, Category = "Models")
    bool bLoadAtStart = true;

    /** Memory of all models together, in MiB. 0: no limit. */
    UPROPERTY(Config, EditAnywhere, Category = "Models", meta = (ClampMin = "0"))
    int32 MemoryBudgetMiB = 0;

    /** Device that models run on: cpu, auto, vulkan or cuda. Empty: cpu. */
    UPROPERTY(Config, EditAnywhere, Category = "Models")
    FString Device;

    /** Shares the renderer's graphics card with the models. Takes effect if a module computes on the card. */
    UPROPERTY(Config, EditAnywhere, Category = "Models")
    bool bShareGpu = false;

    /**
     * Checks what players say and what models answer: a JSON object, or a file in Content/ or Saved/ that
     * holds it, such as Guardrails.json. Empty: no checks. If it is invalid, the plugin is off.
     */
    UPROPERTY(Config, EditAnywhere, Category = "Guardrails", meta = (MultiLine = true))
    FString Guardrails;

    /**
     * Embedding model with which characters recall: a GGUF file, as Model has it. Empty: characters do not
     * remember.
     */
    UPROPERTY(Config, EditAnywhere, Category = "Memory")
    FString EmbeddingModel;

    /** Dimensions of that model's embeddings. */
    UPROPERTY(Config, EditAnywhere, Category = "Memory", meta = (ClampMin = "1"))
    int32 EmbeddingDim = 384;

    /** Name of the store of memories in Saved/Sotto, for example one for each save slot. */
    UPROPERTY(Config, EditAnywhere, Category = "Memory")
    FString MemoryStore = TEXT("memories");

    UPROPERTY(Config, EditAnywhere, Category = "Frames")
    ESottoMode Mode = ESottoMode::Balance;

    /** Pace of each character in tokens per second. 0: as fast as possible. */
    UPROPERTY(Config, EditAnywhere, Category = "Frames", meta = (ClampMin = "0"))
    float TargetTps = 20.0f;

    /** Reports the start and the end of each frame, so that models run in the time that the game leaves. */
    UPROPERTY(Config, EditAnywhere, Category = "Frames")
    bool bReportFrames = true;

    /** Target time from one frame to the next, in ms. 0: unknown. */
    UPROPERTY(Config, EditAnywhere, Category = "Frames", meta = (ClampMin = "0"))
    float FramePeriodMs = 16.667f;

    /** Up to this distance from the player's view, a character's answers are in the foreground. */
    UPROPERTY(Config, EditAnywhere, Category = "Distance", meta = (ClampMin = "0"))
    float NearDistance = 500.0f;

    /** Beyond this distance from the player's view, a character's answers are in the background. */
    UPROPERTY(Config, EditAnywhere, Category = "Distance", meta = (ClampMin = "0"))
    float FarDistance = 3000.0f;

    /**
     * Modules and models of the plugin that a packaged game does not contain: llama_vulkan, llama_cuda,
     * proxy, onnx, diffusion, diffusion_vulkan, house, matting. Read when the game is built; not on Android.
     */
    UPROPERTY(Config, EditAnywhere, Category = "Packaging")
    TArray<FString> LeaveOut;

    virtual FName GetCategoryName() const override { return TEXT("Plugins"); }
};
