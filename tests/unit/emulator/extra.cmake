target_sources(test_emulator PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/support/package_builder.cpp
                                     ${CMAKE_CURRENT_SOURCE_DIR}/unit/emulator/abi_c11.c)
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/unit/emulator/abi_c11.c PROPERTIES
                            COMPILE_OPTIONS "-std=c11;-Wall;-Wextra;-Wpedantic;-Werror" SKIP_PRECOMPILE_HEADERS ON)
