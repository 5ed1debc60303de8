# Tests of the device half. They compile everywhere; those labelled gpu need a device to run.
bitsparse_add_test(host detail/tile_grid_test.cpp)
bitsparse_add_test(gpu warp/warp_test.cu)
bitsparse_add_test(gpu device/round_trip_bf16_test.cu)
bitsparse_add_test(gpu device/round_trip_fp16_test.cu)
bitsparse_add_test(gpu device/round_trip_fp32_test.cu)
bitsparse_add_test(gpu device/round_trip_e4m3_test.cu)
bitsparse_add_test(gpu device/round_trip_e5m2_test.cu)
bitsparse_add_test(gpu device/conditions_test.cu)
bitsparse_add_test(gpu device/corrupt_test.cu)
bitsparse_add_test(gpu device/stream_test.cu)
bitsparse_add_test(gpu device/large_test.cu)
bitsparse_add_test(gpu device/tuning_test.cu)
bitsparse_add_test(gpu block/user_kernel_test.cu)
bitsparse_add_test(gpu arena/arena_test.cu)
bitsparse_add_test(gpu arena/arena_stress_test.cu)
bitsparse_add_test(gpu arena/arena_stream_test.cu)
bitsparse_add_test(gpu arena/arena_pipeline_test.cu)

bitsparse_add_executable(device_example examples/device_example.cu)
add_test(NAME device_example COMMAND device_example)
set_tests_properties(device_example PROPERTIES LABELS gpu SKIP_RETURN_CODE 77 RESOURCE_LOCK gpu)

# Every kernel, and the example, for further architectures. A spill is a warning, so an error where warnings are.
if(BITSPARSE_KERNEL_ARCHITECTURES)
  add_library(device_kernels OBJECT device/resources.cu)
  bitsparse_set_up_target(device_kernels)
  set_target_properties(device_kernels PROPERTIES CUDA_ARCHITECTURES "${BITSPARSE_KERNEL_ARCHITECTURES}")
  set_property(TARGET device_example APPEND PROPERTY CUDA_ARCHITECTURES ${BITSPARSE_KERNEL_ARCHITECTURES})
endif()

find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME device_resources
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/device/resource_test.py
      ${CMAKE_CUDA_COMPILER} ${PROJECT_SOURCE_DIR}/include)
  set_tests_properties(device_resources PROPERTIES LABELS host TIMEOUT 600 COST 60)
endif()
