// Double of Unreal: classes, objects, garbage collection and delegates.
#include <cstdio>
#include <cstdlib>
#include <unordered_map>

#include "Containers/StringConv.h"
#include "CoreGlobals.h"
#include "Delegates/Delegate.h"
#include "Templates/Casts.h"
#include "UObject/Package.h"
#include "UObject/UObjectGlobals.h"

namespace {

struct Construction {
    UClass* object_class = nullptr;
    UObject* outer = nullptr;
    FString name;
};

Construction& current() {
    static Construction& made = *new Construction;
    return made;
}

std::unordered_map<int64, UObject*>& objects() {
    static auto& all = *new std::unordered_map<int64, UObject*>;
    return all;
}

int64 next_number = 0;

} // namespace

void DoubleFail(const char* Assertion) {
    std::fprintf(stderr, "%s\n", Assertion);
    std::abort();
}

FDelegateHandle FDelegateHandle::DoubleMake() {
    static uint64 Last = 0;
    FDelegateHandle Made;
    Made.Id = ++Last;
    return Made;
}

UClass::UClass(
    const TCHAR* InName, UClass* InSuper, FMake InMake, std::initializer_list<const TCHAR*> InFunctions
)
    : Name(InName + 1), Super(InSuper), Make(InMake) { // Unreal's class names have no prefix
    for (const TCHAR* Function : InFunctions) {
        Functions.Add(Function);
    }
    DoubleAll().Add(this);
}

TArray<UClass*>& UClass::DoubleAll() {
    static TArray<UClass*>& All = *new TArray<UClass*>;
    return All;
}

bool UClass::IsChildOf(const UClass* Other) const {
    for (const UClass* At = this; At != nullptr; At = At->Super) {
        if (At == Other) {
            return true;
        }
    }
    return false;
}

bool UClass::DoubleHasFunction(const FString& Function) const {
    return Functions.Contains(Function) || (Super != nullptr && Super->DoubleHasFunction(Function));
}

UObject* UClass::GetDefaultObject() {
    if (Default == nullptr) {
        Default = UObject::DoubleNew(this, nullptr, FString(TEXT("Default__")) + Name);
        Default->bDefault = true;
        Default->AddToRoot();
    }
    return Default;
}

UClass* UObject::StaticClass() {
    static UClass Class(TEXT("UObject"), nullptr, DoubleMaker<UObject>(), {});
    return &Class;
}

UObject::UObject()
    : DoubleNumber(next_number++), Class(current().object_class), Outer(current().outer),
      Name(current().name) {
    if (Class == nullptr) {
        DoubleFail("an object was made without NewObject");
    }
    current() = Construction();
    objects()[DoubleNumber] = this;
    if (Name.IsEmpty()) {
        Name = FString::Printf(TEXT("%s_%d"), *Class->GetName(), static_cast<int32>(DoubleNumber));
    }
}

UObject* UObject::DoubleNew(UClass* Class, UObject* Outer, const FString& Name) {
    if (!IsInGameThread()) {
        DoubleFail("an object was made off the game thread");
    }
    current().object_class = Class;
    current().outer = Outer;
    current().name = Name;
    UObject* Made = Class->DoubleMake();
    Made->PostInitProperties();
    return Made;
}

void UObject::DoubleVisit(FDoubleVisitor& Visitor) {
    Visitor.Visit(Subobjects);
    if (Outer != nullptr) {
        Visitor.Mark(Outer);
    }
}

bool FDoubleVisitor::Mark(UObject* Object) {
    if (!Object->bDoubleMarked && !Object->DoubleIsGarbage()) {
        Object->bDoubleMarked = true;
        Pending.Add(Object);
    }
    return !Object->DoubleIsGarbage();
}

void CollectGarbage(EObjectFlags, bool) {
    FDoubleVisitor Visitor;
    for (const auto& [Number, Object] : objects()) {
        Object->bDoubleMarked = false;
    }
    for (const auto& [Number, Object] : objects()) {
        if (Object->bRooted) {
            Visitor.Mark(Object);
        }
    }
    while (Visitor.Pending.Num() != 0) {
        UObject* Object = Visitor.Pending.Last();
        Visitor.Pending.RemoveAt(Visitor.Pending.Num() - 1);
        Object->DoubleVisit(Visitor);
    }
    TArray<UObject*> Unreachable;
    for (const auto& [Number, Object] : objects()) {
        if (!Object->bDoubleMarked) {
            Unreachable.Add(Object);
        }
    }
    for (UObject* Object : Unreachable) {
        Object->MarkAsGarbage(); // weak pointers to it are null from now on
    }
    for (UObject* Object : Unreachable) {
        Object->BeginDestroy();
    }
    for (UObject* Object : Unreachable) {
        objects().erase(Object->DoubleNumber);
        delete Object;
    }
}

int32 DoubleObjectCount() {
    return static_cast<int32>(objects().size());
}

UPackage* GetTransientPackage() {
    static UPackage* Package = nullptr;
    if (Package == nullptr) {
        UClass* Class = UPackage::StaticClass();
        Package = static_cast<UPackage*>(UObject::DoubleNew(Class, nullptr, TEXT("/Engine/Transient")));
        Package->AddToRoot();
    }
    return Package;
}

UObject* DoubleNewObject(UObject* Outer, UClass* Class, FName Name) {
    return UObject::DoubleNew(Class, Outer == nullptr ? GetTransientPackage() : Outer, Name.ToString());
}

UPackage* UObject::GetPackage() const {
    for (const UObject* At = this; At != nullptr; At = At->Outer) {
        if (UPackage* Package = Cast<UPackage>(const_cast<UObject*>(At))) {
            return Package;
        }
    }
    return nullptr;
}

int64 DoubleObjectNumber(const UObject* Object) {
    return Object == nullptr ? -1 : Object->DoubleNumber;
}

UObject* DoubleFindObject(int64 Number) {
    const auto Found = objects().find(Number);
    return Found == objects().end() || Found->second->DoubleIsGarbage() ? nullptr : Found->second;
}

void DoubleRequireFunction(const UObject* Object, const TCHAR* Name) {
    const std::string Path = TCHAR_TO_UTF8(Name);
    const std::string Function = Path.substr(Path.rfind(':') + 1);
    if (!Object->GetClass()->DoubleHasFunction(FString(Function.c_str()))) {
        DoubleFail((Path + " is no UFUNCTION of its class").c_str());
    }
}
