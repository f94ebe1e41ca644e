// Limits of the integer types as CUDA has them: long has 32 bits on Windows and 64 elsewhere, as on the host.
#pragma once
#ifndef INT_MAX
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN ((char)-1 < 0 ? SCHAR_MIN : 0)
#define CHAR_MAX ((char)-1 < 0 ? SCHAR_MAX : UCHAR_MAX)
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295U
#define LONG_MAX ((long)(~0UL >> 1))
#define LONG_MIN (-LONG_MAX - 1L)
#define ULONG_MAX (~0UL)
#define LLONG_MIN (-9223372036854775807LL - 1)
#define LLONG_MAX 9223372036854775807LL
#define ULLONG_MAX 18446744073709551615ULL
#endif
