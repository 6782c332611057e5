target_sources(test_lint PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/support/package_builder.cpp)
target_link_libraries(test_lint PRIVATE fmt::fmt)
