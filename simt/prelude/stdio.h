// printf is built into device code; nothing else of <stdio.h> exists there.
#pragma once
#include "stddef.h"
