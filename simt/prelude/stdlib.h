// malloc and free are built into device code; nothing else of <stdlib.h> exists there.
#pragma once
#include "stddef.h"
