# vcpkg port of an unpacked SDK, never run (vcpkg was not available where it was written):
#     vcpkg install sotto --overlay-ports=sotto-sdk-<version>-<platform>/vcpkg
# The SDK archive has this port in its folder vcpkg/sotto/. Nothing is compiled, and no network is used.

cmake_path(SET sdk NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../..")
if(VCPKG_TARGET_IS_WINDOWS)
    set(library bin/sotto.dll)
else()
    set(library lib/libsotto.so)
endif()
if(NOT EXISTS "${sdk}/${library}")
    message(
        FATAL_ERROR "invalid port folder '${CMAKE_CURRENT_LIST_DIR}': expected ${library} two folders above it; "
        "name the folder vcpkg of this system's unpacked SDK with --overlay-ports"
    )
endif()

set(VCPKG_BUILD_TYPE release) # a C ABI: the same library for debug builds of a game
set(VCPKG_POLICY_DLLS_WITHOUT_LIBS enabled) # modules are opened at run time

file(INSTALL "${sdk}/include/" DESTINATION "${CURRENT_PACKAGES_DIR}/include")
foreach(folder lib bin)
    if(IS_DIRECTORY "${sdk}/${folder}")
        file(INSTALL "${sdk}/${folder}/" DESTINATION "${CURRENT_PACKAGES_DIR}/${folder}")
    endif()
endforeach()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/sotto)
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${sdk}/share/doc/sotto/LICENSE" "${sdk}/share/doc/sotto/THIRD_PARTY.md")
