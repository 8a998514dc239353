#include "textflag.h"

// func vfork(call, a1, a2, a3 uintptr) (pid, errno uintptr)
//
// The child runs on the parent's stack while the parent is suspended, and writes
// over the return address once it has returned. So the address is also kept in a
// register, which the kernel preserves for each of them, and put back.
TEXT ·vfork(SB),NOSPLIT|NOFRAME,$0-48
	MOVQ	call+0(FP), AX
	MOVQ	a1+8(FP), DI
	MOVQ	a2+16(FP), SI
	MOVQ	a3+24(FP), DX
	XORL	R10, R10
	XORL	R8, R8
	MOVQ	0(SP), R13
	JMP	·fork(SB)

// fork continues vfork. It is a symbol of its own so that the address of its
// first instruction is known: see ForkAddress.
TEXT ·fork(SB),NOSPLIT|NOFRAME,$0-48
	SYSCALL
	MOVQ	R13, 0(SP)
	CMPQ	AX, $-4095
	JCC	failed
	MOVQ	AX, pid+32(FP)
	MOVQ	$0, errno+40(FP)
	RET
failed:
	NEGQ	AX
	MOVQ	$0, pid+32(FP)
	MOVQ	AX, errno+40(FP)
	RET

// func ForkAddress() uintptr
TEXT ·ForkAddress(SB),NOSPLIT,$0-8
	MOVQ	$·fork(SB), AX
	ADDQ	$2, AX // the length of SYSCALL
	MOVQ	AX, ret+0(FP)
	RET
