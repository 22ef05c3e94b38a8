// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Subsystems/GameInstanceSubsystem.h"
#include "Templates/Casts.h"

class UWorld;

class UGameInstance : public UObject {
    DOUBLE_CLASS_BODY(UGameInstance, UObject, {}, {
        Visitor.Visit(World);
        Visitor.Visit(Systems);
        Visitor.Visit(Referenced);
    })
public:
    /** Creates the world and a subsystem of each class of game-instance subsystems. */
    void Init();
    /** Ends the subsystems. */
    void Shutdown();
    UWorld* GetWorld() const override;

    template <typename T>
    T* GetSubsystem() const {
        for (const TObjectPtr<UGameInstanceSubsystem>& System : Systems) {
            if (T* Found = ::Cast<T>(System.Get())) {
                return Found;
            }
        }
        return nullptr;
    }

    void RegisterReferencedObject(UObject* Object) { Referenced.AddUnique(Object); }
    void UnregisterReferencedObject(UObject* Object) { Referenced.Remove(Object); }

private:
    TObjectPtr<UWorld> World;
    TArray<TObjectPtr<UGameInstanceSubsystem>> Systems;
    TArray<TObjectPtr<UObject>> Referenced;
};
