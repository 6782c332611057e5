target_sources(test_device PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/support/package_builder.cpp)
# The emulated device is reached as a plug-in only: this executable links nothing above the module device.
add_dependencies(test_device calkit_emu)
target_compile_definitions(test_device PRIVATE CALKIT_EMU_PLUGIN="$<TARGET_FILE:calkit_emu>")
