// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "CoreMinimal.h"

namespace EAutomationTestFlags {
enum Type { EditorContext = 1, ClientContext = 2, ProductFilter = 0x04000000 };
}

class FAutomationTestBase {
public:
    explicit FAutomationTestBase(const TCHAR* InName);
    virtual ~FAutomationTestBase() = default;
    virtual bool RunTest(const FString& Parameters) = 0;

    bool TestTrue(const FString& What, bool bValue) { return DoubleExpect(What, bValue); }
    bool TestFalse(const FString& What, bool bValue) { return DoubleExpect(What, !bValue); }
    template <typename A, typename B>
    bool TestEqual(const FString& What, const A& Actual, const B& Expected) {
        return DoubleExpect(What, Actual == Expected);
    }
    void AddError(const FString& What) { DoubleExpect(What, false); }
    void AddExpectedError(const FString&, int32 = 0, int32 = 1) {}

    FString Name;
    TArray<FString> Errors;
    static TArray<FAutomationTestBase*>& DoubleAll();

private:
    bool DoubleExpect(const FString& What, bool bHolds);
};

#define IMPLEMENT_SIMPLE_AUTOMATION_TEST(TClass, PrettyName, Flags)                                          \
    class TClass : public FAutomationTestBase {                                                              \
    public:                                                                                                  \
        TClass() : FAutomationTestBase(TEXT(PrettyName)) { static_assert((Flags) != 0); }                    \
        bool RunTest(const FString& Parameters) override;                                                    \
    };                                                                                                       \
    static TClass GDouble##TClass;
