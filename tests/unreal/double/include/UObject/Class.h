// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include <type_traits>

#include "UObject/NameTypes.h"

class UObject;

/** Description of a class. Not an object itself, other than in Unreal. */
class UClass {
public:
    using FMake = UObject* (*)();

    UClass(
        const TCHAR* InName, UClass* InSuper, FMake InMake, std::initializer_list<const TCHAR*> InFunctions
    );

    FString GetName() const { return Name; }
    UClass* GetSuperClass() const { return Super; }
    bool IsChildOf(const UClass* Other) const;
    UObject* GetDefaultObject();
    /** Returns true if the class or a base class has a UFUNCTION of that name. */
    bool DoubleHasFunction(const FString& Function) const;
    UObject* DoubleMake() const { return Make == nullptr ? nullptr : Make(); }
    static TArray<UClass*>& DoubleAll();

private:
    FString Name;
    UClass* Super;
    FMake Make;
    TArray<FString> Functions;
    UObject* Default = nullptr;
};

/** What makes an object of a class, or null for an abstract class. */
template <typename T>
constexpr UClass::FMake DoubleMaker() {
    if constexpr (std::is_default_constructible_v<T>) {
        return []() -> UObject* { return new T(); };
    } else {
        return nullptr;
    }
}

template <typename T>
UClass* DoubleSuperClass() {
    return T::StaticClass();
}

template <typename T>
const T* GetDefault() {
    return static_cast<const T*>(T::StaticClass()->GetDefaultObject());
}

template <typename T>
T* GetMutableDefault() {
    return static_cast<T*>(T::StaticClass()->GetDefaultObject());
}

/** What the header tool writes into a class. `Visits` names the object references among the properties. */
#define DOUBLE_CLASS_BODY(TClass, TSuper, Functions, Visits)                                                 \
public:                                                                                                      \
    using Super = TSuper;                                                                                    \
    using ThisClass = TClass;                                                                                \
    static UClass* StaticClass() {                                                                           \
        static UClass Class(TEXT(#TClass), DoubleSuperClass<TSuper>(), DoubleMaker<TClass>(), Functions);    \
        return &Class;                                                                                       \
    }                                                                                                        \
    void DoubleVisit(FDoubleVisitor& Visitor) override {                                                     \
        Super::DoubleVisit(Visitor);                                                                         \
        Visits;                                                                                              \
    }                                                                                                        \
                                                                                                             \
private:
