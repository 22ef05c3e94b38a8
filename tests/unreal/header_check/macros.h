// What the header check puts in place of Unreal's macros: each leaves its arguments in the AST.
#pragma once

#define HC_JOIN_(A, B) A##B
#define HC_JOIN(A, B) HC_JOIN_(A, B)
#define HC_NOTE(NAME, ...) __attribute__((annotate("Unreal:" #NAME ":" #__VA_ARGS__)))
#define HC_MARK(NAME, ...) typedef int HC_JOIN(HeaderCheckMark_, __COUNTER__) HC_NOTE(NAME, __VA_ARGS__);

#define HC_UCLASS(...) HC_MARK(UCLASS, __VA_ARGS__)
#define HC_USTRUCT(...) HC_MARK(USTRUCT, __VA_ARGS__)
#define HC_UENUM(...) HC_MARK(UENUM, __VA_ARGS__)
#define HC_UINTERFACE(...) HC_MARK(UINTERFACE, __VA_ARGS__)
#define HC_UDELEGATE(...) HC_MARK(UDELEGATE, __VA_ARGS__)
#define HC_UFUNCTION(...) HC_NOTE(UFUNCTION, __VA_ARGS__)
#define HC_UPROPERTY(...) HC_NOTE(UPROPERTY, __VA_ARGS__)
#define HC_UPARAM(...) HC_NOTE(UPARAM, __VA_ARGS__)
#define HC_UMETA(...) HC_NOTE(UMETA, __VA_ARGS__)
