#include "fixture.hpp"

#include <cstdlib>
#include <ctime>
#include <fstream>

#include <unistd.h>

#include "Components/SceneComponent.h"
#include "SottoLibrary.h"
#include "SottoSettings.h"

namespace fixture {

std::filesystem::path library() {
    const char* folder = std::getenv("SOTTO_TEST_LIBRARY");
    return folder == nullptr ? std::filesystem::path() : std::filesystem::path(folder);
}

std::filesystem::path write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = double_folders().project / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
}

void reset() {
    USottoSettings* settings = GetMutableDefault<USottoSettings>();
    settings->Model = TEXT("sotto/house");
    settings->bLoadAtStart = true;
    settings->bShareGpu = false;
    settings->TargetTps = 0;
    settings->MemoryBudgetMiB = 0;
    settings->Device = FString();
    settings->bReportFrames = true;
    settings->Guardrails = FString();
    settings->EmbeddingModel = FString();
    settings->EmbeddingDim = 384;
    settings->MemoryStore = TEXT("memories");
    DoubleTakeLog(ELogVerbosity::Error);
}

USottoSheet* sheet(UObject* outer, const FString& name) {
    USottoSheet* made = NewObject<USottoSheet>(outer);
    made->Name = name;
    made->Role = TEXT("innkeeper");
    made->Manner = TEXT("cheerful");
    made->Prices = {TEXT("stew: 4 copper")};
    return made;
}

USottoCharacterComponent* component_of(AActor* actor, const FString& name) {
    auto* made =
        NewObject<USottoCharacterComponent>(actor, USottoCharacterComponent::StaticClass(), FName(name));
    made->Sheet = sheet(made, name);
    made->Temperature = 0;
    made->RegisterComponent();
    return made;
}

Character::Character(UWorld& world, const FString& name, double x)
    : component(nullptr), listener(nullptr), actor(world.SpawnActor<AActor>()) {
    actor->SetRootComponent(NewObject<USceneComponent>(actor));
    actor->SetActorLocation(FVector(x, 0, 0));
    component = component_of(actor, name);
    component->Conversation = name;
    listener = NewObject<UTestListener>(world.GetGameInstance());
    listener->Listen(*component);
    world.GetGameInstance()->RegisterReferencedObject(listener);
}

int threads() {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        count += entry.exists() ? 1 : 0;
    }
    return count;
}

double other_cpu_s() {
    std::string cpu;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, softirq = 0, steal = 0;
    std::ifstream("/proc/stat") >> cpu >> user >> nice >> system >> idle >> waiting >> irq >> softirq >>
        steal;
    timespec own = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
    const double all =
        (user + nice + system + irq + softirq + steal) / static_cast<double>(sysconf(_SC_CLK_TCK));
    return all - static_cast<double>(own.tv_sec) - 1e-9 * static_cast<double>(own.tv_nsec);
}

FString text(const std::string& utf8) {
    const FUTF8ToTCHAR converted(utf8.c_str(), static_cast<int32>(utf8.size()));
    return FString(FStringView(converted.Get(), converted.Length()));
}

std::string utf8(const FString& text) {
    return TCHAR_TO_UTF8(*text);
}

USottoSubsystem& subsystem(DoublePlay& play) {
    return *play.game().GetSubsystem<USottoSubsystem>();
}

void answer(const Character& one, const FString& question) {
    const int before = one.listener->Done.Num();
    one.component->Say(question);
    REQUIRE(double_run_until([&] { return one.listener->Done.Num() + one.listener->Failed.Num() > before; }));
    REQUIRE(one.listener->Failed.IsEmpty());
}

std::string read(DoublePlay& play, const FString& conversation) {
    FSottoHandlers handlers;
    bool ended = false;
    std::string messages;
    handlers.Ended.BindLambda([&](const FSottoAnswer& one) {
        messages = utf8(one.Text);
        ended = true;
    });
    subsystem(play).GetHost().ReadConversation(conversation, handlers);
    CHECK(double_run_until([&] { return ended; }));
    return messages;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

Scripted::Scripted(const std::string& script) {
    write("Content/scripted.json", script);
    GetMutableDefault<USottoSettings>()->Model = TEXT("scripted.json");
    FSottoLibrary::Get().Unload();
    FSottoLibrary::Get().LoadFrom(text((double_folders().project / "Scripted" / "libsotto.so").string()));
}

Scripted::~Scripted() {
    FSottoLibrary::Get().Unload();
    FSottoLibrary::Get().Load();
}

} // namespace fixture
