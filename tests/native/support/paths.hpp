// Paths of this build, which CMake writes: see Paths.cmake. A build without a backend or for Windows defines
// fewer. They are constants, so that also what runs before main() and after it can use them.
#pragma once

namespace test::paths {

// Modules: the scripted backend's, the folder of the odd ones, the one of llama.cpp, and a library of another
// ggml.
extern const char* const kScripted;
extern const char* const kScriptedFolder;
extern const char* const kOddModules;
extern const char* const kLlamaModule;
extern const char* const kOtherGgml;

// The shared library, and its folder, in which modules are.
extern const char* const kLibrary;
extern const char* const kOutput;

// Doubles of the CUDA driver and of NVIDIA's management library: whole, of an old version, without some
// functions.
extern const char* const kCudaDouble;
extern const char* const kCudaOld;
extern const char* const kCudaHalf;
extern const char* const kNvmlDouble;
extern const char* const kNvmlHalf;

// Models: the folder of the tiny ones, the house model, the folder of llama.cpp's vocabularies and templates,
// and the folder of what these gave before.
extern const char* const kTinyModels;
extern const char* const kHouseModel;
extern const char* const kLlamaModels;
extern const char* const kGolden;

} // namespace test::paths
