// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "GameFramework/Actor.h"

class APlayerController;
class UGameInstance;

class UWorld : public UObject {
    DOUBLE_CLASS_BODY(UWorld, UObject, {}, Visitor.Visit(Actors))
public:
    UGameInstance* GetGameInstance() const { return GameInstance; }
    UWorld* GetWorld() const override { return const_cast<UWorld*>(this); }
    APlayerController* GetFirstPlayerController() const;

    template <typename T>
    T* SpawnActor() {
        T* Actor = NewObject<T>(this);
        Actors.Add(Actor);
        Actor->DispatchBeginPlay();
        return Actor;
    }
    void DestroyActor(AActor* Actor);
    void DoubleEndPlay(const EEndPlayReason::Type Reason);

    UGameInstance* GameInstance = nullptr; // which owns the world

private:
    TArray<TObjectPtr<AActor>> Actors;
};
