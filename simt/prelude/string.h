// memcpy and memset are built into device code; nothing else of <string.h> exists there.
#pragma once
#include "stddef.h"
