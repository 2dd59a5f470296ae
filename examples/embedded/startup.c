/*
 * Startup, output and a counter for Cortex-M4F and M7 on the MPS2 boards (an386, an500), also of qemu-system-arm.
 * Output and exit go through semihosting, to a debugger or to qemu.
 */
#include "board.h"

#include <stdint.h>

extern uint32_t data_begin, data_end, data_load, bss_begin, bss_end, stack_top;

int main(void);

/* A call of the host: operation, argument. */
static int semihost(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void board_print(const char *text)
{
    semihost(0x04, text); /* SYS_WRITE0 */
}

void board_exit(int status)
{
    const uint32_t reason[2] = {0x20026, (uint32_t)status}; /* ADP_Stopped_ApplicationExit */
    semihost(0x20, reason);                                 /* SYS_EXIT_EXTENDED */
    for (;;) {
    }
}

/* The first timer of the boards counts down from 2^32 - 1 at 25 MHz. */
#define TIMER ((volatile uint32_t *)0x40000000)

unsigned board_ticks(void)
{
    return ~TIMER[1];
}

/* What lies below the stack keeps this pattern until the stack has reached it. */
#define PATTERN 0xa5a5a5a5U

static const volatile uint32_t *filled_to;

void board_stack_fill(void)
{
    volatile uint32_t *sp;
    __asm__ volatile("mov %0, sp" : "=r"(sp));
    for (volatile uint32_t *word = &bss_end; word < sp; ++word) {
        *word = PATTERN;
    }
    filled_to = sp;
}

unsigned board_stack_used(void)
{
    const volatile uint32_t *word = &bss_end;
    while (*word == PATTERN && word < filled_to) {
        ++word;
    }
    return (unsigned)((uintptr_t)filled_to - (uintptr_t)word);
}

/* Where printf of newlib writes. */
int _write(int file, const char *text, int size)
{
    (void)file;
    for (int k = 0; k < size; ++k) {
        semihost(0x03, text + k); /* SYS_WRITEC */
    }
    return size;
}

void reset(void)
{
    *(volatile uint32_t *)0xe000ed88 |= 0xfU << 20; /* CPACR: the FPU */
    __asm__ volatile("dsb\n\tisb");
    const uint32_t *load = &data_load;
    for (uint32_t *word = &data_begin; word < &data_end; ++word) {
        *word = *load++;
    }
    for (uint32_t *word = &bss_begin; word < &bss_end; ++word) {
        *word = 0;
    }
    TIMER[2] = 0xffffffffU;
    TIMER[1] = 0xffffffffU;
    TIMER[0] = 1;
    board_exit(main());
}

static void fault(void)
{
    board_print("fault\n");
    board_exit(1);
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &stack_top, (void *)reset, (void *)fault, (void *)fault, (void *)fault, (void *)fault, (void *)fault,
};
