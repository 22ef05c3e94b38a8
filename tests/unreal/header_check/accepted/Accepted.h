// Every construct that the rules speak of, as it should be written.
#pragma once

#include "CoreMinimal.h"
#include "Kismet/BlueprintAsyncActionBase.h"
#include "UObject/Interface.h"
#include "UObject/Object.h"

#include "Accepted.generated.h"

class UWorld;

DEFINE_LOG_CATEGORY_STATIC(LogAccepted, Log, All);

UENUM(BlueprintType)
enum class EAcceptedMood : uint8
{
    Calm UMETA(DisplayName = "Calm (default)"),
    Angry UMETA(Hidden)
};

USTRUCT(BlueprintType)
struct FAcceptedLine
{
    GENERATED_BODY()

    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto|Line")
    FString Text;

    UPROPERTY(
        EditAnywhere, BlueprintReadWrite, Category = "Sotto|Line", meta = (ClampMin = "0", ClampMax = "1")
    )
    float Weight = 1.0f;
};

DECLARE_DYNAMIC_MULTICAST_DELEGATE_TwoParams(FAcceptedText, int64, Request, const FString&, Text);

UINTERFACE(BlueprintType)
class HEADERCHECK_API UAcceptedListener : public UInterface
{
    GENERATED_BODY()
};

class HEADERCHECK_API IAcceptedListener
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintImplementableEvent, BlueprintCallable, Category = "Sotto")
    void OnHeard(const FString& Text);
};

UCLASS(Config = Game, DefaultConfig, BlueprintType, meta = (DisplayName = "Accepted, with \"quotes\""))
class HEADERCHECK_API UAccepted : public UBlueprintAsyncActionBase
{
    GENERATED_BODY()

public:
    UFUNCTION(
        BlueprintCallable,
        Category = "Sotto",
        meta =
            (BlueprintInternalUseOnly = "true", WorldContext = "WorldContextObject", AdvancedDisplay = "Pace")
    )
    static UAccepted* Ask(UObject* WorldContextObject, const FString& Question, float Pace = -1.5f)
    {
        return nullptr;
    }

    UFUNCTION(BlueprintNativeEvent, Category = "Sotto")
    void OnMood(EAcceptedMood Mood);
    virtual void OnMood_Implementation(EAcceptedMood Mood) {}

    UFUNCTION(BlueprintPure, Category = "Sotto")
    bool FindLine(int32 Index, FAcceptedLine& Line) const { return false; }

    UFUNCTION(BlueprintCallable, Category = "Sotto")
    void Take(UPARAM(ref) TArray<FAcceptedLine>& Lines, const TMap<FName, FString>& Named) {}

    UFUNCTION()
    void HandleText(int64 Request, const FString& Text) {}

    virtual void Activate() override
    {
        if (FString().IsEmpty())
        {
            UE_LOG(LogAccepted, Warning, TEXT("accepted"));
        }
    }

    void Bind() { OnText.AddDynamic(this, &UAccepted::HandleText); }

    UPROPERTY(BlueprintAssignable, Category = "Sotto")
    FAcceptedText OnText;

    UPROPERTY(Config, EditAnywhere, BlueprintReadOnly, Category = "Sotto")
    bool bPaced = true;

    UPROPERTY(
        Config,
        EditAnywhere,
        BlueprintReadOnly,
        Category = "Sotto",
        meta = (EditCondition = "bPaced", Units = "s")
    )
    float Seconds = 1.0f;

    UPROPERTY(Transient)
    TArray<TObjectPtr<UObject>> Targets;

private:
    UPROPERTY()
    TObjectPtr<UObject> Target;

    TWeakObjectPtr<UWorld> World;
};
