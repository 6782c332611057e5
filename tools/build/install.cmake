# find_package(calkit) for installed users; tests/install builds a program against it.
include(GNUInstallDirs)
set_target_properties(calkit PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
include(CMakePackageConfigHelpers)
install(TARGETS calkit calkit_lib calkit_options EXPORT calkitTargets
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/calkit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY manifests DESTINATION ${CMAKE_INSTALL_DATADIR}/calkit)
install(EXPORT calkitTargets NAMESPACE calkit:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/calkit
        FILE calkitConfig.cmake)
write_basic_package_version_file(calkitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/calkitConfigVersion.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/calkit)
