// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Engine/EngineTypes.h"
#include "UObject/Object.h"
#include "UObject/UObjectGlobals.h"

class AActor;
class APlayerController;
class UGameInstance;
class ULevel;

struct FActorSpawnParameters {
    FName Name;
    ULevel* OverrideLevel = nullptr; // null: the persistent level
};

class UWorld : public UObject {
    DOUBLE_CLASS_BODY(UWorld, UObject, {}, {
        Visitor.Visit(Levels);
        Visitor.Visit(Actors);
    })
public:
    UGameInstance* GetGameInstance() const { return GameInstance; }
    UWorld* GetWorld() const override { return const_cast<UWorld*>(this); }
    APlayerController* GetFirstPlayerController() const;
    /** Removes the prefix of play in the editor from the name of a package: UEDPIE_0_ after the last slash.
     */
    static FString RemovePIEPrefix(const FString& Source, int32* OutPIEInstanceID = nullptr);

    template <typename T>
    T* SpawnActor(const FActorSpawnParameters& Parameters = FActorSpawnParameters()) {
        T* Actor = NewObject<T>(DoubleLevelFor(Parameters), T::StaticClass(), Parameters.Name);
        Actors.Add(Actor);
        Actor->DispatchBeginPlay();
        return Actor;
    }
    void DestroyActor(AActor* Actor);
    /** Adds a level in a package of its own. The first is the persistent level. */
    ULevel* DoubleAddLevel(const FString& Package, bool bCell = false);
    void DoubleEndPlay(const EEndPlayReason::Type Reason);

    UGameInstance* GameInstance = nullptr; // which owns the world

private:
    UObject* DoubleLevelFor(const FActorSpawnParameters& Parameters) const;

    TArray<TObjectPtr<ULevel>> Levels;
    TArray<TObjectPtr<AActor>> Actors;
};
