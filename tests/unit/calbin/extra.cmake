target_sources(test_calbin PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/support/package_builder.cpp)
