// Of the driver API only the tensor map, which kernels take as a __grid_constant__ parameter: 128 opaque bytes at a
// multiple of 64 (cuda.h of CUDA 13: CU_TENSOR_MAP_NUM_QWORDS is 16).
#pragma once
typedef struct CUtensorMap_st {
    alignas(64) unsigned long long opaque[16];
} CUtensorMap;
