#pragma once

#include "CoreMinimal.h"
#include "Engine/CancellableAsyncAction.h"
#include "SottoTypes.h"

#include "SottoLoadModelAction.generated.h"

class USottoSubsystem;

/** Output pins of the node that loads a model. */
DECLARE_DYNAMIC_MULTICAST_DELEGATE_ThreeParams(
    FSottoLoadPin, float, Fraction, ESottoStatus, Status, const FString&, Error
);

/** Async node that loads a model, for a loading screen. */
UCLASS()
class SOTTORUNTIME_API USottoLoadModelAction : public UCancellableAsyncAction
{
    GENERATED_BODY()

public:
    /** The load advanced. */
    UPROPERTY(BlueprintAssignable)
    FSottoLoadPin Progress;

    /** The model is loaded. */
    UPROPERTY(BlueprintAssignable)
    FSottoLoadPin Ready;

    /** The load failed. */
    UPROPERTY(BlueprintAssignable)
    FSottoLoadPin Failed;

    /** Loads a model. Empty: the model of the project settings. */
    UFUNCTION(
        BlueprintCallable,
        Category = "Sotto",
        meta =
            (BlueprintInternalUseOnly = "true",
             WorldContext = "WorldContextObject",
             DisplayName = "Load Model")
    )
    static USottoLoadModelAction* LoadModel(UObject* WorldContextObject, const FString& Model);

    virtual void Activate() override;

private:
    void HandleProgress(int64 Id, float Fraction);
    void HandleEnded(const FSottoAnswer& Answer);

    TWeakObjectPtr<USottoSubsystem> Subsystem;
    FString Model;
};
