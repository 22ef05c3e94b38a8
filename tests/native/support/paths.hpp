// Paths of this build, which CMake writes: see Paths.cmake. A build without a backend, or for Windows,
// defines fewer. Constants, so that they can be used before main() and after it.
#pragma once

namespace test::paths {

// Modules: the scripted backend's, the folder of unusable ones, llama.cpp's, and a library of another ggml.
extern const char* const kScripted;
extern const char* const kScriptedFolder;
extern const char* const kOddModules;
extern const char* const kLlamaModule;
extern const char* const kOtherGgml;

// The shared library, and its folder, which contains the modules.
extern const char* const kLibrary;
extern const char* const kOutput;

// Fakes of the CUDA driver and of NVML: complete, of an old version, and without some functions.
extern const char* const kCudaDouble;
extern const char* const kCudaOld;
extern const char* const kCudaHalf;
extern const char* const kNvmlDouble;
extern const char* const kNvmlHalf;

// Models: the folder of tiny ones, the house model, and the folders of llama.cpp's vocabularies and templates
// and of the recorded results for them.
extern const char* const kTinyModels;
extern const char* const kTinyEncoders;  // folder of tiny encoders, with expected results
extern const char* const kTinyDiffusion; // folder of a tiny diffusion model
extern const char* const kHouseModel;
extern const char* const kLlamaModels;
extern const char* const kGolden;

// A model in F32 to quantize; llama-quantize, of the same llama.cpp, without our changes.
extern const char* const kWideModel;
extern const char* const kQuantizeReference;

} // namespace test::paths
