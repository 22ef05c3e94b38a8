# Contents of `cmake --install`: headers, library, modules, embedded models, and configuration files for CMake and
# pkg-config. The engine looks for modules and embedded models next to the library, so they are installed there. In a
# wheel all files are in one folder.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(SOTTO_LIBDIR ${CMAKE_INSTALL_LIBDIR})
set(SOTTO_PACKAGE_DIRS ${SOTTO_LIBDIR}/cmake/sotto ${SOTTO_LIBDIR}/pkgconfig ${CMAKE_INSTALL_DOCDIR})
if(DEFINED SKBUILD)
    set(SOTTO_LIBDIR .)
    set(SOTTO_PACKAGE_DIRS cmake/sotto pkgconfig .)
endif()
list(GET SOTTO_PACKAGE_DIRS 0 SOTTO_CMAKE_DIR)
list(GET SOTTO_PACKAGE_DIRS 1 SOTTO_PKGCONFIG_DIR)
list(GET SOTTO_PACKAGE_DIRS 2 SOTTO_DOC_DIR)
set(SOTTO_RUNTIME_DIR ${SOTTO_LIBDIR}) # folder of the files that are loaded at run time
if(WIN32 AND NOT DEFINED SKBUILD)
    set(SOTTO_RUNTIME_DIR ${CMAKE_INSTALL_BINDIR})
endif()

function(sotto_install_module module)
    install(TARGETS ${module} LIBRARY DESTINATION ${SOTTO_RUNTIME_DIR} RUNTIME DESTINATION ${SOTTO_RUNTIME_DIR})
endfunction()

# Copies an embedded model beside the libraries of the build, and installs it beside the library.
function(sotto_install_model file)
    get_filename_component(name ${file} NAME)
    configure_file(${file} ${SOTTO_OUTPUT_DIR}/${name} COPYONLY)
    install(FILES ${file} DESTINATION ${SOTTO_RUNTIME_DIR})
endfunction()

# Installs the library and the files for developers.
function(sotto_install)
    set(root ${CMAKE_CURRENT_SOURCE_DIR}/..)
    set_target_properties(sotto_include PROPERTIES EXPORT_NAME headers)
    install(
        TARGETS sotto sotto_include EXPORT sottoTargets
        LIBRARY DESTINATION ${SOTTO_LIBDIR} RUNTIME DESTINATION ${SOTTO_RUNTIME_DIR} ARCHIVE DESTINATION ${SOTTO_LIBDIR}
    )
    install(FILES ${root}/LICENSE ${root}/THIRD_PARTY.md DESTINATION ${SOTTO_DOC_DIR})
    install(DIRECTORY ${root}/include/sotto DESTINATION include)
    install(EXPORT sottoTargets NAMESPACE sotto:: DESTINATION ${SOTTO_CMAKE_DIR})
    configure_package_config_file(
        cmake/sottoConfig.cmake.in ${CMAKE_BINARY_DIR}/sottoConfig.cmake
        INSTALL_DESTINATION ${SOTTO_CMAKE_DIR} PATH_VARS SOTTO_RUNTIME_DIR
    )
    write_basic_package_version_file(
        ${CMAKE_BINARY_DIR}/sottoConfigVersion.cmake COMPATIBILITY SameMinorVersion
    )
    file(RELATIVE_PATH SOTTO_PREFIX_FROM_PC /${SOTTO_PKGCONFIG_DIR} /)
    configure_file(cmake/sotto.pc.in ${CMAKE_BINARY_DIR}/sotto.pc @ONLY)
    install(
        FILES ${CMAKE_BINARY_DIR}/sottoConfig.cmake ${CMAKE_BINARY_DIR}/sottoConfigVersion.cmake cmake/sottoRuntime.cmake
        DESTINATION ${SOTTO_CMAKE_DIR}
    )
    install(FILES ${CMAKE_BINARY_DIR}/sotto.pc DESTINATION ${SOTTO_PKGCONFIG_DIR})
endfunction()
