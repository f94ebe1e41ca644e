// assert is built into device code; nothing else of <assert.h> exists there.
#pragma once
#include "stddef.h"
