#include "textflag.h"

// func vfork(flags uintptr) (pid, errno uintptr)
//
// The link register holds the return address and survives the system call in
// both processes, so nothing on the shared stack needs protecting here.
TEXT ·vfork(SB),NOSPLIT|NOFRAME,$0-24
	MOVD	flags+0(FP), R0
	MOVD	ZR, R1
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	MOVD	$220, R8
	SVC
	CMN	$4095, R0
	BCC	ok
	NEG	R0, R0
	MOVD	ZR, pid+8(FP)
	MOVD	R0, errno+16(FP)
	RET
ok:
	MOVD	R0, pid+8(FP)
	MOVD	ZR, errno+16(FP)
	RET
