// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Containers/Array.h"
#include "UObject/Class.h"
#include "UObject/ObjectMacros.h"
#include "UObject/ObjectPtr.h"
#include "UObject/WeakObjectPtrTemplates.h"

class UPackage;
class UWorld;

/** Marks what an object's properties refer to. A reference to garbage is cleared, as the engine does. */
class FDoubleVisitor {
public:
    template <typename T>
    void Visit(TObjectPtr<T>& Property) {
        if (Property != nullptr && !Mark(DoubleObject(Property))) {
            Property = nullptr;
        }
    }
    template <typename T>
    void Visit(TArray<TObjectPtr<T>>& Property) {
        Property.RemoveAll([this](const TObjectPtr<T>& Entry) {
            return Entry != nullptr && !Mark(DoubleObject(Entry));
        });
    }
    template <typename T>
    void Visit(TWeakObjectPtr<T>&) {}

    /** As the engine's reflection, knows no more of the type than that it begins with a UObject. */
    template <typename T>
    static UObject* DoubleObject(const TObjectPtr<T>& Property) {
        return reinterpret_cast<UObject*>(Property.Get());
    }
    /** Marks an object as reachable. Returns false if it is garbage. */
    bool Mark(UObject* Object);
    TArray<UObject*> Pending;
};

class UObject {
public:
    UObject();
    virtual ~UObject() = default;
    UObject(const UObject&) = delete;
    UObject& operator=(const UObject&) = delete;

    static UClass* StaticClass();
    UClass* GetClass() const { return Class; }
    UObject* GetOuter() const { return Outer; }
    /** Returns the package that the object is in: the nearest one among its outers. */
    UPackage* GetPackage() const;
    FString GetName() const { return Name; }
    FName GetFName() const { return FName(Name); }
    bool IsA(const UClass* Other) const { return Class->IsChildOf(Other); }
    bool HasAnyFlags(EObjectFlags Flags) const { return bDefault && (Flags & RF_ClassDefaultObject) != 0; }
    virtual UWorld* GetWorld() const { return Outer == nullptr ? nullptr : Outer->GetWorld(); }
    virtual void PostInitProperties() {}
    virtual void BeginDestroy() {}
    void AddToRoot() { bRooted = true; }
    void RemoveFromRoot() { bRooted = false; }
    void MarkAsGarbage() { bGarbage = true; }

    template <typename T>
    T* CreateDefaultSubobject(FName SubobjectName) {
        T* Made = static_cast<T*>(DoubleNew(T::StaticClass(), this, SubobjectName.ToString()));
        Subobjects.Add(Made);
        return Made;
    }

    virtual void DoubleVisit(FDoubleVisitor& Visitor);
    static UObject* DoubleNew(UClass* Class, UObject* Outer, const FString& Name);
    bool DoubleIsGarbage() const { return bGarbage; }

    int64 DoubleNumber;
    bool bDoubleMarked = false;

protected:
    TArray<TObjectPtr<UObject>> Subobjects;

private:
    friend class UClass;
    friend void CollectGarbage(EObjectFlags, bool);

    UClass* Class;
    UObject* Outer;
    FString Name;
    bool bDefault = false;
    bool bRooted = false;
    bool bGarbage = false;
};

/** Returns the number of live objects, default objects included. */
int32 DoubleObjectCount();

inline bool IsValid(const UObject* Object) {
    return Object != nullptr && !Object->DoubleIsGarbage();
}
