#include "textflag.h"

// func int80(number uintptr) uintptr
TEXT ·int80(SB), NOSPLIT, $0-16
	MOVQ number+0(FP), AX
	INT  $0x80
	MOVQ AX, ret+8(FP)
	RET

// func callAt(at, number, a1, a2 uintptr) uintptr
TEXT ·callAt(SB), NOSPLIT, $16-40
	MOVQ at+0(FP), BX
	MOVQ number+8(FP), AX
	MOVQ a1+16(FP), DI
	MOVQ a2+24(FP), SI
	CALL BX
	MOVQ AX, ret+32(FP)
	RET
