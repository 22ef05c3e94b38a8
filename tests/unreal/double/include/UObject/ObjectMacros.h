// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

// As in Unreal, a header's generated file defines CURRENT_FILE_ID and what GENERATED_BODY() of each line is.
#define BODY_MACRO_COMBINE_INNER(A, B, C, D) A##B##C##D
#define BODY_MACRO_COMBINE(A, B, C, D) BODY_MACRO_COMBINE_INNER(A, B, C, D)
#define GENERATED_BODY(...) BODY_MACRO_COMBINE(CURRENT_FILE_ID, _, __LINE__, _GENERATED_BODY)
#define UCLASS(...)
#define USTRUCT(...)
#define UENUM(...)
#define UFUNCTION(...)
#define UPROPERTY(...)
#define UMETA(...)
#define UPARAM(...)

enum EObjectFlags { RF_NoFlags = 0, RF_Transient = 0x40, RF_ClassDefaultObject = 0x10 };
