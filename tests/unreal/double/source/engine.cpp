// Double of Unreal: actors, worlds, game instances and async actions.
#include "Engine/CancellableAsyncAction.h"
#include "Engine/GameInstance.h"
#include "GameFramework/PlayerController.h"

AActor* UActorComponent::GetOwner() const {
    return Cast<AActor>(GetOuter());
}

UWorld* UActorComponent::GetWorld() const {
    return GetOwner() == nullptr ? nullptr : GetOwner()->GetWorld();
}

void UActorComponent::RegisterComponent() {
    GetOwner()->AddOwnedComponent(this);
    if (GetOwner()->HasActorBegunPlay() && !HasBegunPlay()) {
        BeginPlay();
    }
}

void UActorComponent::DestroyComponent(bool) {
    if (HasBegunPlay()) {
        EndPlay(EEndPlayReason::Destroyed);
    }
    OnComponentDestroyed(false);
    if (GetOwner() != nullptr) {
        GetOwner()->RemoveOwnedComponent(this);
    }
    MarkAsGarbage();
}

UWorld* AActor::GetWorld() const {
    return Cast<UWorld>(GetOuter());
}

void AActor::RemoveOwnedComponent(UActorComponent* Component) {
    Components.Remove(Component);
    Subobjects.Remove(Component);
}

void AActor::BeginPlay() {
    const TArray<TObjectPtr<UActorComponent>> Kept = Components;
    for (const TObjectPtr<UActorComponent>& Component : Kept) {
        Component->BeginPlay();
    }
}

void AActor::DispatchBeginPlay() {
    for (const TObjectPtr<UObject>& Subobject : Subobjects) {
        if (UActorComponent* Component = Cast<UActorComponent>(Subobject.Get())) {
            AddOwnedComponent(Component);
        }
    }
    bBegunPlay = true;
    BeginPlay();
}

void AActor::RouteEndPlay(const EEndPlayReason::Type Reason) {
    if (!bBegunPlay) {
        return;
    }
    bBegunPlay = false;
    EndPlay(Reason);
    const TArray<TObjectPtr<UActorComponent>> Kept = Components;
    for (const TObjectPtr<UActorComponent>& Component : Kept) {
        if (Component->HasBegunPlay()) {
            Component->EndPlay(Reason);
        }
    }
}

bool AActor::Destroy(bool, bool) {
    if (GetWorld() != nullptr) {
        GetWorld()->DestroyActor(this);
    }
    return true;
}

void UWorld::DestroyActor(AActor* Actor) {
    Actor->RouteEndPlay(EEndPlayReason::Destroyed);
    Actors.Remove(Actor);
    Actor->MarkAsGarbage();
}

APlayerController* UWorld::GetFirstPlayerController() const {
    for (const TObjectPtr<AActor>& Actor : Actors) {
        if (APlayerController* Player = Cast<APlayerController>(Actor.Get())) {
            return Player;
        }
    }
    return nullptr;
}

void UWorld::DoubleEndPlay(const EEndPlayReason::Type Reason) {
    const TArray<TObjectPtr<AActor>> Kept = Actors;
    for (const TObjectPtr<AActor>& Actor : Kept) {
        Actor->RouteEndPlay(Reason);
    }
    Actors.Empty();
}

UGameInstance* UGameInstanceSubsystem::GetGameInstance() const {
    return Cast<UGameInstance>(GetOuter());
}

void UGameInstance::Init() {
    World = NewObject<UWorld>(this);
    World->GameInstance = this;
    FSubsystemCollectionBase Collection;
    for (UClass* Each : UClass::DoubleAll()) {
        const bool bConcrete = Each != UGameInstanceSubsystem::StaticClass();
        if (bConcrete && Each->IsChildOf(UGameInstanceSubsystem::StaticClass())) {
            UGameInstanceSubsystem* System = NewObject<UGameInstanceSubsystem>(this, Each);
            if (System->ShouldCreateSubsystem(this)) {
                Systems.Add(System);
                System->Initialize(Collection);
            }
        }
    }
}

void UGameInstance::Shutdown() {
    const TArray<TObjectPtr<UGameInstanceSubsystem>> Kept = Systems;
    for (const TObjectPtr<UGameInstanceSubsystem>& System : Kept) {
        System->Deinitialize();
    }
    Systems.Empty();
    Referenced.Empty();
}

void UBlueprintAsyncActionBase::RegisterWithGameInstance(const UObject* WorldContextObject) {
    const UWorld* World = IsValid(WorldContextObject) ? WorldContextObject->GetWorld() : nullptr;
    if (World != nullptr && World->GetGameInstance() != nullptr) {
        World->GetGameInstance()->RegisterReferencedObject(this);
        RegisteredWithGameInstance = World->GetGameInstance();
    }
}

void UBlueprintAsyncActionBase::SetReadyToDestroy() {
    if (UGameInstance* GameInstance = RegisteredWithGameInstance.Get()) {
        GameInstance->UnregisterReferencedObject(this);
    }
    RegisteredWithGameInstance = nullptr;
}
