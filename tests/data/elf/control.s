# A control program that does nothing: tests of the ELF reader want an image by a real assembler and linker.
  .section .text
  .globl _start
_start:
  la t0, counter
  lw t1, 0(t0)
  addi t1, t1, 1
  sw t1, 0(t0)
wait:
  wfi
  j wait
  .section .data
counter:
  .word 42
  .section .bss
  .skip 256
