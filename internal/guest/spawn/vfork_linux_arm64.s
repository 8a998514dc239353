#include "textflag.h"

// func vfork(call, a1, a2, a3 uintptr) (pid, errno uintptr)
//
// The link register holds the return address and survives the system call in
// both processes, so nothing on the shared stack needs protecting here.
TEXT ·vfork(SB),NOSPLIT|NOFRAME,$0-48
	MOVD	call+0(FP), R8
	MOVD	a1+8(FP), R0
	MOVD	a2+16(FP), R1
	MOVD	a3+24(FP), R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	B	·fork(SB)

// fork continues vfork. It is a symbol of its own so that the address of its
// first instruction is known: see ForkAddress.
TEXT ·fork(SB),NOSPLIT|NOFRAME,$0-48
	SVC
	CMN	$4095, R0
	BCC	ok
	NEG	R0, R0
	MOVD	ZR, pid+32(FP)
	MOVD	R0, errno+40(FP)
	RET
ok:
	MOVD	R0, pid+32(FP)
	MOVD	ZR, errno+40(FP)
	RET

// func ForkAddress() uintptr
TEXT ·ForkAddress(SB),NOSPLIT,$0-8
	MOVD	$·fork(SB), R0
	ADD	$4, R0 // the length of SVC
	MOVD	R0, ret+0(FP)
	RET
