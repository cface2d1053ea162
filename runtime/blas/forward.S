// Every symbol of the real library that Rooftile does not take over: a jump to where it lies there,
// found by its first call. The jumps keep all registers and the stack as they are, so that nothing need
// be known of arguments and results. FORWARDS names a file of lines FORWARD(index, symbol), made from
// the real library's own table by cmake/BlasForwards.cmake.

        .section .note.GNU-stack, "", @progbits

// Addresses of the targets; 0: not looked for yet. Zeros need no relocation when the library is loaded.
        .bss
        .p2align 3
targets:
#define FORWARD(index, symbol) .zero 8
#include FORWARDS
#undef FORWARD

        .section .rodata
        .p2align 2
offsets:
#define FORWARD(index, symbol) .long .Lname##index - names
#include FORWARDS
#undef FORWARD
names:
#define FORWARD(index, symbol) .Lname##index: .string #symbol
#include FORWARDS
#undef FORWARD

        .text
// `bind` saves what arguments may be in, looks the symbol up and goes there.
#if defined(__x86_64__)
// In: r11d the index.
        .p2align 4
        .type bind, @function
bind:
        .cfi_startproc
        pushq %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq $208, %rsp
        movq %rax, (%rsp)
        movq %rdi, 8(%rsp)
        movq %rsi, 16(%rsp)
        movq %rdx, 24(%rsp)
        movq %rcx, 32(%rsp)
        movq %r8, 40(%rsp)
        movq %r9, 48(%rsp)
        movq %r10, 56(%rsp)
        movq %r11, 64(%rsp)
        movaps %xmm0, 80(%rsp)
        movaps %xmm1, 96(%rsp)
        movaps %xmm2, 112(%rsp)
        movaps %xmm3, 128(%rsp)
        movaps %xmm4, 144(%rsp)
        movaps %xmm5, 160(%rsp)
        movaps %xmm6, 176(%rsp)
        movaps %xmm7, 192(%rsp)
        leaq offsets(%rip), %rdi
        movl (%rdi, %r11, 4), %eax
        leaq names(%rip), %rdi
        addq %rax, %rdi
        call rooftile_blas_target
        movq 64(%rsp), %r11
        leaq targets(%rip), %rdi
        movq %rax, (%rdi, %r11, 8)
        movq %rax, %r11
        movq (%rsp), %rax
        movq 8(%rsp), %rdi
        movq 16(%rsp), %rsi
        movq 24(%rsp), %rdx
        movq 32(%rsp), %rcx
        movq 40(%rsp), %r8
        movq 48(%rsp), %r9
        movq 56(%rsp), %r10
        movaps 80(%rsp), %xmm0
        movaps 96(%rsp), %xmm1
        movaps 112(%rsp), %xmm2
        movaps 128(%rsp), %xmm3
        movaps 144(%rsp), %xmm4
        movaps 160(%rsp), %xmm5
        movaps 176(%rsp), %xmm6
        movaps 192(%rsp), %xmm7
        leave
        .cfi_def_cfa %rsp, 8
        jmpq *%r11
        .cfi_endproc
        .size bind, . - bind

#define FORWARD(index, symbol)                                                                     \
        .p2align 4;                                                                                \
        .globl symbol;                                                                             \
        .type symbol, @function;                                                                   \
symbol: .cfi_startproc;                                                                            \
        movq targets + 8 * index(%rip), %r11;                                                      \
        testq %r11, %r11;                                                                          \
        jz 1f;                                                                                     \
        jmpq *%r11;                                                                                \
1:      movl $index, %r11d;                                                                        \
        jmp bind;                                                                                  \
        .cfi_endproc;                                                                              \
        .size symbol, . - symbol
#elif defined(__aarch64__)
// In: w17 the index. x16 and x17 are for jumps of this kind; no argument is in them.
        .p2align 4
        .type bind, @function
bind:
        .cfi_startproc
        stp x29, x30, [sp, -224]!
        .cfi_def_cfa_offset 224
        .cfi_offset x29, -224
        .cfi_offset x30, -216
        mov x29, sp
        stp x0, x1, [sp, 16]
        stp x2, x3, [sp, 32]
        stp x4, x5, [sp, 48]
        stp x6, x7, [sp, 64]
        stp x8, x17, [sp, 80]
        stp q0, q1, [sp, 96]
        stp q2, q3, [sp, 128]
        stp q4, q5, [sp, 160]
        stp q6, q7, [sp, 192]
        adrp x0, offsets
        add x0, x0, :lo12:offsets
        ldr w1, [x0, w17, uxtw 2]
        adrp x0, names
        add x0, x0, :lo12:names
        add x0, x0, x1
        bl rooftile_blas_target
        mov x16, x0
        ldp x8, x17, [sp, 80]
        adrp x0, targets
        add x0, x0, :lo12:targets
        str x16, [x0, w17, uxtw 3]
        ldp x0, x1, [sp, 16]
        ldp x2, x3, [sp, 32]
        ldp x4, x5, [sp, 48]
        ldp x6, x7, [sp, 64]
        ldp q0, q1, [sp, 96]
        ldp q2, q3, [sp, 128]
        ldp q4, q5, [sp, 160]
        ldp q6, q7, [sp, 192]
        ldp x29, x30, [sp], 224
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        br x16
        .cfi_endproc
        .size bind, . - bind

// Numbers without #, which would be the preprocessor's.
#define FORWARD(index, symbol)                                                                     \
        .p2align 4;                                                                                \
        .globl symbol;                                                                             \
        .type symbol, @function;                                                                   \
symbol: .cfi_startproc;                                                                            \
        adrp x16, targets + 8 * index;                                                             \
        ldr x16, [x16, :lo12:targets + 8 * index];                                                 \
        cbz x16, 1f;                                                                               \
        br x16;                                                                                    \
1:      mov w17, index;                                                                            \
        b bind;                                                                                    \
        .cfi_endproc;                                                                              \
        .size symbol, . - symbol
#else
#error "no jumps to the real BLAS for this processor"
#endif
#include FORWARDS
