// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Containers/UnrealString.h"
#include "Logging/LogCategory.h"
#include "Logging/LogVerbosity.h"

/** Keeps a line for tests, on any thread; prints it if SOTTO_DOUBLE_LOG is set. A fatal line aborts. */
void DoubleLog(const FLogCategoryBase& Category, ELogVerbosity::Type Verbosity, const FString& Line);
/** Returns the kept lines of a verbosity and forgets all lines. */
TArray<FString> DoubleTakeLog(ELogVerbosity::Type Verbosity);

#define DECLARE_LOG_CATEGORY_EXTERN(Category, Default, CompileTime)                                          \
    extern struct FLogCategory##Category : FLogCategoryBase {                                                \
        FLogCategory##Category() : FLogCategoryBase{TEXT(#Category)} {}                                      \
    } Category
#define DEFINE_LOG_CATEGORY(Category) FLogCategory##Category Category
#define DEFINE_LOG_CATEGORY_STATIC(Category, Default, CompileTime)                                           \
    static const struct FLogCategory##Category : FLogCategoryBase {                                          \
        FLogCategory##Category() : FLogCategoryBase{TEXT(#Category)} {}                                      \
    } Category
#define UE_LOG(Category, Verbosity, Format, ...)                                                             \
    DoubleLog(Category, ELogVerbosity::Verbosity, FString::Printf(Format, ##__VA_ARGS__))
