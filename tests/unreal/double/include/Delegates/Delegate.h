// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include <functional>

#include "Containers/UnrealString.h"
#include "Delegates/IDelegateInstance.h"
#include "UObject/WeakObjectPtrTemplates.h"

/** Prints what the engine would assert, and aborts. */
[[noreturn]] void DoubleFail(const char* Assertion);

/**
 * Counts the running executions of a delegate.
 *
 * The engine reads a delegate after its function has returned, so that the function must not destroy it.
 */
class FDoubleExecutions {
public:
    FDoubleExecutions() = default;
    FDoubleExecutions(const FDoubleExecutions&) {} // a copy is not executed
    FDoubleExecutions& operator=(const FDoubleExecutions&) {
        Require();
        return *this;
    }
    ~FDoubleExecutions() { Require(); }

    /** Counts an execution from its construction to its destruction. */
    struct FScope {
        explicit FScope(int32& InCount) : Count(InCount) { ++Count; }
        ~FScope() { --Count; }
        FScope(const FScope&) = delete;
        FScope& operator=(const FScope&) = delete;
        int32& Count;
    };
    mutable int32 Count = 0;

private:
    void Require() const {
        if (Count != 0) {
            DoubleFail("a delegate was destroyed by the function that it executes");
        }
    }
};

template <typename DelegateSignature>
class TDelegate;

/** A delegate that is bound to a UObject holds a weak pointer: it is unbound once the object is gone. */
template <typename Ret, typename... ParamTypes>
class TDelegate<Ret(ParamTypes...)> {
public:
    bool IsBound() const { return Call && (!bWeak || Object.IsValid()); }
    void Unbind() { Call = nullptr; }
    Ret Execute(ParamTypes... Params) const {
        const FDoubleExecutions::FScope Scope(Executions.Count);
        return Call(Params...);
    }
    bool ExecuteIfBound(ParamTypes... Params) const
        requires std::is_void_v<Ret>
    {
        if (!IsBound()) {
            return false;
        }
        Execute(Params...);
        return true;
    }

    template <typename UserClass, typename MethodClass>
    static TDelegate CreateUObject(UserClass* User, Ret (MethodClass::*Method)(ParamTypes...)) {
        return CreateWeakLambda(User, [User, Method](ParamTypes... Params) -> Ret {
            return (User->*Method)(Params...);
        });
    }
    template <typename UserClass, typename FunctorType>
    static TDelegate CreateWeakLambda(UserClass* User, FunctorType Functor) {
        TDelegate Made = CreateLambda(std::move(Functor));
        Made.bWeak = true;
        Made.Object = User;
        return Made;
    }
    template <typename FunctorType>
    static TDelegate CreateLambda(FunctorType Functor) {
        TDelegate Made;
        Made.Call = std::move(Functor);
        return Made;
    }
    static TDelegate CreateStatic(Ret (*Function)(ParamTypes...)) { return CreateLambda(Function); }
    template <typename UserClass, typename MethodClass>
    static TDelegate CreateRaw(UserClass* User, Ret (MethodClass::*Method)(ParamTypes...)) {
        return CreateLambda([User, Method](ParamTypes... Params) -> Ret {
            return (User->*Method)(Params...);
        });
    }
    template <typename... ArgTypes>
    void BindUObject(ArgTypes... Args) {
        *this = CreateUObject(Args...);
    }
    template <typename... ArgTypes>
    void BindWeakLambda(ArgTypes... Args) {
        *this = CreateWeakLambda(Args...);
    }
    template <typename FunctorType>
    void BindLambda(FunctorType Functor) {
        *this = CreateLambda(std::move(Functor));
    }
    template <typename... ArgTypes>
    void BindRaw(ArgTypes... Args) {
        *this = CreateRaw(Args...);
    }

private:
    std::function<Ret(ParamTypes...)> Call;
    bool bWeak = false;
    TWeakObjectPtr<UObject> Object;
    FDoubleExecutions Executions;
};

template <typename DelegateSignature>
class TMulticastDelegate;

template <typename... ParamTypes>
class TMulticastDelegate<void(ParamTypes...)> {
public:
    using FDelegate = TDelegate<void(ParamTypes...)>;

    FDelegateHandle Add(const FDelegate& Delegate) {
        const FDelegateHandle Handle = FDelegateHandle::DoubleMake();
        Entries.Add(FEntry{Handle, Delegate});
        return Handle;
    }
    template <typename... ArgTypes>
    FDelegateHandle AddUObject(ArgTypes... Args) {
        return Add(FDelegate::CreateUObject(Args...));
    }
    template <typename... ArgTypes>
    FDelegateHandle AddRaw(ArgTypes... Args) {
        return Add(FDelegate::CreateRaw(Args...));
    }
    template <typename FunctorType>
    FDelegateHandle AddLambda(FunctorType Functor) {
        return Add(FDelegate::CreateLambda(std::move(Functor)));
    }
    bool Remove(FDelegateHandle Handle) {
        return Entries.RemoveAll([Handle](const FEntry& Entry) { return Entry.Handle == Handle; }) != 0;
    }
    bool IsBound() const { return Entries.Num() != 0; }
    void Broadcast(ParamTypes... Params) const {
        const TArray<FEntry> Kept = Entries; // a handler may add and remove
        for (const FEntry& Entry : Kept) {
            Entry.Delegate.ExecuteIfBound(Params...);
        }
    }

private:
    struct FEntry {
        FDelegateHandle Handle;
        FDelegate Delegate;
    };
    TArray<FEntry> Entries;
};

/** Aborts unless `Name`, of the form &UClass::Function, is a UFUNCTION of the object's class. */
void DoubleRequireFunction(const UObject* Object, const TCHAR* Name);

/** A delegate of Blueprint: takes UFUNCTIONs only, and each function of an object once. */
template <typename... ParamTypes>
class TDoubleDynamicDelegate {
public:
    template <typename UserClass>
    void __Internal_AddDynamic(UserClass* User, void (UserClass::*Method)(ParamTypes...), const TCHAR* Name) {
        if (!DoubleAdd(User, Method, Name)) {
            DoubleFail("AddDynamic: the function is bound already; use AddUniqueDynamic");
        }
    }
    template <typename UserClass>
    void __Internal_AddUniqueDynamic(
        UserClass* User, void (UserClass::*Method)(ParamTypes...), const TCHAR* Name
    ) {
        DoubleAdd(User, Method, Name);
    }
    void Broadcast(ParamTypes... Params) const { Bound.Broadcast(Params...); }
    bool IsBound() const { return Bound.IsBound(); }
    void Clear() { *this = TDoubleDynamicDelegate(); }

private:
    struct FKey {
        int64 Object;
        FString Function;
        bool operator==(const FKey& Other) const = default;
    };

    template <typename UserClass>
    bool DoubleAdd(UserClass* User, void (UserClass::*Method)(ParamTypes...), const TCHAR* Name) {
        DoubleRequireFunction(User, Name);
        const FKey Key{DoubleObjectNumber(User), Name};
        if (Keys.Contains(Key)) {
            return false;
        }
        Keys.Add(Key);
        Bound.AddUObject(User, Method);
        return true;
    }

    TArray<FKey> Keys;
    TMulticastDelegate<void(ParamTypes...)> Bound;
};

#define AddDynamic(UserObject, FuncName) __Internal_AddDynamic(UserObject, FuncName, TEXT(#FuncName))
#define AddUniqueDynamic(UserObject, FuncName)                                                               \
    __Internal_AddUniqueDynamic(UserObject, FuncName, TEXT(#FuncName))

#define DECLARE_DELEGATE(Name) using Name = TDelegate<void()>
#define DECLARE_DELEGATE_RetVal(Ret, Name) using Name = TDelegate<Ret()>
#define DECLARE_DELEGATE_OneParam(Name, A) using Name = TDelegate<void(A)>
#define DECLARE_DELEGATE_TwoParams(Name, A, B) using Name = TDelegate<void(A, B)>
#define DECLARE_DELEGATE_ThreeParams(Name, A, B, C) using Name = TDelegate<void(A, B, C)>
#define DECLARE_DELEGATE_RetVal_OneParam(Ret, Name, A) using Name = TDelegate<Ret(A)>
#define DECLARE_MULTICAST_DELEGATE(Name) using Name = TMulticastDelegate<void()>
#define DECLARE_MULTICAST_DELEGATE_OneParam(Name, A) using Name = TMulticastDelegate<void(A)>
#define DECLARE_DYNAMIC_MULTICAST_DELEGATE_OneParam(Name, A, AName) using Name = TDoubleDynamicDelegate<A>
#define DECLARE_DYNAMIC_MULTICAST_DELEGATE_TwoParams(Name, A, AName, B, BName)                               \
    using Name = TDoubleDynamicDelegate<A, B>
#define DECLARE_DYNAMIC_MULTICAST_DELEGATE_ThreeParams(Name, A, AName, B, BName, C, CName)                   \
    using Name = TDoubleDynamicDelegate<A, B, C>

using FSimpleDelegate = TDelegate<void()>;
using FSimpleMulticastDelegate = TMulticastDelegate<void()>;
