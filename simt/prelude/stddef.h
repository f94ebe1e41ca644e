// size_t is built in.
#pragma once
#ifndef NULL
#define NULL nullptr
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
typedef decltype((char*)nullptr - (char*)nullptr) ptrdiff_t;
