# Tests that need no GPU.
bitsparse_add_test(host format/tile_descriptor_test.cpp)
