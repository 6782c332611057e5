target_sources(test_lint PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/support/package_builder.cpp)
