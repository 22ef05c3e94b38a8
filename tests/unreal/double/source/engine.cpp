// Double of Unreal: actors, worlds, game instances and async actions.
#include <string>

#include "Components/SceneComponent.h"
#include "Containers/StringConv.h"
#include "Engine/CancellableAsyncAction.h"
#include "Engine/GameInstance.h"
#include "Engine/Level.h"
#include "Engine/World.h"
#include "GameFramework/PlayerController.h"
#include "Subsystems/SubsystemCollection.h"
#include "Templates/Casts.h"
#include "UObject/Package.h"

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

ULevel* AActor::GetLevel() const {
    return Cast<ULevel>(GetOuter());
}

UWorld* AActor::GetWorld() const {
    return GetLevel() == nullptr ? nullptr : GetLevel()->OwningWorld;
}

FVector AActor::GetActorLocation() const {
    return RootComponent == nullptr ? FVector() : RootComponent->GetComponentLocation();
}

bool AActor::SetActorLocation(const FVector& NewLocation) {
    if (RootComponent == nullptr) {
        return false;
    }
    RootComponent->SetWorldLocation(NewLocation);
    return true;
}

AController::AController() {
    RootComponent = CreateDefaultSubobject<USceneComponent>(TEXT("TransformComponent0"));
}

void AActor::AddOwnedComponent(UActorComponent* Component) {
    Components.AddUnique(Component);
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

ULevel* UWorld::DoubleAddLevel(const FString& Package, bool bCell) {
    UObject* Holder = Levels.IsEmpty() ? static_cast<UObject*>(this)
                                       : UObject::DoubleNew(UPackage::StaticClass(), nullptr, Package);
    ULevel* Level = NewObject<ULevel>(Holder);
    Level->OwningWorld = this;
    Level->bDoubleCell = bCell;
    Levels.Add(Level);
    return Level;
}

UObject* UWorld::DoubleLevelFor(const FActorSpawnParameters& Parameters) const {
    return Parameters.OverrideLevel == nullptr ? Levels[0].Get() : Parameters.OverrideLevel;
}

FString UWorld::RemovePIEPrefix(const FString& Source, int32*) {
    std::string Name = TCHAR_TO_UTF8(*Source);
    const std::string Prefix = "UEDPIE_";
    const std::size_t First = Name.rfind('/') + 1;
    if (Name.compare(First, Prefix.size(), Prefix) == 0) {
        Name.erase(First, Name.find('_', First + Prefix.size()) + 1 - First);
    }
    return FString(Name.c_str());
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

UWorld* UGameInstance::GetWorld() const {
    return World;
}

UGameInstance* UGameInstanceSubsystem::GetGameInstance() const {
    return Cast<UGameInstance>(GetOuter());
}

void UGameInstance::Init() {
    const FString Package = TEXT("/Game/Maps/UEDPIE_0_Tavern"); // as play in the editor names it
    World = NewObject<UWorld>(UObject::DoubleNew(UPackage::StaticClass(), nullptr, Package));
    World->GameInstance = this;
    World->DoubleAddLevel(Package);
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

void UCancellableAsyncAction::BeginDestroy() {
    Cancel();
    Super::BeginDestroy();
}
