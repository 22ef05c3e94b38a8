// Vector indexes of a game's own.
#include "SottoIndex.h"
#include "SottoLibrary.h"
#include "fixture.hpp"

using namespace fixture;

namespace {

/** Eight vectors in a row, the corners of a cube: label i has the signs of the bits of i. */
TArray<float> corners() {
    TArray<float> made;
    for (int i = 0; i < 8; ++i) {
        for (int bit = 0; bit < 3; ++bit) {
            made.Add((i >> bit & 1) != 0 ? 1.0f : -1.0f);
        }
    }
    return made;
}

const TArray<int64> kLabels = {0, 1, 2, 3, 4, 5, 6, -7}; // every 64-bit number is a label

TArray<int64> nearest(const USottoIndex& index, const TArray<float>& query, int32 most) {
    TArray<FSottoIndexMatch> matches;
    FString error;
    CHECK(index.Search(query, most, matches, error));
    CHECK(error.IsEmpty());
    TArray<int64> labels;
    for (const FSottoIndexMatch& match : matches) {
        labels.Add(match.Label);
        CHECK(match.Distance >= 0);
        CHECK(match.Distance <= 2.0001f);
    }
    return labels;
}

} // namespace

TEST_CASE("an index finds what is nearest, is saved and loaded") {
    reset();
    FString error;
    for (const ESottoIndexStorage storage :
         {ESottoIndexStorage::F32, ESottoIndexStorage::F16, ESottoIndexStorage::I8}) {
        USottoIndex* index = USottoIndex::CreateIndex(3, storage, error);
        REQUIRE(index != nullptr);
        CHECK(index->GetDim() == 3);
        CHECK(index->Insert(kLabels, corners(), error));
        TArray<FSottoIndexMatch> matches;
        CHECK_FALSE(index->Search({1, 1, 1}, 1, matches, error)); // not built
        CHECK(error.Contains(TEXT("built")));
        CHECK(index->Build(error));
        CHECK(nearest(*index, {1, 1, 0.9f}, 1) == TArray<int64>{-7});
        CHECK(nearest(*index, {-1, -0.9f, -1}, 1) == TArray<int64>{0});
        CHECK(nearest(*index, {1, 0.9f, 0.8f}, 100).Num() == 8);
        CHECK(nearest(*index, {1, 1, 1}, 0).IsEmpty());
        CHECK(index->Remove(-7, error));
        CHECK_FALSE(index->Remove(-7, error));
        CHECK_FALSE(error.IsEmpty());
        CHECK(index->Insert({70}, {1, 1, 1}, error)); // linked at once
        CHECK(nearest(*index, {1, 1, 1}, 1) == TArray<int64>{70});
        CHECK(index->GetCount() == 8);
        CHECK(index->Save(TEXT("Indexes/corners.idx"), error));
        const USottoIndex* loaded = USottoIndex::LoadIndex(TEXT("Indexes/corners.idx"), error);
        REQUIRE(loaded != nullptr);
        CHECK(nearest(*loaded, {1, 1, 1}, 8) == nearest(*index, {1, 1, 1}, 8));
    }
    CollectGarbage(RF_NoFlags);
}

TEST_CASE("calls on an index that fail say why") {
    reset();
    FString error;
    CHECK(USottoIndex::CreateIndex(0, ESottoIndexStorage::F32, error) == nullptr);
    CHECK(error.Contains(TEXT("dim")));
    CHECK(USottoIndex::CreateIndex(-5, ESottoIndexStorage::F32, error) == nullptr);
    CHECK(USottoIndex::LoadIndex(TEXT("Indexes/none.idx"), error) == nullptr);
    CHECK(error.Contains(TEXT("Saved/Indexes/none.idx")));
    write("Saved/Indexes/text.idx", "no index");
    CHECK(USottoIndex::LoadIndex(TEXT("Indexes/text.idx"), error) == nullptr);
    CHECK_FALSE(error.IsEmpty());
    USottoIndex* index = USottoIndex::CreateIndex(2, ESottoIndexStorage::F32, error);
    index->AddToRoot();
    CHECK_FALSE(index->Insert({1, 2}, {1, 0, 0}, error));
    CHECK(error.Contains(TEXT("expected 2 x 2 numbers, not 3")));
    CHECK_FALSE(index->Insert({1}, {0, 0}, error)); // a zero vector
    CHECK(index->Insert({}, {}, error));
    CHECK(index->Insert({1}, {1, 0}, error));
    CHECK_FALSE(index->Insert({1}, {0, 1}, error)); // the label exists
    CHECK(index->Build(error));
    TArray<FSottoIndexMatch> matches;
    CHECK_FALSE(index->Search({1}, 1, matches, error));
    CHECK(matches.IsEmpty());
    CHECK_FALSE(index->Save(FString(), error));
    USottoIndex* constructed = NewObject<USottoIndex>();
    CHECK_FALSE(constructed->Insert({1}, {1, 0}, error));
    CHECK(error.Contains(TEXT("Create Index")));
    CHECK_FALSE(constructed->Build(error));
    CHECK_FALSE(constructed->Remove(1, error));
    CHECK_FALSE(constructed->Save(TEXT("x.idx"), error));
    CHECK_FALSE(constructed->Search({1, 0}, 1, matches, error));
    CHECK(constructed->GetCount() == 0);
    CHECK(constructed->GetDim() == 0);
    FSottoLibrary::Get().Unload();
    CHECK_FALSE(index->Search({1, 0}, 1, matches, error));
    CHECK_FALSE(index->Insert({2}, {1, 0}, error));
    CHECK_FALSE(index->Build(error));
    CHECK_FALSE(index->Save(TEXT("x.idx"), error));
    CHECK_FALSE(index->Remove(1, error));
    CHECK(USottoIndex::CreateIndex(2, ESottoIndexStorage::F32, error) == nullptr);
    CHECK(error == TEXT("the library is not loaded"));
    CHECK(USottoIndex::LoadIndex(TEXT("Indexes/corners.idx"), error) == nullptr);
    REQUIRE(FSottoLibrary::Get().Load());
    CHECK_FALSE(index->Search({1, 0}, 1, matches, error)); // of the old library
    index->RemoveFromRoot();
    CollectGarbage(RF_NoFlags);
}
