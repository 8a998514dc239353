#include "textflag.h"

// func vfork(flags uintptr) (pid, errno uintptr)
//
// The child runs on the parent's stack while the parent is suspended, so the
// return address is kept in a register that the kernel preserves: whatever the
// child pushes over the stack slot, both of them return to the right place.
TEXT ·vfork(SB),NOSPLIT|NOFRAME,$0-24
	MOVQ	flags+0(FP), DI
	XORL	SI, SI
	XORL	DX, DX
	XORL	R10, R10
	XORL	R8, R8
	MOVL	$56, AX
	POPQ	R13
	SYSCALL
	PUSHQ	R13
	CMPQ	AX, $-4095
	JCC	failed
	MOVQ	AX, pid+8(FP)
	MOVQ	$0, errno+16(FP)
	RET
failed:
	NEGQ	AX
	MOVQ	$0, pid+8(FP)
	MOVQ	AX, errno+16(FP)
	RET
