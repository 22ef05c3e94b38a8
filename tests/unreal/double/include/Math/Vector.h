// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include <cmath>

struct FVector {
    double X = 0, Y = 0, Z = 0;

    FVector() = default;
    FVector(double InX, double InY, double InZ) : X(InX), Y(InY), Z(InZ) {}
    static double Dist(const FVector& A, const FVector& B) {
        return std::sqrt((A.X - B.X) * (A.X - B.X) + (A.Y - B.Y) * (A.Y - B.Y) + (A.Z - B.Z) * (A.Z - B.Z));
    }
};
